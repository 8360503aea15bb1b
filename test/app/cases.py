# cases.py - what cases are made of: programs that run, what is wanted of them, and TAP
# SPDX-License-Identifier: BSD-3-Clause
"""For the scripts beside this one, whose first argument is the folder of the build."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(sys.argv[1])
DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data")
EAL = ["--no-huge", "--no-shconf", "--no-pci", "-m", "192"]


def program(name):
    if name == "trace":
        return os.path.join(BUILD, "test", "trace", "uroce-trace")
    return os.path.join(BUILD, "app", name if "/" in name else "uroce-" + name)


# Limits catch what hangs. A test that measures how fast something is would test the machine.
PATIENCE_S = 60


def without_away(text):
    """A busy machine may take the core of any lcore away, and any program reports that."""
    return re.sub(r"^uroce-[\w-]+: lcore \d+ was away .*\n", "", text, flags=re.M)


def run(name, *arguments, limit=4 * PATIENCE_S):
    done = subprocess.run([program(name), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, errors="replace", timeout=limit)
    return done.returncode, done.stdout, without_away(done.stderr)


def run_unprivileged(directory, name, *arguments):
    """As nobody, from a folder that nobody may read."""
    os.chmod(directory, 0o755)
    copy = shutil.copy(program(name), directory)
    os.chmod(copy, 0o755)
    for shared in ("uroce_bundle.py", "uroce_telemetry.py", "uroce_chart.py"):  # of those that are scripts
        os.chmod(shutil.copy(os.path.join(BUILD, "app", shared), directory), 0o644)

    def drop():
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
    done = subprocess.run([copy, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=PATIENCE_S, preexec_fn=drop, cwd=directory)
    return done.returncode, done.stdout, done.stderr


def want(right, *facts):
    if not right:
        raise AssertionError("\n".join(str(fact) for fact in facts))


class Running:
    """A program in the background; its output goes to a file."""
    all = []  # of the case

    def __init__(self, directory, tag, name, *arguments, stdin=subprocess.DEVNULL):
        self.path = os.path.join(directory, tag)
        self.has_memif = any("net_memif" in argument for argument in arguments)
        self.process = subprocess.Popen([program(name), *arguments], stdin=stdin, stdout=open(self.path, "w"),
                                        stderr=subprocess.STDOUT)
        Running.all.append(self)

    def text(self):
        return open(self.path, errors="replace").read()

    def wait_until(self, true, *arguments, seconds=PATIENCE_S):
        end = time.monotonic() + seconds
        while not true(*arguments):
            want(time.monotonic() < end and self.process.poll() is None, "never came", *arguments, self.text())
            time.sleep(0.05)

    def wait_for(self, pattern, seconds=PATIENCE_S):
        self.wait_until(lambda wanted: re.search(wanted, self.text()), pattern, seconds=seconds)

    def interrupt(self, seconds=PATIENCE_S):
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(seconds)

    def finish(self, seconds=4 * PATIENCE_S):
        return self.process.wait(seconds)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def has_crashed(self):
        return self.process.returncode in (-signal.SIGSEGV, -signal.SIGBUS, -signal.SIGABRT, -signal.SIGILL,
                                           -signal.SIGFPE)


def counter(text, name):
    found = re.findall(rf"^ +{name} +(\d+) ", text, re.M)
    return int(found[-1]) if found else 0


def one_line(name, done, status, *words):
    code, out, err = done
    want(code == status and not out and len(err.splitlines()) == 1 and all(word in err for word in words), name,
         f"status {code}, not {status}, one line with {words}", out, err)


class Skipped(Exception):
    """What a case needs is not here; its text is the reason."""


def run_once(function):
    """What it has started is ended, and has not crashed."""
    directory = tempfile.mkdtemp()
    Running.all = []
    try:
        function(directory)
    finally:
        for program in Running.all:
            program.kill()
        shutil.rmtree(directory)
    crashed = [os.path.basename(program.path) for program in Running.all if program.has_crashed()]
    want(not crashed, "crashed", *crashed)


def run_case(function, again):
    """When an end of a memif leaves, the other end's driver (22.11) unmaps, in a thread of its own, what a poll may be
    reading: on a busy machine one of a hundred ends the poller, too, inside librte_net_memif, and there are cases of
    twelve. So a case whose poller of a memif has crashed is run again, if again says that it may."""
    while True:
        try:
            return run_once(function)
        except (AssertionError, subprocess.TimeoutExpired, OSError):
            if not any(program.has_memif and program.has_crashed() for program in Running.all) or not again():
                raise
            print("# a poller of a memif has crashed; once more", flush=True)


def main(suite, cases):
    """Runs them, each in a folder of its own. What a case raises is what is wrong."""
    print(f"1..{len(cases)}", flush=True)
    failed, agains = 0, iter(range(3))  # a suite that wants more has another reason
    for number, function in enumerate(cases, 1):
        try:
            run_case(function, lambda: next(agains, None) is not None)
            print(f"ok {number} - {suite}::{function.__name__}", flush=True)
        except Skipped as reason:
            print(f"ok {number} - {suite}::{function.__name__} # SKIP {reason}", flush=True)
        except Exception as wrong:  # a case that breaks has failed
            failed += 1
            print(f"not ok {number} - {suite}::{function.__name__}")
            print("".join(f"# {line}\n" for line in (str(wrong) or repr(wrong)).splitlines()), end="", flush=True)
    return failed > 0
