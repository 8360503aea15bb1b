# target.py - a uroce-nvmet and hosts of it over a memif, for cases
# SPDX-License-Identifier: BSD-3-Clause
import functools
import os
import re
import sys
import time

from cases import BUILD, Running, Skipped, run, want, without_away

sys.path.insert(0, os.path.join(BUILD, "app"))
import uroce_telemetry  # noqa: E402

TARGET, HOST = "10.0.0.1", "10.0.0.2"
DISK, OTHER, OWN_HOST = "nqn.2026-01.uroce:disk", "nqn.2026-01.uroce:other", "nqn.2026-01.uroce:nvme-perf"
LOOP = ("-d", "loop", "--ip", "10.0.0.1/24")


def with_files(function):
    """For cases that serve a file: some kernels and containers have no io_uring."""
    @functools.wraps(function)
    def tried(directory):
        _, _, err = run("nvme-perf", "--runtime", "0.01")
        if "io_uring" in err:
            raise Skipped(err.strip())
        function(directory)
    return tried


def port(directory, role):
    return f"net_memif0,role={role},socket={directory}/memif.sock,socket-abstract=no"


INI = f"""; what a comment says is not read: [port.9]
[target]
max-data = 64k
in-capsule = 0      # hosts have 4096 by themselves
[subsystem.0]
nqn = {DISK}
serial=SERIAL
[subsystem.1]
nqn = {OTHER}
host-nqn = nqn.2026-01.uroce:somebody, %s
[namespace.0]
subsystem = {DISK}
store = memory:16M
[namespace.1]
subsystem = {OTHER}
store = %s/disk:16M
nsid = 7
block = 4096
"""


def write_ini(directory, text):
    path = os.path.join(directory, "nvmet.ini")
    open(path, "w").write(text)
    return path


class Ends:
    """A target, and hosts at the other end of its memif, one at a time."""

    def __init__(self, directory, *options):
        self.directory, self.running = directory, []
        self.target = self.serve("target", *options)

    def serve(self, tag, *options):
        name = () if {"--config", "--nqn"} & set(options) else ("--nqn", DISK)
        target = self.start(tag, "nvmet", *options, *name, "-d", port(self.directory, "server"), "--ip", f"{TARGET}/24")
        target.wait_for("nvme connect")
        return target

    def start(self, tag, *arguments):
        program = Running(self.directory, tag, *arguments)
        self.running.append(program)
        return program

    def host(self, tag, *options, nqn=DISK):
        return self.start(tag, "nvme-perf", "-d", port(self.directory, "client"), "--ip", f"{HOST}/24", "--peer",
                          TARGET, "--nqn", nqn, "--runtime", "0.2", *options)

    def works(self, tag, *options, nqn=DISK):
        host = self.host(tag, "--rw", "randrw", "--verify", *options, nqn=nqn)
        if host.finish() != 0 or not re.search(r" [1-9]\d* verified", host.text()):
            raise AssertionError(host.text() + self.state())

    def state(self):
        """The target's log and its nonzero counters, for a failure. An absence is logged up to 0.1 s after its end."""
        time.sleep(0.2)
        lines = [self.target.text()]
        for instance in uroce_telemetry.instances(f"uroce-{self.target.process.pid}"):
            lines.append(str({name: count for name, count in instance.ask("/uroce/counters", 0).items() if count}))
            instance.close()
        return "\n".join(lines)

    def fails(self, tag, status, *words, nqn=DISK, options=()):
        host = self.host(tag, *options, nqn=nqn)
        code, lines = host.finish(), complaints(host)
        want(code == status and len(lines) == 1 and all(word in lines[0] for word in words), code, host.text())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for program in self.running:
            program.kill()
        socket = self.directory + "/memif.sock"
        if os.path.exists(socket):  # of a target that was killed
            os.unlink(socket)


def complaints(program):
    return [line for line in without_away(program.text()).splitlines() if line.startswith(("uroce-", "/"))]


def tell(directory, *words):
    """The target whose socket is there: status, what it said, complaints."""
    return run("nvmetcli", "--control", directory + "/control", *words)


def queues_are_there(control, count):
    """Of one host, the admin queue among them."""
    return f", {count} queues" in run("nvmetcli", "--control", control, "controllers")[1]
