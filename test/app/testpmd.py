#!/usr/bin/env python3
# testpmd.py - sessions at the prompt of uroce-testpmd: every command, and what it leaves behind
# SPDX-License-Identifier: BSD-3-Clause
"""testpmd.py BUILD: prints TAP. What is captured is read by tshark, if there is one, and by uroce-decode."""
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time

from cases import Skipped, main, program, run, want

CASES = []


def case(function):
    CASES.append(function)
    return function


class Prompt:
    """uroce-testpmd with commands through a pipe; each answer is waited for."""

    def __init__(self, *options):
        self.told = []
        self.process = subprocess.Popen([program("testpmd"), "-i", "--idle", "yield", *options],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        text=True, errors="replace")

    def __enter__(self):
        self.wait_for(r"\"help\" lists the commands")
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def wait_for(self, pattern, seconds=60):
        """A program that says nothing more is killed, which ends the wait."""
        killer = threading.Timer(seconds, self.process.kill)
        killer.start()
        try:
            return self.read_until(pattern)
        finally:
            killer.cancel()

    def read_until(self, pattern):
        while True:
            line = self.process.stdout.readline()
            want(line, "never said", pattern, *self.told[-20:])
            self.told.append(line)
            found = re.search(pattern, line)
            if found:
                return found

    def ask(self, command, pattern):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.wait_for(pattern)

    def work(self, count):
        """Waits until each queue pair that asks has completed so many messages, however long the machine takes."""
        done, end = [0], time.monotonic() + 60
        while min(done) < count:
            want(time.monotonic() < end, "never", count, done)
            time.sleep(0.05)
            self.ask("show qp", "^QPN")
            before = len(self.told)
            self.ask("show port info 99", "^port 99: use a port from 0 to")
            rows = [line.split() for line in self.told[before:] if line.startswith("0x")]
            done = [int(row[5]) for row in rows if row[2] in ("sends", "both")] or [0]

    def quit(self):
        self.ask("quit", "final statistics")
        return self.process.communicate(timeout=60)[0], self.process.returncode


def tshark(path, *arguments):
    if shutil.which("tshark") is None:
        raise Skipped("tshark is not installed")
    done = subprocess.run(["tshark", "-r", path, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=60)
    want(done.returncode == 0, path, done.stderr)
    return done.stdout.splitlines()


# What is typed, what the answer has, and what comes behind it. {qpn}: a queue pair that asks; {d}: a folder.
SESSION = (
    ("show config", r"size +300 +\(command line\)"),
    ("show port info all", r"port 0: net_ring.* path MTU up to 1024",
     r"^  link up; 1024 receive and 1024 transmit descriptors per queue; [1-9]\d* mbufs of [1-9]\d* bytes$",
     "^  10.0.0.1/24$"),
    ("show port info 1", "^port 1: net_ring", "^  10.0.0.2/24$"),
    ("show port info 2", "port 2: use a port from 0 to 1, or all"),
    ("show config fwd", r"size +300 +\(command line\)"),
    ("inject loss", "wrong arguments; use$", r"^  inject loss\|dup\|reorder\|corrupt P"),
    ("set fast 1", "wrong arguments; use$", r"^  set size N .*\(1 \.\.\. 1048576; default 4096\)"),
    ("fly", '"fly": no such command; "help" lists the commands$'),
    ("start", "started"),
    ("set size 200", "size is 200"),
    ("set size 301", "the buffers hold messages of 1 to 300"),
    ("set tx-depth 4", "tx-depth is 4"),
    ("set tx-depth 9", "use 1 to 8, or restart with a larger --tx-depth"),
    ("set burst 2", "burst is 2"),
    ("set burst 0", "a number from 1 to 4096"),
    ("set mix write:1,read:1", "mix is write:1,read:1"),
    ("set mix fly:1", "NAME:WEIGHT, where NAME is send"),
    ("set mix write:4294967297", "NAME:WEIGHT, where NAME is send"),
    ("set mix write:1x", "NAME:WEIGHT, where NAME is send"),
    ("show config", r"tx-depth +4 +\(prompt\)"),
    ("load {d}/itself", "files load each other more than 8 levels deep"),
    ("capture {d}/y bytes 0", "use 1 to 65535"),
    ("set mix awrite:1,flush:1", "mix is awrite:1,flush:1"),
    ("set verbose 2", "verbose is 2", r"^QP 0x\w{6}: ATOMIC_WRITE SUCCESS$", r"^QP 0x\w{6}: FLUSH SUCCESS$",
     r"^and [1-9]\d* more completions that were not recorded$"),
    ("set mix send:1,read:1", "mix is send:1,read:1"),
    ("set verbose 1", "verbose is 1", r"^QP 0x\w{6}: RECV SUCCESS, 200 bytes from QP 0x\w{6}$"),
    ("set mix send_inv:1,read:1", "mix is send_inv:1,read:1",
     r"^QP 0x\w{6}: RECV SUCCESS, 200 bytes from QP 0x\w{6}, key 0x\w{8} is invalid now$"),
    ("set verbose 3", "verbose is 3", r"^QP 0x\w{6}: RDMA_READ SUCCESS, 200 bytes$"),
    ("set verbose 0", "verbose is 0"),
    ("set verbose 4", "a number from 0 to 3"),
    ("port stop 2", "port 2: use a port from 0 to 1, or all"),
    ("port stop 0", "port 0 is stopped: its link is down"),
    ("port start all", "port 0 is started"),
    ("set stats-period 1", "stats-period is 1", r"messages/s +\d+\.\d+ Gbit/s"),
    ("set stats-period 0", "stats-period is 0"),
    ("show config", r"size +200 +\(prompt\)"),
    ("save config /none/x", "/none/x: cannot be written: No such file or directory"),
    ("save config {d}/saved.ini",
     r"settings saved in .*/saved\.ini; to use them, run uroce-testpmd --config .*/saved\.ini"),
    ("show port stats all", "port 0: received [1-9]"),
    ("show port stats all", r"since the last show, \d+.\d s: received [1-9]\d+ frames/s [0-9.]+ Gbit/s, sent [1-9]"),
    ("show port xstats all", "rx_good_packets +[1-9]"),
    ("clear port xstats 2", "port 2: use a port from 0 to 1, or all"),
    ("clear port xstats all", "cleared"),
    ("clear port stats 1", "cleared"),
    ("show port stats 1", "^port 1: received"),
    ("clear port stats all", "cleared"),
    ("show cq", r"port  lcore", r"^0 +0 +2 +\d+$"),
    ("show mr", "port  address", r"^1 +0x\w+ +\d+ +0x\w{8} +read, write, atomics"),
    ("show srq", "port  receives", r"^1 +[1-9]\d* +32$"),
    ("show qp {qpn}", "QP {qpn}: RTS, lcore 0, port 0"),
    ("why {qpn}", "nothing has failed"),
    ("show path", "QPN", "^{qpn} +0 +10.0.0.1 +10.0.0.2 +1024 +0 +MIGRATED +none"),
    ("migrate {qpn}", "{qpn} now uses 10.0.1.1 to 10.0.1.2"),
    ("show path", "QPN", "^{qpn} +0 +10.0.1.1 +10.0.1.2 "),
    ("migrate {qpn}", "{qpn} now uses 10.0.0.1 to 10.0.0.2"),
    ("migrate 0x1", "does not exist"),
    ("show lcore", r"lcore 0: \d+\.\d % busy, \d+\.\d % waiting for a core, 4 queue pairs"),
    ("show cm", "0 connections"),
    ("inject dup 1% port 0", "port 0: loss 0 dup 0.01"),
    ("inject cut port 1", ", cut$"),
    ("inject mend", "port 1: loss 0 dup 0 reorder 0 corrupt 0$"),
    ("inject loss 0.1%", "port 1: loss 0.001"),
    ("inject reorder 0.1%", "port 1: .* reorder 0.001"),
    ("inject corrupt 0.1%", "port 1: .* corrupt 0.001"),
    ("inject off", "port 1: loss 0 dup 0 reorder 0 corrupt 0$"),
    ("show inject", "port 0: loss 0 dup 0 reorder 0 corrupt 0$"),
    ("capture {d}/x bytes 100", "frames of 2 ports"),
    ("load {d}/more", "port 1: loss 0"),
    ("capture stop", "contains [1-9]"),
    ("listen", "the queue pairs are already connected"),
    ("connect 10.0.0.9", "the queue pairs are already connected"),
    ("disconnect", "no peer is connected by address"),
    ("help show", "^show port info"),
    ("stop", "stopped"),
    ("help", "^start ", "^quit  "),
)


def commands_of(help_text):
    """Each way to begin a line that help shows: ("show", "cq"), ("start", "")."""
    for line in help_text.splitlines():
        words = re.split("  +", line)[0].split()
        if not words or words[0].startswith("uroce>"):
            continue
        for second in (words[1].strip("[]").split("|") if len(words) > 1 else [""]):
            yield words[0], second if second.islower() else ""


@case
def every_command_matches_its_help(directory):
    open(os.path.join(directory, "itself"), "w").write(f"load {directory}/itself\n")
    open(os.path.join(directory, "more"), "w").write("# more\nshow inject\n")
    with Prompt("--qps", "2", "--mix", "write:1,send:1,read:1", "--size", "300", "--tx-depth", "8", "--use-srq") as pmd:
        pmd.ask("show qp", "QPN")
        qpn = pmd.wait_for(r"^(0x\w+) +0 +sends +RTS +0x\w+")[1]
        for command, *patterns in SESSION:
            if command.startswith("load"):
                time.sleep(0.5)  # so that there is something to capture
            pmd.ask(command.replace("{qpn}", qpn).replace("{d}", directory), patterns[0].replace("{qpn}", qpn))
            for pattern in patterns[1:]:
                pmd.wait_for(pattern.replace("{qpn}", qpn))
        text = "".join(pmd.told)
        pmd.quit()
    used = [command for command, *_ in SESSION] + ["show qp", "quit"]
    named = set(commands_of(text[text.rindex("\nstart ") + 1:]))
    want(len(named) > 30, named)
    for first, second in sorted(named):
        want(any(one.split()[0] == first and second in one for one in used), "no test uses", first, second)


@case
def both_ends_send_on_request_and_json_reports_the_end(directory):
    path = os.path.join(directory, "final.json")
    with Prompt("--bidirectional", "--qps", "2", "--mix", "write:1,read:1,send:1,fadd:1", "--json", path, "--rxd",
                "256", "--total-num-mbufs", "4095", "--mbuf-size", "4300", "--rxq", "1", "--txq", "1", "-a") as pmd:
        pmd.ask("show qp", "QPN")
        pmd.wait_for(r"^0x\w+ +1 +both +RTS")
        pmd.work(200)
        pmd.ask("stop", "stopped")
        _, code = pmd.quit()
        want(code == 0, *pmd.told)
    told = json.load(open(path))
    want(len(told["ports"]) == 2 and len(told["qps"]) == 4, told)
    want(all(qp["state"] == "RTS" and qp["messages"] > 100 and qp["sends"] and qp["serves"] for qp in told["qps"]),
         told)
    for port in told["ports"]:
        want(port["rx_frames"] > 400 and port["counters"]["rx_write_requests"] > 10, port)
        want(port["counters"]["retransmitted_packets"] == 0, "nothing is lost", port)


@case
def each_send_with_invalidate_uses_an_offered_key(directory):
    """A key that is not valid, not yet or not any more, ends its queue pair."""
    path = os.path.join(directory, "final.json")
    for options in ((), ("--bidirectional", "--use-srq", "--tx-depth", "1"), ("--reorder", "2%", "--size", "3000"),
                    ("--bidirectional", "--nb-cores", "2", "--loss", "2%", "--dup", "2%")):
        with Prompt("--mix", "send_inv:2,send:1,write:1,fadd:1", "--size", "100", "--json", path, "-a",
                    *options) as pmd:
            pmd.work(51)
            pmd.ask("stop", "stopped")
            _, code = pmd.quit()
            want(code == 0, options, *pmd.told)
        told = json.load(open(path))
        want(all(qp["state"] == "RTS" and qp["messages"] > 50 for qp in told["qps"] if qp["sends"]), options, told)


@case
def keys_are_offered_only_where_sends_invalidate(_):
    """The peer's WRITEs of keys are no messages, and a mix that is changed to have such SENDs gets keys, too."""
    with Prompt("--mix", "send:1", "--size", "100", "-a", "--qps", "1") as pmd:
        pmd.ask("show port stats all", "^port 0:")
        pmd.wait_for("^port 1:")
        want(not any("rx_write_requests" in line for line in pmd.told), *pmd.told)
        pmd.work(101)
        pmd.ask("set mix send_inv:1", "mix is")
        pmd.ask("set verbose 1", r"is invalid now$")
        pmd.ask("set verbose 0", "verbose is 0")
        pmd.ask("stop", "stopped")
        told = int(pmd.ask("show port stats 1", r"rx_send_requests +(\d+)")[1])
        wished = int(pmd.wait_for(r"rx_write_requests +(\d+)")[1])
        want(told > 100 and wished == 1, told, wished)
        pmd.quit()


@case
def interval_lines_count_messages_once_and_their_resends(_):
    """A SEND that both ends see is one message; the first line comes a period after the start, and tells all of it."""
    with Prompt("--mix", "send:1", "--size", "64", "-a", "--stats-period", "5", "--loss", "1%") as pmd:
        first = pmd.wait_for(r" +([1-9]\d*) messages/s +\d+\.\d+ Gbit/s +[1-9]\d* resent +\d+ probes +[1-9]\d* "
                             r"dropped +(\d+) messages in all")
        seconds = int(first[2]) / int(first[1])
        want(4.9 < seconds < 9.5, "of another time", seconds, *pmd.told)
        pmd.ask("set stats-period 1", "is 1")
        pmd.ask("stop", "stopped")
        pmd.wait_for("messages/s")
        told = int(pmd.wait_for(r" +0 messages/s .* (\d+) messages in all")[1])
        pmd.ask("show port stats all", "^port 1:")
        want(told == int(pmd.wait_for(r"rx_send_requests +(\d+)")[1]) > 100, *pmd.told)
        pmd.quit()


@case
def unsupported_port_settings_are_refused_at_once(directory):
    for options, code, words in (
            (("--rxq", "2"), 2, "raise --nb-cores"), (("--rxq", "1", "--txq", "2"), 2, "must be equal"),
            (("--json", directory + "/none/x"), 3, "No such file"), (("--rxd", "100"), 2, "power of two"),
            (("--record", "/proc/none"), 3, "/proc/none"), (("--burst", "0"), 2, "from 1 to 4096")):
        status, out, err = run("testpmd", *options, "--cmdline-file", "/dev/null")
        want(status == code and words in err, options, status, out, err)


def values(text):
    """Settings as 'show config' and --dry-run print them, without their origins and those that a file cannot have."""
    rows = re.findall(r"^  ([a-z-]+) +(.*?) +\((?:default|file|command line|prompt)\)$", text, re.M)
    return {name: value for name, value in rows if name not in ("interactive", "config", "dry-run", "json", "record",
                                                                "auto-start", "cmdline-file", "no-dad")}


@case
def saved_settings_reproduce_the_session(directory):
    path = directory + "/saved.ini"
    port = ("-d", "net_ring0", "--ip", "10.0.0.1/24", "--gateway", "10.0.0.9", "--ip", "fe80::7/64", "--vlan", "7:3",
            "--server", "--no-dad")
    for options, plan in (((), ()), (("--size", "3k", "--mix", "write:3,send", "--idle", "sleep", "--loss", "1%",
                                      "--cc", "fixed", "--stats-period", "100ms", "--limit-qps", "100",
                                      "--bidirectional",
                                      "--sack-window", "off", "--nb-cores", "2"), ()),
                          (port, port)):
        with Prompt(*options) as pmd:
            pmd.ask("set burst 7", "burst is 7")
            pmd.ask("set stats-period 0.25", "stats-period is 0.25")
            pmd.ask(f"save config {path}", "settings saved in")
            pmd.ask("show config", "help-settings|seed")
            text, _ = pmd.quit()
        wanted = values("\n".join(pmd.told) + text)
        code, out, err = run("testpmd", "--config", path, "--dry-run")
        want(code == 0 and wanted["burst"] == "7" and values(out) == wanted, open(path).read(), wanted, out, err)
        if plan:
            want(open(path).read().count("no-dad=1\n") == 1, open(path).read())
            want("net_ring0 10.0.0.1/24 by gateway 10.0.0.9 fe80::7/64 VLAN 7, priority 3" in out, out)


@case
def dpdk_testpmd_commands_are_answered_with_a_sentence(directory):
    for option, words in (("--forward-mode=io", "see --mix"), ("--forward-mode", "see --mix"),
                          ("--tx-first", "--auto-start"), ("--portmask=0x3", "with --device"),
                          ("--max-pkt-len=9000", "use --mtu")):
        status, out, err = run("testpmd", option)
        want(status == 2 and words in err and err.count("\n") == 1, option, status, out, err)
    with Prompt() as prompt:
        for line, words in (("port close 0", "port stop and port start"),
                            ("set verbose", r"1 \(receives\), 2 \(requests\)"),
                            ("start tx_first", "there is no first burst")):
            prompt.ask(line, words)
        prompt.ask("show config", r"size +4096")
        prompt.quit()


@case
def stopped_port_is_down_until_restarted(_):
    """Its queue pairs lose what they need, as with a pulled cable; the other port does not notice."""
    with Prompt("--qps", "1", "--mix", "write:1,send:1") as pmd:
        pmd.ask("inject cut port 0", ", cut$")
        pmd.ask("port stop 0", "^port 0 is stopped: its link is down$")
        pmd.wait_for("port 0: PORT_ERR: its link is down$")
        pmd.ask("show port info 0", "^  link down")
        pmd.ask("show port info 1", "^  link up")
        pmd.ask("inject off", "port 1: loss 0")
        pmd.ask("clear port stats all", "cleared")
        pmd.ask("start", "started")
        pmd.wait_for("^all 1 sending queue pairs are in ERR")
        pmd.ask("show port stats 0", "^port 0: received")
        pmd.ask("port start 0", "^port 0 is started$")
        pmd.wait_for("port 0: PORT_ACTIVE: its link is up$")
        pmd.ask("show port info 0", "^  link up")
        pmd.ask("quit", "final statistics")
    with Prompt("--qps", "1", "--mix", "write:1,send:1") as pmd:
        pmd.ask("port stop all", "^port 1 is stopped")
        pmd.ask("port start all", "^port 1 is started")
        pmd.ask("start", "started")
        time.sleep(0.3)
        pmd.ask("stop", "stopped")
        pmd.wait_for(r"^port 1: received [1-9]\d+ frames")
        want(pmd.quit()[1] == 0, *pmd.told)


@case
def driver_without_link_control_reports_it(directory):
    """Both ends of a memif: nothing changes."""
    with Prompt("--device", f"net_memif0,socket={directory}/memif,socket-abstract=no,role=server", "--ip",
                "10.1.0.1/24") as pmd:
        pmd.ask("port stop 0", 'port 0: the driver net_memif cannot set the link down: use "inject cut port 0"')
        pmd.ask("show inject", "port 0: loss 0 dup 0 reorder 0 corrupt 0$")
        pmd.quit()


@case
def port_with_too_few_queue_pairs_reports_it_and_works(directory):
    """The other side of a virtual machine's NIC, which nobody has connected to: its driver offers what it is told."""
    with Prompt("-d", f"net_vhost0,iface={directory}/vhost,queues=1", "--ip", "10.0.0.1/24", "--nb-cores", "2") as pmd:
        _, code = pmd.quit()
    notice = "port net_vhost0: the driver offers 1 rx/tx queue pair instead of 2, " \
             "so only 1 of the 2 lcores poll this port\n"
    want(code == 0 and notice in pmd.told, *pmd.told)


@case
def failed_queue_pair_leaves_frames_and_a_report(directory):
    records = os.path.join(directory, "records")
    with Prompt("--record", records, "--qps", "2", "--mix", "write:1,read:1", "--size", "100", "-a") as pmd:
        pmd.ask("inject loss 2%", "port 1: loss 0.02")
        time.sleep(0.3)
        pmd.ask("inject cut port 1", ", cut$")
        path = pmd.wait_for(r"last frames of this QP: (\S+)\.txt, and the file")[1]
        pmd.wait_for("all 2 sending queue pairs are in ERR")
        pmd.quit()
    want(sorted({name.split(".")[-1] for name in os.listdir(records)}) == ["pcapng", "txt"], os.listdir(records))
    want(len(os.listdir(records)) == 4, os.listdir(records))
    text = open(path + ".txt").read()
    for words in ("RETRY_EXC_ERR", "10.0.0.1 -> 10.0.0.2", "local_ack_timeout_err", "# sent again", "... nothing for ",
                  " <- ACK", "the QP is in ERR"):
        want(words in text, words, text)
    frames = re.findall(r"^ *-\d+\.\d+ ms (->|<-) (\w+) qp=0x\w+ psn=(\d+)", text, re.M)
    want(len(frames) == int(re.search(r"last (\d+) frames of this QP", text)[1]) > 64, len(frames), text)
    seen = tshark(path + ".pcapng", "-T", "fields", "-e", "infiniband.bth.psn", "-e", "frame.comment")
    want([line.split("\t")[0] for line in seen] == [psn for _, _, psn in frames], seen, text)
    want(sum("sent again" in line for line in seen) == text.count("# sent again"), seen)
    code, out, err = run("decode", path + ".pcapng")
    want(code == 0 and len(re.findall(r" psn=\d+", out)) == len(frames), code, out, err)


@case
def many_simultaneous_failures_leave_one_report_each(directory):
    """While operations are changed again and again, too."""
    records = os.path.join(directory, "records")
    os.mkdir(records, 0o700)
    with Prompt("--record", records, "--qps", "64", "--mix", "write:1", "--tx-depth", "4", "-a") as pmd:
        for _ in range(500):
            pmd.process.stdin.write("set mix write:1000000\nset mix read:1\n")
        pmd.ask("inject cut port 1", ", cut$")
        pmd.wait_for("all 64 sending queue pairs are in ERR")
        _, code = pmd.quit()
        want(code == 1, code)
    want(len(os.listdir(records)) == 128, len(os.listdir(records)), *pmd.told[-70:])


@case
def records_follow_no_link_and_wait_for_no_pipe(directory):
    records, victim = os.path.join(directory, "records"), os.path.join(directory, "victim")
    os.mkdir(records)
    open(victim, "w").write("mine")
    with Prompt("--record", records, "--qps", "1", "--mix", "write:1", "-a") as pmd:
        pmd.ask("show qp", "QPN")
        qpn = pmd.wait_for(r"^0x(\w+) .*sends")[1]
        name = os.path.join(records, f"uroce-{pmd.process.pid}-qp{qpn}")
        os.symlink(victim, name + ".txt")
        os.mkfifo(name + ".pcapng")
        pmd.ask("inject cut port 1", ", cut$")
        pmd.wait_for("last frames of this QP: ")
        pmd.quit()
    want(open(victim).read() == "mine", open(victim).read()[:200])
    want(os.path.isfile(name + ".pcapng") and not os.path.islink(name + ".txt"), os.listdir(records))


@case
def congestion_control_is_selectable_and_shown(directory):
    """By option or by file; over a loop, which tells no rate, it is `fixed` unless told otherwise."""
    file = os.path.join(directory, "cc.ini")
    open(file, "w").write("[traffic]\ncc = dcqcn\n")
    for options, shown in (((), "fixed"), (("--cc", "dcqcn"), "dcqcn"), (("--config", file), "dcqcn"),
                           (("--cc", "delay"), "delay"), (("--config", file, "--cc", "fixed"), "fixed")):
        with Prompt("--qps", "1", "--mix", "write:1", *options) as pmd:
            pmd.ask("show qp", "QPN")
            qpn = pmd.wait_for(r"^(0x\w+) .*sends")[1]
            pmd.ask(f"show qp {qpn}", f"QP {qpn}: RTS")
            pmd.wait_for(f"^  congestion control {shown}, no limit$")
            pmd.quit()
    code, _, err = run("testpmd", "--cc", "reno")
    want(code == 2 and "--cc reno" in err and "default, fixed, dcqcn or delay" in err, code, err)


@case
def two_programs_use_the_smaller_sack_window(directory):
    for number, (target, asker, wanted) in enumerate((("512", "2048", "512"), ("2048", "256", "256"),
                                                      ("off", "256", None), ("256", "off", None))):
        memif = f"net_memif0,role=%s,socket={directory}/{number}.sock,socket-abstract=no"
        tcp = ("--port", str(18620 + number))
        with Prompt("-d", memif % "server", "--ip", "10.0.0.1/24", "--server", *tcp, "--sack-window", target) as one, \
                Prompt("-d", memif % "client", "--ip", "10.0.0.2/24", "--peer", "127.0.0.1", *tcp, "--qps", "1",
                       "--mix", "write:1", "--sack-window", asker) as other:
            for end in (one, other):
                end.ask("show qp", "QPN")
                qpn = end.wait_for(r"^(0x\w+) ")[1]
                end.ask(f"show qp {qpn}", f"QP {qpn}: RTS")
                end.wait_for("^  congestion control")
                end.wait_for(f"^  SACK window {wanted} packets$" if wanted else "^  no SACKs$")
            other.quit()


@case
def requests_use_the_requested_paths_if_both_ends_have_sacks(directory):
    """Of a target that decides nothing; and between two ports of one program."""
    with Prompt("--qps", "1", "--mix", "write:1", "--paths", "8", "--auto-start") as pmd:
        pmd.ask("show qp", "QPN")
        qpn = pmd.wait_for(r"^(0x\w+) .*sends")[1]
        pmd.ask(f"show qp {qpn}", f"QP {qpn}: RTS")
        pmd.wait_for("^  SACK window 256 packets, over 8 paths$")
        pmd.quit()
    for number, (target, wanted) in enumerate((("256", ", over 16 paths"), ("off", None))):
        memif = f"net_memif0,role=%s,socket={directory}/{number}.sock,socket-abstract=no"
        tcp = ("--port", str(18630 + number))
        with Prompt("-d", memif % "server", "--ip", "10.0.0.1/24", "--server", *tcp, "--sack-window", target) as one, \
                Prompt("-d", memif % "client", "--ip", "10.0.0.2/24", "--peer", "127.0.0.1", *tcp, "--qps", "1",
                       "--mix", "write:1,read:1", "--paths", "16", "--auto-start") as other:
            for end in (one, other):
                end.ask("show qp", "QPN")
                qpn = end.wait_for(r"^(0x\w+) ")[1]
                end.ask(f"show qp {qpn}", f"QP {qpn}: RTS")
                end.wait_for("^  congestion control")
                end.wait_for(f"^  SACK window 256 packets{wanted}$" if wanted else "^  no SACKs$")
            other.quit()


@case
def perf_sets_the_requested_traffic_class(directory):
    """As seen in the records of a queue pair that dies of losses."""
    code, out, err = run("perf", "--op", "write", "--mode", "bw", "-T", "106", "-s", "64", "-u", "6", "--retry-cnt",
                         "1", "--loss", "0.7", "--record", directory)
    want(code == 1 and "RETRY_EXC_ERR" in out + err, code, out, err)
    frames = open([os.path.join(directory, name) for name in os.listdir(directory) if name.endswith("pcapng")][0],
                  "rb").read()
    want(frames.count(b"\x08\x00\x45\x6a") > 5 and b"\x08\x00\x45\x00" not in frames, frames[:400])
    code, out, err = run("perf", "--tos", "256")
    want(code == 2 and "0 to 255" in err, code, err)


@case
def capture_to_a_file_runs_until_stopped(directory):
    path = os.path.join(directory, "all.pcapng")
    with Prompt("--qps", "1", "--mix", "write:1,send:1,read:1,fadd:1", "--tx-depth", "1", "--size", "300") as pmd:
        pmd.ask("capture stop", "nothing is being captured")
        pmd.ask(f"capture {directory}/none/at/all", "cannot be written: No such file or directory")
        pmd.ask(f"capture {path}", "frames of 2 ports are written to")
        pmd.ask(f"capture {path}", "a capture to")
        pmd.ask("start", "started")
        pmd.work(200)
        pmd.ask("stop", "stopped")
        found = pmd.ask("capture stop", r"contains (\d+) frames, (\d+) bytes; (\d+) frames were lost")
        want(int(found[1]) > 100, *pmd.told)
        want(abs(os.stat(path).st_size - int(found[2])) < 1000, os.stat(path), found[0])
        pmd.ask(f"capture {path}.cut bytes 90", "frames of 2 ports are written to")
        pmd.ask("start", "started")
        pmd.work(400)
        _, code = pmd.quit()  # which ends a capture, too
        want(code == 0, *pmd.told)
    code, out, err = run("decode", "--rebuild", path)
    want(code == 0, code, out[-2000:], err)
    seen = tshark(path, "-T", "fields", "-e", "frame.number", "-e", "_ws.malformed")
    want(len(seen) == int(found[1]) and not any("alformed" in line for line in seen), len(seen), found[0])
    sizes = tshark(path + ".cut", "-T", "fields", "-e", "frame.cap_len", "-e", "frame.len")
    want({line.split("\t")[0] for line in sizes if int(line.split("\t")[1]) > 90} == {"90"}, sizes[:20])


if __name__ == "__main__":
    sys.exit(main("testpmd", CASES))
