# uroce_telemetry.py - a running uroce program, asked over its telemetry socket
# SPDX-License-Identifier: BSD-3-Clause
"""For uroce-top, uroce-devinfo and uroce-exporter:
    for instance in instances():
        print(instance.prefix, instance.ask("/uroce/info"))
Nothing waits longer than WAIT seconds. An instance that has gone raises Gone."""
import json
import os
import socket

SOCKET = "dpdk_telemetry.v2"
WAIT = 5


class Gone(Exception):
    """Nobody answers there, or not in time."""


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
            self.limit = json.loads(self.socket.recv(1024))["max_output_len"]
        except (OSError, ValueError, KeyError) as error:
            self.socket.close()
            raise Gone(f"{path}: {error}") from error

    def ask(self, command, parameter=None):
        """The answer: a dictionary, a list, or a sentence; None where the process has no such command."""
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
    return f"{whom} with a telemetry socket in {' or '.join(folders())} is asked"


def instances(prefix=None):
    """Those that run here and are uroce programs; of one file prefix, if it is given."""
    found = []
    for folder in folders():
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
            if prefix not in (None, name):
                continue
            try:
                instance = Instance(os.path.join(folder, name, SOCKET))
            except Gone:
                continue
            if isinstance(instance.ask("/uroce/info"), dict):
                found.append(instance)
            else:
                instance.close()
    return found
