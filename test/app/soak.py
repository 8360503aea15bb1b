#!/usr/bin/env python3
# soak.py - real time: one process that works on and on, and beside it one case after the other over a bad link
# SPDX-License-Identifier: BSD-3-Clause
"""soak.py BUILD [SECONDS]: prints TAP. 'make soak SECONDS=3600' runs it for an hour, `make test` for 4 s.

uroce-testpmd moves SENDs, WRITEs, READs and atomics between loop ports the whole time. Each tenth of it must bring
work, no request may fail, nothing may be dropped, and after the first fifth the process may not grow by more than
1 MiB. The cases of uroce-perf check every byte under loss, copies, disorder and damage; the seed of each stands in
its line.
"""
import re
import subprocess
import sys
import tempfile
import time

from cases import Running, counter, program, want

SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 4.0
MIX = "send:1,send_imm:1,write:1,write_imm:1,read:1,fadd:1,cswap:1"
GROWTH_KIB = 1024
FAULTS = ["--loss", "0.001", "--dup", "0.001", "--reorder", "0.001", "--corrupt", "0.0005"]
OPS = ["send", "send_imm", "write", "write_imm", "read", "fadd", "cswap"]
DONE = ["rx_send_requests", "rx_write_requests", "rx_read_requests", "rx_atomic_requests"]


def resident_kib(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{pid}/status").read())[1])


def rates(text):
    """Messages a second of each line of statistics so far."""
    return [float(rate.replace(",", "")) for rate in re.findall(r"([\d.,]+)[ MKk]* messages/s", text)]


def run_case(number):
    """One case of uroce-perf, every byte checked; its operation, queue pairs and size follow from its number."""
    options = ["--verify", "--op", OPS[number % len(OPS)], "--mode", "bw", "-D", str(min(SECONDS / 10, 5)), "-q",
               str((1, 4, 16)[number // 7 % 3]), "--seed", str(number + 1), "--retry-cnt", "7", *FAULTS]
    if OPS[number % len(OPS)] not in ("fadd", "cswap"):
        options += ["-s", str((65536, 1, 4097, 300000)[number % 4])]
    done = subprocess.run([program("perf"), *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace")
    want(done.returncode == 0, "uroce-perf", *options, "status", done.returncode, done.stdout[-4000:])


# TC-H-8
def soak(directory):
    pmd = Running(directory, "pmd", "testpmd", "--mix", MIX, "--idle", "yield", "--stats-period", "1")
    try:
        pmd.wait_for("messages/s", 30)
        started, samples, cases = time.monotonic(), [], 0
        while time.monotonic() - started < SECONDS:
            run_case(cases)
            cases += 1
            samples.append((time.monotonic() - started, resident_kib(pmd.process.pid)))
            want(pmd.process.poll() is None, "it has ended", pmd.text()[-4000:])
        lines = rates(pmd.text())
        want(len(lines) > 0 and all(rate > 0 for rate in lines[1:]), "a second without a message", lines)
        want(pmd.interrupt() == 0, "status", pmd.text()[-4000:])
        text = pmd.text()
        for name in DONE:
            want(counter(text, name) > 0, name, text[-4000:])
        for name in ("req_cqe_error", "resp_cqe_error", "req_cqe_flush_error", "event_lost"):
            want(counter(text, name) == 0, name, text[-4000:])
        settled = [kib for at, kib in samples if at > SECONDS / 5] or [samples[-1][1]]
        want(max(settled) - settled[0] <= GROWTH_KIB, "it grows (KiB)", settled)
        return cases, len(lines)
    finally:
        pmd.kill()


def main():
    print("1..1", flush=True)
    with tempfile.TemporaryDirectory() as directory:
        try:
            cases, seconds = soak(directory)
        except (AssertionError, subprocess.TimeoutExpired, OSError) as wrong:
            print("not ok 1 - soak")
            print("".join(f"# {line}\n" for line in str(wrong).splitlines()), end="", flush=True)
            return 1
    print(f"ok 1 - soak: {cases} cases beside {seconds} seconds of traffic", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
