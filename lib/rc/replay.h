/* replay.h - accepted READs and atomics: those still to be answered, and the results for duplicates (S-9 to S-11) */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A ring of at most `depth` entries in PSN order, replaced first-in first-out; a hash on the first PSN finds an entry
 * in constant time, a binary search by the range that it owns finds a READ from within. Order is by the distance from
 * ePSN: a READ may own half of all PSNs, and its first one then lies farther behind than the half window reaches.
 * Entries to be answered stand in a queue through the entries themselves, in request order (S-14) and each at most
 * once: a duplicate of one that stands there restarts it in its place, one of an earlier request goes before a response
 * that is under way.
 */
#ifndef RC_REPLAY_H
#define RC_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "rc/psn.h"

#define REPLAY_NONE UINT16_MAX

/* Responses that follow each other. */
struct rc_stretch {
	psn_t begin_psn, end_psn;
	psn_t send_psn;     /* what goes out next */
	uint32_t end_bytes; /* READ: where the stretch stops, in bytes from its va */
};

struct rc_replay_entry {
	psn_t first_psn;
	uint32_t psn_count;
	uint64_t va;
	uint32_t rkey;
	uint32_t length_bytes;
	uint8_t opcode; /* of the request: enum wire_opcode */
	bool queued;    /* stands in the queue */
	bool repeated;  /* answered once before: this response is for a duplicate */
	uint8_t flush;  /* FLUSH: selectivity and type, as FETH has them */
	uint16_t queue_next;
	uint16_t hash_next;
	struct rc_stretch stretch;  /* what is sent of it: a duplicate may ask for less than all */
	uint32_t msn;               /* as it was when accepted (S-13) */
	psn_t unsent_psn;           /* the first response that has never left (K-ACC) */
	uint64_t swap_add, compare; /* atomics: operands, to recognise the duplicate */
	uint64_t original;          /* atomics: the result. FLUSH: bytes done so far */
};

struct rc_replay {
	uint16_t oldest, used; /* ring */
	uint16_t queue_head, queue_tail;
	uint16_t unfinished; /* queued and never answered (S-12) */
	uint16_t depth;      /* max_dest_rd_atomic in force, at most limit */
	uint16_t limit;      /* what was allocated */
	bool has_parts;      /* parts of READs are owed once more, in front of the queue (parts.h) */
	/* the rest is for those that have READs and the like */
	uint32_t bucket_mask;
	psn_t epsn; /* as last told: where the order is measured from */
	struct rc_replay_entry
		*entries; /* `limit` of them, and behind them the buckets: that rounded up to a power of two */
};

/* How many bytes the entries and buckets of so many take. */
uint64_t rc_replay_bytes(uint32_t limit);
void rc_replay_place(struct rc_replay *replay, void *memory, uint32_t limit);
void rc_replay_reset(struct rc_replay *replay, uint32_t depth);

/* Another depth, at most limit; what is not yet answered stays. */
void rc_replay_set_depth(struct rc_replay *replay, uint32_t depth);

/*
 * A new entry for the request at psn, the oldest one making room. The caller fills the rest and queues it. Not to
 * be called while unfinished == depth.
 */
struct rc_replay_entry *rc_replay_insert(struct rc_replay *replay, psn_t psn, uint32_t psn_count);

/*
 * Forgets entries whose last PSN is more than half the PSN space ago: nothing of them can be asked for any more (P-6),
 * nor is anything owed to a peer that keeps to its window (P-4). To be called whenever ePSN has moved.
 */
void rc_replay_expire(struct rc_replay *replay, psn_t epsn);

/* The entry that begins at psn; the one that owns psn; NULL if there is none. */
struct rc_replay_entry *rc_replay_find(const struct rc_replay *replay, psn_t psn);
struct rc_replay_entry *rc_replay_find_owner(const struct rc_replay *replay, psn_t psn);

/* The first entry that begins after psn, or NULL: a repeated ACK must not reach it (S-8). */
struct rc_replay_entry *rc_replay_find_after(const struct rc_replay *replay, psn_t psn);

/*
 * To be answered with `count` packets from begin on, up to end_bytes from va; an entry already in the queue starts
 * again in its place.
 */
void rc_replay_queue(struct rc_replay *replay, struct rc_replay_entry *entry, psn_t begin, uint32_t count,
		     uint32_t end_bytes);

/* Parts are owed in front of what stands in the queue, or none are any more. */
static inline void replay_note_parts(struct rc_replay *replay, bool has_parts)
{
	replay->has_parts = has_parts;
}

/* The entry that is responded to next, or NULL. */
struct rc_replay_entry *rc_replay_head(const struct rc_replay *replay);

/* The head's response has left, or is given up. */
void rc_replay_pop(struct rc_replay *replay);

#endif
