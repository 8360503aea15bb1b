#!/usr/bin/env python3
# faults.py - two processes on real ports, and what happens to them: killed, stopped, started again, unplugged, flooded
# SPDX-License-Identifier: BSD-3-Clause
"""faults.py BUILD [long]: prints TAP. Each case is a function; what it raises is what is wrong.

The ports are the two ends of a veth pair (af_packet), or taps on a bridge, in a network namespace of its own: that
needs root. The programs speak TCP over the namespace's loopback, so only RDMA meets the fault. What is asserted holds
on any machine: exit codes, counters, bytes. Limits of time only end what hangs.
"""
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import zlib

BUILD = os.path.abspath(sys.argv[1])
LONG = sys.argv[2:] == ["long"]
LIMIT_S = 600
ROCE_PORT = 4791
ETHERNET, IP, UDP, BTH = 0, 14, 34, 42  # where the headers of an IPv4 frame begin
CASES = []


def want(right, *facts):
    if not right:
        raise AssertionError("\n".join(str(fact) for fact in facts))


def ip(*words):
    subprocess.run(["ip", *words], check=True)


# ---- the wire ----

class Veth:
    """Its ends are "ua" and "ub"; programs are told which."""

    def __init__(self):
        ip("link", "add", "ua", "index", "10922", "type", "veth", "peer", "name", "ub")
        for end in ("ua", "ub"):
            ip("link", "set", end, "up")

    def device(self, end):
        return f"net_af_packet0,iface={end}"

    def close(self):
        ip("link", "del", "ua")


class Taps:
    """A tap each, on one bridge; they exist while their programs run. net_tap tells its program about its link."""

    def __init__(self):
        ip("link", "add", "bridge7", "address", "02:00:00:00:00:07", "type", "bridge")
        ip("link", "set", "bridge7", "up")

    def device(self, end):
        return f"net_tap0,iface={end}"

    def plug(self, end):
        """When the driver has set it up, which ends with UP."""
        deadline, link = time.monotonic() + 20, {"flags": []}
        while "UP" not in link["flags"]:
            want(time.monotonic() < deadline, f"{end} never came")
            shown = subprocess.run(["ip", "-j", "link", "show", end], stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, check=False)
            link = json.loads(shown.stdout)[0] if shown.returncode == 0 else link
            time.sleep(0.02)
        ip("link", "set", end, "master", "bridge7")
        # A bridge keeps what is for the MAC of a port of its own; but that is the program's.
        subprocess.run(["bridge", "fdb", "del", link["address"], "dev", end, "master"], check=True)

    def close(self):
        ip("link", "del", "bridge7")


def frames_through(end):
    for line in open("/proc/net/dev"):
        if line.strip().startswith(end + ":"):
            numbers = line.split(":")[1].split()
            return int(numbers[1]) + int(numbers[9])
    return None


def wait_for_frames(pair, count):
    """Until so many more have gone through: the traffic is in full swing."""
    goal, deadline = frames_through("ua") + count, time.monotonic() + 60
    while (frames_through("ua") or 0) < goal:
        want(time.monotonic() < deadline and pair.client.process.poll() is None, "no traffic", pair.texts())
        time.sleep(0.01)


def icrc(frame, end):
    """Of an IPv4 frame whose ICRC begins at end: what routers may change counts as ones."""
    masked = bytearray(b"\xff" * 8 + frame[IP:end])
    for at in (1, 8, 10, 11, 26, 27, 32):  # TOS, TTL, both checksums, reserved byte of the BTH
        masked[8 + at] = 0xFF
    return struct.pack("<I", zlib.crc32(masked))


def with_icrc(frame):
    end = IP + struct.unpack_from(">H", frame, IP + 2)[0] - 4
    return frame[:end] + icrc(frame, end)


def with_qpn(frame, qpn):
    return with_icrc(frame[:BTH + 5] + struct.pack(">I", qpn)[1:] + frame[BTH + 8:])


def qpn_of(frame):
    return struct.unpack_from(">I", frame, BTH + 4)[0] & 0xFFFFFF


def captured(end, count):
    """Requests that come in at this end, as they are on the wire."""
    frames = []
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003)) as tap:
        tap.bind((end, 0))
        tap.settimeout(30)
        while len(frames) < count:
            frame, where = tap.recvfrom(65536)
            if where[2] != socket.PACKET_OUTGOING and frame[12:14] == b"\x08\x00" and \
                    frame[UDP + 2:UDP + 4] == struct.pack(">H", ROCE_PORT) and frame[BTH] < 0x0D:
                frames.append(frame)
    want(with_icrc(frames[0]) == frames[0], "our idea of the ICRC is wrong")
    return frames


def inject(end, frames):
    """Sends them from this end, in portions that fit any ring."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as tap:
        tap.bind((end, 0))
        for number, frame in enumerate(frames):
            tap.send(frame)
            if number % 32 == 31:
                time.sleep(0.005)


# ---- the programs ----

class Running:
    """A program in the background; its output goes to a file."""

    def __init__(self, directory, tag, name, *arguments):
        self.path = os.path.join(directory, tag)
        self.process = subprocess.Popen([os.path.join(BUILD, "app", "uroce-" + name), *arguments],
                                        stdin=subprocess.DEVNULL, stdout=open(self.path, "w"),
                                        stderr=subprocess.STDOUT)

    def text(self):
        return open(self.path).read()

    def wait_for(self, pattern, seconds=60):
        end = time.monotonic() + seconds
        while not re.search(pattern, self.text()):
            want(time.monotonic() < end and self.process.poll() is None, "never said " + pattern, self.text())
            time.sleep(0.02)

    def finish(self, seconds=LIMIT_S):
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still there after {seconds} s:\n{self.text()}") from None

    def kill(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()


class Pair:
    """A server at "ub" and a client at "ua" of the same program."""

    def __init__(self, directory, wire, name, *arguments, server=(), dest="127.0.0.1"):
        waiting = ["--server"] if name == "perf" else []
        self.running = []
        self.wire = wire
        self.server = self.start(directory, "server", name, "ub", "2", *waiting, *server)
        self.server.wait_for("waiting for a client")
        self.client = self.start(directory, "client", name, "ua", "1", *arguments, dest)

    def start(self, directory, tag, name, end, number, *arguments):
        program = Running(directory, tag, name, "-d", self.wire.device(end), "--ip", f"10.77.0.{number}/24", *arguments)
        self.running.append(program)
        if isinstance(self.wire, Taps):
            self.wire.plug(end)
        return program

    def texts(self):
        return f"client:\n{self.client.text()}\nserver:\n{self.server.text()}"

    def want_both_right(self, seconds=LIMIT_S):
        want(self.client.finish(seconds) == 0, "client's status", self.client.process.returncode, self.texts())
        want(self.server.finish(seconds) == 0, "server's status", self.server.process.returncode, self.texts())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for program in self.running:
            program.kill()


def results(directory):
    return json.load(open(os.path.join(directory, "json")))["results"]


def verified(directory, *arguments):
    """What a client measures: every byte checked, the numbers in a file."""
    return ["--mode", "bw", "--verify", "-s", "4000", "--json", os.path.join(directory, "json"), *arguments]


def endless(directory):
    """One message after the other, each answered by one of the server's."""
    return ["--op", "send", "--mode", "lat", "--verify", "-s", "3000", "-D", "600", "--json",
            os.path.join(directory, "json")]


def want_no_wrong_byte(directory):
    """Of a run that has failed."""
    for one in results(directory):
        want(one["bad_bytes"] == 0 and one["messages"] > 0, one)


def want_clean(directory):
    for one in results(directory):
        want(one["errors"] == 0 and one["bad_bytes"] == 0 and one["checked_messages"] >= one["messages"] > 0, one)


def dropped(text, name):
    found = re.findall(rf"(\d+) [^\n]*\({name}\)", text)
    return int(found[-1]) if found else 0


# ---- a peer that goes away ----

def case(wire, takes_long=False):
    """A test between two ports of this kind."""
    def keep(function):
        if takes_long == LONG:
            CASES.append((function, wire))
        return function
    return keep

def was_given_up(text):
    """By its retries; or by the program, when the peer went between its ACK and its answer: nothing is retried then."""
    return "RETRY_EXC_ERR" in text or "no message was acknowledged for" in text


@case(Veth)
def killed_peer_is_detected(directory, wire):
    """By its retries, for no TCP connection tells that it is gone."""
    by_address = verified(directory, "--op", "read", "-D", "600", "-R")
    with Pair(directory, wire, "perf", *by_address, server=("-R",), dest="10.77.0.2") as pair:
        wait_for_frames(pair, 1000)
        pair.server.kill()
        want(pair.client.finish() == 1, "client's status", pair.texts())
        want(was_given_up(pair.client.text()), pair.texts())
        want_no_wrong_byte(directory)


@case(Veth)
def killed_client_ends_its_server(directory, wire):
    with Pair(directory, wire, "perf", "--op", "write", "-D", "600", "--mode", "bw") as pair:
        wait_for_frames(pair, 1000)
        pair.client.kill()
        want(pair.server.finish() == 1, "server's status", pair.texts())


def stop_and_continue(directory, wire, seconds, timeout):
    ops = [word for op in ("send", "write", "read", "fadd") for word in ("--op", op)]
    with Pair(directory, wire, "perf", *verified(directory, *ops, "-n", "5000", "-u", timeout)) as pair:
        wait_for_frames(pair, 5000)
        pair.server.process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        pair.server.process.send_signal(signal.SIGCONT)
        pair.want_both_right(600)
        want_clean(directory)
        want(len(results(directory)) == 4, results(directory))


@case(Veth)
def stopped_peer_resumes(directory, wire):
    stop_and_continue(directory, wire, 2, "20")  # the ACK timers and their retries take 34 s


@case(Veth, takes_long=True)
def peer_stopped_for_a_minute_resumes(directory, wire):
    stop_and_continue(directory, wire, 60, "22")  # 137 s


@case(Veth)
def peer_stopped_for_too_long_fails(directory, wire):
    with Pair(directory, wire, "perf", *endless(directory)) as pair:
        wait_for_frames(pair, 1000)
        pair.server.process.send_signal(signal.SIGSTOP)
        want(pair.client.finish() == 1 and was_given_up(pair.client.text()), pair.texts())
        waited = "the peer did not answer within" in pair.client.text()
        want(not waited, "it waits for a peer that it gave up", pair.texts())
        pair.server.process.send_signal(signal.SIGCONT)
        want(pair.server.finish() == 1, "server's status", pair.texts())
        want_no_wrong_byte(directory)


@case(Veth)
def stale_frames_do_not_harm_a_restarted_peer(directory, wire):
    """The peer is killed and started again at its address; then even its QPN is the old one."""
    with Pair(directory, wire, "perf", *endless(directory)) as pair:
        stale = captured("ub", 64)
        pair.server.kill()
        want(pair.client.finish() == 1, "client's status", pair.texts())
    with Pair(directory, wire, "perf", *verified(directory, "--op", "write", "-n", "50000", "-u", "20")) as pair:
        qpn = qpn_of(captured("ub", 1)[0])
        want(qpn != qpn_of(stale[0]), "a QPN of 2^24 came twice")
        pair.client.process.send_signal(signal.SIGSTOP)
        want(pair.client.process.poll() is None, "it had ended before", pair.texts())
        inject("ua", stale)
        inject("ua", [with_qpn(frame, qpn) for frame in stale])
        pair.client.process.send_signal(signal.SIGCONT)
        pair.want_both_right()
        want_clean(directory)
        want(dropped(pair.server.text(), "drop_unknown_qpn") == len(stale), pair.texts())


# ---- a link that goes away ----

def unplug(directory, wire, timeout):
    with Pair(directory, wire, "perf", *verified(directory, "--op", "write", "--op", "read", "-n", "10000", "-u",
                                                 timeout)) as pair:
        for end in ("ua", "ub"):
            wait_for_frames(pair, 2000)
            ip("link", "set", end, "down")
            time.sleep(0.5)
            ip("link", "set", end, "up")
        pair.want_both_right()
        want_clean(directory)


@case(Veth)
def veth_that_was_down_resumes(directory, wire):
    unplug(directory, wire, "20")


@case(Veth)
def veth_that_stays_down_fails(directory, wire):
    with Pair(directory, wire, "perf", *endless(directory)) as pair:
        wait_for_frames(pair, 1000)
        ip("link", "set", "ub", "down")
        want(pair.client.finish() == 1 and was_given_up(pair.client.text()), pair.texts())
    ip("link", "set", "ub", "up")


def want_failed_in_time(pair):
    """After 8 ACK timeouts of 537 ms and a second; the program itself would wait ten seconds for news."""
    want(pair.client.finish() == 1 and "RETRY_EXC_ERR" in pair.client.text(), pair.texts())
    want(dropped(pair.client.text(), "tx_held") > 0, pair.texts())


@case(Veth)
def pulled_cable_fails_bulk_traffic_in_time(directory, wire):
    """The driver of DPDK 22.11 still says that the link is up, later ones that it is down; the interface knows."""
    with Pair(directory, wire, "perf", "--op", "write", "--mode", "bw", "-s", "4096", "-D", "600") as pair:
        wait_for_frames(pair, 5000)
        ip("link", "set", "ub", "down")
        want_failed_in_time(pair)
    ip("link", "set", "ub", "up")


class Queued(Veth):
    """Frames pass the kernel's queue, which can be told to keep them."""

    def device(self, end):
        return super().device(end) + ",qdisc_bypass=0"

    def hold(self, end):
        subprocess.run(["tc", "qdisc", "replace", "dev", end, "root", "tbf", "rate", "8bit", "burst", "2000", "limit",
                        "100000000"], check=True)


@case(Queued)
def port_that_sends_nothing_fails_bulk_traffic_in_time(directory, wire):
    with Pair(directory, wire, "perf", "--op", "write", "--mode", "bw", "-s", "4096", "-D", "600") as pair:
        wait_for_frames(pair, 5000)
        wire.hold("ua")
        want_failed_in_time(pair)


@case(Queued)
def port_that_sends_nothing_does_not_block_exit(directory, wire):
    """ctrl-C ends it, although no frame leaves."""
    with Pair(directory, wire, "perf", "--op", "write", "--mode", "bw", "-s", "4096", "-D", "600", "-u", "20") as pair:
        wait_for_frames(pair, 5000)
        wire.hold("ua")
        time.sleep(2)
        pair.client.process.send_signal(signal.SIGINT)
        want(pair.client.finish(60) != 0, "client's status", pair.texts())


@case(Taps)
def tap_that_was_down_resumes(directory, wire):
    unplug(directory, wire, "20")


# ---- too much, too slowly, too bad ----

@case(Veth)
def slow_reader_loses_nothing(directory, wire):
    words = verified(directory, "--op", "send", "-n", "4000", "-t", "64", "-r", "16", "--rx-rate", "4000", "-u", "18")
    with Pair(directory, wire, "perf", *words) as pair:
        pair.want_both_right()
        want_clean(directory)
        want(results(directory)[0]["rnr_naks"] > 0, results(directory))
    with Pair(directory, wire, "perf", *words, "--flow-control") as pair:
        pair.want_both_right()
        want_clean(directory)
        want(results(directory)[0]["rnr_naks"] == 0, results(directory))


@case(Veth)
def lossy_link_corrupts_no_byte(directory, wire):
    faults = "--loss 0.01 --dup 0.01 --reorder 0.02 --corrupt 0.01 --seed 7".split()
    with Pair(directory, wire, "perf", *verified(directory, "-n", "1500", "-u", "12", *faults), server=faults) as pair:
        pair.want_both_right()
        want_clean(directory)
        want(len(results(directory)) == 10, results(directory))
        want(sum(one["retransmits"] for one in results(directory)) > 0, results(directory))
        want(dropped(pair.server.text(), "rx_icrc_encapsulated") > 0, pair.texts())


def patched(frame, at, data):
    return frame[:at] + data + frame[at + len(data):]


def junk_of(frame):
    """{counter: a frame that draws it and nothing else}."""
    unknown = with_qpn(frame, qpn_of(frame) ^ 0x800000)
    return {
        "drop_unknown_qpn": unknown,
        "rx_icrc_encapsulated": patched(frame, len(frame) - 1, bytes([frame[-1] ^ 1])),
        "drop_transport_version": with_icrc(patched(frame, BTH + 1, bytes([frame[BTH + 1] | 1]))),
        "drop_other_class": with_icrc(patched(frame, BTH, b"\x64")),
        "drop_pkey": with_icrc(patched(frame, BTH + 2, b"\x80\x01")),
        "drop_ip_header": patched(frame, IP + 10, bytes([frame[IP + 10] ^ 1])),
        "drop_udp_checksum": patched(frame, UDP + 6, b"\x00\x01"),
        "drop_not_roce": patched(frame, 12, b"\x88\xb5"),
    }


@case(Veth)
def junk_next_to_good_traffic_is_counted_and_harmless(directory, wire):
    with Pair(directory, wire, "perf", *verified(directory, "--op", "send", "-n", "30000", "-u", "18")) as pair:
        kinds = junk_of(captured("ub", 1)[0])
        sent = 0
        while pair.client.process.poll() is None:
            inject("ua", [frame for frame in kinds.values() for _ in range(4)])
            sent += 4
        pair.want_both_right()
        want_clean(directory)
        counts = {kind: dropped(pair.server.text(), kind) for kind in kinds}
        # neither do we understand all that the kernel says on its interface
        most = {kind: sent + 100 * (kind == "drop_not_roce") for kind in kinds}
        # the server's QP goes before the client ends: what comes for it then is for a QP that does not exist
        most["drop_unknown_qpn"] += sum(sent - counts[kind] for kind in ("rx_icrc_encapsulated", "drop_other_class",
                                                                         "drop_pkey"))
        for kind in kinds:
            want(0 < counts[kind] <= most[kind], kind, sent, counts, pair.texts())


# ---- what a container lacks ----

def refused(rights, *limits):
    """What the target says that has only these capabilities: one line, status 3."""
    program = os.path.join(BUILD, "app", "uroce-nvmet")
    words = [*limits, "setpriv", f"--bounding-set=-all,{rights}", f"--inh-caps=-all,{rights}",
             program, "--", "-d", "ua", "--ip", "10.0.0.1/24", "--memory", "1M"]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=LIMIT_S, check=False)
    want(done.returncode == 3 and len(done.stdout.splitlines()) == 1, done.returncode, done.stdout)
    return done.stdout


@case(Veth)
def packet_socket_without_rights_names_the_missing_ones(_directory, _wire):
    text = refused("+net_raw")
    want("CAP_NET_RAW and CAP_NET_ADMIN" in text, text)
    text = refused("+net_raw,+net_admin", "prlimit", "--memlock=65536:65536")
    want("ulimit -l unlimited" in text, text)


def main():
    print(f"1..{len(CASES)}", flush=True)
    if os.environ.get("UROCE_FAULTS_SKIP"):
        for number, (function, _) in enumerate(CASES, 1):
            print(f"ok {number} - faults::{function.__name__} # SKIP needs root for a network namespace")
        return 0
    failed = 0
    signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell's background job ignores, its children do
    ip("link", "set", "lo", "up")
    for number, (function, kind) in enumerate(CASES, 1):
        directory = tempfile.mkdtemp()
        wire = kind()
        try:
            function(directory, wire)
            print(f"ok {number} - faults::{function.__name__}", flush=True)
        except (AssertionError, subprocess.SubprocessError, OSError) as wrong:
            failed += 1
            print(f"not ok {number} - faults::{function.__name__}")
            print("".join(f"# {line}\n" for line in str(wrong).splitlines()), end="", flush=True)
        finally:
            wire.close()
            shutil.rmtree(directory)
    return failed > 0


if __name__ == "__main__":
    if "UROCE_FAULTS_INSIDE" in os.environ:
        sys.exit(main())
    os.environ["UROCE_FAULTS_INSIDE"] = "1"
    # Nothing is left behind: the namespace, its links and its addresses go with the last process.
    if os.geteuid() == 0 and shutil.which("ip") and \
            subprocess.run(["unshare", "-n", "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
        os.execvp("unshare", ["unshare", "-n", sys.executable, *sys.argv])
    os.environ["UROCE_FAULTS_SKIP"] = "1"
    sys.exit(main())
