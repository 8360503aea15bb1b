# semantics.py - windows, shared receive queues, fences, states and many QPs, between uroce and Linux in both roles
# SPDX-License-Identifier: BSD-3-Clause
from scripts import REMARKS, Script

REGION_END = 4 * (8 << 20)
RECEIVED = "recv SUCCESS len=64 bad=0"


def windows():
    yield Script("window of uroce, Linux writes and reads",
                 ours=("bind:4096 wait give meet check:target:4096",
                       ["bind SUCCESS", "target bad=0"]),
                 linux=("take write:4096 wait read:4096 wait check:landing:4096 meet",
                        ["write SUCCESS", "read SUCCESS len=4096", "landing bad=0"]))
    yield Script("window of Linux, uroce writes and reads",
                 ours=("take write:4096 wait read:4096 wait check:landing:4096 meet",
                       ["write SUCCESS", "read SUCCESS len=4096", "landing bad=0"]),
                 linux=("bind:4096 wait give meet check:target:4096", ["bind SUCCESS", "target bad=0"]))
    yield Script("atomic through a window of uroce",
                 ours=("set:5 bind:4096 wait give meet word", ["bind SUCCESS", "word 0x8"]),
                 linux=("take fadd:0:3 wait result meet", ["fadd SUCCESS", "result 0x5"]))
    yield Script("atomic through a window of Linux",
                 ours=("take fadd:0:3 wait result meet", ["fadd SUCCESS", "result 0x5"]),
                 linux=("set:5 bind:4096 wait give meet word", ["bind SUCCESS", "word 0x8"]))
    yield Script("WRITE behind the end of a window of uroce",
                 ours=("bind:4096 wait give event counter:resp_remote_access_errors meet check:target:0",
                       ["bind SUCCESS", "event QP_ACCESS_ERR", "resp_remote_access_errors 1", "target bad=0"]),
                 linux=("take write:8:4092 wait meet", ["write REM_ACCESS_ERR"]))
    yield Script("READ behind the end of a window of uroce",
                 ours=("bind:4096 wait give event counter:resp_remote_access_errors",
                       ["bind SUCCESS", "event QP_ACCESS_ERR", "resp_remote_access_errors 1"]),
                 linux=("take read:8:4092 wait check:landing:0", ["read REM_ACCESS_ERR", "landing bad=0"]))
    # By the book REM_ACCESS_ERR: this kernel asks only whether the region ends.
    yield Script("WRITE behind the end of a window of Linux",
                 ours=("take write:8:4092 wait meet", ["write SUCCESS"]),
                 linux=("bind:4096 wait give meet", ["bind SUCCESS"]))
    for work in ("write", "read"):
        yield Script(f"{work.upper()} with the key of a window that uroce made invalid",
                     ours=("bind:4096 wait give meet inv wait meet event",
                           ["bind SUCCESS", "inv SUCCESS", "event QP_ACCESS_ERR"]),
                     linux=(f"take meet meet {work}:8 wait", [f"{work} REM_ACCESS_ERR"]))
        yield Script(f"{work.upper()} with the key of a window that Linux made invalid",
                     ours=(f"take meet meet {work}:8 wait event", [f"{work} REM_ACCESS_ERR", "event QP_FATAL"]),
                     linux=("bind:4096 wait give meet inv wait meet", ["bind SUCCESS", "inv SUCCESS"]))
    yield Script("SEND with inv of a window of uroce, whose key is refused then",
                 ours=("recv:64 bind:4096 wait give wait event",
                       ["bind SUCCESS", f"{RECEIVED} invalidated=window", "event QP_ACCESS_ERR"]),
                 linux=("take sendinv:64 wait write:8 wait", ["sendinv SUCCESS", "write REM_ACCESS_ERR"]))
    # This kernel does not tell user space which key was made invalid.
    yield Script("SEND with inv of a window of Linux, whose key is refused then",
                 ours=("take sendinv:64 wait write:8 wait event",
                       ["sendinv SUCCESS", "write REM_ACCESS_ERR", "event QP_FATAL"]),
                 linux=("recv:64 bind:4096 wait give wait", ["bind SUCCESS", RECEIVED]))
    yield Script("window of uroce bound again, Linux uses the new key",
                 ours=("bind:64 wait inv wait bind:4096 wait give meet check:target:4096",
                       ["bind SUCCESS", "inv SUCCESS", "bind SUCCESS", "target bad=0"]),
                 linux=("take write:4096 wait meet", ["write SUCCESS"]))
    yield Script("window of Linux bound again, uroce uses the new key",
                 ours=("take write:4096 wait meet", ["write SUCCESS"]),
                 linux=("bind:64 wait inv wait bind:4096 wait give meet check:target:4096",
                        ["bind SUCCESS", "inv SUCCESS", "bind SUCCESS", "target bad=0"]))
    yield Script("SEND with inv of a key that uroce does not have",
                 ours=("recv:64 meet wait event", ["recv REM_ACCESS_ERR", "event QP_FATAL"]),
                 linux=("meet sendinv:64 wait", ["sendinv REM_ACCESS_ERR"]))


def queues():
    on_each = " ".join(f"on:{q} send:64 wait" for q in range(4))
    sent = [f"send SUCCESS qp={q}" for q in range(4)]
    received = [f"recv SUCCESS qp={q} len=64 bad=0" for q in range(4)]
    receives = " ".join(["recv:64"] * 4)
    yield Script("four QPs share uroce's receives, Linux sends",
                 ours=(f"qps=4 srq=1 {receives} meet wait wait wait wait", received),
                 linux=(f"qps=4 meet {on_each}", sent))
    yield Script("four QPs share Linux's receives, uroce sends",
                 ours=(f"qps=4 meet {on_each}", sent),
                 linux=(f"qps=4 srq=1 {receives} meet wait wait wait wait", received))
    yield Script("shared receives of uroce come late",
                 ours=("qps=2 srq=1 until:out_of_buffer:2 recv:64 wait", ["recv SUCCESS qp=1 len=64 bad=0"]),
                 linux=("qps=2 on:1 send:64 wait", ["send SUCCESS qp=1"]))
    yield Script("shared receives of Linux come late",
                 ours=("qps=2 on:1 send:64 until:rnr_nak_retry_err:2 meet wait", ["send SUCCESS qp=1"]),
                 linux=("qps=2 srq=1 meet recv:64 wait", ["recv SUCCESS qp=1 len=64 bad=0"]))
    yield Script("late receive for a WRITE with imm, Linux asks",
                 ours=("until:out_of_buffer:2 recv:0 wait check:target:3000",
                       ["recv SUCCESS RECV_RDMA_WITH_IMM len=3000 bad=0 imm=0x12345678", "target bad=0"]),
                 linux=("writeimm:3000 wait", ["writeimm SUCCESS"]))
    yield Script("late receive for a WRITE with imm, uroce asks",
                 ours=("writeimm:3000 until:rnr_nak_retry_err:2 meet wait", ["writeimm SUCCESS"]),
                 linux=("meet recv:0 wait check:target:3000",
                        ["recv SUCCESS RECV_RDMA_WITH_IMM len=3000 bad=0 imm=0x12345678", "target bad=0"]))
    # Without the fence the SEND would carry what the memory held before.
    for size in (64, 65536):
        asks = (f"meet read:{size} fence forward:{size} wait wait", [f"read SUCCESS len={size}", "send SUCCESS"])
        answers = (f"recv:{size} offer:{size} meet wait", [f"recv SUCCESS len={size} bad=0"])
        yield Script(f"fence, uroce sends {size} bytes that it has just read", ours=asks, linux=answers)
        yield Script(f"fence, Linux sends {size} bytes that it has just read", ours=answers, linux=asks)


def states():
    yield Script("SQD of uroce: it asks nothing, and goes on in RTS",
                 ours=("write:64 wait state:SQD event write:4096 linger:100 meet meet state:RTS wait meet",
                       ["write SUCCESS", "event SQ_DRAINED", "write SUCCESS"]),
                 linux=("meet check:target:64 meet meet check:target:4096", ["target bad=0", "target bad=0"]))
    yield Script("SQD of uroce: it still answers Linux",
                 ours=("recv:64 state:SQD event meet wait meet check:target:4096",
                       ["event SQ_DRAINED", RECEIVED, "target bad=0"]),
                 linux=("meet send:64 wait write:4096 wait read:4096 wait check:landing:4096 meet",
                        ["send SUCCESS", "write SUCCESS", "read SUCCESS len=4096", "landing bad=0"]))
    yield Script("ERR of uroce flushes both queues",
                 ours=("recv:64 recv:64 send:64 send:64 until:rnr_nak_retry_err:1 state:ERR wait wait wait wait "
                       "recv:64 wait send:64 wait",
                       ["send WR_FLUSH_ERR", "send WR_FLUSH_ERR", "recv WR_FLUSH_ERR", "recv WR_FLUSH_ERR",
                        "recv WR_FLUSH_ERR", "send WR_FLUSH_ERR"]),
                 linux=("", []))
    yield Script("ERR of Linux flushes both queues",
                 ours=("meet", []),
                 linux=("recv:64 recv:64 send:64 until:rcvd_rnr_err:1 state:ERR wait wait wait meet",
                        ["recv WR_FLUSH_ERR", "recv WR_FLUSH_ERR", "send WR_FLUSH_ERR"]))
    yield Script("Linux in ERR does not answer uroce",
                 ours=("timeout=12 retry=2 meet send:64 wait event",
                       ["send RETRY_EXC_ERR retries=2", "event QP_FATAL"]),
                 linux=("recv:64 state:ERR meet wait", ["recv WR_FLUSH_ERR"]))
    yield Script("uroce in ERR does not answer Linux",
                 ours=("recv:64 state:ERR meet wait", ["recv WR_FLUSH_ERR"]),
                 linux=("timeout=12 retry=2 meet send:64 wait", ["send RETRY_EXC_ERR"]))


    # By the book it is flushed as well.
    yield Script("receive posted in ERR of Linux is never flushed",
                 ours=("meet", []),
                 linux=("state:ERR recv:64 linger:100 meet", []))
    # By the book the second WRITE is sent then.
    yield Script("SQD of Linux, which does not go on in RTS",
                 ours=("meet check:target:64", ["target bad=0"]),
                 linux=("write:64 wait state:SQD write:4096 linger:100 state:RTS linger:200 meet",
                        ["write SUCCESS", "event SQ_DRAINED"]))
    for work in ("awrite", "flush"):
        yield Script(f"Linux does not know {work.upper()}",
                     ours=(f"timeout=12 retry=2 write:64 wait {work}:8 wait event meet",
                           ["write SUCCESS", f"{work} RETRY_EXC_ERR retries=2", "event QP_FATAL"]),
                     linux=("meet", []))


def refused():
    for work in ("write", "read"):
        yield Script(f"{work.upper()} behind the end of the region of uroce",
                     ours=("meet event counter:resp_remote_access_errors",
                           ["event QP_ACCESS_ERR", "resp_remote_access_errors 1"]),
                     linux=(f"meet {work}:8:{REGION_END - 4} wait", [f"{work} REM_ACCESS_ERR"]))
        yield Script(f"{work.upper()} behind the end of the region of Linux",
                     ours=(f"meet {work}:8:{REGION_END - 4} wait event", [f"{work} REM_ACCESS_ERR", "event QP_FATAL"]),
                     linux=("meet", []))
        yield Script(f"long {work.upper()} with a wrong key, Linux asks",
                     ours=("meet event check:target:0", ["event QP_ACCESS_ERR", "target bad=0"]),
                     linux=(f"meet {work}:65536:bad wait", [f"{work} REM_ACCESS_ERR"]))
        yield Script(f"long {work.upper()} with a wrong key, uroce asks",
                     ours=(f"meet {work}:65536:bad wait event", [f"{work} REM_ACCESS_ERR", "event QP_FATAL"]),
                     linux=("meet check:target:0", ["target bad=0"]))
    yield Script("SEND from a wrong local key, uroce sends",
                 ours=("meet badlkey send:64 wait event", ["send LOC_PROT_ERR", "event QP_FATAL"]),
                 linux=("recv:64 meet", []))
    # By the book LOC_PROT_ERR.
    yield Script("SEND from a wrong local key, Linux sends",
                 ours=("recv:64 meet", []),
                 linux=("meet badlkey send:64 wait", ["send LOC_QP_OP_ERR"]))
    yield Script("receive with a wrong local key, Linux sends",
                 ours=("badlkey recv:64 meet wait event", ["recv LOC_QP_OP_ERR", "event QP_FATAL"]),
                 linux=("meet send:64 wait", ["send REM_OP_ERR"]))
    yield Script("receive with a wrong local key, uroce sends",
                 ours=("meet send:64 wait event", ["send REM_OP_ERR", "event QP_FATAL"]),
                 linux=("badlkey recv:64 meet wait", ["recv LOC_QP_OP_ERR"]))
    yield Script("requests behind a wrong one are flushed, uroce asks",
                 ours=("meet write:64 write:64:bad write:64 send:64 wait wait wait wait event",
                       ["write SUCCESS", "write REM_ACCESS_ERR", "write WR_FLUSH_ERR", "send WR_FLUSH_ERR",
                        "event QP_FATAL"]),
                 linux=("recv:64 meet wait", ["recv WR_FLUSH_ERR"]))
    yield Script("requests behind a wrong one are flushed, Linux asks",
                 ours=("recv:64 meet event wait", ["event QP_ACCESS_ERR", "recv WR_FLUSH_ERR"]),
                 linux=("meet write:64 write:64:bad write:64 send:64 wait wait wait wait",
                        ["write SUCCESS", "write REM_ACCESS_ERR", "write WR_FLUSH_ERR", "send WR_FLUSH_ERR"]))


def at_once():
    """16 QPs, all with work outstanding."""
    for work, size, count, srq in (("send", 4096, 32, ""), ("send", 4096, 32, "srq=1 "), ("write", 65536, 8, ""),
                                   ("read", 65536, 8, ""), ("fadd", 8, 64, "")):
        asks = (f"qps=16 meet pump:{work}:{size}:{count}", ["pump wrong=0"])
        answers = (f"qps=16 {srq}meet sink:{work}:{size}:{count}", ["sink wrong=0"])
        if work == "fadd":
            answers = (f"{answers[0]} word", [*answers[1], f"word {16 * count:#x}"])
        name = f"16 QPs at once, {work} of {size} bytes{', shared receives' if srq else ''}"
        yield Script(f"{name}, uroce asks", ours=(f"{asks[0]} {REMARKS}", asks[1]), linux=answers, seconds=30)
        yield Script(f"{name}, Linux asks", ours=(f"{answers[0]} {REMARKS}", answers[1]), linux=asks, seconds=30)


SCRIPTS = [*windows(), *queues(), *states(), *refused(), *at_once()]
