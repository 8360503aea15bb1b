# errors.py - what goes wrong on purpose between uroce and Linux, in both directions, and what each must see
# SPDX-License-Identifier: BSD-3-Clause
from scripts import Script

FIRST_WORD = "word 0x322b241d160f0801"  # the pattern that both sides send
ATOMICS = ("meet fadd:0:0x10 wait result cswap:0:0x1122334455667798:0x99aabbccddeeff00 wait result "
           "cswap:0:0x1122334455667798:1 wait result meet")
ATOMICS_PRINT = ["fadd SUCCESS", "result 0x1122334455667788", "cswap SUCCESS", "result 0x1122334455667798",
                 "cswap SUCCESS", "result 0x99aabbccddeeff00"]  # the second swap finds another value


SCRIPTS = [
    Script("late receive, Linux sends",
           ours=("until:out_of_buffer:3 recv:64 wait", ["recv SUCCESS len=64 bad=0"]),
           linux=("send:64 wait until:rcvd_rnr_err:3", ["send SUCCESS"])),
    # The second SEND lies behind the first one's RNR NAK: Linux answers it with a sequence NAK, which costs nothing.
    Script("late receives, uroce sends",
           ours=("send:64 send:64 until:rnr_nak_retry_err:3 meet wait wait until:drop_repeated_nak:1 "
                 "counter:packet_seq_err counter:local_ack_timeout_err",
                 ["send SUCCESS", "send SUCCESS", "packet_seq_err 0", "local_ack_timeout_err 0"]),
           linux=("meet recv:64 recv:64 wait wait until:send_rnr_err:3 until:out_of_seq_request:1",
                  ["recv SUCCESS len=64 bad=0", "recv SUCCESS len=64 bad=0"])),
    Script("no receive, Linux sends",
           ours=("meet counter:out_of_buffer", ["out_of_buffer 3"]),
           linux=("rnr=2 send:64 wait counter:rcvd_rnr_err meet",
                  ["send RNR_RETRY_EXC_ERR", "rcvd_rnr_err 3"])),
    Script("no receive, uroce sends",
           ours=("rnr=2 send:64 wait event counter:rnr_nak_retry_err meet",
                 ["send RNR_RETRY_EXC_ERR retries=2", "event QP_FATAL", "rnr_nak_retry_err 3"]),
           linux=("meet counter:send_rnr_err", ["send_rnr_err 3"])),
    Script("WRITE with a wrong key, Linux writes",
           ours=("meet word set:7 meet event counter:resp_remote_access_errors word",
                 [FIRST_WORD, "event QP_ACCESS_ERR", "resp_remote_access_errors 1", "word 0x7"]),
           linux=("write:8 wait meet meet write:8:bad wait", ["write SUCCESS", "write REM_ACCESS_ERR"])),
    Script("WRITE with a wrong key, uroce writes",
           ours=("write:8 wait meet meet write:8:bad wait event counter:req_remote_access_errors meet",
                 ["write SUCCESS", "write REM_ACCESS_ERR", "event QP_FATAL", "req_remote_access_errors 1"]),
           linux=("meet word set:7 meet meet word", [FIRST_WORD, "word 0x7"])),
    Script("READ with a wrong key, Linux reads",
           ours=("set:0x1122 meet event counter:resp_remote_access_errors",
                 ["event QP_ACCESS_ERR", "resp_remote_access_errors 1"]),
           linux=("meet read:8 wait result read:8:bad wait",
                  ["read SUCCESS len=8", "result 0x1122", "read REM_ACCESS_ERR"])),
    Script("READ with a wrong key, uroce reads",
           ours=("meet read:8 wait result read:8:bad wait event counter:req_remote_access_errors",
                 ["read SUCCESS len=8", "result 0x1122", "read REM_ACCESS_ERR", "event QP_FATAL",
                  "req_remote_access_errors 1"]),
           linux=("set:0x1122 meet", [])),
    # Four times 67 ms; Linux counts in ticks of 4 ms.
    Script("QP gone, Linux writes and gives up",
           ours=("destroy meet meet counter:drop_unknown_qpn", ["drop_unknown_qpn 4"]),
           linux=("timeout=14 retry=3 meet write:8 wait within:250:3000 meet", ["write RETRY_EXC_ERR"])),
    Script("QP gone, Linux with retry count 7 never gives up",
           ours=("destroy meet until:drop_unknown_qpn:30 meet", []),
           linux=("timeout=8 retry=7 meet write:8 meet", [])),
    # Eight times 16.8 ms.
    Script("QP gone, uroce writes and gives up after seven retries",
           ours=("timeout=12 retry=7 meet write:8 wait within:134:3000 event counter:local_ack_timeout_err",
                 ["write RETRY_EXC_ERR retries=7", "event QP_FATAL", "local_ack_timeout_err 8"]),
           linux=("destroy meet", [])),
    Script("SEND too long, Linux sends",
           ours=("recv:1024 recv:1024 meet wait wait event counter:resp_local_length_error",
                 ["recv LOC_LEN_ERR", "recv WR_FLUSH_ERR", "event QP_FATAL", "resp_local_length_error 1"]),
           linux=("meet send:2048 wait", ["send REM_INV_REQ_ERR"])),
    # By the book REM_INV_REQ_ERR and LOC_LEN_ERR. This kernel takes it for a fault of the receive.
    Script("SEND too long, uroce sends",
           ours=("meet send:2048 wait event counter:req_remote_operational_errors",
                 ["send REM_OP_ERR", "event QP_FATAL", "req_remote_operational_errors 1"]),
           linux=("recv:1024 recv:1024 meet wait wait", ["recv LOC_QP_OP_ERR", "recv WR_FLUSH_ERR"])),
    Script("atomics, Linux asks",
           ours=("set:0x1122334455667788 meet meet word counter:rx_atomic_requests",
                 ["word 0x99aabbccddeeff00", "rx_atomic_requests 3"]),
           linux=(ATOMICS, ATOMICS_PRINT)),
    Script("atomics, uroce asks",
           ours=(ATOMICS, ATOMICS_PRINT),
           linux=("set:0x1122334455667788 meet meet word", ["word 0x99aabbccddeeff00"])),
    # libibverbs refuses it, so that nothing leaves the guest.
    Script("atomic not aligned, Linux asks",
           ours=("set:5 meet meet word", ["word 0x5"]),
           linux=("meet fadd:4:3 meet", ["fadd refused: Invalid argument"])),
    Script("atomic not aligned, uroce asks",
           ours=("meet fadd:4:3 wait event counter:req_remote_invalid_request meet",
                 ["fadd REM_INV_REQ_ERR", "event QP_FATAL", "req_remote_invalid_request 1"]),
           linux=("set:5 meet meet word", ["word 0x5"])),
]
