# once.py - what there is one of: the home of each thing that is done once, and functions in copies
# SPDX-License-Identifier: BSD-3-Clause
import json
import re

from tree import ROOT, files, lines_of, run

# (folder, what is looked for, its homes, what to do with it elsewhere)
APP, CORE = "use what the header of its home offers", "tell its owner what has happened"
HOMES = [
    ("app/", r"\bgetopt_long\(", ("app/common/option.",), APP),
    ("app/", r"\bstruct option \w+\[", (), "make rows of it (common/option.h)"),
    ("app/", r"\brte_cfgfile_", (), "use app_ini_read()"),
    ("app/", r"\bclock_gettime\(CLOCK_MONOTONIC", ("app/common/clock.",), APP),
    ("app/", r"^static int check\(const char", (), "use app_check()"),
    ("app/", r"\bsocket\(AF_INET", ("app/common/control.",), APP),
    ("app/", r"^struct \w*histogram \{", ("app/common/histogram.",), APP),
    # The example is for hosts without jansson.
    ("app/", r'\\"\w+\\": ?[%\[{\\]', ("app/examples/verbs_sender.",), "let jansson write JSON"),
    # Besides, uroce-perf has regions for all of its ends, uroce-nvmet for all of its ports; examples show everything.
    ("app/", r"\buroce_pd_alloc\(", ("app/common/objects.", "app/examples/", "app/nvmet/server.", "app/perf/end."),
     APP),
    ("app/", r"\binet_ntop\(", ("app/examples/",), "use uroce_addr_format()"),
    ("lib/", r"\binet_ntop\(", ("lib/wire/print.",), "use wire_print_format_addr()"),
    ("drivers/", r"\binet_ntop\(", (), "use uroce_addr_format()"),
    ("lib/", r"\bATTRIBUTE_AT\b", ("lib/cm/mad.",), "ask lib/cm/mad.h"),
    ("lib/", r"\b0x0*1(?:00|06|11)0000u?l*\b", ("lib/cm/service.",), "ask lib/cm/service.h"),
    ("lib/cm/", r"\b128u? <<", ("lib/cm/message.",), "use cm_mtu_bytes()"),
    ("lib/engine/", r"\b128u? <<|_ctz\(\w*mtu", (), "use cm_mtu_code() and cm_mtu_bytes()"),
    ("lib/api/", r"\b128u? <<|_ctz\(\w*mtu", (), "use cm_mtu_code() and cm_mtu_bytes()"),
    # Each timer of a queue pair is set by its owner: deadlines.h is the part of loss.h that more files need.
    ("lib/rc/", r"(?:->|\.)\w*(?:deadline|wake)_ns =(?!=)", tuple(
        f"lib/rc/{name}." for name in ("loss", "deadlines", "ask", "credit", "pace")), CORE),
    ("lib/rc/", r"(?<!void )(?<!bool )\bask_(after_silence|later|stop|stop_untimed|now|for_retry|await_nak)\(",
     ("lib/rc/loss.", "lib/rc/ask."), CORE),
]
# Lines of code from which on two functions with the same text are copies; in lib also shorter ones of one name.
COPY_LINES = 3


def check_homes():
    """what is done once for all is done nowhere else"""
    for path in files(".c", ".h"):
        rules = [rule for rule in HOMES if path.startswith(rule[0]) and not path.startswith(rule[2] or "-")]
        for number, line in enumerate(lines_of(path) if rules else (), 1):
            for _, what, homes, advice in rules:
                if re.search(what, line):
                    yield (f"{path}:{number}: '{line.strip()}' belongs to "
                           f"{', '.join(home.rstrip('.') for home in homes) or 'no file'}: {advice}")
    for folder, what, homes, _ in HOMES:
        for home in homes:
            if not any(re.search(what, line) for path in files(".c", ".h") if path.startswith(home)
                       for line in lines_of(path)):
                yield f"test/tidy/once.py: {home} has no {what} any more: mend the row of {folder}"


def bodies():
    """(text, lines of code, path, name) of each function of the project, comments and layout left out."""
    listing = run("ctags", "--language-force=C", "--kinds-C=f", "--fields=+ne", "--output-format=json", "-f", "-",
                  *files(".c", ".h"), cwd=ROOT)
    for tag in (json.loads(line) for line in listing.stdout.splitlines() if line.startswith("{")):
        text = "\n".join(lines_of(tag["path"])[tag["line"] - 1:tag.get("end", tag["line"])])
        body = re.sub(r"/\*.*?\*/", "", text, flags=re.S).partition("{")[2]
        count = sum(line.strip() not in ("", "{", "}") for line in body.splitlines())
        yield " ".join(body.split()), count, tag["path"], tag["name"]


def check_copies():
    """no function stands twice"""
    found = {}
    for text, count, path, name in bodies():
        if count >= COPY_LINES:
            found.setdefault(text, []).append(f"{name}() of {path}")
        elif count and path.startswith("lib/"):
            found.setdefault((name, text), []).append(f"{name}() of {path}")
    if not found:
        yield "ctags finds no functions; install universal-ctags"
    for places in found.values():
        if len(places) > 1:
            yield f"{' is '.join(places)}: give it one home that both can use"
