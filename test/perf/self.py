#!/usr/bin/env python3
# self.py - perf-self: what it measures beside the cases of uroce-perf, what it refuses, and what it leaves
# SPDX-License-Identifier: BSD-3-Clause
"""self.py BUILD: prints TAP.

No root, hugepages or NIC needed.
"""
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "app"))
from cases import Running, main, one_line, run, want  # noqa: E402

SELF = "../test/perf/perf-self"
ALONE = ("awrite", "flush", "fadd", "cswap")  # operations that nothing is measured beside
CASES = []


def case(function):
    CASES.append(function)
    return function


def measure(directory, *arguments):
    """The results of a run without an error."""
    path = os.path.join(directory, "out.json")
    code, out, err = run(SELF, *arguments, "--json", path)
    want(code == 0, arguments, code, out, err)
    results = json.load(open(path))["results"]
    want(all(one["messages"] > 0 and one["errors"] == 0 and one["bad_bytes"] == 0 for one in results), out, results)
    return results, out


@case
def invalid_options_are_refused_in_one_line(_):
    for words in (["--limit", "--verify"], ["--limit", "--nb-cores", "2"], ["--limit", "--loss", "0.1"],
                  ["--lose", "1"], ["--lose", "0"], ["--lose"], ["--junk", "foo"], ["--junk"], ["--lcores", "9"],
                  ["--junk", "qpn", "--limit"], ["--junk", "qpn", "--lcores", "2"], ["--lcores", "2", "-d", "loop"],
                  ["--junk", "qpn", "--mode", "lat"], ["--limit", "--lose", "1", "--mode", "bw"],
                  ["--limit", "--rate_limit", "1"], ["--limit", "--op", "flush", "--op", "awrite"],
                  ["--lcores", "2", "--op", "fadd"], ["--limit", "--connections", "4"], ["--limit", "--unknown"]):
        one_line(words, run(SELF, *words), 2)
    for words in (["--limit"], ["--lose", "1"], ["--junk", "qpn"], ["--lcores", "2"]):
        one_line(words, run("perf", *words), 2, words[0])


@case
def limit_measures_the_least_possible_work_per_payload(directory):
    """A fraction of what it measured itself, for payloads; atomics are measured without."""
    results, out = measure(directory, "--limit", "--op", "write", "--op", "read", "--op", "send", "--op", "fadd", "-s",
                           "4096,60", "-D", "0.06")
    want(len(results) == 7, results)
    for one in results:
        keys = ["limit_gbit_per_s", "limit_messages_per_s", "fraction_of_limit", "fraction_of_limit_p10",
                "limit_over_copy"]
        want(one["icrc_over_memcpy"] > 0, one)
        if one["op"] == "fadd":
            want(not any(key in one for key in keys), one)
        else:
            want(all(one[key] > 0 for key in keys) and one["fraction_of_limit"] >= one["fraction_of_limit_p10"], one)
            want(f"{one['fraction_of_limit']:.3f} of it" in out, one, out)


@case
def limit_in_lat_mode_measures_bare_frames(directory):
    """A message of several frames is compared with one of them."""
    results, _ = measure(directory, "--limit", "--mode", "lat", "--op", "write", "--op", "read", "--op", "send", "--op",
                         "fadd", "-s", "64,5000", "-D", "0.06")
    want(len(results) == 7, results)
    for one in results:
        if one["op"] == "fadd":
            want("bare_rtt_us" not in one and "rtt_over_bare" not in one, one)
        else:
            want(one["bare_rtt_us"] > 0 and one["rtt_over_bare"] >= one["rtt_over_bare_p10"] > 0, one)
            want(one["rtt_over_bare"] > 1 and one["latency_us"] and "fraction_of_limit" not in one, one)


@case
def lost_frame_costs_round_trips(directory):
    """Its place may be behind the last one."""
    words = ["--limit", "--op", "write", "--op", "read", "--op", "send", "-s", "1024", "-m", "256", "-D", "0.06"]
    for lose in (2, 9):
        results, _ = measure(directory, *words, "--lose", str(lose))
        want(len(results) == 3 and all(one["lost_frame"] == lose and one["recovery_rtts"] > 0 and
                                       one["retransmits"] + one["probes"] > 0 for one in results), lose, results)
    code, out, err = run(SELF, "--limit", "--lose", "1", "--op", "send", "-s", "1", "-D", "0.06")
    want(code == 1 and "looks like" in err, code, out, err)


@case
def junk_frames_are_refused_under_their_name(directory):
    """Every one, or the run fails; the case goes on beside it.

    RULE("C-30"), RULE("U-5")
    """
    for kind in ("qpn", "icrc", "req-unserved", "req-open", "req-bad"):
        for more in ([], ["--ip", "fd00::1/64", "--ip", "fd00::2/64"]):
            results, _ = measure(directory, "--junk", kind, "--op", "write", "--op", "read", "-s", "64,65536", "-q",
                                 "3", "-D", "0.02", *more)
            want(len(results) == 4 and all(one["junk"] == kind and one["junk_refused_per_s"] > 0 and
                                           one["goodput_beside_junk"] > 0 for one in results), kind, more, results)


@case
def lcores_are_measured_together_and_alone(directory):
    """Two lcores with QPs of their own, of every operation; atomics run on the first alone."""
    results, _ = measure(directory, "--lcores", "2", "-q", "3", "-s", "3000", "-D", "0.06")
    want(len(results) == 10, results)
    for one in results:
        if one["op"] in ALONE:
            want("scaling" not in one, one)
        else:
            want(one["lcores"] == 2 and one["scaling"] >= one["scaling_p10"] > 0, one)
            want(len(os.sched_getaffinity(0)) == 1 or one["hand_over_ns"] > 0, one)


@case
def two_cores_report_their_distance(directory):
    results, _ = measure(directory, "--nb-cores", "2", "--op", "write", "--mode", "bw", "-n", "1000")
    want(len(os.sched_getaffinity(0)) == 1 or results[0]["hand_over_ns"] > 0, results)


@case
def memif_in_one_process_has_a_limit(directory):
    results, _ = measure(directory, "-d", "memif", "--limit", "--mode", "bw", "--mode", "lat", "--op", "write", "-D",
                         "0.06")
    want(results[0]["fraction_of_limit"] > 0 and results[1]["rtt_over_bare"] > 0, results)


@case
def interrupted_run_leaves_its_row(directory):
    path = os.path.join(directory, "x.json")
    for options, wanted in ((("--mode", "bw", "--limit"), "fraction_of_limit"),
                            (("--mode", "lat", "--limit", "-s", "64"), "rtt_over_bare"),
                            (("--mode", "bw", "--junk", "icrc"), "goodput_beside_junk")):
        perf = Running(directory, "perf", SELF, "--op", "write", *options, "-D", "30", "--json", path)
        perf.wait_for("#bytes")
        time.sleep(6)
        want(perf.interrupt() == 130, options, perf.text())
        results = json.load(open(path))
        want(results["interrupted"] and results["failed"] is None and len(results["results"]) == 1, options, results)
        want(results["results"][0][wanted] > 0 and results["results"][0]["messages"] > 0, options, results)


if __name__ == "__main__":
    sys.exit(main("self", CASES))
