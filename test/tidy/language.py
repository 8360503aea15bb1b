# language.py - sentences that users read are plain technical English
# SPDX-License-Identifier: BSD-3-Clause
import ast
import re

from tree import files, lines_of, scripts, text_of

# (rule, what breaks it, what to write)
RULES = (
    ("L1", r"\b(?:what|whatever|who|whom|whoever)\b", "name the noun"),
    ("L2", r"\b(?:tells?|told|telling|says?|said|saying|hears?|heard|asks?|asked|asking)\b",
     "software reports, shows, logs, requests, queries"),
    ("L4", r"\b(?:programs?|applications?|queue pairs?|QPs?|lcores?|ports?|messages?|calls?) of (?:the )?"
     r"(?:verbs|rdma_cm|libibverbs|librdmacm|UD|RC|DPDK|uroce|the kernel|Linux)\b", "write a compound noun"),
    ("L7", r"\bso (?:many|much)\b|\b(?:bytes?|packets|frames|messages|requests|times|commands|lines?|probes|"
     r"instructions|cycles|[kKMG]i?B|[kMG]?bit|ns|us|ms) an? (?:second|minute|hour|day|message|packet|frame|byte|"
     r"request|QP|queue pair|lcore|port|command|poll|line|connection)\b", "per for rates, up to N for bounds"),
)
# Infinitives, and values of the control protocol.
ALLOWED = re.compile(r"\bwhat to \w+\b|^ask$|\btype\W+ask\b")
PAGES = ("README.md", "CHANGELOG.md", "SECURITY.md", "docs/tutorial/", "docs/howto/", "docs/performance.md",
         "docs/reference/programs.md", "docs/reference/options.md", "docs/reference/calls.md",
         "docs/contributing/testing.md")
SOURCES = ("app/", "lib/", "drivers/")
STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


def prose_of(path):
    """(line, text) of what a reader of the page reads as sentences: no commands, no names in code."""
    is_code = False
    for number, line in enumerate(lines_of(path), 1):
        if line.startswith("```"):
            is_code = not is_code
        elif not is_code:
            yield number, re.sub(r"`[^`]*`|\]\([^)]*\)", " ", line)


def strings_of(path):
    """(line, text) of the strings of a C file, pieces of one string put together."""
    text = re.sub(r"/\*.*?\*/", lambda comment: "\n" * comment.group(0).count("\n"), text_of(path), flags=re.S)
    text = re.sub(r"^\s*#\s*include.*$", "", text, flags=re.M)
    for string in re.finditer(STRING.pattern + r'(?:\s*"(?:[^"\\\n]|\\.)*")*', text):
        yield text[:string.start()].count("\n") + 1, "".join(STRING.findall(string.group(0)))


def strings_of_script(path):
    """(line, text) of the strings of a Python program, without the descriptions of its functions."""
    tree = ast.parse(text_of(path))
    inner = {id(node.body[0].value) for node in ast.walk(tree)
             if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and isinstance(node.body[0], ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner:
            yield node.lineno, node.value


def sentences():
    """(path, line, text) of all that users read."""
    for path in files(".md"):
        if path.startswith(PAGES):
            yield from ((path, *one) for one in prose_of(path))
    for path in files(".c", ".h", ".def"):
        if path.startswith(SOURCES):
            yield from ((path, *one) for one in strings_of(path))
    for path, language in scripts():
        if path.startswith("app/monitor/uroce-") or path.startswith("app/report/uroce-"):
            yield from ((path, *one) for one in strings_of_script(path))


def check_language():
    """help, counters, errors and user pages name nouns, and software does not speak (rules L1, L2, L4, L7)"""
    for path, number, text in sentences():
        for rule, broken, advice in RULES:
            for found in re.finditer(broken, ALLOWED.sub(" ", text), re.IGNORECASE):
                yield f"{path}:{number}: {rule} '{found.group(0)}': {advice}: {text.strip()[:100]}"
