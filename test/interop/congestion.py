# congestion.py - the guest as a router that marks packets before it drops them, between two of our programs
# SPDX-License-Identifier: BSD-3-Clause
"""A queue of Linux (codel behind a token bucket) is slower than both ends. It marks ECN-capable packets that have
waited for 8 ms, and drops packets when it is full. With `dcqcn` the sender is notified and sends more slowly, so fewer
packets are dropped than with `fixed`; when the queue has gone the sender is as fast as before. The window is a little
larger than the queue: far above it, a burst of READ responses that are sent again can keep the queue full for seconds,
whatever the algorithm. Both ends are uroce-perf: Soft-RoCE neither sends notifications nor heeds them.

RULE("N-1", "a router of Linux"), RULE("N-2", "a router of Linux"), RULE("N-3", "a router of Linux")
"""
import json
import os
import re
import signal
import subprocess
import time

from guest import OTHER_TAP, TAP

TC, IP = "/tools/tc", "/tools/ip"
PROGRAM = "app/uroce-perf"
MBIT = 20
SECONDS, WITHOUT = 8, 5  # with the queue, and then without
QUEUE = 600  # packets of 1 KiB
WINDOWS = {"write": 32, "read": 10}  # requests of 64 KiB; more packets than the queue holds
# The end that asks lies behind eth0, the one that answers behind eth1.
FORWARD = ("echo 1 > /proc/sys/net/ipv4/ip_forward", f"{IP} link set eth1 mtu 4200 up",
           f"{IP} addr add 10.9.1.2/24 dev eth1")
ENDS = {TAP: ("10.9.0.9", "10.9.0.2"), OTHER_TAP: ("10.9.1.9", "10.9.1.2")}


def names():
    return [f"a router that marks packets, {operation.upper()}s: a notified sender slows down and recovers"
            for operation in WINDOWS]


def command(harness, tap, *words):
    own, router = ENDS[tap]
    eal = ["--no-huge", "--no-shconf", "--no-pci", "-m", "64", "--file-prefix", tap,
           f"--vdev=net_af_packet0,iface={tap},framesz=4608,blocksz=36864,framecnt=512"]
    return harness.network.inside(os.path.join(harness.build, PROGRAM), *eal, "--", "--ip", own + "/24", "--gateway",
                                  router, *words)


class Router:
    """The queue on one of the guest's NICs."""

    def __init__(self, guest, nic):
        self.guest, self.nic = guest, nic

    def narrow(self):
        for words in (f"root handle 1: tbf rate {MBIT}mbit burst 20k limit 1000k",
                      f"parent 1:1 handle 2: codel limit {QUEUE} target 20ms ce_threshold 8ms ecn"):
            status, output = self.guest.run(f"{TC} qdisc add dev {self.nic} {words}")
            if status:
                raise RuntimeError(f"tc qdisc add dev {self.nic} {words}: {output}")

    def counts(self):
        text = self.guest.run(f"{TC} -s qdisc show dev {self.nic}")[1]

        def last(word):
            return int((re.findall(rf"\b{word} (\d+)", text) or ["0"])[-1])

        return {"dropped": last("dropped"), "marked": last("ce_mark") + last("ecn_mark")}

    def widen(self):
        self.guest.run(f"{TC} qdisc del dev {self.nic} root")


def measure(harness, operation, algorithm):
    """One run through the narrow router, which is widened before it ends. Returns what the router and perf counted."""
    router = Router(harness.guest, "eth0" if operation == "read" else "eth1")
    scratch = harness.guest.scratch
    path, told = f"{scratch}/congestion.json", f"{scratch}/congestion.told"
    server = client = None
    try:
        router.narrow()
        with open(f"{scratch}/congestion.server", "w") as log:
            server = subprocess.Popen(command(harness, OTHER_TAP, "--server"), stdin=subprocess.DEVNULL, stdout=log,
                                      stderr=log)
        end = time.monotonic() + 20
        while not harness.network.listens(18515) and server.poll() is None and time.monotonic() < end:
            time.sleep(0.1)
        with open(told, "w") as log:
            client = subprocess.Popen(
                command(harness, TAP, "--op", operation, "--mode", "bw", "-s", "65536", "-m", "1024", "-t",
                        str(WINDOWS[operation]), "-u", "16", "-D", str(SECONDS + WITHOUT), "--cc", algorithm, "--json",
                        path, "127.0.0.1"),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        time.sleep(SECONDS)
        counts = router.counts()
        router.widen()
        counts["status"] = client.wait(90)
    finally:
        router.widen()
        for own in (client, server):
            if own and own.poll() is None:
                own.send_signal(signal.SIGKILL)
            if own:
                own.wait()
    counts["rates"] = [float(rate) for rate in re.findall(r"\.\.\. ([\d.]+) Gb/s", open(told).read())]
    counts["result"] = json.load(open(path))["results"][0]
    return counts


def judge(fixed, dcqcn):
    """What is wrong, of a run with each."""
    reasons = [f"{name} ended with status {run['status']}" for name, run in (("fixed", fixed), ("dcqcn", dcqcn))
               if run["status"]]
    if reasons:
        return reasons
    narrow, wide = dcqcn["rates"][2:SECONDS - 2], dcqcn["rates"][SECONDS:]
    for right, words in ((fixed["marked"] == 0, "packets of `fixed` were marked"),
                         (dcqcn["marked"] > 0, "no packet was marked"),
                         (dcqcn["result"]["cnps"] > 0, "no notification arrived"),
                         (fixed["dropped"] > 0, "the queue dropped no packet of `fixed`"),
                         (dcqcn["dropped"] * 2 < fixed["dropped"], "at least half as many packets were dropped"),
                         (dcqcn["result"]["errors"] == 0, "requests failed"),
                         (narrow and wide and max(wide) > 1.5 * max(narrow), "the rate did not recover")):
        reasons += [] if right else [words]
    return reasons


def run(harness, wanted):
    """The rows that are wanted."""
    for line in FORWARD:
        harness.guest.run(line)
    for operation, name in zip(WINDOWS, names()):
        if name not in wanted:
            continue
        try:
            fixed, dcqcn = (measure(harness, operation, algorithm) for algorithm in ("fixed", "dcqcn"))
        except (OSError, RuntimeError, ValueError, IndexError, subprocess.SubprocessError) as error:
            harness.report(name, [f"it could not be run: {error}"])
            continue
        remarks = [f"{algorithm}: {run['rates']} Gbit/s a second, {run['result']['retransmits']} packets sent again, "
                   f"{run['dropped']} dropped and {run['marked']} marked by the router, {run['result']['cnps']} heeded"
                   for algorithm, run in (("fixed", fixed), ("dcqcn", dcqcn))]
        harness.report(name, judge(fixed, dcqcn), "\n".join(remarks), remarks)
    harness.guest.run(f"{IP} addr flush dev eth1; echo 0 > /proc/sys/net/ipv4/ip_forward")
