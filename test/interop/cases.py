# cases.py - the scripts of `make interop`, in the order in which they run
# SPDX-License-Identifier: BSD-3-Clause
"""The table of operations: each at sizes around the path MTU, in both roles, over both families. Every byte is compared
at the end where it lands, and that those behind it are untouched; opcode, length and immediate data at both."""
import itertools

import errors
import semantics
import streams
from scripts import Batch, Script, split  # noqa: F401 (split is for the harness)

NO_BATCH = Batch(())
IMM = "imm=0x12345678"
KIB, MIB = 1 << 10, 1 << 20
FAMILIES = ("IPv4", "IPv6")
SETTINGS = {"IPv4": "family=4", "IPv6": "family=6", "IPv4 in a VLAN": "family=4 vlan=1",
            "IPv6 in a VLAN": "family=6 vlan=1"}
WORD, ADD = 0x1122334455667788, 0x0102030405060708


def sends(work, said):
    """What the one that asks does and sees, then the other one."""
    def steps(size):
        return ((f"meet {work}:{size} wait", [f"{work} SUCCESS"]),
                (f"recv:{size} meet wait", [f"recv SUCCESS len={size} bad=0{said}"]))
    return steps


def write(size):
    return ((f"write:{size} wait meet", ["write SUCCESS"]), (f"meet check:target:{size}", ["target bad=0"]))


def write_imm(size):
    return ((f"meet writeimm:{size} wait", ["writeimm SUCCESS"]),
            ("recv:0 meet wait", [f"recv SUCCESS RECV_RDMA_WITH_IMM len={size} bad=0 {IMM}"]))


def invalidate(linux_asks):
    """This kernel does not tell user space which key was made invalid."""
    told = " invalidated=window" if linux_asks else ""

    def steps(size):
        return ((f"take sendinv:{size} wait", ["sendinv SUCCESS"]),
                (f"recv:{size} bind:64 wait give wait", ["bind SUCCESS", f"recv SUCCESS len={size} bad=0{told}"]))
    return steps


def read(size):
    return ((f"meet read:{size} wait check:landing:{size}", [f"read SUCCESS len={size}", "landing bad=0"]),
            (f"offer:{size} meet", []))


def fetch_and_add(_size):
    return ((f"meet fadd:0:{ADD:#x} wait result meet", ["fadd SUCCESS", f"result {WORD:#x}"]),
            (f"set:{WORD:#x} meet meet word", [f"word {WORD + ADD:#x}"]))


def compare_and_swap(_size):
    return ((f"meet cswap:0:{WORD:#x}:{ADD:#x} wait result cswap:0:{WORD:#x}:1 wait result meet",
             ["cswap SUCCESS", f"result {WORD:#x}", "cswap SUCCESS", f"result {ADD:#x}"]),
            (f"set:{WORD:#x} meet meet word", [f"word {ADD:#x}"]))


OPERATIONS = {"SEND": sends("send", ""), "SEND with imm": sends("sendimm", f" {IMM}"), "WRITE": write,
              "WRITE with imm": write_imm, "READ": read}
ATOMICS = {"fetch-and-add": fetch_and_add, "compare-and-swap": compare_and_swap}


def case(name, steps, size, linux_asks, family, mtu):
    settings = f"{SETTINGS[family]} mtu={mtu} "
    asks, answers = ((settings + words, lines) for words, lines in steps(size))
    ours, linux = (answers, asks) if linux_asks else (asks, answers)
    role = "Linux asks" if linux_asks else "uroce asks"
    length = f"{size} bytes, " if steps not in ATOMICS.values() else ""
    return Script(f"{name}, {length}{role}, {family}, mtu {mtu}", ours, linux, seconds=2)


def operations(full):
    """All of it, or all at one path MTU and the largest at the others."""
    for linux_asks, family, mtu in itertools.product((False, True), FAMILIES, (256, 1024, 4096)):
        sizes = [0, 1, mtu - 1, mtu, mtu + 1, 64 * KIB, MIB]
        if not full and (family, mtu) != ("IPv4", 1024):
            sizes = [mtu + 1, 64 * KIB]
        rows = {**OPERATIONS, "SEND with inv": invalidate(linux_asks)}
        for (name, steps), size in itertools.product(rows.items(), sizes):
            yield case(name, steps, size, linux_asks, family, mtu)
        for name, steps in ATOMICS.items():
            yield case(name, steps, 8, linux_asks, family, mtu)


def lengths():
    """SENDs at the path MTUs that operations() leaves out, from one packet to many."""
    for linux_asks, family, mtu in itertools.product((False, True), FAMILIES, (512, 2048)):
        for size in (1, 3000, 64 * KIB):
            yield case("SEND", OPERATIONS["SEND"], size, linux_asks, family, mtu)


def each_operation(family, mtus):
    for linux_asks, mtu in itertools.product((False, True), mtus):
        for name, steps in OPERATIONS.items():
            yield case(name, steps, 4 * mtu - 1, linux_asks, family, mtu)
        for name, steps in ATOMICS.items():
            yield case(name, steps, 8, linux_asks, family, mtu)


def tagged():
    """In a VLAN, with a priority in our tags.

    RULE("W-1", "VLAN"), RULE("W-3", "VLAN"), RULE("W-8", "VLAN")
    """
    for family in ("IPv4 in a VLAN", "IPv6 in a VLAN"):
        yield from each_operation(family, (1024, 4096))


def batches(full):
    yield Batch(errors.SCRIPTS)
    yield Batch(semantics.SCRIPTS)
    yield Batch([*operations(full), *lengths()])
    yield from streams.batches(full)
