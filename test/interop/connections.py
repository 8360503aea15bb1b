# connections.py - connections by address, between uroce and rdma_cm of Linux: rping in both roles
# SPDX-License-Identifier: BSD-3-Clause
import itertools

from scripts import Batch

NO_BATCH = Batch(())
PORT = 7174
OWN = {"IPv4": ("10.9.0.9/24", "10.9.0.9"), "IPv6": ("fe80::5054:ff:fe00:9/64", "fe80::5054:ff:fe00:9%eth0")}
GUEST = {"IPv4": ("10.9.0.2", "10.9.0.2"), "IPv6": ("fe80::5054:ff:fe00:2", "fe80::5054:ff:fe00:2%eth0")}


class Connection:
    """A case whose server says itself when it listens; `role` is what uroce is."""
    batch = NO_BATCH

    def own_listens(self, said):
        return "listening on" in said

    def guest_listens(self):
        return "/tools/rdma resource show cm_id 2>/dev/null | grep -q LISTEN"

    def outcomes(self, reasons, _own_text, _guest_text):
        yield self.name(), reasons, []


class Rping(Connection):
    program, guest_program = "app/uroce-rping", "rping"

    def __init__(self, eal, role, family, count, size):
        self.eal, self.role, self.family, self.count, self.size = eal, role, family, count, size

    def name(self):
        return f"rping, uroce is the {self.role}, {self.family}, {self.count} iterations of {self.size} bytes, verified"

    def seconds(self):
        return 60 + self.count // 20

    def guest_command(self):
        common = f"-S {self.size} -p {PORT}"
        if self.role == "client":
            return f"exec rping -s -a {GUEST[self.family][1]} {common}"
        return f"exec rping -c -a {OWN[self.family][1]} {common} -C {self.count} -V"

    def own_command(self, program):
        ends = ["-s"] if self.role == "server" else ["-c", "-a", GUEST[self.family][0], "-C", str(self.count), "-V"]
        return [program, *self.eal, "--", "--ip", OWN[self.family][0], *ends, "-S", str(self.size), "-p", str(PORT)]


def matrix(eal, full):
    """Both ends say which messages they want in between; each byte comes back.

    RULE("C-5", "rping"), RULE("C-9", "rping")
    """
    for role, family in itertools.product(("server", "client"), OWN):
        yield Rping(eal, role, family, 1000, 64)
        if full:
            yield Rping(eal, role, family, 100, 65536)
