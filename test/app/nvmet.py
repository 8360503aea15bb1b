#!/usr/bin/env python3
# nvmet.py - uroce-nvmet and uroce-nvme-perf as users run them: what they serve, measure, verify and refuse
# SPDX-License-Identifier: BSD-3-Clause
"""nvmet.py BUILD: prints TAP.

No root, hugepages or NIC needed.
"""
import fcntl
import json
import os
import re
import signal
import socket
import sys
import tempfile
import time

from cases import BUILD, PATIENCE_S, main, one_line, run, run_unprivileged, want
from target import DISK, INI, LOOP, OTHER, OWN_HOST, Ends, complaints, queues_are_there, tell, with_files, write_ini

sys.path.insert(0, os.path.join(BUILD, "app"))
import uroce_telemetry  # noqa: E402

uroce_telemetry.WAIT = PATIENCE_S  # a machine that writes to a slow disk may stand still for longer than 5 s
CASES = []
LEFT = "resources remaining at the target: 0 queues, 0 controllers, 0 bytes of buffers, 0 commands"
RWS = ("read", "write", "randread", "randwrite", "rw", "randrw")


def case(function):
    CASES.append(function)
    return function


def measure(*options, rows=1):
    """Runs uroce-nvme-perf by itself. Its rows, as words."""
    code, out, err = run("nvme-perf", *options)
    found = [line.split() for line in out.splitlines() if re.match(r"(rand)?(read|write|rw) +\d|bare", line)]
    want(code == 0 and LEFT in out and len(found) == rows, options, code, out, err)
    return found


def verify(*options, rows=1):
    for words in measure("--verify", "--runtime", "0.02", *options, rows=rows):
        want(words[-1] == "verified" and int(words[-2]) > 0, options, words)


# ---- one process ----


@case
def every_rw_verifies_with_both_blocks_and_sizes_to_1M(_):
    # In 20 ms a busy machine may not have time for a block of 1 MiB to be written and then read.
    for sizes, rows, block in (("512,4k,128k", 18, "512"), ("1M", 6, "512"), ("4k", 6, "4096"), ("1M", 6, "4096")):
        verify("--rw", ",".join(RWS), "--bs", sizes, "--iodepth", "4", "--block", block, "--store", "memory:32M",
               "--runtime", "0.2" if sizes == "1M" else "0.02", rows=rows)


@case
def several_queues_and_depths_verify(_):
    verify("--rw", "randrw", "--queues", "5", "--iodepth", "1,2,31", rows=3)
    verify("--rw", "randrw", "--queues", "2", "--iodepth", "1023", "--bs", "512")


@case
@with_files
def file_verifies_and_has_the_requested_size(_):
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        path = folder + "/disk"
        # In 20 ms a busy disk may not have time for a write and the read that compares it.
        verify("--rw", ",".join(RWS), "--bs", "512,64k", "--iodepth", "4", "--store", path + ":8M", "--runtime", "0.2",
               rows=12)
        want(os.path.getsize(path) == 8 << 20, os.path.getsize(path))
        verify("--rw", "randrw", "--bs", "4k", "--block", "4096", "--store", path)


@case
def null_is_measured_and_not_verified(_):
    measure("--store", "null:1G", "--rw", "randread,randwrite", "--runtime", "0.05", rows=2)
    one_line("null", run("nvme-perf", "--store", "null:1G", "--verify"), 2, "null:1G", "memory:SIZE")


@case
def in_capsule_data_works_without_verify(_):
    for number in ("0", "512", "16384"):
        verify("--in-capsule", number, "--rw", "write,randrw", "--bs", "512,16k,32k", "--iodepth", "8", rows=6)


@case
def bare_exchanges_are_printed_for_each_case(_):
    rows = measure("--bare", "--iodepth", "1,8", "--runtime", "0.05", rows=4)
    want([row[0] for row in rows] == ["randread", "bare", "randread", "bare"] and rows[1][1] == "READ", rows)


@case
def cut_link_costs_only_time(_):
    for row in measure("--failover", "0.1", "--runtime", "1", "--rw", "randrw,randread", "--iodepth", "1,32",
                       "--queues", "3", "--verify", rows=4):
        text = " ".join(row)
        wanted = r" [1-9]\d* verified 3 queues migrated; commands completed again \d+\.\d ms after the cut$"
        want(re.search(wanted, text), text)


@case
def json_has_the_printed_numbers(directory):
    path = directory + "/out.json"
    rows = measure("--json", path, "--rw", "read,randrw", "--verify", "--runtime", "0.05", rows=2)
    results = json.load(open(path))["results"]
    keys = ("rw", "bs", "queues", "iodepth", "iops", "mb_per_s", "lat_mean_us", "lat_p50_us", "lat_p90_us",
            "lat_p99_us", "lat_p999_us", "verified")
    want(len(results) == 2, results)
    for row, result in zip(rows, results):
        for word, key in zip(row, keys):
            same = word == result[key] if key == "rw" else abs(float(word) - result[key]) <= 0.51
            want(same, key, row, result)
        want(result["failed"] == result["wrong"] == 0 and result["ios"] > 0, result)


@case
def repeated_cycles_leave_no_resources(_):
    code, out, err = run("nvme-perf", "--cycles", "50", "--queues", "16")
    want(code == 0 and not err and "50 connect and disconnect cycles of 17 queues" in out and LEFT in out, code, out,
         err)


# ---- two processes ----


@case
@with_files
def memory_and_a_file_are_served_over_memif(directory):
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        with Ends(directory, "--memory", "16M", "--file", folder + "/disk:16M") as ends:
            ends.works("memory", "--queues", "3", "--bs", "512,4k,64k")
            ends.works("file", "--nsid", "2", "--bs", "4k,64k")
            ends.fails("no-namespace", 1, "namespace 3", "invalid namespace", options=("--nsid", "3"))
            ends.fails("no-subsystem", 1, "Connect", OTHER, nqn=OTHER)
            ends.fails("nobody", 3, "4421", "10.0.0.1", "nobody listens", options=("--port", "4421"))
            ends.fails("too-deep", 3, "queue 1: refused", "size", options=("--iodepth", "500"))
            ends.works("after")
            want(ends.target.interrupt() == 0 and not complaints(ends.target), ends.target.text())


@case
def differing_or_failed_data_is_an_error(directory):
    with Ends(directory, "--store", "null:16M") as ends:
        host = ends.host("differs", "--verify", "--rw", "write")
        want(host.finish() == 1 and re.search(r"WRONG: 0 failed .*, [1-9]\d* differ", host.text()), host.text())
    with Ends(directory, "--memory", "16M", "--read-only") as ends:
        host = ends.host("fails", "--rw", "write")
        want(host.finish() == 1, host.text())
        want(re.search(r"WRONG: [1-9]\d* failed \(.*write protected.*\), 0 differ", host.text()), host.text())
        want(ends.target.interrupt() == 0 and "completed with an error" in ends.target.text(), ends.target.text())


@case
@with_files
def an_ini_file_has_two_subsystems_and_their_hosts(directory):
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        with Ends(directory, "--config", write_ini(directory, INI % (OWN_HOST, folder))) as ends:
            ends.works("first")
            ends.works("second", "--nsid", "7", nqn=OTHER)
            want(ends.target.interrupt() == 0, ends.target.text())
        with Ends(directory, "--config", write_ini(directory, INI % ("nqn.2026-01.uroce:else", folder))) as ends:
            ends.works("any")
            ends.fails("too-large", 2, "--bs 131072", "65536 bytes", options=("--bs", "128k"))
            ends.fails("not-allowed", 1, "Connect", OTHER, "host", nqn=OTHER)


def served_by(directory):
    """Of the I/O queues that there are, the commands of each, by lcore."""
    served = {}
    for qid, commands, lcore in re.findall(r"queue (\d+) of controller \d+: commands=(\d+) .* lcore=(\d+)",
                                           tell(directory, "stats")[1]):
        if qid != "0":
            served.setdefault(lcore, []).append(int(commands))
    return served


@case
def several_lcores_serve_the_queues_of_a_host(directory):
    """As many of them as the host has on each of its own lcores, and no frame is handed from lcore to lcore."""
    queues = ("--queues", "16", "--port-queues", "2", "--iodepth", "4")
    with Ends(directory, "--memory", "16M", "--nb-cores", "2", "--control", directory + "/control") as ends:
        host = ends.host("host", "--rw", "randrw", "--verify", "--runtime", "300", *queues)
        host.wait_until(queues_are_there, directory + "/control", 17)
        time.sleep(1)
        served = served_by(directory)
        want(len(served) == 2 and all(len(queues) == 8 and min(queues) > 0 for queues in served.values()), served)
        instance, = uroce_telemetry.instances(f"uroce-{ends.target.process.pid}")
        host.wait_until(lambda: instance.ask("/uroce/counters", 0)["rx_frames"] > 1000)
        counters = instance.ask("/uroce/counters", 0)
        instance.close()
        want(counters["rx_handed_over"] == 0, counters)
        for _ in range(5):  # namespaces come and go beside it
            want(tell(directory, "add", DISK, "memory:4M", "nsid=9")[0] == 0, ends.target.text())
            want(tell(directory, "remove", DISK, "9")[0] == 0, ends.target.text())
            time.sleep(0.2)
        want(host.interrupt() == 130 and re.search(r" [1-9]\d* verified", host.text()), host.text(), ends.target.text())
        host = ends.host("removed", "--rw", "randwrite", "--runtime", "300", *queues)
        host.wait_until(queues_are_there, directory + "/control", 17)
        time.sleep(0.5)
        want(tell(directory, "remove", DISK, "1")[0] == 0, ends.target.text())
        want(tell(directory, "disconnect", OWN_HOST)[0] == 0, ends.target.text())
        want(host.finish(60) == 1, host.text())
        ends.target.wait_until(lambda: "namespace 1" not in tell(directory, "show")[1])
        want(ends.target.interrupt() == 0 and "disconnecting 0 queues" in ends.target.text(), ends.target.text())


@case
@with_files
def two_lcores_serve_a_file_and_every_block_is_right(directory):
    queues = ("--queues", "8", "--port-queues", "2", "--iodepth", "8")
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        for options in ((), ("--buffered",), ("--threads",)):
            with Ends(directory, "--file", folder + "/disk:16M", "--nb-cores", "2", "--control", directory + "/control",
                      *options) as ends:
                host = ends.host("host", "--rw", "randrw", "--verify", "--runtime", "300", *queues)
                host.wait_until(queues_are_there, directory + "/control", 9)
                time.sleep(0.5)
                served = served_by(directory)
                want(len(served) == 2 and all(min(counts) > 0 for counts in served.values()), options, served)
                want(host.interrupt() == 130 and re.search(r" [1-9]\d* verified", host.text()), options, host.text(),
                     ends.target.text())
                want(ends.target.interrupt() == 0 and not complaints(ends.target), ends.target.text())


@case
def terminated_target_notifies_its_hosts(directory):
    with Ends(directory, "--memory", "16M", "--control", directory + "/control") as ends:
        host = ends.host("host", "--runtime", "300", "--queues", "4")
        host.wait_until(queues_are_there, directory + "/control", 5)
        ends.target.process.send_signal(signal.SIGTERM)
        want(ends.target.finish() == 0 and not complaints(ends.target), ends.target.text())
        want("ending: disconnecting 5 queues" in ends.target.text(), ends.target.text())
        code, lines = host.finish(), complaints(host)
        want(code == 1 and len(lines) == 1 and "closed the connection" in lines[0], code, host.text())


@case
def interrupted_host_prints_results_and_disconnects(directory):
    path = directory + "/out.json"
    open(path, "w").write("before")
    with Ends(directory, "--memory", "8M", "--control", directory + "/control") as ends:
        host = ends.host("host", "--runtime", "300", "--json", path)
        host.wait_until(queues_are_there, directory + "/control", 2)
        time.sleep(0.5)
        want(open(path).read() == "before", open(path).read())
        want(host.interrupt() == 130 and len(re.findall("^randread ", host.text(), re.M)) == 1, host.text())
        results = json.load(open(path))
        want(len(results["results"]) == 1 and results["results"][0]["ios"] > 0, results)
        want(results["interrupted"] and results["failed"] is None and results["version"], results)
        want(results["command"][0].endswith("uroce-nvme-perf") and path in results["command"], results)
        ends.target.wait_for("disconnected from controller .*: the host disconnected", 3)


@case
def host_keeps_its_results_when_its_target_is_killed(directory):
    path = directory + "/out.json"
    with Ends(directory, "--memory", "8M", "--control", directory + "/control") as ends:
        host = ends.host("host", "--runtime", "300", "--json", path)
        host.wait_until(queues_are_there, directory + "/control", 2)
        time.sleep(0.5)
        ends.target.kill()
        want(host.finish() == 1 and len(re.findall("^randread ", host.text(), re.M)) == 1, host.text())
        results = json.load(open(path))
        want(len(results["results"]) == 1 and results["results"][0]["ios"] > 0, results)
        want(not results["interrupted"] and results["failed"]["sentence"] in host.text(), results, host.text())


@case
def killed_host_leaves_a_working_target(directory):
    with Ends(directory, "--memory", "16M") as ends:
        for number in range(5):
            host = ends.host(f"killed{number}", "--runtime", "300", "--queues", "4", "--rw", "randrw")
            time.sleep(0.1 + 0.2 * number)
            host.kill()
        ends.works("last", "--queues", "4")
        want(ends.target.interrupt() == 0 and not complaints(ends.target), ends.target.text())


@case
def host_ends_when_its_target_is_killed(directory):
    with Ends(directory, "--memory", "16M", "--control", directory + "/control") as ends:
        host = ends.host("host", "--runtime", "300", "--queues", "4", "--rw", "randrw")
        host.wait_until(queues_are_there, directory + "/control", 5)
        ends.target.kill()
        want(host.finish() == 1 and len(complaints(host)) == 1, host.text())


# ---- while it runs ----


@case
def running_target_answers_queries_and_commands(directory):
    path = directory + "/control"

    def tell(*words, status=0):
        code, out, err = run("nvmetcli", "--control", path, *words)
        want(code == status and (status == 0) == (err == ""), words, code, out, err)
        return out if status == 0 else err

    with Ends(directory, "--memory", "16M", "--control", path) as ends:
        want(f"namespace 1 of {DISK}: memory, 32768 blocks of 512 bytes" in tell("show"), tell("show"))
        want(tell("controllers") == "" and "queues=0 commands=0" in tell("stats"), tell("stats"))
        want(tell("add", DISK, "null:1M", "nsid=7", "block=4096") == f"namespace 7 of {DISK}\n", tell("show"))
        want("has no namespace with this ID" in tell("resize", DISK, "8", "2M", status=1), path)
        want("use a size such as 64M" in tell("resize", DISK, "7", "x", status=1), path)
        tell("resize", DISK, "7", "2M")
        want("namespace 7 of " + DISK + ": null, 512 blocks of 4096 bytes" in tell("show"), tell("show"))
        ends.works("first")
        host = ends.host("stays", "--runtime", "300", "--nsid", "7", "--rw", "read")
        host.wait_until(lambda: re.search(r"namespace 7 of .* reads=[1-9]", tell("stats")))
        host.wait_until(lambda: len(tell("controllers").splitlines()) == 1)  # of the first one
        want(OWN_HOST in tell("controllers") and "at 10.0.0.2, 2 queues" in tell("controllers"), tell("controllers"))
        want(re.search(r"namespace 1 of .* reads=[1-9].* read us p50=[\d.]+ p99=", tell("stats")), tell("stats"))
        tell("remove", DISK, "7")
        shown = tell("show")
        want("namespace 7" not in shown or "being removed" in shown, shown)
        told = tell("disconnect", OWN_HOST)
        want("1 controllers disconnected" in told, told, host.text())
        want(host.finish() == 1, host.text())
        want("no such controller" in tell("disconnect", "200", status=1), path)
        want("fly: no such command" in tell("fly", status=1) and "add NQN" in tell("add", status=1), path)
        ends.works("last")
        want(ends.target.interrupt() == 0 and not os.path.exists(path), ends.target.text())
        want("no target listens on this socket" in tell("show", status=3), path)


@case
def client_that_reads_no_answer_blocks_no_other(directory):
    path = directory + "/control"
    with Ends(directory, "--memory", "1M", "--control", path) as ends:
        peer = socket.socket(socket.AF_UNIX)
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        peer.connect(path)
        ends.works("beside")
        peer.close()  # who has said nothing for so long may have been hung up on
        peer = socket.socket(socket.AF_UNIX)
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        peer.connect(path)
        peer.sendall(b"stats\n" + b"x" * 1500)
        ends.works("unread")
        peer.close()
        want(run("nvmetcli", "--control", path, "show")[0] == 0, ends.target.text())
        want(ends.target.interrupt() == 0 and not complaints(ends.target), ends.target.text())


# ---- what is refused ----


@case
def queries_need_no_rights_and_no_port(directory):
    for name in ("nvmet", "nvme-perf"):
        for option, text in (("--help", "uroce-" + name), ("--version", "uroce-" + name + " ")):
            code, out, err = run_unprivileged(directory, name, option)
            want(code == 0 and text in out and not err, name, option, code, out, err)
    code, out, err = run_unprivileged(directory, "nvmet", "--dry-run", "--memory", "1M", "--store", "null:1G", "--file",
                                      "/tmp/uroce-no-disk:1G", "--ip", "10.0.0.1/24", "-d", "net_ring0", "--nqn", DISK)
    want(code == 0 and not err, code, out, err)
    for text in ("port net_ring0, address 10.0.0.1/24, service 4420",
                 f"subsystem {DISK}, 0 hosts",
                 f"namespace 1 of {DISK}: memory, 1048576 bytes", f"namespace 2 of {DISK}: null, 1073741824 bytes",
                 f"namespace 3 of {DISK}: file /tmp/uroce-no-disk, 1073741824 bytes"):
        want(text in out, text, out)


@case
def invalid_target_options_are_one_line(_):
    memory, long_path = (*LOOP, "--memory", "1M"), "/" + "x" * 300
    for words, *told in (
            (LOOP, "--memory", "--file", "--config"), ((*LOOP, "--memory", "0"), "--memory 0", "512"),
            ((*LOOP, "--memory", "100"), "--memory 100", "512"), ((*LOOP, "--memory", "1X"), "--memory 1X", "16M"),
            ((*LOOP, "--memory", "0" * 70 + "1M"), "--memory"), ((*LOOP, "--store", "memory"), "memory:1G"),
            ((*LOOP, "--store", "disk:1G"), "--store disk:1G", "./disk.img"),
            ((*LOOP, "--store", "null:0"), "null:0", "512"),
            ((*LOOP, "--store", "memory:-5"), "memory:-5"), ((*LOOP, "--file", "./x:0"), "./x:0", "512"),
            ((*LOOP, "--file", "./x:9999999T"), "./x:9999999T"), ((*LOOP, "--file", long_path), "255"),
            ((*LOOP, "--store", "memory:512", "--block", "4096"), "4096"),
            ((*LOOP, "--store", "memory:1000"), "memory:1000", "not a multiple of the block size, 512", "1024"),
            ((*LOOP, "--file", "./none:5000", "--block", "4096"), "./none", "8192"),
            ((*memory, "--block", "1024"), "512 or 4096"),
            ((*memory, "--port", "0"), "--port 0", "65535"), ((*memory, "-p", "65536"), "--port 65536", "65535"),
            ((*memory, "--nqn", "disk"), "--nqn disk", "nqn."),
            ((*memory, "--host-nqn", "me"), "--host-nqn me", "nqn."),
            ((*memory, "--nqn", "nqn.2026-01.a:" + "x" * 220), "223"),
            ((*memory, "--nqn", "nqn.2014-08.org.nvmexpress.discovery"), "discovery"),
            (("--memory", "1M", "-d", "loop"), "--ip"), (("--memory", "1M"), "--ip"),
            (("--memory", "1M", "-d", "loop", "--ip", "here"), "--ip here", "10.0.0.1/24"),
            (("--memory", "1M", "--ip", "10.0.0.1/24"), "-d"),
            ((*memory, "--ip", "10.0.0.9/24"), "10.0.0.9/24", "--device"),
            ((*memory, "--gateway", "10.9.9.9"), "the gateway must be another address of the same network"),
            ((*memory, "stray"), "stray"),
            ((*memory, "--fly"), "--fly"), ((*memory, "--config", "a.ini"), "a.ini", "--memory"),
            ((*LOOP, "--config", "a.ini", "--block", "512"), "a.ini", "--block")):
        one_line(words, run("nvmet", *words), 2, *told)


@case
@with_files
def target_without_files_or_memory_exits_with_status_3(directory):
    small, fifo, held = (os.path.join(directory, name) for name in ("small", "fifo", "held"))
    open(small, "w").write("100 bytes")
    os.mkfifo(fifo)
    for words, *told in (
            (("--file", directory), directory, "not a file"), (("--file", fifo, "--read-only"), "not a file"),
            (("--file", "/dev/null"), "not a file"), (("--file", directory + "/none"), "/none", "PATH:SIZE"),
            (("--file", directory + "/no/disk:1M"), "/no/disk", "No such file"),
            (("--file", small + ":1M"), "9 bytes", "512"), (("--file", directory + "/huge:1000000T"), "/huge"),
            (("--memory", "100T"), "--memory 100T", "109951162777600"), (("--config", "/no/file"), "/no/file"),
            (("--config", directory), directory, "directory"),
            (("--memory", "1M", "-d", "loop", "--ip", "10.0.0.1/24"), "10.0.0.1", "4420", "--port")):
        code, out, err = run("nvmet", *LOOP, *words)
        one_line(words, (code, "", err), 3, *told)
    for words, *told in (
            (("--file", directory), directory, "not a file"),
            (("--file", directory + "/none"), "/none", "PATH:SIZE"),
            (("--file", directory + "/no/disk:1M"), "/no/disk", "No such file"), (("--file", small), "9 bytes", "512"),
            (("--file", "/proc/version", "--read-only"), "/proc/version")):
        one_line(words, run("nvmet", *LOOP, "--dry-run", *words), 3, *told)
    with open(held, "wb") as file:
        file.write(bytes(1 << 20))
        file.flush()
        fcntl.flock(file, fcntl.LOCK_EX)
        one_line("held", run("nvmet", *LOOP, "--file", held), 3, held, "in use")
        want(run("nvmet", *LOOP, "--dry-run", "--file", held)[0] == 0, "a target that runs may be asked")
    want(sorted(os.listdir(directory)) == ["fifo", "held", "small"], os.listdir(directory))


@case
@with_files
def file_on_tmpfs_is_served_or_removed(_):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        code, out, err = run("nvme-perf", "--runtime", "0.02", "--store", folder + "/disk:16M", "--verify", "--rw",
                             "randread,randrw", "--bs", "512,64k")
        if code:
            one_line("tmpfs", (code, out, err), 3, folder, "buffered")
            want(os.listdir(folder) == [], os.listdir(folder))


BASE = "[port.0]\ndevice=loop\nip=10.0.0.1/24\n"
ONE = BASE + f"[subsystem.0]\nnqn={DISK}\n"
FULL = ONE + "[namespace.0]\nstore=memory:1M\n"


@case
def invalid_ini_file_is_one_line_in_its_own_words(directory):
    names = "".join(f"[subsystem.{i}]\nnqn={DISK}{i}\n" for i in range(33))
    for text, *told in (
            ("", "[namespace.0]"), ("hello\n", "line 1", "hello", "[section]"), ("[target\n", "line 1", "]"),
            ("[target]\nport\n", "line 2", "port", "key=value"), ("[target]\n=1\n", "line 2"),
            ("a=1\n[target]\n", "line 1"), ("[target]\nport=\0 1\n", "line 2"),
            ("[disk.0]\n", "[disk.0]", "[namespace.N]"), ("[target]\nspeed=1\n", "[target] speed", "port"),
            ("[target]\nport=0\n", "[target] port 0", "65535"), ("[target]\nqueue-depth=1\n", "1024"),
            ("[target]\nio-queues=129\n", "129", "128"), ("[target]\nin-capsule=17\n", "17", "16384"),
            ("[target]\nmax-data=5000\n", "5000", "4k"), ("[target]\npool=1\n", "pool 1", "4194304"),
            ("[target]\npool=8M\npool=9M\n", "[target] pool appears twice", "line 3"),
            ("[target]\n[port.0]\n[target]\n", "[target] appears twice", "line 3"),
            (FULL + BASE, "[port.0] appears twice"), (FULL + "[subsystem.0]\n", "[subsystem.0] appears twice"),
            ("[port.0]\nnic=1\n", "[port.0] nic", "device"),
            ("[port.0]\nip=here\n" + FULL[len(BASE):], "[port.0]", "here"),
            ("[port.0]\ndevice=loop\n" + FULL[len(BASE):], "[port.0]: ip=ADDR/LEN is missing"),
            (FULL[len(BASE):], "--ip"),
            (BASE + "[subsystem.0]\nserial=1\n[namespace.0]\nstore=memory:1M\n", "[subsystem.0]: nqn= is missing"),
            (BASE + "[subsystem.0]\nnqn=disk\n", "[subsystem.0] nqn disk"), (names, "[subsystem.32]", "32"),
            (BASE + "[subsystem.0]\nserial=" + "1" * 21 + "\n", "20 characters"),
            (BASE + "[subsystem.0]\nhost-nqn=me\n", "[subsystem.0] host-nqn me"),
            (FULL + f"[subsystem.1]\nnqn={DISK}\n", "[subsystem.1]: nqn", DISK, "another"),
            (FULL + f"[subsystem.1]\nnqn={OTHER}\n", "[namespace.0]: subsystem= is missing"),
            (FULL + f"subsystem={OTHER}\n", "[namespace.0]", OTHER, DISK),
            (ONE + "[namespace.0]\nnsid=1\n", "[namespace.0]: store= is missing"),
            (FULL + "nsid=1\n[namespace.1]\nnsid=1\nstore=null:1M\n", "[namespace.1]: nsid 1", "another"),
            (FULL + "nsid=129\n", "129", "128"), (FULL + "block=600\n", "block 600", "4096"),
            (FULL + "read-only=yes\n", "read-only yes", "0 to 1"), (FULL + "uuid=1-2\n", "uuid 1-2", "3f1b5f9c"),
            (ONE + "[namespace.0]\nstore=memory:511\n", "[namespace.0]: 511 bytes", "512"),
            (ONE + "[namespace.0]\nstore=/" + "x" * 300 + ":1M\n", "[namespace.0] store", "255"),
            (ONE + "".join(f"[namespace.{i}]\nstore=null:1M\n" for i in range(129)), "[namespace.128]", "128")):
        path = write_ini(directory, text)
        one_line(text[-200:], run("nvmet", "--config", path), 2, path, *told) if told != ["--ip"] else \
            one_line(text, run("nvmet", "--config", path), 2, "--ip")
    path = write_ini(directory, FULL)
    one_line("ports", run("nvmet", "--config", path, *LOOP), 2, path, "[port.0]", "command line")


@case
def command_line_overrides_the_file_and_defaults_are_filled_in(directory):
    path = write_ini(directory, "[target]\nport=4000\n" + FULL + "[namespace.1]\nnsid=1\nstore=null:1M\n")
    code, out, err = run("nvmet", "--config", path, "--dry-run", "--port", "4001")
    want(code == 0 and "service 4001" in out, code, out, err)
    want("namespace 2 of " + DISK + ": memory" in out and "namespace 1 of " + DISK + ": null" in out, out)


@case
def invalid_host_options_are_one_line(directory):
    there = ("--peer", "10.0.0.9", "--nqn", DISK, "--ip", "10.0.0.1/24", "-d", "loop")
    for words, *told in (
            (("--rw", "fly"), "--rw fly", "randrw"), (("--rw", ","), "--rw", "randrw"),
            (("--bs", "100"), "--bs 100", "512"), (("--bs", "2M"), "1048576"), (("--bs", "513"), "--bs 513", "512"),
            (("--bs", "512", "--block", "4096"), "4096"), (("--bs", ",".join(["512"] * 17)), "16"),
            (("--iodepth", "0"), "1023"), (("--iodepth", "1,x"), "--iodepth x"),
            (("--queues", "129"), "128"), (("--block", "1024"), "512 or 4096"), (("--in-capsule", "17"), "16"),
            (("--in-capsule", "16400"), "16384"), (("--rwmixread", "101"), "100"),
            (("--thinktime", "10000001"), "10000000"), (("--runtime", "0"), "86400"),
            (("--cycles", "0"), "--cycles 0"), (("--failover", "x"), "--failover x", "0.001"),
            (("--failover", "2"), "--failover 2", "--duration"),
            ((*there, "--failover", "0.01"), "--peer"), (("--nsid", "0"), "128"), (("--port", "0"), "65535"),
            (("--store", "disk"), "./disk.img"), (("--store", "memory:100"), "512"), (("stray",), "stray"),
            (("--ip", "10.0.0.1/24"), "--peer"), (("--gateway", "10.0.0.1"), "--peer"),
            (("--peer", "there"), "--peer there", "10.0.0.1"), (("--peer", "10.0.0.9"), "--nqn", "--ip"),
            ((*there, "--nqn", "disk"), "--nqn disk", "nqn."), ((*there, "--bare"), "--peer"),
            ((*there, "--store", "null:1M"), "--store", "--peer"), (there[:-2], "-d"),
            ((*there, "--ip", "here"), "here", "10.0.0.1/24")):
        one_line(words, run("nvme-perf", "--runtime", "0.02", *words), 2, *told)
    for words, *told in ((("--store", directory), directory), (("--store", directory + "/none"), "PATH:SIZE"),
                         (("--store", "memory:100T"), "109951162777600"), (("--json", directory), directory),
                         (("--json", directory + "/no/file"), "/no/file")):
        one_line(words, run("nvme-perf", "--runtime", "0.02", *words), 3, *told)
    code, out, err = run("nvme-perf", *there)
    one_line(there, (code, out, re.sub("^waiting for the target at .*\n", "", err)), 3, "10.0.0.9", "4420")
    for words, status, *told in ((("--nsid", "2"), 1, "namespace 2"),
                                 (("--bs", "4k", "--store", "memory:2048"), 2, "2048"),
                                 (("--verify", "--store", "memory:64k"), 2, "--iodepth"),
                                 (("--queues", "128", "--iodepth", "1023"), 3, "no free resources")):
        one_line(words, run("nvme-perf", "--runtime", "0.02", *words), status, *told)
    want(os.listdir(directory) == [], os.listdir(directory))


if __name__ == "__main__":
    sys.exit(main("nvmet", CASES))
