#!/usr/bin/env python3
# idle.py - a uroce-nvmet that has nothing to do leaves its core to others, and is there when something comes
# SPDX-License-Identifier: BSD-3-Clause
"""idle.py BUILD [SECONDS]: prints TAP; so long each time the target is watched.

No hugepages or NIC needed; the packet socket needs root, and has a network namespace of its own.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

from cases import BUILD, Running, Skipped, main, want
from target import DISK, HOST, LOOP, TARGET, Ends, queues_are_there, with_files

CASES = []
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 8
MOST = 0.02  # of a core
QUIET = ("--iodepth", "1", "--thinktime", "10000000", "--runtime", "600")  # a command in ten seconds, and keep-alive


def case(function):
    CASES.append(function)
    return function


def spent(program, seconds):
    """How much of a core it takes, all threads together."""
    def ticks():
        words = open(f"/proc/{program.process.pid}/stat").read().rpartition(")")[2].split()
        return int(words[11]) + int(words[12])
    before, began = ticks(), time.monotonic()
    time.sleep(seconds)
    return (ticks() - before) / os.sysconf("SC_CLK_TCK") / (time.monotonic() - began)


def want_idle(program, what):
    part = spent(program, SECONDS)
    print(f"# {what}: {100 * part:.2f} % of a core", flush=True)
    want(part < MOST, what, part, program.text())


def latency_us(directory, host):
    """Of half of what a host has measured."""
    want(host.finish(120) == 0, host.text())
    result, = json.load(open(directory + "/out.json"))["results"]
    want(result["ios"] > 3, result)
    return result["lat_p50_us"]


@case
def it_sleeps_with_nobody_at_its_port(directory):
    with Ends(directory, "--memory", "8M") as ends:
        want_idle(ends.target, "memif, nobody there")
        loop = ends.start("loop", "nvmet", *LOOP, "--memory", "8M", "--nqn", DISK)
        loop.wait_for("nvme connect")
        want_idle(loop, "loop, nobody there")


@case
def each_of_several_lcores_sleeps(directory):
    with Ends(directory, "--memory", "8M", "--nb-cores", "2", "--control", directory + "/control") as ends:
        want_idle(ends.target, "memif, two lcores, nobody there")
        host = ends.host("host", "--queues", "4", "--port-queues", "2", *QUIET)
        host.wait_until(queues_are_there, directory + "/control", 5)
        time.sleep(0.5)
        want_idle(ends.target, "memif, two lcores, a host that says nothing")
        want(queues_are_there(directory + "/control", 5), ends.target.text())


@case
def it_sleeps_while_a_host_says_nothing(directory):
    with Ends(directory, "--memory", "8M", "--control", directory + "/control") as ends:
        host = ends.host("host", *QUIET)
        host.wait_until(queues_are_there, directory + "/control", 2)
        time.sleep(0.5)
        want_idle(ends.target, "memif, a host that says nothing")
        want(queues_are_there(directory + "/control", 2), ends.target.text())


class Cable:
    """A target at one end of a veth pair, and hosts at the other."""

    def __init__(self, directory, *options):
        if os.geteuid() != 0 or os.environ.get("UROCE_OWN_NETWORK") is None:
            raise Skipped("needs root for a network namespace")
        subprocess.run("ip link del ua 2>/dev/null; ip link add ua mtu 4500 type veth peer name ub mtu 4500 && "
                       "ip link set ua addrgenmode none up && ip link set ub addrgenmode none up", shell=True,
                       check=True)
        self.directory = directory
        self.target = Running(directory, "target", "nvmet", "-d", "ua", "--ip", f"{TARGET}/24", "--nqn", DISK,
                              "--control", directory + "/control", *options)
        self.target.wait_for("nvme connect")

    def host(self, tag, *options):
        return Running(self.directory, tag, "nvme-perf", "-d", "ub", "--ip", f"{HOST}/24", "--connect", TARGET, "--nqn",
                       DISK, *options)


@case
def over_a_packet_socket_it_sleeps_until_a_frame_comes(directory):
    cable = Cable(directory, "--memory", "8M")
    want_idle(cable.target, "packet socket, nobody there")
    host = cable.host("host", *QUIET)
    host.wait_until(queues_are_there, directory + "/control", 2)
    time.sleep(0.5)
    want_idle(cable.target, "packet socket, a host that says nothing")
    host.kill()
    # Naps of half a second's eighth and more would be 10 ms long.
    host = cable.host("waker", "--iodepth", "1", "--thinktime", "500000", "--runtime", "5", "--json",
                      directory + "/out.json")
    took = latency_us(directory, host)
    print(f"# a command after half a second of quiet: {took:.0f} us", flush=True)
    want(took < 2500, took)


@case
def an_interface_that_goes_down_is_no_work(directory):
    cable = Cable(directory, "--memory", "8M")
    subprocess.run(["ip", "link", "set", "ua", "down"], check=True)
    want_idle(cable.target, "packet socket, the interface down")
    subprocess.run(["ip", "link", "set", "ua", "up"], check=True)
    host = cable.host("host", "--rw", "randrw", "--verify", "--runtime", "0.5")
    want(host.finish() == 0, host.text(), cable.target.text())


@case
@with_files
def a_disk_that_has_done_its_work_wakes_it(directory):
    for threads in ((), ("--threads",)):
        with tempfile.TemporaryDirectory(dir=BUILD) as folder:
            path = folder + "/disk"
            with Ends(directory, "--file", path + ":16M", *threads) as ends:
                ends.works("works", "--iodepth", "4")
            cable = Cable(directory, "--file", path, "--idle", "sleep", *threads)
            host = cable.host("host", "--rw", "randwrite", "--iodepth", "1", "--thinktime", "100000", "--runtime", "3",
                              "--json", directory + "/out.json")
            took = latency_us(directory, host)
            print(f"# a write to a file after 0.1 s of quiet {threads}: {took:.0f} us", flush=True)
            want(took < 15000, took)  # 20 ms: nothing has woken it
            cable.target.kill()


@case
def with_a_core_of_its_own_it_polls_on(directory):
    for how, least, most in (("poll", 0.15, 1.1), ("yield", 0.15, 1.1), ("sleep", 0, 0.1)):
        with Ends(directory, "--memory", "8M", "--idle", how) as ends:
            part = spent(ends.target, 1.5)
            print(f"# --idle {how}: {100 * part:.0f} % of a core", flush=True)
            want(least <= part < most, how, part)
            ends.works(how)


@case
def others_have_the_core_that_it_does_not_need(directory):
    """Beside a host that asks all the time, what shares the target's core still gets its half of it."""
    with Ends(directory, "--memory", "8M", "--control", directory + "/control") as ends:
        host = ends.host("host", "--iodepth", "1", "--thinktime", "200", "--runtime", "30")
        host.wait_until(queues_are_there, directory + "/control", 2)
        core = min(os.sched_getaffinity(ends.target.process.pid))
        other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        try:
            os.sched_setaffinity(other.pid, {core})
            time.sleep(1)
            part = spent(ends.target, 3)
        finally:
            other.kill()
            other.wait()
        print(f"# beside another program, a host each 200 us: {100 * part:.0f} % of a core", flush=True)
        want(part < 0.4, part)


if __name__ == "__main__":
    # A network of its own for the packet sockets, if that may be.
    if os.geteuid() == 0 and os.environ.get("UROCE_OWN_NETWORK") is None and \
            subprocess.run(["unshare", "-n", "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
        os.environ["UROCE_OWN_NETWORK"] = "1"
        os.execvp("unshare", ["unshare", "-n", sys.executable, *sys.argv])
    sys.exit(main("idle", CASES))
