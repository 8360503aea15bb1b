/* qp_state.h - the struct of a QP: its parts, each written by the file of its name, in the order of its cache lines */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every file may read a part, and only the module of its name writes it: NAME.c and the inline functions of NAME.h.
 * Other files call that module to tell it what has happened. `make tidy` finds each other writer, whatever pointer it
 * writes through; PARTS in test/tidy/writers says which file a part belongs to. One exception: deadlines.h ends the
 * deadlines of two parts when a QP goes to ERR.
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
#include "rc/psn.h"
#include "rc/recvq.h"
#include "rc/replay.h"
#include "rc/rtt.h"
#include "rc/sendwin.h"

#define RC_NEVER UINT64_MAX

struct rc_board;
struct rc_boards;

/* What a QP borrows a board for: see board.h. */
enum rc_board_use {
	BOARD_HOLES,  /* the responses that it misses (holes.h) */
	BOARD_PARTS,  /* the parts of READs that its peer misses (duplicate.h) */
	BOARD_KEPT,   /* requests that have come before their turn (kept.h) */
	BOARD_SACK,   /* the states of its packets, of which SACKs tell (scoreboard.h) */
	BOARD_SPREAD, /* the paths that it spreads its packets over (spread.h) */
	BOARD_USES
};

struct rc_borrowed {
	struct rc_boards *pool;          /* NULL: the QP borrows nothing */
	struct rc_board *by[BOARD_USES]; /* NULL: it has no board for this use */
};

/* How the paths have changed. */
struct rc_migration {
	uint8_t state;           /* enum uroce_path_mig_state */
	bool refused;            /* PATH_MIG_ERR was raised since arming */
	bool heard;              /* since the last migration the peer has been heard over the new path */
	uint32_t count;          /* migrations so far: shows the host that the path has changed */
	uint32_t count_at_reset; /* count at RESET: an error reports the migrations of its connection only (E-4) */
	/* ePSN and snd_una at the last migration; once one of them has moved, the peer has been heard */
	psn_t epsn, snd_una;
};

/* The alternate path. */
struct rc_alternate {
	struct uroce_path path;
	uint16_t pkey;
	uint8_t timeout; /* code of its ACK timeout */
	bool loaded;     /* an alternate path was set, and not used up */
};

/* Kinds of work that a QP may have: see qp_work(). */
enum rc_work {
	WORK_ACK = 1,
	WORK_NAK = 2,
	WORK_REPEAT_ACK = 4, /* an ACK for a duplicate */
	WORK_SACK = 8,       /* SACKs, and kept packets whose turn may have come */
	WORK_RESPONSE = 16,  /* responses to READs, atomics and FLUSHes */
	WORK_CREDIT = 32,    /* perhaps: the QP counts credits, and may have to tell the peer of new ones */
	WORK_EVENT = 64,     /* perhaps: the QP's state or a shared receive queue may raise an event */
	WORK_SEND = 128,
	WORK_PROBE = 256,
	WORK_COMPLETION = 512,
	WORK_RESPONDER = WORK_ACK | WORK_NAK | WORK_REPEAT_ACK | WORK_SACK | WORK_RESPONSE | WORK_CREDIT,
	WORK_REQUESTER = WORK_SEND | WORK_PROBE,
	WORK_REPORTS = WORK_COMPLETION | WORK_EVENT,
	WORK_ALL = WORK_RESPONDER | WORK_REQUESTER | WORK_REPORTS
};

/*
 * The ACKs and NAKs that the responder owes. Each ACK covers all packets before it, so at most one ACK of each kind is
 * due.
 */
struct rc_ack {
	/*
	 * WORK_ACK: for epsn - 1; WORK_NAK: for nak_psn; WORK_REPEAT_ACK: for repeat_psn, the newest duplicate (S-8);
	 * WORK_SACK: as rc_kept says
	 */
	uint8_t due;
	uint8_t nak_syndrome;
	psn_t nak_psn;
	psn_t repeat_psn;
};

struct rc_responder {
	psn_t epsn;
	/* PSN of the last request, but epsn after a SEND or WRITE; an unasked ACK acknowledges the packet before it */
	psn_t newest_request;
	uint32_t msn;         /* 24 bits */
	uint8_t in_progress;  /* kind of the message under way, as enum wire_kind: SEND, WRITE, or RESERVED for none */
	bool nak_outstanding; /* a NAK is due or has left: new requests are dropped until ePSN comes (K-SEQ, R-3) */
	uint8_t min_rnr_timer;
	struct rc_ack ack;

	/* fields about the message under way */
	uint32_t message_bytes; /* SEND and WRITE: payload received so far */
	uint64_t write_va;      /* WRITE: where the next byte goes */
	uint32_t write_left;    /* WRITE: bytes of DMALen still to come */
	uint32_t write_rkey;
};

/* What the responder keeps behind a missing packet, and the SACKs that it owes the peer (S-21, S-22). */
struct rc_kept {
	uint64_t paths;     /* bit i: a request from port number i of the peer was kept or executed */
	psn_t newest;       /* the newest packet that has come behind the missing one */
	psn_t paid;         /* ePSN when the allowance was last refilled */
	psn_t probed_at;    /* ePSN when the last PROBE came */
	uint32_t paid_ms;   /* the time then; the clock wraps */
	uint16_t allowance; /* bytes of SACKs and ACKs that arrivals may still draw */
	uint32_t news;      /* a bit for each block of KEPT_BLOCK PSNs: the next SACKs tell of that block */
	uint16_t window;    /* how many packets may be in flight, either way; 0: the peer has not agreed to SACKs */
	uint16_t probe_id;
	uint16_t vain_probes; /* PROBEs since ePSN last moved */
	uint8_t repeated;     /* the last block that SACKs repeated besides that of ePSN; modulo KEPT_SPAN */
	bool probed : 1;      /* the next SACKs answer a PROBE of this id */
	bool refused : 1;     /* the packet at ePSN was refused: nothing behind it counts as received */
	bool elsewhere : 1;   /* the last SACKs repeated the block `repeated`, not only that of ePSN */
	bool chosen : 1;      /* the blocks that the next SACKs repeat have been added to `news` */
	/* another QP has taken the room of the kept packets: nothing is kept until the missing packet has come */
	bool gave_up : 1;
};

/* What SACKs have told the requester (T-7). */
struct rc_sack {
	psn_t newest;      /* the highest PSN that has come, if it is in flight */
	psn_t probe_end;   /* snd_nxt when the last PROBE left; snd_una, if the window was rewound since */
	uint16_t probe_id; /* id of the last PROBE; 0: none has left */
	bool probing;      /* the last PROBE is not answered */
};

/* The source ports of the peer's packets (ports.h). */
struct rc_peer_ports {
	uint16_t first; /* the usual one */
	uint16_t known; /* all ones: the ports are known; 0: packets are admitted from any port */
};

/* The same for packets from other ports than the usual one. */
struct rc_peer_step {
	uint16_t inverse; /* of the step between the ports, modulo their number */
};

struct rc_credit {
	/* written by the responder */
	bool said;         /* an AETH has left */
	uint8_t last_code; /* the credit code in the last AETH */

	/* written by the requester */
	bool known;               /* an AETH has come */
	bool probe;               /* one message may start without a credit */
	uint32_t msn;             /* MSN of the newest AETH, 24 bits */
	uint32_t allowed;         /* credits that the newest AETH granted */
	uint32_t receives_at_msn; /* messages, up to the MSN of the newest AETH, that needed a receive entry */
	uint32_t receives;        /* messages started that need a receive entry */
	uint32_t messages;        /* messages started */
	uint64_t probe_deadline_ns;
};

/* What the application is still to be told: errors, whose completions wait for their turn, and events. */
struct rc_report {
	bool send_failed; /* the request at `acked` failed; the requests behind it are flushed */
	bool recv_failed; /* the oldest receive was in use when the QP failed */
	bool drained;     /* SQ_DRAINED was raised since entering SQD */
	bool last_taken;  /* QP_LAST_WQE_REACHED was raised since entering ERR */
	uint32_t events;  /* bit n: enum uroce_event_type n is to be raised */
};

/* Why the QP is in ERR (E-4). */
struct rc_failure {
	struct uroce_qp_error error; /* status 0: it is not, or software or a CQ has moved it there */
};

struct rc_requester {
	uint32_t rd_atomic_outstanding; /* READs, atomics and the like that have started and are not answered */
	uint32_t since_ackreq;          /* packets sent since the last packet that asked for an ACK */
	uint8_t max_rd_atomic;
	bool read_restarted;    /* read_restart_end is valid */
	psn_t read_restart_end; /* READs, or parts of READs, were asked for again up to this PSN */
};

/* Responses that are missing while later ones have come. */
struct rc_gaps {
	bool has_holes;  /* some responses are missing: there is a board for holes */
	bool asks_again; /* the next transmit asks for missing responses, or sends packets again (T-7) */
};

/* How much may be in flight, and how much may leave at a time: written by the algorithms of cc.h. */
struct rc_cc {
	uint16_t window;      /* packets of SENDs and WRITEs that may be in flight; fewer after losses */
	uint8_t algorithm;    /* enum uroce_cc; DEFAULT: nobody has chosen, so it is FIXED */
	bool limited : 1;     /* the window is smaller than without losses */
	bool times_trips : 1; /* the algorithm wants to know how long round trips take */
	struct rc_burst burst;
};

/* The window for READs, and what the algorithm remembers: read only after a loss. */
struct rc_cc_past {
	uint32_t limit;   /* PSNs that may be in flight, including the PSNs of READ responses */
	psn_t lost_una;   /* snd_una at the last loss */
	psn_t grown_una;  /* snd_una when the window last changed */
	uint64_t lost_ns; /* time of the last loss; 0: there was none */
};

/* The rate at which frames may leave: written by pace.h. */
struct rc_pace {
	uint64_t next_ns; /* when the frames that have left so far should have left at this rate */
	uint64_t wake_ns; /* when to look at the rate again, while a frame waits */
	uint32_t mbps;
	/* bytes of the frames that this call of rc_qp_transmit() has added and that count against the rate */
	uint32_t bytes;
	uint16_t room;  /* how many such frames it may still add */
	bool asks_much; /* the responses that READs have asked for are ahead of the rate: requests wait for them */
	bool on;        /* there is a rate */
	bool holds;     /* something waits */
};

/* What cc_dcqcn.c remembers: alpha always, the rest while the QP is paced. */
struct rc_dcqcn {
	psn_t cut_at;         /* snd_nxt when a notification last lowered the rate; then never behind snd_una */
	uint32_t time_us;     /* when the current period of time began; each period ends with a higher rate */
	uint32_t alpha : 21;  /* how much of what we send gets marked: ALPHA_ONE is all of it */
	uint32_t frames : 11; /* how many frames have left without a notification about them, up to FRAMES_MOST */
	uint32_t target_mbps;
	uint32_t bytes;                 /* sent since a period of bytes began */
	uint32_t heard_us;              /* when the last notification came */
	uint16_t gap_us;                /* mean time between notifications; 0: none has come yet */
	uint8_t time_steps, byte_steps; /* periods since the last notification that began recovery anew */
};

/* What cc_delay.c remembers. */
struct rc_delay {
	uint32_t frames;        /* the window, in parts of a packet */
	uint32_t before;        /* the window before a time-out; 0: there was no time-out */
	uint32_t shortest_ns;   /* the shortest round trip; 0: none was measured */
	uint32_t last_ns;       /* the last round trip; 0: none was measured */
	uint32_t timed_packets; /* packets of the request that is being timed, or responses to the READ */
	psn_t cut_at;           /* snd_nxt when the window last shrank; snd_una once that is ahead */
	uint8_t calm;           /* short round trips in a row */
	uint8_t stuck;          /* long round trips in a row although the window is the least */
	bool starts;            /* the window doubles */
	bool full;              /* when the timed request left, at least half of the window was in flight */
};

/* The packets delivered behind `una` since `us` tell cc_dcqcn.c what the path carries. */
struct rc_carried {
	psn_t una;
	uint32_t us;
	uint32_t cut_us; /* when a notification last lowered the rate by alpha */
};

/* How many answers the copies of packets may still draw: an answer to a copy shows that the peer lives, and no more. */
struct rc_owed {
	uint32_t responses; /* responses to READs and the like, in packets */
	uint32_t acks;      /* ACKs, to SENDs, WRITEs and empty WRITEs */
	psn_t first;        /* snd_max when the first copy left */
	psn_t limit;        /* snd_max when the last copy left: answers to newer packets come after those to copies */
};

/* The reason for recent retransmissions: a loss shows that the path loses packets, a time-out need not. */
enum rc_lately { LATELY_NOTHING, LATELY_TIMEOUT, LATELY_LOSS };

struct rc_loss {
	uint64_t ack_deadline_ns; /* RC_NEVER: the timer does not run */
	uint64_t rnr_deadline_ns; /* RC_NEVER: there is no RNR wait */
	uint64_t timeout_ns;      /* 0: no ACK timer */
	uint64_t since_ns;        /* when snd_una was first sent, or became snd_una: the error record has it (E-4) */
	uint8_t retry_cnt, retries_left;
	uint8_t rnr_retry, rnr_left;
	uint8_t lately; /* enum rc_lately: reset when many packets have been sent since */

	/* the fields from here on, and flight_past, are read only after a loss: a cache line ends close behind here */
	uint8_t rnr_early;  /* RNR NAKs in a row that cannot answer the last copy of their packet */
	uint8_t silences;   /* time-outs at snd_una since a sign of life; the next sign gives back so many retries */
	uint8_t asked;      /* time-outs among `silences` that only asked the peer and sent nothing again (T-3) */
	uint32_t reprieves; /* how often a sign of life may still give retries back at this snd_una */
	psn_t rnr_psn;      /* PSN that the last RNR NAK named */
};

/* What each packet reads about packets that were sent again (flight.h). */
struct rc_flight {
	bool rewound : 1;   /* the window was rewound, and snd_una has not moved since */
	bool resent : 1;    /* the PSN that the last rewind went back to has left again */
	bool resending : 1; /* packets from win.snd_nxt on wait to be sent again; a probe is no resend */
	/* `owed` is not empty, or a map tells of packets in flight: both are looked at when snd_una moves */
	bool echoes : 1;
};

/* The last rewind, and what was sent again since: read only after a loss. */
struct rc_flight_past {
	uint64_t resent_ns; /* when rewind_psn left again */
	psn_t rewind_psn;   /* the PSN that the window went back to */
	psn_t rewind_limit; /* snd_max when the window was rewound: packets before it may have left twice */
	/* the peer has received everything before this PSN, as known at the rewind or shown since */
	psn_t heard;
	psn_t resent_end; /* end of what was sent again since the rewind */
	psn_t moved_end;  /* if `moved`: snd_max when the path last changed */
	psn_t flight_end; /* end of the packets that left before the rewind and may still be on their way */
	bool repeats;     /* rewind_limit is ahead of snd_una */
	bool moved;       /* responses to packets before moved_end may come over the old path, where they are dropped */
	bool after_rnr;   /* an RNR NAK has rewound the window: nothing was lost */
	bool timed_out;   /* the ACK timer has rewound the window: no response has shown a loss */
	bool again;       /* the window had been rewound to the same PSN before */
	bool refusable; /* a request that needs a receive was sent again while its first copy may still be on its way */
	struct rc_owed owed;
};

struct rc_anomaly {
	uint32_t since_ms;  /* start of the second in which `count` counts; the clock wraps */
	uint32_t count;     /* packets since since_ms that no honest peer sends */
	uint32_t total;     /* the same since the event was last raised, less those that are forgotten */
	uint32_t forgot_ms; /* when one of them was last forgotten; the clock wraps */
};

/* Why a packet is sent only to get an answer (ask.h). The first four waits end when a packet that asks leaves. */
enum rc_ask_for {
	ASK_NOTHING,
	/* nothing has been in flight for the interval of the keep-alive, or a new path is to be shown to the peer */
	ASK_IDLE,
	ASK_ALIVE,   /* only waited for: such a packet has left, and its answer is to come */
	ASK_ACKREQ,  /* no packet in flight has asked for an ACK */
	ASK_SILENCE, /* a response is owed, and nothing comes */
	ASK_NAK,     /* only waited for: an empty WRITE was answered, and the NAK that says why may come */
	ASK_RETRY,   /* only due: the ACK timer has expired for a long READ; this probe has spent a retry */
	/* only due, with or without one of the others: our lcore was away, which the next empty WRITE reports */
	ASK_REPORT = 128
};

struct rc_ask {
	uint64_t deadline_ns; /* RC_NEVER: nothing is waited for */
	uint8_t waits;        /* enum rc_ask_for: what the deadline is for */
	uint8_t due;          /* enum rc_ask_for: what leaves with the next transmit */
	bool probes : 1;      /* the QP probes after a silence */
	bool keeps_alive : 1; /* keepalive.interval_ms is not 0 */
	bool beside;          /* a packet that belongs to no request has left, and its ACK may come */
	/* the n-th ACK of PSN snd_una - 1 from now on is the answer to an empty WRITE; 0: none is */
	uint8_t behind_una;
	uint8_t unsure; /* ACKs of the packet before snd_una that may answer earlier copies */
	uint8_t tries;  /* how often the next wait is doubled; a measured round trip sets this to 0 */
};

/* What ask.h seldom reads. */
struct rc_keepalive {
	uint32_t interval_ms; /* 0: off */
	uint32_t away_ms; /* how long our lcore was away, which the next empty WRITE reports; 0: nothing to report */
};

#define QP_MR_CACHE_ENTRIES 4u /* a power of two */

/* Remembers which slot a key leads to. The slot's own key is compared at each use. */
struct rc_mr_cache {
	uint32_t key;
	uint32_t slot; /* its index */
};

/*
 * The parts are ordered by cache lines, because fetching lines costs most when there are many QPs. In turn: what every
 * packet reads; what the responder's packets read; keys and reports; the send window; what the requester's packets
 * read; the receive queue. rc_qp_prefetch_...() fetch just these lines. Behind them lies what is seldom read.
 */
struct rc_qp {
	uint8_t state; /* enum uroce_qp_state */
	uint8_t mtu_shift;
	uint16_t pkey;
	uint16_t mtu_bytes;
	bool established : 1;      /* COMM_EST was raised */
	bool imprecise_errors : 1; /* report a local fault at once, on the oldest request (E-3) */
	bool flow_control : 1;     /* end-to-end credits were agreed upon (F-1) */
	bool shares_receives : 1;  /* has a shared receive queue: recvq.srq */
	bool lost_memory : 1;      /* a copy has faulted; written by memory_fault.c */
	/* slow path: the QP counts credits, is paced, takes turns or has several paths */
	bool seldom : 1;
	/* WORK_CREDIT and WORK_EVENT, as far as state and attributes ask for them: see qp_note_attributes() */
	uint8_t standing_work;
	struct rc_peer_ports peer_ports;
	uint32_t qpn;
	uint32_t pd;
	uint32_t enabled; /* bit n: the peer may send requests of opcode n; written by the responder */
	/* the first 8 bytes of all packets of the QP, without opcode and pad; written by qp_note_bth() */
	uint64_t bth;
	/* a summary of the path in use: its port, and path_ipv4(), or 0 if the path has a VLAN */
	const struct uroce_device *device;
	uint64_t ipv4;
	struct rc_migration migration;
	struct uroce_path path; /* written by qp_take_path() only */

	_Alignas(64) struct rc_responder responder;
	struct rc_replay replay; /* 16 bytes here */
	struct rc_credit credit;
	struct rc_burst response_burst; /* how many READ responses may leave at a time */
	/* the union is read only by functions of cc.h, `pace` only if `seldom` is set */
	union {
		struct rc_dcqcn dcqcn;
		struct rc_delay delay;
	};
	struct rc_pace pace;

	_Alignas(64) struct rc_mr_cache mr_cache[QP_MR_CACHE_ENTRIES];
	struct rc_mr_table *mrs;
	struct rc_report report;
	void *recv_cq;
	uint64_t context;

	struct rc_sendwin win;

	_Alignas(64) struct rc_requester requester;
	struct rc_cc cc;
	uint32_t last_aeth;
	uint8_t checked_needs; /* enum rc_send_needs: a request with one of these must be checked before it begins */
	struct rc_gaps gaps;
	struct rc_flight flight;
	void *send_cq;
	struct rc_ask ask;
	struct rc_rtt rtt;
	struct rc_loss loss; /* a cache line ends inside: the rest is read only after a loss */
	uint32_t dest_qpn;
	uint32_t access;       /* enum uroce_access: what the peer may do */
	struct rc_recvq recvq; /* a cache line ends inside: the application's part of the queue begins the next line */

	/* ---- what is seldom read; the application writes to the line in which this begins ---- */
	struct rc_failure failure;
	uint64_t counters[CNT_QP_COUNTERS];
	struct rc_flight_past flight_past;
	struct rc_cc_past cc_past;
	struct rc_borrowed borrowed;
	struct rc_kept kept;
	struct rc_sack sack;
	struct rc_alternate alternate;
	struct rc_anomaly anomaly;
	struct rc_keepalive keepalive;
	uint64_t asked_ns;  /* when all responses to READs should have come at the rate; written by pace.h */
	uint32_t line_mbps; /* rate of the link; 0: the link does not tell */
	struct rc_carried carried;
	psn_t sq_psn, rq_psn; /* as set by rc_qp_modify() */
	uint16_t max_mtu_bytes;
	struct rc_peer_step peer_step;
	uint8_t timeout, max_dest_rd_atomic;
	uint8_t read_repair; /* enum uroce_read_repair */
	bool requests_first; /* requests have waited while responses left: in the next call responses wait */
	/* written by duplicate.h: the last report of the peer that its lcore was away */
	uint32_t peer_away_ms; /* 0: no report */
	uint64_t peer_away_at_ns;
};

static_assert(offsetof(struct rc_qp, responder) == 128 &&
		      offsetof(struct rc_qp, replay) + offsetof(struct rc_replay, bucket_mask) <=
			      offsetof(struct rc_qp, responder) + 64 &&
		      offsetof(struct rc_qp, win) == offsetof(struct rc_qp, mr_cache) + 64 &&
		      offsetof(struct rc_qp, requester) % 64 == 0 &&
		      offsetof(struct rc_qp, loss) + offsetof(struct rc_loss, rnr_early) <=
			      offsetof(struct rc_qp, requester) + 128 &&
		      offsetof(struct rc_qp, recvq) % 64 == RECVQ_AT,
	      "lines of their own");
static_assert(offsetof(struct rc_qp, failure) <= LIMIT_QP_HOT_BYTES,
	      "the hot part of a QP must not take more cache lines");
static_assert(sizeof(struct rc_qp) <= LIMIT_QP_BYTES, "an idle QP must not cost more");

/* How far psn lies behind the oldest packet that is not acknowledged. */
static inline uint32_t qp_ahead(const struct rc_qp *qp, psn_t psn)
{
	return psn_distance(psn, qp->win.snd_una);
}

/* The board that the QP has for this use; NULL: none. */
static inline struct rc_board *qp_board(const struct rc_qp *qp, enum rc_board_use use)
{
	return qp->borrowed.by[use];
}

/*
 * Computes `seldom`, checked_needs and standing_work anew, which each packet reads. To be called when the state, flow
 * control, pacing, turns or paths have changed.
 */
static inline void qp_note_attributes(struct rc_qp *qp)
{
	/* A QP that spreads its packets chooses the path of its ACKs in rc_qp_transmit(). */
	bool watches_events = qp->state >= UROCE_QPS_SQD || qp->shares_receives || qp->borrowed.by[BOARD_SPREAD];

	qp->seldom = qp->flow_control || qp->pace.on || qp->requests_first || qp->borrowed.by[BOARD_SPREAD];
	qp->checked_needs = (uint8_t)(NEEDS_CHECKS | (qp->flow_control ? NEEDS_RECEIVE : 0) |
				      (qp->state != UROCE_QPS_RTS ? NEEDS_RTS : 0));
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

/*
 * P_Key, destination or migration state has changed: makes qp->bth anew. MigReq is set except in REARM and ARMED.
 */
static inline void qp_note_bth(struct rc_qp *qp)
{
	uint32_t flags = qp->migration.state == UROCE_PATH_MIGRATED ? WIRE_MIGREQ : 0;

	qp->bth = packet_bth_of(0, flags, qp->pkey, qp->dest_qpn);
}

/* Makes this path the one in use. */
static inline void qp_take_path(struct rc_qp *qp, const struct uroce_path *path)
{
	qp->path = *path;
	qp->ipv4 = path->vlan_id ? 0 : path_ipv4(path);
	qp->device = path->device;
}

/* Forgets the slots of all keys. Key 0 is never valid, so entry 0 must not hold it. */
static inline void qp_clear_mr_cache(struct rc_qp *qp)
{
	qp->mr_cache[0].key = 1u << 8; /* a key that entry 0 is never used for */
}

/*
 * A bit of qp->pd that no protection domain has. It makes every check for the QP fail, at no cost for the checks of
 * other QPs.
 */
#define QP_PD_LOST (1u << 31)

/* rc_mr_check() on behalf of the QP, which remembers the slots of the few keys that it uses. */
static inline enum rc_mr_verdict qp_check_memory(struct rc_qp *qp, uint32_t key, uint64_t va, uint64_t bytes,
						 uint32_t access, uint8_t **host)
{
	struct rc_mr_cache *cached = &qp->mr_cache[key >> 8 & (QP_MR_CACHE_ENTRIES - 1)];

	if (__builtin_expect(cached->key != key, 0)) {
		const struct rc_mr_entry *slot = rc_mr_slot(qp->mrs, key);

		if (slot == NULL)
			return MR_BAD_KEY;
		cached->key = key;
		cached->slot = (uint32_t)(slot - qp->mrs->entries);
	}
	return rc_mr_check_slot(&qp->mrs->entries[cached->slot], key, qp->pd, qp->qpn, va, bytes, access, host);
}

/* How many packets so many bytes take, and how many PSNs a READ of them owns: at least one (P-3). */
static inline uint32_t qp_packets(const struct rc_qp *qp, uint64_t bytes)
{
	return bytes == 0 ? 1 : (uint32_t)((bytes + qp->mtu_bytes - 1) >> qp->mtu_shift);
}

/* How many PSNs a request owns. */
static inline uint32_t qp_psns(const struct rc_qp *qp, const struct rc_send_wqe *wqe)
{
	if (wqe->length_bytes <= qp->mtu_bytes || !rc_ops[wqe->opcode].is_cut)
		return 1;
	return qp_packets(qp, wqe->length_bytes);
}

/* Has the QP requests to send, or requests that are not answered? */
static inline bool rc_qp_has_requests(struct rc_qp *qp)
{
	sendwin_take_posted(&qp->win);
	return (qp->state == UROCE_QPS_RTS || qp->state == UROCE_QPS_SQD) && qp->win.acked != qp->win.tail;
}

#endif
