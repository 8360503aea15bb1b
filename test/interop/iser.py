# iser.py - Debian's tgt over uroce-run, and Linux's own iSCSI initiator, ib_iser, in the guest
# SPDX-License-Identifier: BSD-3-Clause
"""The guest logs in with open-iscsi, as a Linux host does, and finds a SCSI disk. The target is the program that Debian
ships, for which uroce's libraries stand in for libibverbs' provider and for librdmacm."""
import cases
from guest import TAP
from ends import FAMILIES, PORT

TARGET, INITIATOR = "iqn.2026-01.test:disk", "iqn.2026-01.test:host"
OWN = FAMILIES["ipv4"]["ip"]
PORTAL = OWN.split("/")[0]
DISK = "/dev/sda"


def serve(megabytes, tcp_port):
    """The lines of a shell that serves a disk by iSER until it is told to end. tgt's listener on loopback comes last,
    so that who waits for it finds everything. tgtd does not end by SIGTERM."""
    return f"""folder=$(mktemp -d); export TGT_IPC_SOCKET=$folder/socket; truncate -s {megabytes}M $folder/disk
tgtd -f & tgtd=$!; trap 'kill -KILL $tgtd; exit 0' TERM
until tgtadm --op show --mode sys > /dev/null 2>&1; do sleep 0.1; done
tgtadm --lld iser --op new --mode target --tid 1 -T {TARGET}
tgtadm --lld iser --op new --mode logicalunit --tid 1 --lun 1 -b $folder/disk
tgtadm --lld iser --op bind --mode target --tid 1 -I ALL
tgtadm --lld iser --op bind --mode target --tid 1 -Q {INITIATOR}
tgtadm --lld iscsi --op new --mode portal --param portal=127.0.0.1:{tcp_port}
rm -r $folder; wait"""


NODE = f"iscsiadm -m node -T {TARGET} -p {PORTAL}"
# The daemon of open-iscsi, and what it reads: its own settings as Debian ships them, our name, the node with its way.
PREPARE = (f"mkdir -p /run/lock && echo InitiatorName={INITIATOR} > /etc/iscsi/initiatorname.iscsi",
           "{ pidof iscsid >/dev/null || { (iscsid -f >/tmp/iscsid 2>&1 &); sleep 2; }; }",
           f"{NODE} -I iser -o new >/dev/null")
LOG_IN = f"{NODE} -l >/tmp/login && until test -b {DISK}; do sleep 0.1; done"
LOG_OUT = f"{NODE} -u >/dev/null && until ! test -b {DISK}; do sleep 0.1; done"
TRANSPORT = "iscsiadm -m session -P 1 | grep 'Iface Transport'"


class Disk:
    """steps: commands of the guest between its preparations and the end, one after the other; the first that fails ends
    them."""
    program, guest_program, role = "app/uroce-run", "fio", "server"
    batch = cases.NO_BATCH
    lasting = True  # our side goes on until it is told to end

    def __init__(self, title, steps, megabytes=64, limit=90):
        self.title, self.steps, self.megabytes, self.limit = title, steps, megabytes, limit

    def name(self):
        return f"tgt, iSER: {self.title}"

    def seconds(self):
        return self.limit

    def own_command(self, program):
        return [program, "-d", TAP, "--ip", OWN, "--explain", "sh", "-ec", serve(self.megabytes, PORT)]

    def guest_command(self):
        steps = " && ".join([*PREPARE, LOG_IN, TRANSPORT, *self.steps, LOG_OUT])
        tell = "dmesg | tail -n 25; tail -n 25 /tmp/iscsid; cat /tmp/login"
        return f"{steps} && echo all done; s=$?; test $s = 0 || {{ {tell}; umount /mnt; {NODE} -u; }}; exit $s"

    @staticmethod
    def disturb(own, _start, _harness):
        return own

    def outcomes(self, reasons, _own_text, guest_text):
        missing = [f'the guest does not say "{words}"' for words in ("Iface Transport: iser", "all done")
                   if words not in guest_text]
        yield self.name(), reasons + missing, []


def file_system():
    """Written by one login, compared by the next."""
    tree = ("for i in $(seq 20); do mkdir /mnt/$i && dd if=/dev/urandom of=/mnt/$i/file bs=64k count=8 2>/dev/null "
            "|| exit 1; done")
    sums = "(cd /mnt && find . -type f | sort | xargs md5sum)"
    mount = f"mkdir -p /mnt && mount -t ext4 {DISK} /mnt"
    return Disk("a file system that Linux makes is there when it has logged in again", [
        f"mkfs.ext4 -q {DISK}", mount, tree, f"{sums} > /tmp/before", "umount /mnt", LOG_OUT, LOG_IN, mount,
        f"{sums} > /tmp/after", "umount /mnt", "cmp /tmp/before /tmp/after", "test $(wc -l < /tmp/after) = 20",
        "! dmesg | grep -i 'I/O error'"])


def matrix(full):
    yield file_system()
    size = "256m" if full else "16m"
    yield Disk("fio verifies 4k to 512k at depth 32", [
        f"fio --name=v --filename={DISK} --direct=1 --ioengine=libaio --verify=crc32c --verify_fatal=1 "
        f"--output=/tmp/fio --rw=randrw --bsrange=4k-512k --iodepth=32 --size={size}"],
        megabytes=512, limit=900 if full else 120)
    times = 100 if full else 10
    yield Disk(f"{times} logins", [f"for i in $(seq {times}); do {LOG_OUT} && {LOG_IN} || exit 1; done"],
               limit=60 + 5 * times)
