#!/usr/bin/env python3
# addresses.py - which addresses programs refuse: their peer's, another program's, another station's
# SPDX-License-Identifier: BSD-3-Clause
"""addresses.py BUILD: prints TAP.

What needs an interface needs root: each such case makes a veth pair in a network namespace of its own.
"""
import sys

from cases import main, one_line, run

CASES = []
NQN = "nqn.2026-01.org.example:disk1"


def case(function):
    CASES.append(function)
    return function


def memif(directory):
    return f"net_memif0,role=server,socket={directory}/memif.sock,socket-abstract=no"


@case
def peer_at_our_own_address_is_refused(directory):
    port = ("-d", memif(directory), "--ip", "192.0.2.9/24")
    for name, *options in (("rping", *port, "-c", "-a", "192.0.2.9"), ("pingpong", *port, "-R", "192.0.2.9"),
                           ("perf", *port, "-R", "192.0.2.9"),
                           ("nvme-perf", *port, "--connect", "192.0.2.9", "--nqn", NQN)):
        code, _, err = run(name, *options)
        one_line(name, (code, "", err), 2, "192.0.2.9", "is our own")


if __name__ == "__main__":
    sys.exit(main("addresses", CASES))
