#!/usr/bin/env python3
# addresses.py - which addresses programs refuse: their peer's, another program's, another station's
# SPDX-License-Identifier: BSD-3-Clause
"""addresses.py BUILD: prints TAP.

What needs an interface needs root: each such case makes a veth pair in a network namespace of its own.
"""
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time

import programs
from cases import Running, Skipped, main, one_line, program, run, want

CASES = []
ends = programs.memif
NQN = "nqn.2026-01.org.example:disk1"


def case(function):
    CASES.append(function)
    return function


# ---- a network of its own ----

CLONE_NEWNET = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)


def ip(*words):
    subprocess.run(["ip", *words], check=True)


def new_network():
    """Each case has a network namespace of its own, with a veth pair: "ua" and "ub"."""
    if os.geteuid() != 0 or not shutil.which("ip") or LIBC.unshare(CLONE_NEWNET) != 0:
        raise Skipped("needs root for a network namespace, and iproute2")
    ip("link", "add", "ua", "type", "veth", "peer", "name", "ub")
    for end in ("ua", "ub", "lo"):
        ip("link", "set", end, "up")


class Neighbour:
    """Another network namespace, with the other end "ub" of our interface."""

    def __init__(self):
        self.process = subprocess.Popen(["unshare", "-n", "sleep", "600"])
        own = os.readlink("/proc/self/ns/net")
        end = time.monotonic() + 60
        while os.readlink(f"/proc/{self.process.pid}/ns/net") == own and time.monotonic() < end:
            time.sleep(0.01)
        ip("link", "set", "ub", "netns", str(self.process.pid))
        self.run("ip", "link", "set", "ub", "up")

    def command(self, *words):
        return ["nsenter", "-t", str(self.process.pid), "-n", *words]

    def run(self, *words):
        return subprocess.run(self.command(*words), check=True, stdout=subprocess.PIPE, text=True).stdout

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def target(directory, tag, interface="ua,qdisc_bypass=0", address="192.0.2.9/24"):
    control = os.path.join(directory, tag + ".sock")
    return Running(directory, tag, "nvmet", "-d", interface, "--ip", address, "--nqn", NQN, "--memory", "16M",
                   "--control", control)


def started_target(*arguments, **options):
    running = target(*arguments, **options)
    running.wait_for("nvme connect")
    return running


def refused(running, *words):
    code = running.finish()
    one_line(running.path, (code, "", running.text()), 3, *words)


# ---- addresses of peers ----


def memif(directory):
    return f"net_memif0,role=server,socket={directory}/memif.sock,socket-abstract=no"


@case
def peer_at_our_own_address_is_refused(directory):
    port = ("-d", memif(directory), "--ip", "192.0.2.9/24")
    for name, *options in (("perf", *port, "-R", "192.0.2.9"),
                           ("nvme-perf", *port, "--peer", "192.0.2.9", "--nqn", NQN)):
        code, _, err = run(name, *options)
        one_line(name, (code, "", err), 2, "192.0.2.9", "is also the local address")


PAIRS = {
    "perf": (("--server",), ("--op", "send", "127.0.0.1"), 1, 1),
    "testpmd": (("--server",), ("--peer", "127.0.0.1"), None, 3),  # a target serves others after that
}


@case
def peer_that_has_our_own_address_is_refused_at_both_ends(directory):
    for number, (name, (serve, use, served, used)) in enumerate(PAIRS.items()):
        own = os.path.join(directory, name)
        os.mkdir(own)
        port = ["-d", "net_memif0", "--ip", "192.0.2.9/24", "-p", str(18640 + number)]
        server = Running(own, "server", name, *ends(own, "server", "02:00:00:00:00:01"), *port, *serve)
        server.wait_for("TCP port")
        code, _, err = run(name, *ends(own, "client", "02:00:00:00:00:02"), *port, *use)
        one_line(name, (code, "", err), used, "192.0.2.9", "give each end its own address")
        server.wait_for("192.0.2.9.*give each end its own address")
        want(served is None or server.finish() == served, server.text())
        server.kill()


# ---- claims: one machine ----


@case
def second_target_with_an_address_is_refused_and_names_the_owner(directory):
    new_network()
    first = started_target(directory, "first")
    refused(target(directory, "second"), "192.0.2.9", "uroce-nvmet", f"process {first.process.pid}")
    started_target(directory, "other", address="192.0.2.10/24")
    want(first.interrupt() == 130 or first.process.returncode == 0, first.text())
    started_target(directory, "third")


@case
def claim_of_a_killed_program_is_free(directory):
    new_network()
    first = started_target(directory, "first")
    first.process.send_signal(signal.SIGKILL)
    first.finish()
    started_target(directory, "second")


@case
def claims_are_shared_between_uroce_run_and_native_programs(directory):
    new_network()
    if not os.path.exists(program("run")):
        raise Skipped("needs libibverbs")
    first = started_target(directory, "first")
    verbs = ["-d", "ua", "--ip", "192.0.2.9/24"]
    one_line("run", run("run", *verbs, "true"), 3, "192.0.2.9", "uroce-nvmet", f"process {first.process.pid}")
    first.kill()
    sleeper = Running(directory, "sleeper", "run", *verbs, "sleep", "60")
    sleeper.wait_until(lambda: b"sleep" in open(f"/proc/{sleeper.process.pid}/cmdline", "rb").read().split(b"\0")[0])
    refused(target(directory, "second"), "192.0.2.9", "sleep", f"process {sleeper.process.pid}")


@case
def range_skips_addresses_of_no_host(directory):
    new_network()
    if not os.path.exists(program("run")):
        raise Skipped("needs libibverbs")
    code, out, err = run("run", "-d", "ua", "--ip", "192.0.2.0-192.0.2.9/24", "sh", "-c", "echo $UROCE_IP")
    want(code == 0 and out.strip() == "192.0.2.1/24", code, out, err)
    one_line("run", run("run", "-d", "ua", "--ip", "192.0.2.255/24", "true"), 2, "192.0.2.255/24", "broadcast")


@case
def same_address_in_another_network_namespace_is_no_conflict(directory):
    new_network()
    started_target(directory, "first")
    new_network()
    started_target(directory, "second")


@case
def unprivileged_users_have_claims_too(directory):
    new_network()
    if not os.path.exists(program("run")):
        raise Skipped("needs libibverbs")

    def claim(tag, user):
        return subprocess.Popen(["setpriv", f"--reuid={user}", "--clear-groups", program("run"), "-d", "ua", "--ip",
                                 "192.0.2.9/24", "sh", "-c", "echo started; sleep 60"], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    first = claim("first", 65534)
    try:
        line = first.stdout.readline()
        if line != "started\n":
            raise Skipped(f"a user needs namespaces: {first.stderr.read()}")
        second = claim("second", 65533)
        out, err = second.communicate(timeout=60)
        one_line("second", (second.returncode, out, err), 3, "192.0.2.9", "sh", f"process {first.pid}")
    finally:
        first.kill()
        first.wait()


# ---- probes: the network ----


def mac_of(neighbour):
    words = neighbour.run("ip", "-o", "link", "show", "ub").split()
    return words[words.index("link/ether") + 1]


@case
def address_of_a_kernel_on_the_network_is_refused(directory):
    new_network()
    with Neighbour() as kernel:
        kernel.run("ip", "address", "add", "192.0.2.9/24", "dev", "ub")
        kernel.run("ip", "address", "add", "fd00::9/64", "dev", "ub", "nodad")
        for address in ("192.0.2.9/24", "fd00::9/64"):
            refused(target(directory, "target", address=address), address[:-3] + " is held by " + mac_of(kernel))
        for name, *options in (("perf", "--server"), ("testpmd", "--server"),
                               ("nvme-perf", "--peer", "192.0.2.1", "--nqn", NQN)):
            code, _, err = run(name, "-d", "ua", "--ip", "192.0.2.9/24", *options)
            one_line(name, (code, "", err), 3, "192.0.2.9 is held by " + mac_of(kernel))
        started_target(directory, "free", address="192.0.2.10/24")


@case
def address_of_a_program_on_the_network_is_refused(directory):
    new_network()
    with Neighbour() as other:
        words = other.command(sys.executable, "-c", "import os, sys; os.execv(sys.argv[1], sys.argv[1:])")
        for address in ("192.0.2.9/24", "fd00::9/64"):
            path = os.path.join(directory, "first" + address[:2])
            with open(path, "w") as out:
                serve = [program("perf"), "-d", "ub", "--ip", address, "-R", "--server"]
                first = subprocess.Popen([*words, *serve], stdout=out, stderr=out, stdin=subprocess.DEVNULL)
            try:
                end = time.monotonic() + 60
                while "waiting for a client" not in open(path).read() and time.monotonic() < end:
                    time.sleep(0.05)
                refused(target(directory, "target", address=address), "is held by " + mac_of(other))
            finally:
                first.kill()
                first.wait()


@case
def no_dad_uses_the_address_and_reports_the_conflict_later(directory):
    """Every program prints it that runs for long, and so does one of verbs."""
    new_network()
    address = ("-d", "ua", "--ip", "192.0.2.9/24", "--no-dad")
    ini = os.path.join(directory, "ini")
    open(ini, "w").write("[port.0]\ndevice = ua\nip = 192.0.2.9/24\nno-dad = 1\n[traffic]\nserver = 1\n")
    programs_and_options = [
        ("testpmd", *address, "--server"),
        ("testpmd", "--config", ini),
        ("perf", *address, "--server"),
        ("nvmet", *address, "--nqn", NQN, "--memory", "16M", "--control", os.path.join(directory, "control")),
    ]
    if os.path.exists(program("run")) and shutil.which("ibv_rc_pingpong"):
        programs_and_options.append(("run", *address, "ibv_rc_pingpong", "-g", "0"))
    with Neighbour() as kernel:
        kernel.run("ip", "address", "add", "192.0.2.9/24", "dev", "ub")
        for name, *options in programs_and_options:
            running = Running(directory, "running", name, *options)
            running.wait_until(lambda: conflict_is_told(kernel, running))
            want(running.text().count("is also used by") == 1, running.text())
            running.kill()


def conflict_is_told(kernel, running):
    kernel.run(sys.executable, "-c", ANNOUNCE, mac_of(kernel))
    time.sleep(0.2)
    return f"address 192.0.2.9 is also used by {mac_of(kernel)}: change the address of one" in running.text()


ANNOUNCE = """
import socket, sys
mac = bytes.fromhex(sys.argv[1].replace(":", ""))
addr = socket.inet_aton("192.0.2.9")
out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
out.bind(("ub", 0))
out.send(b"\\xff" * 6 + mac + b"\\x08\\x06" + b"\\0\\x01\\x08\\0\\x06\\x04\\0\\x01" + mac + addr + bytes(6) + addr)
"""


if __name__ == "__main__":
    sys.exit(main("addresses", CASES))
