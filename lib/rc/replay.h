/* replay.h - accepted READs and atomics: requests still to be answered, and results for duplicates (S-9 to S-11) */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A ring of at most `depth` entries in PSN order, replaced first-in first-out. A hash on the first PSN finds an entry
 * in constant time; a binary search by the range of PSNs finds the READ that owns a PSN. The order is that of the
 * distance from ePSN, not of the half window: a READ may own half of all PSNs, and its first PSN may then lie farther
 * behind ePSN than the half window reaches.
 *
 * Entries to be answered are linked to a queue, in request order (S-14) and each at most once. A duplicate of an entry
 * in the queue starts that entry's response again, and the entry keeps its place; a duplicate of an earlier request is
 * answered before a response that is under way.
 */
#ifndef RC_REPLAY_H
#define RC_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "rc/psn.h"

#define REPLAY_NONE UINT16_MAX

/* Consecutive responses to one READ. */
struct rc_stretch {
	psn_t begin_psn, end_psn;
	psn_t send_psn;     /* the response that is sent next */
	uint32_t end_bytes; /* READ: end of the stretch, in bytes from the READ's va */
};

struct rc_replay_entry {
	psn_t first_psn;
	uint32_t psn_count;
	uint64_t va;
	uint32_t rkey;
	uint32_t length_bytes;
	uint8_t opcode; /* opcode of the request, as enum wire_opcode */
	bool queued;    /* in the queue */
	bool repeated;  /* the request was answered before: this response is for a duplicate */
	uint8_t flush;  /* FLUSH: selectivity and type, as in the FETH */
	uint16_t queue_next;
	uint16_t hash_next;
	struct rc_stretch stretch;  /* the responses to send; a duplicate may ask for a part of the READ */
	uint32_t msn;               /* MSN when the request was accepted (S-13) */
	psn_t unsent_psn;           /* PSN of the first response that has never left (K-ACC) */
	uint64_t swap_add, compare; /* atomics: the operands, compared with a duplicate's operands */
	uint64_t original;          /* atomics: the original value. FLUSH: bytes done so far */
};

struct rc_replay {
	uint16_t oldest, used; /* index of the oldest entry in the ring, and number of entries */
	uint16_t queue_head, queue_tail;
	uint16_t unfinished; /* entries in the queue that were never answered (S-12) */
	uint16_t depth;      /* max_dest_rd_atomic in force, at most limit */
	uint16_t limit;      /* entries allocated */
	bool has_parts;      /* parts of READs are owed once more and go before the queue (duplicate.h) */
	/* the fields below are read only for READs, atomics and the like */
	uint32_t bucket_mask;
	psn_t epsn; /* the ePSN that this cache was last told: entries are ordered by their distance from it */
	struct rc_replay_entry
		*entries; /* `limit` entries; behind them the buckets: `limit` of them, rounded up to a power of two */
};

/* How many bytes the entries and buckets for this limit take. */
uint64_t rc_replay_bytes(uint32_t limit);
void rc_replay_place(struct rc_replay *replay, void *memory, uint32_t limit);
void rc_replay_reset(struct rc_replay *replay, uint32_t depth);

/* Sets another depth, at most limit; entries that are not yet answered stay. */
void rc_replay_set_depth(struct rc_replay *replay, uint32_t depth);

/*
 * Makes an entry for the request at psn, evicting the oldest if the cache is full. The caller fills in the other fields
 * and queues it. Not to be called while unfinished == depth.
 */
struct rc_replay_entry *rc_replay_insert(struct rc_replay *replay, psn_t psn, uint32_t psn_count);

/*
 * Forgets entries whose last PSN lies more than half of all PSNs back: no duplicate can ask for them any more (P-6),
 * and a peer that keeps to its window does not wait for them (P-4). To be called whenever ePSN has moved.
 */
void rc_replay_expire(struct rc_replay *replay, psn_t epsn);

/*
 * rc_replay_find(): the entry that begins at psn; rc_replay_find_owner(): the entry that owns psn. Both return NULL if
 * there is none.
 */
struct rc_replay_entry *rc_replay_find(const struct rc_replay *replay, psn_t psn);
struct rc_replay_entry *rc_replay_find_owner(const struct rc_replay *replay, psn_t psn);

/* The first entry that begins after psn, or NULL. The ACK of a duplicate must not acknowledge it (S-8). */
struct rc_replay_entry *rc_replay_find_after(const struct rc_replay *replay, psn_t psn);

/*
 * Queues an entry, to be answered with `count` packets from begin on, up to end_bytes from its va. An entry that is in
 * the queue keeps its place and starts again.
 */
void rc_replay_queue(struct rc_replay *replay, struct rc_replay_entry *entry, psn_t begin, uint32_t count,
		     uint32_t end_bytes);

/* has_parts: whether parts of READs are owed once more, and go before the queue. */
static inline void replay_note_parts(struct rc_replay *replay, bool has_parts)
{
	replay->has_parts = has_parts;
}

/* The entry that is answered next, or NULL. */
struct rc_replay_entry *rc_replay_head(const struct rc_replay *replay);

/* The head of the queue was answered, or is given up. */
void rc_replay_pop(struct rc_replay *replay);

#endif
