#!/usr/bin/env python3
# results.py - what uroce-perf has measured is kept, however its run ends
# SPDX-License-Identifier: BSD-3-Clause
"""results.py BUILD: prints TAP.

No root, hugepages or NIC needed.
"""
import json
import os
import re
import signal
import subprocess
import sys
import time

from cases import Running, main, program, run, want
from programs import memif

CASES = []


def case(function):
    CASES.append(function)
    return function


@case
def interrupted_run_of_any_kind_leaves_its_row(directory):
    """Also while a slow receiver has not taken what was posted."""
    path = os.path.join(directory, "x.json")
    for options, wanted in ((("--op", "write", "--mode", "bw"), "gbit_per_s"),
                            (("--op", "write", "--mode", "lat", "-s", "64"), "seconds"),
                            (("--op", "send", "--mode", "bw", "--rx-rate", "20", "-t", "8"), "seconds")):
        perf = Running(directory, "perf", "perf", *options, "-D", "30", "--json", path)
        perf.wait_for("#bytes")
        time.sleep(6)
        want(perf.interrupt() == 130, options, perf.text())
        results = json.load(open(path))
        want(results["interrupted"] and results["failed"] is None and len(results["results"]) == 1, options, results)
        want(results["results"][0][wanted] > 0 and results["results"][0]["messages"] > 0, options, results)


@case
def json_dash_is_standard_output_and_tables_go_to_standard_error(directory):
    """In every program with --json; what a file of standard output has already stays, and no file "-" is made."""
    path = os.path.join(directory, "out")
    for name, table, *options in (("perf", "#bytes", "--op", "write", "--mode", "lat", "-n", "10", "-s", "8"),
                                  ("nvme-perf", "randread", "--rw", "randread", "--runtime", "0.1"),
                                  ("testpmd", "final statistics", "--duration", "0.1")):
        with open(path, "w") as out:
            out.write("before\n")
            out.flush()
            done = subprocess.run([program(name), *options, "--json", "-"], stdin=subprocess.DEVNULL, stdout=out,
                                  stderr=subprocess.PIPE, text=True, cwd=directory, timeout=240)
        first, text = open(path).read().split("\n", 1)
        want(done.returncode == 0 and first == "before" and table in done.stderr, name, first, text, done)
        want(len(json.loads(text)) > 2, name, text)
    want(os.listdir(directory) == ["out"], os.listdir(directory))


@case
def slow_receiver_does_not_prolong_the_run(directory):
    """It would need 12 s to take what is outstanding when the time is over. Its row is there, and is no failure."""
    path = os.path.join(directory, "x.json")
    options = ("--op", "send", "--mode", "bw", "-t", "128", "-r", "8", "-Q", "1", "--rx-rate", "10", "-D", "0.8",
               "--json", path)
    for own in ((), ("--nb-cores", "2"), ("--verify",)):
        code, out, err = run("perf", *options, *own)
        results = json.load(open(path))
        want(code == 0 and err.count("... ") <= 4, own, "lines of progress, one per second", code, err, out)
        want(results["failed"] is None and results["results"][0]["messages"] > 0, own, results)
        want(results["results"][0]["errors"] == 0, own, results)
    server = Running(directory, "server", "perf", *memif(directory, "server", "02:00:00:00:00:01"), "--server",
                     "--ip", "10.0.0.1/24", "-p", "18617")
    server.wait_for("waiting for a client")
    code, out, err = run("perf", *memif(directory, "client", "02:00:00:00:00:02"), "--ip", "10.0.0.2/24", "-p", "18617",
                         *options, "127.0.0.1")
    want(code == 0 and err.count("... ") <= 4, code, err, out)
    want(server.finish() == 0, server.text())


@case
def client_of_a_killed_server_keeps_its_row(directory):
    path = os.path.join(directory, "x.json")
    server = Running(directory, "server", "perf", *memif(directory, "server", "02:00:00:00:00:01"), "--server",
                     "--ip", "10.0.0.1/24", "-p", "18613")
    server.wait_for("waiting for a client")
    client = Running(directory, "client", "perf", *memif(directory, "client", "02:00:00:00:00:02"),
                     "--ip", "10.0.0.2/24", "-p", "18613", "--op", "send", "--mode", "lat", "-D", "30", "--json", path,
                     "127.0.0.1")
    client.wait_for(r"(?s)\.\.\. .*\.\.\. ")
    server.kill()
    want(client.finish() == 1, client.text())
    results = json.load(open(path))
    want([one["messages"] > 0 for one in results["results"]] == [True] and not results["interrupted"], results)
    want(results["failed"]["sentence"] in client.text(), results, client.text())


@case
def stopped_program_reports_its_lcore_as_away(directory):
    """It has to poll for a second without a sleep first, which a busy machine may not grant each time."""
    server = Running(directory, "server", "perf", *memif(directory, "server", "02:00:00:00:00:01"), "--server",
                     "--ip", "10.0.0.1/24", "-p", "18616")
    server.wait_for("waiting for a client")
    client = Running(directory, "client", "perf", *memif(directory, "client", "02:00:00:00:00:02"),
                     "--ip", "10.0.0.2/24", "-p", "18616", "--op", "write", "--mode", "bw", "-D", "60", "-u", "20",
                     "127.0.0.1")
    client.wait_for(r"\.\.\. ")

    def is_told():
        time.sleep(2)
        server.process.send_signal(signal.SIGSTOP)
        time.sleep(0.3)
        server.process.send_signal(signal.SIGCONT)
        time.sleep(0.3)
        return re.search(r"uroce-perf: lcore 0 was away (for|\d+ times, for up to) \d{3,} ms: "
                         r".* give the lcore a core of its own\n", server.text())
    server.wait_until(is_told)
    client.kill()


if __name__ == "__main__":
    sys.exit(main("results", CASES))
