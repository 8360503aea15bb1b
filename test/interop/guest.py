# guest.py - a network namespace with a tap, and a running guest behind it
# SPDX-License-Identifier: BSD-3-Clause
import atexit
import ctypes
import itertools
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

NAMESPACE_PREFIX = "uroce-interop-"
TAP, OTHER_TAP = "guest0", "guest1"  # eth0 and eth1 of the guest
SECOND_TAP = "guest2"  # eth0 of a second guest
MTU = 4200
HOST_IP = "10.9.0.1"
GUEST_IP = "10.9.0.2"
SECOND_IP = "10.9.2.2"
VLAN = 100
BOOT_SECONDS = 180
PR_SET_PDEATHSIG = 1


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Network:
    """An own namespace, so that nothing of the machine's network is touched; it goes away with the harness."""

    def __init__(self):
        self.remove_stale()
        self.name = f"{NAMESPACE_PREFIX}{os.getpid()}"
        self._ip("netns", "add", self.name)
        atexit.register(self.close)
        # The kernel's own IPv6 would answer for link-local addresses on the tap.
        steps = [f"ip tuntap add {tap} mode tap && echo 1 > /proc/sys/net/ipv6/conf/{tap}/disable_ipv6 && "
                 f"ip link set {tap} mtu {MTU} up" for tap in (TAP, OTHER_TAP, SECOND_TAP)]
        for step in (*steps, f"ip addr add {HOST_IP}/24 dev {TAP}", "ip link set lo up",
                     # getaddrinfo() refuses every IPv6 address where there is none but ::1
                     "ip addr add fd00:9:9::1/128 dev lo nodad"):
            subprocess.run(self.inside("sh", "-ec", step), check=True)

    @staticmethod
    def _ip(*words):
        subprocess.run(["ip", *words], check=True)

    @classmethod
    def remove_stale(cls):
        """Namespaces of harnesses that were killed."""
        listing = subprocess.run(["ip", "netns", "list"], stdout=subprocess.PIPE, text=True).stdout
        for pid in re.findall(rf"^{NAMESPACE_PREFIX}(\d+)", listing, re.MULTILINE):
            if not os.path.exists(f"/proc/{pid}"):
                cls._ip("netns", "del", NAMESPACE_PREFIX + pid)

    def inside(self, *command):
        return ["ip", "netns", "exec", self.name, *command]

    def listens(self, port):
        table = subprocess.run(self.inside("cat", "/proc/net/tcp", "/proc/net/tcp6"), stdout=subprocess.PIPE,
                               text=True).stdout
        return re.search(rf":{port:04X} [0-9A-F]+:0000 0A ", table) is not None

    def close(self):
        atexit.unregister(self.close)
        subprocess.run(["ip", "netns", "del", self.name])


class Answer:
    """What a command in the guest came to: filled in when it ends."""

    def __init__(self):
        self.ended = threading.Event()
        self.status, self.output = None, ""

    def wait(self, seconds):
        """Status, or None when nothing came back in time."""
        self.ended.wait(seconds)
        return self.status


class Guest:
    def __init__(self, network, kernel, image, memory_mib=1024, address=GUEST_IP, taps=(TAP, OTHER_TAP), cpus=1,
                 kernel_words="", devices=(), wait=True):
        self.scratch = tempfile.mkdtemp(prefix="uroce-guest-")
        self.answers, self.ids = {}, itertools.count(1)
        self.control = self.scratch + "/control"
        ports = []
        for tap in taps:  # without event_idx a kick that QEMU has missed is made good by the next frame, else never
            ports += ["-netdev", f"tap,id={tap},ifname={tap},script=no,downscript=no", "-device",
                      f"virtio-net-pci,netdev={tap},mac=52:54:00:00:00:0{2 + int(tap[-1])},host_mtu={MTU},romfile=,"
                      "event_idx=off"]
        command = network.inside(
            "qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", str(cpus), "-m", str(memory_mib),
            "-nographic", "-no-reboot", "-nodefaults", "-kernel", kernel, "-initrd", image,
            "-append", f"console=ttyS0 panic=-1 quiet guest_ip={address}/24 vlan={VLAN} {kernel_words}",
            *ports, *devices,
            "-serial", f"file:{self.scratch}/console", "-serial", f"unix:{self.control},server=on,wait=off",
            "-monitor", f"unix:{self.scratch}/monitor,server=on,wait=off")
        with open(self.scratch + "/qemu", "w") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            start_new_session=True, preexec_fn=die_with_parent)
        atexit.register(self.close)
        if wait:
            self.come_up()

    def come_up(self):
        """Waits until it has; several may boot at a time."""
        self._wait_for_boot()
        self.line = socket.socket(socket.AF_UNIX)
        self.line.connect(self.control)
        threading.Thread(target=self._read, daemon=True).start()

    def _log(self, name):
        path = f"{self.scratch}/{name}"
        return open(path, errors="replace").read() if os.path.exists(path) else ""

    def _wait_for_boot(self):
        end = time.monotonic() + BOOT_SECONDS
        while "GUEST-IS-UP" not in self._log("console"):
            if self.process.poll() is not None or time.monotonic() > end:
                logs = (self._log("console") + self._log("qemu"))[-2000:]
                self.close()
                raise RuntimeError(f"the guest did not come up:\n{logs}")
            time.sleep(0.2)

    def _read(self):
        """Takes the answers apart as they come (see guest-init.sh)."""
        answer = None
        try:
            for raw in self.line.makefile("rb"):
                text = raw.decode(errors="replace")
                begin, end = re.match(r"BEGIN (\d+)$", text), re.match(r"END (\d+) (\d+)$", text)
                if begin:
                    answer = self.answers.get(int(begin.group(1)))
                elif answer and end:
                    answer.status = int(end.group(2))
                    answer.ended.set()
                    answer = None
                elif answer:
                    answer.output += text
        except OSError:
            pass  # closed with the guest

    def start(self, command, seconds):
        """Begin a command, which the guest ends after so many seconds at the latest."""
        number, answer = next(self.ids), Answer()
        self.answers[number] = answer
        self.line.sendall(f"{number} {seconds} {command}\n".encode())
        return answer

    def run(self, command, seconds=20):
        """Returns status and output; the status is None when the guest does not answer any more."""
        answer = self.start(command, seconds)
        return answer.wait(seconds + 10), answer.output.strip()

    def plug(self, device, plugged):
        """The cable of a NIC, by the id that QEMU was given for it."""
        with socket.socket(socket.AF_UNIX) as monitor:
            monitor.connect(self.scratch + "/monitor")
            monitor.settimeout(10)
            answer, command = "", f"set_link {device} {'on' if plugged else 'off'}\n"
            while answer.count("(qemu) ") < 2:
                if answer.count("(qemu) ") == 1 and command:
                    monitor.sendall(command.encode())
                    command = ""
                answer += monitor.recv(4096).decode(errors="replace")

    def stand_still_now_and_then(self, every, seconds, ended):
        """Until `ended` is set."""
        while not ended.wait(every):
            os.kill(self.process.pid, signal.SIGSTOP)
            time.sleep(seconds)
            os.kill(self.process.pid, signal.SIGCONT)

    def console(self):
        """What its kernel has said."""
        return self._log("console")

    def nic_stalls(self):
        """How often its kernel said that the NIC sends nothing: QEMU without KVM, once in some twenty runs."""
        return self.console().count("NETDEV WATCHDOG")

    def close(self):
        atexit.unregister(self.close)
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
        shutil.rmtree(self.scratch, ignore_errors=True)
