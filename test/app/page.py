#!/usr/bin/env python3
# page.py - uroce-perf --report: a page that stands for itself, with the numbers of --json, whatever it was started with
# SPDX-License-Identifier: BSD-3-Clause
"""Usage: page.py PROGRAM. Prints TAP. Needs no root, no hugepages and no NIC."""
import html.parser
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PROGRAM = sys.argv[1]
LIMIT_S = 600
VOID = {"meta", "br"}
# What could fetch something, as an element or an attribute.
FOREIGN_ELEMENTS = {"script", "link", "img", "iframe", "object", "embed", "image", "use", "video", "audio", "base"}
FOREIGN_ATTRIBUTES = {"src", "href", "xlink:href", "data", "action", "poster", "background", "srcset", "style"}
FORMATS = {"bw": {"bytes": ("size_bytes", 0), "messages": ("messages", 0), "seconds": ("seconds", 3),
                  "Gbit/s": ("gbit_per_s", 3), "best 10 ms": ("peak_gbit_per_s", 3),
                  "messages/s": ("messages_per_s", 0), "errors": ("errors", 0), "retransmitted": ("retransmits", 0)},
           "lat": {"bytes": ("size_bytes", 0), "min": ("min", 3), "50 %": ("p50", 3), "99 %": ("p99", 3),
                   "99.9 %": ("p99_9", 3), "99.99 %": ("p99_99", 3), "max": ("max", 3), "mean": ("mean", 3),
                   "deviation": ("stdev", 3), "errors": ("errors", 0)}}
count = failed = 0


def report(passed, name, *facts):
    global count, failed
    count += 1
    failed += not passed
    print(f"{'ok' if passed else 'not ok'} {count} - page::{name}")
    for fact in facts if not passed else ():
        print("".join(f"# {line}\n" for line in str(fact).splitlines()[-30:]), end="")
    sys.stdout.flush()


class Page(html.parser.HTMLParser):
    """Tables, texts and plots; and what is wrong with its form."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.faults, self.words, self.tables, self.numbers = [], [], [], [], []
        self.elements, self.classes, self.lines = {}, {}, []
        self.feed(text)
        self.close()
        self.faults += [f"{tag} is not closed" for tag in self.open]

    def look_at(self, tag, attributes):
        self.elements[tag] = self.elements.get(tag, 0) + 1
        if tag in FOREIGN_ELEMENTS or FOREIGN_ATTRIBUTES & {name for name, _ in attributes}:
            self.faults.append(f"{tag} {attributes} may fetch something")
        for name, value in attributes:
            if name in ("x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "width", "height", "points"):
                self.numbers += re.split(r"[ ,]", value)
            if name == "points":
                self.lines.append([float(pair.split(",")[0]) for pair in value.split()])
            if name == "class":
                self.classes.setdefault(value, []).append("")

    def handle_starttag(self, tag, attributes):
        self.look_at(tag, attributes)
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_startendtag(self, tag, attributes):
        self.look_at(tag, attributes)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> closes nothing")

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.tables[-1][-1][-1] += data
        if self.open and self.open[-1] not in ("style", "title"):
            self.words.append(data)

    def text(self):
        return " ".join(self.words)


def rows_of(page, mode):
    """The table of a mode, as a dictionary a row."""
    mark = "Gbit/s" if mode == "bw" else "99.99 %"
    for table in page.tables:
        if mark in table[0]:
            return [dict(zip(table[0], row)) for row in table[1:]]
    return []


def differences(page, data):
    """Numbers of the JSON that the page has not, in their rows."""
    for mode, columns in FORMATS.items():
        results = [one for one in data["results"] if one["mode"] == mode]
        rows = rows_of(page, mode)
        if len(rows) != len(results):
            yield f"{mode}: {len(rows)} rows for {len(results)} results"
        for row, result in zip(rows, results):
            for title, (key, digits) in columns.items():
                value = result[key] if key in result else result["latency_us"][key]
                if value is None:  # it was not measured: the page has no number for it
                    if row.get(title):
                        yield f"{mode} {result['op']} {result['size_bytes']}: {title} is {row[title]}, not measured"
                    continue
                # The JSON has twelve digits, the page was made of all.
                near = abs(float(row.get(title) or "nan") - value) <= 0.5001 * 10 ** -digits
                if not near or len(row[title].partition(".")[2]) != digits:
                    yield f"{mode} {result['op']} {result['size_bytes']}: {title} is {row.get(title)}, not {value}"


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=LIMIT_S)


def measure(folder, name, *arguments):
    path, other = os.path.join(folder, name), os.path.join(folder, "json")
    done = run(*arguments, "--report", path, "--json", other)
    text = open(path, encoding="utf-8").read()
    return done, text, Page(text), json.load(open(other))


def check_form(name, text, page):
    report(not page.faults, f"{name}_is_well_formed_and_fetches_nothing", *page.faults)
    foreign = re.findall(r"https?:|url\(|@import|//[a-z]", text)
    report(not foreign, f"{name}_names_no_other_place", foreign)
    wrong = [word for word in page.numbers if not re.fullmatch(r"-?\d+(\.\d+)?", word) or not -1 < float(word) < 800]
    report(len(page.numbers) > 20 and not wrong, f"{name}_has_plots_of_numbers_within_their_frame", wrong[:5])


def test_contents(folder):
    # A name as an attacker would choose it.
    name = "a<b>&amp;\"'<svg onload=x>.html"
    done, text, page, data = measure(folder, name, "-D", "0.15")
    report(done.returncode == 0, "a_run_with_a_page_ends_well", done.stderr)
    check_form("the_page", text, page)
    wrong = list(differences(page, data))
    report(len(data["results"]) == 20 and not wrong, "it_has_each_number_of_the_json", *wrong)
    report(os.path.join(folder, name) in page.text() and "<svg onload" not in text, "what_it_was_started_with_is_text")
    known = [data["environment"]["cpu"], data["version"], data["started"], *data["environment"]["warnings"],
             *(port["mac"] for port in data["environment"]["ports"])]
    report(all(fact in page.text() for fact in known), "it_says_where_it_was_measured", known)
    report(page.elements.get("svg") == 4 and page.elements.get("polyline") == 20, "it_has_all_plots", page.elements)
    flat = [line for line in page.lines if line != sorted(line) or len(set(line)) < 6]
    report(not flat, "each_line_goes_from_left_to_right", *flat)
    report("prefers-color-scheme:dark" in text, "it_knows_light_and_dark")
    best = max(one["gbit_per_s"] for one in data["results"] if one["mode"] == "bw")
    report(f"{best:.3f} Gbit/s" in page.text(), "it_leads_with_the_highest_bandwidth", best)
    sums = [(sum(pair[1] for pair in one["latency_counts"]), one["messages"]) for one in data["results"]
            if one["mode"] == "lat"]
    report(sums and all(left == right for left, right in sums), "the_distribution_counts_every_message", sums)
    ends = [(one["over_time"][-1], one["seconds"], one["messages"]) for one in data["results"] if one["mode"] == "bw"]
    report(all(0.5 * seconds < last[0] <= seconds and 0 < last[1] <= messages for last, seconds, messages in ends),
           "the_series_ends_where_the_case_does", ends)


def test_kinds(folder):
    done, text, page, data = measure(folder, "sizes.html", "--op", "write", "--op", "send", "-a", "-n", "300")
    check_form("a_page_of_many_sizes", text, page)
    wrong = list(differences(page, data))
    report(len(data["results"]) == 84 and not wrong, "a_page_of_many_sizes_has_each_number", *wrong)
    done, text, page, data = measure(folder, "verify.html", "--op", "write", "-n", "100", "--verify")
    report("was checked, and was right" in page.text(), "that_bytes_were_checked_is_told", page.text())
    done, text, page, data = measure(folder, "bad.html", "--op", "write", "--mode", "bw", "-u", "1", "-n", "1000",
                                     "--loss", "0.9")
    report(done.returncode == 1 and "bad" in page.classes and "are not meaningful" in page.text() and not page.faults,
           "a_run_that_fails_says_so_on_its_page", done.returncode, page.faults)


def test_refusals(folder):
    old = os.path.join(folder, "old.json")
    open(old, "w").write("of before")
    rows = {"a_folder_that_is_not_there": (folder + "/none/x.html", 3, "create the directory"),
            "a_folder": (folder, 3, "it is a directory: name a file in it"),
            "standard_output": ("-", 2, "use a file other than"),
            "the_file_of_json": (old, 2, "use a file other than")}
    for name, (path, status, words) in rows.items():
        done = run("--report", path, "--json", old, "-n", "10")
        report(done.returncode == status and len(done.stderr.splitlines()) == 1 and path in done.stderr and
               words in done.stderr and not done.stdout and open(old).read() == "of before",
               f"{name}_is_refused_before_anything_is_done", done.returncode, done.stderr, done.stdout)
    for words in (["--server", "--ip", "10.0.0.1/24"], ["--connections", "4"]):
        done = run("--report", folder + "/x.html", *words)
        report(done.returncode == 2 and len(done.stderr.splitlines()) == 1, f"{words[0][2:]}_has_no_page", done.stderr)
    done = run("--report", "/dev/full", "--op", "write", "--mode", "bw", "-n", "100")
    report(done.returncode == 3 and "the page is incomplete" in done.stderr and "RDMA_Write BW" in done.stdout,
           "a_full_disk_is_told_and_the_results_are_printed", done.returncode, done.stderr)


def test_alone(folder):
    """uroce-report by itself: the same page of the same results; what is no result is one line."""
    maker = os.path.join(os.path.dirname(os.path.realpath(PROGRAM)), "uroce-report")
    path = os.path.join(folder, "alone.html")
    done, text, _, data = measure(folder, "alone.html", "--op", "write", "--op", "read", "-n", "200")
    pages = [subprocess.run([maker, word], stdin=open(folder + "/json"), stdout=subprocess.PIPE, text=True,
                            timeout=LIMIT_S) for word in ("-", folder + "/json")]
    check_form("the_page_of_a_file", pages[1].stdout, Page(pages[1].stdout))
    wrong = list(differences(Page(pages[1].stdout), data))
    report(len(data["results"]) == 4 and not wrong and pages[0].stdout == pages[1].stdout,
           "a_page_of_a_file_has_each_number", *wrong)
    for words, name in (("{", "broken"), ("[1]", "a_list"), ('{"results": [{}]}', "other_results")):
        open(path, "w").write(words)
        done = subprocess.run([maker, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LIMIT_S)
        report(done.returncode == 3 and len(done.stderr.splitlines()) == 1 and path in done.stderr and not done.stdout,
               f"{name}_is_refused_in_one_line", done.returncode, done.stderr)
    lonely = os.path.join(folder, "uroce-perf")
    shutil.copy(PROGRAM, lonely)
    done = subprocess.run([lonely, "--report", path, "-n", "10"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=LIMIT_S, env={**os.environ, "PATH": folder})
    report(done.returncode == 3 and "uroce-report" in done.stderr and "python3" in done.stderr and not done.stdout and
           len(done.stderr.splitlines()) == 1 and open(path).read() == words,
           "without_uroce_report_nothing_is_measured", done.returncode, done.stderr)


def test_interrupted(folder):
    path = os.path.join(folder, "kept.html")
    open(path, "w").write("of before")
    with subprocess.Popen([PROGRAM, "--op", "write", "--mode", "bw", "-D", "60", "--report", path],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as child:
        child.stdout.readline()  # it has begun
        time.sleep(1)
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=LIMIT_S)
    text = open(path, encoding="utf-8").read()
    report(child.returncode == 130 and text.rstrip().endswith("</html>") and rows_of(Page(text), "bw"),
           "who_interrupts_has_a_page_of_what_was_measured", child.returncode, text[:300])


with tempfile.TemporaryDirectory() as place:
    for test in (test_contents, test_kinds, test_refusals, test_alone, test_interrupted):
        try:
            test(place)
        except Exception as error:  # a test that breaks is a failed test
            report(False, test.__name__, repr(error))
print(f"1..{count}")
sys.exit(1 if failed else 0)
