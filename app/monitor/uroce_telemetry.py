# uroce_telemetry.py - a running uroce program, asked over its telemetry socket
# SPDX-License-Identifier: BSD-3-Clause
"""For uroce-top, uroce-devinfo and uroce-exporter:
    for instance in instances():
        print(instance.prefix, instance.ask("/uroce/info"))
Nothing waits longer than WAIT seconds. An instance that has gone raises Gone."""
import argparse
import json
import os
import socket
import struct
import sys

SOCKET = "dpdk_telemetry.v2"
WAIT = 5


class Parser(argparse.ArgumentParser):
    """Refuses in one line, as the other programs do."""

    def error(self, message):
        self.exit(2, f"{self.prog}: {message}; --help lists the options\n")

    def add_renamed(self, old, now):
        """An earlier spelling, refused with the present one."""
        class Refuse(argparse.Action):
            def __call__(self, parser, *_):
                parser.exit(2, f"{parser.prog}: {old}: use {now}\n")
        self.add_argument(old, action=Refuse, nargs="?", help=argparse.SUPPRESS)


class Gone(Exception):
    """Nobody answers there, or not in time."""


class Stopped(Gone):
    """The process is stopped, so it cannot answer."""


def refuse_stopped(pid):
    """A stopped process would be waited for in vain."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
            state = stat.read().rpartition(")")[2].split()[0]
    except OSError:  # of another PID namespace, or gone
        return
    if state in "Tt":
        raise Stopped(f"process {pid} is stopped and answers nothing: kill -CONT {pid}")


def folders():
    """Where EAL puts the folders of its processes, as root and as anybody else."""
    private = os.environ.get("XDG_RUNTIME_DIR", "/tmp")
    return [os.environ["RUNTIME_DIRECTORY"]] if "RUNTIME_DIRECTORY" in os.environ else \
        [path + "/dpdk" for path in ("/var/run", private)]


class Instance:
    """One process."""

    def __init__(self, path):
        self.prefix = os.path.basename(os.path.dirname(path))
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(WAIT)
        try:
            self.socket.connect(path)
            self.pid, _, _ = struct.unpack("3i", self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            refuse_stopped(self.pid)
            self.limit = json.loads(self.socket.recv(1024))["max_output_len"]
        except (OSError, ValueError, KeyError) as error:
            self.socket.close()
            raise Gone(f"{path}: {error}") from error
        except Stopped as stopped:
            self.socket.close()
            raise Stopped(f"{self.prefix}: {stopped}") from stopped

    def ask(self, command, parameter=None):
        """The answer: a dictionary, a list, or a sentence; None where the process has no such command."""
        refuse_stopped(self.pid)
        try:
            self.socket.send((command if parameter is None else f"{command},{parameter}").encode())
            return json.loads(self.socket.recv(self.limit))[command]
        except (OSError, ValueError, KeyError) as error:
            raise Gone(f"{self.prefix}: {command}: {error or 'it has ended'}") from error

    def qps(self):
        """The numbers of all queue pairs."""
        found, place = [], None
        while place != 0:
            page = self.ask("/uroce/qp/list", place)
            if not isinstance(page, dict):
                break
            found += page["qps"]
            place = page["next"]
        return found

    def ports(self):
        """The ports with a device."""
        found = self.ask("/uroce/port/list")
        return found if isinstance(found, list) else []

    def close(self):
        self.socket.close()


def plan(prefix=None):
    """A sentence on whom instances() asks, without asking anybody."""
    whom = f"the uroce program {prefix}" if prefix else "each uroce program"
    return f"{whom} with a telemetry socket in {' or '.join(folders())} is queried"


def instances(prefix=None, stopped=None):
    """Those that run here and are uroce programs; of one file prefix, if it is given. stopped: a list that gets a
    sentence about each that is stopped."""
    found, closed = [], []
    for folder in folders():
        try:
            names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
        except OSError as error:
            closed.append(f"{folder}: {error.strerror}")
            continue
        for name in names:
            if prefix in (None, name):
                found += one_at(os.path.join(folder, name, SOCKET), stopped)
    if closed and not found:
        raise Gone(f"{', '.join(closed)}: run it as root, or as the owner of the programs")
    return found


def one_at(path, stopped=None):
    """The instance there, or nothing: it has gone, is stopped, or is no uroce program."""
    try:
        instance = Instance(path)
    except Stopped as one:
        if stopped is not None:
            stopped.append(str(one))
        return []
    except Gone:
        return []
    try:
        if isinstance(instance.ask("/uroce/info"), dict):
            return [instance]
    except Gone:
        pass
    instance.close()
    return []


def finish(name, run):
    """Ends the program with what run() returns; what goes wrong is one line, and output that was lost a failure."""
    try:
        if sys.stdout is None:
            raise OSError(0, "it is closed")
        try:
            code = run()
        except SystemExit as end:  # of the parser of arguments
            code = end.code
        sys.stdout.flush()
    except Gone as gone:
        print(f"{name}: {gone}", file=sys.stderr)
        code = 3
    except (KeyboardInterrupt, BrokenPipeError):
        code = 130
    except OSError as error:
        print(f"{name}: the output cannot be written: {error.strerror}: write it elsewhere", file=sys.stderr)
        code = 3
    if sys.stderr is not None:
        sys.stderr.flush()
    os._exit(code or 0)  # the interpreter would try to write what is left, and tell of it once more
