# unmodified.py - programs of verbs at both ends: over uroce-run at ours, over rdma_rxe in the guest
# SPDX-License-Identifier: BSD-3-Clause
import itertools
import time

import cases
from guest import GUEST_IP, HOST_IP, TAP
from pingpong import FAMILIES, PORT, gid_index

OWN_IP = FAMILIES["ipv4"]["ip"]
# Its words, and which of them names the place of the address.
PINGPONGS = [(f"ibv_{kind}_pingpong -c -n 200{more}", "-g") for kind, more in
             (("rc", ""), ("rc", " -e"), ("rc", " -m 256 -s 20000"), ("srq", ""), ("srq", " -e"), ("ud", " -s 1000"))]
PERFTESTS = [(f"{program} -F -n 200 -s {size} -m 1024{more}", "-x") for program, size, more in
             (("ib_send_bw", 5000, ""), ("ib_write_bw", 65536, ""), ("ib_read_bw", 65536, ""), ("ib_send_lat", 100, ""),
              ("ib_write_lat", 100, ""), ("ib_read_lat", 100, ""), ("ib_send_bw", 5000, " -q 4"),
              ("ib_send_bw", 5000, " -e"), ("ib_send_lat", 1000, " -c UD"))]
PERFTESTS += [(f"{program} -F -n 200 -m 1024", "-x") for program in ("ib_atomic_bw", "ib_atomic_lat")]


class Unmodified:
    """`role` is what the program over uroce is; the guest is the other. Statuses tell all: -c compares bytes."""
    batch = cases.NO_BATCH
    program = "app/uroce-run"

    def __init__(self, words, gid_option, role):
        self.words, self.gid_option, self.role = words, gid_option, role
        self.guest_program = words.split()[0]

    def name(self):
        return f"unmodified {self.words}, uroce is the {self.role}"

    def seconds(self):
        return 60

    def guest_command(self):
        peer = HOST_IP if self.role == "server" else ""
        return f"exec {self.words} -d rxe0 {self.gid_option} $({gid_index('ipv4')}) -p {PORT} {peer}".strip()

    def own_command(self, program):
        peer = [GUEST_IP] if self.role == "client" else []
        return [program, "-d", TAP, "--ip", OWN_IP, "--explain", *self.words.split(), self.gid_option, "0", "-p",
                str(PORT), *peer]

    def outcomes(self, reasons, _own_text, _guest_text):
        yield self.name(), reasons, []


class ByAddress(Unmodified):
    """Programs of rdma_cm. That ours listens nobody outside can see."""

    def __init__(self, words, listens, asks, role):
        super().__init__(words, "", role)
        self.listens, self.asks = listens, asks
        self.started = 0

    def guest_command(self):
        return f"exec {self.words} {self.asks.format(OWN_IP.split('/')[0]) if self.role == 'server' else self.listens}"

    def own_command(self, program):
        self.started = time.monotonic()
        ends = self.asks.format(GUEST_IP) if self.role == "client" else self.listens
        return [program, "-d", TAP, "--ip", OWN_IP, "--explain", *self.words.split(), *ends.split()]

    def own_listens(self, _said):
        return time.monotonic() - self.started > 3

    @staticmethod
    def guest_listens():
        return "/tools/rdma resource show cm_id 2>/dev/null | grep -q LISTEN"


BY_ADDRESS = [("rping -V -C 200", "-s -a 0.0.0.0", "-c -a {}"),
              ("rping -V -C 20 -S 60000", "-s -a 0.0.0.0", "-c -a {}"),
              ("ucmatose -c 64", "", "-s {}"), ("udaddy", "", "-s {}")]


def matrix():
    for (words, listens, asks), role in itertools.product(BY_ADDRESS, ("server", "client")):
        yield ByAddress(words, listens, asks, role)
    for (words, gid_option), role in itertools.product([*PINGPONGS, *PERFTESTS], ("server", "client")):
        yield Unmodified(words, gid_option, role)
