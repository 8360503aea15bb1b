/* wr.h - work requests and completions: plain data that crosses between application and lcore */
/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads: any thread may call at any time. */
#ifndef UROCE_WR_H
#define UROCE_WR_H

#include <uroce/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Every constant that libibverbs has too (IBV_WR_SEND for UROCE_WR_SEND) has the same value in these headers.
 * Constants of uroce alone have values that libibverbs does not use for that enumeration.
 */

/* The operation of a send request. */
enum uroce_wr_opcode {
	UROCE_WR_RDMA_WRITE,
	UROCE_WR_RDMA_WRITE_WITH_IMM,
	UROCE_WR_SEND,
	UROCE_WR_SEND_WITH_IMM,
	UROCE_WR_RDMA_READ,
	UROCE_WR_ATOMIC_CMP_AND_SWP,
	UROCE_WR_ATOMIC_FETCH_AND_ADD,
	UROCE_WR_LOCAL_INV, /* invalidates our window of key `rkey`, once all earlier requests are answered */
	/* gives a type 2 window the range in `bind` and the key `rkey`, once all earlier requests are answered */
	UROCE_WR_BIND_MW,
	UROCE_WR_SEND_WITH_INV, /* a SEND whose last packet invalidates the peer's key in `rkey` */
	/* 10 ... 13 are operations that uroce does not have: TSO and drivers' own */
	UROCE_WR_FLUSH = 14,   /* makes earlier WRITEs visible or persistent, as `flush` says */
	UROCE_WR_ATOMIC_WRITE, /* 8 bytes, seen by everybody at once */
	UROCE_WR_OPCODES       /* one more than the largest value */
};

/* Flags of a send request; OR them. */
enum uroce_send_flags {
	UROCE_SEND_FENCE = 1 << 0,     /* the request waits for all earlier READs and atomics of the QP */
	UROCE_SEND_SIGNALED = 1 << 1,  /* asks for a completion when the request succeeds; errors always complete */
	UROCE_SEND_SOLICITED = 1 << 2, /* sets the solicited event bit on the last packet */
	UROCE_SEND_INLINE = 1 << 3     /* data is copied at post time, and its lkeys are not checked */
};

/*
 * A piece of local memory inside a registered region. The address is in the region's own address space, the length in
 * bytes.
 */
struct uroce_sge {
	uint64_t addr;
	uint32_t length;
	uint32_t lkey;
};

/* What a memory window opens to the peer. */
struct uroce_mw_bind {
	struct uroce_mr *mr;
	/* address in the region's own address space; peers name the same, unless UROCE_ACCESS_ZERO_BASED is set */
	uint64_t addr;
	uint64_t length_bytes;
	uint32_t access; /* UROCE_ACCESS_REMOTE_*, UROCE_ACCESS_ZERO_BASED */
	uint32_t reserved;
};

/* What a FLUSH covers and how far it reaches. */
enum uroce_flush {
	UROCE_FLUSH_GLOBAL = 1 << 0,     /* earlier WRITEs are visible to everybody */
	UROCE_FLUSH_PERSISTENT = 1 << 1, /* earlier WRITEs have been written back from the CPU's caches to memory */
	/* the FLUSH covers the whole region, not only flush_bytes from remote_addr on */
	UROCE_FLUSH_WHOLE_REGION = 1 << 2
};

/*
 * One send request. The structure and its list may be reused when the post returns; the data may be reused
 * after completion (with UROCE_SEND_INLINE: at once).
 */
struct uroce_send_wr {
	struct uroce_send_wr *next;
	uint64_t wr_id;
	const struct uroce_sge *sg_list;
	uint32_t num_sge;
	enum uroce_wr_opcode opcode;
	uint32_t send_flags;
	uint32_t imm_data;    /* immediate, network byte order: htonl() */
	uint64_t remote_addr; /* WRITE, READ, atomics, FLUSH */
	uint32_t rkey;        /* the peer's key for remote_addr; or the key to invalidate, or the window's new key */
	uint32_t flush;       /* FLUSH: enum uroce_flush */
	union {
		uint64_t compare_add;             /* the operand of fetch-and-add, the comparand of compare-and-swap */
		uint64_t flush_bytes;             /* FLUSH: length of the range, at most 2^31 (it has no sg_list) */
		const struct uroce_mw_bind *bind; /* BIND_MW; may be reused when the post returns */
	};
	union {
		uint64_t swap;       /* the new value of compare-and-swap */
		struct uroce_mw *mw; /* BIND_MW: a type 2 window */
	};
};

/* One receive request: where a SEND is placed. A WRITE with immediate uses up the request, but not its buffers. */
struct uroce_recv_wr {
	struct uroce_recv_wr *next;
	uint64_t wr_id;
	const struct uroce_sge *sg_list;
	uint32_t num_sge;
	uint32_t reserved;
};

/* The outcome of a request. */
enum uroce_wc_status {
	UROCE_WC_SUCCESS,
	UROCE_WC_LOC_LEN_ERR,
	UROCE_WC_LOC_QP_OP_ERR,
	UROCE_WC_LOC_EEC_OP_ERR,
	UROCE_WC_LOC_PROT_ERR,
	UROCE_WC_WR_FLUSH_ERR, /* request not executed as far as we know: the peer may have executed it (E-8) */
	UROCE_WC_MW_BIND_ERR,
	UROCE_WC_BAD_RESP_ERR,
	UROCE_WC_LOC_ACCESS_ERR,
	UROCE_WC_REM_INV_REQ_ERR,
	UROCE_WC_REM_ACCESS_ERR,
	UROCE_WC_REM_OP_ERR,
	UROCE_WC_RETRY_EXC_ERR,
	UROCE_WC_RNR_RETRY_EXC_ERR,
	UROCE_WC_STATUSES = 24 /* larger than any status of libibverbs */
};

/* What completed. Receive opcodes have bit 7 set. */
enum uroce_wc_opcode {
	UROCE_WC_SEND,
	UROCE_WC_RDMA_WRITE,
	UROCE_WC_RDMA_READ,
	UROCE_WC_COMP_SWAP,
	UROCE_WC_FETCH_ADD,
	UROCE_WC_BIND_MW,
	UROCE_WC_LOCAL_INV,
	UROCE_WC_FLUSH = 8,
	UROCE_WC_ATOMIC_WRITE,
	UROCE_WC_RECV = 1 << 7,
	UROCE_WC_RECV_RDMA_WITH_IMM
};

enum uroce_wc_flags {
	UROCE_WC_GRH = 1 << 0,        /* a datagram: see UROCE_GRH_BYTES (ud.h) */
	UROCE_WC_WITH_IMM = 1 << 1,   /* imm_data is valid */
	UROCE_WC_WITH_INV = 1 << 3,   /* invalidated_rkey is valid */
	UROCE_WC_SOLICITED = 1 << 15, /* the sender set UROCE_SEND_SOLICITED; libibverbs has no such flag */
};

/*
 * One completion, 64 bytes. wr_id, status, opcode, qp_num and qp_context are always valid. An error has vendor_err. The
 * completion of the request that failed has psn, aeth, retries, elapsed_us and path, too (E-4), which are 0 in a
 * flushed completion. All other fields are valid only with UROCE_WC_SUCCESS.
 */
struct uroce_wc {
	uint64_t wr_id;
	uint8_t status;      /* enum uroce_wc_status */
	uint8_t opcode;      /* enum uroce_wc_opcode */
	uint16_t wc_flags;   /* enum uroce_wc_flags */
	uint32_t vendor_err; /* enum uroce_cause: why, when status is not success */
	uint32_t byte_len;   /* receives and READs: bytes that arrived */
	union {
		uint32_t imm_data;         /* network byte order: ntohl(); with UROCE_WC_WITH_IMM */
		uint32_t invalidated_rkey; /* with UROCE_WC_WITH_INV */
	};
	uint32_t qp_num;     /* the local QP */
	uint32_t src_qp;     /* receives: the peer's QP */
	uint32_t psn;        /* errors: the PSN that failed */
	uint32_t aeth;       /* errors: the peer's last AETH, syndrome in the top byte; a SACK is a NAK; 0: none */
	uint64_t qp_context; /* what the application gave at qp_create */
	uint32_t retries;    /* errors: retries spent on the failing PSN */
	uint32_t elapsed_us; /* errors: time since the failing PSN was first sent or became the oldest one */
	uint32_t path;       /* errors: how often the QP had migrated: 0 is the first path */
	uint8_t ip_version;  /* receives with UROCE_WC_GRH: 4 or 6 */
	uint8_t finding;     /* errors: enum uroce_finding */
	uint16_t reserved;
};

/* Why a request failed: vendor_err of a completion. */
enum uroce_cause {
	UROCE_CAUSE_NONE,
	UROCE_CAUSE_TIMEOUT,         /* the last trigger was an ACK timeout */
	UROCE_CAUSE_SEQUENCE_NAK,    /* the last trigger was a PSN sequence NAK */
	UROCE_CAUSE_IMPLIED_NAK,     /* the last trigger was a missing READ or atomic response */
	UROCE_CAUSE_RNR,             /* the peer had no receive entry */
	UROCE_CAUSE_REMOTE_NAK,      /* the peer refused: see aeth */
	UROCE_CAUSE_LOCAL_KEY,       /* lkey unknown or no longer valid */
	UROCE_CAUSE_LOCAL_DOMAIN,    /* lkey of another protection domain */
	UROCE_CAUSE_LOCAL_RIGHTS,    /* lkey without the right */
	UROCE_CAUSE_LOCAL_RANGE,     /* the range is not inside the region */
	UROCE_CAUSE_LENGTH,          /* the message is longer than 2^31 bytes, or than the receive buffers */
	UROCE_CAUSE_BAD_RESPONSE,    /* the response broke the protocol */
	UROCE_CAUSE_REMOTE_KEY,      /* responder: the peer's R_Key is unknown or no longer valid */
	UROCE_CAUSE_REMOTE_DOMAIN,   /* responder: the peer's R_Key is of another protection domain or QP */
	UROCE_CAUSE_REMOTE_RIGHTS,   /* responder: the peer's R_Key does not give the right */
	UROCE_CAUSE_REMOTE_RANGE,    /* responder: the range is not inside the R_Key's region */
	UROCE_CAUSE_INVALID_REQUEST, /* responder: the peer's request violated the protocol */
	UROCE_CAUSE_UNRESOLVED,      /* nobody answers for the peer's address: no ARP or neighbour discovery reply */
	UROCE_CAUSE_WINDOW,          /* bind or invalidate refused: see enum uroce_mw_type (mr.h) */
	UROCE_CAUSE_DEPTH,           /* max_rd_atomic was set to 0 after the READ or atomic had been posted */
	UROCE_CAUSE_FLUSHED,         /* an earlier request of the QP failed, or the QP was moved to ERR */
	UROCE_CAUSE_KEEPALIVE,       /* the QP had no request, and its peer did not answer when asked */
	UROCE_CAUSE_CQ_OVERRUN,      /* cause of a QP's failure, not of a completion: a CQ of the QP had no room */
	UROCE_CAUSE_UNMAPPED,        /* memory of a registered region was unmapped, protected or truncated */
	UROCE_CAUSES
};

/*
 * Why a peer did not answer: judged when its queue pair fails, from the state of the port and the lcore, from counters
 * that grew since the last answer, and from ICMP echo requests to the peer's address.
 */
enum uroce_finding {
	UROCE_FINDING_NONE,             /* nothing, or the cause says all */
	UROCE_FINDING_NO_LINK,          /* the port has no link */
	UROCE_FINDING_NOT_POLLED,       /* the lcore was not polled for most of the time */
	UROCE_FINDING_ADDRESS_CONFLICT, /* another station has an address of the port */
	UROCE_FINDING_PORT_STUCK,       /* the port took or sent no frames */
	UROCE_FINDING_CORRUPTION,       /* frames arrive damaged */
	UROCE_FINDING_PKEY,             /* frames of another P_Key arrive */
	UROCE_FINDING_VLAN,             /* frames of another VLAN arrive */
	UROCE_FINDING_ADDRESS,          /* frames from or to another address than that of the path arrive */
	UROCE_FINDING_RING_FULL,        /* frames arrive faster than they are taken, and are dropped */
	UROCE_FINDING_SIZE,             /* of echoes a short one came, and none of the path MTU */
	UROCE_FINDING_PEER_QP,          /* all echoes came: only the queue pair does not answer */
	UROCE_FINDING_LOSS,             /* all echoes came, and packets are lost */
	UROCE_FINDING_LINK_FLAPPED,     /* the link was down in between */
	UROCE_FINDING_PEER_SILENT,      /* no echo came */
	UROCE_FINDINGS
};

/* The name of a status, "RETRY_EXC_ERR" for UROCE_WC_RETRY_EXC_ERR; never NULL. */
UROCE_API const char *uroce_wc_status_name(uint8_t status);
/* The name of an operation, "RDMA_WRITE" for UROCE_WC_RDMA_WRITE; never NULL. */
UROCE_API const char *uroce_wc_opcode_name(uint8_t opcode);
/* A sentence for a cause (vendor_err of a completion); never NULL. */
UROCE_API const char *uroce_cause_text(uint32_t vendor_err);
/* A sentence for a finding, with what to do; answered: the peer has answered before. NULL: nothing was found. */
UROCE_API const char *uroce_finding_text(uint8_t finding, bool answered);

#define UROCE_EXPLAIN_BYTES 512
/*
 * Explains a completion in one line for a person: what failed, why, when, and what to look at next. Writes at most
 * out_bytes (UROCE_EXPLAIN_BYTES always suffice), ends with NUL, returns out.
 */
UROCE_API char *uroce_wc_explain(const struct uroce_wc *wc, char *out, size_t out_bytes);

#ifdef __cplusplus
}
#endif
#endif
