#!/usr/bin/env python3
# disks.py - which disk a uroce-nvmet serves: what stays with a file, what is refused, what no host writes to
# SPDX-License-Identifier: BSD-3-Clause
"""disks.py BUILD: prints TAP.

No root, hugepages or NIC needed.
"""
import glob
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import uuid

from cases import BUILD, Skipped, main, one_line, program, run, want
from target import DISK, LOOP, OWN_HOST, Ends, complaints, tell, with_files

CASES = []


def case(function):
    CASES.append(function)
    return function


def shown(directory):
    """(nsid, UUID) of each namespace, by its path or kind."""
    text = run("nvmetcli", "--control", directory + "/control", "show")[1]
    return {match[2]: (int(match[1]), match[3]) for match in
            re.finditer(r"namespace (\d+) of \S+ (?:file )?([^,]+),.* uuid ([0-9a-f-]{36})", text)}


def serve_files(directory, *paths):
    """What a target of these files shows; it ends in order."""
    with Ends(directory, "--control", directory + "/control",
              *(word for path in paths for word in ("--file", path))) as ends:
        found = shown(directory)
        want(ends.target.interrupt() == 0 and not complaints(ends.target), ends.target.text())
        return found


@case
@with_files
def file_is_the_same_disk_in_any_order_and_under_any_name(_):
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        one, other, third, moved = (folder + "/" + name for name in ("one", "other", "third", "moved"))
        first = serve_files(folder, one + ":8M", other + ":8M")
        want([first[one][0], first[other][0]] == [1, 2] and first[one][1] != first[other][1], first)
        want(serve_files(folder, other, one) == first, first)
        want(serve_files(folder, third + ":8M", other)[other] == first[other], first)
        os.rename(one, moved)
        found = serve_files(folder, other, moved)
        want(found[moved] == first[one] and found[other] == first[other], first, found)
        shutil.copyfile(moved, one)  # a copy is another disk
        found = serve_files(folder, one, moved)
        want(found[moved] == first[one] and found[one][1] != found[moved][1], first, found)
        os.truncate(moved, 0)  # and so is what begins anew
        found = serve_files(folder, moved + ":8M")
        want(found[moved][1] != first[one][1], first, found)


@case
@with_files
def two_files_with_the_same_disk_id_are_refused(_):
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        one, copy = folder + "/one", folder + "/copy"
        first = serve_files(folder, one + ":8M")
        shutil.copyfile(one, copy)
        for name in os.listxattr(one):
            os.setxattr(copy, name, os.getxattr(one, name))
        code, _, err = run("nvmet", *LOOP, "--file", one, "--file", copy)
        one_line("twins", (code, "", err), 3, copy, one, first[one][1], "setfattr")
        with Ends(folder, "--file", one, "--control", folder + "/control") as ends:
            code, _, err = tell(folder, "add", DISK, copy)
            want(code == 1 and "same UUID" in err, code, err)
            os.removexattr(copy, "user.uroce.disk")
            want(tell(folder, "add", DISK, copy)[0] == 0, ends.target.text())
            want(shown(folder)[copy][1] != first[one][1], shown(folder))


@case
@with_files
def options_that_contradict_the_disk_are_refused(_):
    given = "3f1b5f9c-8b5d-4b86-a2ea-3c0c7e1f6d55"
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        one, old = folder + "/one", folder + "/old"
        first = serve_files(folder, one + ":8M")[one]
        open(old, "wb").write(bytes(1 << 20))  # of before, or of a file system that kept nothing
        for words, *told in ((("--file", one), first[1], "remove uuid"),
                             (("--file", folder + "/new:8M"), "is a new file"),
                             (("--memory", "8M"), "memory", "remove uuid"), (("--store", "null:8M"), "null")):
            code, _, err = run("nvmet", *LOOP, *words, "--uuid", given)
            one_line(words, (code, "", err), 3, given, *told)
        one_line("of none", run("nvmet", *LOOP, "--uuid", given, "--memory", "8M"), 2, given, "--file")
        with Ends(folder, "--file", old, "--uuid", given, "--control", folder + "/control"):
            want(shown(folder)[old] == (1, given), shown(folder))
        want(serve_files(folder, old)[old] == (1, given), given)


@case
def memory_is_a_new_disk_each_time(directory):
    seen = set()
    for _ in range(2):
        with Ends(directory, "--memory", "8M", "--store", "null:8M", "--control", directory + "/control") as ends:
            seen.update(uuid for _, uuid in shown(directory).values())
            ends.works("writes")
    want(len(seen) == 4, seen)


@case
def device_has_the_disk_id_given_by_the_user(directory):
    devices = [path for path in glob.glob("/dev/[vsn][dv][am]*") if stat.S_ISBLK(os.stat(path).st_mode)]
    if os.geteuid() != 0 or not devices:
        raise Skipped("there is no block device here that may be opened")
    code, _, err = run("nvmet", *LOOP, "--read-only", "--file", devices[0])
    if "in use" in err or "ermi" in err:
        raise Skipped(err.strip())
    one_line("device", (code, "", err), 3, devices[0], "always the same", "uuid ")


def machine_nqn(machine_id):
    """As the target makes one of it, which does not tell the machine's id itself."""
    return "nqn.2026-01.uroce:" + str(uuid.uuid5(uuid.UUID("75726f63-656e-4d65-8074-617267657473"), machine_id))


@case
def each_machine_has_its_own_default_name(directory):
    words = ("--dry-run", "--memory", "1M", *LOOP)
    machine_id = "/etc/machine-id"
    if os.path.exists(machine_id) and len(open(machine_id).read().strip()) == 32:
        code, out, err = run("nvmet", *words)
        want(code == 0 and f"subsystem {machine_nqn(open(machine_id).read().strip())}, 0 hosts" in out, out, err)
    other = directory + "/id"
    open(other, "w").write("0123456789abcdef0123456789abcdef\n")

    def elsewhere(text):
        open(other, "w").write(text)
        script = f"mount --bind {other} {machine_id} && exec \"$@\""
        done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", program("nvmet"), *words],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if "mount:" in done.stderr or "unshare:" in done.stderr:
            raise Skipped("what is there is as it has to be; another machine needs root and a mount namespace")
        return done.returncode, done.stdout, done.stderr
    code, out, err = elsewhere("0123456789abcdef0123456789abcdef\n")
    want(code == 0 and machine_nqn("0123456789abcdef0123456789abcdef") in out, code, out, err)
    for text in ("", "uninitialized\n"):
        one_line(text, elsewhere(text), 2, "--nqn", machine_id)


@case
@with_files
def number_is_reused_after_hosts_have_read_its_removal(directory):
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        with Ends(folder, "--memory", "8M", "--file", folder + "/one:8M", "--control", folder + "/control") as ends:
            host = ends.host("stays", "--runtime", "300", "--nsid", "2", "--rw", "read")
            host.wait_until(lambda: re.search(r"namespace 2 of .* reads=[1-9]", tell(folder, "stats")[1]))
            tell(folder, "remove", DISK, "2")
            code, _, err = tell(folder, "add", DISK, folder + "/other:8M", "nsid=2")
            want(code == 1 and "has not yet processed the removal of namespace 2" in err, code, err)
            want(tell(folder, "add", DISK, folder + "/third:8M")[1] == f"namespace 3 of {DISK}\n", shown(folder))
            host.kill()
            tell(folder, "disconnect", OWN_HOST)
            want(tell(folder, "add", DISK, folder + "/other:8M", "nsid=2")[0] == 0, shown(folder))
            ends.works("works", "--nsid", "2")


if __name__ == "__main__":
    sys.exit(main("disks", CASES))
