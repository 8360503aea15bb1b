#!/usr/bin/env python3
# journal.py - what a uroce-nvmet tells of its hosts and disks while it runs, in lines and in counts
# SPDX-License-Identifier: BSD-3-Clause
"""journal.py BUILD: prints TAP.

No root, hugepages or NIC needed; without root no disk is full.
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

from cases import BUILD, PATIENCE_S, Skipped, main, want
from target import DISK, OTHER, OWN_HOST, Ends, complaints, queues_are_there, tell, with_files

sys.path.insert(0, os.path.join(BUILD, "app"))
import uroce_telemetry  # noqa: E402

uroce_telemetry.WAIT = PATIENCE_S  # a machine that writes to a slow disk may stand still for longer than 5 s
CASES = []


def case(function):
    CASES.append(function)
    return function


def asked(directory):
    """All of `json`, and the counts of the target."""
    found = json.loads(tell(directory, "json")[1])
    return found, found["target"]


@case
def host_events_are_one_line_and_one_count_each(directory):
    with Ends(directory, "--memory", "8M", "--control", directory + "/control", "--host-nqn", OWN_HOST) as ends:
        ends.works("first")
        at = re.escape(f"host {OWN_HOST} at 10.0.0.2 ")
        refused = re.escape(f"refused host {OWN_HOST} (address 10.0.0.2), ")
        ends.target.wait_for(at + rf"connected to controller \d+ of {DISK}\n")
        ends.target.wait_for(at + rf"disconnected from controller \d+ of {DISK}: the host disconnected\n", 3)
        ends.fails("none", 1, "Connect", OTHER, nqn=OTHER)
        ends.target.wait_for(refused + f"queue 0 of subsystem {OTHER}: no subsystem has that NQN\n")
        ends.fails("deep", 3, "queue 1", options=("--iodepth", "500"))
        ends.target.wait_for("refused a queue to a host at 10.0.0.2: unsupported submission queue size\n")
        found, counts = asked(directory)
        want(counts["hosts_refused"] == 1 and counts["queues_refused"] == 1 and counts["hosts_come"] == 2, counts)
        ends.target.wait_until(lambda: asked(directory)[1]["hosts_gone"] == 2)
        host = ends.host("stays", "--runtime", "300")
        host.wait_until(queues_are_there, directory + "/control", 2)
        found, _ = asked(directory)
        want([row["host"] for row in found["controllers"]] == [OWN_HOST], found)
        ends.target.process.send_signal(signal.SIGHUP)
        want(ends.target.finish() == 0 and not complaints(ends.target), ends.target.text())
        want(re.search(at + r"disconnected from .*: the target ends\n", ends.target.text()), ends.target.text())
        want(host.finish() == 1 and "closed the connection" in host.text(), host.text())


@case
def host_that_is_not_admitted_is_logged(directory):
    with Ends(directory, "--memory", "8M", "--control", directory + "/control", "--host-nqn", OTHER) as ends:
        ends.fails("stranger", 1, "host not allowed")
        refused = f"refused host {OWN_HOST} (address 10.0.0.2), queue 0 of subsystem {DISK}: host not allowed\n"
        ends.target.wait_for(re.escape(refused))
        want(asked(directory)[1]["hosts_refused"] == 1, tell(directory, "stats"))


@case
@with_files
def json_contains_names_unchanged(directory):
    quoted = 'nqn.2026-01.uroce:a"b\\c'
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        path, other = folder + '/with "quotes" and error: ä', folder + "/\udcff"  # a byte that is no UTF-8
        with Ends(directory, "--nqn", quoted, "--file", path + ":8M", "--file", other + ":8M", "--control",
                  directory + "/control") as ends:
            host = ends.host("stays", "--runtime", "300", nqn=quoted)
            host.wait_until(queues_are_there, directory + "/control", 2)
            code, text, err = tell(directory, "json")
            want(code == 0, text, err)
            found = json.loads(text)
            want([row["subsystem"] for row in found["controllers"]] == [quoted], text)
            want([(row["subsystem"], row["path"]) for row in found["namespaces"]] ==
                 [(quoted, folder + "/?"), (quoted, path)], text)


@case
@with_files
def truncated_file_is_logged_and_does_not_grow(directory):
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        path = folder + "/disk.img"
        with Ends(directory, "--file", path + ":16M", "--control", directory + "/control") as ends:
            os.truncate(path, 4 << 20)
            ends.target.wait_for(rf"namespace 1 of {DISK}: {path} was truncated to 4194304 bytes")
            for rw in ("randread", "randwrite"):
                host = ends.host(rw, "--rw", rw, "--iodepth", "8")
                want(host.finish() == 1 and "failed" in host.text(), host.text())
            ends.target.wait_for(rf"namespace 1 of {DISK}: \d+ requests failed; last failure: write at byte "
                                 rf"\d+ of {path}: Input/output error \(errno 5\)\n")
            want(os.path.getsize(path) == 4 << 20, os.path.getsize(path))
            row, = asked(directory)[0]["namespaces"]
            want(row["read_errors"] > 0 and row["write_errors"] > 0 and row["flush_errors"] == 0, row)
            lines = re.findall("requests failed; last failure", ends.target.text())
            want(len(lines) < 10, len(lines))
            os.truncate(path, 16 << 20)
            ends.target.wait_for(f"{path} was extended to 16777216 bytes again")
            ends.works("again", "--iodepth", "8")


@case
@with_files
def full_disk_is_logged(directory):
    with tempfile.TemporaryDirectory() as small:
        mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", small]
        if subprocess.run(mount, stderr=subprocess.DEVNULL).returncode:
            raise Skipped("to have a disk that is full takes root")
        try:
            with Ends(directory, "--buffered", "--file", small + "/disk:16M", "--control",
                      directory + "/control") as ends:
                host = ends.host("host", "--rw", "write", "--iodepth", "8", "--bs", "64k", "--runtime", "1")
                want(host.finish() == 1 and "capacity exceeded: the target's disk is full" in host.text(),
                     host.text(), ends.target.text())
                ends.target.wait_for(r"last failure: write at .*: No space left on device \(errno 28\)\n")
                row, = asked(directory)[0]["namespaces"]
                want(row["write_errors"] > 0, row)
        finally:
            subprocess.run(["umount", "-l", small], check=True)


@case
def failed_queue_is_logged_and_an_orderly_close_is_not(directory):
    with Ends(directory, "--memory", "8M", "--control", directory + "/control") as ends:
        ends.works("goes")
        host = ends.host("dies", "--runtime", "300", "--iodepth", "32")
        host.wait_until(queues_are_there, directory + "/control", 2)
        time.sleep(0.5)
        host.kill()
        ends.target.wait_for(rf"closed queue 1 of host {OWN_HOST} at 10.0.0.2: .*RETRY_EXC_ERR: .* Found: this port "
                             "has no link", 30)
        want(ends.target.text().count("queue 1 of") == 1, ends.target.text())


@case
def telemetry_has_the_same_counts(directory):
    with Ends(directory, "--memory", "8M", "--store", "null:8M", "--control", directory + "/control") as ends:
        ends.works("works")
        instance, = uroce_telemetry.instances(f"uroce-{ends.target.process.pid}")
        told = instance.ask("/uroce/nvmet")
        instance.close()
        found, counts = asked(directory)
        want(told.pop("polls") <= counts.pop("polls"), told, counts)
        want({name: told[name] for name in counts} == counts, told, counts)
        for row in found["namespaces"]:
            same = [one for one in told.values() if isinstance(one, dict) and one["nsid"] == row["nsid"]]
            want(len(same) == 1 and all(row[name] == value for name, value in same[0].items()), row, told)


@case
def flood_of_hosts_is_logged_in_few_lines(directory):
    with Ends(directory, "--memory", "8M", "--control", directory + "/control") as ends:
        began = time.monotonic()
        host = ends.host("flood", "--cycles", "101")  # each other one is just gone
        want(host.finish() == 0, host.text())
        ends.target.wait_until(lambda: asked(directory)[1]["hosts_gone"] == 101)
        seconds = time.monotonic() - began
        want(ends.target.interrupt() == 0, ends.target.text())
        lines = re.findall(r" (?:dis)?connected (?:to|from) controller ", ends.target.text())
        want(0 < len(lines) <= 20 * (seconds + 2), len(lines), seconds)


if __name__ == "__main__":
    sys.exit(main("journal", CASES))
