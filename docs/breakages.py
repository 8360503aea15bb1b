# breakages.py - things that break, each one made, and found with the product's own tools: run, and written down
# SPDX-License-Identifier: BSD-3-Clause
"""Of docs/generate and test/guide/breakages. A breakage is made, and the clock runs until a tool has said its cause."""
import contextlib
import os
import re
import signal
import socket
import subprocess
import tempfile
import time

from session import Terminal, block, wrap

SECONDS = 10  # within so many the cause stands on the screen; a test allows more, because its machine may be busy
SOCKET = f"/tmp/broken-{os.getpid()}.sock"
SPACE = f"broken-{os.getpid()}"


class Missing(Exception):
    """What a breakage needs is not there: root, or a tool."""


class Breakage:
    """One of them: programs in a folder, what is typed, what is said, how long it took."""

    def __init__(self, folder, seconds):
        self.limit = seconds
        self.folder, self.programs, self.page, self.broken = folder, [], [], None
        self.undo = contextlib.ExitStack()

    def open(self, *words, until):
        terminal = Terminal(list(words), self.folder)
        self.programs.append(terminal)
        terminal.read_until(until)
        return terminal

    def breaks(self, how):
        """From here on the clock runs."""
        self.how, self.broken = how, time.monotonic()

    def read(self, terminal, cause):
        """Until the program says that by itself."""
        terminal.read_until(cause, self.limit)
        self.found(cause, "\n".join(terminal.shown))

    def ask(self, terminal, command, answer):
        terminal.type(command, answer)
        self.found(answer, "\n".join(terminal.shown))

    def found(self, cause, said):
        self.seconds = time.monotonic() - self.broken
        self.line = re.sub(r"\s+", " ", next(line for line in reversed(said.split("\n")) if re.search(cause, line)))

    def run(self, command, cause):
        """A tool of the shell, again and again until it names the cause."""
        while True:
            done = subprocess.run(command, shell=True, cwd=self.folder, stdout=subprocess.PIPE, text=True,
                                  stderr=subprocess.STDOUT, timeout=60)
            if re.search(cause, done.stdout):
                break
            if time.monotonic() > self.broken + self.limit:
                raise SystemExit(f"breakages: {command} does not say {cause}:\n{done.stdout}")
        self.found(cause, done.stdout)
        self.page += block("\n".join([f"$ {command}", *map(wrap, done.stdout.rstrip().split("\n"))]))

    def show(self, terminal, last):
        """The end of what a program has said."""
        text = terminal.take()[1].split("\n")
        self.page += block("\n".join(text[-last:]))

    def close(self):
        for terminal in self.programs:
            terminal.process.kill()
            terminal.process.wait()
        self.undo.close()
        if os.path.exists(SOCKET):
            os.unlink(SOCKET)


# ---- what they are made of ----

def memif(role, number):
    return (f"--device net_memif0,role={role},socket={SOCKET},socket-abstract=no,mac=02:00:00:00:00:0{number}",
            f"--ip 10.1.0.{number}/24")


def pair(made, target_words="", client_words="", before="", before_target=""):
    """A target and who sends to it: over shared memory, or over an interface each (before: how to reach them)."""
    ends = [memif("server", 1), memif("client", 2)] if not before else \
        [(f"--device {name}", f"--ip 10.1.0.{number}/24") for number, name in ((1, "near"), (2, "far"))]
    pmd = before + "build/app/uroce-testpmd -- -i"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = f"-p {free.getsockname()[1]}"
    target = made.open(before_target + pmd, *ends[0], f"--server {port} {target_words}".strip(), until="serving peers")
    client = made.open(pmd, *ends[1], f"--peer 127.0.0.1 {port} -q 1 {client_words}".strip(),
                       until="lists the commands")
    return target, client


def number_of(terminal):
    """Of its first queue pair."""
    terminal.type("show qp", "^0x")
    return re.search("^(0x[0-9a-f]+)", "\n".join(terminal.shown), re.M)[1]


def ip(words, *more):
    done = subprocess.run(["ip", *words.split(), *more], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise Missing(f"ip {words}: {done.stdout.strip()}")


def wired(made, mtu):
    """Interfaces near, far and other at a switch, in a network of their own. Returns the command prefix."""
    if os.geteuid() != 0:
        raise Missing("only root makes network interfaces")
    ip(f"netns add {SPACE}")
    made.undo.callback(lambda: subprocess.run(["ip", "netns", "del", SPACE]))
    ip(f"-n {SPACE} link set lo up")
    ip(f"-n {SPACE} link add name switch type bridge")
    for name in ("near", "far", "other"):
        ip(f"-n {SPACE} link add name {name} mtu 9000 type veth peer name to-{name}")
        # The switch drops what leaves on the other side: at the first port the sender would be told.
        ip(f"-n {SPACE} link set dev to-{name} mtu {mtu if name == 'near' else 9000} master switch")
        for one in (name, f"to-{name}"):
            ip(f"-n {SPACE} link set dev {one} up")
    ip(f"-n {SPACE} link set switch up")
    time.sleep(1)  # until the switch forwards
    return f"ip netns exec {SPACE} "


def start(client):
    client.type("start", "started")


def core_of_others(made):
    """A core on which three other programs compute. Returns the command prefix for it."""
    core = min(os.sched_getaffinity(0))
    burn = [subprocess.Popen(["taskset", "-c", str(core), "sh", "-c", "while :; do :; done"]) for _ in range(3)]
    made.undo.callback(lambda: [one.kill() for one in burn] and [one.wait() for one in burn])
    return f"taskset -c {core} "


def served(made, words):
    """An NVMe target, and the command of its host, over shared memory."""
    store = f"--device net_memif0,role=server,socket={SOCKET},socket-abstract=no --ip 10.1.0.1/24 --no-dad"
    target = made.open(f"build/app/uroce-nvmet {store} {words}", until="nvme connect")
    device = f"--device net_memif0,role=client,socket={SOCKET},socket-abstract=no"
    return target, f"build/app/uroce-nvme-perf --peer 10.1.0.1 {device} --ip 10.1.0.2/24 --no-dad"


# ---- what breaks: as the sender sees it ----

def loss(made):
    """2 % of the frames are lost"""
    target, client = pair(made)
    start(client)
    qpn = number_of(client)
    target.type("inject loss 2%", "corrupted")
    made.breaks("`inject loss 2%` at the target: 2 % of its received frames are lost.")
    made.run(f"build/app/uroce-top --why {qpn}", r"packets were retransmitted after losses: look for drops")


def corruption(made):
    """2 % of the frames are damaged"""
    _, client = pair(made)
    start(client)
    qpn = number_of(client)
    client.type("inject corrupt 2%", "corrupted")
    made.breaks("`inject corrupt 2%` at the sender: 2 % of its received frames have a flipped bit.")
    made.run(f"build/app/uroce-top --why {qpn}", r"rx_icrc_encapsulated counts \d+ \(frames with a wrong ICRC\)")


def cable(made):
    """The cable is pulled"""
    _, client = pair(made, before=wired(made, 9000))
    start(client)
    qpn = number_of(client)
    ip(f"-n {SPACE} link set dev to-far down")
    made.breaks("The other end of the interface goes down, under a program on an interface of the kernel.")
    made.run(f"build/app/uroce-top --why {qpn}", r"port \S+ has no link: check the cable")


def flap(made):
    """The link goes down for 0.2 s"""
    _, client = pair(made, before=wired(made, 9000))
    start(client)
    made.breaks("The other end of the interface goes down and up again. The sender prints:")
    ip(f"-n {SPACE} link set dev to-far down")
    time.sleep(0.2)
    ip(f"-n {SPACE} link set dev to-far up")
    made.read(client, "PORT_ACTIVE: its link is up")
    made.show(client, 3)


def mtu(made):
    """The MTU of the switch is too small"""
    _, client = pair(made, "--mtu 4096", "--mtu 4096 --size 5000 --mix write:1", wired(made, 1500))
    qpn = number_of(client)
    made.breaks("Both interfaces have MTU 9000, the switch between them 1500, and the path MTU is 4096.")
    start(client)
    made.run(f"build/app/uroce-top --why {qpn}", r"frames of the path MTU do not pass \(MTUs of interfaces")


def pkey(made):
    """The partition key is wrong"""
    _, client = pair(made, "", "--pkey 0x8001")
    qpn = number_of(client)
    made.breaks("The sender is of partition 0x8001, the target of 0xffff.")
    start(client)
    made.run(f"build/app/uroce-top --why {qpn}", r"or has another VLAN \(drop_vlan\) or P_Key")


def vlan(made):
    """The VLAN is wrong"""
    _, client = pair(made, "", "--vlan 5", wired(made, 9000))
    qpn = number_of(client)
    made.breaks("The sender is of VLAN 5, the target of none.")
    start(client)
    made.run(f"build/app/uroce-top --why {qpn}", r"or has another VLAN \(drop_vlan\) or P_Key")


def key(made):
    """The key is wrong"""
    _, client = pair(made, "", "--rkey 0x12345678 --mix write:1")
    qpn = number_of(client)
    made.breaks("The sender names a key that the target has not given.")
    start(client)
    made.run(f"build/app/uroce-top --why {qpn}", r"NAK_REMOTE_ACCESS. Look: compare rkey")


def killed(made):
    """The peer is killed"""
    target, client = pair(made)
    start(client)
    made.breaks("`kill -9` of the target. The sender prints:")
    target.process.kill()
    made.read(client, "the peer's program ended")
    made.show(client, 3)


def stopped(made):
    """The peer is stopped"""
    target, client = pair(made, before=wired(made, 9000))
    start(client)
    qpn = number_of(client)
    made.breaks("The process of the target gets SIGSTOP.")
    target.process.send_signal(signal.SIGSTOP)
    made.run(f"build/app/uroce-top --why {qpn}", r"does not answer echo requests either: the peer's program .* stopped")


def perf(made, words):
    """A benchmark with both ends in it; returns the sender's number."""
    program = made.open(f"build/app/uroce-perf --op send --mode bw -s 4096 -t 32 {words} -D 30", until="local address")
    return re.search("local address: QPN (0x[0-9a-f]+)", "\n".join(program.shown))[1]


def no_receive(made):
    """Nobody posts a receive"""
    qpn = perf(made, "-r 1 --rx-rate 1")
    made.breaks("A receiver that has posted one receive, and none since: `uroce-perf -r 1 --rx-rate 1`.")
    made.run(f"build/app/uroce-top --why {qpn}", "RNR NAKs arrived, and no other response: the peer has no receive")


def slow(made):
    """The receiver is slow"""
    qpn = perf(made, "-r 32 --rx-rate 20000")
    made.breaks("A receiver that posts 20000 receives a second: `uroce-perf --rx-rate 20000`.")
    made.run(f"build/app/uroce-top --why {qpn}", "RNR NAKs arrived: the peer is a slow receiver")


def full(made):
    """A completion queue is full"""
    program = made.open("build/app/uroce-testpmd -- -i --cq-depth 4 -q 1", until="lists the commands")
    qpn = number_of(program)
    made.breaks("Completion queues have 4 entries, and 32 requests are under way.")
    start(program)
    made.run(f"build/app/uroce-top --why {qpn}", "a completion queue of the QP overflowed, and a completion is lost")


def starved(made):
    """The core belongs to others"""
    program = made.open(core_of_others(made) + "build/app/uroce-testpmd -- -i -q 1", until="lists the commands")
    start(program)
    qpn = number_of(program)
    made.breaks("Three other programs compute on the core of the lcore.")
    made.run(f"build/app/uroce-top --why {qpn}",
             r"the lcore of the queue pair waited for \d\d % of the time while other threads")
    seconds, line = made.seconds, made.line
    made.run("build/app/uroce-top --once --rows 0", r"\d\d%\s+\d\d%\s+2")
    made.seconds, made.line = seconds, line


def peer_starved(made):
    """The core of the peer belongs to others"""
    before = core_of_others(made)
    _, client = pair(made, before_target=before)
    start(client)
    qpn = number_of(client)
    made.breaks("Three other programs compute on the core of the target's lcore.")
    made.run(f"build/app/uroce-top --why {qpn}", r"round trip takes [\d.]+ ms: the peer's lcore shares its core")


def conflict(made):
    """Two stations have one address"""
    before = wired(made, 9000)
    pair(made, before=before)
    made.breaks("A program starts with the address of the target, at another interface.")
    made.run(before + "build/app/uroce-testpmd -- --device other --ip 10.1.0.1/24 --server", "is held by")


def wrong_nqn(made):
    """The name of the subsystem is wrong"""
    _, host = served(made, "--memory 8M")
    made.breaks("The host names a subsystem that the target does not have.")
    made.run(host + " --nqn nqn.2026-01.uroce:none", "no subsystem has that NQN")


def refused(made):
    """The target does not know the host"""
    _, host = served(made, "--memory 8M --nqn nqn.2026-01.uroce:a --host-nqn nqn.2026-01.uroce:another")
    made.breaks("Only another host may connect.")
    made.run(host + " --nqn nqn.2026-01.uroce:a", "host not allowed")


def no_space(made):
    """The file system of the target is full"""
    small = os.path.join(made.folder, "small")
    os.mkdir(small)
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", small]).returncode:
        raise Missing("only root mounts a small file system")
    made.undo.callback(lambda: subprocess.run(["umount", "-l", small]))
    _, host = served(made, "--nqn nqn.2026-01.uroce:a --buffered --file ./small/disk:8M")
    made.breaks("A namespace of 8 MB lies on a file system of 1 MB.")
    made.run(host + " --nqn nqn.2026-01.uroce:a --rw write", "the target's disk is full")


def truncated(made):
    """The file of the target is cut"""
    _, host = served(made, "--nqn nqn.2026-01.uroce:a --buffered --file ./disk:8M")
    made.breaks("The file behind a namespace is cut to 1 MB.")
    os.truncate(os.path.join(made.folder, "disk"), 1 << 20)
    made.run(host + " --nqn nqn.2026-01.uroce:a --rw read", "cannot read its file or disk")


ALL = (loss, corruption, cable, flap, mtu, pkey, vlan, key, full, no_receive, slow, starved, peer_starved, killed,
       stopped, wrong_nqn, refused, no_space, truncated, conflict)


def run(build, what, seconds=SECONDS):
    """Makes one and finds it within so many seconds. The Breakage, with its page, line and seconds."""
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(build, os.path.join(folder, "build"))
        made = Breakage(folder, seconds)
        try:
            what(made)
        finally:
            made.close()
    if made.seconds > seconds:
        raise SystemExit(f"breakages: {what.__doc__}: found only after {made.seconds:.1f} s: {made.line}")
    return made


def page(build):
    lines, rows = [], []
    for what in ALL:
        made = run(build, what)
        lines += [f"## {what.__doc__}", "", made.how, "", *made.page,
                  f"The cause was named after {made.seconds:.1f} s.", ""]
        anchor = re.sub("[^a-z0-9 -]", "", what.__doc__.lower()).replace(" ", "-")
        rows.append(f"| [{what.__doc__}](#{anchor}) | {made.seconds:.1f} |")
    return "\n".join([
        "# Twenty breakages", "",
        "Twenty faults, each injected and then diagnosed at the sender with uroce's own tools; generated by running",
        "them (`make pages`). Times run from the fault to the line that names its cause, and include the tool's start.",
        "`uroce-top --why QPN` works for any program on this machine; `why QPN` at the prompt of `uroce-testpmd` and",
        "`/uroce/qp/why,QPN` on the telemetry socket return the same sentence.", "",
        "| fault | seconds to its cause |", "|---|---|", *rows, "", *lines]).rstrip() + "\n"
