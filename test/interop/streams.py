# streams.py - much data over a bad link, every byte compared
# SPDX-License-Identifier: BSD-3-Clause
"""The link is bad in the guest, both ways: netem on what it sends, and on what it receives behind an ifb. Nothing may
fail with a retry count of 7. How fast it was is a remark, for it is the emulator that decides."""
from scripts import Batch, Script

KIB, MIB = 1 << 10, 1 << 20
# A queue that holds the longest train, so that delay alone loses nothing.
LIMIT = "limit 100000"
LINKS = {"as it is": "", "1 % loss": "loss 1%", "5 % loss": "loss 5%", "5 ms delay": "delay 5ms",
         "disorder": "delay 1ms reorder 95%"}
REMARKS = " ".join(f"info:{name}" for name in (
    "drop_stale_response", "early_probes", "retransmitted_packets", "local_ack_timeout_err", "packet_seq_err",
    "implied_nak_seq_err", "duplicate_request"))
SETTINGS = "timeout=13"  # 34 ms


def prepare(netem):
    if not netem:
        return ()
    return ("/tools/ip link set ifb0 up",
            f"/tools/tc qdisc add dev eth0 root netem {netem} {LIMIT}",
            "/tools/tc qdisc add dev eth0 handle ffff: ingress",
            "/tools/tc filter add dev eth0 parent ffff: protocol all matchall action mirred egress redirect dev ifb0",
            f"/tools/tc qdisc add dev ifb0 root netem {netem} {LIMIT}")


def repair(netem):
    if not netem:
        return ()
    return ("/tools/tc qdisc del dev eth0 root", "/tools/tc qdisc del dev eth0 ingress",
            "/tools/tc qdisc del dev ifb0 root")


def streams(link, work, size, count, mtu):
    asks = (f"{SETTINGS} mtu={mtu} meet pump:{work}:{size}:{count}", ["pump wrong=0"])
    answers = (f"{SETTINGS} mtu={mtu} meet sink:{work}:{size}:{count}", ["sink wrong=0"])
    name = f"link: {link}, {count} {work.upper()}s of {size} bytes, mtu {mtu}"
    yield Script(f"{name}, uroce asks", ours=(f"{asks[0]} {REMARKS}", asks[1]), linux=answers, seconds=60)
    yield Script(f"{name}, Linux asks", ours=(f"{answers[0]} {REMARKS}", answers[1]), linux=asks, seconds=60)


def batches(full):
    times = 8 if full else 1
    for link, netem in LINKS.items():
        scripts = []
        for mtu in (1024, 4096) if full else (4096,):
            for work, size, count in (("read", MIB, 8), ("write", 64 * KIB, 64), ("send", 4 * KIB, 512)):
                scripts += streams(link, work, size, count * times, mtu)
        yield Batch(scripts, prepare(netem), repair(netem))
