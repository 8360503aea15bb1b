# image.py - the guest's kernel and initial file system, built once and cached
# SPDX-License-Identifier: BSD-3-Clause
"""A Debian kernel of the release that runs here, with busybox and what an Image adds. That of the peer, PEER, has
Soft-RoCE, the RDMA tools of this machine with their libraries, and verbs.c. The cache lies outside the source tree and
is rebuilt when what goes in changes."""
import fcntl
import glob
import hashlib
import os
import re
import shutil
import subprocess

HERE = os.path.dirname(os.path.realpath(__file__))
INIT = os.path.join(HERE, "guest-init.sh")
BASE_PACKAGES = ["busybox-static", "iproute2"]
BASE_TOOLS = ["flock", "ip"]
MODULES = ["crc32_generic", "crc32_pclmul", "virtio_pci", "virtio_net", "8021q", "ib_uverbs", "rdma_rxe", "rdma_ucm"]
# For a bad link: in the guest, since the kernel of the machine may lack them.
MODULES += ["sch_netem", "ifb", "sch_ingress", "cls_u32", "act_mirred"]
# A switch that marks packets before it drops them (congestion.py).
MODULES += ["sch_tbf", "sch_codel"]
# A host of an NVMe target (storage.py).
MODULES += ["nvme_rdma", "ext4"]
# A host of an iSER target (iser.py).
MODULES += ["ib_iser", "sd_mod"]
TOOLS = ["ibv_rc_pingpong", "ibv_srq_pingpong", "ibv_ud_pingpong", "ib_send_bw", "ib_write_bw", "ib_read_bw",
         "ib_atomic_bw", "ib_send_lat", "ib_write_lat", "ib_read_lat", "ib_atomic_lat",
         "ibv_devinfo", "rping", "ucmatose", "udaddy", "rdma", "tc", "nvme", "mkfs.ext4", "fio",
         "tcpdump", "iscsid", "iscsiadm"]
# The guest's side of the scripts (errors.py); built here, so that the tests need no libibverbs.
SCRIPT_SOURCES = [os.path.join(HERE, name) for name in
                  ("verbs.c", "script.c", "steps.c", "pump.c", "script.h", "steps.h", "pump.h")]
# The same of connections (connections.py).
MEET_SOURCE = os.path.join(HERE, "meet.c")
# An example for users, which sends to a uroce-testpmd.
SENDER_SOURCE = os.path.join(HERE, "..", "..", "app", "examples", "verbs_sender.c")
INSTALL = "run: apt-get install (packages of 'interop' in config/packages.txt)"
SEARCH_PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


def cache_directory():
    return os.environ.get("UROCE_INTEROP_DIR", "/var/tmp/uroce-interop")


def text_of(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def kernel_package():
    """The package behind the meta package linux-image-amd64."""
    found = re.search(r"Depends: (linux-image-\S+)", text_of("apt-cache", "depends", "linux-image-amd64"))
    if not found:
        raise RuntimeError("apt-cache names no kernel behind linux-image-amd64; run: apt-get update")
    return found.group(1)


def fetch_kernel(package, into):
    """Download and unpack, not install: the kernel of the machine stays as it is."""
    scratch = into + ".part"
    shutil.rmtree(scratch, ignore_errors=True)
    os.makedirs(scratch)
    done = subprocess.run(["apt-get", "download", "-q", package], cwd=scratch, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise RuntimeError(f"cannot download {package}: {done.stdout.strip()[-400:]}")
    archive, = glob.glob(scratch + "/*.deb")
    subprocess.run(["dpkg", "-x", archive, scratch], check=True)
    os.remove(archive)
    version = os.path.basename(glob.glob(scratch + "/lib/modules/*")[0])
    subprocess.run(["depmod", "-b", scratch, version], check=True, env=dict(os.environ, PATH=SEARCH_PATH))
    os.rename(scratch, into)


def modules_in_order(kernel, modules):
    """Their files and those of all they need, in an order that insmod can follow."""
    version = os.path.basename(glob.glob(kernel + "/lib/modules/*")[0])
    order = {}
    for module in modules:
        listing = subprocess.run(["modprobe", "-d", kernel, "-S", version, "--show-depends", module], check=True,
                                 stdout=subprocess.PIPE, text=True, env=dict(os.environ, PATH=SEARCH_PATH)).stdout
        order.update((line.split()[1], None) for line in listing.splitlines() if line.startswith("insmod "))
    return list(order)


def put(root, source, target):
    os.makedirs(os.path.dirname(root + target), exist_ok=True)
    shutil.copy(os.path.realpath(source), root + target)


def put_with_libraries(root, source, target, without=None):
    """The libraries that it needs, but those of the folder `without`."""
    put(root, source, target)
    linked = subprocess.run(["ldd", source], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    for library in re.findall(r"(/\S+\.so\S*)", linked):
        if without is None or not os.path.realpath(library).startswith(os.path.realpath(without)):
            put(root, library, library)


def compile_into(program, sources, libraries):
    done = subprocess.run(["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-o", program, *sources,
                           *libraries], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise RuntimeError(f"{os.path.basename(program)} does not compile: {done.stdout.strip()[-800:]}")


def put_tools(root, tools):
    for tool in tools:
        put_with_libraries(root, shutil.which(tool, path=SEARCH_PATH), "/tools/" + tool)


def fill_base(root, kernel, modules):
    for directory in ("bin", "tools", "modules", "proc", "sys", "dev", "etc"):
        os.makedirs(os.path.join(root, directory))
    put(root, shutil.which("busybox", path=SEARCH_PATH), "/bin/busybox")
    for applet in text_of("busybox", "--list").split():
        if applet not in ("busybox", "ip"):
            os.symlink("busybox", f"{root}/bin/{applet}")
    files = modules_in_order(kernel, modules)
    for file in files:
        put(root, file, "/modules/" + os.path.basename(file))
    with open(root + "/modules/order", "w") as order:
        order.writelines(os.path.basename(file) + "\n" for file in files)
    put_tools(root, BASE_TOOLS)
    # Threads that end with pthread_exit() load this by its name.
    unwinder, = glob.glob("/lib/*/libgcc_s.so.1")
    put(root, unwinder, unwinder)
    put(root, INIT, "/init")
    os.chmod(root + "/init", 0o755)


def fill_peer(root):
    put_tools(root, TOOLS)
    verbs = os.path.dirname(root) + "/verbs"
    compile_into(verbs, [name for name in SCRIPT_SOURCES if name.endswith(".c")], ["-libverbs"])
    put_with_libraries(root, verbs, "/tools/verbs")
    meet = os.path.dirname(root) + "/meet"
    compile_into(meet, [MEET_SOURCE], ["-lrdmacm", "-libverbs"])
    put_with_libraries(root, meet, "/tools/meet")
    sender = os.path.dirname(root) + "/verbs_sender"
    compile_into(sender, [SENDER_SOURCE], ["-libverbs"])
    put_with_libraries(root, sender, "/tools/verbs_sender")
    # libibverbs finds its provider by this file and loads it by this name.
    provider, = glob.glob("/usr/lib/*/libibverbs/librxe-rdmav*.so")
    put_with_libraries(root, provider, provider)
    put(root, "/etc/libibverbs.d/rxe.driver", "/etc/libibverbs.d/rxe.driver")
    put(root, "/etc/iscsi/iscsid.conf", "/etc/iscsi/iscsid.conf")
    # tcpdump wants to be somebody by name.
    with open(root + "/etc/passwd", "w") as users:
        users.write("root:x:0:0:root:/:/bin/sh\n")


class Image:
    """What a guest is for: kernel modules, the script that sets it up, and a function that puts in what else it needs,
    which comes from these files and packages."""

    def __init__(self, name, modules, set_up, fill, files, packages):
        self.name, self.modules, self.set_up, self.fill = name, modules, set_up, fill
        self.files, self.packages = files, packages

    def recipe(self, kernel_package_name):
        """A short hash of all that decides what the image holds."""
        versions = text_of("dpkg-query", "-W", *BASE_PACKAGES, *self.packages)
        digest = hashlib.sha256()
        for name in (INIT, os.path.realpath(__file__), self.set_up, *self.files):
            with open(name, "rb") as file:
                digest.update(file.read())
        digest.update((" ".join(self.modules) + versions + kernel_package_name).encode())
        return digest.hexdigest()[:16]

    def build(self, kernel, path, root):
        shutil.rmtree(root, ignore_errors=True)
        os.makedirs(root)
        fill_base(root, kernel, self.modules)
        self.fill(root)
        put(root, self.set_up, "/set-up")
        pack = f"find . | cpio -o -H newc --quiet | gzip -1 > '{path}.part'"
        subprocess.run(["sh", "-ec", pack], check=True, cwd=root)
        shutil.rmtree(root)
        os.rename(path + ".part", path)


PEER = Image("peer", MODULES, os.path.join(HERE, "guest-roce.sh"), fill_peer,
             [*SCRIPT_SOURCES, MEET_SOURCE, SENDER_SOURCE],
             ["ibverbs-utils", "ibverbs-providers", "libibverbs-dev", "rdmacm-utils", "nvme-cli", "e2fsprogs", "fio",
              "tcpdump", "open-iscsi"])


def ready(image=PEER):
    """Returns the paths of kernel and initial file system; builds them when they are not there yet."""
    cache = cache_directory()
    os.makedirs(cache, exist_ok=True)
    with open(cache + "/lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        package = kernel_package()
        kernel = f"{cache}/{package}"
        if not os.path.isdir(kernel):
            fetch_kernel(package, kernel)
        path = f"{cache}/{image.name}-{image.recipe(package)}.gz"
        if not os.path.exists(path):
            for old in glob.glob(f"{cache}/{image.name}-*"):
                os.remove(old)
            image.build(kernel, path, cache + "/root")
        return glob.glob(kernel + "/boot/vmlinuz-*")[0], path


def missing():
    """Why this machine cannot run the guest, or None."""
    if os.uname().machine != "x86_64":
        return f"the guest's kernel is for x86_64, this machine is {os.uname().machine}"
    if os.geteuid() != 0:
        return "it needs root, to make a network namespace and a tap"
    if not os.path.exists("/dev/net/tun"):
        return "there is no /dev/net/tun; load the module tun, or give the container the device"
    for tool in ("qemu-system-x86_64", "ip", "busybox", "cpio", "ibv_rc_pingpong", "gcc", "nvme", "mkfs.ext4", "fio",
                 "tcpdump", "iscsiadm", "tgtd"):
        if not shutil.which(tool, path=SEARCH_PATH):
            return f"there is no {tool}; {INSTALL}"
    if not os.path.exists("/usr/include/infiniband/verbs.h"):
        return f"there is no infiniband/verbs.h; {INSTALL}"
    return None


def skip(name, reason):
    """What cannot run here is skipped, but CI must be able to run it. Returns the exit status."""
    if os.environ.get("CI") == "true":
        print(f"not ok 1 - {name} cannot run: {reason}\n0 passed, 1 failed")
        return 1
    print(f"ok 1 - {name} # SKIP {reason}\n0 passed, 0 failed, 1 skipped")
    return 0
