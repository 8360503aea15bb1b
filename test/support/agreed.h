/* agreed.h - pairs whose ends have agreed to SACKs, for the scenarios of kept.c and sack.c */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_AGREED_H
#define TEST_AGREED_H

#include <criterion/criterion.h>
#include <stdlib.h>

#include "pair.h"
#include "rc/kept.h"
#include "rc/loss.h"
#include "rc/ports.h"
#include "rc/spread.h"

#define MTU 256u
#define STORED 1024u /* packets that an end may keep; a QP at most half of them */

/* Which packets of A are lost: a bit each, by their number. */
static inline int lose_of_a(struct pair *pair, enum side_name from, uint32_t number, const struct wire_packet *packet)
{
	const uint64_t *lost = pair->user;

	(void)packet;
	return from == A && number < 64 && (*lost >> number & 1) ? 0 : 1;
}

/* Both ends have agreed to SACKs, and each has a store of its own. */
static inline struct pair *open_with(struct pair_options options)
{
	struct pair *pair;

	options.mtu = MTU;
	pair = pair_open(&options);
	for (int i = 0; i < 2; i++) {
		struct rc_qp *qp = pair->side[i].qp;
		struct rc_store *store = malloc(sizeof(*store));

		rc_store_init(store, malloc(STORED * sizeof(struct rc_kept_packet)), STORED);
		pair->side[i].pool.store = store;
		rc_kept_agree(qp, WINDOW_PACKETS);
		ask_set_probes(qp, true);
		rc_ports_expect(qp);
	}
	return pair;
}

static inline struct pair *open_agreed(uint32_t receives)
{
	return open_with((struct pair_options){ .receives = receives, .psn_a = 0xFFFFFD });
}

/* Both ends spread their packets over so many paths as well. */
static inline struct pair *open_spread(uint32_t paths, uint32_t receives)
{
	struct pair *pair = open_agreed(receives);

	for (int i = 0; i < 2; i++)
		rc_spread_over(pair->side[i].qp, paths);
	return pair;
}

static inline void close_agreed(struct pair *pair)
{
	struct rc_store *stores[] = { pair->side[A].pool.store, pair->side[B].pool.store };

	pair_close(pair);
	for (int i = 0; i < 2; i++) {
		free(stores[i]->packets);
		free(stores[i]);
	}
}

static inline struct pair *open_losing(uint64_t *lost, uint32_t receives)
{
	struct pair *pair = open_agreed(receives);

	pair->copies = lose_of_a;
	pair->user = lost;
	return pair;
}

static inline uint32_t kept_by_b(const struct pair *pair)
{
	return pair->side[B].pool.store->kept.pool.used;
}

#endif
