#!/usr/bin/env python3
# monitor.py - running programs seen from outside: the telemetry socket, uroce-top, uroce-devinfo, uroce-exporter
# SPDX-License-Identifier: BSD-3-Clause
"""monitor.py BUILD: prints TAP. Prometheus, if there is one, scrapes the exporter and is asked what the dashboard
asks."""
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

from cases import BUILD, PATIENCE_S, Running, main, one_line, program, run, run_unprivileged, want

sys.path.insert(0, os.path.join(BUILD, "app"))
import uroce_telemetry  # noqa: E402

uroce_telemetry.WAIT = PATIENCE_S  # a machine that writes to a slow disk may stand still for longer than 5 s
ROOT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..")
CASES = []


def case(function):
    CASES.append(function)
    return function


class Pmd:
    """uroce-testpmd between loop ports, and its telemetry."""

    def __init__(self, directory, *options, tag="pmd"):
        self.running = Running(directory, tag, "testpmd", "--idle", "yield", *options)
        self.prefix = f"uroce-{self.running.process.pid}"

    def __enter__(self):
        self.running.wait_for("outstanding requests", 20)
        found = uroce_telemetry.instances(self.prefix)
        want(len(found) == 1, "it does not show", self.running.text())
        self.instance = found[0]
        return self

    def __exit__(self, *_):
        self.instance.close()
        self.running.kill()

    def folder(self):
        return [path for path in (os.path.join(one, self.prefix) for one in uroce_telemetry.folders())
                if os.path.isdir(path)]


@case
def process_has_its_own_socket_and_removes_it(directory):
    with Pmd(directory) as one, Pmd(directory, tag="other") as other:
        for pmd in (one, other):
            info = pmd.instance.ask("/uroce/info")
            want(info["pid"] == pmd.running.process.pid and info["program"] == "uroce-testpmd", info)
            want(info["ports"] == 2 and info["lcores"] == 1 and info["qps"] == 8, info)
            want(re.fullmatch(r"\d+\.\d+\.\d+", info["version"]), info)
        want(one.running.interrupt() == 0 and one.folder() == [], one.folder(), one.running.text())
        other.running.process.kill()
        other.running.process.wait()
        want(len(other.folder()) == 1, "a process that is killed cannot clear up")
        with Pmd(directory, tag="next"):
            want(other.folder() == [], "the next one does", other.folder())


@case
def stopped_program_does_not_block_others(directory):
    """It has a line; whoever asked it would wait for seconds, and each time again."""
    with Pmd(directory) as one, Pmd(directory, tag="other") as other:
        one.running.process.send_signal(signal.SIGSTOP)
        try:
            code, out, err = run("top", "--once", "--interval", "0.5")
        finally:
            one.running.process.send_signal(signal.SIGCONT)
        want(code == 0 and err == "" and f"{other.prefix}: uroce-testpmd" in out, code, out, err)
        want(f"{one.prefix}: process {one.running.process.pid} is stopped" in out, out)
        want(f"{one.prefix}: uroce-testpmd" not in out, out)


@case
def every_command_answers(directory):
    with Pmd(directory) as pmd:
        ask = pmd.instance.ask
        want(pmd.instance.ports() == [0, 1], pmd.instance.ports())
        for number, address in ((0, "10.0.0.1/24"), (1, "10.0.0.2/24")):
            port = ask("/uroce/port/info", number)
            want(port["link"] == "up" and port["addresses"][0] == address and port["qps"] == 4, port)
            want((port["interface"], port["link_mbps"], port["port_mtu"]) == ("", 0, 0), "of a loop", port)
            want(port["regions"] >= 1 and port["max_path_mtu"] in (1024, 4096), port)
            first = ask("/uroce/counters", number)
            time.sleep(0.3)
            second = ask("/uroce/counters", number)
            want(second["rx_frames"] > first["rx_frames"] and second["tx_bytes"] > first["tx_bytes"], first, second)
            want(all(second[name] >= first[name] for name in first), first, second)
        texts = ask("/uroce/counters/help")
        want(set(texts) == set(first) - {"rx_frames", "tx_frames", "rx_bytes", "tx_bytes"}, set(texts) ^ set(first))
        want(all(" " in text for text in texts.values()), texts)
        regions = ask("/uroce/mr/list", 1)
        want(regions["all"] == 1 == len(regions["regions"]), regions)
        want(re.fullmatch(r"region 0x\w+ bytes \d+ domain \d+ local_write remote_read remote_write remote_atomic",
                          regions["regions"][0]), regions)
        lcore = ask("/uroce/lcore/info", 0)
        want(lcore["qps"] == 8 and 0 < lcore["busy_ns"] <= lcore["since_ns"], lcore)
        qps = pmd.instance.qps()
        want(len(qps) == 8 == len(set(qps)), qps)
        for qpn in qps:
            qp = ask("/uroce/qp/info", qpn)
            peer = ask("/uroce/qp/info", f"{qp['peer_qpn']:#x}")
            want(qp["qpn"] == qpn and qp["state"] == "RTS" and qp["error"] == "SUCCESS", qp)
            want(peer["peer_qpn"] == qpn and peer["dest"] == qp["source"] and peer["mtu"] == qp["mtu"], qp, peer)
            want("nothing has failed" in ask("/uroce/qp/why", qpn), ask("/uroce/qp/why", qpn))
        served = [ask("/uroce/qp/stats", qpn) for qpn in qps]
        want(sum(stats["rx_write_requests"] for stats in served) > 0, served)
        want(ask("/uroce/cm")["connections"] == 0, ask("/uroce/cm"))


@case
def capture_is_available_with_shared_configuration(directory):
    """By dpdk-dumpcap: its counters lie in memory that DPDK shares. Who lets nobody in has none."""
    def serves_dumpcap(prefix, pmd):
        pmd.wait_for("outstanding requests", 20)
        instance = uroce_telemetry.instances(prefix)[0]
        zones = [instance.ask("/eal/memzone_info", zone)["Name"] for zone in instance.ask("/eal/memzone_list")]
        instance.close()
        pmd.kill()
        return "rte_pdump_stats" in zones

    prefix = f"uroce-shared{os.getpid()}"
    shares = Running(directory, "shares", "testpmd", "--no-huge", "--no-pci", "-m", "192", "--file-prefix", prefix,
                     "--", "--idle", "yield")
    want(serves_dumpcap(prefix, shares), shares.text())
    alone = Running(directory, "alone", "testpmd", "--idle", "yield")
    want(not serves_dumpcap(f"uroce-{alone.process.pid}", alone), alone.text())


@case
def invalid_query_is_answered_with_a_sentence(directory):
    with Pmd(directory) as pmd:
        unused = next(number for number in range(2, 100) if number not in pmd.instance.qps())
        for command in ("/uroce/qp/info", "/uroce/qp/stats", "/uroce/qp/why", "/uroce/port/info", "/uroce/counters",
                        "/uroce/lcore/info", "/uroce/mr/list"):
            missing = {"port": 7, "counters": 65536, "lcore": 1}.get(command.split("/")[2], unused)
            answer = pmd.instance.ask(command, missing)
            want("no object with this number exists" in answer, command, answer)
            for wrong in (None, "x", "-1", "1x", "4294967296", "99999999999999999999"):
                answer = pmd.instance.ask(command, wrong)
                want(isinstance(answer, str) and "Parameters:" in answer, command, wrong, answer)
        want("No parameters" in pmd.instance.ask("/uroce/info", 1), pmd.instance.ask("/uroce/info", 1))
        want(pmd.running.process.poll() is None, pmd.running.text())


@case
def many_queue_pairs_are_listed_page_by_page(directory):
    with Pmd(directory, "--qps", "300") as pmd:
        qps = pmd.instance.qps()
        want(len(qps) == 600 == len(set(qps)), len(qps))
        page = pmd.instance.ask("/uroce/qp/list")
        want(len(page["qps"]) == 256 and page["next"] > 0, page)


@case
def top_shows_ports_lcores_and_the_busiest_queue_pairs(directory):
    with Pmd(directory) as pmd:
        code, out, err = run("top", "--once", "--file-prefix", pmd.prefix, "--interval", "0.5")
        want(code == 0 and err == "", code, out, err)
        want(len(re.findall(r"^net_ring_\S+ +up +\d\S* +\d+\.\d\d ", out, re.M)) == 2, out)
        want(re.search(r"^lcore +busy +starved +QPs$", out, re.M) and re.search(r"^0 +\d+% +\d+% +8$", out, re.M), out)
        rates = [float(sent.rstrip("kM")) for sent in re.findall(r"^0x\w{6} +RTS +0x\w{6} +\S+ +(\S+)", out, re.M)]
        want(len(rates) == 8 and max(rates) > 0, out)
        number = re.search(r"^(0x\w{6})", out, re.M)[1]
        code, told, err = 1, "", "timed out"
        for _ in range(12):  # it waits for 5 s, and a busy machine may give the program no core for longer
            if "timed out" in err:
                code, told, err = run("top", "--why", number)
        want(code == 0 and re.match(rf"{pmd.prefix}: QP {number} in RTS: nothing has failed; in ", told), told, err)
        code, told, err = run("top", "--why", "0x1")
        want(code == 1 and "no program here has a queue pair 0x000001" in err, code, told, err)
        _, out, _ = run("top", "--once", "--file-prefix", pmd.prefix, "--interval", "100ms", "--rows", "3")
        want(len(re.findall(r"^0x", out, re.M)) == 3 and "8 queue pairs in all" in out, out)


@case
def bundle_has_settings_without_secrets_counters_and_records(directory):
    config, records = os.path.join(directory, "pmd.ini"), os.path.join(directory, "records")
    path = os.path.join(directory, "bundle.tar.gz")
    with open(config, "w") as file:
        file.write("; password = hunter2\n[traffic]\nqps=2\n")
    pmd = subprocess.Popen([program("testpmd"), "-i", "--config", config, "--record", records, "--timeout", "1",
                            "--retry-cnt", "0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True)
    killer = threading.Timer(60, pmd.kill)
    killer.start()
    try:
        pmd.stdin.write("start\ninject cut\n")
        pmd.stdin.flush()
        want(any("are in ERR" in line for line in pmd.stdout), "its queue pairs do not fail")
        prefix = f"uroce-{pmd.pid}"
        code, out, err = run("top", "--bundle", path, "--file-prefix", prefix)
        want(code == 0 and "read them before you publish them" in out, code, out, err)
    finally:
        killer.cancel()
        pmd.kill()
        pmd.communicate()
    with tarfile.open(path) as archive:
        found = {name.partition("/")[2]: archive.extractfile(name).read() for name in archive.getnames()}
    told = json.loads(found[f"{prefix}/telemetry.json"])
    want("uroce-top" in found["system.txt"].decode() and "/uroce/counters,0" in told, list(told)[:20])
    want(any(command.startswith("/uroce/qp/why") and "in ERR" in reply for command, reply in told.items()), told)
    settings = found[f"{prefix}/config.ini"].decode()
    want("qps=2" in settings and "hunter2" not in settings, settings)
    want(len([name for name in found if "/records/" in name and name.endswith(".pcapng")]) >= 1, list(found))
    want("--record" in found[f"{prefix}/command.txt"].decode(), found[f"{prefix}/command.txt"])
    one_line("top", run("top", "--bundle", "/nowhere/x.tar.gz"), 3, "/nowhere/x.tar.gz")


@case
def devinfo_shows_the_properties_of_a_port(directory):
    with Pmd(directory) as pmd:
        code, out, err = run("devinfo", "--file-prefix", pmd.prefix)
        want(code == 0 and err == "" and out.count("device:") == 2, code, out, err)
        want("0000:0000:0000:0000:0000:ffff:0a00:0001, RoCE v2, 10.0.0.1/24" in out, out)
        code, out, err = run("devinfo", "--file-prefix", pmd.prefix, "--json")
        ports = json.loads(out)
        want(code == 0 and [port["port"] for port in ports] == [0, 1] and ports[0]["qps"] == 4, ports)
        path = directory + "/ports.json"
        want(run("devinfo", "--file-prefix", pmd.prefix, "--json", path)[:2] == (0, ""), "only the file is written")
        want([port["port"] for port in json.load(open(path))] == [0, 1], open(path).read())
        code, out, err = run("devinfo", "--file-prefix", pmd.prefix, "--json", directory + "/none/x")
        one_line("json", (code, out, err), 3, "--json " + directory + "/none/x", "No such file")


class Leaver:
    """Looks like a program of uroce, and goes at the first question."""

    def __init__(self, folder):
        self.folder = os.path.join(folder, "uroce-0-leaver")
        self.path = os.path.join(self.folder, uroce_telemetry.SOCKET)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    def __enter__(self):
        os.makedirs(self.folder)
        self.socket.bind(self.path)
        self.socket.listen()
        threading.Thread(target=self.serve, daemon=True).start()
        return self

    def serve(self):
        with contextlib.suppress(OSError):  # the end of it
            while True:
                client, _ = self.socket.accept()
                client.send(json.dumps({"max_output_len": 1000}).encode())
                client.recv(1000)
                client.send(json.dumps({"/uroce/info": {"program": "leaver"}}).encode())
                client.close()

    def __exit__(self, *_):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        shutil.rmtree(self.folder)


@case
def program_that_ends_during_a_query_hides_no_other(directory):
    with Pmd(directory) as pmd, Leaver(os.path.dirname(pmd.folder()[0])):
        number = int(pmd.instance.qps()[0])
        code, told, err = run("top", "--why", hex(number))
        want(code == 0 and err == "" and told.startswith(f"{pmd.prefix}: QP 0x{number:06x} "), code, told, err)
        code, told, err = run("top", "--why", "1")
        want(code == 1 and "no program here has" in err and "uroce-0-leaver: /uroce/qp/why: " in err, code, err)
        code, told, err = run("devinfo")
        want(code == 0 and pmd.prefix in told and "uroce-0-leaver: /uroce/port/list: " in err, code, told, err)


@case
def absence_of_programs_is_reported(_):
    for name in ("top", "devinfo"):
        code, out, err = run(name, *(["--once"] if name == "top" else []), "--file-prefix", "no-such")
        want(code == 3 and out == "" and err.count("\n") == 1 and "no-such" in err, name, code, out, err)
    want(run("exporter", "--once", "--file-prefix", "no-such")[0] == 0, "a page without metrics is one")
    for words in (["--listen", "127.0.0.1"], ["--listen", "127.0.0.1:x"], ["--listen", "127.0.0.1:65536"],
                  ["--nothing"]):
        code, _, err = run("exporter", *words)
        want(code == 2 and words[-1] in err, words, code, err)
    for interval in ("0", "50ms", "2h", "1x", "ms", "-1", "nan"):
        one_line(interval, run("top", f"--interval={interval}"), 2, f"{interval}: use 0.1s ... 3600s")
    for name in ("top", "exporter"):
        one_line(name, run(name, "--qps", "3"), 2, f"uroce-{name}: --qps: use --rows N\n")


@case
def stopped_program_does_not_block_the_listing(directory):
    with Pmd(directory) as pmd:
        pmd.running.process.send_signal(signal.SIGSTOP)
        began = time.monotonic()
        code, _, err = run("top", "--once", "--file-prefix", pmd.prefix)
        took = time.monotonic() - began
        pmd.running.process.send_signal(signal.SIGCONT)
        want(code == 3 and f"process {pmd.running.process.pid} is stopped" in err, code, err, took)


# ---- the exporter ----

class Exporter:
    """uroce-exporter on a free port."""

    def __init__(self, directory, prefix, port):
        self.url = f"http://127.0.0.1:{port}/metrics"
        self.running = Running(directory, "exporter", "exporter", "--listen", f"127.0.0.1:{port}",
                               "--file-prefix", prefix)

    def __enter__(self):
        self.running.wait_for("metrics")
        return self

    def __exit__(self, *_):
        self.running.kill()


def get(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read().decode(), answer.headers["Content-Type"]


def metrics(text):
    """Values by name and labels; the form is checked: a type before the values, names together, nothing twice."""
    found, types, last = {}, {}, None
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            want(name not in types and kind in ("counter", "gauge"), line)
            types[name], last = kind, name
        elif not line.startswith("# HELP "):
            name, labels, value = re.fullmatch(r'(\w+)\{((?:\w+="[^"\\\n]*",?)*)\} (\S+)', line).groups()
            want(name == last and (name.endswith("_total") == (types[name] == "counter")), line)
            want((name, labels) not in found, "twice", line)
            found[name, labels] = float(value)
    return found


@case
def exporter_serves_growing_counters(directory):
    with Pmd(directory) as pmd, Exporter(directory, pmd.prefix, 19879) as exporter:
        text, kind = get(exporter.url)
        first = metrics(text)
        want("version=0.0.4" in kind, kind)
        for words in ("rx_frames_total frames received", "local_ack_timeout_err_total ACK timer expiries"):
            want(f"# HELP rdma_{words}\n" in text, words, text[:2000])
        time.sleep(0.5)
        second = metrics(get(exporter.url)[0])
        want(first.keys() == second.keys() and len(first) > 100, len(first), len(second))
        for (name, labels), value in first.items():
            want(not name.endswith("_total") or second[name, labels] >= value, name, labels)
        for name in ("rdma_rx_frames_total", "rdma_tx_bytes_total", "rdma_lcore_seconds_total"):
            sums = [sum(value for key, value in page.items() if key[0] == name) for page in (first, second)]
            want(sums[1] > sums[0], name, sums)
        states = {labels: value for (name, labels), value in second.items() if name == "rdma_qp_state"}
        want(sum(states.values()) == 8, states)
        try:
            get(exporter.url + "x")
            want(False, "another page is served")
        except urllib.error.HTTPError as error:
            want(error.code == 404, error)
        pmd.running.interrupt()
        want(metrics(get(exporter.url)[0]) == {}, "one that has ended is no more")


def ask_prometheus(query):
    text, _ = get("http://127.0.0.1:19090/api/v1/query?" + urllib.parse.urlencode({"query": query}))
    return json.loads(text)


def wait_for_answer(query, prometheus):
    end = time.monotonic() + 40
    while True:
        try:
            answer = ask_prometheus(query)
            if answer["data"]["result"]:
                return answer["data"]["result"]
        except urllib.error.HTTPError as error:
            want(error.code == 503, query, error.read().decode())  # it serves, but is not ready
        except OSError:
            pass  # it has not begun to serve
        want(time.monotonic() < end and prometheus.poll() is None, "no answer to", query)
        time.sleep(0.5)


@case
def exporter_without_rights_or_with_full_output_prints_one_line(directory):
    """As nobody the folder of root's programs may not be read; output that is lost is a failure."""
    closed = os.path.join(directory, "closed")
    os.mkdir(closed, 0o700)
    os.environ["RUNTIME_DIRECTORY"] = closed
    try:
        for name, arguments in (("top", ["--once"]), ("devinfo", []), ("exporter", ["--once"])):
            if os.geteuid() == 0:
                code, out, err = run_unprivileged(directory, name, *arguments)
                want(code == 3 and not out and err.count("\n") == 1, name, code, out, err)
                want("ermission denied: run it as root" in err, name, err)
            for where in (">/dev/full", ">&-"):
                done = subprocess.run(["sh", "-c", f'exec "$@" {where}', "sh", program(name), "--dry-run"],
                                      stderr=subprocess.PIPE, text=True, timeout=30)
                want(done.returncode == 3 and done.stderr.count("\n") == 1, name, where, done.returncode, done.stderr)
    finally:
        del os.environ["RUNTIME_DIRECTORY"]


@case
def prometheus_scrapes_and_answers_dashboard_queries(directory):
    if shutil.which("prometheus") is None:
        want(os.environ.get("CI") != "true", "prometheus is missing: test/support/install-packages monitor")
        print("# prometheus is missing: its queries were not asked", flush=True)
        return
    dashboard = json.load(open(os.path.join(ROOT, "config", "grafana-uroce.json")))
    config = os.path.join(directory, "prometheus.yml")
    with open(config, "w") as file:
        file.write("global: {scrape_interval: 1s}\nscrape_configs:\n- job_name: uroce\n  static_configs:\n"
                   "  - targets: ['127.0.0.1:19880']\n")
    command = ["prometheus", "--config.file", config, "--storage.tsdb.path", os.path.join(directory, "tsdb"),
               "--web.listen-address", "127.0.0.1:19090"]
    with Pmd(directory) as pmd, Exporter(directory, pmd.prefix, 19880), \
            open(os.path.join(directory, "log"), "w") as log:
        prometheus = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            want(wait_for_answer("up", prometheus)[0]["value"][1] == "1", open(log.name).read()[-2000:])
            queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
            want(len(queries) > 10, queries)
            for query in queries:
                wait_for_answer(query.replace("[1m]", "[10s]"), prometheus)
        finally:
            prometheus.kill()
            prometheus.wait()


if __name__ == "__main__":
    sys.exit(main("monitor", CASES))
