#!/usr/bin/env python3
# program.py - uroce-trace as users run it: exit codes, what it says, captures of Linux and of our own two ends
# SPDX-License-Identifier: BSD-3-Clause
"""usage: program.py UROCE_TRACE TRACE_OWN DATA    (TRACE_OWN is the storm that writes captures of our own)"""
import os
import re
import struct
import subprocess
import sys
import tempfile

TRACE, OWN, DATA = sys.argv[1:4]
tests = []


def test(function):
    tests.append(function)
    return function


def run(*arguments):
    done = subprocess.run([TRACE, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return done.returncode, done.stdout, done.stderr


def data(name):
    return os.path.join(DATA, name)


def expect(condition, *what):
    if not condition:
        raise AssertionError(" ".join(map(str, what)))


def records(content):
    """Offsets and ends of the records of a little-endian classic pcap."""
    at = 24
    while at + 16 <= len(content):
        end = at + 16 + struct.unpack_from("<I", content, at + 8)[0]
        yield at, end
        at = end


def sequence_nak(record):
    """An untagged IPv4 frame with a BTH of opcode 0x11 and an AETH with syndrome 0x60."""
    frame = record[16:]
    return len(frame) >= 62 and frame[36:38] == b"\x12\xb7" and frame[42] == 0x11 and frame[54] == 0x60


@test
def clean_capture_exits_with_0(folder):
    code, out, _ = run(data("perftest-ipv4.pcap"))
    expect(code == 0 and out.endswith("5 halves of connections, 0 wrong, 0 notes\n"), code, out)


@test
def version_is_printed(folder):
    for option in ("-V", "--version"):
        code, out, _ = run(option)
        expect(code == 0 and re.fullmatch(r"uroce-trace [\d.]+ \(DPDK \S+, libibverbs \S+\)\n", out), code, out)


@test
def inefficiency_of_linux_is_shown_but_not_wrong(folder):
    code, out, _ = run("--at", "10.9.0.2", data("linux-loss3-client.pcap"))
    expect(code == 0 and "610 request packets seen again" in out and "ms of silence before restarts" in out, code, out)
    expect("seen from the requester" in out, out)


def with_nak_twice(folder, name):
    """A copy of a capture whose first sequence NAK stands there twice."""
    content = open(data(name), "rb").read()
    at, end = next((at, end) for at, end in records(content) if sequence_nak(content[at:end]))
    path = os.path.join(folder, "twice.pcap")
    open(path, "wb").write(content[:end] + content[at:end] + content[end:])
    return path


@test
def nak_sent_twice_exits_with_1(folder):
    code, out, _ = run(with_nak_twice(folder, "linux-loss3-server.pcap"))
    expect(code == 1 and "second_nak" in out and "1 wrong" in out, code, out)


@test
def nak_received_twice_may_be_duplicated_by_the_network(folder):
    code, out, _ = run(with_nak_twice(folder, "linux-loss3-client.pcap"))
    expect(code == 0 and "nak_again" in out, code, out)


@test
def rtu_sent_twice_exits_with_1(folder):
    content = open(data("rping-cm.pcap"), "rb").read()
    at, end = list(records(content))[2]
    path = os.path.join(folder, "twice.pcap")
    open(path, "wb").write(content[:end] + content[at:end] + content[end:])
    code, out, _ = run(path)
    expect(code == 1 and "frame 4, connection 1: cm_needless: RTU, and no REP came again\n" in out, code, out)
    expect("6 messages of connection management in 1 connections\n" in out and "1 wrong" in out, out)
    code, out, _ = run(data("rping-cm.pcap"))
    expect(code == 0 and out.endswith("2 halves of connections, 0 wrong, 0 notes\n"), code, out)


@test
def frame_with_a_wrong_icrc_is_ignored(folder):
    content = bytearray(open(data("perftest-ipv4.pcap"), "rb").read())
    firsts = [end for at, end in records(content)
              if content[at + 16 + 36:at + 16 + 38] == b"\x12\xb7" and content[at + 16 + 42] == 0]
    content[firsts[1] - 1] ^= 1
    path = os.path.join(folder, "spoilt.pcap")
    open(path, "wb").write(content)
    code, out, _ = run("--at", "10.9.0.3", path)
    expect("1 frames with a wrong ICRC" in out, out)
    expect(code == 1 and "answer_to_nothing" in out, "the peer acknowledged it all the same:", code, out)


@test
def own_traffic_under_loss_is_clean(folder):
    environment = dict(os.environ, UROCE_TRACE_FOLDER=folder, UROCE_STORM_SEED="5")
    done = subprocess.run([OWN, "--filter", "*/own_traffic_under_loss*"], env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    expect(done.returncode == 0, done.stdout)
    for end, view in ("A", "requester"), ("B", "responder"):
        path = os.path.join(folder, f"own-5-{end}.pcap")
        code, out, _ = run("--grace-us", "0", path)
        expect(code == 0 and "request packets seen again" in out, code, out)
        expect(f"seen from the {view}" in out, out)


@test
def wrong_usage_exits_with_2(folder):
    for arguments in ([], ["a", "b"], ["--at", "nowhere", "a"], ["--grace-us", "-1", "a"], ["--mtu", "1000", "a"],
                      ["--what", "a"]):
        code, _, error = run(*arguments)
        expect(code == 2 and error.startswith("uroce-trace: "), arguments, code, error)
    code, out, _ = run("--help")
    expect(code == 0 and out.startswith("usage: "), code, out)


@test
def unreadable_file_exits_with_3(folder):
    for path in os.path.join(folder, "none.pcap"), data("README.md"):
        code, _, error = run(path)
        expect(code == 3 and path in error, path, code, error)


def main():
    failed = 0
    print(f"1..{len(tests)}")
    for number, function in enumerate(tests, 1):
        name = function.__name__.replace("_", " ")
        with tempfile.TemporaryDirectory() as folder:
            try:
                function(folder)
                print(f"ok {number} - {name}")
            except AssertionError as error:
                failed += 1
                print(f"not ok {number} - {name}")
                print("".join(f"# {line}\n" for line in str(error).splitlines()), end="")
    return failed > 0


sys.exit(main())
