/* keys.h - keys for SENDs with invalidate: the end that receives offers them, the end that sends takes them */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each key is of a memory window of type 2, which opens the counter of the flow's area. Behind the counter, in the area
 * of each end, its peer writes struct keys_words:
 *   1. an end that wants to send a SEND with invalidate and has no key writes 1 to the peer's `wish`
 *   2. the peer binds its windows, and behind each bind writes the window's key to this end's `offered`
 *   3. a SEND takes a key from `offered`; when the SEND arrives, the peer binds the window to its next key, and writes
 *      that key to `offered`
 * The lcore of a flow places its peer's WRITEs and posts its SENDs, so one thread does all the work of an end.
 */
#ifndef APP_TESTPMD_KEYS_H
#define APP_TESTPMD_KEYS_H

#include <stdbool.h>
#include <stdint.h>

#include <uroce/uroce.h>

#define KEYS_WINDOWS 4u
#define KEYS_PORT_MRS (1024u * KEYS_WINDOWS) /* windows that all queue pairs of a port have together, at most */
#define KEYS_OFFER_WRS 2u                    /* to offer a key: a bind and a WRITE */
#define KEYS_INLINE_BYTES 4u

/* What the peer writes, behind a flow's counter. */
struct keys_words {
	uint32_t wish;
	uint32_t offered[KEYS_WINDOWS]; /* 0: none */
};

/* The part of a flow. */
struct keys {
	struct uroce_mw *windows[KEYS_WINDOWS];
	bool offered[KEYS_WINDOWS]; /* the key of the window was sent to the peer, or is about to be */
	uint32_t under_way;         /* WRITEs that have not completed */
	bool wished;
};

/* Where the words of a flow lie at both ends, and what its windows open. */
struct keys_place {
	struct uroce_qp *qp;
	struct keys_words *ours;
	uint64_t theirs; /* address at the peer */
	uint32_t rkey;   /* for that address */
	struct uroce_mr *mr;
	uint64_t open_addr; /* of 8 bytes that the windows open */
	uint64_t wr_id;     /* of what is posted */
};

/* Entries of a send queue for binds and WRITEs of keys. */
#define KEYS_WRS (KEYS_WINDOWS * KEYS_OFFER_WRS + 1)

/* Returns 0, or a negative errno: then keys_close() frees what there is. */
int keys_open(struct keys *keys, struct uroce_pd *pd);
/* The queue pair may not exist any more. */
void keys_close(struct keys *keys);

/* Offers every key that the peer has not, if it has wished for keys. */
void keys_offer(struct keys *keys, const struct keys_place *place);
/* Takes a key for a SEND. Returns 0 if there is none yet; the peer then knows that a key is wanted. */
uint32_t keys_take(struct keys *keys, const struct keys_place *place);
/* A work request with place.wr_id has completed. */
void keys_completed(struct keys *keys, const struct uroce_wc *wc);
/* A SEND has made a key invalid. */
void keys_invalidated(struct keys *keys, uint32_t rkey);

#endif
