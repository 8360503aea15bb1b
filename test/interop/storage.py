# storage.py - Linux's nvme-rdma, nvme-cli, mkfs.ext4 and fio with uroce-nvmet
# SPDX-License-Identifier: BSD-3-Clause
"""The guest is the host: it discovers, connects, makes a file system, verifies, and is not told when the target is
killed. What it prints is compared with what it has to say; uroce-nvmet has to end in order with status 0."""
import atexit
import base64
import gzip
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import invalidated
from guest import GUEST_IP, OTHER_TAP, SECOND_IP, SECOND_TAP, TAP, Guest
from scripts import Batch

TC, IP = "/tools/tc", "/tools/ip"
OWN, OTHER, SECOND, SERVICE, NQN = "10.9.0.9", "10.9.1.9", "10.9.2.9", 4420, "nqn.2026-01.org.example:interop"
WHERE = f"-t rdma -a {OWN} -s {SERVICE}"
# One CPU makes one queue of the usual kind; these are another two.
CONNECT = f"nvme connect {WHERE} -n {NQN} -W 1 -P 1"
CONNECT_ALL = f"nvme connect-all {WHERE} -W 1 -P 1"
DISK = "/dev/nvme0n1"
WAIT = f"until test -b {DISK}; do sleep 0.1; done"
DISCONNECT = f"nvme disconnect -n {NQN} | grep -o 'disconnected 1'"
FIO = f"fio --name=v --filename={DISK} --direct=1 --ioengine=libaio --verify=crc32c --verify_fatal=1 --output=/tmp/fio"


def lose_all(percent):
    """Of all that comes and goes."""
    limit = "limit 10000"
    prepare = (f"{IP} link set ifb0 up", f"{TC} qdisc add dev ifb0 root netem loss {percent}% {limit}",
               f"{TC} qdisc add dev eth0 ingress",
               f"{TC} filter add dev eth0 parent ffff: u32 match u32 0 0 action mirred egress redirect dev ifb0",
               f"{TC} qdisc add dev eth0 root netem loss {percent}% {limit}")
    repair = (f"{TC} qdisc del dev eth0 ingress", f"{TC} qdisc del dev eth0 root", f"{TC} qdisc del dev ifb0 root")
    return Batch((), prepare, repair)


class Target:
    """steps: commands of the guest, one after the other; the first that fails ends them. says: what it has to print.
    killed_after: seconds until our target is killed, and started anew with the same arguments. told: what
    uroce-nvmetcli says to it, two seconds after each other."""
    program, guest_program, role = "app/uroce-nvmet", "fio", "server"
    lasting = True  # our side goes on until it is told to end
    unheard = []  # what the target did not answer as it should
    ends = ("--ip", OWN + "/24")
    batch = Batch(())

    def __init__(self, eal, name, steps, says=(), options=("--memory", "64M"), seconds=60, loss=0, killed_after=None,
                 told=()):
        self.eal, self.title, self.steps, self.says, self.options = eal, name, steps, says, options
        self.limit, self.killed_after, self.told = seconds, killed_after, told
        if loss:
            self.batch = lose_all(loss)

    def name(self):
        return f"NVMe: {self.title}"

    def seconds(self):
        return self.limit

    def own_listens(self, said):
        return "On a Linux host" in said

    def guest_command(self):
        end = "nvme disconnect-all >/dev/null 2>&1"
        return f"{end}; {' && '.join(self.steps)} && echo all done; s=$?; " \
               f"test $s = 0 || dmesg | tail -n 25; {end}; exit $s"

    def own_command(self, program):
        self.client = os.path.join(os.path.dirname(program), "uroce-nvmetcli")
        return [program, *self.eal, "--", *self.ends, "--nqn", NQN, *self.options]

    def disturb(self, own, start, _harness):
        """What happens to our side while the guest works: what runs then."""
        self.unheard = []  # not of an earlier try
        for words in self.told:
            time.sleep(2)
            self.tell(*words)
        if self.killed_after is None:
            return own
        time.sleep(self.killed_after)
        return self.restart(own, start)

    @staticmethod
    def restart(own, start):
        os.killpg(own.pid, signal.SIGKILL)
        own.wait()
        return start()

    def tell(self, *words, until=None):
        """Says it to the target until it answers so, or, without `until`, until it does it."""
        end = time.monotonic() + 20
        while True:
            done = subprocess.run([self.client, "--control", self.options[-1], *words], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True)
            if done.returncode == 0 and re.search(until or "", done.stdout):
                return
            if time.monotonic() > end:
                self.unheard = [f"uroce-nvmetcli {' '.join(words)}: {until or 'done'} was wanted", done.stdout.strip()]
                return
            time.sleep(0.5)

    def outcomes(self, reasons, own_text, guest_text):
        missing = [f'Linux does not say "{words}"' for words in (*self.says, "all done") if words not in guest_text]
        yield self.name(), reasons + missing + self.unheard, []


def of_two_queues(eal):
    """The same port, for a target of two lcores. Each connection draws its lcore."""
    return [*eal[:-1], eal[-1] + ",qpairs=2"]


def commands(eal):
    """What nvme-cli asks, and one that there is not."""
    steps = [f"nvme discover {WHERE}", CONNECT, WAIT, "nvme list-subsys", "nvme id-ctrl /dev/nvme0",
             f"nvme id-ns {DISK}", f"nvme ns-descs {DISK}", "nvme list-ns /dev/nvme0", "nvme smart-log /dev/nvme0",
             "nvme fw-log /dev/nvme0",
             "nvme error-log /dev/nvme0", "nvme get-feature /dev/nvme0 -f 7", "nvme get-feature /dev/nvme0 -f 0xb",
             f"nvme flush {DISK}", f"nvme write-zeroes {DISK} -s 0 -c 7", f"nvme dsm {DISK} -s 100 -b 8 -d",
             f"nvme compare {DISK} -s 0 -c 7 -z 4096 -d /dev/zero", f"! nvme resv-report {DISK} 2>&1", DISCONNECT]
    says = ("subnqn:  " + NQN, "rdma_prtype: roce-v2", f"traddr={OWN},trsvcid={SERVICE} live", "oncs      : 0xd",
            "nsze    : 0x20000", "uuid    : ", "[   0]:0x1", "available_spare				: 100%",
            "frs1 : ", "Current value:0x007f007f", "NVMe Flush: success", "NVME Write Zeroes Success",
            "NVMe DSM: success",
            "compare: Success", "Invalid Command Opcode", "disconnected 1")
    return Target(eal, "what nvme-cli asks is answered", steps, says)


def file_system():
    """Written by one connection, compared by the next."""
    tree = ("for i in $(seq 20); do mkdir /mnt/$i && dd if=/dev/urandom of=/mnt/$i/file bs=64k count=8 2>/dev/null "
            "|| exit 1; done")
    sums = "(cd /mnt && find . -type f | sort | xargs md5sum)"
    return [CONNECT, WAIT, f"mkfs.ext4 -q {DISK}", "mkdir -p /mnt", f"mount {DISK} /mnt", tree,
            f"{sums} > /tmp/before", "umount /mnt", DISCONNECT, CONNECT, WAIT, f"mount {DISK} /mnt",
            f"{sums} > /tmp/after",
            "umount /mnt",
            "cmp /tmp/before /tmp/after", "test $(wc -l < /tmp/after) = 20", "! dmesg | grep -i 'I/O error'"]


def connects(times):
    return [f"for i in $(seq {times}); do {CONNECT} >/dev/null && {WAIT} && {DISCONNECT} >/dev/null || exit 1; done"]


def invalidates(eal):
    """A host that is answered by a plain SEND invalidates its key itself, in this function."""
    trace = "/sys/kernel/tracing"
    steps = [f"mount -t tracefs tracefs {trace} 2>/dev/null || true",
             f"echo 'p:own_inv nvme_rdma_inv_rkey_done' > {trace}/kprobe_events",
             f"echo 1 > {trace}/events/kprobes/own_inv/enable", CONNECT, WAIT,
             f"{FIO} --rw=randrw --bs=8k --iodepth=16 --size=4m", f"echo counted $(grep -c own_inv: {trace}/trace)",
             f"echo 0 > {trace}/events/kprobes/own_inv/enable", f"echo > {trace}/kprobe_events"]
    return Target(eal, "each key is invalidated by its answer", steps, ("counted 0",))


class Captured(Target):
    """The guest keeps what comes and goes (who listens on the tap does not see what our port sends): each key that a
    command offers must be invalidated by its own answer."""

    def __init__(self, eal):
        sends = "udp port 4791 and (udp[8] = 0x00 or udp[8] = 0x04 or udp[8] = 0x17)"
        keep = f"tcpdump -Z root -i eth0 -B 8192 -s 128 -U -w /tmp/keys '{sends}' 2>/tmp/said"
        steps = [f"({keep} & echo $! > /tmp/pid); sleep 1", CONNECT, WAIT,
                 f"{FIO} --rw=randrw --bsrange=4k-128k --iodepth=16 --size=32m", DISCONNECT, "sleep 1",
                 "kill $(cat /tmp/pid) || cat /tmp/said", "echo the capture:", "gzip -c /tmp/keys | base64",
                 "echo its end"]
        super().__init__(eal, "in a capture each key is invalidated by its own answer", steps)

    def outcomes(self, reasons, own_text, guest_text):
        count, wrong = 0, []
        packed = guest_text.partition("the capture:")[2].partition("its end")[0]
        try:
            count, wrong = invalidated.judge(gzip.decompress(base64.b64decode(packed)), socket.inet_aton(GUEST_IP))
        except (ValueError, OSError, EOFError) as error:
            wrong = [f"the capture is not whole: {error}"]
        if count < 100:
            wrong.append(f"only {count} keys were offered")
        for name, reasons, _ in super().outcomes(reasons + wrong, own_text, guest_text[-1000:]):
            yield name, reasons, [f"{count} keys"]


def changes(eal, folder):
    """The host hears of each change by an asynchronous event."""
    other = "/dev/nvme0n2"
    steps = [CONNECT, WAIT, f"until test -b {other}; do sleep 0.1; done",
             "until test $(cat /sys/block/nvme0n2/size) = 262144; do sleep 0.1; done", "echo it has grown",
             f"until ! test -e {other}; do sleep 0.1; done", "echo it has gone"]
    told = (("show",), ("add", NQN, "null:64M", "nsid=2"), ("resize", NQN, "2", "128M"), ("remove", NQN, "2"))
    return Target(eal, "a namespace comes, grows and goes under a connected host", steps,
                  ("it has grown", "it has gone"), ("--memory", "64M", "--control", folder + "/control"), told=told)


class Flushes(Target):
    """A file comes to a host that has read what a target with memory alone can do. Each fsync has to reach it."""

    def __init__(self, eal, folder):
        other = "/dev/nvme0n2"
        steps = [CONNECT, WAIT, WAIT.replace("n1", "n2"), "grep -x 'write back' /sys/block/nvme0n2/queue/write_cache",
                 f"for i in $(seq 20); do dd if=/dev/zero of={other} bs=4k count=1 seek=$i conv=fsync,notrunc "
                 "2>/dev/null || exit 1; done", "sleep 3"]
        super().__init__(eal, "a file that is added later is flushed", steps, ("write back",),
                         ("--memory", "64M", "--control", folder + "/control"))
        self.path = folder + "/added.img:64M"

    def disturb(self, own, start, harness):
        self.unheard = []
        time.sleep(2)
        self.tell("add", NQN, self.path, "nsid=2")
        self.tell("stats", until=r"namespace 2 of .* flushes=(2\d|[3-9]\d)")
        return own


class Interrupted(Target):
    """fio verifies a disk that is new to the host, while the host resets its controller over and over, or the target
    disconnects the host. Linux repeats writes before it identifies the namespace on the new connection."""
    HOST = "nqn.2026-01.org.example:interrupted"

    def __init__(self, eal, what, meanwhile, options, seconds, resets=0, told=()):
        steps = [f"{CONNECT} -c 1 -q {self.HOST}", WAIT,
                 f"{{ {FIO} --rw=randrw --bsrange=4k-64k --iodepth=16 --size=32m --time_based --runtime={seconds} & "
                 f"n=0; while kill -0 $! 2>/dev/null; do {meanwhile}; sleep 0.1; done; wait $!; }}",
                 "echo reset $n times", "echo $(dmesg | grep -c 'Successfully reconnected') reconnects",
                 "! dmesg | grep -i 'I/O error'"]
        self.resets = resets
        super().__init__(eal, f"fio verifies through {what}", steps, (), options, seconds=4 * seconds, told=told)

    def outcomes(self, reasons, own_text, guest_text):
        for pattern, least in (("reset ([0-9]+) times", self.resets),
                               ("([0-9]+) reconnects", len(self.told) // 2)):
            found = re.search(pattern, guest_text)
            if found is None or int(found.group(1)) < least:
                reasons = [*reasons, f"the guest does not say {pattern} with a number of at least {least}"]
        yield from super().outcomes(reasons, own_text, guest_text)


def interrupted(eal, folder, full):
    seconds, resets, disconnects = (150, 100, 20) if full else (20, 10, 5)
    yield Interrupted(eal, "resets of its controller, memory", "nvme reset /dev/nvme0 && n=$((n + 1))",
                      ("--memory", "64M"), seconds, resets)
    yield Interrupted(eal, "disconnects by the target, a new file", "true",
                      ("--file", folder + "/new.img:64M", "--control", folder + "/control"), seconds,
                      told=(("disconnect", Interrupted.HOST),) * disconnects)


class Replaced(Target):
    """A namespace with a mounted file system is removed, and another file is added under its number at once. The host
    may not write a byte into it."""
    BYTES = 64 << 20

    def __init__(self, eal, folder):
        write = "for i in $(seq 400); do dd if=/dev/urandom of=/mnt/f$i bs=64k count=1 conv=fsync; sleep 0.02; done"
        steps = [CONNECT, WAIT, WAIT.replace("n1", "n2"), "mkfs.ext4 -q /dev/nvme0n2", "mkdir -p /mnt",
                 "mount /dev/nvme0n2 /mnt", f"{{ ({write}) >/dev/null 2>&1 & sleep 10; }}", "(umount -l /mnt || true)",
                 "until dmesg | grep -qE 'I/O error|nvme0n2.*(Buffer|EXT4)|EXT4-fs error'; do sleep 0.5; done"]
        super().__init__(eal, "another file gets the number of a mounted one, and no byte of its host", steps, (),
                         ("--memory", "64M", "--file", folder + "/mounted.img:64M", "--control", folder + "/control"))
        self.path = folder + "/another.img"
        self.mounted = folder + "/mounted.img"

    def disturb(self, own, start, harness):
        self.unheard = []
        with open(self.path, "wb") as file:
            file.write(b"another " * (self.BYTES // 8))
        self.tell("stats", until=r"namespace 2 of .* writes=(\d{3,})")
        # Both before the host has heard of the first.
        lines = [socket.socket(socket.AF_UNIX) for _ in range(2)]
        for line, words in zip(lines, (f"remove {NQN} 2", f"add {NQN} {self.path} nsid=2")):
            line.connect(self.options[-1])
            line.sendall(words.encode() + b"\n")
        answers = [line.makefile().read() for line in lines]
        if "ok" not in answers[1]:
            self.tell("add", NQN, self.path, "nsid=2")
        return own

    def outcomes(self, reasons, own_text, guest_text):
        with open(self.path, "rb") as file:
            data = file.read()
        wrong = sum(data[at:at + 512] != b"another " * 64 for at in range(0, self.BYTES, 512))
        reasons = reasons + ([f"{wrong} blocks of the other file are written"] if wrong else [])
        yield from super().outcomes(reasons, own_text, guest_text)


class Swapped(Target):
    """The target is killed under two mounted file systems, and comes back with their files in the other order."""

    def __init__(self, eal, folder):
        disks = {"one": "nvme0n1", "two": "nvme0n2"}
        make = [f"mkfs.ext4 -q /dev/{disk} && mkdir -p /{name} && mount /dev/{disk} /{name}"
                for name, disk in disks.items()]
        write = [f"(for i in $(seq 60); do yes {name} | dd of=/{name}/f$i bs=64k count=4 iflag=fullblock conv=fsync "
                 f"2>/dev/null || exit 1; sleep 0.2; done; echo {name} is written) &" for name in disks]
        check = [f"umount /{name} && mount /dev/{disk} /{name} && "
                 f"test $(ls /{name} | grep -c f) = 61 && ! cat /{name}/f* | grep -qvx {name} && umount /{name}"
                 for name, disk in disks.items()]
        steps = [CONNECT + " -c 2", WAIT, WAIT.replace("n1", "n2"), *make, f"{{ {' '.join(write)} wait; }}",
                 "dmesg | grep -o 'Successfully reconnected'", *check]
        self.files = ["--file", folder + "/one.img:64M", "--file", folder + "/two.img:64M"]
        super().__init__(eal, "two mounted files change their places while the target is down", steps,
                         ("one is written", "two is written", "Successfully reconnected"), self.files, seconds=120)

    def disturb(self, own, start, harness):
        time.sleep(6)
        self.options = [*self.files[2:], *self.files[:2]]
        own = self.restart(own, start)
        self.options = self.files
        return own


def two_paths(eal):
    """Two controllers of one subsystem at two addresses; what the host sends to one is lost from some moment on."""
    both = "nvme list-subsys | grep -c 'traddr=.* live'"  # a path that has just come is not always listed at once
    steps = [CONNECT, CONNECT.replace(OWN, OTHER), WAIT, f"until test $({both}) = 2; do sleep 0.1; done",
             "nvme list-subsys",
             f"({FIO} --rw=randrw --bsrange=4k-64k --iodepth=16 --size=32m --time_based --runtime=20; "
             "echo $? > /tmp/fio.status) & sleep 4", f"{TC} qdisc add dev eth1 root netem loss 100%", "wait",
             "test $(cat /tmp/fio.status) = 0", "dmesg | grep -o 'nvme1: Reconnecting' | head -1",
             f"{TC} qdisc del dev eth1 root"]  # else to disconnect takes as long as the host goes on trying
    target = Target([*eal, eal[-1].replace("net_af_packet0", "net_af_packet1").replace(TAP, OTHER_TAP)],
                    "fio verifies on while one of two paths is cut", steps,
                    (f"traddr={OWN}", f"traddr={OTHER}", "Reconnecting"), seconds=120)
    target.ends = ("-d", "net_af_packet0", "--ip", OWN + "/24", "-d", "net_af_packet1", "--ip", OTHER + "/24")
    target.batch = Batch((), (), (f"{TC} qdisc del dev eth1 root 2>/dev/null",))
    return target


class TwoMachines(Target):
    """Two targets with no name of their own, as two machines set up alike have them: each machine has its machine-id.
    The host has two disks then. With one name both would be paths of one disk, and get half of its writes each."""

    def __init__(self, eal, folder):
        # The discovery controllers take numbers, too, so nobody knows which ones are left for the disks.
        steps = [CONNECT_ALL, CONNECT_ALL.replace(OWN, OTHER),
                 "until test $(ls /dev/nvme*n1 | wc -l) = 2; do sleep 0.1; done", "set -- $(ls /dev/nvme*n1)",
                 "nvme list-subsys"]
        steps += [f"yes {word} | dd of={disk} bs=64k count=64 iflag=fullblock oflag=direct 2>/dev/null"
                  for word, disk in (("one", "$1"), ("two", "$2"))]
        steps += [f"! dd if={disk} bs=64k count=64 iflag=direct 2>/dev/null | grep -qvx {word}"
                  for word, disk in (("one", "$1"), ("two", "$2"))]
        super().__init__(eal, "two machines set up alike have a disk each", steps,
                         (f"traddr={OWN}", f"traddr={OTHER}"))
        self.folder = folder

    def own_command(self, program):
        # Both may get the same group of packet sockets, by their process numbers: the refusal says "once more". A
        # target that had no port ends with status 3; one that fails in another way is not started again.
        machine = ("cp -a /etc {folder}/etc-{name} && echo {id} > {folder}/etc-{name}/machine-id && "
                   "mount --bind {folder}/etc-{name} /etc && trap : TERM && "
                   "{{ {target}; s=$?; test $s != 3 || {{ {target}; s=$?; }}; exit $s; }}")
        starts = []
        for name, address, tap in (("one", OWN, TAP), ("two", OTHER, OTHER_TAP)):
            target = shlex.join([program, *self.eal[:-1], self.eal[-1].replace(TAP, tap), "--", "--ip", address + "/24",
                                 "--control", f"{self.folder}/control-{name}", *self.options])
            start = machine.format(folder=self.folder, name=name, target=target, id=name.encode().hex().zfill(32))
            starts.append(f"unshare --mount sh -c {shlex.quote(start)} & {name}=$!")
        # To the second wait, which tells how both have ended, the shell comes when it is told to end, or both have.
        return ["sh", "-c", f"{'; '.join(starts)}; trap : TERM; wait; wait $one && wait $two"]

    def own_listens(self, said):
        return said.count("On a Linux host") == 2


class TwoGuests(Target):
    """A second guest comes while the first one verifies: each has a namespace, and sees both. Without a UUID in their
    BIOS both would call themselves by the same name."""

    def __init__(self, eal):
        fio = f"{FIO} --rw=randrw --bsrange=4k-64k --iodepth=16 --size=32m --time_based --runtime="
        steps = [self.connect(OWN, "first"), WAIT, f"{fio}40", "nvme list-subsys"]
        self.second_steps = [self.connect(SECOND, "second"), WAIT.replace("n1", "n2"),
                             f"{fio}10".replace(DISK, DISK.replace("n1", "n2")), f"nvme list-ns /dev/nvme0", DISCONNECT]
        super().__init__([*eal, eal[-1].replace("net_af_packet0", "net_af_packet1").replace(TAP, SECOND_TAP)],
                         "fio verifies in two guests at once", steps, (f"traddr={OWN}",), ("--memory", "64M") * 2, 120)
        self.ends = ("-d", "net_af_packet0", "--ip", OWN + "/24", "-d", "net_af_packet1", "--ip", SECOND + "/24")
        self.wrong = []

    @staticmethod
    def connect(address, name):
        number = {"first": 1, "second": 2}[name]
        return (f"{CONNECT.replace(OWN, address)} -q nqn.2026-01.org.example:{name} "
                f"-I 00000000-0000-4000-8000-00000000000{number}")

    def disturb(self, own, start, harness):
        guest = Guest(harness.network, *harness.files, address=SECOND_IP, taps=(SECOND_TAP,))
        status, output = guest.run(" && ".join(self.second_steps), 60)
        guest.close()
        self.wrong = []  # of an earlier try
        if status != 0 or "disconnected 1" not in output or "0x2" not in output:
            self.wrong = [f"the second guest ended with {status}:", *output.splitlines()]
        return own

    def outcomes(self, reasons, own_text, guest_text):
        yield from super().outcomes(reasons + self.wrong, own_text, guest_text)


def matrix(eal, full):
    """Short: some megabytes each; long: as much as ten minutes take. Where frames are lost the host registers no keys
    of its own: the rdma_rxe of 6.1 does not go on with the SENDs behind one that was lost, if keys were registered
    between them, until its commands run into their time limit of 30 s; against its own target, too."""
    folder = tempfile.mkdtemp(prefix="uroce-storage-", dir="/var/tmp")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    size, cycles = ("256m", 200) if full else ("16m", 20)
    verify = f"{FIO} --rw=randrw --bsrange=4k-1m --iodepth=128 --size={size}"
    verify += " --time_based --runtime=600" if full else ""
    yield commands(eal)
    yield Target(eal, "a file system in a file is there when it is mounted again", file_system(),
                 options=("--file", folder + "/disk.img:128M"), seconds=90)
    for store, options in (("memory", ("--memory", "512M")), ("a file", ("--file", folder + "/fio.img:512M")),
                           ("a file by threads", ("--file", folder + "/threads.img:512M", "--threads"))):
        yield Target(eal, f"fio verifies 4k to 1M at depth 128, {store}", [CONNECT, WAIT, verify], options=options,
                     seconds=900 if full else 90)
        yield Target(of_two_queues(eal), f"fio verifies 4k to 1M at depth 128, {store}, two lcores",
                     [CONNECT, WAIT, verify], options=(*options, "--nb-cores", "2"), seconds=900 if full else 90)
    yield Target(eal, "fio verifies while 1 % of the frames are lost both ways",
                 ["rmmod nvme_rdma", "insmod /modules/nvme-rdma.ko register_always=0", CONNECT, WAIT,
                  f"{FIO} --rw=randrw --bs=4k --iodepth=32 --size={'64m' if full else '4m'}",
                  "! dmesg | grep -E 'nvme0: I/O .* timeout'", DISCONNECT, "rmmod nvme_rdma",
                  "insmod /modules/nvme-rdma.ko register_always=1"],
                 loss=1, seconds=900 if full else 120)
    for port, more, options in ((eal, "", ()), (of_two_queues(eal), ", two lcores", ("--nb-cores", "2"))):
        yield Target(port, "fio verifies on while the target is killed and started again" + more,
                     [CONNECT + " -c 2", WAIT, f"{FIO} --rw=randrw --bsrange=4k-64k --iodepth=16 --size=32m "
                      "--time_based --runtime=14", "dmesg | grep -o 'Successfully reconnected'"],
                     ("Successfully reconnected",), ("--file", folder + "/killed.img:64M", *options), seconds=120,
                     killed_after=5)
    yield Target(eal, f"{cycles} times connected and disconnected", connects(cycles), seconds=30 + cycles * 2)
    yield invalidates(eal)
    yield Captured(eal)
    yield changes(eal, folder)
    yield Flushes(eal, folder)
    yield from interrupted(eal, folder, full)
    yield Replaced(eal, folder)
    yield Swapped(eal, folder)
    yield TwoMachines(eal, folder)
    yield two_paths(eal)
    yield TwoGuests(eal)
