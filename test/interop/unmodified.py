# unmodified.py - programs of verbs at both ends: over uroce-run at ours, over rdma_rxe in the guest
# SPDX-License-Identifier: BSD-3-Clause
import itertools

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


def matrix():
    for (words, gid_option), role in itertools.product([*PINGPONGS, *PERFTESTS], ("server", "client")):
        yield Unmodified(words, gid_option, role)
