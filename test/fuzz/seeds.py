# seeds.py - inputs for the fuzz targets from the captures: frames as they are, packets as the targets spell them
# SPDX-License-Identifier: BSD-3-Clause
import glob
import os
import struct

DATA = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "data")
RETH = {6, 10, 11, 12}
ATOMIC = {19, 20}
LAST = {2, 3, 4, 5, 8, 9, 10, 11, 15, 16}
ANSWERS = {17: 0, 13: 1, 14: 2, 15: 3, 16: 4, 18: 5}  # as completer.c numbers them


def frames(path, most):
    """The first frames of a little-endian classic pcap."""
    with open(path, "rb") as file:
        data, at = file.read(), 24
    while at + 16 <= len(data) and most > 0:
        length = struct.unpack_from("<I", data, at + 8)[0]
        yield data[at + 16:at + 16 + length]
        at, most = at + 16 + length, most - 1


def captures():
    return sorted(glob.glob(os.path.join(DATA, "*.pcap")))


def mads(path):
    """The payloads of UD SEND_ONLY to QP 1 in untagged IPv4 frames."""
    for frame in frames(path, 1000):
        if frame[12:14] == b"\x08\x00" and frame[36:38] == b"\x12\xb7" and frame[42] == 0x64 and frame[49] == 1:
            yield frame[62:-4]


def packets(path, most=400):
    """(opcode, PSN, bytes behind the BTH) of the RC packets in untagged IPv4 frames."""
    for frame in frames(path, most):
        if len(frame) > 58 and frame[12:14] == b"\x08\x00" and frame[36:38] == b"\x12\xb7" and frame[42] < 32:
            yield frame[42], int.from_bytes(frame[51:54], "big"), len(frame) - 58


def requests(path):
    """For responder.c: the same opcodes, in order, again, or ahead, as the capture had them."""
    out, expected = bytearray([0x76]), None
    for opcode, psn, size in packets(path):
        if 13 <= opcode <= 18:
            continue
        distance = 0 if expected is None else (psn - expected + (1 << 23)) % (1 << 24) - (1 << 23)
        choice = 0 if distance == 0 else 159 + min(-distance, 64) if distance < 0 else 223 + min(distance, 31)
        out += bytes([0, opcode, 4, choice])
        if opcode in RETH | ATOMIC:
            out += bytes([1, 100, 1, 0])
        if opcode in LAST:
            out += struct.pack(">H", min(size, 256))
        out += bytes([210])
        if distance >= 0:
            expected = psn + 1
    return bytes(out)


def responses(path):
    """For completer.c: four requests, then the capture's responses around the oldest one."""
    out, expected = bytearray([0xC0]), None
    for kind in (0, 2, 3, 1):
        out += bytes([kind]) + (b"" if kind == 3 else struct.pack(">H", 600))
    out += bytes([200])
    for opcode, psn, size in packets(path):
        if opcode not in ANSWERS:
            continue
        distance = 0 if expected is None else max(-60, min(59, psn - expected))
        out += bytes([0, ANSWERS[opcode], 188 + distance])
        if opcode != 14:
            out += bytes([1])
        if opcode in (15, 16):
            out += struct.pack(">H", min(size, 256))
        expected = psn + 1
    return bytes(out)


def write(target, folder):
    """The seeds of a target, a file each; none for those whose inputs no capture can give."""
    os.makedirs(folder, exist_ok=True)
    for path in captures():
        name = os.path.basename(path)[:-5]
        if target in ("frame", "rebuild"):
            seeds = list(frames(path, 40))
        elif target == "mad":
            seeds = list(mads(path))
        elif target in ("responder", "completer"):
            seeds = [(requests if target == "responder" else responses)(path)[:2000]]
        else:
            seeds = []
        for number, seed in enumerate(seeds):
            with open(os.path.join(folder, f"{name}-{number}"), "wb") as file:
                file.write(seed)
