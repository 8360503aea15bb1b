# iscsi.py - logins to a target by iSER, one after another, each with blocks that are written and compared
# SPDX-License-Identifier: BSD-3-Clause
"""usage: iscsi.py PORTAL TARGET INITIATOR TIMES

Calls libiscsi.so.7 as its programs do; Debian has no program of it that compares what it reads. Each login is of a
process of its own: libiscsi 1.19 does not disconnect what has logged out by iSER, and its thread goes on, also behind
iscsi_destroy_context(), in memory that is free by then.
"""
import ctypes
import os
import random
import sys

ISER, NORMAL = 1, 2
BLOCK, BLOCKS = 512, 256  # 128 KiB: the target takes it by READs of RDMA, and gives it by WRITEs
LUN = 1


class Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]


def load():
    library = ctypes.CDLL("libiscsi.so.7")
    for name in ("iscsi_create_context", "iscsi_write10_sync", "iscsi_read10_iov_sync"):
        getattr(library, name).restype = ctypes.c_void_p
    library.iscsi_get_error.restype = ctypes.c_char_p
    return library


class Session:
    def __init__(self, library, portal, target, initiator):
        self.library = library
        self.context = ctypes.c_void_p(library.iscsi_create_context(initiator.encode()))
        self.expect("the transport", library.iscsi_init_transport(self.context, ISER) == 0)
        library.iscsi_set_targetname(self.context, target.encode())
        library.iscsi_set_session_type(self.context, NORMAL)
        self.expect("the login", library.iscsi_full_connect_sync(self.context, portal.encode(), LUN) == 0)

    def expect(self, what, good):
        if not good:
            sys.exit(f"{what}: {self.library.iscsi_get_error(self.context).decode()}")

    def take(self, what, task):
        """A task begins with its status."""
        self.expect(what, task and ctypes.cast(task, ctypes.POINTER(ctypes.c_int))[0] == 0)
        self.library.scsi_free_scsi_task(ctypes.c_void_p(task))

    def write(self, lba, data):
        self.take("a write", self.library.iscsi_write10_sync(self.context, LUN, lba, data, len(data), BLOCK,
                                                             0, 0, 0, 0, 0))

    def read(self, lba, count):
        data = ctypes.create_string_buffer(count)
        vector = Vector(ctypes.addressof(data), count)
        self.take("a read", self.library.iscsi_read10_iov_sync(self.context, LUN, lba, count, BLOCK, 0, 0, 0, 0, 0,
                                                               ctypes.byref(vector), 1))
        return data.raw

    def close(self):
        self.expect("the logout", self.library.iscsi_logout_sync(self.context) == 0)


def log_in(number, before, now):
    """Blocks are (first, bytes of them)."""
    session = Session(load(), *sys.argv[1:4])
    if before and session.read(before[0], len(before[1])) != before[1]:
        sys.exit(f"login {number}: blocks are not as the login before has left them")
    session.write(*now)
    if session.read(now[0], len(now[1])) != now[1]:
        sys.exit(f"login {number}: blocks from {now[0]} on are not what was written")
    session.close()
    sys.exit(0)


def main():
    times, draw, before = int(sys.argv[4]), random.Random(36), None
    for number in range(1, times + 1):
        now = draw.randrange(16384), draw.randbytes(draw.randint(1, BLOCKS) * BLOCK)
        child = os.fork()
        if child == 0:
            log_in(number, before, now)
        status = os.waitpid(child, 0)[1]
        if status != 0:
            sys.exit(f"login {number} failed: {os.waitstatus_to_exitcode(status)}")
        before = now
    print(f"{times} logins, all blocks as they were written")


if __name__ == "__main__":
    main()
