#!/usr/bin/env python3
# reload.py - uroce-nvmet at SIGHUP: hosts and namespaces that it changes, values that need a restart
# SPDX-License-Identifier: BSD-3-Clause
"""reload.py BUILD: prints TAP.

No root, hugepages or NIC needed.
"""
import re
import signal
import sys
import tempfile

from cases import BUILD, Running, main, want
from target import DISK, INI, OTHER, OWN_HOST, Ends, port, queues_are_there, with_files, write_ini

CASES = []


def case(function):
    CASES.append(function)
    return function


@case
@with_files
def sighup_changes_hosts_and_namespaces(directory):
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        path = write_ini(directory, INI % (OWN_HOST, folder))
        with Ends(directory, "--config", path, "--control", directory + "/control") as ends:

            def reload(text, *told):
                write_ini(directory, text)
                before = len(ends.target.text())
                ends.target.process.send_signal(signal.SIGHUP)
                for words in told:
                    ends.target.wait_until(lambda: words in ends.target.text()[before:])

            ends.works("first", "--nsid", "7", nqn=OTHER)
            reload((INI % (OWN_HOST, folder)).replace("disk:16M", "disk:32M") +
                   f"[namespace.2]\nsubsystem = {DISK}\nstore=null:8M\n[subsystem.2]\nnqn={DISK}2\n",
                   f"namespace 7 of {OTHER} was resized to {32 << 20} bytes", f"namespace 2 of {DISK} added",
                   f"subsystem {DISK}2 is new: restart")
            twice = (INI % (OWN_HOST, folder)).replace("disk:16M", "disk:32M") + \
                "".join(f"[namespace.{number}]\nsubsystem = {DISK}\nstore=null:8M\n" for number in (2, 3))
            reload(twice, f"namespace 3 of {DISK} added")
            reload(twice[:twice.rindex("[namespace")], f"namespace 3 of {DISK} removed")
            added = ends.host("added", "--nsid", "2", "--rw", "read")
            want(added.finish() == 0, added.text())
            busy = ends.host("busy", "--nsid", "7", "--rw", "randrw", "--verify", "--runtime", "600", nqn=OTHER)
            busy.wait_until(queues_are_there, directory + "/control", 2)
            reload("[target]\nspeed=1\n", "[target] speed", "nothing has changed")
            want(busy.process.poll() is None, busy.text())
            reload((INI % ("nqn.2026-01.uroce:else", folder)).replace("disk:16M", "disk:32M"),
                   f"subsystem {OTHER}: 2 hosts", f"namespace 2 of {DISK} removed")
            want(busy.finish(60) == 1, busy.text())
            ends.fails("not-allowed", 1, "Connect", OTHER, "host", nqn=OTHER)
            ends.works("memory-stays")
            want(ends.target.interrupt() == 0, ends.target.text())


@case
@with_files
def sighup_reports_each_changed_value_that_needs_a_restart(directory):
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        text = INI % (OWN_HOST, folder) + f"[port.0]\ndevice={port(directory, 'server')}\nip=10.0.0.1/24\n"
        path = write_ini(directory, text)
        target = Running(directory, "target", "nvmet", "--config", path)
        target.wait_for("nvme connect")

        def reload(text):
            write_ini(directory, text)
            before = len(target.text())
            target.process.send_signal(signal.SIGHUP)
            target.wait_until(lambda: "is applied" in target.text()[before:])
            return sorted(line for line in target.text()[before:].splitlines() if "restart" in line)

        changed = text.replace("max-data = 64k", "idle=poll\npool=128M").replace("10.0.0.1/24", "10.0.0.9/24") \
            .replace("serial=SERIAL", "serial=OTHER") + "vlan=7\n"
        expected = sorted(f"reload: {path}: {words}: restart the target to apply the change" for words in (
            "[target] idle is now poll instead of sleep", f"[target] pool is now {128 << 20} instead of {64 << 20}",
            f"[target] max-data is now the default instead of {64 << 10}",
            "[port.0] ip is now 10.0.0.9/24 instead of 10.0.0.1/24", "[port.0] vlan changed",
            "[subsystem.0] serial is now OTHER instead of SERIAL"))
        for _ in range(2):  # what runs has not changed in between
            want(reload(changed) == expected, target.text(), *expected)
        want(not reload(text), target.text())
        want(reload(text + "[port.1]\ndevice=net_memif1\nip=10.0.1.1/24\n") ==
             [f"reload: {path}: now 2 ports instead of 1: restart the target to apply the change"], target.text())
        gone = re.sub(r"(?s)\[subsystem\.1\].*?(?=\[namespace)", "", text)
        want(reload(re.sub(r"(?s)\[namespace\.1\].*?(?=\[port)", "", gone)) ==
             [f"reload: subsystem {OTHER} is not in the file: restart the target to remove it"], target.text())
        want(target.interrupt() == 0, target.text())


if __name__ == "__main__":
    sys.exit(main("reload", CASES))
