# layers.py - who may include and call whom: between the layers, and within a folder
# SPDX-License-Identifier: BSD-3-Clause
import graphlib
import json
import os
import re

from tree import ROOT, files, lines_of, run, text_of

# Who may include what: the picture in architecture.md. Places of the tree by their path; `dpdk` and `system`
# are headers in angle brackets. The longest prefix of a file's path counts.
MAY_INCLUDE = {
    "include/": {"include/", "system"},
    "config/": {"config/", "system"},
    "lib/wire/": {"lib/wire/", "config/", "system"},
    "lib/share/": {"lib/share/", "system"},
    "lib/rc/": {"lib/rc/", "lib/share/", "lib/wire/", "config/", "include/", "system"},
    "lib/cm/": {"lib/cm/", "lib/rc/", "lib/share/", "lib/wire/", "config/", "include/", "system"},
    "lib/nvmf/": {"lib/nvmf/", "lib/share/", "system"},
    "lib/engine/": {"lib/engine/", "lib/cm/", "lib/rc/", "lib/share/", "lib/wire/", "config/", "include/", "system",
                    "dpdk"},
    "lib/api/": {"lib/api/", "lib/engine/", "lib/cm/", "lib/rc/", "lib/wire/", "config/", "include/", "system", "dpdk"},
    # A user of the library, as any program.
    "lib/verbs/": {"lib/verbs/", "include/", "system"},
    "lib/rdmacm/": {"lib/rdmacm/", "lib/verbs/", "include/", "system"},
    # It asks the table of drivers, and the engine is told.
    "lib/api/device.": {"drivers/ethdev/quirks.", "lib/engine/", "include/", "system", "dpdk"},
    "drivers/": {"drivers/", "drivers/ethdev/quirks.", "lib/engine/", "lib/wire/", "config/", "include/", "system",
                 "dpdk"},
    "drivers/ethdev/quirks.": {"drivers/ethdev/quirks.", "system", "dpdk"},
    "app/": {"app/", "drivers/", "include/", "system", "dpdk"},
    # It prints frames, and knows no device.
    "app/decode/": {"app/", "lib/cm/", "lib/wire/", "system"},
    # Built against the installed library, too.
    "app/nvmet/": {"app/", "lib/nvmf/", "lib/share/", "include/", "system", "dpdk"},
    "app/nvmeperf/failover.": {"app/", "drivers/", "include/", "system", "dpdk"},
    "app/nvmeperf/": {"app/", "lib/nvmf/", "include/", "system", "dpdk"},
    "test/": None,
}
PLACES = ["include/", "config/", "lib/wire/", "lib/share/", "lib/rc/", "lib/cm/", "lib/engine/", "lib/api/",
          "lib/nvmf/", "lib/verbs/", "lib/rdmacm/", "drivers/ethdev/quirks.", "drivers/", "app/", "test/"]
INCLUDE_ROOTS = ["lib", "include", "drivers", "app", "test/support", "test", "."]


def place_of(path):
    return next((place for place in PLACES if path.startswith(place)), None)


def find_include(path, name):
    """Where a quoted include leads, as a path of the tree, or None."""
    for root in [os.path.dirname(path), *INCLUDE_ROOTS]:
        candidate = os.path.normpath(os.path.join(root, name))
        if os.path.exists(os.path.join(ROOT, candidate)):
            return candidate
    return None


def rule_of(path):
    return max((prefix for prefix in MAY_INCLUDE if path.startswith(prefix)), key=len, default=None)


def check_include_edges():
    """layers include only what lies below them"""
    for path in files(".c", ".h", ".def"):
        rule = rule_of(path)
        if rule is None:
            yield f"{path}: is in no layer; add its folder to MAY_INCLUDE in test/tidy/layers.py"
            continue
        allowed = MAY_INCLUDE[rule]
        if allowed is None:
            continue
        for number, line in enumerate(lines_of(path), 1):
            found = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
            if not found:
                continue
            bracket, name = found.groups()
            if name.startswith("uroce/"):
                target = "include/"
            elif bracket == "<":
                target = "dpdk" if name.startswith(("rte_", "cmdline")) else "system"
            else:
                where = find_include(path, name)
                if where is None:
                    yield f"{path}:{number}: there is no \"{name}\"; write <{name}> for a header of the system"
                    continue
                target = place_of(where)
            if target not in allowed:
                yield (f"{path}:{number}: {rule} may not include {name} ({target}); "
                       f"move the code to the layer that may, or pass the value in")


def functions_of(folder):
    """{name: path} of what the files of a folder define for others."""
    listing = run("ctags", "--language-force=C", "-I", "INLINE=static", "--kinds-C=f", "--fields=+f",
                  "--output-format=json", "-f", "-",
                  *(path for path in files(".c") if path.startswith(folder)), cwd=ROOT)
    tags = [json.loads(line) for line in listing.stdout.splitlines() if line.startswith("{")]
    return {tag["name"]: tag["path"] for tag in tags if not tag.get("file")}


def named_in(path, functions):
    """Which of the functions the code of a file names; neither comments, strings nor structures of that name count."""
    text = re.sub(r"/\*.*?\*/|\"(?:[^\"\\]|\\.)*\"|\bstruct \w+", "", text_of(path), flags=re.S)
    return sorted(set(re.findall(r"\b[a-z]\w*", text)) & set(functions))


def modules_of(folder):
    """The .c and .h of a name are one module; which others of its folder each includes or calls."""
    needs = {}
    defined = functions_of(folder)
    for path in (one for one in files(".c", ".h") if os.path.dirname(one) + "/" == folder):
        found = re.findall(r'^\s*#\s*include\s*"([^"]+)"', text_of(path), re.MULTILINE)
        calls = named_in(path, defined) if path.endswith(".c") else []  # what a header names it declares
        others = [find_include(path, one) or "" for one in found] + [defined[name] for name in calls]
        name, *others = (os.path.splitext(os.path.basename(one))[0] for one in [path, *others]
                         if os.path.dirname(one) + "/" == folder)
        needs.setdefault(name, set()).update(set(others) - {name})
    return needs


def check_circles():
    """no two modules of a folder need each other"""
    for folder in sorted({os.path.dirname(path) + "/" for path in files(".c") if not path.startswith("test/")}):
        try:
            graphlib.TopologicalSorter(modules_of(folder)).prepare()
        except graphlib.CycleError as error:
            circle = " needs ".join(reversed(error.args[1]))
            yield f"{folder}: {circle}: move what they share into a module below both"


def check_calls():
    """layers call only what lies below them, also through the public headers"""
    defined = functions_of("lib/")
    if "uroce_qp_modify" not in defined:
        yield "ctags finds no functions in lib/; install universal-ctags"
    for path in files(".c", ".h"):
        if not path.startswith("lib/"):
            continue
        for name in named_in(path, defined):
            place = place_of(defined[name])
            if name.startswith("uroce_") and path.startswith(("lib/verbs/", "lib/rdmacm/")):
                continue  # what the public headers say
            if defined[name] != path and place not in MAY_INCLUDE[rule_of(path)] | {place_of(path)}:
                yield f"{path}: names {name}() of {defined[name]}; move that below, or pass in what it says"
