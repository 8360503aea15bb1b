#!/usr/bin/env python3
# programs.py - the programs as users run them: ports, peers, signals, wrong options
# SPDX-License-Identifier: BSD-3-Clause
"""programs.py BUILD: prints TAP.

No root, hugepages or NIC needed.
"""
import ctypes
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import threading
import time

from cases import DATA, EAL, Running, counter, main, one_line, program, run, run_unprivileged, want

CASES = []
WATCHDOG_S = 11  # uroce-perf gives up after 10 s without an acknowledgement, and some tries


def case(function):
    CASES.append(function)
    return function


@case
def trace_shows_the_history_of_queue_pairs(directory):
    if shutil.which("babeltrace") is None:
        print("# babeltrace is not installed")
        return
    words = ["--op", "write", "--mode", "bw", "-n", "20000", "-u", "6", "--retry-cnt", "1", "--loss", "0.5"]
    code, out, err = run("perf", "--trace=uroce.*", "--trace-dir=" + directory, "--", *words)
    want(code == 1, code, out, err)
    told = subprocess.run(["babeltrace", directory], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    want(told.returncode == 0, told.stdout)
    qp = r".*port_id = 0x[0-9A-F]+, qp_num = 0x[0-9A-F]+, "
    for pattern in (r"uroce\.qp\.state:" + qp + 'before = "INIT", after = "RTR"',
                    r"uroce\.qp\.timeout:" + qp + r"psn = 0x[0-9A-F]+, retries_left = 0x[01] ",
                    r"uroce\.qp\.failed:" + qp +
                    r'status = "RETRY_EXC_ERR", cause = 0x[0-9A-F]+, responder = 0x0, psn = 0x[0-9A-F]+',
                    r"uroce\.event:" + qp + 'what = "QP_FATAL"'):
        want(re.search(pattern, told.stdout), pattern, told.stdout[:3000])
    quiet = os.path.join(directory, "quiet")
    os.mkdir(quiet)
    run("perf", "--trace-dir=" + quiet, "--", "--op", "write", "--mode", "bw", "-n", "10")
    left = [name for _, _, names in os.walk(quiet) for name in names]
    want("metadata" not in left, "without --trace there is none", left)


@case
def missing_port_exits_with_status_3(_):
    for name, *arguments in (
            ("testpmd", "--device", "net_af_packet0,iface=no-such", "--ip", "10.0.0.1/24", "--server"),
            ("testpmd", "--device", "net_af_packet0,iface=no-such", "--ip", "10.0.0.1/24", "--peer", "127.0.0.1"),
            ("testpmd", "--config", "/no/such/file.ini"),
            ("perf", "--device", "net_af_packet0,iface=no-such", "--ip", "10.0.0.1/24", "127.0.0.1"),
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
def testpmd_prints_its_settings_at_the_start(directory):
    pmd = Running(directory, "pmd", "testpmd", "--qps", "3")
    try:
        pmd.wait_for("until Ctrl-C")
        text = pmd.text()
        want("lcore 0: port 0 queue 0 port 1 queue 0" in text, text)
        want("3 queue pairs from port 0 to port 1: write:1,read:1,send:1,fadd:1, 4096 bytes" in text, text)
        want(pmd.interrupt() == 0, pmd.text())
    finally:
        pmd.kill()


@case
def testpmd_names_the_invalid_line_of_a_file(directory):
    path = os.path.join(directory, "commands")
    typo = "show lcore # behind it\n\n# alone\nshow prot stats all\nquit\n"
    for lines, number, reason in ((typo, 4, "wrong arguments"),
                                  ("nothing\n", 1, "no such command"), ("show port info all\nst\n", 2, "")):
        open(path, "w").write(lines)
        code, out, err = run("testpmd", "--cmdline-file", path)
        want(code == 2 and f"{path}:{number}: " in err and reason in err, lines, code, out, err)
    open(path, "w").write("load " + path + "2\nshow lcore\nquit\n")
    open(path + "2", "w").write("# another\nshow inject\n")
    code, out, err = run("testpmd", "--cmdline-file", path)
    want(code == 0 and "port 1: loss 0" in out and "lcore 0:" in out, code, out, err)


@case
def testpmd_injects_faults_and_reports_why_queue_pairs_failed(directory):
    """Through a pipe: what is typed comes when something has happened."""
    pmd = subprocess.Popen([program("testpmd"), "-i", "-a", "--qps", "2", "--mix", "write:1", "--loss", "1%"],
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                           errors="replace")
    killer = threading.Timer(240, pmd.kill)  # which ends a wait for what is never printed
    killer.start()
    told = []

    def ask(command, pattern):
        if command:
            pmd.stdin.write(command + "\n")
            pmd.stdin.flush()
        while True:
            line = pmd.stdout.readline()
            want(line, "it has ended", command, pattern, *told[-20:])
            told.append(line)
            if re.search(pattern, line):
                return line
    try:
        ask("", "2 queue pairs from port 0")
        ask("show inject", r"port 0: loss 0.01 dup 0")
        end, lost = time.monotonic() + 20, 0
        while lost == 0:
            want(time.monotonic() < end, "nothing is lost", *told[-20:])
            time.sleep(0.1)
            ask("show inject", r"port 1: loss 0.01")
            lost = int(re.search(r"(\d+) lost, ", ask("", " lost, "))[1])
        ask("inject off", "port 1: loss 0 dup 0 reorder 0 corrupt 0$")
        ask("inject dup 0.5 port 1", "port 1: loss 0 dup 0.5")
        for wrong in ("inject loss 2", "inject loss x", "inject loss -1", "inject loss 101%", "inject loss 0.1 port 2"):
            ask(wrong, "use 0 ... 1|use a port from 0 to 1")
        ask("why 0x1", "does not exist")
        ask("inject cut", "port 1: .*, cut$")
        dead = re.search(r"QP (0x\w+): RETRY_EXC_ERR", ask("", "RETRY_EXC_ERR"))[1]
        ask("", "all 2 sending queue pairs are in ERR")
        ask("why " + dead, rf"QP {dead} in ERR: RETRY_EXC_ERR: .*(Look|Found): ")
        ask("show qp " + dead, rf"QP {dead}: ERR, lcore 0, port 0")
        ask("", "local_ack_timeout_err +[1-9]")
        ask("help faults", "inject loss")
        ask("quit", "final statistics")
        pmd.communicate(timeout=60)
        want(pmd.returncode == 1, pmd.returncode)
    finally:
        killer.cancel()
        pmd.kill()
        pmd.wait()


@case
def terminal_input_is_not_overwritten(_):
    """A line is begun; a second later statistics come; then the line stands behind them again, and can be ended."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(program("testpmd"), ["uroce-testpmd", "-i", "-a", "--qps", "1", "--stats-period", "1"])
    told = b""

    def read_until(pattern, seconds=60):
        nonlocal told
        end = time.monotonic() + seconds
        while not re.search(pattern, told, re.S):
            want(time.monotonic() < end, "never", pattern, told[-2000:])
            if select.select([terminal], [], [], 0.2)[0]:
                told += os.read(terminal, 65536)
    try:
        read_until(rb"uroce> ")
        os.write(terminal, b"show lc")
        told = b""
        read_until(rb"\r\x1b\[K[^\n]*messages/s[^\n]*\n[^\n]*uroce> show lc")
        told = b""
        os.write(terminal, b"ore\n")
        read_until(rb"lcore 0: .* busy")
        os.write(terminal, b"quit\n")
        read_until(rb"final statistics")
    finally:
        os.kill(pid, signal.SIGKILL)
        os.close(terminal)
        os.waitpid(pid, 0)


@case
def ctrl_c_at_the_prompt_ends_as_documented(_):
    """As quit does, with final statistics; and so does Ctrl-D. The terminal is then as it was."""
    for key in (b"\x03", b"\x04"):
        pid, terminal = pty.fork()
        if pid == 0:
            script = "trap : INT; " + program("testpmd") + " -i; echo status $?; stty -a; sleep 60"
            os.execvp("sh", ["sh", "-c", script])
        told, end = b"", time.monotonic() + 30
        try:
            while not re.search(rb" icanon.*echo ", told, re.S):
                want(time.monotonic() < end, key, told[-2000:])
                if select.select([terminal], [], [], 0.2)[0]:
                    told += os.read(terminal, 65536)
                if key and b"uroce> " in told:
                    os.write(terminal, key)
                    key = b""
            want(b"final statistics" in told and b"status 0" in told, told[-2000:])
        finally:
            os.kill(pid, signal.SIGKILL)
            os.close(terminal)
            os.waitpid(pid, 0)


@case
def signal_to_any_thread_ends_the_prompt(_):
    """No read() of a key is there to be interrupted: the signal is another thread's."""
    pmd = subprocess.Popen([program("testpmd"), "-i"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT)
    try:
        told = b""
        while b"uroce> " not in told:
            want(select.select([pmd.stdout], [], [], 20)[0], told)
            told += os.read(pmd.stdout.fileno(), 65536)
        thread = max(int(name) for name in os.listdir(f"/proc/{pmd.pid}/task"))
        want(thread != pmd.pid and ctypes.CDLL(None).tgkill(pmd.pid, thread, signal.SIGINT) == 0, thread)
        want(pmd.wait(20) == 0, pmd.returncode)  # and that while more may be typed
        want(b"final statistics" in pmd.stdout.read(), "final statistics")
    finally:
        pmd.kill()
        pmd.wait()


@case
def interrupt_ends_the_wait_for_a_target_at_once(directory):
    pmd = Running(directory, "pmd", "testpmd", *EAL, "--vdev=net_null0", "--", "--device", "net_null0", "--ip",
                  "10.0.0.2/24", "--peer", "127.0.0.1", "--port", "18615")
    try:
        time.sleep(1)  # it tries for ten
        code = pmd.interrupt(9)
        want(code == 130 and pmd.text().splitlines()[-1] == "uroce-testpmd: interrupted", code, pmd.text())
    finally:
        pmd.kill()


@case
def every_shipped_settings_file_is_valid(_):
    config = os.path.join(DATA, "..", "..", "config")
    names = [name for name in os.listdir(config) if name.endswith(".ini")]
    want(len(names) >= 4, names)
    for name in names:
        program, words = ("nvmet", "namespace 1 of") if name == "nvmet.ini" else ("testpmd", "(file)")
        code, out, err = run(program, "--config", os.path.join(config, name), "--dry-run")
        absent = code == 3 and re.search("there is no port|packet sockets require root", err)
        want(absent or (code == 0 and words in out), name, code, out, err)


@case
def net_pcap_reads_a_capture_and_counts_every_frame_by_kind(directory):
    out = os.path.join(directory, "out.pcap")
    pmd = Running(directory, "pmd", "testpmd", *EAL,
                  f"--vdev=net_pcap0,rx_pcap={DATA}/perftest-ipv4.pcap,tx_pcap={out}", "--", "--device", "net_pcap0",
                  "--ip", "10.9.0.3/24", "--server", "--stats-period", "1")
    try:
        pmd.wait_for("until Ctrl-C")
        time.sleep(1)
        want(pmd.interrupt() == 0, "status", pmd.text())
        text = pmd.text()
        kinds = ("drop_unknown_qpn", "rx_other_address", "drop_not_roce", "drop_neighbour", "rx_neighbour")
        want(counter(text, "drop_unknown_qpn") == 140 and counter(text, "rx_other_address") == 120, text)
        want(sum(counter(text, kind) for kind in kinds) == 451 and "received 451 frames" in text, text)
    finally:
        pmd.kill()
    code, text, err = run("decode", out)
    # In the capture another station has 10.9.0.3, and says so: an answer to its peer, and a defence.
    want(code == 0 and text.strip().endswith("2 frames, 0 RoCE, 0 bad"), "ARP: reply, announcement", code, text, err)


@case
def net_null_zero_frames_are_counted_until_the_end(directory):
    pmd = Running(directory, "pmd", "testpmd", *EAL, "--vdev=net_null0", "--", "--device", "net_null0", "--ip",
                  "10.9.0.3/24", "--server")
    try:
        pmd.wait_for("until Ctrl-C")
        time.sleep(1)
        want(pmd.interrupt() == 0, "status", pmd.text())
        want(counter(pmd.text(), "drop_not_roce") > 0, pmd.text())
    finally:
        pmd.kill()


def memif(directory, role, mac):
    return [*EAL, "--file-prefix", role, f"--vdev=net_memif0,role={role},socket={directory}/memif.sock,"
            f"socket-abstract=no,mac={mac}", "--"]


@case
def testpmd_sends_traffic_to_a_target_over_memif(directory):
    port = ["--device", "net_memif0", "--port", "18600"]
    target = Running(directory, "target", "testpmd", *memif(directory, "server", "02:00:00:00:00:01"), *port, "--ip",
                     "10.1.0.1/24", "--server", "--stats-period", "1")
    peer = None
    try:
        target.wait_for("serving peers")
        peer = Running(directory, "peer", "testpmd", *memif(directory, "client", "02:00:00:00:00:02"), *port, "--ip",
                       "10.1.0.2/24", "--peer", "127.0.0.1", "--stats-period", "1", "--mix",
                       "write:1,send_inv:1,read:1")
        peer.wait_for(r"messages/s")
        target.wait_for(r"[1-9]\d* requests/s served, received +\d+\.\d+ Gbit/s")
        want(peer.interrupt() == 0, "peer's status", peer.text())
        target.wait_for("the peer has left")
        want(target.interrupt() == 0, "target's status", target.text())
        want(min(counter(target.text(), f"rx_{what}_requests") for what in ("write", "send")) > 0, target.text())
        want("failed" not in peer.text(), peer.text())
    finally:
        target.kill()
        if peer:
            peer.kill()


@case
def testpmd_reaches_a_peer_behind_a_gateway_in_a_vlan(directory):
    """Each end is the other one's gateway; what the client of the memif sends and receives carries the tag."""
    ini, commands, frames = (os.path.join(directory, name) for name in ("ini", "commands", "frames"))
    open(ini, "w").write("[port.0]\ndevice=net_memif0\nip=10.1.0.2/24\ngateway=10.1.0.1\nip=10.9.0.254/24\n"
                         "vlan=100:3\n[traffic]\nport=18602\npeer=127.0.0.1\n")
    open(commands, "w").write(f"capture {frames} bytes 100\nstart\n")
    target = Running(directory, "target", "testpmd", *memif(directory, "server", "02:00:00:00:00:01"), "-d",
                     "net_memif0", "--ip", "10.9.0.1/24", "--gateway", "10.9.0.254", "--ip", "10.1.0.1/24", "--vlan",
                     "100:3", "--server", "-p", "18602")
    peer = None
    try:
        target.wait_for("serving peers")
        peer = Running(directory, "peer", "testpmd", *memif(directory, "client", "02:00:00:00:00:02"), "--config", ini,
                       "--cmdline-file", commands)
        peer.wait_for("frames of 1 ports")
        time.sleep(1)
        want(peer.interrupt() == 0, peer.text())
        want(target.interrupt() == 0 and counter(target.text(), "rx_write_requests") > 0, target.text())
        _, out, _ = run("decode", frames)
        lines = [line for line in out.splitlines() if "10.1.0.2" in line]
        want(len(lines) > 10 and all("vlan=100" in line and "10.9.0.1" in line for line in lines), out[:2000])
    finally:
        target.kill()
        if peer:
            peer.kill()
    for options, words in ((("--gateway", "10.0.0.9"), "--device"),
                           (("-d", "x", "--gateway", "10.0.0.9"), "put it after its ip"),
                           (("-d", "x", "--ip", "10.0.0.1", "--gateway", "here"), "must be an address"),
                           (("-d", "x", "--vlan", "4095"), "--vlan 4095"), (("--vlan", "1"), "--device")):
        code, _, err = run("testpmd", *options)
        want(code == 2 and words in err, options, err)


@case
def perf_over_memif_checks_every_byte(directory):
    options = ["--device", "net_memif0", "-p", "18601"]
    work = ["--op", "send", "-n", "300", "-s", "5000", "-m", "512", "--verify"]
    server = Running(directory, "server", "perf", *memif(directory, "server", "02:00:00:00:00:01"), *options,
                     "--server", "--ip", "fe80::1/64")
    client = None
    try:
        server.wait_for("waiting for a client")
        client = Running(directory, "client", "perf", *memif(directory, "client", "02:00:00:00:00:02"), *options, *work,
                         "--ip", "fe80::2/64", "127.0.0.1")
        want(client.finish() == 0, "client's status", client.text(), server.text())
        want(server.finish() == 0, "server's status", server.text())
        want(client.text().count("messages checked, 0 wrong bytes") == 2, client.text())
    finally:
        server.kill()
        if client:
            client.kill()


@case
def invalid_eal_option_is_one_line(_):
    for name in ("perf", "testpmd"):
        for words, told in ((["-l", "99"], "lcore 99"), (["--foo"], "--foo"), (["-n", "0"], "channel"),
                            (["-c", "0"], "coremask")):
            one_line(name, run(name, *words, "--"), 2, told, "-h before --")
        one_line(name, run(name, "--huge-dir", "/no/such", "--"), 3, "nr_hugepages")
    code, out, err = run("perf", "-h", "--")
    want(code == 0 and "Usage" in out, "who asks for EAL's options gets them", code, out, err)


@case
def refused_port_names_the_fix(directory):
    ours = ["--ip", "10.0.0.1/24"]
    for name, *more in (("perf", "--server"), ("testpmd", "--server")):
        for device, words in (("net_af_packet0,iface=lo", ("CAP_NET_RAW", "root", "setcap")),
                              ("net_tap0", ("CAP_NET_ADMIN", "root", "setcap"))):
            one_line(name, run_unprivileged(directory, name, "--device", device, *ours, *more), 3, *words)
        one_line(name, run(name, "--device", "ffff:00:1f.0", *ours, *more), 3, "ffff:00:1f.0", "lspci")
    devices = "/sys/bus/pci/devices"
    for address in sorted(os.listdir(devices))[:1] if os.path.isdir(devices) else []:
        one_line("perf", run("perf", "--device", address, *ours, "--server"), 3, address, "vfio-pci")
    if os.geteuid() == 0:
        one_line("perf", run("perf", "--device", "net_af_packet0,iface=no-such", *ours, "--server"), 3, "no-such",
                 "ip link")


@case
def duplicate_or_invalid_settings_are_reported_in_file_terms(directory):
    ini = os.path.join(directory, "a.ini")
    for text, *words in (("[traffic]\nsize=512\nqps=2\nsize=1024\n", "[traffic] size appears twice", "512", "1024"),
                         ("[traffic]\nsize=512\n[lcores]\nnb-cores=1\n[traffic]\nqps=2\n", "[traffic] appears twice"),
                         ("[port.0]\ndevice=a\ndevice=b\nip=10.0.0.1/24\n", "[port.0] device appears twice"),
                         ("[lcores]\nnb-cores=99\n", "[lcores] nb-cores", "99", "16"),
                         ("[traffic]\ntx-depth=0\n", "[traffic] tx-depth", "4096"),
                         ("[traffic]\nmtu=300\n", "[traffic] mtu 300", "512"),
                         ("[traffic]\nmix=fly:1\n", "[traffic] mix", "fly:1"),
                         ("[traffic]\nserver=1\n", "[traffic] server", "[port.0]"),
                         ("[traffic]\nqps=9\n[limits]\nlimit-qps=10\n", "[traffic] qps 9", "[limits] limit-qps 10")):
        open(ini, "w").write(text)
        one_line(text, run("testpmd", "--config", ini, "--dry-run"), 2, ini, *words)
    open(ini, "w").write("[traffic]\nmtu=512\n[port.0]\ndevice=net_ring0\nip=10.0.0.1/24\nip=10.0.0.2/24\n")
    one_line("both", run("testpmd", "--config", ini, "--server", "--mtu", "300", "--dry-run"), 2, "--mtu 300")
    code, out, err = run("testpmd", "--config", ini, "--server", "--dry-run")
    want(code == 0 and "10.0.0.2/24" in out, "a port may have two addresses", code, out, err)


@case
def missing_listener_exits_with_status_3_in_every_program(directory):
    port, clients = ["--device", "net_ring0", "--ip", "10.1.0.2/24"], []
    for name, *more in (("perf", "-p", "18603", "127.0.0.1"),
                        ("testpmd", "--idle", "sleep", "--port", "18603", "--peer", "127.0.0.1")):
        clients.append(Running(directory, name, name, *port, *more))
    try:
        for client in clients:
            code = client.finish()
            want(code == 3 and "18603" in client.text() and "refused" in client.text(), code, client.text())
    finally:
        for client in clients:
            client.kill()


@case
def interrupted_run_leaves_its_results_as_text_and_json(directory):
    """Also one that only a signal ends; what had been finished before is kept by whoever is killed."""
    path, page = os.path.join(directory, "x.json"), os.path.join(directory, "x.html")
    case = ["--op", "write", "--mode", "bw", "--json", path]
    open(path, "w").write("what an earlier run left" * 1000)
    perf = Running(directory, "endless", "perf", *case, "-s", "4096", "--run_infinitely", "--report", page)
    perf.wait_for(r"(?s)\.\.\. .*\.\.\. ")
    want(perf.interrupt() == 130 and perf.text().endswith("uroce-perf: interrupted\n"), perf.text())
    results = json.load(open(path))
    want(results["interrupted"] and len(results["results"]) == 1, results)
    want(results["results"][0]["messages"] > 0 and results["results"][0]["seconds"] > 1, results)
    want(re.search(r"^ 4096 +\d+ +[\d.]+ +[\d.]+", perf.text(), re.M), perf.text())
    want(open(page).read().rstrip().endswith("</html>"), "the page is not whole")
    perf = Running(directory, "killed", "perf", *case, "-s", "64,4096", "-D", "3")
    perf.wait_for(r"(?m)^ 64 +\d+ +[\d.]+")
    perf.kill()
    results = json.load(open(path))
    want(results["interrupted"] and [one["size_bytes"] for one in results["results"]] == [64], results)


@case
def unwritable_output_is_a_failure(directory):
    del directory
    for name, arguments in (("perf", ["--op", "write", "-n", "5"]), ("perf", ["--help"]), ("testpmd", ["--help"]),
                            ("nvme-perf", ["--help"])):
        for where in (">/dev/full", ">&-"):
            done = subprocess.run(["sh", "-c", f'exec "$@" {where}', "sh", program(name), *arguments],
                                  stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=60)
            want(done.returncode == 3, name, arguments, where, done.returncode, done.stderr)
            want(done.stderr.count("cannot write standard output") == 1, name, arguments, where, done.stderr)


@case
def table_has_only_rows_and_no_unmeasured_peak(directory):
    del directory
    status, text, told = run("perf", "--op", "write", "--mode", "bw", "-s", "4096", "-D", "2.5")
    want(status == 0 and "..." not in text and told.count("...") >= 1, text, told)
    peak, average = re.search(r"^ 4096 +\d+ +([\d.]+) +([\d.]+)", text, re.M).groups()
    want(float(peak) >= float(average), text)
    for arguments in (("-n", "5"), ("-N", "-D", "0.2")):
        status, text, _ = run("perf", "--op", "write", "--mode", "bw", "-s", "64", *arguments)
        want(status == 0 and re.search(r"^ 64 +\d+ +- +[\d.]+", text, re.M), arguments, text)
    slow = run("perf", "--server", "--rx-rate", "5", "-d", "loop", "--dry-run")
    one_line("slow server", slow, 2, "--rx-rate 5", "client")


@case
def waiting_program_reports_dropped_frames(directory):
    """Every frame is damaged: "no answer" alone would let a user look for the peer."""
    del directory
    status, _, told = run("perf", "--op", "write", "--mode", "bw", "-n", "5", "--corrupt", "1", "-u", "15")
    want(status == 1 and re.search(r"uroce-perf: port \S+ dropped \d+ frames: .*\(rx_icrc_encapsulated\)", told), told)


@case
def slow_but_moving_message_is_not_reported_as_stalled(directory):
    """Nothing completes for longer than the watchdog waits; frames are lost, and yet packets are acknowledged. More of
    them on a machine that is done before the watchdog would have barked. With SACKs every machine is."""
    for loss in ("0.06", "0.09", "0.12", "0.18"):
        perf = Running(directory, loss, "perf", "--op", "write", "--mode", "bw", "-b", "-s", "1073741824", "-n", "1",
                       "-m", "256", "--loss", loss, "-u", "8", "--sack-window", "off")
        while perf.process.poll() is None and perf.text().count("...") <= WATCHDOG_S:
            time.sleep(0.2)
        if perf.text().count("...") > WATCHDOG_S:
            rates = sorted(float(rate) for rate in re.findall(r"\.\.\. ([\d.]+) Gb/s, 0.000000 M", perf.text()))
            want(rates[len(rates) // 2] > 0, "a line tells what was acknowledged", perf.text())
            want(perf.process.poll() in (None, 0) and "stalled" not in perf.text(), perf.text())
            return
        want(perf.finish() == 0, perf.text())
    want(False, "it was too fast to show anything", perf.text())


@case
def perf_prints_progress_and_ends_at_once_when_interrupted(directory):
    """With both ends in one process, and each of two."""
    work = ["--op", "write", "--mode", "bw", "-D", "60"]
    perf = Running(directory, "perf", "perf", *work, "--loss", "0.01")
    server = Running(directory, "server", "perf", *memif(directory, "server", "02:00:00:00:00:01"), "--device",
                     "net_memif0", "-p", "18604", "--ip", "fe80::1/64", "--server")
    client = None
    try:
        perf.wait_for(r"\.\.\. .*M messages/s, [1-9]\d* packets retransmitted, \d+ probes\n.*\.\.\. .*M messages/s")
        want(perf.interrupt() == 130 and perf.text().endswith("uroce-perf: interrupted\n"), perf.text())
        server.wait_for("waiting for a client")
        client = Running(directory, "client", "perf", *memif(directory, "client", "02:00:00:00:00:02"), "--device",
                         "net_memif0", "-p", "18604", "--ip", "fe80::2/64", *work, "127.0.0.1")
        client.wait_for(r"(?s)messages/s.*messages/s")
        server.process.send_signal(signal.SIGSTOP)  # otherwise it may end first, as its client has left
        want(client.interrupt() == 130 and client.text().endswith("uroce-perf: interrupted\n"), client.text())
        server.process.send_signal(signal.SIGINT)
        server.process.send_signal(signal.SIGCONT)
        want(server.finish() == 130 and server.text().endswith("uroce-perf: interrupted\n"), server.text())
    finally:
        for end in (perf, server, client):
            if end:
                end.kill()
    code, out, err = run("perf", "--help")
    want("130" in out, out)


@case
def two_simultaneous_signals_are_reported_once(directory):
    for number in range(12):
        own = os.path.join(directory, str(number))  # the socket of one that was interrupted stays
        os.mkdir(own)
        server = Running(own, "server", "perf", *memif(own, "server", "02:00:00:00:00:01"), "--device",
                         "net_memif0", "-p", "18604", "--ip", "fe80::1/64", "--server")
        server.wait_for("waiting for a client")
        server.process.send_signal(signal.SIGTERM)
        want(server.interrupt() == 130 and server.text().count("interrupted") == 1, server.text())


if __name__ == "__main__":
    sys.exit(main("programs", CASES))
