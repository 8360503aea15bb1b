# connections.py - connections by address, between uroce and rdma_cm of Linux, in both roles
# SPDX-License-Identifier: BSD-3-Clause
"""ucmatose and udaddy of rdma-core, meet.c over librdmacm, and the example verbs_sender.c over libibverbs; our side is
mate.c, posts.c and uroce-testpmd. rping stands in unmodified.py. Where datagrams are lost, netem in the guest loses
them both ways, and nothing but them: IP protocol UDP and a BTH that begins with 64h."""
import itertools

from guest import HOST_IP
from scripts import Batch

PORT, MATE_PORT = 7174, 7471
OWN = {"IPv4": ("10.9.0.9/24", "10.9.0.9"), "IPv6": ("fe80::5054:ff:fe00:9/64", "fe80::5054:ff:fe00:9%eth0")}
GUEST = {"IPv4": ("10.9.0.2", "10.9.0.2"), "IPv6": ("fe80::5054:ff:fe00:2", "fe80::5054:ff:fe00:2%eth0")}
TC, IP = "/tools/tc", "/tools/ip"
# netem says nothing of what passes it otherwise; a queue that holds all.
LIMIT = "limit 10000"


def lose_datagrams(percent):
    """Where the BTH begins: behind 20 bytes of IPv4 and 8 of UDP."""
    prepare = [f"{TC} qdisc add dev eth0 clsact"]
    for way, device in (("ingress", "ifb0"), ("egress", "ifb1")):
        prepare += [f"{IP} link set {device} up", f"{TC} qdisc add dev {device} root netem loss {percent}% {LIMIT}",
                    f"{TC} filter add dev eth0 {way} protocol ip prio 1 u32 match ip protocol 17 0xff "
                    f"match u8 0x64 0xff at 28 action mirred egress redirect dev {device}"]
    repair = [f"{TC} qdisc del dev {place}" for place in ("eth0 clsact", "ifb0 root", "ifb1 root")]
    return Batch((), tuple(prepare), tuple(repair))


class Connection:
    """A case whose server says itself when it listens; `role` is what uroce is. own_says, guest_says: words that have
    to be in what each prints."""
    batch = Batch(())
    own_says = guest_says = ()

    def own_listens(self, said):
        return "listening on" in said

    def guest_listens(self):
        return "/tools/rdma resource show cm_id 2>/dev/null | grep -q LISTEN"

    def outcomes(self, reasons, own_text, guest_text):
        missing = [f'uroce does not say "{words}"' for words in self.own_says if words not in own_text]
        missing += [f'Linux does not say "{words}"' for words in self.guest_says if words not in guest_text]
        yield self.name(), reasons + missing, []


class Mate(Connection):
    """ucmatose: many connections at once, data both ways on each."""
    program, guest_program = "test/interop/interop-mate", "ucmatose"

    def __init__(self, eal, role, connections, messages, size, loss=0, own=False):
        self.eal, self.role, self.sizes, self.loss, self.own = eal, role, (connections, messages, size), loss, own
        if loss:
            self.batch = lose_datagrams(loss)
        self.own_says = (f"{connections} connections, {connections * messages} messages each way, all done",)

    def name(self):
        connections, messages, size = self.sizes
        loss = f", {self.loss} % of the datagrams lost both ways" if self.loss else ""
        sizes = f"{connections} connections, {messages} x {size} bytes each way"
        own = ", its user moves its queue pairs" if self.own else ""
        return f"ucmatose, uroce is the {self.role}, {sizes}{loss}{own}"

    def seconds(self):
        return 170

    def guest_command(self):
        connections, messages, size = self.sizes
        common = f"-c {connections} -C {messages} -S {size}"
        return f"exec ucmatose {common}" if self.role == "client" else f"exec ucmatose -s {OWN['IPv4'][1]} {common}"

    def own_command(self, program):
        what = ["serve"] if self.role == "server" else ["call", GUEST["IPv4"][0]]
        own = ["own"] if self.own else []
        return [program, *self.eal, "--", OWN["IPv4"][0], *what, str(MATE_PORT), *map(str, self.sizes), *own]


class Posts(Connection):
    """udaddy: a service of datagrams found by address and port, then datagrams both ways."""
    program, guest_program = "test/interop/interop-posts", "udaddy"

    def __init__(self, eal, role, count, size, each=False):
        self.eal, self.role, self.count, self.size, self.each = eal, role, count, size, each
        self.own_says = (f"{count} datagrams each way, all done",)
        if each and role == "server":
            self.own_says += ("accepted one from port",)
        self.guest_says = ("data transfers complete",)

    def name(self):
        each = ", each asker is a request" if self.each else ""
        return f"udaddy, uroce is the {self.role}, {self.count} datagrams of {self.size} bytes each way{each}"

    def seconds(self):
        return 70

    def guest_command(self):
        common = f"-C {self.count} -S {self.size}"
        return f"exec udaddy {common}" if self.role == "client" else f"exec udaddy -s {OWN['IPv4'][1]} {common}"

    def own_command(self, program):
        what = ["serve"] if self.role == "server" else ["call", GUEST["IPv4"][0]]
        return [program, *self.eal, "--", OWN["IPv4"][0], *what, str(PORT), str(self.count), str(self.size),
                *(["each"] if self.each else [])]


class Told(Connection):
    """One question and its outcome, as both ends print it."""
    program, guest_program = "test/interop/interop-mate", "meet"

    def __init__(self, eal, name, role, own, guest, own_says=(), guest_says=(), loss=0):
        self.eal, self.title, self.role, self.own, self.guest = eal, name, role, own, guest
        self.own_says, self.guest_says = own_says, guest_says
        if loss:
            self.batch = lose_datagrams(loss)

    def name(self):
        return self.title

    def seconds(self):
        return 90

    def guest_command(self):
        return self.guest

    def own_command(self, program):
        return [program, *self.eal, "--", OWN["IPv4"][0], *self.own]


class Sender(Connection):
    """The example for users: requests of all kinds from libibverbs to a uroce-testpmd that is a target, twice."""
    program, guest_program = "app/uroce-testpmd", "verbs_sender"
    role, lasting = "server", True

    def __init__(self, eal, family):
        self.eal, self.family = eal, family
        self.own_says = ("the peer has left", "rx_atomic_requests", "rx_send_requests")
        self.guest_says = ("100 times WRITE, READ, SEND and FETCH_AND_ADD, every byte right",)

    def name(self):
        return f"libibverbs sends WRITE, READ, SEND and atomics to uroce-testpmd --server, {self.family}"

    def seconds(self):
        return 60

    def own_listens(self, said):
        return "serving peers that connect to TCP port" in said

    def disturb(self, own, _start, _harness):
        return own

    def guest_command(self):
        index = 1 if self.family == "IPv4" else 0
        sender = f"/tools/verbs_sender rxe0 {index} {HOST_IP} {PORT}"
        return f"{sender} && sleep 1 && {sender}"

    def own_command(self, program):
        return [program, *self.eal, "--", "-d", "net_af_packet0", "--ip", OWN[self.family][0], "--server", "-p",
                str(PORT)]


def refusals(eal):
    """Linux ends what it does when it is refused with its own words for the reason.

    RULE("C-14", "refusals")
    """
    words = "not in this house"
    own, guest = OWN["IPv4"][1], GUEST["IPv4"][0]
    yield Told(eal, "Linux asks where uroce does not listen", "server", ["refuse", str(PORT), "0", "x"],
               f"meet ask {own} {PORT + 1}", guest_says=("RDMA_CM_EVENT_REJECTED status=8",))
    yield Told(eal, "uroce asks where Linux does not listen", "client", ["ask", guest, str(PORT + 1)],
               f"exec meet refuse {PORT} 0 x", own_says=("rejected reason=8",))
    yield Told(eal, "uroce refuses Linux with words", "server", ["refuse", str(PORT), "1", words],
               f"meet ask {own} {PORT}", ("refused 1 times",), (f'RDMA_CM_EVENT_REJECTED status=28 "{words}"',))
    yield Told(eal, "Linux refuses uroce with words", "client", ["ask", guest, str(PORT)],
               f"exec meet refuse {PORT} 1 '{words}'", (f'rejected reason=28 status=-111 "{words}"',))


def desertions(eal):
    """A server that has accepted leaves at once. While Linux's user makes its RTU it takes no DREQ; it is told all the
    same, and not after our next try, which is 4.4 s later. The first connection may take longer: to learn an address
    took the guest up to five seconds.

    RULE("C-17", "killed")
    """
    ask = f"meet ask {OWN['IPv4'][1]} {PORT} hold"
    yield Told(eal, "uroce leaves before Linux has made its RTU", "server", ["desert", str(PORT), "4"],
               f"timeout 20 {ask} && for i in 1 2 3; do timeout 3 {ask} || exit 1; done", ("left 4 times",))


def deaths(eal):
    """A client is killed once it is connected, then comes the next one. To learn an address takes the guest up to two
    seconds, so that what it prints, not the clock, tells when it is connected.

    RULE("C-13", "killed"), RULE("C-17", "killed")
    """
    hold = f"meet ask {OWN['IPv4'][1]} {PORT} hold"
    wait = "until grep -q ESTABLISHED /tmp/first; do sleep 0.1; done"
    yield Told(eal, "Linux's process is killed in the middle and comes back", "server",
               ["serve", str(PORT), "2", "0", "64"],
               f"{hold} > /tmp/first & {wait}; kill -9 $!; wait; {hold}",
               ("2 connections, 0 messages each way, all done",), ("RDMA_CM_EVENT_DISCONNECTED",))


def matrix(eal):
    """Both ends say which messages they want in between; each byte comes back.

    RULE("C-10", "loss"), RULE("C-11", "loss"), RULE("C-16", "ucmatose"), RULE("C-18", "udaddy"), RULE("U-4", "udaddy")
    """
    for role in ("server", "client"):
        yield Mate(eal, role, 64, 10, 100)
        for loss in (1, 10):
            yield Mate(eal, role, 64, 10, 100, loss)
        for loss in (0, 10):
            yield Mate(eal, role, 16, 10, 100, loss, own=True)
        for each in (False, True):
            yield Posts(eal, role, 10, 100, each)
    for family in OWN:
        yield Sender(eal, family)
    yield from refusals(eal)
    yield from desertions(eal)
    yield from deaths(eal)
