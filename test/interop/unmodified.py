# unmodified.py - programs of verbs at both ends: over uroce-run at ours, over rdma_rxe in the guest
# SPDX-License-Identifier: BSD-3-Clause
import itertools
import time

import cases
from ends import FAMILIES, PORT, gid_index
from guest import GUEST_IP, HOST_IP, TAP

ROLES = ("server", "client")
# Their words, and which of them names the place of the address.
PINGPONGS = [(f"ibv_{kind}_pingpong -c -n 200{more}", "-g") for kind, more in
             (("rc", " -e"), ("rc", " -m 256 -s 20000"), ("srq", ""), ("srq", " -e"), ("ud", " -s 1000"))]
PERFTESTS = [(f"{program} -F -n 200 -s {size} -m 1024{more}", "-x") for program, size, more in
             (("ib_send_bw", 5000, ""), ("ib_write_bw", 65536, ""), ("ib_read_bw", 65536, ""), ("ib_send_lat", 100, ""),
              ("ib_write_lat", 100, ""), ("ib_read_lat", 100, ""), ("ib_send_bw", 5000, " -q 4"),
              ("ib_send_bw", 5000, " -e"), ("ib_send_lat", 1000, " -c UD"))]
PERFTESTS += [(f"{program} -F -n 200 -m 1024", "-x") for program in ("ib_atomic_bw", "ib_atomic_lat")]
# The emulated guest does about 33 000 packets/s; a slow machine a fifth of that.
SLOW_PACKETS_PER_SECOND = 6000
OWN_IPV4, OWN_IPV6 = (FAMILIES[family]["ip"].split("/")[0] for family in ("ipv4", "ipv6"))
GUEST_IPV6 = "fe80::5054:ff:fe00:2"


class Unmodified:
    """`role` is what the program over uroce is; the guest is the other. Its words and its GID or address are all that
    differs. ibv_*_pingpong -c prints which page has wrong bytes, and ends with status 0."""
    batch = cases.NO_BATCH
    program = "app/uroce-run"

    def __init__(self, words, gid_option, role, family="ipv4", device=TAP, seconds=60):
        self.words, self.gid_option, self.role, self.family = words, gid_option, role, family
        self.device, self.limit = device, seconds
        self.guest_program = words.split()[0]

    def name(self):
        family = "" if self.family == "ipv4" else f", {self.family}"
        return f"unmodified {self.words}, uroce is the {self.role}{family}"

    def seconds(self):
        return self.limit

    def run(self, program):
        return [program, "-d", self.device, "--ip", FAMILIES[self.family]["ip"], "--explain", *self.words.split()]

    def guest_command(self):
        peer = HOST_IP if self.role == "server" else ""
        return f"exec {self.words} -d rxe0 {self.gid_option} $({gid_index(self.family)}) -p {PORT} {peer}".strip()

    def own_command(self, program):
        peer = [GUEST_IP] if self.role == "client" else []
        return [*self.run(program), self.gid_option, "0", "-p", str(PORT), *peer]

    def outcomes(self, reasons, own_text, guest_text):
        wrong = [line for line in (own_text + guest_text).splitlines() if "invalid data in page" in line]
        yield self.name(), reasons + wrong, []


class ByAddress(Unmodified):
    """Programs of rdma_cm. That ours listens nobody outside can see."""

    def __init__(self, words, listens, asks, role, **more):
        super().__init__(words, "", role, **more)
        self.listens, self.asks = listens, asks
        self.started = 0

    def addresses(self):
        """Ours as the guest names it, and the guest's as we do."""
        return (OWN_IPV4, GUEST_IP) if self.family == "ipv4" else (f"{OWN_IPV6}%eth0", GUEST_IPV6)

    def guest_command(self):
        own, _ = self.addresses()
        return f"exec {self.words} {self.asks.format(own) if self.role == 'server' else self.listens}"

    def own_command(self, program):
        self.started = time.monotonic()
        _, guest = self.addresses()
        ends = self.asks.format(guest) if self.role == "client" else self.listens
        return [*self.run(program), *ends.split()]

    def own_listens(self, _said):
        return time.monotonic() - self.started > 3

    @staticmethod
    def guest_listens():
        return "/tools/rdma resource show cm_id 2>/dev/null | grep -q LISTEN"


class Rping(ByAddress):
    """Each iteration is a READ and a WRITE of other bytes, which -V compares."""

    def __init__(self, count, size, role, family="ipv4", **more):
        anybody = "0.0.0.0" if family == "ipv4" else "::"
        super().__init__(f"rping -V -C {count} -S {size}", f"-s -a {anybody}", "-c -a {}", role, family=family,
                         seconds=60 + count // 20, **more)

    def guest_command(self):
        # When it is done, its main thread may close the channel that its other thread still reads, which then ends the
        # process with a word of its own and status 255. Any other word, or another status, is a failure.
        words = r"(client|server) DISCONNECT EVENT\.\.\.|wait for RDMA_READ_ADV state 10"
        race = "rdma_get_cm_event: Bad file descriptor"
        return (f"{super().guest_command().removeprefix('exec ')} > /tmp/rping 2>&1; s=$?; cat /tmp/rping; "
                f"test $s = 255 && grep -q '{race}' /tmp/rping && ! grep -vqxE '{words}|{race}' /tmp/rping && s=0; "
                "exit $s")


BY_ADDRESS = [("ucmatose -c 64", "", "-s {}"), ("udaddy", "", "-s {}")]


def lengths(full):
    """Each size and path MTU at least once, each role and family with one packet, many, and the largest frames.

    RULE("W-1", "IPv4", "IPv6"), RULE("W-2", "IPv4", "IPv6"), RULE("W-3", "IPv4", "IPv6"), RULE("W-6", "pads"),
    RULE("W-7", "fields"), RULE("W-8", "ARP", "neighbour discovery")
    """
    short = [(*row[:2], *row[2]) for row in
             itertools.product(ROLES, ("ipv4", "ipv6"), ((1, 256, 200), (4096, 1024, 200), (65536, 4096, 50)))]
    short += [("server", "ipv4", 65536, 256, 20), ("client", "ipv6", 3000, 512, 100),
              ("client", "ipv4", 65536, 2048, 50)]
    whole = [(*row, 1000) for row in itertools.product(ROLES, ("ipv4", "ipv6"), (1, 64, 1000, 3000, 4096, 65536),
                                                      (256, 512, 1024, 2048, 4096))]
    for role, family, size, mtu, count in whole if full else short:
        packets = count * 2 * (-(-size // mtu) + 1)
        yield Unmodified(f"ibv_rc_pingpong -c -n {count} -s {size} -m {mtu}", "-g", role, family,
                         seconds=20 + packets // SLOW_PACKETS_PER_SECOND)


def rpings(full):
    """RULE("C-5", "rping"), RULE("C-9", "rping")"""
    for role, family in itertools.product(ROLES, ("ipv4", "ipv6")):
        yield Rping(1000, 64, role, family)
        if full or family == "ipv4":
            yield Rping(100, 65535, role, family)


def matrix(full):
    yield from lengths(full)
    for (words, listens, asks), role in itertools.product(BY_ADDRESS, ROLES):
        yield ByAddress(words, listens, asks, role)
    for (words, gid_option), role in itertools.product([*PINGPONGS, *PERFTESTS], ROLES):
        yield Unmodified(words, gid_option, role)
