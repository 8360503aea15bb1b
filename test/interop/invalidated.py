# invalidated.py - is each key that a command of NVMe over RDMA offers invalidated by its answer? Read off a capture
# SPDX-License-Identifier: BSD-3-Clause
"""Frames of RoCEv2 over IPv4 without VLAN, as tcpdump writes them; a frame that came again counts once."""
import struct

SEND_FIRST, SEND_ONLY, SEND_ONLY_INVALIDATE = 0x00, 0x04, 0x17
SGL_OFFERED = 0x4F  # keyed, "invalidate it"
AT_BTH = 14 + 20 + 8
SERVICE_QPS = 2  # SMI and GSI


def frames(data):
    """Each with the address that it came from."""
    at = 24
    while at + 16 <= len(data):
        kept = struct.unpack_from("<I", data, at + 8)[0]
        frame = data[at + 16:at + 16 + kept]
        at += 16 + kept
        if len(frame) >= AT_BTH + 12 and frame[12:14] + frame[23:24] + frame[36:38] == b"\x08\x00\x11\x12\xb7":
            yield frame[26:30], frame[AT_BTH:]


def messages(data):
    """Sends: who sent it, opcode, key to invalidate, payload."""
    seen = set()
    for source, packet in frames(data):
        opcode, qpn, psn = packet[0], int.from_bytes(packet[5:8], "big"), int.from_bytes(packet[9:12], "big")
        if opcode not in (SEND_FIRST, SEND_ONLY, SEND_ONLY_INVALIDATE) or qpn < SERVICE_QPS:
            continue
        if (source, qpn, psn) in seen:
            continue
        seen.add((source, qpn, psn))
        has_key = opcode == SEND_ONLY_INVALIDATE
        yield source, opcode, int.from_bytes(packet[12:16], "big") if has_key else None, packet[16 if has_key else 12:]


def judge(data, host):
    """data: of a file of tcpdump; host: its address, 4 bytes. How many keys were offered, and what was wrong."""
    offered, wrong, count = {}, [], 0
    for source, opcode, key, payload in messages(data):
        if source == host and opcode != SEND_ONLY_INVALIDATE and len(payload) >= 64:
            if payload[39] == SGL_OFFERED:
                number = int.from_bytes(payload[35:39], "little")
                offered[number] = offered.get(number, []) + [payload[2:4]]
                count += 1
        elif source != host and key is not None:
            if payload[12:14] in offered.get(key, []):
                offered[key].remove(payload[12:14])
            else:
                wrong.append(f"key {key:08x} is invalidated, which command {payload[12:14].hex()} did not offer")
    wrong += [f"key {key:08x} was offered by command {one.hex()} and not invalidated"
              for key, left in offered.items() for one in left]
    return count, wrong[:10]
