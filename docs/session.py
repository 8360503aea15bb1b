# session.py - two programs over shared memory, a fault, what it did, and what is left of it: run, and written down
# SPDX-License-Identifier: BSD-3-Clause
"""Of docs/generate. page(build): the page as text. Each command is typed when the one before has been answered."""
import os
import queue
import re
import subprocess
import tempfile
import textwrap
import threading
import time

SOCKET = "/tmp/uroce-session.sock"
WIDTH = 118
QUIET_S = 0.3  # after so long without a line an answer is whole


class Terminal:
    """A program, what is typed into it, and what it says."""

    def __init__(self, words, folder):
        self.shown = ["$ " + " \\\n    ".join(words)]
        self.lines = queue.Queue()
        self.process = subprocess.Popen("exec " + " ".join(words), shell=True, cwd=folder, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def next(self, seconds):
        """A line without the prompt before it; what the terminal repeats of the commands is left out. None: none."""
        try:
            line = self.lines.get(timeout=seconds)
        except queue.Empty:
            return None
        line = re.sub("^(uroce> )+", "", line or "").rstrip()
        if line and line not in self.shown[-3:] and "uroce> " + line not in self.shown[-8:]:
            self.shown.append(line)
        return line

    def read_until(self, pattern, seconds=120):
        """And what comes behind it at once."""
        end = time.monotonic() + seconds
        while not re.search(pattern, self.next(1) or ""):
            if time.monotonic() > end:
                raise SystemExit(f"session: never said {pattern}:\n" + "\n".join(self.shown))
        while self.next(QUIET_S) is not None:
            pass

    def type(self, command, pattern):
        self.shown.append("uroce> " + command)
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        self.read_until(pattern)

    def take(self):
        """What it has said since the last time, for the page."""
        shown, self.shown = self.shown, []
        return block("\n".join(line if "\n" in line else wrap(line) for line in shown))


def wrap(line):
    """A long line goes on below, as a terminal would show it, but between words; what a # says stays in one piece."""
    if len(line) <= WIDTH:
        return line
    comment = line.rfind("  # ")
    if comment > 0:
        return wrap(line[:comment].rstrip()) + "\n" + " " * 6 + line[comment:].strip()
    return "\n".join(textwrap.wrap(line, WIDTH, subsequent_indent=" " * 6, drop_whitespace=True,
                                   replace_whitespace=False, break_long_words=False, break_on_hyphens=False))


def block(text):
    return ["```text", text, "```", ""]


def run(command, folder):
    done = subprocess.run(command, shell=True, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          timeout=60)
    if done.returncode != 0:
        raise SystemExit(f"session: {command}: {done.stdout}")
    return done.stdout.rstrip()


def memif(role, number):
    return (f"net_memif0,role={role},socket={SOCKET},socket-abstract=no,mac=02:00:00:00:00:0{number}",
            f"10.1.0.{number}/24")


def page(build):
    """Runs it in a folder of its own, where build is the tree's."""
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(build, os.path.join(folder, "build"))
        if os.path.exists(SOCKET):
            os.unlink(SOCKET)
        terminals = []
        try:
            return "\n".join(tell(folder, terminals))
        finally:
            for terminal in terminals:
                terminal.process.kill()


def tell(folder, terminals):
    device, ip = memif("server", 1)
    target = Terminal(["build/app/uroce-testpmd -- -i", f"--device {device}", f"--ip {ip} --server"], folder)
    terminals.append(target)
    target.read_until("serving peers")
    page = ["# A session", "",
            "Two processes on one machine, over shared memory; written by running it (`make pages`). Long lines",
            "go on below, six blanks to the right. In the first terminal a target:", ""] + target.take()
    device, ip = memif("client", 2)
    client = Terminal(["build/app/uroce-testpmd -- -i", f"--device {device}", f"--ip {ip} --peer 127.0.0.1",
                       "--qps 2 --size 512 --mix write:1,read:1 --record records"], folder)
    terminals.append(client)
    client.read_until("lists the commands")
    client.type("start", "started")
    time.sleep(1)
    client.type("show port stats all", "rx_neighbour|dropped")
    client.type("show lcore", "busy")
    page += ["The second terminal has the program that sends. Nothing is lost; when one of the two has no core for",
             "a while, the other one asks it early (`early_probes`):", ""]
    page += client.take()
    client.type("inject loss 1%", "damaged")
    time.sleep(1)
    client.type("capture all.pcapng", "frames of")
    client.type("capture stop", "has ")
    client.type("show port stats all", "drop_stale_response|implied_nak")
    page += ["Now every hundredth frame that this program receives is lost, so some are sent again:", ""]
    page += client.take()
    client.type("inject cut", "cut")
    client.read_until("all 2 queue pairs that send are in ERR")
    page += ["The cable is pulled. The queue pairs try for as long as their timeouts say, and die:", ""] + client.take()
    client.type("show qp", "^0x")
    qpn = re.search("^(0x[0-9a-f]+).* ERR ", "\n".join(client.shown), re.M)[1]
    client.type(f"why {qpn}", "in ERR")
    page += ["Why did it die, and what is there to look at?", ""] + client.take()
    client.type("quit", "final statistics")
    client.process.communicate(timeout=20)
    [story] = [name for name in os.listdir(os.path.join(folder, "records")) if name.endswith(f"{qpn[2:]}.txt")]
    page += ["The last frames of that queue pair are in `records`, as text:", ""]
    text = open(os.path.join(folder, "records", story)).read().rstrip().splitlines()
    page += block(f"$ tail -n 12 records/{story}\n" + "\n".join(wrap(line) for line in text[-12:]))
    page += ["They are there for Wireshark, too, with a comment at each frame that was sent again; the file of",
             "`capture` reads the same way:", ""]
    capture = f"records/{story[:-4]}.pcapng"
    fields = "-T fields -e frame.number -e ip.dst -e infiniband.bth.opcode -e infiniband.bth.psn -e frame.comment"
    page += block("\n".join(f"$ {command}\n{run(command, folder)}" for command in (
        f"tshark -r {capture} -Y frame.comment {fields} | tail -n 5",
        "tshark -r all.pcapng -c 4 -T fields -e frame.time_relative -e ip.src -e ip.dst -e infiniband.bth.opcode "
        "-e infiniband.bth.psn",
        f"build/app/uroce-decode {capture} | tail -n 1")))
    return page
