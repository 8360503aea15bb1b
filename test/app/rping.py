#!/usr/bin/env python3
# rping.py - uroce-rping with itself over memif: what it does, what it refuses, and peers that die at any moment
# SPDX-License-Identifier: BSD-3-Clause
"""rping.py BUILD: prints TAP.

No root, hugepages or NIC needed.
"""
import signal
import sys
import time

from cases import Running, main, one_line, run, want

CASES = []
SERVER, CLIENT = "10.0.0.1", "10.0.0.2"


def case(function):
    CASES.append(function)
    return function


def port(directory, role):
    return f"net_memif0,role={role},socket={directory}/memif.sock,socket-abstract=no"


class Ends:
    """A server, and clients at the other end of its memif, one at a time."""

    def __init__(self, directory, *options):
        self.directory, self.running = directory, []
        self.server = self.start("server", "-d", port(directory, "server"), "--ip", f"{SERVER}/24", "-s", *options)
        self.server.wait_for("listening on")

    def start(self, tag, *arguments):
        program = Running(self.directory, tag, "rping", *arguments)
        self.running.append(program)
        return program

    def client(self, tag, *options):
        return self.start(tag, "-d", port(self.directory, "client"), "--ip", f"{CLIENT}/24", "-c", "-a", SERVER,
                          *options)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for program in self.running:
            program.kill()


@case
def every_byte_comes_back_and_both_end_well(directory):
    with Ends(directory, "-S", "5000") as ends:
        client = ends.client("client", "-C", "200", "-V", "-S", "5000")
        want(client.finish() == 0, client.text(), ends.server.text())
        want("200 iterations, every byte right" in client.text(), client.text())
        want(ends.server.finish() == 0, ends.server.text())
        want(f"{CLIENT}: 200 iterations, then disconnected" in ends.server.text(), ends.server.text())


@case
def a_client_that_offers_more_than_the_server_has_room_for_is_told(directory):
    with Ends(directory, "-S", "64") as ends:
        client = ends.client("client", "-C", "2", "-S", "4096")
        want(client.finish() == 1, client.text())
        want("the client advertises 4096 bytes, but -S is 64 here" in ends.server.text(), ends.server.text())


@case
def nobody_listens_is_one_line_and_status_3(directory):
    with Ends(directory, "-p", "7000") as ends:
        client = ends.client("client", "-C", "1", "-p", "7001")
        want(client.finish() == 3, client.text())
        want("rejects the connection" in client.text() and client.text().count("\n") == 1, client.text())


@case
def wrong_options_are_one_line_and_status_2(_directory):
    for words in ([], ["-s", "-c"], ["-c"], ["-s"], ["-c", "-a", "10.0.0.1"], ["-s", "--ip", "10.0.0.1/24", "host"],
                  ["-s", "--ip", "10.0.0.1/24", "-S", "31"], ["-s", "--ip", "10.0.0.1/24", "-p", "0"]):
        one_line("rping", run("rping", *words), 2)


@case
def clients_killed_at_any_moment_leave_a_server_that_serves(directory):
    with Ends(directory, "-P") as ends:
        for number in range(12):
            client = ends.client(f"killed{number}", "-V")
            time.sleep(0.05 + 0.08 * number)  # from before it has a port to the middle of its iterations
            client.kill()
        client = ends.client("last", "-C", "100", "-V")
        want(client.finish() == 0, client.text(), ends.server.text())
        ends.server.wait_for("100 iterations, then disconnected")


@case
def a_peer_that_falls_silent_is_told_by_what_failed(directory):
    """The client's process stops: its READs and WRITEs fail, and it confirms no end. The server says why, and goes."""
    for options, status in (((), 1), (("-P",), None)):
        with Ends(directory, *options) as ends:
            client = ends.client("client", "-v")
            ends.server.wait_for("iterations")
            client.process.send_signal(signal.SIGSTOP)
            if status is None:
                ends.server.wait_for("iterations, then failed")
            else:
                began = time.monotonic()
                want(ends.server.finish() == status, ends.server.text())
                want(time.monotonic() - began < 10, ends.server.text())
            want("RETRY_EXC_ERR" in ends.server.text(), ends.server.text())
            want("says nothing" not in ends.server.text(), ends.server.text())


@case
def an_address_without_a_way_to_it_is_one_line_and_status_2(directory):
    for address, why in (("10.1.0.1", "outside of --ip 10.0.0.1/24, and --gateway names no way to it"),
                         ("fd00::1", "--ip 10.0.0.1/24 is of another kind: both IPv4 or both IPv6")):
        done = run("rping", "-d", port(directory, "server"), "--ip", f"{SERVER}/24", "-c", "-a", address)
        one_line("rping", done, 2, f"-a {address}: {why}")


if __name__ == "__main__":
    sys.exit(main("rping", CASES))
