# streams.py - much data over a bad link, every byte compared
# SPDX-License-Identifier: BSD-3-Clause
"""The link is bad in the guest, both ways: netem behind an ifb on what it sends and on what it receives. Nothing may
fail with a retry count of 7. How fast it was is a remark, for it is the emulator that decides."""
from scripts import REMARKS, Batch, Script

KIB, MIB = 1 << 10, 1 << 20
# A queue that holds the longest train, so that delay alone loses nothing.
LIMIT = "limit 100000"
LINKS = {"as it is": "", "1 % loss": "loss 1%", "5 % loss": "loss 5%", "5 ms delay": "delay 5ms",
         "disorder": "delay 1ms reorder 95%"}
# uroce's budget is 8 times 268 ms: an emulator that shares its processor stands still for long. Linux waits for its
# timer after each gap in the answers of a READ, and never gives up: 4 ms. Not for others: when an ACK meets the resend
# of what it acknowledges, this kernel numbers the next message anew.
PATIENT, QUICK = "timeout=16", "timeout=10"
TC = "/tools/tc"


def prepare(netem):
    """Only UDP: the side channel and the resolution of addresses are not what is tried."""
    if not netem:
        return
    yield f"{TC} qdisc add dev eth0 clsact"
    for way, device in (("ingress", "ifb0"), ("egress", "ifb1")):
        yield f"/tools/ip link set {device} up"
        yield f"{TC} qdisc add dev {device} root netem {netem} {LIMIT}"
        for protocol, match in (("ip", "ip protocol 17 0xff"), ("ipv6", "ip6 protocol 17 0xff")):
            yield (f"{TC} filter add dev eth0 {way} protocol {protocol} prio {1 + (protocol == 'ipv6')} u32 "
                   f"match {match} action mirred egress redirect dev {device}")


def repair(netem):
    if netem:
        yield from (f"{TC} qdisc del dev {place}" for place in ("eth0 clsact", "ifb0 root", "ifb1 root"))


def streams(link, work, size, count, mtu, seconds):
    name = f"link: {link}, {work.upper()}s of {size} bytes, mtu {mtu}"
    for settings, asker in ((PATIENT, "uroce"), (QUICK if work == "read" else PATIENT, "Linux")):
        asks = (f"mtu={mtu} {settings} meet pump:{work}:{size}:{count}", ["pump wrong=0"])
        answers = (f"mtu={mtu} {settings} meet sink:{work}:{size}:{count}", ["sink wrong=0"])
        (words, lines), linux = (asks, answers) if asker == "uroce" else (answers, asks)
        yield Script(f"{name}, {asker} asks", ours=(f"{words} {REMARKS}", lines), linux=linux, seconds=seconds)


def repaired(link, count):
    """What a READ gains where what is lost is asked for alone, beside all behind it again; by turns, for the emulator
    has good and bad minutes."""
    for turn in range(2):
        for repair, words in (("without", "repair=off "), ("with", "")):
            words += f"mtu=1024 {PATIENT}"
            yield Script(f"link: {link}, READs of {64 * KIB} bytes, {repair} read repair, turn {turn + 1}, uroce asks",
                         ours=(f"{words} meet pump:read:{64 * KIB}:{count} {REMARKS}", ["pump wrong=0"]),
                         linux=(f"mtu=1024 {PATIENT} meet sink:read:{64 * KIB}:{count}", ["sink wrong=0"]),
                         seconds=60)


def standing_still(full):
    """A slow link, and a guest that stops now and then, for two timeouts of eight: READs are asked for again
    meanwhile, and all of them are answered, one behind the other."""
    for mtu in (1024, 4096) if full else (4096,):
        words = f"mtu={mtu} timeout=16"
        count = 40 if full else 12
        yield Script(f"link: 40 Mbit/s, the guest stops now and then, READs of {MIB} bytes, mtu {mtu}, uroce asks",
                     ours=(f"{words} meet pump:read:{MIB}:{count} {REMARKS}", ["pump wrong=0"]),
                     linux=(f"{words} meet sink:read:{MIB}:{count}", ["sink wrong=0"]), seconds=60)


def batches(full):
    times = 4 if full else 1
    for link, netem in LINKS.items():
        scripts = []
        for mtu in (1024, 4096) if full else (4096,):
            for work, size, count in (("read", MIB, 8), ("write", 64 * KIB, 64), ("send", 4 * KIB, 512)):
                scripts += streams(link, work, size, count * times, mtu, seconds=60 * times)
        if "loss" in link or link == "disorder":
            scripts += repaired(link, 64 * times)
        yield Batch(scripts, tuple(prepare(netem)), tuple(repair(netem)))
    slow = "rate 40mbit"
    yield Batch(standing_still(full), tuple(prepare(slow)), tuple(repair(slow)), stops=(1.2, 0.6))
