#!/usr/bin/env python3
# hostile.py - settings, commands, captures and TCP peers that mean harm; and what others may open
# SPDX-License-Identifier: BSD-3-Clause
"""hostile.py BUILD: prints TAP. A program refuses with its exit code and a line that says why, or goes on; it
never ends by a signal, and a program that serves serves the next one.

No root, hugepages or NIC needed.
"""
import json
import os
import socket
import stat
import struct
import sys
import time

from cases import DATA, EAL, Running, main, run, want

CASES = []
NOISE = bytes((i * i * 31 + i // 7) & 0xFF for i in range(70000))
WORD = "A" * 5000


def case(function):
    CASES.append(function)
    return function


def ended(code):
    """Not by a signal, and not by giving up."""
    return code in (0, 1, 2, 3)


def is_tame(text):
    """Nothing that a terminal would obey."""
    return all(c.isprintable() or c in "\n\ufffd" for c in text)


# Contents of a settings file, and whether it has to be refused.
SETTINGS = [
    (b"", False), (NOISE, True), (b"\0" * 4096, False), (b"[traffic]", False), (b"[traffic\nsize=1\n", True),
    (b"size=512\n", True), (b"[traffic]\nsize\n", False), (b"[traffic]\nsize=\n", True),
    (b"[traffic]\nsize=0x\n", True),
    (b"[traffic]\nsize=-1\n", True), (b"[traffic]\nsize=18446744073709551616\n", True),
    (b"[traffic]\nsize=4294967808\n", True), (b"[traffic]\nsize=512 ; rm -rf\n", False),
    (b"[traffic]\nsize=5e2\n", True), (b"[traffic]\nqps=1025\n", True), (b"[traffic]\nmix=%n%n%s%s:1\n", True),
    (b"[traffic]\nmix=write:4294967297\n", False), (b"[traffic]\nmix=write:1000001\n", True),
    (b"[traffic]\nmix=write:0\n", True), (b"[traffic]\nmix=,,,,\n", True), (b"[%s%n]\n%n=%n\n", True),
    (f"[traffic]\nmix={WORD}\n".encode(), True), (f"[{WORD}]\nsize=1\n".encode(), True),
    (f"[traffic]\n{WORD}=1\n".encode(), True), (b"[port.0]\nip=10.0.0.1/33\ndevice=x\n", True),
    (b"[port.0]\nip=10.0.0.256/24\n", True), (b"[port.2]\ndevice=x\n", True), (b"[port.4294967295]\ndevice=x\n", True),
    (b"[port.1]\ndevice=x\nip=10.0.0.1/24\n", True), (b"[port.-1]\ndevice=x\n", True),
    (f"[port.0]\ndevice={WORD[:4000]}\nip=10.0.0.1/24\n".encode(), True), (b"[port.0]\ndevice=x\n", True),
    (b"[port.0]\ndevice=x\n" + b"".join(b"ip=10.0.0.%d/24\n" % i for i in range(1, 31)), True),
    (b"".join(b"[s%d]\n" % i for i in range(5000)), False), (b"[traffic]\n" + b"size=512\n" * 5000, False),
    (b"[traffic]\nsize=512\n\xff\xfe\xfd=\xff\n", True), (b"[traffic]\n\x1b[2J=1\n", True),
]


# TC-G-15
@case
def random_settings_file_is_accepted_or_refused(directory):
    path = os.path.join(directory, "hostile.ini")
    for content, refused in SETTINGS:
        open(path, "wb").write(content)
        code, out, err = run("testpmd", "--config", path, "--dry-run")
        want(ended(code), content[:60], "status", code, err)
        want(code == 2 if refused else code in (0, 2), content[:60], "status", code, err)
        want(code == 0 or ("uroce-testpmd: " in err and len(err) < 20000 and is_tame(err)), content[:60], err[:500])


# TC-G-15
@case
def absent_settings_file_is_reported(directory):
    fifo = os.path.join(directory, "link")
    os.symlink(fifo, fifo)
    for path in (directory, fifo, "/no/such/\nfile", "/dev/null"):
        code, out, err = run("testpmd", "--config", path, "--dry-run")
        want(code in (2, 3) or (code == 0 and path == "/dev/null"), path, code, out, err)


# TC-G-15
@case
def random_commands_have_only_their_named_effect(directory):
    path = os.path.join(directory, "commands")
    harmless = [b"", b"show config\r", b"# start"]
    wrong = [WORD.encode(), b"\0\0\0", b"start; rm -rf /", b"show port info", b"show port info all all", b"%n%n%n%s",
             b"start" * 1000,
             b"\x1b[A\x1b[B\x7f\x08" * 500, b"\xff" * 300, b"quit quit", b"\t\t\t?", b"a" + NOISE.replace(b"\n", b"")]
    for line in (None, *wrong):
        lines = harmless + ([line] if line is not None else [])
        open(path, "wb").write(b"\n".join(lines) + b"\nquit\n")
        code, out, err = run("testpmd", "--cmdline-file", path)
        want(code == (0 if line is None else 2) and "final statistics" in out, line, code, out[-2000:], err)
        want("started" not in out and "stopped" not in out, "none of them starts or stops", out[-2000:])
        want(line is None or (f"{path}:{len(lines)}: " in err and len(err) < 300 and err[:-1].isprintable()), line, err)
    code, out, err = run("testpmd", "--cmdline-file", directory)
    want(ended(code), code, out[-2000:], err)


# TC-G-15
@case
def random_capture_is_decoded_or_refused(directory):
    path = os.path.join(directory, "hostile.pcap")
    good = open(os.path.join(DATA, "perftest-ipv4.pcap"), "rb").read()
    head, record = good[:24], good[24:40]
    contents = [b"", NOISE, good[:23], good[:24], good[:30], good[:41], head + b"\xff" * 16 + b"x" * 100,
                head + struct.pack("<IIII", 0, 0, 0xFFFFFFFF, 0xFFFFFFFF), head + struct.pack("<IIII", 0, 0, 0, 0) * 9,
                head + struct.pack("<IIII", 0, 0, 14, 0) + b"\0" * 14, b"\n\r\r\n" + b"\xff" * 64,
                b"\n\r\r\n" + struct.pack("<II", 0, 0x1A2B3C4D),
                b"\n\r\r\n" + struct.pack("<II", 28, 0x1A2B3C4D) + good]
    for content in contents:
        open(path, "wb").write(content)
        code, out, err = run("decode", path)
        want(ended(code) and (code == 0 or "uroce-decode" in err), content[:40], code, out[-500:], err)
    for at in range(24, 24 + 16 + struct.unpack("<I", record[8:12])[0]):
        open(path, "wb").write(good[:at] + bytes([good[at] ^ 0xFF]) + good[at + 1:1000])
        code, out, err = run("decode", path)
        want(ended(code), "byte", at, code, out[-500:], err)


# What a TCP peer may say instead of the truth.
JUNK = [b"", b"\n", b"\0" * 100, NOISE[:5000], WORD.encode() + b"\n", b"%n%n%n%s\n", b"GET / HTTP/1.0\r\n\r\n"]


def ask(**changes):
    """What an initiator sends, with some of it changed or, if None, left out."""
    message = {"program": "uroce-testpmd", "protocol": 2, "type": "ask", "qps": 1, "size": 64, "mtu": 256,
               "addr": "10.0.0.9", "rkey": 1, "va": 1, "qp_nums": [5], "psns": [5], **changes}
    return json.dumps({name: value for name, value in message.items() if value is not None}).encode() + b"\n"


TESTPMD_JUNK = JUNK + [
    b"uroce-testpmd 1 1 64 256 10.0.0.9 1 1\n5 5\n", b"{}\n", b"{\n", b"[]\n", b"{" * 100000, b"{" + b" " * 9000000,
    ask(program=None), ask(program="uroce-perf"), ask(protocol=1), ask(protocol="2"), ask(type="offer"), ask(type=7),
    *(ask(**{name: value}) for name, values in (
        ("qps", (None, 0, 1025, 4294967295, -1, 1.5, "1", [])), ("size", (None, 0, 4294967295, 4294967296)),
        ("mtu", (None, 0, 77, 8192)), ("addr", (None, "300.0.0.9", "9" * 200, 7)), ("rkey", (None, -1, 4294967296)),
        ("va", (None, -1, 2 ** 63)), ("qp_nums", (None, [], [1, 1], [16777216], ["x"], 5)), ("psns", (None, [], [-1])),
        ("sack_window", (77, 4294967295, "x")), ("paths", (256,)), ("pkey", (65536,))) for value in values),
    ask(type="refused", reason="%n%n%n"), ask(type="refused", reason="\x1b[2J\x1b]0;ours\x07"), b"\x1b[31mred\n"]


def wait_for_port(server, port):
    for _ in range(150):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            want(server.process.poll() is None, server.text())
            time.sleep(0.1)
    want(False, "nobody listens", server.text())


def tell(port, content):
    """Says it, hears what comes back for a moment, and goes."""
    with socket.create_connection(("127.0.0.1", port), 10) as peer:
        peer.settimeout(5)
        try:
            peer.sendall(content)
            peer.shutdown(socket.SHUT_WR)
            while peer.recv(4096):
                pass
        except OSError:
            pass


def start_target(directory, tcp_port):
    target = Running(directory, "target", "testpmd", *EAL, "--vdev=net_null0", "--", "--device", "net_null0", "--ip",
                     "10.0.0.3/24", "--server", "--port", str(tcp_port), "--idle", "sleep")
    wait_for_port(target, tcp_port)
    return target


# TC-G-15
@case
def target_survives_any_peer(directory):
    target = start_target(directory, 18610)
    try:
        for content in TESTPMD_JUNK:
            tell(18610, content)
            want(target.process.poll() is None, content[:60], target.text()[-2000:])
        tell(18610, ask())
        target.wait_for("serving 1 queue")
        want(target.interrupt() == 0, target.text()[-2000:])
        want(is_tame(target.text()), target.text()[-2000:])
    finally:
        target.kill()


# TC-G-15
@case
def stalled_peer_does_not_block_the_target(directory):
    """It sends a byte from time to time: who interrupts the target does not wait for it, nor does the next peer."""
    target = start_target(directory, 18613)
    try:
        with socket.create_connection(("127.0.0.1", 18613), 5) as slow:
            began = time.monotonic()
            while "the peer did not answer within 10 s" not in target.text():
                want(time.monotonic() - began < 60, "still waits", target.text()[-2000:])
                try:
                    slow.send(b"{")
                except OSError:
                    pass  # it has been left
                time.sleep(0.5)
        with socket.create_connection(("127.0.0.1", 18613), 5) as slow:
            slow.send(b"{")
            time.sleep(0.5)
            want(target.interrupt(8) == 0, target.text()[-2000:])
    finally:
        target.kill()


FROM_PERF = b'{"program":"uroce-perf","protocol":4,"type":'


PERF_JUNK = [NOISE[:5000], b"\0\0\0\0", b"\xff\xff\xff\xff{}", b"{\n", b"[" * 60000 + b"\n", b"[]\n", b"null\n",
             b"{}\n", b"{\"type\":7}\n", b"{\"type\":\"case\"}\n", b"\xff\xfe\n", b"{\"protocol\":1e999}\n",
             FROM_PERF.replace(b"4", b"3") + b"\"case\"}\n"]


# TC-G-15
@case
def server_refuses_invalid_messages_and_waits_for_a_client(directory):
    server = Running(directory, "perf", "perf", *EAL, "--vdev=net_null0", "--", "-d", "net_null0", "--ip",
                     "10.0.0.3/24", "--server", "-p", "18611")
    try:
        for number, content in enumerate(PERF_JUNK, 1):
            server.wait_for(f"(?s)(TCP port 18611.*){{{number}}}")
            tell(18611, content)
            server.wait_for(f"(?s)(uroce-perf: .*){{{number}}}")
        server.wait_for(f"(?s)(TCP port 18611.*){{{len(PERF_JUNK) + 1}}}")
        want("run uroce-perf at both ends" in server.text(), server.text()[-2000:])
        want(len(server.text()) < 20000 and server.interrupt() == 130, server.text()[-2000:])
    finally:
        server.kill()


def everything_below(folder):
    for path, folders, files in os.walk(folder):
        for name in folders + files:
            yield os.path.join(path, name)


def is_open_to_others(path, top):
    """May somebody else get to it and write to it?"""
    if not os.lstat(path).st_mode & stat.S_IWOTH or os.path.islink(path):
        return False
    while path != top:
        path = os.path.dirname(path)
        if not os.stat(path).st_mode & stat.S_IXOTH:
            return False
    return True


def listens(pid):
    """Does the process wait for TCP connections?"""
    inodes = set()
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            inodes.add(os.readlink(f"/proc/{pid}/fd/{name}"))
        except OSError:
            pass
    for table in ("tcp", "tcp6"):
        for line in open(f"/proc/{pid}/net/{table}").readlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in inodes:
                return True
    return False


# TC-G-15
@case
def program_files_are_not_writable_by_others(directory):
    runtime = "/var/run" if os.getuid() == 0 else os.environ.get("XDG_RUNTIME_DIR", "/tmp")
    before, old_mask = set(everything_below(os.path.join(runtime, "dpdk"))), os.umask(0)
    os.chmod(directory, 0o755)
    old_folder = os.getcwd()
    os.chdir(directory)
    try:
        pmd = Running(directory, "pmd", "testpmd", "--file-prefix", f"hostile{os.getpid()}", "--no-huge", "--no-pci",
                      "-m", "192", "--", "--stats-period", "1")
    finally:
        os.umask(old_mask)
        os.chdir(old_folder)
    try:
        pmd.wait_for("messages/s")
        made = set(everything_below(os.path.join(runtime, "dpdk"))) - before
        want(any(stat.S_ISSOCK(os.stat(path).st_mode) for path in made), "the telemetry socket was sought", made)
        open_ones = [path for path in made if is_open_to_others(path, runtime)]
        want(open_ones == [], "others may write to", open_ones)
        want(os.listdir(directory) == ["pmd"], os.listdir(directory))
        want(not listens(pmd.process.pid), "nobody asked for a TCP port")
        want(pmd.interrupt() == 0, pmd.text())
    finally:
        pmd.kill()


if __name__ == "__main__":
    sys.exit(main("hostile", CASES))
