#!/usr/bin/env python3
# idle.py - a uroce-nvmet that has nothing to do leaves its core to others, and is there when something comes
# SPDX-License-Identifier: BSD-3-Clause
"""idle.py BUILD [SECONDS]: prints TAP; so long each time the target is watched.

The tests count polls and context switches. CPU time depends on the machine, so it is only printed.
No hugepages or NIC needed; the packet socket needs root, and has a network namespace of its own.
"""
import glob
import json
import os
import subprocess
import sys
import tempfile
import time

from cases import BUILD, PATIENCE_S, Running, Skipped, main, want
from target import DISK, HOST, LOOP, TARGET, Ends, queues_are_there, with_files

sys.path.insert(0, os.path.join(BUILD, "app"))
import uroce_telemetry  # noqa: E402

uroce_telemetry.WAIT = PATIENCE_S  # a machine that writes to a slow disk may stand still for longer than 5 s
CASES = []
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 5
# Where frames do not wake a lane it sleeps for up to 10 ms: 100 polls per second, and some hundred more after each
# keep-alive. A lane that does not sleep polls a hundred times as often, even with a twentieth of a slow core.
MOST_POLLS = 500  # per second and lane
# Where frames wake a lane it sleeps for 20 ms: 50 polls per second.
MOST_POLLS_WOKEN = 80
WINDOWS = 6
QUIET = ("--iodepth", "1", "--thinktime", "10000000", "--runtime", "600")  # a command in ten seconds, and keep-alive


def case(function):
    CASES.append(function)
    return function


def switches(program):
    """How often its threads went to sleep, and how often they lost their core or gave it away."""
    slept = lost = 0
    for path in glob.glob(f"/proc/{program.process.pid}/task/*/status"):
        counts = dict(line.split(":", 1) for line in open(path).read().splitlines())
        slept += int(counts["voluntary_ctxt_switches"])
        lost += int(counts["nonvoluntary_ctxt_switches"])
    return slept, lost


def cpu_seconds(program):
    words = open(f"/proc/{program.process.pid}/stat").read().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


class Watched:
    """What a target did while the `with` block ran, per second."""

    def __init__(self, program, seconds):
        instance, = uroce_telemetry.instances(f"uroce-{program.process.pid}")

        def facts():
            """A target that gets no core for a second sends an empty answer."""
            end, counts = time.monotonic() + PATIENCE_S, {}
            while not counts:
                want(time.monotonic() < end, "only empty answers", program.text())
                counts = instance.ask("/uroce/nvmet")
            return counts["polls"], counts["commands"], *switches(program), cpu_seconds(program), time.monotonic()
        before = facts()
        time.sleep(seconds)
        self.polls, self.commands, self.slept, self.lost, self.cpu, self.seconds = \
            (after - first for first, after in zip(before, facts()))
        instance.close()

    def __str__(self):
        counts = {"polls": self.polls, "commands": self.commands, "sleeps": self.slept, "lost cores": self.lost}
        rates = ", ".join(f"{count / self.seconds:.0f} {name}" for name, count in counts.items())
        return f"{rates} per second, {100 * self.cpu / self.seconds:.2f} % of a core"


def want_idle(program, what, lanes=1, most_polls=MOST_POLLS):
    """In one of several windows. A lane that got no core for a second polls more often afterwards, because its hosts
    repeat what they sent; one that does not sleep does so in each window."""
    for _ in range(WINDOWS):
        watched = Watched(program, SECONDS)
        print(f"# {what}: {watched}", flush=True)
        if watched.polls < most_polls * lanes * watched.seconds:
            return
    want(False, what, watched, program.text())


def finish(directory, host):
    """Waits for a host, and returns the median latency of its commands in microseconds."""
    want(host.finish(120) == 0, host.text())
    result, = json.load(open(directory + "/out.json"))["results"]
    want(result["ios"] > 3, result)
    return result["lat_p50_us"]


@case
def target_sleeps_without_hosts(directory):
    with Ends(directory, "--memory", "8M") as ends:
        want_idle(ends.target, "memif, nobody there")
        loop = ends.start("loop", "nvmet", *LOOP, "--memory", "8M", "--nqn", DISK)
        loop.wait_for("nvme connect")
        want_idle(loop, "loop, nobody there")


@case
def each_of_several_lcores_sleeps(directory):
    with Ends(directory, "--memory", "8M", "--nb-cores", "2", "--control", directory + "/control") as ends:
        want_idle(ends.target, "memif, two lcores, nobody there", 2)
        host = ends.host("host", "--queues", "4", "--port-queues", "2", *QUIET)
        host.wait_until(queues_are_there, directory + "/control", 5)
        time.sleep(0.5)
        want_idle(ends.target, "memif, two lcores, a host that says nothing", 2)
        want(queues_are_there(directory + "/control", 5), ends.target.text())


@case
def target_sleeps_while_a_host_is_idle(directory):
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
        return Running(self.directory, tag, "nvme-perf", "-d", "ub", "--ip", f"{HOST}/24", "--peer", TARGET, "--nqn",
                       DISK, *options)


@case
def target_on_a_packet_socket_sleeps_until_a_frame_arrives(directory):
    cable = Cable(directory, "--memory", "8M")
    want_idle(cable.target, "packet socket, nobody there", 1, MOST_POLLS_WOKEN)
    host = cable.host("host", *QUIET)
    host.wait_until(queues_are_there, directory + "/control", 2)
    time.sleep(0.5)
    want_idle(cable.target, "packet socket, a host that says nothing")
    host.kill()
    host = cable.host("waker", "--iodepth", "1", "--thinktime", "500000", "--runtime", "5", "--json",
                      directory + "/out.json")
    # How soon a frame wakes it is a matter of the machine; that a frame does is tested by eal/wait.
    print(f"# a command after half a second of quiet: {finish(directory, host):.0f} us", flush=True)


@case
def interface_down_causes_no_work(directory):
    cable = Cable(directory, "--memory", "8M")
    subprocess.run(["ip", "link", "set", "ua", "down"], check=True)
    want_idle(cable.target, "packet socket, the interface down", 1, MOST_POLLS_WOKEN)
    subprocess.run(["ip", "link", "set", "ua", "up"], check=True)
    host = cable.host("host", "--rw", "randrw", "--verify", "--runtime", "0.5")
    want(host.finish() == 0, host.text(), cable.target.text())


@case
@with_files
def target_sleeps_while_a_disk_works(directory):
    for threads in ((), ("--threads",)):
        with tempfile.TemporaryDirectory(dir=BUILD) as folder:
            path = folder + "/disk"
            with Ends(directory, "--file", path + ":16M", *threads) as ends:
                ends.works("works", "--iodepth", "4")
            cable = Cable(directory, "--file", path, "--idle", "sleep", *threads)
            host = cable.host("host", "--rw", "randwrite", "--iodepth", "1", "--thinktime", "100000", "--runtime", "3",
                              "--json", directory + "/out.json")
            host.wait_until(queues_are_there, directory + "/control", 2)
            watched = Watched(cable.target, 2)
            want(watched.slept > watched.commands, watched)
            # That a disk wakes it is tested by app/lanes.
            print(f"# a write to a file after 0.1 s of quiet {threads}: {finish(directory, host):.0f} us", flush=True)
            cable.target.kill()


@case
def target_with_its_own_core_keeps_polling(directory):
    for how in ("poll", "yield", "sleep"):
        with Ends(directory, "--memory", "8M", "--idle", how) as ends:
            watched = Watched(ends.target, 1.5)
            print(f"# --idle {how}: {watched}", flush=True)
            want(watched.polls > 0, how, watched)
            # One that polls on goes to sleep only where another thread holds a lock.
            want((watched.slept > watched.polls / 2) == (how == "sleep"), how, watched)
            ends.works(how)


@case
def target_yields_its_unused_core_time(directory):
    """A host sends a command 200 us after each response. The target waits for 100 us, and gives its core away then."""
    with Ends(directory, "--memory", "8M", "--control", directory + "/control") as ends:
        host = ends.host("host", "--iodepth", "1", "--thinktime", "200", "--runtime", "300")
        host.wait_until(queues_are_there, directory + "/control", 2)
        core = min(os.sched_getaffinity(ends.target.process.pid))
        other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        try:
            os.sched_setaffinity(other.pid, {core})
            time.sleep(1)
            watched = Watched(ends.target, 3)
        finally:
            other.kill()
            other.wait()
        print(f"# beside another program, a host each 200 us: {watched}", flush=True)
        want(watched.slept + watched.lost > watched.commands / 2 > 0, watched)


if __name__ == "__main__":
    # A network of its own for the packet sockets, if that may be.
    if os.geteuid() == 0 and os.environ.get("UROCE_OWN_NETWORK") is None and \
            subprocess.run(["unshare", "-n", "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
        os.environ["UROCE_OWN_NETWORK"] = "1"
        os.execvp("unshare", ["unshare", "-n", sys.executable, *sys.argv])
    sys.exit(main("idle", CASES))
