# uroce_bundle.py - one archive for a bug report: versions, configuration, counters and records of running programs
# SPDX-License-Identifier: BSD-3-Clause
"""For uroce-top --bundle. The archive has a folder per program: the replies of its telemetry socket, its command line,
the file of its --config, and the records of its failed queue pairs. Values of keys and options that look like secrets
are replaced. Records contain up to 54 bytes of payload per frame."""
import io
import json
import os
import platform
import re
import tarfile
import time

import uroce_telemetry

SECRET = re.compile(r"(?i)(secret|password|passwd|token|credential|private|[\w-]*key)(\s*[=:]\s*|\s+)(\S+)")
QPS_MOST = 1024  # per program
RECORD_MOST = 16 << 20  # bytes per file


def without_secrets(text):
    return SECRET.sub(r"\1\2(removed)", text)


def replies(instance):
    """{command: reply} of everything that the program reports; a sentence where it has no reply."""
    found = {}

    def ask(command, parameter=None):
        name = command if parameter is None else f"{command},{parameter}"
        try:
            found[name] = instance.ask(command, parameter)
        except uroce_telemetry.Gone as gone:
            found[name] = str(gone)
        return found[name]

    info = ask("/uroce/info")
    for command in ("/uroce/port/list", "/uroce/cm", "/uroce/nvmet"):
        ask(command)
    for port in instance.ports():
        for command in ("/uroce/port/info", "/uroce/counters", "/uroce/mr/list"):
            ask(command, port)
    for lcore in range(info["lcores"] if isinstance(info, dict) else 0):
        ask("/uroce/lcore/info", lcore)
    for number in instance.qps()[:QPS_MOST]:
        for command in ("/uroce/qp/info", "/uroce/qp/stats", "/uroce/qp/why"):
            ask(command, number)
    return found


def command_line(pid):
    with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
        return [word for word in file.read().split("\0") if word]


def value_of(words, option):
    """Of --option VALUE or --option=VALUE; None: it is not there."""
    for word, following in zip(words, words[1:] + [""]):
        if word == option:
            return following
        if word.startswith(option + "="):
            return word[len(option) + 1:]
    return None


def files_of(pid, words):
    """(name, bytes) of the program's settings and of the records of its failed queue pairs."""
    root = f"/proc/{pid}/cwd"
    config, record = value_of(words, "--config"), value_of(words, "--record")
    if config:
        with open(os.path.join(root, config), encoding="utf-8", errors="replace") as file:
            yield "config.ini", without_secrets(file.read()).encode()
    for name in sorted(os.listdir(os.path.join(root, record))) if record else ():
        path = os.path.join(root, record, name)
        if name.startswith(f"uroce-{pid}-") and os.path.getsize(path) <= RECORD_MOST:
            with open(path, "rb") as file:
                yield f"records/{name}", file.read()


def system(version):
    release = "\n".join(f"{key}={value}" for key, value in platform.freedesktop_os_release().items())
    return f"{version}\n{' '.join(platform.uname())}\n{time.strftime('%Y-%m-%d %H:%M:%S %z')}\n{release}\n"


def write(path, version, found):
    """Writes the archive of these instances. Returns how many files it has."""
    count = 0
    with tarfile.open(path, "w:gz") as archive:
        def add(name, content):
            nonlocal count
            entry = tarfile.TarInfo(f"uroce-bundle/{name}")
            entry.size, entry.mtime, entry.mode = len(content), int(time.time()), 0o600
            archive.addfile(entry, io.BytesIO(content))
            count += 1

        add("system.txt", system(version).encode())
        for instance in found:
            add(f"{instance.prefix}/telemetry.json", json.dumps(replies(instance), indent=1).encode())
            try:
                words = command_line(instance.pid)
                add(f"{instance.prefix}/command.txt", (without_secrets(" ".join(words)) + "\n").encode())
                for name, content in files_of(instance.pid, words):
                    add(f"{instance.prefix}/{name}", content)
            except OSError as error:
                add(f"{instance.prefix}/missing.txt", f"{error}\n".encode())
    return count
