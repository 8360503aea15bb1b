/* board.h - memory that a QP has only while it repairs a loss, from a pool of its lcore */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Only a QP that repairs a loss needs this memory; inside of struct rc_qp it would be wasted on each idle QP. So a
 * QP borrows a board for each use (enum rc_board_use), and returns it when it has no use for it any more. The boards
 * are shared between the peers (share.h). A QP that gets no board sends everything from the loss on again.
 */
#ifndef RC_BOARD_H
#define RC_BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/limits.h"
#include "rc/psn.h"
#include "rc/qp_state.h"
#include "rc/replay.h"
#include "share/share.h"

/* A range of PSNs of one request whose responses are missing while later ones have come: see holes.h. */
struct rc_hole {
	psn_t psn;
	uint32_t count;
	uint32_t asked_us; /* if `asked`: when the hole was last asked for again; the clock wraps */
	uint16_t slot;     /* the low bits of the request's slot */
	bool asked;
	uint8_t tries; /* how often the hole was asked for; each time doubles the next wait */
};

struct rc_holes {
	psn_t end; /* no response at this PSN or behind it has come */
	uint32_t count;
	uint32_t clear;                    /* slots before this one are known to pass is_clear() */
	uint64_t look_ns;                  /* when the next hole that was asked for has to be asked for again */
	struct rc_hole holes[LIMIT_HOLES]; /* holes in the order of their PSNs; the first one begins at snd_una */
};

/* A ring of the parts of READs that the responder owes once more: see duplicate.h. */
struct rc_parts {
	uint32_t first, count;
	struct rc_stretch parts[LIMIT_HOLES];
};

/* Packets that have come behind a missing one, by their PSN modulo KEPT_SPAN: see kept.h. */
struct rc_kept_map {
	struct rc_qp *qp;
	struct rc_board *older, *newer; /* of all boards with such a map */
	uint64_t moved_ns;              /* when a missing packet last came */
	psn_t base;                     /* no packet before it is kept */
	uint32_t count;
	uint16_t packets[KEPT_SPAN]; /* index in the store, plus 1; 0: not kept */
};

/* The states of packets in flight, by their PSN modulo KEPT_SPAN: see scoreboard.h. */
struct rc_sack_map {
	psn_t base; /* something is known only of packets from this PSN up to `end` */
	psn_t end;
	uint32_t lost;   /* packets that are to be sent again */
	psn_t lost_from; /* while `lost` is not 0: no lost packet lies before this PSN */
	/* how many packets the peer has given up after it had them; that they come again is no news */
	uint32_t given_up;
	bool news;           /* something has come since the last PROBE */
	uint8_t idle_probes; /* PROBEs in a row whose answers told nothing new */
	uint16_t states[KEPT_SPAN];
};

/* One path of a QP that spreads its packets. */
struct rc_spread_path {
	uint16_t port;     /* UDP source port of its packets */
	uint8_t missed;    /* packets lost in a row, between which nothing has come over the path */
	uint8_t state : 2; /* enum rc_spread_state */
	uint8_t tries : 6; /* BAD: PROBEs without an answer; each doubles the wait for the next */
	psn_t newest;      /* the highest PSN that has come over the path, if its packet is in flight */
	psn_t probe_end;   /* snd_nxt when the last PROBE left; snd_una, if the window was rewound since */
	uint32_t probe;    /* number of the last PROBE over the path, counted from 1 over all paths; 0: none */
	uint64_t retry_ns; /* BAD: when the next PROBE leaves */
};

/* When a PSN was the next one to be sent. */
struct rc_spread_mark {
	uint64_t at_ns;
	psn_t psn;
};

#define SPREAD_MARKS 8u

/*
 * The paths of a QP that spreads its packets, and which path each packet took: see spread.h. What SACKs have told of
 * them is written by scoreboard.c: newest, seen, quiet_end, aged, patient..., suspect... and `asked`.
 */
struct rc_spread {
	uint8_t count, turns, next; /* number of paths; how many paths are in turn[]; index of the next one in turn[] */
	uint8_t ack_path;           /* of ACKs and SACKs */
	uint8_t answer_path;        /* the path of the PROBE that was answered last */
	uint8_t mark;               /* index of the newest mark */
	uint8_t skipped;            /* 1: some paths are in SPREAD_SKIP */
	uint8_t sack_path;          /* the path of SACKs that answer one of several PROBEs */
	uint8_t alone_tries;        /* how often in a row the peer has kept nothing; each doubles the next wait */
	bool asks_all;              /* the peer has sent a PROBE though nothing was missing */
	bool seen_is_known;
	psn_t seen;        /* how much the peer has received, as its newest SACK has told */
	psn_t quiet_end;   /* snd_max when the peer was last heard */
	psn_t patient_end; /* everything before this PSN had been silent for long when a timer last sent PROBEs */
	/* all packets before this PSN left long before a packet that has come; snd_una if no packet in flight did */
	psn_t aged;
	psn_t suspect;         /* the oldest packet that has not come although packets behind it have */
	uint32_t probes;       /* counts PROBEs */
	uint32_t patient_from; /* number of the first PROBE that left when patient_end was set, or later */
	uint32_t seen_after;   /* how many PROBEs had left when `seen` became known */
	bool patient;          /* patient_end is valid */
	bool suspects;         /* suspect and suspect_ns are valid */
	bool asked;            /* a PROBE has asked about `suspect` */
	uint64_t suspect_ns;   /* since when it is known that other packets have overtaken `suspect` */
	uint64_t now_ns;       /* of the last call */
	uint64_t alone_ns; /* until then all packets take one path, because the peer keeps nothing; 0: they do not */
	psn_t alone_end;   /* snd_max when that began, and the whole window was sent again */
	uint32_t alone_packets; /* how many packets were in flight then */
	uint64_t waits;         /* bit i: the PROBE in waiting[i], which the peer has sent, is still to be answered */
	struct rc_spread_mark marks[SPREAD_MARKS];
	struct rc_spread_path paths[SPREAD_MOST];
	uint16_t waiting[SPREAD_MOST];
	uint8_t turn[SPREAD_MOST];
	uint8_t path_of[KEPT_SPAN]; /* path of a packet's last copy, by PSN; SPREAD_LOST is set if that copy was lost */
};

struct rc_board {
	union {
		struct rc_board *next; /* while the pool has the board */
		uint16_t peer;         /* while a QP has it: whose share it counts against */
	};
	union {
		struct rc_holes holes;
		struct rc_parts parts;
		struct rc_kept_map kept;
		struct rc_sack_map sack;
		struct rc_spread spread;
	};
};

static_assert(sizeof(struct rc_spread) <= sizeof(struct rc_sack_map) + 64,
	      "struct rc_spread must not enlarge struct rc_board");

/*
 * A list of the boards that QPs have returned, and those that were never lent, whose pages cost no memory yet: from
 * `next` on.
 */
struct rc_boards {
	struct rc_board *free, *next;
	struct rc_store *store;    /* where QPs keep requests that come before their turn; NULL: they keep none */
	uint8_t key[16];           /* by which peers are counted: random */
	struct share_peers boards; /* how many each peer has */
};

/* Makes a pool that lends these `count` boards of the caller. */
static inline void boards_init(struct rc_boards *pool, struct rc_board *boards, uint32_t count)
{
	*pool = (struct rc_boards){ .next = boards };
	share_peers_init(&pool->boards, count);
}

/* From now on the QP borrows from this pool; NULL: from none. It has no board. */
void rc_board_set_pool(struct rc_qp *qp, struct rc_boards *pool);

/* The counter of the QP's peer. Only for a QP with a pool. */
uint16_t rc_board_peer(const struct rc_qp *qp);

/* May the QP borrow a board for this use? */
bool rc_board_may_borrow(const struct rc_qp *qp, enum rc_board_use use);

/* The same once a QP of the peer `giver` has returned a board. */
bool rc_board_may_borrow_after(const struct rc_qp *qp, enum rc_board_use use, uint16_t giver);

/* Borrows a board, whose contents are undefined, for a use that the QP has none for. NULL: the QP may not. */
struct rc_board *rc_board_borrow(struct rc_qp *qp, enum rc_board_use use);

/* The same for a QP that may: rc_board_may_borrow...() has said so. */
struct rc_board *rc_board_take(struct rc_qp *qp, enum rc_board_use use);

/* Returns the board for this use, if the QP has one. */
void rc_board_return(struct rc_qp *qp, enum rc_board_use use);

#endif
