# rows.py - the programs, their options, and what they must print
# SPDX-License-Identifier: BSD-3-Clause
import dataclasses
import os
import re
import shutil
import subprocess

import iser  # of `make interop`

PINGPONG = r"bytes in .* seconds"
TABLE = r"^ *\d+ +\d+ +\d+\.\d+"  # a line of perftest's
BUILD = "{build}"  # of the harness
HERE = os.path.dirname(os.path.abspath(__file__))
HOST = "127.0.0.1"  # by TCP programs tell each other where they are
TCP_PORT = 18515


@dataclasses.dataclass
class Row:
    """One program alone, or a server and its client."""
    name: str
    server: list
    client: list = None
    sees: tuple = ()  # patterns in what the client, or the one that is alone, prints
    tcp_port: int = TCP_PORT
    seconds: int = 60
    status: int = 0
    options: tuple = ()  # of uroce-run
    address: str = None  # another than that of its end
    port: str = None  # another than the interface of its end
    user: int = None
    ends: bool = True  # the server does, by itself
    complains: bool = False  # lines that begin with "uroce:" are expected


def pair(program, *words, sees, **others):
    """The client is the server with one word more."""
    return Row(" ".join([program, *words]), [program, *words], [program, *words, HOST], sees, **others)


def pingpong(program, *words):
    return pair(program, "-g", "0", *words, sees=(PINGPONG,))


def perftest(program, *words):
    # Its own test of the clock frequency fails on machines of clouds.
    return pair(program, "-F", *words, sees=(TABLE,))


def devices():
    yield Row("ibv_devices", ["ibv_devices"], sees=(r"uroce0",))
    yield Row("ibv_devinfo -v", ["ibv_devinfo", "-v"],
              sees=(r"PORT_ACTIVE", r"link_layer:\s+Ethernet", r"GID\[  0\]:\s+::ffff:10\.0\.0\.1, RoCE v2",
                    r"active_width:\s+1X", r"active_speed:\s+10\.0 Gbps",  # what the kernel says of a veth
                    *(fr"max_{what}:\s+2147483647" for what in ("cq", "pd", "ah", "srq"))))  # as memory allows
    yield Row("ibv_devinfo -v of a port with a smaller MTU and unknown speed", ["ibv_devinfo", "-v"],
              port="net_memif0,role=server,bsize=1200",
              sees=(r"max_mtu:\s+1024", r"active_mtu:\s+1024", r"active_width:\s+1X", r"active_speed:\s+2\.5 Gbps"))
    yield Row("ibv_devinfo of an unprivileged user", ["ibv_devinfo", "-v"], user=65534, port="net_ring0",
              sees=(r"PORT_ACTIVE",))
    yield Row("a program that finds libibverbs by dlvsym(), with nothing preloaded",
              ["env", "LD_PRELOAD=", f"{BUILD}/test/verbs/verbs-dlopened"],
              sees=(r"1 device, uroce0", r"100000 bytes arrived"))


def linked():
    """Programs that have the provider linked in find the device where no library of ours can be loaded."""
    alone = ["env", "-u", "LD_PRELOAD", "-u", "LD_LIBRARY_PATH", "-u", "RDMAV_DRIVERS"]
    for form in ("so", "a"):
        yield Row(f"a program that the provider is linked into, with libibverbs.{form}",
                  [*alone, f"{BUILD}/test/verbs/verbs-linked-{form}"],
                  sees=(r"1 device, uroce0", r"100000 bytes arrived"))
        yield Row(f"wake-ups of such a program, with libibverbs.{form}",
                  [*alone, f"{BUILD}/test/verbs/verbs-figures-linked-{form}", "10", "320"],
                  sees=(r"320 arms, as many wake-ups",))


def refusals():
    yield Row("unsupported features are refused and not advertised", [f"{BUILD}/test/verbs/verbs-refused"],
              complains=True, sees=(r"another size of a shared receive queue: as it should be",
                                    r"no queue pairs for raw packets are promised: as it should be",
                                    r"one queue pair more than max_qp says: as it should be"))


def signals():
    yield Row("signals are delivered to threads of the application", [f"{BUILD}/test/verbs/verbs-signals"],
              sees=(r"^400 signals, all came$",))


def faults():
    """Memory that disappears ends a queue pair; a fault of the program itself goes to its handler, if it has one."""
    program = f"{BUILD}/test/verbs/verbs-faults"
    for when, status in (("", 139), ("before", 7), ("after", 7)):
        yield Row(f"unmapped memory and a handler of SIGSEGV installed {when or 'never'}",
                  ["sh", "-c", f"{program} {when}; echo status $?"], complains=True,
                  sees=(r"^WRITE to unmapped memory: remote access error$",
                        r"^WRITE from unmapped memory: local protection error$",
                        r"^read-only memory: EFAULT$", rf"^status {status}$"))


def inside():
    yield Row("calls inside of a walk over completions and of a batch of requests",
              [f"{BUILD}/test/verbs/verbs-inside"],
              sees=(r"^in a walk, single-threaded$", r"^in a batch$", r"^limits and users$"))


def halfway():
    yield Row("calls of rdma_cm that fail half-way leave no client waiting",
              [f"{BUILD}/test/verbs/verbs-halfway", "10.0.0.1"], sees=(r"^rdma_get_request.*as it should be$",))


def cores():
    """On the only core nothing can come before the stack's thread has run."""
    program = f"{BUILD}/test/verbs/verbs-one-core"
    yield Row("empty poll on a single core yields it", ["taskset", "-c", "0", program],
              sees=(r"^20 of 20 polls have yielded$",))
    yield Row("empty poll with other cores does not yield", [program],
              sees=(r"^0 of 20 polls have yielded$",))


def misuse():
    """One line with cause and remedy, and the exit code of all programs."""
    yield Row("invalid address", ["true"], address="10.0.0.x/24", status=2, complains=True,
              sees=(r"uroce-run: --ip 10\.0\.0\.x/24: use an address such as 10\.0\.0\.1/24",))
    yield Row("address in use by another program",
              ["sh", "-c", f"{BUILD}/app/uroce-run -d left --ip 10.0.0.1/24 true"], status=3,
              sees=(r"--ip 10\.0\.0\.1/24: this address is held by sh \(process \d+\) on this machine",))
    yield Row("missing program", ["./no-such-program"], status=2, complains=True,
              sees=(r"uroce-run: ./no-such-program: No such file",))
    yield Row("missing interface", ["ibv_devinfo"], port="nowhere0", status=1, complains=True,
              sees=(r"uroce: there is no port nowhere0: no interface has that name",))
    yield Row("--check", ["true"], options=("--check",), sees=(r"ok: the system's libibverbs is compatible",
                                                              r"ok: the port can be opened"))
    yield Row("--check of a missing interface", ["true"], port="nowhere0", options=("--check",), status=3,
              complains=True, sees=(r"missing: the port can be opened",))


def figures():
    """A region made and unmade; one channel for 16 completion queues. FULL=1: a million times each."""
    for times in ("20000", "1000000"):
        yield Row(f"regions of 1 GiB and wake-ups, {times} times", [f"{BUILD}/test/verbs/verbs-figures", times, times],
                  sees=(r"registered and deregistered", r"as many wake-ups"), seconds=600)


def cost():
    """Against what docs/reference/verbs.md tells."""
    yield Row("instructions of a post and a poll", ["/usr/bin/python3", os.path.join(HERE, "cost.py"),
                                                    f"{BUILD}/test/verbs/verbs-cost"],
              sees=(r"a poll of nothing",), port="net_ring0", seconds=200)


def beside_each_other():
    """Programs that share an interface, each with an address that uroce-run has found to be free."""
    yield Row("ibv_rc_pingpong over one interface", ["ibv_rc_pingpong", "-g", "0", "-c"],
              ["ibv_rc_pingpong", "-g", "0", "-c", HOST], (PINGPONG,), port="left", address="10.0.0.51-10.0.0.52/24")

    yield Row("no file says that an address is taken",
              ["sh", "-c", "ls /run/lock /tmp | grep -e uroce-.*10.0.0.77 || echo there is none"],
              address="10.0.0.77/24", sees=(r"^there is none$",))


def late_server():
    """Of shared memory: the device is opened when the other end is there."""
    run = f"{BUILD}/app/uroce-run -d net_memif0,socket=uroce-verbs-late,role"
    yield Row("memif client that starts before its server", ["sh", "-ec", f"""
{run}=client --ip 10.8.0.2/24 ibv_devinfo & client=$!
sleep 2; {run}=server --ip 10.8.0.1/24 timeout 20 ibv_rc_pingpong -g 0 > /dev/null 2>&1 & server=$!
wait $client; kill $server"""], complains=True,
              sees=(r"PORT_ACTIVE", r"start the memif server first; waiting up to 60 s for it"))


def interrupted():
    """The stack blocks signals while it begins, but not while it waits for another program."""
    run = f"{BUILD}/app/uroce-run -d net_memif0,socket=uroce-verbs-never,role=client --ip 10.8.0.2/24"
    yield Row("a program that waits for a memif's server can be interrupted",
              ["sh", "-c", f"timeout -k 20 2 {run} ibv_devinfo; echo $?"], complains=True, sees=(r"^124$",))


def memif():
    """A program that refuses a port without a link serves before there is a client."""
    run = f"{BUILD}/app/uroce-run -d net_memif0,socket=uroce-verbs-served,role"
    for program in ("ib_write_bw -n 500", "ib_send_lat"):
        yield Row(f"{program} over a memif", ["sh", "-ec", f"""
{run}=server --ip 10.8.0.1/24 timeout 40 {program} -F > /dev/null & server=$!
sleep 2; {run}=client --ip 10.8.0.2/24 {program} -F 127.0.0.1; wait $server"""], sees=(TABLE,))


def pingpongs():
    for program in ("ibv_rc_pingpong", "ibv_srq_pingpong"):
        yield pingpong(program, "-c")
        yield pingpong(program, "-c", "-e")
    yield pingpong("ibv_rc_pingpong", "-c", "-m", "256", "-s", "100000")
    yield pingpong("ibv_ud_pingpong", "-c", "-s", "1000")
    yield pingpong("ibv_ud_pingpong", "-c", "-e", "-s", "1000")


BANDWIDTHS = ("ib_send_bw", "ib_write_bw", "ib_read_bw", "ib_atomic_bw")
LATENCIES = ("ib_send_lat", "ib_write_lat", "ib_read_lat", "ib_atomic_lat")


def short_perftest():
    for program in (*BANDWIDTHS, *LATENCIES):
        yield perftest(program, "-n", "1000")
    yield perftest("ib_write_bw", "-a", "-n", "100")
    yield perftest("ib_send_bw", "-q", "8", "-n", "1000")
    yield perftest("ib_write_bw", "-l", "16", "-s", "64", "-n", "2000")
    yield perftest("ib_send_bw", "-e", "-n", "1000")
    yield perftest("ib_write_bw", "-Q", "1", "-n", "1000")
    yield perftest("ib_write_bw", "-m", "256", "-n", "500")
    yield perftest("ib_read_bw", "-m", "4096", "-n", "1000")
    yield perftest("ib_send_bw", "--use-srq", "-q", "4", "-n", "1000")
    yield perftest("ib_send_bw", "-c", "UD", "-s", "1024", "-n", "1000")
    yield perftest("ib_send_bw", "-c", "UD", "--use-srq", "-q", "4", "-s", "1024", "-n", "1000")
    yield perftest("ib_send_lat", "-c", "UD", "-s", "1024", "-n", "1000")


def full_perftest():
    for program in (*BANDWIDTHS, *LATENCIES):
        atomic, latency = "atomic" in program, program in LATENCIES
        variants = [[], ["-q", "8"], ["-l", "16", "-s", "64"], ["-Q", "1"], ["-e"], ["-a"]]
        variants += [["-m", mtu] for mtu in ("256", "512", "1024", "2048", "4096")]
        if latency:  # these have no -q, -l and -Q
            variants = [words for words in variants if not {"-q", "-l", "-Q"} & {*words}]
        if atomic:  # of 8 bytes always
            variants = [words for words in variants if not {"-a", "-s"} & {*words}]
        if "write" in program:  # these have no events
            variants.remove(["-e"])
        if "send" in program:
            variants += [["--use-srq", "-q", "4"] if not latency else ["--use-srq"], ["-c", "UD", "-s", "1024"]]
            variants += [["-c", "UD", "--use-srq", "-s", "1024"]]
        for words in variants:
            times = "200" if "-a" in words else "1600" if "-l" in words else "1000"  # a multiple of a list of 16
            yield perftest(program, *words, "-n", times)


def ucx_perftest():
    """Debian 13's is built for MPI, too, and waits for mpirun unless it is told not to."""
    if not shutil.which("ucx_perftest"):  # its rows can be listed
        return ["ucx_perftest"]
    told = subprocess.run(["ucx_perftest", "-h"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
    return ["ucx_perftest", "-P", "0"] if "MPI mode" in told else ["ucx_perftest"]


def ucx():
    """Its own choice of transports, but the device; and put into memory that it has registered."""
    for words in (["-t", "tag_lat", "-n", "500", "-w", "10"], ["-t", "tag_bw", "-s", "100000", "-n", "200", "-w", "10"],
                  ["-t", "put_bw", "-d", "uroce0:1", "-x", "rc_verbs", "-s", "65536", "-D", "zcopy", "-n", "500"],
                  ["-t", "am_lat", "-d", "uroce0:1", "-x", "ud_verbs", "-n", "500", "-w", "10"]):
        device = ["env", "UCX_NET_DEVICES=uroce0:1", *ucx_perftest(), *words]
        yield Row(f"ucx_perftest {' '.join(words)}", device, [*device, HOST], (r"^Final: +\d+",), tcp_port=13337)


def agreements():
    """What both ends of a connection do beyond RC."""
    program = [f"{BUILD}/test/verbs/verbs-connections", "10.0.0.1"]
    yield Row("both ends agree on a window of 256 packets", [*program, "1"], sees=("agreed on 0x101",))
    yield Row("both ends agree on a window of 1024 packets", [*program, "1"], options=("--sack-window", "1024"),
              sees=("agreed on 0x401",))
    yield Row("both ends agree on no SACKs", [*program, "1"], options=("--sack-window", "off"), sees=("agreed on 0x1",))
    yield Row("both ends agree on several paths", [*program, "1"], options=("--paths", "8"), sees=("agreed on 0x103",))
    yield Row("paths without SACKs", ["env", "UROCE_PATHS=8", "UROCE_SACK_WINDOW=off", *program, "1"], complains=True,
              sees=(r"^uroce: UROCE_PATHS is '8': use 4 to 64, which requires SACKs$",), status=1)
    yield Row("too few paths", ["env", "UROCE_PATHS=3", *program, "1"], complains=True,
              sees=(r"^uroce: UROCE_PATHS is '3': use 4 to 64, which requires SACKs$",), status=1)
    yield Row("unsupported SACK window", ["env", "UROCE_SACK_WINDOW=300", *program, "1"], complains=True,
              sees=(r"^uroce: UROCE_SACK_WINDOW is '300': use off, 256, 512, 1024 or 2048$",), status=1)


def connections():
    """One after another, and nothing is left of them."""
    times = "10000"
    yield Row(f"{times} connections leave no resources",
              [f"{BUILD}/test/verbs/verbs-connections", "10.0.0.1", times],
              sees=(rf"{times} connections, everything as before",), seconds=600)


def mpi():
    """Two ranks by UCX over the device alone, so that each reaches itself by it, too."""
    rank = "-np 1 " + f"{BUILD}/app/uroce-run --explain -d %s --ip %s $program"
    tcp = "--mca oob_tcp_if_include lo --mca btl_tcp_if_include lo"
    ucx = "--mca pml ucx -x UCX_NET_DEVICES=uroce0:1 -x UCX_TLS=rc_verbs,ud_verbs"
    ranks = f'{rank % ("left", "10.0.0.1/24")} : {rank % ("right", "10.0.0.2/24")}'
    script = f"""program=$(mktemp); trap 'rm -f $program' EXIT; mpicc -o $program {HERE}/ring.c
mpirun --allow-run-as-root --oversubscribe {tcp} {ucx} {ranks}"""
    yield Row("Open MPI, a ring of two ranks", ["sh", "-ec", script], address="10.0.0.9/24", seconds=120,
              sees=(r"rank 0 of 2 heard itself say 0, and has number 2", r"rank 1 of 2 heard itself say 1"))


def disks(server, full):
    """The target of Debian's tgt, and programs that log in by Debian's libiscsi."""
    disk, portal = ["sh", "-ec", iser.serve(16, TCP_PORT)], f"{server}:3260"
    url = f"iser://{portal}/{iser.TARGET}/1"
    # libiscsi 1.19 has a list of descriptors of a connection that nobody initializes: a process's second login, of
    # iscsi-test-cu the second suite, crashes in it, unless malloc() gives memory of zeros.
    zeros = ["env", "GLIBC_TUNABLES=glibc.malloc.perturb=255:glibc.malloc.tcache_count=0"]

    def row(name, client, sees, **others):
        return Row(f"tgt, iSER, {name}", disk, client, sees, ends=False, seconds=300, **others)

    yield row("iscsi-inq", ["iscsi-inq", "-i", iser.INITIATOR, url], (r"^Product:VIRTUAL-DISK",))
    tests = "ALL.Write16.*,ALL.Read16.*"
    yield row("iscsi-test-cu", [*zeros, "iscsi-test-cu", "-i", iser.INITIATOR, "--dataloss", "-t", tests, url],
              (r"^ +tests +1\d +1\d +1\d +0 +0",))
    times = 200 if full else 20
    yield row(f"{times} logins", [*zeros, "/usr/bin/python3", os.path.join(HERE, "iscsi.py"), portal, iser.TARGET,
                                  iser.INITIATOR, str(times)], (rf"^{times} logins, all blocks as they were written",))


def libfabric(server):
    """It asks the kernel for the addresses of its interfaces, and rdma_cm which of them are of a device."""
    for provider, kind in (("verbs", "msg"), ("verbs;ofi_rxm", "rdm")):
        words = ["fi_pingpong", "-p", provider, "-e", kind, "-c"]
        yield Row(" ".join(words), words, [*words, server], (r"^1m +10 +=10 ",), tcp_port=47592)


def by_address(full):
    """Of rdma_cm: the server listens by it, and the client has its address."""
    server = "10.0.0.1"
    times = "1000" if full else "200"

    def row(name, listens, asks, sees=(), **others):
        return Row(name, listens, asks, sees, tcp_port=None, **others)

    yield row("rping -V", ["rping", "-s", "-a", server, "-C", times, "-V"],
              ["rping", "-c", "-a", server, "-C", times, "-V"])
    yield row("rping -V -S 60000", ["rping", "-s", "-a", server, "-C", "50", "-V", "-S", "60000"],
              ["rping", "-c", "-a", server, "-C", "50", "-V", "-S", "60000"])
    yield row("ucmatose, 64 connections", ["ucmatose", "-c", "64"], ["ucmatose", "-s", server, "-c", "64"],
              (r"return status 0",))
    yield row("ucmatose, migrated to another channel", ["ucmatose", "-c", "4", "-m", "both"],
              ["ucmatose", "-s", server, "-c", "4", "-m", "both"], (r"return status 0",))
    yield row("udaddy", ["udaddy", "-c", "4"], ["udaddy", "-s", server, "-c", "4"], (r"return status 0",))
    yield row("cmtime", ["cmtime", "-c", "100"], ["cmtime", "-s", server, "-c", "100"],
              (r"^(cm )?connect +:? *\d",), ends=False)
    yield row("rdma_client", ["rdma_server"], ["rdma_client", "-s", server], (r"end 0",))
    yield row("rdma_xclient", ["rdma_xserver"], ["rdma_xclient", "-s", server], (r"end 0",))
    for program in ("ib_send_bw", "ib_write_bw", "ib_read_bw", "ib_send_lat", "ib_write_lat", "ib_atomic_bw"):
        words = [program, "-R", "-F", "-n", "500"]
        yield row(" ".join(words), words, [*words, server], (TABLE,))
    fio = ["fio", "--ioengine=rdma", "--port=7174", "--verb=write", "--bs=64k", "--size=8m", "--iodepth=8"]
    yield row("fio --ioengine=rdma", [*fio, "--name=server", "--rw=read"],
              [*fio, "--name=client", "--hostname=" + server, "--rw=write"], (r"WRITE: bw=",))
    checked = ["fio", "--thread", "--ioengine=rdma", "--port=7174", "--verb=send", "--bs=64k", "--size=8m",
               "--iodepth=8", "--verify=crc32c", "--verify_state_save=0"]
    # fio asks for no RNR retries: its receiver has to be the deeper one, or a busy machine refuses SENDs.
    yield row("fio --ioengine=rdma --verify", [*checked, "--name=server", "--rw=read", "--iodepth=64"],
              [*checked, "--name=client", "--hostname=" + server, "--rw=write", "--do_verify=0"], (r"WRITE: bw=",))
    yield row("rping, its server bound to loopback", ["rping", "-s", "-a", "127.0.0.1", "-C", "10", "-V"],
              ["rping", "-c", "-a", server, "-C", "10", "-V"])
    yield row("a server that ends without disconnecting", [f"{BUILD}/test/verbs/verbs-leaves"],
              [f"{BUILD}/test/verbs/verbs-leaves", server], (r"^RDMA_CM_EVENT_DISCONNECTED after \d+ ms",))
    yield row("clients that send at once are no event to their server", [f"{BUILD}/test/verbs/verbs-prompt"],
              [f"{BUILD}/test/verbs/verbs-prompt", server], (r"^5 clients have sent$",))
    yield from libfabric(server)
    yield from disks(server, full)
    qperf = ["qperf", "-lp", "4000"]
    yield Row("qperf -cm 1", ["timeout", "-s", "KILL", "30", *qperf],
              ["env", "UROCE_NO_DAD=1", *qperf, "-cm", "1", "-t", "1", server, "rc_bw", "rc_lat", "rc_rdma_read_bw"],
              (r"latency",), tcp_port=4000, ends=False, port="left", address="10.0.0.1-10.0.0.2/24")
    ucx = ["env", "UCX_NET_DEVICES=uroce0:1", "UCX_TLS=rc_verbs,ud_verbs", "UCX_SOCKADDR_TLS_PRIORITY=rdmacm",
           *ucx_perftest(), "-t", "tag_lat", "-n", "200", "-w", "10"]
    yield Row("ucx_perftest, rdmacm", ucx, [*ucx, server], (r"^Final: +\d+",), tcp_port=13337)


def matrix(full):
    yield from devices()
    yield from linked()
    yield from refusals()
    yield from signals()
    yield from faults()
    yield from inside()
    yield from halfway()
    yield from cores()
    yield from misuse()
    yield from beside_each_other()
    yield from late_server()
    yield from interrupted()
    yield from memif()
    yield from pingpongs()
    yield from full_perftest() if full else short_perftest()
    yield from ucx()
    yield from by_address(full)
    yield from agreements()
    if full:
        yield from connections()
        yield from mpi()
    yield from cost()
    yield from [*figures()] if full else [*figures()][:1]


THEIRS = Row("rdma-core's own tests", [], seconds=300)
THEIRS_AT_LEAST = 85

# Scripts of `make interop`, with a program of verbs at the other end.
SCRIPTS_EAL = ["--no-huge", "--no-shconf", "--no-pci", "-m", "64",
               "--vdev=net_af_packet0,iface=left,framesz=4608,blocksz=36864,framecnt=512"]
SCRIPTS_ADDRESSES = {"server": ("10.0.0.1/24", "fe80::1/64"), "client": ("10.0.0.2/24", "fe80::2/64")}

# Scripts that say what rdma_rxe does and hardware, or uroce, does not, or that read its counters.
DIFFERENT = {
    r"^(late receives?|no receive), ": "reads counters of rdma_rxe",
    r"^ERR of Linux flushes both queues": "reads counters of rdma_rxe",
    r"^QP gone, Linux writes": "counts tries, and probes of ours are some",
    r"^QP gone, Linux with retry count 7": "rdma_rxe takes 7 for ever",
    r"^SEND too long, uroce sends": "rdma_rxe answers as if it were its own error",
    r"^atomic not aligned": "rdma_rxe refuses it when it is posted",
    r"^receive posted in ERR of Linux": "rdma_rxe forgets it",
    r"^WRITE behind the end of a window of Linux": "rdma_rxe lets it pass",
    r"^SQD of Linux": "rdma_rxe stays there",
    r"^Linux does not know ": "uroce does",
    r"^SEND from a wrong local key, Linux": "rdma_rxe calls it LOC_QP_OP_ERR",
}
# What hardware and uroce tell programs of verbs, and rdma_rxe does not.
TOLD_BESIDES = re.compile(r"^> event QP_(?:ACCESS|REQ)_ERR$|(?<= bad=0) invalidated=window$")


def differs(name):
    return any(re.search(pattern, name) for pattern in DIFFERENT)
