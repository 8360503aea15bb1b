#!/usr/bin/env python3
# examples.py - the examples as those who read them run them: both ends, a peer that dies, a server that is not there
# SPDX-License-Identifier: BSD-3-Clause
"""examples.py BUILD: prints TAP.

No root, hugepages or NIC needed.
"""
import glob
import os
import re
import signal
import subprocess
import sys
import time

from cases import Running, main, one_line, run, want

CASES = []
# A limit that catches a peer that is never noticed: three times the keep-alive time of block_store and the retry
# budget, which is the first try and seven more, 537 ms each; the timer of a responder may take up to four times as
# long.
NOTICED_S = 3 * (0.5 + 4 * 8 * 0.537)


def case(function):
    CASES.append(function)
    return function


def port(directory, role):
    return f"net_memif0,role={role},socket={directory}/memif.sock,socket-abstract=no"


class Ends:
    """A server, and clients at the other end of its memif, one at a time."""

    def __init__(self, directory, name):
        self.directory, self.name, self.running = directory, name, []
        self.server = self.start("server", port(directory, "server"), "10.0.0.1/24")
        self.server.wait_until(os.path.exists, directory + "/memif.sock")
        time.sleep(1)

    def start(self, tag, *arguments):
        program = Running(self.directory, tag, self.name, *arguments)
        self.running.append(program)
        return program

    def client(self, tag, what):
        return self.start(tag, port(self.directory, "client"), "10.0.0.2/24", "10.0.0.1", what)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for program in self.running:
            program.kill()


@case
def block_store_returns_the_stored_data(directory):
    with Ends(directory, "examples/block_store") as ends:
        for number in range(2):
            client = ends.client(f"client{number}", "300")
            want(client.finish() == 0, client.text(), ends.server.text())
            want(client.text() == "300 blocks written and read again\n", client.text())
        ends.server.wait_for("(?s)disconnected: Success.*disconnected: Success, 64 of 64 slots are free")


@case
def block_store_detects_a_killed_client(directory):
    with Ends(directory, "examples/block_store") as ends:
        for number in range(3):
            client = ends.client(f"client{number}", "100000000")
            ends.server.wait_for(f"(?s)(established.*){{{number + 1}}}")
            time.sleep(0.3)
            client.kill()
            ends.server.wait_for(f"(?s)(connection abort, 64 of 64 slots are free.*){{{number + 1}}}", NOTICED_S)
        client = ends.client("last", "10")
        want(client.finish() == 0, client.text(), ends.server.text())


@case
def block_store_detects_a_killed_server(directory):
    with Ends(directory, "examples/block_store") as ends:
        client = ends.client("client", "100000000")
        ends.server.wait_for("established")
        ends.server.kill()
        want(client.finish(NOTICED_S) == 1 and len(client.text().splitlines()) == 1, client.text())


@case
def echo_returns_received_data_and_sleeps_in_between(directory):
    with Ends(directory, "examples/echo") as ends:
        for number in range(2):
            client = ends.client(f"client{number}", "how are you?")
            want(client.finish() == 0, client.text(), ends.server.text())
            want(client.text() == "".join(f"{i}: how are you?\n" for i in range(1, 11)), client.text())
        ends.server.wait_for("(?s)disconnected: Success.*disconnected: Success")
        before, states = sleeps(ends.server.process.pid), set()
        for _ in range(20):
            states.add(state(ends.server.process.pid))
            time.sleep(0.1)
        naps = [after - first for first, after in zip(before, sleeps(ends.server.process.pid))]
        want(states == {"S"}, "the main thread does not sleep in poll(2)", states)
        want(max(naps) >= 3, "the thread of the lcore does not nap", naps)


def state(pid):
    """Of the main thread: S sleeps, R runs or would."""
    return open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0]


def sleeps(pid):
    """How often each thread went to sleep. One that polls on never does."""
    return [int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", open(path).read(), re.M)[1])
            for path in sorted(glob.glob(f"/proc/{pid}/task/*/status"))]


class Store:
    """The client of replicated_store and its two replicas, each over its own memif."""

    def __init__(self, directory):
        self.directory, self.name, self.version = directory, "examples/replicated_store", 0
        self.client = Running(directory, "client", self.name, "client", self.port("server", 0), "10.0.1.2/24",
                              "10.0.1.1", self.port("server", 1), "10.0.2.2/24", "10.0.2.1", stdin=subprocess.PIPE)
        for i in range(2):
            self.client.wait_until(os.path.exists, f"{directory}/memif{i}.sock")
        self.replicas = [self.replica(0), self.replica(1)]
        self.wait_for_version()

    def port(self, role, i):
        return f"net_memif{i},role={role},socket={self.directory}/memif{i}.sock,socket-abstract=no"

    def replica(self, i):
        return Running(self.directory, f"replica{i}", self.name, "replica", self.port("client", i),
                       f"10.0.{i + 1}.1/24")

    def write(self):
        self.client.process.stdin.write(b"\n")
        self.client.process.stdin.flush()

    def wait_for_version(self):
        self.version += 1
        self.client.wait_for(f"(?m)^version {self.version} is written$")

    def wait_for_death(self, i, requests):
        self.client.wait_for(rf"(?m)^10\.0\.{i + 1}\.1 is dead: .*, {requests} request in flight$")

    def restart(self, i):
        self.replicas[i] = self.replica(i)
        self.client.wait_for(rf"(?m)^10\.0\.{i + 1}\.1 is back: 64 blocks copied from 10\.0\.{2 - i}\.1$")

    def finish(self):
        self.client.process.stdin.close()
        return self.client.finish(), self.client.text().splitlines()


@case
def replicated_store_survives_each_replica(directory):
    store = Store(directory)
    for i in range(2):
        store.replicas[i].kill()
        store.wait_for_death(i, "no")  # no request is in flight: keep-alive notices
        store.write()
        store.wait_for_version()
        store.restart(i)
    code, lines = store.finish()
    want(code == 0 and lines[-2:] == ["10.0.1.1: all blocks verified", "10.0.2.1: all blocks verified"], *lines)
    want(sum(" is dead: " in line for line in lines) == 2, *lines)


@case
def replicated_store_survives_a_replica_that_dies_during_writes(directory):
    store = Store(directory)
    os.kill(store.replicas[1].process.pid, signal.SIGSTOP)
    store.write()
    store.wait_for_death(1, "one")
    store.wait_for_version()
    store.replicas[1].kill()
    store.restart(1)
    store.write()
    store.wait_for_version()
    code, lines = store.finish()
    want(code == 0 and lines[-2:] == ["10.0.1.1: all blocks verified", "10.0.2.1: all blocks verified"], *lines)


@case
def replicated_store_reports_the_loss_of_its_last_replica(directory):
    store = Store(directory)
    store.replicas[0].kill()
    store.wait_for_death(0, "no")
    store.replicas[1].kill()
    want(store.client.finish() == 1, store.client.text())
    want("the blocks are lost: no other replica has them all" in store.client.text().splitlines(), store.client.text())


@case
def replicated_store_does_not_verify_an_absent_replica(directory):
    store = Store(directory)
    store.replicas[1].kill()
    store.wait_for_death(1, "no")
    code, lines = store.finish()
    want(code == 1 and lines[-2:] == ["10.0.1.1: all blocks verified", "10.0.2.1: not verified"], *lines)


@case
def two_paths_example_loses_no_data(_):
    code, out, err = run("examples/two_paths")
    want(code == 0 and not err, code, out, err)
    want(out == "1000 messages from 10.0.0.1 to 10.0.0.2, in order\n"
         "1000 messages from 10.0.1.1 to 10.0.1.2, in order\n", out)


@case
def missing_server_is_reported_in_one_line(directory):
    for name, what in (("block_store", "1"), ("echo", "x")):
        name = "examples/" + name
        one_line(name, run(name, port(directory, "client"), "10.0.0.2/24", "10.0.0.1", what), 3, "net_memif0",
                 "start the memif server first")
        one_line(name, run(name, "net_null0", "10.0.0.2/24", "10.0.0.1", what), 3, "10.0.0.1", "No route to host")
        one_line(name, run(name, "net_null0", "10.0.0.2/24", "10.0.0", what), 2, "10.0.0", "must be an address")
        one_line(name, run(name, "net_null0", "10.0.0.2/24", "10.0.0.1"), 2, "usage")
    one_line("replicated_store", run("examples/replicated_store", "replica", "net_null0"), 2, "usage")


@case
def server_of_another_service_is_reported_in_one_line(directory):
    with Ends(directory, "examples/echo") as ends:
        one_line("block_store", run("examples/block_store", port(directory, "client"), "10.0.0.2/24", "10.0.0.1", "1"),
                 3, "10.0.0.1", "service")
        want(ends.server.process.poll() is None, ends.server.text())


if __name__ == "__main__":
    sys.exit(main("examples", CASES))
