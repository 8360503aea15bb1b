#!/usr/bin/env python3
# by_address.py - programs that meet over their ports alone, by address, without TCP
# SPDX-License-Identifier: BSD-3-Clause
"""by_address.py BUILD: prints TAP.

No root, hugepages or NIC needed.
"""
import json
import os
import re
import signal
import sys
import tempfile
import time

from cases import Running, counter, main, run, want, without_away

CASES = []
WAITING = r"waiting for a client on port \d+ of the local address"


def case(function):
    CASES.append(function)
    return function


def port(directory, role):
    return ["--device", f"net_memif0,role={role},socket={directory}/memif.sock,socket-abstract=no"]


class Pair:
    """A server and a client of the same program; neither address is one of this host's."""

    def __init__(self, directory, name, *arguments, server=(), dest="10.78.0.1"):
        waiting = ["--server"] if name == "perf" else []
        self.running = []
        directory = tempfile.mkdtemp(dir=directory)
        self.server = self.start(directory, name, "server", "10.78.0.1/24", *waiting, *server)
        self.server.wait_for(WAITING)
        self.client = self.start(directory, name, "client", "10.78.0.2/24", *arguments, dest)

    def start(self, directory, name, role, address, *arguments):
        program = Running(directory, role, name, *port(directory, role), "-R", "--ip", address, *arguments)
        self.running.append(program)
        return program

    def texts(self):
        return f"client:\n{self.client.text()}\nserver:\n{self.server.text()}"

    def want_both_right(self, seconds=240):
        want(self.client.finish(seconds) == 0, "client's status", self.client.process.returncode, self.texts())
        want(self.server.finish(seconds) == 0, "server's status", self.server.process.returncode, self.texts())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for program in self.running:
            program.kill()


@case
def perf_does_every_operation_in_both_modes(directory):
    """Timeout code 17: a machine that runs other tests as well may leave a program without a core for half a second."""
    with Pair(directory, "perf", "--verify", "-n", "300", "-s", "3000", "-u", "17") as pair:
        pair.want_both_right()
        text = pair.client.text()
        want(text.count("messages checked, 0 wrong bytes") == 20, pair.texts())
        want("10.78.0.1" in text and "TCP" not in text, pair.texts())


@case
def perf_exchanges_thousands_of_queue_pairs(directory):
    """Their numbers take more than all the receives of the connection that tells of them."""
    with Pair(directory, "perf", "--op", "write", "--mode", "bw", "-q", "30000", "-t", "4", "-s", "64", "-n", "4", "-b",
              server=["-q", "30000", "-t", "4"]) as pair:
        pair.want_both_right()
        want("Number of QPs: 30000" in pair.client.text(), pair.texts())


@case
def perf_survives_a_lossy_link(directory):
    faults = "--loss 0.02 --dup 0.02 --reorder 0.02 --corrupt 0.02".split()
    with Pair(directory, "perf", "--op", "read", "--mode", "bw", "--verify", "-n", "300", "-s", "5000", *faults,
              server=faults) as pair:
        pair.want_both_right()
        want("messages checked, 0 wrong bytes" in pair.client.text(), pair.texts())


@case
def perf_detects_a_killed_peer(directory):
    for who in ("client", "server"):
        with Pair(directory, "perf", "--op", "write", "--mode", "bw", "-D", "60", "-u", "15") as pair:
            pair.client.wait_for("RDMA_Write BW Test")
            time.sleep(0.3)
            (pair.client if who == "client" else pair.server).kill()
            other = pair.server if who == "client" else pair.client
            want(other.finish() == 1, "status", pair.texts())


@case
def perf_keeps_its_results_when_the_peer_is_gone(directory):
    """What is done by then is a row; the failure is said once, and nobody is waited for."""
    path = os.path.join(directory, "x.json")
    with Pair(directory, "perf", "--op", "write", "--mode", "bw", "-s", "64,4096", "-D", "2", "--json", path) as pair:
        pair.client.wait_for(r"(?m)^ 64 +\d+ (.|\n)*^ 4096 +\.\.\. ")
        pair.server.kill()
        want(pair.client.finish() == 1, "status", pair.texts())
        results, text = json.load(open(path)), without_away(pair.client.text())
        want([(one["size_bytes"], one["messages"] > 0) for one in results["results"]] == [(64, True), (4096, True)],
             results)
        failed = results["failed"]
        want(not results["interrupted"] and failed["status"] == "RETRY_EXC_ERR", results)
        want(re.search(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$", failed["at"]), failed)
        want(f"uroce-perf: {failed['sentence']}\n" in text and text.count("uroce-perf: ") == 1, failed, text)


@case
def waiting_perf_server_detects_a_killed_client(directory):
    """A server posts nothing of its own, and so it is the keep-alive of the connection that tells."""
    with Pair(directory, "perf", "--op", "send", "--mode", "lat", "-D", "60") as pair:
        pair.client.wait_for("Send Latency Test")
        pair.client.kill()
        want(pair.server.finish() == 1, "status", pair.texts())


@case
def perf_names_the_failed_request_of_a_silent_peer(directory):
    """Its process stops, and so it answers nothing and confirms no end; the other one says why and goes."""
    for op in ("read", "write"):
        with Pair(directory, "perf", "--op", op, "--mode", "bw", "-D", "60") as pair:
            pair.client.wait_for("messages/s")
            pair.server.process.send_signal(signal.SIGSTOP)
            want(pair.client.finish() == 1, pair.texts())
            text = without_away(pair.client.text())
            want("RETRY_EXC_ERR" in text and text.count("uroce-perf: ") == 1, pair.texts())


def commanded(directory, role, commands, *arguments):
    """A uroce-testpmd that is told what to do."""
    path = os.path.join(directory, role + ".commands")
    open(path, "w").write("\n".join(commands) + "\n")
    end, address = ("server", "10.78.0.1/24") if role == "server" else ("client", "10.78.0.2/24")
    return Running(directory, role, "testpmd", *port(directory, end), "--ip", address, "--idle", "sleep",
                   "--cmdline-file", path, *arguments)


@case
def testpmd_listens_and_connects_by_command(directory):
    server = commanded(directory, "server", ["listen 7010", "listen", "connect 10.78.0.2"])
    client = None
    try:
        server.wait_for('(?s)"disconnect" first.*"disconnect" first.*listening on port 7010|'
                        'listening on port 7010.*"disconnect" first.*"disconnect" first')
        for number in range(2):
            client = commanded(directory, "client", ["connect 10.78.0.1 7010", "start", "show qp", "show cm", "stop",
                                                     "disconnect", "disconnect", "show qp", "show cm", "quit"],
                               "--qps", "3", "--mix", "write:1,send:1,read:1,fadd:1")
            want(client.finish() == 0, "client's status", client.text(), server.text())
            text = client.text()
            want("connected to 10.78.0.1" in text and text.count("sends") == 3, text)
            want("\n1 connections, 0 half open" in text and "\n0 connections, 0 half open" in text, text)
            want("\ndisconnected\n" in text and "\nno peer is connected by address\n" in text, text)
            server.wait_for(f"(?s)(serving 3 queue pairs.*the peer has left.*){{{number + 1}}}")
        want(server.interrupt() == 0, "server's status", server.text())
        want(counter(server.text(), "rx_write_requests") > 0, server.text())
    finally:
        server.kill()
        if client:
            client.kill()


@case
def testpmd_serves_the_next_peer_after_a_kill_at_any_time(directory):
    """From before it has a port to the middle of its traffic."""
    server = commanded(directory, "server", ["listen 7011"])
    try:
        server.wait_for("listening on port 7011")
        for number in range(12):
            client = commanded(directory, f"killed{number}", ["connect 10.78.0.1 7011", "start"])
            time.sleep(0.05 + 0.08 * number)
            client.kill()
        client = commanded(directory, "last", ["connect 10.78.0.1 7011", "start"], "--stats-period", "1")
        client.wait_for("[1-9][0-9.]* .*messages/s")
        want(client.interrupt() == 0, client.text(), server.text())
        want(server.interrupt() == 0, "server's status", server.text())
    finally:
        server.kill()


@case
def testpmd_serves_the_next_peer_after_a_kill(directory):
    server = commanded(directory, "server", ["listen 7011"])
    client = None
    try:
        for number in range(2):
            server.wait_for(f"(?s)(listening on port 7011.*){{{number + 1}}}")
            client = commanded(directory, "client", ["connect 10.78.0.1 7011", "start"], "--stats-period", "1")
            client.wait_for("messages/s")
            client.kill()
            server.wait_for(f"(?s)(the peer has left.*){{{number + 1}}}")
        want(server.interrupt() == 0, "server's status", server.text())
    finally:
        server.kill()
        if client:
            client.kill()


@case
def testpmd_refuses_invalid_commands_in_one_line(directory):
    path = os.path.join(directory, "commands")
    for commands, extra, told in ((["connect 10.78.0.1"], [], "10.78.0.1, port 18516: No route to host"),
                                  (["connect here"], [], '"here": must be a RoCE address'),
                                  (["disconnect"], [], "no peer is connected by address")):
        open(path, "w").write("\n".join(commands + ["quit"]) + "\n")
        code, out, err = run("testpmd", "--device", "net_ring0", "--ip", "10.78.0.2/24", "--idle", "sleep",
                             "--cmdline-file", path, *extra)
        complaints = [line for line in err.splitlines() if not line.startswith("waiting for a server at ")]
        want(code == 0 and told in out + err and len(complaints) <= 1, commands, code, out, err)
    open(path, "w").write("listen\nquit\n")
    code, out, err = run("testpmd", "--cmdline-file", path)
    want(code == 0 and "restart uroce-testpmd with one port" in err, "two loop ports", code, out, err)


@case
def missing_listener_exits_with_status_3(directory):
    for dest, status, told in (("10.79.0.1", 3, "outside the network"), ("localhost", 2, "RoCE address")):
        code, _, err = run("perf", "-d", "net_null0", "-R", "--ip", "10.78.0.2/24", dest)
        want(code == status and len(err.splitlines()) == 1 and dest in err and told in err, dest, code, err)
    with Pair(directory, "perf", dest="10.78.0.77") as pair:
        client = pair.client
        want(client.finish() == 3 and "10.78.0.77" in client.text() and "No route" in client.text(), pair.texts())
    with Pair(directory, "perf", "-p", "18700") as pair:
        client = pair.client
        want(client.finish() == 3 and "port 18700: connection refused" in client.text(), pair.texts())


@case
def commands_without_a_peer_report_it(_):
    for words in (["-R"], ["-R", "--connections", "1", "--ip", "10.0.0.1/24", "10.0.0.2"]):
        code, out, err = run("perf", *words)
        want(code == 2 and len(err.splitlines()) == 1 and "-R" in err, words, code, out, err)


if __name__ == "__main__":
    sys.exit(main("by_address", CASES))
