#!/usr/bin/env python3
# browser.py - the page of uroce-perf --report as a browser shows it, in the light and in the dark
# SPDX-License-Identifier: BSD-3-Clause
"""Usage: browser.py PROGRAM. Prints TAP; skips without chromium (purpose `browser` of config/packages.txt)."""
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

PROGRAM = sys.argv[1]
WIDTH, HEIGHT = 1100, 2600
# Ground, ink and the colours of send and write, as app/report/uroce_chart.py has them.
LOOKS = {"light": ((255, 255, 255), (27, 31, 39), (37, 99, 235), (5, 150, 105)),
         "dark": ((18, 21, 27), (230, 233, 239), (96, 165, 250), (52, 211, 153))}


def undo(kind, line, above, size):
    """A line of a PNG without its filter."""
    for i in range(len(line)):
        left = line[i - size] if i >= size else 0
        up, corner = above[i], above[i - size] if i >= size else 0
        guess = left + up - corner
        near = min((abs(guess - value), order, value) for order, value in enumerate((left, up, corner)))[2]
        line[i] = (line[i] + (0, left, up, (left + up) // 2, near)[kind]) & 255
    return line


def pixels(path):
    """How often each colour is there, and the colour of the first pixel."""
    data = open(path, "rb").read()
    at, packed, seen = 8, b"", {}
    while at < len(data):
        length, name = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        if name == b"IHDR":
            width, height, _, colour = struct.unpack(">IIBB", body[:10])
        packed += body if name == b"IDAT" else b""
        at += 12 + length
    size = 4 if colour == 6 else 3
    raw, above = zlib.decompress(packed), bytearray(width * size)
    for row in range(height):
        start = row * (width * size + 1)
        above = undo(raw[start], bytearray(raw[start + 1:start + 1 + width * size]), above, size)
        first = tuple(above[:3]) if row == 0 else first
        for i in range(0, len(above), size):
            value = tuple(above[i:i + 3])
            seen[value] = seen.get(value, 0) + 1
    return seen, first


def main():
    browser = shutil.which("chromium")
    if not browser:
        print("ok 1 - browser # SKIP there is no chromium\n1..1")
        return 0
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        page = os.path.join(folder, "page.html")
        done = subprocess.run([PROGRAM, "--op", "send", "--op", "write", "-s", "64,4096", "-D", "0.2", "--report",
                               page], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
        for number, (name, colours) in enumerate(LOOKS.items(), 1):
            picture = os.path.join(folder, name + ".png")
            said = subprocess.run([browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                                   f"--user-data-dir={folder}/profile-{name}", f"--window-size={WIDTH},{HEIGHT}",
                                   f"--blink-settings=preferredColorScheme={int(name == 'light')}",
                                   f"--screenshot={picture}", "file://" + page],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120).stdout
            seen, first = pixels(picture) if os.path.exists(picture) else ({}, None)
            shown = [seen.get(colour, 0) for colour in colours]
            # Most of it is ground; text, and lines of both operations, are there as well.
            good = first == colours[0] and shown[0] > WIDTH * HEIGHT / 2 and min(shown[1:]) > 300
            failures += not good
            print(f"{'ok' if good else 'not ok'} {number} - browser::the_page_is_shown_in_the_{name}")
            if not good:
                print("".join(f"# {line}\n" for line in
                              [first, shown, *done.stdout.splitlines()[-5:], *said.splitlines()[-5:]]), end="")
    print(f"1..{len(LOOKS)}")
    return 1 if failures else 0


sys.exit(main())
