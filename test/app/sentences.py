#!/usr/bin/env python3
# sentences.py - what users did wrong is said in one line: what failed, the value, and what to do
# SPDX-License-Identifier: BSD-3-Clause
"""sentences.py BUILD: prints TAP.

No root, hugepages or NIC needed; as root one case more runs.
"""
import concurrent.futures
import json
import os
import re
import socket
import sys

from cases import Running, Skipped, main, one_line, program, run, run_unprivileged, want
from target import DISK, LOOP, Ends

CASES = []


def case(function):
    CASES.append(function)
    return function


def last_line(name, done, status, *words):
    """Of a program that has said what it does before: the last line, and the only one that is a complaint."""
    code, out, err = done
    lines = [line for line in err.splitlines() if line.startswith("uroce-")]
    want(code == status and len(lines) == 1 and all(word in lines[0] for word in words), name, code, words, out, err)


@case
def option_is_not_taken_as_the_value_of_another(_):
    for name, *words in (("perf", "-d", "--server"), ("perf", "--gateway", "--server"),
                         ("nvmet", "--ip", "--memory=1M"), ("testpmd", "--ip", "--server"),
                         ("perf", "--gateway", "--vlan"), ("decode", "--fly")):
        told = ("unrecognized",) if name == "decode" else ("requires an argument", words[-1])
        one_line(name, run(name, *words, "--dry-run"), 2, *told)


@case
def invalid_ports_are_refused_with_their_fault(_):
    here = ("--device", "net_ring0", "--ip", "10.0.0.1/24", "--server")
    last_line("gateway", run("perf", *here, "--gateway", "foo"), 2,
              "gateway 'foo' is outside the network of address 10.0.0.1/24")
    last_line("own", run("perf", *here, "--gateway", "10.0.0.1"), 2, "gateway 10.0.0.1", "of address 10.0.0.1")
    last_line("driver", run("perf", "--device", "net_foo0", "--ip", "10.0.0.1/24", "--server"), 3, "net_foo0",
              "no driver for that name", "net_memif0")
    for vlan in ("4095", "5000"):
        one_line("vlan", run("perf", *here, "--vlan", vlan), 2, f"--vlan {vlan}", "from 0 (none) to 4094")


@case
def tcp_port_of_another_program_is_named(_):
    with socket.socket() as taken:
        taken.bind(("0.0.0.0", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        last_line("perf", run("perf", "--device", "net_ring0", "--ip", "10.0.0.1/24", "--server", "-p", port), 3,
                  f"cannot listen on TCP port {port}", "another with -p")


@case
def waiting_client_reports_a_missing_server(directory):
    """And after some seconds that there is none."""
    port = ("-d", f"net_memif0,role=server,socket={directory}/memif.sock,socket-abstract=no", "--ip", "10.0.0.2/24")
    for name, *options in (("perf", "-R", "10.0.0.1"),
                           ("nvme-perf", "--peer", "10.0.0.1", "--nqn", "nqn.2026-01.org.example:disks")):
        code, _, err = run(name, *port, *options)
        lines = err.splitlines()
        want(code == 3 and len(lines) == 2, name, code, err)
        want(re.match(r"waiting for (a server|the target) at 10\.0\.0\.1, port \d+", lines[0]), name, err)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    code, _, err = run("perf", "--device", "net_ring0", "--ip", "10.0.0.1/24", "-p", port, "127.0.0.1")
    lines = err.splitlines()
    want(code == 3 and len(lines) == 2, err)
    want(f"waiting for a server at 127.0.0.1, TCP port {port}" in lines[0] and "refused" in lines[0], err)
    want(f"no server at 127.0.0.1, TCP port {port}" in lines[1], err)


@case
def unwritable_results_report_the_reason(_):
    if not os.path.exists("/dev/full"):
        raise Skipped("there is no /dev/full")
    last_line("nvme-perf", run("nvme-perf", "--runtime", "0.1", "--json", "/dev/full"), 3,
              "--json /dev/full is not complete: No space left on device")
    code, out, _ = run("nvme-perf", "--runtime", "0.1", "--json", "/dev/stdout")
    want(code == 0 and json.loads(out[out.index("{"):])["results"], out)


@case
def invalid_target_files_are_refused_with_their_fault(directory):
    path = directory + "/disk.img"
    with open(path, "wb") as file:
        file.truncate(1 << 20)
    os.symlink(path, directory + "/other.img")
    nqn = ("--nqn", "nqn.2026-01.org.example:disks")
    for more in ((), ("--dry-run",)):
        one_line("twice", run("nvmet", *LOOP, *nqn, "--file", path, "--file", directory + "/other.img", *more), 2,
                 "other.img is the same file as " + path, "use another file")
    if os.geteuid() == 0:
        os.chmod(path, 0o444)
        one_line("read-only", run_unprivileged(directory, "nvmet", *LOOP, *nqn, "--file", path, "--dry-run"), 3, path,
                 "read-only for this user", "read-only")


@case
def settings_files_without_a_port_are_refused(directory):
    def file(name, text):
        with open(f"{directory}/{name}", "w") as out:
            out.write(text)
        return f"{directory}/{name}"

    disks = "[subsystem.0]\nnqn=nqn.2026-01.org.example:disks\n[namespace.0]\n" \
            "subsystem=nqn.2026-01.org.example:disks\nstore=memory:1M\n"
    path = file("nvmet.ini", disks)
    one_line("nvmet", run("nvmet", "--config", path), 2, path, "[port.0] with device= and ip=")
    path = file("testpmd.ini", "[port.0]\nip=10.0.0.9/24\n[traffic]\nserver=1\n")
    one_line("testpmd", run("testpmd", "--config", path, "--dry-run"), 2, path, "no device", "device=", "[port.0]")
    if os.path.exists(program("run")):
        path = file("run.ini", "[port]\nip=10.0.0.9/24\n")
        one_line("run", run("run", "--config", path, "true"), 2, path, "--device is missing")


@case
def testpmd_without_work_exits(directory):
    for more in ((), ("--dry-run",)):
        one_line("missing", run("testpmd", "--cmdline-file", "/no/such/file", *more), 3, "--cmdline-file /no/such/file")
    path = directory + "/commands"
    with open(path, "w") as file:
        file.write("show port info all\n")
    code, out, err = run("testpmd", "--cmdline-file", path)
    want(code == 0 and "port 0" in out, code, out, err)


@case
def limited_pkey_members_are_reported_as_unable_to_communicate(directory):
    one_line("both ports", run("testpmd", "--pkey", "0x7fff", "--dry-run"), 2, "--pkey 0x7fff", "use 0xffff")
    port = ("--device", f"net_memif0,role=%s,socket={directory}/memif.sock,socket-abstract=no", "--ip", "10.0.0.%d/24",
            "--port", "18621", "--pkey", "0x7fff")
    target = Running(directory, "target", "testpmd", port[0], port[1] % "server", port[2], port[3] % 1, *port[4:],
                     "--server")
    target.wait_for("serving peers")
    code, _, err = run("testpmd", port[0], port[1] % "client", port[2], port[3] % 2, *port[4:], "--peer", "127.0.0.1")
    want(code != 0 and "P_Key 0x7fff: target and peer are both limited partition members" in err and
         "use 0xffff" in err, code, err)


@case
def second_memif_client_is_refused_with_the_reason(directory):
    def port(role, number):
        return ("-d", f"net_memif0,role={role},socket={directory}/memif.sock,socket-abstract=no", "--ip",
                f"10.0.0.{number}/24")

    target = Running(directory, "target", "testpmd", *port("server", 1), "-p", "18622", "--server")
    target.wait_for("serving peers")
    first = Running(directory, "first", "testpmd", *port("client", 2), "-p", "18622", "--peer", "127.0.0.1",
                    "--stats-period", "1")
    first.wait_for("Gbit/s")
    others = (("testpmd", "--server"), ("perf", "-R", "10.0.0.1"),
              ("nvme-perf", "--peer", "10.0.0.1", "--nqn", "nqn.2026-01.org.example:disks"))
    with concurrent.futures.ThreadPoolExecutor(len(others)) as pool:
        answers = pool.map(lambda other: run(other[0], *port("client", 3), *other[1:]), others)
    for other, answer in zip(others, answers):
        one_line(other[0], answer, 3, "net_memif0 has no link", "its socket has another client",
                 "its own socket and server")
    want(first.interrupt() == 0, first.text())  # nothing has disturbed it
    code, out, err = run("perf", *port("client", 3), "-R", "10.0.0.1")
    want("has no link" not in err, "the socket is free now", code, out, err)


@case
def port_of_an_exporter_is_named(_):
    for port in ("99999", "0", "http", ""):
        code, out, err = run("exporter", "--listen", "127.0.0.1:" + port)
        want(code == 2 and out == "" and f"port {port or 'missing'}" in err and "from 1 to 65535" in err, port, err)


@case
def perf_measures_the_requested_amount_or_reports_less(_):
    one_line("sizes", run("perf", "-a", "-s", "64", "--dry-run"), 2, "-a and -s 64", "Remove one")
    one_line("sizes", run("perf", "-s", "64", "-a", "--dry-run"), 2, "-a and -s 64", "Remove one")
    last_line("nothing", run("perf", "--op", "send", "--mode", "bw", "-D", "0.01", "--rx-rate", "1", "-t", "2"), 1,
              "no message completed in the measured time of 0.0", "longer -D")


@case
def both_nvme_ends_name_a_missing_subsystem(directory):
    with Ends(directory, "--memory", "8M", "--control", directory + "/control") as ends:
        host = ends.host("wrong", nqn="nqn.2026-01.org.example:none")
        want(host.finish() == 1 and "no subsystem has that NQN" in host.text(), host.text())
        ends.target.wait_for("queue 0 of subsystem nqn.2026-01.org.example:none: no subsystem has that NQN")
        code, _, err = run("nvmetcli", "--control", directory + "/control", "resize", DISK, "1", "0")
        want(code == 1 and "resize" in err and " 1 0: " in err and "512 bytes or more" in err, err)


@case
def nvmetcli_lists_its_commands_without_a_target(directory):
    code, out, err = run("nvmetcli", "--control", directory + "/none", "help")
    want(code == 0 and err == "" and "resize NQN NSID SIZE\n" in out, out, err)
    want("disconnect CNTLID|HOST-NQN\n" in out, out)


if __name__ == "__main__":
    sys.exit(main("sentences", CASES))
