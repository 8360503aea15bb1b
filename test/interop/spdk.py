# spdk.py - SPDK's nvmf_tgt over uroce-run, and Linux's own NVMe host, nvme-rdma, in the guest
# SPDX-License-Identifier: BSD-3-Clause
"""Debian has no package of SPDK, so these cases run only when somebody names the folder of one that is built as
docs/howto/spdk.md says. What the guest does is what it does with uroce-nvmet (storage.py)."""
import atexit
import json
import os
import shutil
import tempfile

import storage
from guest import TAP
from storage import CONNECT, FIO, NQN, OWN, SERVICE, WAIT

MEBIBYTES, BLOCK = 64, 512


def configuration():
    """What nvmf_tgt does when it starts: the calls of scripts/rpc.py, and in their order."""
    listener = {"trtype": "RDMA", "adrfam": "IPv4", "traddr": OWN, "trsvcid": str(SERVICE)}
    disk = {"name": "Malloc0", "num_blocks": (MEBIBYTES << 20) // BLOCK, "block_size": BLOCK}
    calls = {"bdev": [("bdev_malloc_create", disk)],
             "nvmf": [("nvmf_create_transport", {"trtype": "RDMA"}),
                      ("nvmf_create_subsystem", {"nqn": NQN, "allow_any_host": True, "serial_number": "UROCE1"}),
                      ("nvmf_subsystem_add_ns", {"nqn": NQN, "namespace": {"bdev_name": "Malloc0"}}),
                      ("nvmf_subsystem_add_listener", {"nqn": NQN, "listen_address": listener})]}
    return {"subsystems": [{"subsystem": name, "config": [{"method": method, "params": params}
                                                          for method, params in some]} for name, some in calls.items()]}


class Disk(storage.Target):
    """spdk: the folder of its source."""
    program = "app/uroce-run"

    def __init__(self, spdk, title, steps, seconds=60):
        super().__init__((), title, steps, seconds=seconds)
        self.spdk = spdk

    def name(self):
        return f"SPDK's target: {self.title}"

    def own_listens(self, said):
        return "NVMe/RDMA Target Listening" in said

    def own_command(self, program):
        folder = tempfile.mkdtemp(prefix="uroce-spdk-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        with open(folder + "/config", "w") as file:
            json.dump(configuration(), file)
        return ["env", f"LD_LIBRARY_PATH={self.spdk}/build/lib", program, "-d", TAP, "--ip", OWN + "/24", "--explain",
                f"{self.spdk}/build/bin/nvmf_tgt", "--no-huge", "--no-pci", "-s", "1024", "-m", "0x1",
                "-r", folder + "/socket", "-c", folder + "/config"]


def matrix(spdk, full):
    spdk = os.path.abspath(spdk)
    yield Disk(spdk, "a file system is there when it is mounted again", storage.file_system(), seconds=90)
    yield Disk(spdk, "fio verifies 4k to 512k at depth 16", [
        CONNECT, WAIT, f"{FIO} --rw=randrw --bsrange=4k-512k --iodepth=16 --size={'48m' if full else '32m'}"
        + (" --time_based --runtime=300" if full else "")], seconds=400 if full else 90)
    times = 100 if full else 10
    yield Disk(spdk, f"{times} times connected and disconnected", storage.connects(times), seconds=30 + times * 3)
