# tree.py - the files of the tree that tidy looks at, and what is in them
# SPDX-License-Identifier: BSD-3-Clause
import os
import re
import subprocess

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
SCRIPT_LINE = re.compile(rb"^#!.*\b(sh|bash|python3)\b")


def run(*command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          **options)


def files(*endings):
    """Paths of the tree with one of the endings; all without."""
    listing = run("git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard").stdout
    for path in sorted(set(listing.split("\0"))):
        if path and path.endswith(endings or "") and os.path.isfile(os.path.join(ROOT, path)):
            yield path


def text_of(path):
    with open(os.path.join(ROOT, path), "rb") as file:
        data = file.read()
    return None if b"\0" in data else data.decode(errors="replace")


def lines_of(path):
    return (text_of(path) or "").splitlines()


def scripts():
    """Python and shell, by ending or by their first line."""
    for path in files():
        with open(os.path.join(ROOT, path), "rb") as file:
            found = SCRIPT_LINE.match(file.readline())
        if path.endswith(".py") or found:
            yield path, "python3" if path.endswith(".py") or found.group(1) == b"python3" else "sh"
