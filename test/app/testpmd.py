#!/usr/bin/env python3
# testpmd.py - sessions at the prompt of uroce-testpmd: every command, and what it leaves behind
# SPDX-License-Identifier: BSD-3-Clause
"""testpmd.py BUILD: prints TAP. What is captured is read by tshark, if there is one, and by uroce-decode."""
import os
import re
import shutil
import subprocess
import sys
import threading
import time

from programs import Skipped, main, program, run, want

CASES = []


def case(function):
    CASES.append(function)
    return function


class Prompt:
    """uroce-testpmd with commands through a pipe; each answer is waited for."""

    def __init__(self, *options):
        self.told = []
        self.process = subprocess.Popen([program("testpmd"), "-i", "--idle", "yield", *options],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        text=True, errors="replace")

    def __enter__(self):
        self.wait_for(r"\"help\" lists the commands")
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def wait_for(self, pattern, seconds=30):
        """A program that says nothing more is killed, which ends the wait."""
        killer = threading.Timer(seconds, self.process.kill)
        killer.start()
        try:
            return self.read_until(pattern)
        finally:
            killer.cancel()

    def read_until(self, pattern):
        while True:
            line = self.process.stdout.readline()
            want(line, "never said", pattern, *self.told[-20:])
            self.told.append(line)
            found = re.search(pattern, line)
            if found:
                return found

    def ask(self, command, pattern):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.wait_for(pattern)

    def quit(self):
        self.ask("quit", "final statistics")
        return self.process.communicate(timeout=20)[0], self.process.returncode


def tshark(path, *arguments):
    if shutil.which("tshark") is None:
        raise Skipped("tshark is not installed")
    done = subprocess.run(["tshark", "-r", path, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=60)
    want(done.returncode == 0, path, done.stderr)
    return done.stdout.splitlines()


@case
def a_queue_pair_that_dies_leaves_its_last_frames_and_their_story(directory):
    records = os.path.join(directory, "records")
    with Prompt("--record", records, "--qps", "2", "--mix", "write:1,read:1", "--size", "100", "-a") as pmd:
        pmd.ask("inject loss 2%", "port 1: loss 0.02")
        time.sleep(0.3)
        pmd.ask("inject cut port 1", ", cut$")
        path = pmd.wait_for(r"its last frames: (\S+)\.txt and .pcapng")[1]
        pmd.wait_for("all 2 queue pairs that send are in ERR")
        pmd.quit()
    want(sorted({name.split(".")[-1] for name in os.listdir(records)}) == ["pcapng", "txt"], os.listdir(records))
    want(len(os.listdir(records)) == 4, os.listdir(records))
    text = open(path + ".txt").read()
    for words in ("RETRY_EXC_ERR", "10.0.0.1 -> 10.0.0.2", "local_ack_timeout_err", "# sent again", "... nothing for ",
                  " <- ACK", "the QP is in ERR"):
        want(words in text, words, text)
    frames = re.findall(r"^ *-\d+\.\d+ ms (->|<-) (\w+) qp=0x\w+ psn=(\d+)", text, re.M)
    want(len(frames) == int(re.search(r"its last (\d+) frames", text)[1]) > 64, len(frames), text)
    seen = tshark(path + ".pcapng", "-T", "fields", "-e", "infiniband.bth.psn", "-e", "frame.comment")
    want([line.split("\t")[0] for line in seen] == [psn for _, _, psn in frames], seen, text)
    want(sum("sent again" in line for line in seen) == text.count("# sent again"), seen)
    code, out, err = run("decode", path + ".pcapng")
    want(code == 0 and len(re.findall(r" psn=\d+", out)) == len(frames), code, out, err)


@case
def all_frames_go_to_a_file_until_told_otherwise(directory):
    path = os.path.join(directory, "all.pcapng")
    with Prompt("--qps", "1", "--mix", "write:1,send:1,read:1,fadd:1", "--tx-depth", "1", "--size", "300") as pmd:
        pmd.ask("capture stop", "nothing is being captured")
        pmd.ask(f"capture {directory}/none/at/all", "cannot be written: No such file or directory")
        pmd.ask(f"capture {path}", "frames of 2 ports go to")
        pmd.ask(f"capture {path}", "a capture is being written to")
        pmd.ask("start", "started")
        time.sleep(0.1)
        pmd.ask("stop", "stopped")
        found = pmd.ask("capture stop", r"has (\d+) frames, (\d+) bytes; (\d+) frames were lost")
        want(int(found[1]) > 100, *pmd.told)
        want(abs(os.stat(path).st_size - int(found[2])) < 1000, os.stat(path), found[0])
        pmd.ask(f"capture {path}.cut bytes 90", "frames of 2 ports go to")
        pmd.ask("start", "started")
        time.sleep(0.1)
        _, code = pmd.quit()  # which ends a capture, too
        want(code == 0, *pmd.told)
    code, out, err = run("decode", "--check", path)
    want(code == 0, code, out[-2000:], err)
    seen = tshark(path, "-T", "fields", "-e", "frame.number", "-e", "_ws.malformed")
    want(len(seen) == int(found[1]) and not any("alformed" in line for line in seen), len(seen), found[0])
    sizes = tshark(path + ".cut", "-T", "fields", "-e", "frame.cap_len", "-e", "frame.len")
    want({line.split("\t")[0] for line in sizes if int(line.split("\t")[1]) > 90} == {"90"}, sizes[:20])


if __name__ == "__main__":
    sys.exit(main("testpmd", CASES))
