/* qp_state.h - what a QP is: its parts, each written by the file of its name, and where its memory leads */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Everybody reads a part, and only the module of its name writes it: NAME.c and the inline functions of NAME.h. The
 * others tell that module what has happened. `make tidy` finds each other writer, whatever pointer it writes through;
 * PARTS in test/tidy/writers says whose a part is. What ends with a connection in error, the deadlines of three parts,
 * is ended by deadlines.h.
 */
#ifndef RC_QP_STATE_H
#define RC_QP_STATE_H

#include <stdatomic.h>
#include <stddef.h>

#include <uroce/qp.h>

#include "config/limits.h"
#include "rc/burst.h"
#include "rc/codes.h"
#include "rc/counters.h"
#include "rc/mr.h"
#include "rc/path.h"
#include "rc/probe.h"
#include "rc/psn.h"
#include "rc/recvq.h"
#include "rc/replay.h"
#include "rc/rtt.h"
#include "rc/sendwin.h"

#define RC_NEVER UINT64_MAX

struct rc_board;
struct rc_boards;

struct rc_migration {
	uint8_t state;   /* enum uroce_path_mig_state */
	uint8_t timeout; /* of the alternate path, as its P_Key */
	bool loaded;     /* there is an alternate path */
	bool refused;    /* PATH_MIG_ERR was raised since arming */
	bool heard;      /* the peer, since the last migration, over the path that it led to */
	uint16_t pkey;
	uint32_t count;          /* migrations so far: tells the host that the path has changed */
	uint32_t count_at_reset; /* errors say how many of them this connection has seen (E-4) */
	struct uroce_path path;
	psn_t epsn, snd_una; /* at the last migration: when they have moved, the peer has been heard */
};

/* What a QP has to do: see qp_work(). */
enum rc_work {
	WORK_ACK = 1,
	WORK_NAK = 2,
	WORK_REPEAT_ACK = 4, /* to a duplicate */
	WORK_RESPONSE = 8,   /* to READs and the like */
	WORK_CREDIT = 16,    /* perhaps: credits are counted, and the peer may have to hear of some */
	WORK_EVENT = 32,     /* perhaps: the state or a shared queue may have something to tell */
	WORK_SEND = 64,
	WORK_PROBE = 128,
	WORK_COMPLETION = 256,
	WORK_RESPONDER = WORK_ACK | WORK_NAK | WORK_REPEAT_ACK | WORK_RESPONSE | WORK_CREDIT,
	WORK_REQUESTER = WORK_SEND | WORK_PROBE,
	WORK_REPORTS = WORK_COMPLETION | WORK_EVENT,
	WORK_ALL = WORK_RESPONDER | WORK_REQUESTER | WORK_REPORTS
};

/* What the responder owes: ACKs and NAKs, each of which says all that came before it. */
struct rc_ack {
	uint8_t due; /* WORK_ACK: of epsn - 1; WORK_NAK; WORK_REPEAT_ACK: to repeat_psn, the newest (S-8) */
	uint8_t nak_syndrome;
	psn_t nak_psn;
	psn_t repeat_psn;
};

struct rc_responder {
	psn_t epsn;
	psn_t newest_request; /* epsn, or the READ or atomic that was the last request: an ACK stays before it */
	uint32_t msn;         /* 24 bits */
	uint8_t in_progress;  /* enum wire_kind of the message under way: SEND, WRITE, or RESERVED for none */
	bool nak_outstanding; /* a NAK is out; drop new requests until ePSN comes (K-SEQ, R-3) */
	uint8_t min_rnr_timer;
	struct rc_ack ack;

	/* the message under way */
	uint32_t message_bytes; /* SEND and WRITE: received so far */
	uint64_t write_va;      /* WRITE: where the next byte goes */
	uint32_t write_left;    /* WRITE: bytes of DMALen still to come */
	uint32_t write_rkey;
};

struct rc_credit {
	/* requester */
	bool known;               /* an AETH has come */
	bool probe;               /* one message may go without a credit */
	uint32_t msn;             /* of the newest AETH taken, 24 bits */
	uint32_t allowed;         /* what it said */
	uint32_t receives_at_msn; /* messages up to that MSN that needed an entry */
	uint32_t receives;        /* messages started that need one */
	uint32_t messages;        /* messages started */
	uint64_t probe_deadline_ns;

	/* responder */
	bool said;         /* any AETH has left */
	uint8_t last_code; /* what the last one said */
};

/* Errors that wait for their place in the order of completions, and events that wait for theirs. */
struct rc_report {
	bool send_failed; /* the request at `acked` failed; the rest of SQ flushes */
	bool recv_failed; /* the oldest receive was in use when the QP failed */
	bool drained;     /* SQ_DRAINED was raised since entering SQD */
	bool last_taken;  /* QP_LAST_WQE_REACHED was raised since entering ERR */
	uint32_t events;  /* bit n: enum uroce_event_type n is to be raised */
};

/* And why (E-4). */
struct rc_failures {
	struct uroce_qp_error send, recv; /* of those two; status 0: none */
	struct uroce_qp_error first;      /* what failed first since RESET */
};

struct rc_requester {
	uint32_t rd_atomic_outstanding; /* READs and atomics started and not answered */
	uint32_t since_ackreq;          /* packets sent since the last one that asked for an ACK */
	uint8_t max_rd_atomic;
	bool read_restarted;    /* the last one counts */
	psn_t read_restart_end; /* READs were asked for again, in parts perhaps, up to here */
};

/* Responses that are missing between those that have come. */
struct rc_gaps {
	bool has_holes;  /* there are any: board.holes has them */
	bool asks_again; /* for some of them, with the next transmit */
};

/* How much may be in flight, and go out at a time: written by the rows of cc.h. */
struct rc_cc {
	uint16_t window;   /* packets of SENDs and WRITEs that may be in flight; less than usual after losses */
	uint8_t algorithm; /* enum rc_cc_algorithm */
	struct rc_burst burst;
};

/* The same of READs, and what the algorithm remembers: read after a loss only. */
struct rc_cc_past {
	uint32_t limit;   /* PSNs that may be in flight */
	psn_t lost_una;   /* snd_una when something was lost last */
	psn_t grown_una;  /* snd_una when the window last changed */
	uint64_t lost_ns; /* when something was lost last; 0: nothing was */
};

/* What copies of packets may still be answered with: it says that the peer lives, and nothing else. */
struct rc_owed {
	uint32_t responses; /* to READs and the like, a packet each */
	uint32_t acks;      /* to SENDs, WRITEs and empty WRITEs */
	psn_t first,
		limit; /* snd_max when the first of them left, and the last: the answer to what is newer comes behind */
};

struct rc_loss {
	uint64_t ack_deadline_ns; /* RC_NEVER: not running */
	uint64_t rnr_deadline_ns; /* RC_NEVER: not waiting */
	uint64_t timeout_ns;      /* 0: no ACK timer */
	uint64_t since_ns;        /* when snd_una was first sent, or became snd_una (E-4) */
	uint8_t retry_cnt, retries_left;
	uint8_t rnr_retry, rnr_left;

	/* the last rewind, and whether its packet has left again */
	bool rewound; /* snd_una has not moved since: `resent` counts */
	bool resent;
	bool resending; /* what lies from win.snd_nxt on has not gone out again yet; a probe is no resend */
	bool echoes;    /* there is something in `owed` */

	/* only looked at after a loss, and so on a line of their own */
	uint64_t resent_ns;
	psn_t rewind_psn;
	psn_t rnr_psn;      /* what the receiver is not ready for */
	psn_t rewind_limit; /* first PSN never sent when the window was rewound */
	psn_t heard;        /* the peer had taken everything before it when the window was rewound, or shows it since */
	psn_t resent_end;   /* what was sent again since the window was rewound ends here */
	psn_t flight_end;   /* and what may still be on its way from before */
	bool after_rnr;     /* an RNR NAK has rewound the window: nothing was lost */
	bool timed_out;     /* nothing shows a loss: silence alone has rewound the window */
	bool again;         /* and had been rewound to the same PSN before */
	bool refusable; /* of what may still be on its way from before, a request that needs a receive was sent again */
	bool loses;     /* a loss was seen, and since then not much has come without one */
	bool beside;    /* a packet that no request stands for waits for an answer (C-33) */
	uint8_t silences;   /* time-outs at snd_una since something came: the retries that a sign of life gives back */
	uint8_t asked;      /* those of them with which nothing was sent again: they have only asked (T-3) */
	uint32_t reprieves; /* how often it does so at this snd_una: once for each packet owed at the first time-out */
	struct rc_owed owed;
};

struct rc_anomaly {
	uint32_t since_ms; /* the second at hand began; the clock wraps */
	uint32_t count;    /* of such packets since then */
};

struct rc_keepalive {
	uint64_t interval_ns; /* 0: off */
	uint64_t deadline_ns; /* when to look again; RC_NEVER: off */
};

#define QP_KNOWN_KEYS 4u /* a power of two */

/* Where a key leads. Only a short cut: whether it is valid is looked up each time. */
struct rc_known_key {
	uint32_t key;
	uint32_t place; /* index of its slot */
};

/*
 * By cache lines, for with many QPs it is those that cost: what every packet touches; what requests and their responses
 * do at the responder; keys and reports; what sending and its responses touch. rc_qp_prefetch_...() fetch just those.
 * The rest is needed seldom.
 */
struct rc_qp {
	uint8_t state; /* enum uroce_qp_state */
	uint8_t mtu_shift;
	uint16_t pkey;
	uint16_t mtu_bytes;
	bool established;      /* COMM_EST was raised */
	bool imprecise_errors; /* E-3 */
	bool flow_control;     /* end-to-end credits were agreed upon (F-1) */
	bool shares_receives;  /* with a shared receive queue: recvq.srq */
	bool slow_timers;      /* has timers that few have: credits or keep-alive */
	uint8_t standing_work; /* WORK_CREDIT, WORK_EVENT, as state and attributes have it: see qp_note_attributes() */
	uint32_t qpn;
	uint32_t pd;
	uint32_t enabled; /* bit n: the peer may send requests of opcode n; written by the responder */
	uint64_t bth;     /* the first 8 bytes of all packets but for opcode and pad; written by qp_note_bth() */
	/* the path in use, as usual packets are compared with it: its port, and path_ipv4() when it is of no VLAN */
	const struct uroce_device *device;
	uint64_t ipv4;
	struct rc_migration migration; /* its first 16 bytes; then come the paths */
	struct uroce_path path;        /* written by qp_take_path() only */

	_Alignas(64) struct rc_responder responder;
	struct rc_replay replay; /* its first 16 bytes */
	struct rc_board *parts;  /* while parts of READs are owed once more: see replay.has_parts */
	struct rc_credit credit;
	struct rc_burst response_burst; /* READ responses that go out at a time */

	_Alignas(64) struct rc_known_key known_keys[QP_KNOWN_KEYS];
	struct rc_mr_table *mrs;
	struct rc_report report;
	void *recv_cq;
	uint64_t context;

	struct rc_sendwin win;

	_Alignas(64) struct rc_requester requester;
	struct rc_cc cc;
	uint32_t last_aeth;
	uint8_t scarce; /* enum rc_send_needs: a request that needs any of it is looked into before it begins */
	struct rc_gaps gaps;
	void *send_cq;
	struct rc_probe probe;
	struct rc_rtt rtt;
	struct rc_loss loss; /* the line ends within it; what follows is read after a loss only */
	struct rc_cc_past cc_past;

	uint64_t counters[CNT_QP_COUNTERS];
	struct rc_recvq recvq;
	struct rc_failures failures;
	struct rc_anomaly anomaly;
	union {
		struct rc_boards *pool; /* that it borrows from; NULL: there is none */
		struct rc_board *holes; /* while it has holes: see gaps.has_holes */
	} board;
	struct rc_keepalive keepalive;
	uint32_t access; /* enum uroce_access: what the peer may do */
	uint32_t max_mtu_bytes;
	uint32_t dest_qpn;
	psn_t sq_psn, rq_psn; /* as set by modify */
	uint8_t timeout, max_dest_rd_atomic;
	uint8_t read_repair; /* enum uroce_read_repair */
};

static_assert(offsetof(struct rc_qp, migration) + offsetof(struct rc_migration, path) == 64 &&
		      offsetof(struct rc_qp, responder) % 64 == 0 &&
		      offsetof(struct rc_qp, replay) + offsetof(struct rc_replay, bucket_mask) <=
			      offsetof(struct rc_qp, responder) + 64 &&
		      offsetof(struct rc_qp, win) == offsetof(struct rc_qp, known_keys) + 64 &&
		      offsetof(struct rc_qp, requester) % 64 == 0 &&
		      offsetof(struct rc_qp, loss) + offsetof(struct rc_loss, resent_ns) <=
			      offsetof(struct rc_qp, requester) + 128,
	      "lines of their own");

/* The state, keep-alive or the use of credits has changed: so has what each packet need not look at. */
static inline void qp_note_attributes(struct rc_qp *qp)
{
	bool watches_events = qp->state >= UROCE_QPS_SQD || qp->shares_receives;

	qp->slow_timers = qp->flow_control || qp->keepalive.interval_ns;
	qp->scarce = qp->flow_control ? NEEDS_ALL : NEEDS_ALL & ~NEEDS_RECEIVE;
	qp->standing_work = (uint8_t)((qp->flow_control ? WORK_CREDIT : 0) | (watches_events ? WORK_EVENT : 0));
}

static inline void qp_set_state(struct rc_qp *qp, enum uroce_qp_state state)
{
	qp->state = (uint8_t)state;
	qp_note_attributes(qp);
}

static inline void qp_set_flow_control(struct rc_qp *qp, bool on)
{
	qp->flow_control = on;
	qp_note_attributes(qp);
}

/* P_Key, destination or the state of migration has changed: MigReq stands in all packets while none is ready. */
static inline void qp_note_bth(struct rc_qp *qp)
{
	uint32_t flags = qp->migration.state == UROCE_PATH_MIGRATED ? WIRE_MIGREQ : 0;

	qp->bth = packet_bth_of(0, flags, qp->pkey, qp->dest_qpn);
}

/* The path in use is this one from now on. */
static inline void qp_take_path(struct rc_qp *qp, const struct uroce_path *path)
{
	qp->path = *path;
	qp->ipv4 = path->vlan_id ? 0 : path_ipv4(path);
	qp->device = path->device;
}

/* Key 0 leads nowhere, before any is known. */
static inline void qp_forget_keys(struct rc_qp *qp)
{
	qp->known_keys[0].key = 1u << 8; /* which never stands there */
}

/* rc_mr_check() on behalf of the QP, which remembers where the few keys that it uses lead. */
static inline enum rc_mr_verdict qp_check_memory(struct rc_qp *qp, uint32_t key, uint64_t va, uint64_t bytes,
						 uint32_t access, uint8_t **host)
{
	struct rc_known_key *known = &qp->known_keys[key >> 8 & (QP_KNOWN_KEYS - 1)];

	if (__builtin_expect(known->key != key, 0)) {
		const struct rc_mr_entry *slot = rc_mr_slot(qp->mrs, key);

		if (slot == NULL)
			return MR_BAD_KEY;
		known->key = key;
		known->place = (uint32_t)(slot - qp->mrs->entries);
	}
	return rc_mr_check_slot(&qp->mrs->entries[known->place], key, qp->pd, qp->qpn, va, bytes, access, host);
}

/* Packets that so many bytes take, and PSNs that a READ of them owns: at least one (P-3). */
static inline uint32_t qp_packets(const struct rc_qp *qp, uint64_t bytes)
{
	return bytes == 0 ? 1 : (uint32_t)((bytes + qp->mtu_bytes - 1) >> qp->mtu_shift);
}

/* And how many PSNs a request owns. */
static inline uint32_t qp_psns(const struct rc_qp *qp, const struct rc_send_wqe *wqe)
{
	if (wqe->length_bytes <= qp->mtu_bytes || wqe->opcode > UROCE_WR_RDMA_READ)
		return 1;
	return qp_packets(qp, wqe->length_bytes);
}

/* Is there anything to send or to be answered? */
static inline bool rc_qp_has_requests(struct rc_qp *qp)
{
	sendwin_take_posted(&qp->win);
	return (qp->state == UROCE_QPS_RTS || qp->state == UROCE_QPS_SQD) && qp->win.acked != qp->win.tail;
}

#endif
