#!/usr/bin/env python3
# connects.py - a uroce-nvmet that hosts have come to and gone from thousands of times keeps no memory of them
# SPDX-License-Identifier: BSD-3-Clause
"""connects.py BUILD: prints TAP.

No root, hugepages or NIC needed. Minutes: the places of queue pairs and regions are drawn at random, and each is
touched for the first time once.
"""
import re
import sys

from cases import main, want
from target import Ends

CASES = []
QUEUES = 17  # of a host
FIRST, MORE = 1250, 500
MOST_KIB = 1536  # of 8500 queues: less than 200 bytes each


def case(function):
    CASES.append(function)
    return function


def resident_kib(program):
    return int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{program.process.pid}/status").read())[1])


@case
def memory_grows_no_more_when_all_places_have_been_touched(directory):
    with Ends(directory, "--memory", "8M") as ends:
        sizes = [resident_kib(ends.target)]
        for number, cycles in enumerate((FIRST, MORE)):
            host = ends.host(f"host{number}", "--cycles", str(cycles), "--queues", str(QUEUES - 1))
            want(host.finish(900) == 0, host.text(), ends.target.text())
            sizes.append(resident_kib(ends.target))
        print(f"# KiB at the start, after {FIRST} connects, after {FIRST + MORE}: {sizes}", flush=True)
        want(sizes[2] - sizes[1] < MOST_KIB, sizes)


if __name__ == "__main__":
    sys.exit(main("connects", CASES))
