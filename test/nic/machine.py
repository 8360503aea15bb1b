# machine.py - a guest with the NICs of an emulated machine, which DPDK drives
# SPDX-License-Identifier: BSD-3-Clause
"""Its kernel has an emulated IOMMU, so that vfio-pci gives the NICs away as on a real machine. Each NIC and the
kernel's own interface has a tap on one bridge with the host with Soft-RoCE, which test/interop has."""
import glob
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "interop"))

# pylint: disable=wrong-import-position
import image  # noqa: E402
from guest import HOST_IP, MTU, TAP, Guest, Network  # noqa: E402

MODULES = ["virtio_pci", "virtio_net", "vfio_pci", "vfio_iommu_type1"]
PROGRAMS = ["app/uroce-run", "app/uroce-testpmd", "test/interop/interop-ours", "test/nic/nic-reopen",
            "test/nic/nic-asleep"]
# What uroce-run gives to programs, at the places where it finds it beside its own folder, and such a program.
LIBRARIES = ["lib/verbs/liburoce-rdmav34.so", "lib/verbs/liburoce-verbs.so", "lib/verbs/liburoce-preload.so",
             "lib/rdmacm/librdmacm.so.1"]
TOOLS = ["rping"]
DRIVERS = ["bus_pci", "bus_vdev", "mempool_ring", "net_e1000", "net_vmxnet3", "net_virtio"]
HUGEPAGES, MEMORY_MIB = 256, 1536
OWN_TAP, BRIDGE = "own0", "bridge0"


class Nic:
    """One of the machine: QEMU's name and options for it, how many queues its tap and it itself have, and whether
    interrupts tell of frames."""

    def __init__(self, number, name, driver, options="", queues=1, tap_queues=1, interrupts=True):
        self.number, self.name, self.driver, self.options = number, name, driver, options
        self.queues, self.tap_queues, self.interrupts = queues, tap_queues, interrupts
        self.id, self.tap, self.address = f"nic{number}", f"nic{number}", f"0000:00:{16 + number:02x}.0"

    def words(self):
        queues = f",queues={self.tap_queues}" if self.tap_queues > 1 else ""
        return ["-netdev", f"tap,id=back{self.number},ifname={self.tap},script=no,downscript=no{queues}", "-device",
                f"{self.name},id={self.id},netdev=back{self.number},mac=52:54:00:00:01:0{self.number},romfile=,"
                f"addr={self.address[8:10]}{self.options}"]


# A virtio-net has as many queue pairs as its other side; the one in between has what clouds give small machines.
VIRTIO = f",iommu_platform=on,disable-legacy=on,ats=on,host_mtu={MTU},event_idx=off"
NICS = [Nic(0, "e1000e", "net_e1000_em", queues=2, interrupts=False),
        Nic(1, "vmxnet3", "net_vmxnet3", queues=2, interrupts=False),
        Nic(2, "virtio-net-pci", "net_virtio", VIRTIO),
        Nic(3, "virtio-net-pci", "net_virtio", VIRTIO + ",mq=on,vectors=6", queues=2, tap_queues=2)]


def programs(build):
    return [os.path.join(build, name) for name in PROGRAMS]


def put_libraries(root, build):
    """Those of the build folder at their places there, the system's at theirs."""
    for name in LIBRARIES:
        image.put_with_libraries(root, os.path.join(build, name), "/" + name, without=build)
    image.put_tools(root, TOOLS)


def put_driver(root, folder, name):
    """The library where the loader looks, too, and a link to it where EAL does: a second copy would register twice."""
    library, = glob.glob(f"/usr/lib/*/dpdk/pmds-*/librte_{name}.so")
    target = f"/lib/{os.path.basename(os.path.dirname(os.path.dirname(folder)))}/{soname(library)}"
    image.put_with_libraries(root, library, target)
    os.symlink(target, f"{root}{folder}/librte_{name}.so")


def soname(library):
    lines = image.text_of("objdump", "-p", os.path.realpath(library)).split("\n")
    return next(line.split()[1] for line in lines if "SONAME" in line)


def of_machine(build):
    """The image with our programs in /uroce."""
    def fill(root):
        for program in programs(build):
            image.put_with_libraries(root, program, "/uroce/" + os.path.basename(program))
        put_libraries(root, build)
        folder = os.path.dirname(glob.glob("/usr/lib/*/dpdk/pmds-*/librte_bus_pci.so")[0])
        os.makedirs(root + folder)
        for name in DRIVERS:
            put_driver(root, folder, name)

    return image.Image("machine", MODULES, os.path.join(HERE, "set-up.sh"), fill,
                       [*programs(build), *(os.path.join(build, name) for name in LIBRARIES),
                        os.path.realpath(__file__)], ["libdpdk-dev", "libibverbs1", "rdmacm-utils"])


def bridge(network):
    """All taps of the network on a bridge, so that every NIC is the neighbour of the host with Soft-RoCE."""
    steps = [f"ip link add {BRIDGE} type bridge mcast_snooping 0"]
    taps = {OWN_TAP: "", **{nic.tap: " multi_queue" if nic.tap_queues > 1 else "" for nic in NICS}}
    steps += [f"ip tuntap add {tap} mode tap{queues}" for tap, queues in taps.items()]
    steps += [f"ip addr flush dev {TAP}"]
    for link in (BRIDGE, *taps):
        steps += [f"echo 1 > /proc/sys/net/ipv6/conf/{link}/disable_ipv6", f"ip link set {link} mtu {MTU} up"]
    steps += [f"ip link set {tap} master {BRIDGE}" for tap in (TAP, *taps)]
    subprocess.run(network.inside("sh", "-ec", "\n".join(steps)), check=True)


class Machine(Guest):
    def __init__(self, network, kernel, initial):
        words = ["-machine", "q35,kernel-irqchip=off", "-device",
                 "intel-iommu,intremap=off,caching-mode=on,device-iotlb=on", "-netdev",
                 f"tap,id=own,ifname={OWN_TAP},script=no,downscript=no", "-device",
                 f"virtio-net-pci,netdev=own,mac=52:54:00:00:02:01,host_mtu={MTU},romfile=,addr=03,event_idx=off"]
        words += [word for nic in NICS for word in nic.words()]
        kernel_words = (f"intel_iommu=on default_hugepagesz=2M hugepages={HUGEPAGES} "
                        f"nics={','.join(nic.address for nic in NICS)}")
        super().__init__(network, kernel, initial, memory_mib=MEMORY_MIB, address=HOST_IP, taps=(), cpus=2,
                         kernel_words=kernel_words, devices=words, wait=False)
