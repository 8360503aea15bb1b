#!/usr/bin/env python3
# options.py - what the options of programs promise: help, manual pages, ranges, plans, refusals, perftest's words
# SPDX-License-Identifier: BSD-3-Clause
"""options.py BUILD: prints TAP. No port, root or hugepages are needed."""
import json
import os
import re
import shutil
import socket
import subprocess
import sys

from cases import BUILD, Skipped, main, one_line, program, run, run_unprivileged, want

PROGRAMS = ("perf", "nvmet", "nvme-perf", "testpmd", "decode")
NO_PORT = ("nvmetcli", "top", "devinfo", "exporter", "report")
COMPLETION = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "config", "completion")
WORDS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "app", "common", "words.def")
CASES = []


def case(function):
    CASES.append(function)
    return function


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


@case
def every_program_prints_options_and_version_without_a_port(directory):
    for name in PROGRAMS + NO_PORT + ("trace",):
        code, out, err = run_unprivileged(directory, name, "--help")
        want(code == 0 and "uroce-" + name in out, name, "--help", code, out, err)
        code, out, err = run(name, "--version")
        want(code == 0 and re.match(rf"uroce-{name} \d+\.\d+\.\d+ \(DPDK (none|[\d.]+), libibverbs (none|[\d.]+)\)\n$",
                                    out), name, "--version", code, out, err)


@case
def each_manual_page_has_every_word_of_help(_):
    """In sections: how it is called, what it does, and what it ends with."""
    pages = [name for name in os.listdir(os.path.join(BUILD, "app")) if name.endswith(".1")]
    want(len(pages) >= 9, pages)
    for page in pages:
        program_name = page[len("uroce-"):-2]
        text = subprocess.run([program(program_name), "--help"], stdout=subprocess.PIPE, text=True,
                              env={**os.environ, "COLUMNS": "80", "LC_ALL": "C.UTF-8"}).stdout
        text = re.sub(r"^(usage|options|Exit): *", "", text, flags=re.M)
        text = re.sub(r"(?<=[a-z])-\n(?=[a-z])", "-", text)
        source = open(os.path.join(BUILD, "app", page)).read()
        body = source[source.index(".SH SYNOPSIS"):source.index(".SH SEE ALSO")]
        body = re.sub(r"^\.\w+ ?", "", body, flags=re.M)
        body = body.replace("\\&", "").replace("\\-", "-").replace("\\e", "\\")
        have = {word.strip(".,;:") for word in body.split()}
        missing = [word for word in text.split() if word.strip(".,;:") not in have]
        want(len(text.split()) > 30 and not missing, page, missing)


@case
def every_option_in_help_is_accepted(_):
    """With --no-such-option behind it, as its value and again, nothing begins; which option is not known is told."""
    for name in PROGRAMS:
        _, text, _ = run(name, "--help")
        lines = [line for line in text.splitlines() if re.match(r" +-", line)]
        heads = [line[:line.find("   ", 12) + 1 or None] for line in lines]
        options = {word for head in heads for word in re.findall(r"(?<![\w-])(--?\w[\w-]*)", head)}
        want(len(options) >= 5, name, text)
        for option in sorted(options):
            _, _, err = run(name, option, *["--no-such-option"] * 2)
            known = f"'{option}'" not in err and f"option -- '{option[1:]}'" not in err
            want(known, name, "does not know", option, err)


@case
def testpmd_help_shows_true_ranges_and_defaults(_):
    """One more than the range that --help tells is refused, and the default is the one that --dry-run shows."""
    _, text, _ = run("testpmd", "--help")
    _, shown, _ = run("testpmd", "--dry-run")
    options = re.split(r"\n(?=  (?:    |-\w, )--)", text)[1:]
    told = 0
    for option in options:
        name = re.search(r"--([\w-]+)( \S+)?", option)
        usual = re.search(r"default\s+(\S+)\)", option)
        if name[1] in ("device", "ip", "gateway", "vlan", "duration") or not name[2]:
            continue
        want(usual, "no default", option)
        usual = "" if usual[1] == "none" else usual[1]
        want(re.search(rf"^  {name[1]} +{re.escape(usual)} +\(default\)$", shown, re.M), option, shown)
        bounds = re.search(r"\((\d+) \.\.\. (\d+);", option)
        told += bounds is not None
        if bounds:
            code, _, err = run("testpmd", "--" + name[1], str(int(bounds[2]) + 1), "--dry-run")
            want(code == 2 and f"from {bounds[1]} to {bounds[2]}" in err, option, err)
    want(told > 12, "few ranges", text)


@case
def invalid_options_are_refused_in_one_line_with_status_2(_):
    for name, *arguments in (
            ("testpmd", "--size", "0"), ("testpmd", "--mix", "fly:1"), ("testpmd", "--mtu", "1000"),
            ("testpmd", "--server"), ("testpmd", "--paths", "8", "--sack-window", "off"), ("testpmd", "--paths", "3"),
            ("testpmd", "--idle", "never"), ("testpmd", "stray"), ("testpmd", "--ip", "10.0.0.1/24"),
            ("perf", "--paths", "8", "--sack-window", "off"), ("perf", "--paths", "3"),
            ("perf", "--server"), ("perf", "--ip", "10.0.0.1/24"), ("perf", "--ip", "10.0.0.1", "-m", "300"),
            ("perf", "--ip", "10.0.0.1", "-s", "-5"), ("perf", "--ip", "10.0.0.1", "--vlan", "4095"),
            ("perf", "--ip", "10.0.0.1", "--vlan", "1:9"), ("decode",),
            *((name, word) for name in (*PROGRAMS, "nvmetcli") for word in ("--fly", "-Z"))):
        code, out, err = run(name, *arguments)
        if arguments in (["--fly"], ["-Z"]):
            want(err.startswith("uroce-" + name + ": ") and "--help" in err and err.count("\n") == 1, name, err)
        want(code == 2, name, arguments, "status", code, out, err)
        want(len(err.strip().splitlines()) >= 1 and "uroce-" + name in err, name, arguments, err)


@case
def size_may_have_a_unit_suffix(_):
    """Wherever bytes are asked for; a wrong one is refused with its range."""
    here = ["-d", "net_ring0", "--ip", "10.0.0.1/24"]
    for name, options, option, size, shown in (
            ("perf", ["--op", "read"], "-s", "64k", " 65536 bytes"),
            ("perf", ["--op", "read"], "-s", "8,1M", " 1048576 bytes"),
            ("nvme-perf", [], "--bs", "4k", "4096"), ("nvme-perf", [], "--in-capsule", "8k", ""),
            ("testpmd", [*here, "--peer", "127.0.0.1"], "--size", "4k", "  size             4096 "),
            ("testpmd", [*here, "--peer", "127.0.0.1"], "--mbuf-size", "2k", "  mbuf-size        2048 ")):
        code, out, err = run(name, *options, option, size, "--dry-run")
        want(code == 0 and err == "" and shown in out, name, option, size, code, out, err)
        for wrong in ("4x", "k", "4kk", "4k ", "-4k", "99T", "99999999999999999999k"):
            code, _, err = run(name, *options, option, wrong, "--dry-run")
            want(code == 2 and err.count("\n") == 1 and wrong.strip() in err, name, option, wrong, code, err)


@case
def perf_accepts_perftest_options_or_names_the_replacement(directory):
    json_path = os.path.join(directory, "out.json")
    few = ["--mode", "bw", "-n", "200", "-s", "8"]
    for words in (["-F", "-N", "-T", "8", "--report_gbits", "-c", "RC", "--op", "write"], ["-A", "FETCH_AND_ADD"],
                  ["-A", "CMP_AND_SWAP"], ["--out_json_file", json_path, "--op", "write"],
                  ["--use-srq", "--rate_limit=2.5", "--rate_units=M", "--burst_size=8", "--limit_bw=1e-6",
                   "--limit_msgrate=1e-6", "--op", "send"]):
        code, out, err = run("perf", *few, *words)
        want(code == 0 and err == "", words, code, out, err)
        want("-A" not in words or ("FETCH" in words[1]) == ("fetch-and-add" in out.lower()), words, out)
    want(json.load(open(json_path))["results"][0]["op"] == "write", "the results are there")
    for words, sentence in ((["-x", "3"], "-x: a port has one GID"), (["-e"], "-e: uroce-perf polls"),
                            (["-S", "1"], "--vlan"), (["-l", "8"], "-l: "), (["-U"], "use -H"),
                            (["--tos=300"], "0 to 255"),
                            (["--use_rocm", "0"], "in host memory"), (["--flow_label", "7"], "flow label is 0"),
                            (["--no_enhanced_reorder"], "use --sack-window"),
                            (["--rate_limit_type=HW"], "as with perftest's type SW"),
                            (["-c", "UD"], "-c UD: only RC is supported"),
                            (["-A", "ADD"], "FETCH_AND_ADD"), (["-C"], "cycles_per_packet"),
                            (["--out_json"], "--json FILE"),
                            (["--nothing"], "'--nothing'; --help"), (["-Z"], "option -- 'Z'; --help"),
                            (["-s"], "requires an argument"),
                            (["--size"], "'--size' requires an argument"), (["--all=3"], "takes no argument")):
        code, out, err = run("perf", *words)
        want(code == 2 and sentence in err and err.count("\n") == 1, words, code, out, err)


OLD_SPELLINGS = (
    ("testpmd", "--tcp-port 4000", "--tcp-port: use --port N"), ("testpmd", "--target", "--target: use --server"),
    ("testpmd", "--both", "--both: use --bidirectional"), ("testpmd", "--srq", "--srq: use --use-srq"),
    ("testpmd", "--count 2", "--count: use --nb-cores N"), ("testpmd", "--mbufs 9", "--mbufs: use --total-num-mbufs N"),
    ("testpmd", "--depth=8", "--depth: use --tx-depth N"), ("testpmd", "--mrs 9", "--mrs: use --limit-mrs N"),
    ("testpmd", "--args -m512", "--args: use --eal-args TEXT"),
    ("nvmet", "-s null:1G", "-s: use --store WHERE"), ("nvmet", "--service 4420", "--service: use --port N"),
    ("nvmet", "--hosts nqn.a", "--hosts: use --host-nqn NQN"), ("nvme-perf", "-b 4k", "-b: use --bs N[,N...]"),
    ("nvme-perf", "-q 8", "-q: use --iodepth N[,N...]"), ("nvme-perf", "-s null:1G", "-s: use --store WHERE"),
    ("nvme-perf", "--connect 10.0.0.1", "--connect: use --peer HOST"),
    ("nvmetcli", "-s /run/x show", "-s: use --control PATH"),
    ("nvmetcli", "--socket /run/x", "--socket: use --control PATH"),
    ("run", "-c run.ini true", "-c: use --config FILE"), ("decode", "-c a.pcap", "-c: use --rebuild"),
    ("decode", "--check a.pcap", "--check: use --rebuild"), ("decode", "-j a.pcap", "-j: use --json-lines"),
    ("decode", "--json a.pcap", "--json: use --json-lines"), ("decode", "-m a.pcap", "-m: use --cm"),
    ("perf", "--idle 4", "--idle: use --idle-qps N"))


@case
def ten_old_spellings_name_the_current_option(_):
    """All that the table of options has."""
    for name, line, hint in OLD_SPELLINGS:
        if os.path.exists(program(name)):
            one_line((name, line), run(name, *line.split()), 2, f"uroce-{name}: {hint}")
    rows = re.findall(r'^RENAMED\("uroce-([\w-]+)", (?:0|\'(.)\'), (?:NULL|"([\w-]+)"),', open(WORDS).read(), re.M)
    shown = {(name, hint.split(":")[0]) for name, _, hint in OLD_SPELLINGS}
    old = {(name, dashes + word) for name, *words in rows for dashes, word in zip(("-", "--"), words) if word}
    want(len(old) > 10 and old <= shown, old - shown)


@case
def dry_run_with_a_port_prints_the_plan_and_starts_nothing(directory):
    """As nobody, and leaving no file behind; a wrong option is refused as ever."""
    here = ["-d", "net_ring0", "--ip", "10.0.0.1/24"]
    port = free_port()
    missing = os.path.join(directory, "shared", "none")
    os.mkdir(os.path.dirname(missing))
    os.chmod(os.path.dirname(missing), 0o777)
    for name, options, words in (
            ("perf", ["--op", "read", "--op", "send", "-s", "64,128", "-D", "2"],
             ("both ends in this process", "8 cases, about 16.0 s", "read      bw          64 bytes")),
            ("perf", [*here, "--server", "-R"], ("server: ", "net_ring0, with 10.0.0.1/24")),
            ("perf", [*here, "192.0.2.7", "--mode", "lat", "--op", "write", "--vlan", "5:3", "-n", "77"],
             ("192.0.2.7, TCP port 18515", "VLAN 5, priority 3", "one message at a time, 77 messages", "1 cases\n")),
            ("nvme-perf", ["--rw", "read,randwrite", "--iodepth", "1,2", "--runtime", "3"],
             ("memory:16M", "4 cases, about 12.0 s")),
            ("nvmet", [*here, "--file", missing + ":1M"], (missing,)),
            ("testpmd", [*here, "--server", "--port", port, "--nb-cores", "2", "--size", "1"],
             ("2 lcores, 1 port with 2 queues each", "TCP port " + port))):
        code, out, err = run_unprivileged(directory, name, *options, "--dry-run")
        want(code == 0 and err == "" and all(word in out for word in words), name, options, code, out, err)
        want(not os.path.exists(missing), "a file was made")
        if name != "testpmd":
            total = re.search(r"^(\d+) cases", out, re.M)
            want(total is None or out.count("\n  ") == int(total[1]), out)
        code, _, err = run_unprivileged(directory, name, *options, "--dry-run", "--fly")
        want(code == 2, name, code, err)


def completed(word, before, name="uroce-testpmd"):
    """What bash offers for the word behind another one."""
    script = '. "$1"; _uroce "$2" "$3" "$4"; echo "${COMPREPLY[*]}"; complete -p "$2"'
    file = os.path.join(COMPLETION, "uroce.bash")
    done = subprocess.run(["bash", "--norc", "-c", script, "bash", file, name, word, before],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    want(done.returncode == 0 and not done.stderr and f"-F _uroce {name}" in done.stdout, name, word, done)
    return done.stdout.splitlines()[0].split()


@case
def shells_complete_options_and_their_values(directory):
    want(completed("sl", "--idle") == ["sleep"], completed("sl", "--idle"))
    want(completed("--stats", "uroce-testpmd") == ["--stats-period"], "an option")
    want(completed("", "-m", "uroce-perf") == ["256", "512", "1024", "2048", "4096"], "a letter")
    open(directory + "/some.ini", "w").close()
    want(completed(directory + "/so", "--config") == [directory + "/some.ini"], "a file")
    for name in PROGRAMS + NO_PORT:
        want({"--help", "--version", "--dry-run"} <= set(completed("--", "uroce-" + name, "uroce-" + name)), name)
    for shell, file in (("bash", "uroce.bash"), ("zsh", "_uroce")):
        if shutil.which(shell):
            done = subprocess.run([shell, "-n", os.path.join(COMPLETION, file)], stderr=subprocess.PIPE, text=True)
            want(done.returncode == 0 and not done.stderr, shell, done)


@case
def dry_run_refuses_like_the_start(directory):
    """In one line with the same status; nothing is made."""
    def on(device, *more, ip="10.0.0.1/24"):
        return ("-d", device, "--ip", ip, *more)

    disk = ("--nqn", "nqn.2026-01.org.example:a", "--memory", "1M")
    programs = (("perf", ("--server", "-R")), ("testpmd", ("--peer", "127.0.0.1")), ("nvmet", disk),
                ("nvme-perf", ("--peer", "10.0.0.9", "--nqn", "nqn.2026-01.org.example:a")))
    none, file = directory + "/none/x", directory + "/file"
    open(file, "w").close()
    for name, more in programs:
        for words, status, *told in (
                (on("none0"), 3, "no port none0", "no interface has that name", "ip link"),
                (on("0000:ff:1f.7"), 3, "no PCI device 0000:ff:1f.7", "lspci"),
                (on("net_fly0"), 3, "net_fly0", "no driver for that name", "net_memif0"),
                (on("net_af_packet0,iface=none0"), 3, "CAP_NET_RAW" if os.geteuid() else "there is no interface none0"),
                (on("net_ring0", ip="224.0.0.1/24"), 2, "224.0.0.1/24", "a host"),
                (on("net_ring0", "--record", none), 3, none, "No such file", "use a writable directory"),
                (on("net_ring0", "--record", file), 3, file, "Not a directory")):
            one_line((name, words), run(name, *words, *more, "--dry-run"), status, *told)
        code, out, err = run(name, *on("net_ring0", "--record", directory + "/new"), *more, "--dry-run")
        want(code == 0 and out and not err, name, code, out, err)
    for name, option in (("perf", "--json"), ("perf", "--report"), ("testpmd", "--json"), ("nvme-perf", "--json")):
        for path, *told in ((none, "No such file", "create the directory"),
                            (directory, "Is a directory", "it is a directory: name a file in it")):
            one_line((name, option), run(name, option, path, "--dry-run"), 3, f"{option} {path}: ", *told)
        code, out, err = run(name, option, directory + "/new", "--dry-run")
        want(code == 0 and out and not err, name, option, code, out, err)
    one_line("control", run("nvmet", *on("net_ring0"), *disk, "--control", none, "--dry-run"), 3, "--control", none)
    for store, told in ((none + ":1M", "No such file"), (none, "PATH:SIZE"), (file, "512")):
        one_line(store, run("nvme-perf", "--store", store, "--dry-run"), 3, store.split(":")[0], told)
    with socket.socket() as taken:
        taken.bind(("0.0.0.0", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        for name in ("perf", "testpmd"):
            one_line(name, run(name, *on("net_ring0"), "--server", "-p", port, "--dry-run"), 3, f"TCP port {port}",
                     "in use", "choose another")
    want(sorted(os.listdir(directory)) == ["file"], os.listdir(directory))


@case
def dry_run_refuses_an_address_in_use_on_the_machine(_):
    """By the kernel, or by a program, in a network namespace."""
    if os.geteuid() != 0 or not shutil.which("unshare"):
        raise Skipped("needs root for a network namespace, and unshare")
    script = """ip link add uroce0 type veth peer name uroce1 && ip address add 10.0.0.1/24 dev uroce0 &&
ip link set uroce0 up && ip link set uroce1 up || exit 99
"$1" -d uroce0 --ip 10.0.0.1/24 --server -R --dry-run; echo "kernel $?"
"$1" -d uroce1 --ip 10.0.0.7/24 --server -R >/dev/null & sleep 2
"$1" -d uroce0 --ip 10.0.0.7/24 --server -R --dry-run; echo "program $?"
"$1" -d uroce0 --ip 10.0.0.8/24 --server -R --dry-run; echo "free $?"
kill $!"""
    done = subprocess.run(["unshare", "-n", "sh", "-c", script, "sh", program("perf")], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=60)
    if done.returncode == 99 or "unshare:" in done.stderr:
        raise Skipped(done.stderr.strip())
    want("kernel 3" in done.stdout and "program 3" in done.stdout and "free 0" in done.stdout, done)
    want("the kernel has address 10.0.0.1 on interface uroce0" in done.stderr, done)
    want(re.search(r"10.0.0.7 is held by uroce-perf \(process \d+\)", done.stderr), done)


@case
def dry_run_without_a_port_prints_the_plan_and_contacts_nobody(directory):
    """As nobody, with files, sockets and programs that are not there."""
    for name, options, words in (
            ("decode", ["none.pcap"], ("input: none.pcap", "one line per frame")),
            ("decode", ["--rebuild", "--json-lines", "-"],
                       ("standard input", "rebuilt", "one JSON object per frame")),
            ("decode", ["--cm", "none.pcap"], ("the messages of each connection",)),
            ("nvmetcli", ["--control", "/none", "add", "nqn.x", "null:1G"], ("/none: add nqn.x null:1G\n",)),
            ("nvmetcli", ["show"], ("/run/uroce-nvmet.sock: show\n",)),
            ("top", ["--once", "--interval", "2000ms"], ("each uroce program", "/dpdk", "twice, 2 s apart")),
            ("top", ["--file-prefix", "mine"], ("the uroce program mine", "every 1 s")),
            ("devinfo", ["--file-prefix", "mine"], ("the uroce program mine", "for its ports")),
            ("exporter", ["--listen", "127.0.0.1:1"], ("http://127.0.0.1:1/metrics is served", "at each scrape")),
            ("report", ["none.json"], ("none.json is read", "standard output")),
            ("report", ["-"], ("standard input is read",)),
            ("exporter", ["--once"], ("printed once", "counters, once"))):
        code, out, err = run_unprivileged(directory, name, *options, "--dry-run")
        want(code == 0 and err == "" and all(word in out for word in words), name, options, code, out, err)
    for name, *wrong in (("nvmetcli", "--fly", "show"), ("decode", "--fly", "none"), ("top", "--fly"),
                         ("devinfo", "--fly"), ("exporter", "--fly"), ("report", "--fly", "-"), ("report",),
                         ("report", "one.json", "two.json"),
                         ("nvmetcli", "show", "a b"),
                         ("nvmetcli", "--control", "x" * 200, "show"), ("nvmetcli",),
                         ("decode",), ("exporter", "--listen", "here"), ("top", "--interval", "0")):
        code, out, err = run_unprivileged(directory, name, "--dry-run", *wrong)
        one_line((name, wrong), (code, out, err), 2, f"uroce-{name}: ")


@case
def user_variables_override_a_file_and_options_override_both(directory):
    """uroce-run, and the variables that the stack of the program reads."""
    if not os.path.exists(program("run")):
        raise Skipped("this build has no libibverbs")
    config = directory + "/run.ini"
    open(config, "w").write("[port]\ndevice=net_ring0\nip=10.0.0.1/24\ngateway=10.0.0.3\nmtu=512\nidle=yield\n"
                            "explain=1\nsack-window=512\npaths=16\n")
    ports = ("UROCE_PORT", "UROCE_IP")
    names = ("UROCE_IDLE", "UROCE_MTU", "UROCE_GATEWAY", "UROCE_EXPLAIN", "UROCE_SACK_WINDOW", "UROCE_PATHS")
    options = ("--idle", "sleep", "--mtu", "256", "--gateway", "10.0.0.5", "--explain", "--sack-window", "2048",
               "--paths", "32")
    given, empty, none = ("poll", "1024", "10.0.0.4", "0", "off", "8"), ("",) * 6, (None,) * 6
    bare = ("-d", "net_ring0", "--ip", "10.0.0.1/24")
    for words, before, wanted in ((("--config", config), given, given), (bare, given, given),
                                  (("--config", config), none, ("yield", "512", "10.0.0.3", "1", "512", "16")),
                                  (("--config", config), empty, ("yield", "512", "10.0.0.3", "1", "512", "16")),
                                  ((*bare, *options), given, ("sleep", "256", "10.0.0.5", "1", "2048", "32")),
                                  (bare, none, ("sleep", "", "", "", "256", ""))):
        environment = {name: value for name, value in os.environ.items() if name not in names}
        environment.update((name, value) for name, value in zip(names, before) if value is not None)
        shown = " ".join(f'"${name}"' for name in names + ports)
        done = subprocess.run([program("run"), *words, "sh", "-c", f"printf '%s\\n' {shown}"], env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
        if done.returncode == 3:
            raise Skipped(done.stderr.strip())
        want(done.returncode == 0 and tuple(done.stdout.split("\n")[:8]) == (*wanted, "net_ring0", "10.0.0.1/24"),
             words, before, done)


@case
def default_file_of_uroce_run_is_read_without_an_option(directory):
    """In a mount namespace whose /etc is a copy of what is needed of it, with the file."""
    if not os.path.exists(program("run")):
        raise Skipped("this build has no libibverbs")
    if os.geteuid() != 0 or not shutil.which("unshare"):
        raise Skipped("needs root for a mount namespace, and unshare")
    os.makedirs(directory + "/etc/uroce")
    shutil.copy("/etc/ld.so.cache", directory + "/etc")
    config = directory + "/etc/uroce/run.ini"
    for text, code, wanted in (("[port]\ndevice=net_ring0\nip=10.0.0.1/24\nmtu=512\n", 0, "net_ring0 10.0.0.1/24 512"),
                               ("[port]\ndevice=net_ring0\nip=10.0.0.1/24\nmtu=500\n", 2, "/etc/uroce/run.ini"),
                               (None, 2, "--device is missing")):
        if text:
            open(config, "w").write(text)
        else:
            os.remove(config)
        show = f'exec {program("run")} sh -c \'echo "$UROCE_PORT $UROCE_IP $UROCE_MTU"\''
        done = subprocess.run(["unshare", "-m", "sh", "-c", f"mount --bind {directory}/etc /etc && {show}"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
        want(done.returncode == code and wanted in done.stdout + done.stderr, text, done)


def sanitized(directory, name, *arguments):
    """The program linked with AddressSanitizer, which overwrites memory that is freed: its output. uroce-run finds
    libraries beside its own folder."""
    path = f"{directory}/app/uroce-{name}"
    if not os.path.exists(path):
        os.makedirs(directory + "/app", exist_ok=True)
        shutil.copy(os.path.join(sys.argv[1], "test", "app", f"uroce-{name}-asan"), path)
    if not os.path.exists(directory + "/lib"):
        os.symlink(os.path.join(os.path.abspath(sys.argv[1]), "lib"), directory + "/lib")
    environment = {**os.environ, "ASAN_OPTIONS": "max_free_fill_size=65536:free_fill_byte=35:detect_leaks=0"}
    done = subprocess.run([path, *arguments], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=60)
    want(done.returncode == 0 and "AddressSanitizer" not in done.stdout, name, arguments, done)
    return done.stdout


@case
def no_file_text_is_used_after_free(directory):
    """Every program with --config gets from a file what it gets from options."""
    programs = {
        "testpmd": ("[port.0]\ndevice=net_ring0\nip=10.0.0.1/24\n[traffic]\nserver=1\nqps=2\n",
                    ("-d", "net_ring0", "--ip", "10.0.0.1/24", "--server", "--qps", "2"), ("--dry-run",)),
        "nvmet": ("[port.0]\ndevice=net_ring0\nip=10.0.0.1/24\n[subsystem.0]\nnqn=nqn.2026-01.org.example:a\n"
                  "[namespace.0]\nsubsystem=nqn.2026-01.org.example:a\nstore=memory:1M\n",
                  ("-d", "net_ring0", "--ip", "10.0.0.1/24", "--nqn", "nqn.2026-01.org.example:a", "--memory", "1M"),
                  ("--dry-run",)),
        "run": ("[port]\ndevice=net_ring0\nip=10.0.0.1/24\ngateway=10.0.0.3\nmtu=512\nidle=yield\n",
                ("-d", "net_ring0", "--ip", "10.0.0.1/24", "--gateway", "10.0.0.3", "--mtu", "512", "--idle", "yield"),
                ("sh", "-c", 'echo "$UROCE_PORT $UROCE_IP $UROCE_GATEWAY $UROCE_MTU $UROCE_IDLE"'))}
    if not os.path.exists(program("run")):
        del programs["run"]
    for name, (text, options, show) in programs.items():
        path = f"{directory}/{name}.ini"
        open(path, "w").write(text)
        from_file, from_options = sanitized(directory, name, "--config", path, *show), \
            sanitized(directory, name, *options, *show)
        want("net_ring0" in from_file, name, from_file)
        want(from_file.replace(path, "") == from_options or name == "testpmd", name, from_file, from_options)


@case
def perf_recognizes_every_option_of_perftest(_):
    """Those that its eight programs name: none is called unrecognized."""
    names = set()
    for op in ("send", "write", "read", "atomic"):
        for mode in ("bw", "lat"):
            if shutil.which(f"ib_{op}_{mode}") is None:
                raise Skipped("perftest is not installed")
            text = subprocess.run([f"ib_{op}_{mode}", "--help"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True).stdout
            for letter, name in re.findall(r"^ +(?:(-[A-Za-z]),? )?(--[\w-]+)", text, re.M):
                names |= {letter, name}
    names.discard("")
    want(len(names) > 80, names)
    for name in sorted(names - {"-h", "--help", "-V", "--version"}):
        _, _, err = run("perf", name, *["--no-such-option"] * 2)
        unknown = f"'{name}'" in err.replace(f"'{name}' requires", "") or f"option -- '{name[1:]}'" in err
        want(not unknown, name, err)


if __name__ == "__main__":
    sys.exit(main("options", CASES))
