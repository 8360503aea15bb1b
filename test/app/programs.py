#!/usr/bin/env python3
# programs.py - the programs as users run them: ports, peers, signals, wrong options
# SPDX-License-Identifier: BSD-3-Clause
"""programs.py BUILD: prints TAP. Each case is a function; what it raises is what is wrong.

No root, hugepages or NIC needed.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(sys.argv[1])
DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data")
EAL = ["--no-huge", "--no-shconf", "--no-pci", "-m", "192"]
CASES = []


def case(function):
    CASES.append(function)
    return function


def program(name):
    return os.path.join(BUILD, "app", "uroce-" + name)


def run(name, *arguments, limit=60):
    done = subprocess.run([program(name), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, errors="replace", timeout=limit)
    return done.returncode, done.stdout, done.stderr


def want(right, *facts):
    if not right:
        raise AssertionError("\n".join(str(fact) for fact in facts))


class Running:
    """A program in the background; its output goes to a file."""

    def __init__(self, directory, tag, name, *arguments):
        self.path = os.path.join(directory, tag)
        self.process = subprocess.Popen([program(name), *arguments], stdin=subprocess.DEVNULL,
                                        stdout=open(self.path, "w"), stderr=subprocess.STDOUT)

    def text(self):
        return open(self.path, errors="replace").read()

    def wait_for(self, pattern, seconds=15):
        end = time.monotonic() + seconds
        while not re.search(pattern, self.text()):
            want(time.monotonic() < end and self.process.poll() is None, "never said " + pattern, self.text())
            time.sleep(0.05)

    def interrupt(self, seconds=15):
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(seconds)

    def finish(self, seconds=60):
        return self.process.wait(seconds)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def counter(text, name):
    found = re.findall(rf"^ +{name} +(\d+) ", text, re.M)
    return int(found[-1]) if found else 0


@case
def every_program_tells_its_options_and_version_without_a_port(_):
    for name in ("perf", "pingpong", "testpmd", "decode"):
        code, out, err = run(name, "--help")
        want(code == 0 and "uroce-" + name in out, name, "--help", code, out, err)
        code, out, err = run(name, "--version")
        want(code == 0 and re.search(r"\d+\.\d+\.\d+", out), name, "--version", code, out, err)


@case
def wrong_options_are_refused_in_one_line_with_status_2(_):
    for name, *arguments in (
            ("testpmd", "--size", "0"), ("testpmd", "--mix", "fly:1"), ("testpmd", "--mtu", "1000"),
            ("testpmd", "--target"),
            ("testpmd", "--idle", "never"), ("testpmd", "stray"), ("testpmd", "--ip", "10.0.0.1/24"),
            ("pingpong",), ("pingpong", "--ip", "10.0.0.1/24"), ("pingpong", "--ip", "10.0.0.1", "-m", "300"),
            ("pingpong", "--ip", "10.0.0.1", "-s", "-5"), ("pingpong", "--ip", "10.0.0.1", "--vlan", "4095"),
            ("pingpong", "--ip", "10.0.0.1", "--vlan", "1:9"), ("decode",)):
        code, out, err = run(name, *arguments)
        want(code == 2, name, arguments, "status", code, out, err)
        want(len(err.strip().splitlines()) >= 1 and "uroce-" + name in err, name, arguments, err)


@case
def a_missing_port_is_told_with_status_3(_):
    for name, *arguments in (
            ("testpmd", "--device", "net_af_packet0,iface=no-such", "--ip", "10.0.0.1/24", "--target"),
            ("testpmd", "--device", "net_af_packet0,iface=no-such", "--ip", "10.0.0.1/24", "--peer", "127.0.0.1"),
            ("testpmd", "--config", "/no/such/file.ini"),
            ("pingpong", "--device", "net_af_packet0,iface=no-such", "--ip", "10.0.0.1/24", "127.0.0.1"),
            ("decode", "/no/such/file.pcap")):
        code, out, err = run(name, *arguments)
        want(code == 3, name, arguments, "status", code, out, err)


@case
def testpmd_moves_a_mix_between_loop_ports_and_ends_on_sigint(directory):
    pmd = Running(directory, "pmd", "testpmd", "--mix", "send:1,send_imm:1,write:1,write_imm:1,read:1,fadd:1,cswap:1",
                  "--stats-period", "1")
    try:
        pmd.wait_for(r"messages/s")
        want(pmd.interrupt() == 0, "status", pmd.text())
        text = pmd.text()
        want("final statistics" in text, text)
        for name in ("rx_send_requests", "rx_write_requests", "rx_read_requests", "rx_atomic_requests"):
            want(counter(text, name) > 0, name, text)
    finally:
        pmd.kill()


@case
def testpmd_runs_two_lcores(directory):
    pmd = Running(directory, "pmd", "testpmd", "--nb-cores", "2", "--stats-period", "1")
    try:
        pmd.wait_for(r"messages/s")
        want(pmd.interrupt() == 0, "status", pmd.text())
        want(counter(pmd.text(), "rx_write_requests") > 0, pmd.text())
    finally:
        pmd.kill()


@case
def testpmd_takes_commands_from_a_file_and_settings_from_an_ini_file(directory):
    commands, ini = os.path.join(directory, "commands"), os.path.join(directory, "a.ini")
    open(commands, "w").write("show port info all\nshow config\nstart\nshow qp\nclear port stats all\nstop\nquit\n")
    open(ini, "w").write("[traffic]\nsize=512\nqps=3\nmix=write:1\n[lcores]\nidle=sleep\n")
    code, out, err = run("testpmd", "--config", ini, "--cmdline-file", commands, "--qps", "2")
    want(code == 0, code, out, err)
    want(re.search(r"size +512 +\(file\)", out) and re.search(r"qps +2 +\(command line\)", out), out)
    want(out.count("serves") >= 2 and "cleared" in out and "stopped" in out and "final statistics" in out, out)
    open(ini, "w").write("[traffic]\nsise=512\n")
    code, out, err = run("testpmd", "--config", ini)
    want(code == 2 and "sise" in err, code, out, err)


@case
def every_shipped_settings_file_is_understood(_):
    config = os.path.join(DATA, "..", "..", "config")
    names = [name for name in os.listdir(config) if name.endswith(".ini")]
    want(len(names) >= 4, names)
    for name in names:
        code, out, err = run("testpmd", "--config", os.path.join(config, name), "--dry-run")
        want(code == 0 and "(file)" in out, name, code, out, err)


@case
def net_pcap_reads_a_capture_and_counts_every_frame_by_kind(directory):
    out = os.path.join(directory, "out.pcap")
    pmd = Running(directory, "pmd", "testpmd", *EAL,
                  f"--vdev=net_pcap0,rx_pcap={DATA}/perftest-ipv4.pcap,tx_pcap={out}", "--", "--device", "net_pcap0",
                  "--ip", "10.9.0.3/24", "--target", "--stats-period", "1")
    try:
        time.sleep(2)
        want(pmd.interrupt() == 0, "status", pmd.text())
        text = pmd.text()
        kinds = ("drop_unknown_qpn", "drop_not_roce", "drop_neighbour", "rx_neighbour")
        want(counter(text, "drop_unknown_qpn") == 260, text)
        want(sum(counter(text, kind) for kind in kinds) == 451 and "received 451 frames" in text, text)
    finally:
        pmd.kill()
    code, text, err = run("decode", out)
    want(code == 0 and text.strip().endswith("1 frames, 0 RoCE, 0 bad"), "our ARP reply", code, text, err)


@case
def net_null_floods_zeros_which_are_counted_until_the_end(directory):
    pmd = Running(directory, "pmd", "testpmd", *EAL, "--vdev=net_null0", "--", "--device", "net_null0", "--ip",
                  "10.9.0.3/24", "--target")
    try:
        time.sleep(2)
        want(pmd.interrupt() == 0, "status", pmd.text())
        want(counter(pmd.text(), "drop_not_roce") > 10000, pmd.text())
    finally:
        pmd.kill()


def memif(directory, role, mac):
    return [*EAL, "--file-prefix", role, f"--vdev=net_memif0,role={role},socket={directory}/memif.sock,"
            f"socket-abstract=no,mac={mac}", "--"]


@case
def testpmd_sends_traffic_to_a_target_over_memif(directory):
    port = ["--device", "net_memif0", "--tcp-port", "18600"]
    target = Running(directory, "target", "testpmd", *memif(directory, "server", "02:00:00:00:00:01"), *port, "--ip",
                     "10.1.0.1/24", "--target")
    peer = None
    try:
        time.sleep(1)
        peer = Running(directory, "peer", "testpmd", *memif(directory, "client", "02:00:00:00:00:02"), *port, "--ip",
                       "10.1.0.2/24", "--peer", "127.0.0.1", "--stats-period", "1")
        peer.wait_for(r"messages/s")
        want(peer.interrupt() == 0, "peer's status", peer.text())
        target.wait_for("the peer has left")
        want(target.interrupt() == 0, "target's status", target.text())
        want(counter(target.text(), "rx_write_requests") > 0, target.text())
        want("failed" not in peer.text(), peer.text())
    finally:
        target.kill()
        if peer:
            peer.kill()


@case
def pingpong_with_itself_checks_every_byte_over_memif(directory):
    options = ["--device", "net_memif0", "-p", "18601", "-n", "300", "-s", "5000", "-m", "512"]
    server = Running(directory, "server", "pingpong", *memif(directory, "server", "02:00:00:00:00:01"), *options,
                     "--ip", "fe80::1/64")
    client = None
    try:
        server.wait_for("waiting for a client")
        client = Running(directory, "client", "pingpong", *memif(directory, "client", "02:00:00:00:00:02"), *options,
                         "--ip", "fe80::2/64", "127.0.0.1")
        want(client.finish() == 0, "client's status", client.text(), server.text())
        want(server.finish() == 0, "server's status", server.text())
        want("300 messages checked, 0 bad bytes" in client.text(), client.text())
    finally:
        server.kill()
        if client:
            client.kill()


def main(suite="programs", cases=CASES):
    print(f"1..{len(cases)}", flush=True)
    failed = 0
    for number, function in enumerate(cases, 1):
        directory = tempfile.mkdtemp()
        try:
            function(directory)
            print(f"ok {number} - {suite}::{function.__name__}", flush=True)
        except (AssertionError, subprocess.TimeoutExpired, OSError) as wrong:
            failed += 1
            print(f"not ok {number} - {suite}::{function.__name__}")
            print("".join(f"# {line}\n" for line in str(wrong).splitlines()), end="", flush=True)
        finally:
            shutil.rmtree(directory)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
