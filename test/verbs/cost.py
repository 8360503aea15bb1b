# cost.py - instructions of a post and a poll through libibverbs and without it, as callgrind counts them
# SPDX-License-Identifier: BSD-3-Clause
"""usage: cost.py PROGRAM [--write]. Prints a table, which verbs.md has to have to within 5 %; --write puts it
there. Counted is what the calls themselves do, in the thread that makes them. Exit 1: the page tells something else."""
import os
import re
import subprocess
import sys
import tempfile

ROUNDS = 6
POSTS = 32  # of a round, in cost.c
ALLOWED = 0.05
PAGE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "docs", "reference", "verbs.md")
KINDS = {"post": "a post of a WRITE of 8 bytes", "poll": "a poll that takes a completion", "empty": "a poll of nothing"}


def count(program):
    """{function: instructions of one call}"""
    with tempfile.NamedTemporaryFile(prefix="uroce-cost-") as out:
        subprocess.run(["valgrind", "--tool=callgrind", "--toggle-collect=counted_*",
                        f"--callgrind-out-file={out.name}", program, str(ROUNDS)],
                       check=True, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        told = subprocess.run(["callgrind_annotate", "--inclusive=yes", "--threshold=100", out.name], check=True,
                              stdout=subprocess.PIPE, text=True).stdout
    found = re.findall(r"^ *([\d,]+) .*:counted_(\w+)", told, re.M)
    return {name: int(number.replace(",", "")) / ROUNDS / POSTS for number, name in found}


def main():
    program, *words = sys.argv[1:]
    costs = count(program)
    rows = {text: (round(costs[f"verbs_{kind}"]), round(costs[f"own_{kind}"])) for kind, text in KINDS.items()}
    with open(PAGE) as file:
        page = file.read()
    wrong = 0
    for text, found in rows.items():
        print(f"| {text} | {found[0]} | {found[1]} |")
        told = re.search(rf"^\| {text} \| (\d+) \| (\d+) \|$", page, re.M)
        if words == ["--write"]:
            page = re.sub(rf"^\| {text} \| .*\|$", f"| {text} | {found[0]} | {found[1]} |", page, flags=re.M)
        elif not told or any(abs(one - int(other)) > ALLOWED * one for one, other in zip(found, told.groups())):
            print(f"docs/reference/verbs.md tells something else: {told[0] if told else 'nothing'}")
            wrong = 1
    if words == ["--write"]:
        with open(PAGE, "w") as file:
            file.write(page)
    return wrong


if __name__ == "__main__":
    sys.exit(main())
