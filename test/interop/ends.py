# ends.py - the addresses of both ends, and the scripts of cases.py
# SPDX-License-Identifier: BSD-3-Clause
"""`ports` are the words by which a program of ours finds its port: EAL's, before the "--"."""
import atexit
import os
import shutil
import tempfile

import cases
from guest import HOST_IP, VLAN

PORT = 18515
# Where Linux keeps the addresses of its own is found by what they are: those of a VLAN appear by themselves.
FAMILIES = {
    "ipv4": {"ip": "10.9.0.9/24", "gid": "0000:0000:0000:0000:0000:ffff:0a09:0002"},
    "ipv6": {"ip": "fe80::5054:ff:fe00:9/64", "gid": "fe80:0000:0000:0000:5054:00ff:fe00:0002"},
    "ipv4 in a VLAN": {"ip": "10.9.100.9/24", "gid": "0000:0000:0000:0000:0000:ffff:0a09:6402", "vlan": VLAN},
    "ipv6 in a VLAN": {"ip": "fd00:9::9/64", "gid": "fd00:0009:0000:0000:0000:0000:0000:0002", "vlan": VLAN},
}


def gid_index(family):
    """A command of the guest that prints it: an address may be there for RoCE v1, too, and for other interfaces."""
    netdev = f"eth0.{VLAN}" if "vlan" in FAMILIES[family] else "eth0"
    port = "/sys/class/infiniband/rxe0/ports/1"
    return (f"cd {port}/gids && for i in *; do grep -q {FAMILIES[family]['gid']} $i && "
            f"grep -qx {netdev} {port}/gid_attrs/ndevs/$i && echo $i && break; done 2>/dev/null")


class Batch:
    """Scripts of cases.py, one after the other: our side serves the side channel, and tells the guest its words."""
    program, guest_program, role = "test/interop/interop-ours", "verbs", "server"

    def __init__(self, ports, batch, scripts):
        self.ports, self.batch, self.scripts = ports, batch, scripts
        self.file = os.path.join(tempfile.mkdtemp(prefix="uroce-scripts-"), "scripts")
        atexit.register(shutil.rmtree, os.path.dirname(self.file), ignore_errors=True)

    def seconds(self):
        return 60 + sum(script.seconds for script in self.scripts)

    def guest_command(self):
        return f"exec verbs {HOST_IP} {PORT}"

    def own_command(self, program):
        with open(self.file, "w") as file:
            for script in self.scripts:
                file.write(f"{script.own_words}\n{script.guest_words}\n")
        plain, tagged = ([entry["ip"] for entry in FAMILIES.values() if ("vlan" in entry) == in_vlan]
                         for in_vlan in (False, True))
        return [program, *self.ports, "--", *plain, str(PORT), self.file, *tagged, str(VLAN)]

    def outcomes(self, reasons, own_text, guest_text):
        """Of each script: name, what was wrong, remarks. What is wrong with the programs is so for all that follows."""
        own, guest = cases.split(own_text), cases.split(guest_text)
        last = max(len(own), len(guest))
        for number, script in enumerate(self.scripts, 1):
            wrong, remarks = script.differences(own.get(number, []), guest.get(number, []))
            yield script.name, wrong + (reasons if number >= last else []), remarks
