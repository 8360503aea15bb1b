/* timewait.h - ids in time-wait: not used again yet, and a late REQ with them makes no connection (C-16) */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * No time-wait ends early, whatever a peer does: room for a connection's time-wait is reserved when the connection
 * begins, and without room no connection begins. Each address has a share of the room for its passive connections, from
 * their beginning to the end of their time-wait. The last eighth of the room is left to our own connections, each of
 * which begins if there is room for one.
 */
#ifndef CM_TIMEWAIT_H
#define CM_TIMEWAIT_H

#include "cm/deadlines.h"
#include "share/share.h"

/* The holder of our own connections. Passive connections have the counter of their peer's address, see share_peer(). */
#define CM_TIMEWAIT_OWN UINT16_MAX

struct cm_timewait_entry {
	uint32_t local_id, remote_id;
	uint32_t next_id; /* a link in the chain or in the free list */
	/* a peer may give all of its connections one id, and then they are one chain: links both ways */
	uint32_t next_peer, before_peer;
	uint16_t holder;
	uint8_t peer[16];
};

struct cm_timewait {
	struct cm_timewait_entry *entries;
	uint32_t *by_id, *by_peer; /* heads of the chains */
	uint32_t free;
	struct cm_deadlines until;
	struct share_peers room; /* of connections in use and of entries */
	uint8_t key[16];
};

uint64_t cm_timewait_bytes(uint32_t room);
/* Takes the memory for the entries from the front of *memory, and moves *memory behind it. */
void cm_timewait_init(struct cm_timewait *timewait, uint8_t **memory, uint32_t room, const uint8_t key[16]);
/* May the holder begin one more connection (C-22)? */
bool cm_timewait_has_room(const struct cm_timewait *timewait, uint16_t holder);
/* Reserves room for the time-wait of a connection of the holder. There must be room. */
void cm_timewait_reserve(struct cm_timewait *timewait, uint16_t holder);
/* The connection ends without a time-wait. */
void cm_timewait_release(struct cm_timewait *timewait, uint16_t holder);
/* Puts the ids of a connection with that peer into time-wait, in the room that was reserved for its holder. */
void cm_timewait_begin(struct cm_timewait *timewait, const uint8_t peer[16], uint16_t holder, uint32_t local_id,
		       uint32_t remote_id, uint64_t until_ns);
/* Ends the time-waits whose time has come. */
void cm_timewait_wake(struct cm_timewait *timewait, uint64_t now_ns);
bool cm_timewait_has_id(const struct cm_timewait *timewait, uint32_t local_id);
bool cm_timewait_has_peer(const struct cm_timewait *timewait, const uint8_t peer[16], uint32_t remote_id);

#endif
