# witness.py - tshark, which we did not write, dissects what uroce sends
# SPDX-License-Identifier: BSD-3-Clause
import os
import signal
import subprocess
import tempfile
import time

from guest import TAP

NAME = "tshark finds no malformed frame among those that uroce has sent"
# What each frame says of itself: the name of its transport, and whether a dissector gave up on it.
FIELDS = ("frame.protocols", "_ws.malformed")


def seen(eal):
    """The same arguments, but frames pass where the kernel shows them to a recorder."""
    return [*eal[:-1], f"{eal[-1]},qdisc_bypass=0"]


class Witness:
    """Records what leaves the tap towards the guest, from the first connection by address to the last."""

    def __init__(self, network):
        self.directory = tempfile.TemporaryDirectory(prefix="uroce-witness-")
        self.file = os.path.join(self.directory.name, "sent.pcap")
        self.log = open(os.path.join(self.directory.name, "log"), "w+", encoding="utf-8")
        # Out of the host: that is what uroce's packet socket sends. The recorder may run as nobody else.
        self.process = subprocess.Popen(
            network.inside("tcpdump", "-i", TAP, "-Q", "out", "-Z", "root", "-B", "65536", "-U", "-w", self.file),
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT, start_new_session=True)
        end = time.monotonic() + 10
        while not (os.path.exists(self.file) and os.path.getsize(self.file)) and time.monotonic() < end:
            time.sleep(0.05)

    def end(self):
        """Reasons for a failure, and what was seen."""
        os.killpg(self.process.pid, signal.SIGINT)
        self.process.wait(20)
        self.log.seek(0)
        told = self.log.read()
        wanted = [word for field in FIELDS for word in ("-e", field)]
        answer = subprocess.run(["tshark", "-r", self.file, "-T", "fields", *wanted], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, timeout=300, check=False)
        frames = [line.split("\t") for line in answer.stdout.splitlines()]
        spoken = [frame for frame in frames if "infiniband" in frame[0]]
        malformed = [number for number, frame in enumerate(frames, 1) if len(frame) > 1 and frame[1]]
        self.directory.cleanup()
        reasons = [f"tshark: {answer.stderr.strip()}"] if answer.returncode else []
        reasons += [f"frame {number} of {len(frames)} is malformed" for number in malformed[:10]]
        reasons += [] if spoken else [f"{len(frames)} frames were recorded, none of RoCE: {told.strip()}"]
        return reasons, [f"{len(spoken)} frames of RoCE"]
