/* ways.h - two ways between the sides of a pair: which of them work, and which one each packet took */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Way 0 is the path of pair_open(). The ways differ by their addresses, or by their ports only:
 *   struct ways ways = { .by_port = true };
 *   struct pair *pair = ways_open(&ways, &(struct pair_options){ .retry_cnt = 1 });
 *   ways_arm(pair);
 *   ways.dead[A][0] = true;
 */
#ifndef TEST_WAYS_H
#define TEST_WAYS_H

#include <criterion/criterion.h>
#include <string.h>

#include "pair.h"
#include "rc/migration.h"

struct ways {
	bool by_port;
	bool dead[2][2];     /* [side][way]: what the side sends over the way is lost */
	uint32_t sent[2][2]; /* packets that it sent, lost or not, since arming */
	uint16_t pkey[2];    /* of the newest packet of each side */
};

/* The way as a side sees it. */
static inline struct uroce_path ways_path(const struct ways *ways, enum side_name side, uint32_t way)
{
	static char ports[2];
	struct uroce_path path = { .source = { { (uint8_t)(side + 1) } }, .dest = { { (uint8_t)(2 - side) } } };

	if (ways->by_port)
		path.device = (struct uroce_device *)&ports[way];
	else
		path.source.bytes[15] = path.dest.bytes[15] = (uint8_t)way;
	return path;
}

static inline uint32_t ways_now(const struct pair *pair, enum side_name side)
{
	struct uroce_path second = ways_path(pair->user, side, 1);

	return memcmp(&pair->side[side].qp->path, &second, sizeof(second)) == 0;
}

static inline int ways_fate(struct pair *pair, enum side_name from, uint32_t number, const struct wire_packet *packet)
{
	struct ways *ways = pair->user;
	uint32_t way = ways_now(pair, from);

	(void)number;
	ways->sent[from][way]++;
	ways->pkey[from] = packet->pkey;
	return !ways->dead[from][way];
}

static inline struct pair *ways_open(struct ways *ways, const struct pair_options *options)
{
	struct pair *pair = pair_open(options);

	pair->user = ways;
	pair->copies = ways_fate;
	pair->shows_migreq = true;
	pair->side[A].qp->path = ways_path(ways, A, 0);
	pair->side[B].qp->path = ways_path(ways, B, 0);
	return pair;
}

/* What loads a way as the alternate path and asks for REARM. */
#define WAYS_LOAD (UROCE_QP_ALT_PATH | UROCE_QP_PATH_MIG_STATE)

static inline struct uroce_qp_attr ways_alternate(const struct pair *pair, enum side_name side, uint32_t way)
{
	return (struct uroce_qp_attr){
		.alt_path = ways_path(pair->user, side, way),
		.alt_pkey = 0xFFFF,
		.alt_timeout = 14,
		.path_mig_state = UROCE_PATH_REARM,
	};
}

/* REARM is refused until the peer has been heard over the new path: an empty WRITE that is acknowledged is enough. */
static inline void ways_hear(struct pair *pair, enum side_name side)
{
	if (rc_migration_may_rearm(pair->side[side].qp))
		return;
	pair_post(pair, side, (struct uroce_send_wr){ .opcode = UROCE_WR_RDMA_WRITE }, 0, 0);
	pair_run(pair);
}

/* Loads the way that the side does not use, and asks for REARM. */
static inline void ways_load(struct pair *pair, enum side_name side)
{
	struct uroce_qp_attr attr = ways_alternate(pair, side, !ways_now(pair, side));
	uint32_t bad = 0;

	ways_hear(pair, side);
	cr_assert_eq(rc_qp_modify(pair->side[side].qp, &attr, WAYS_LOAD, &bad), 0, "%#x", bad);
}

static inline enum uroce_path_mig_state ways_state(const struct pair *pair, enum side_name side)
{
	struct uroce_qp_attr attr;

	rc_qp_query(pair->side[side].qp, &attr);
	return attr.path_mig_state;
}

/* Software asks for MIGRATED. */
static inline void ways_migrate(struct pair *pair, enum side_name side)
{
	struct uroce_qp_attr attr = { .path_mig_state = UROCE_PATH_MIGRATED };
	uint32_t bad = 0;

	cr_assert_eq(rc_qp_modify(pair->side[side].qp, &attr, UROCE_QP_PATH_MIG_STATE, &bad), 0, "%#x", bad);
}

#define ways_expect(pair, side, state, way) ways_check(pair, side, state, way, PAIR_WHERE)
static inline void ways_check(const struct pair *pair, enum side_name side, enum uroce_path_mig_state state,
			      uint32_t way, const char *where)
{
	cr_assert_eq(ways_state(pair, side), state, "%s: %c is in state %d, not %d", where, "AB"[side],
		     ways_state(pair, side), state);
	cr_assert_eq(ways_now(pair, side), way, "%s: %c uses way %u, not %u", where, "AB"[side], ways_now(pair, side),
		     way);
}

/* Both load the other way; a WRITE of A (PSN 0 when it is the first) and its ACK arm both. Its lines are forgotten. */
static inline void ways_arm(struct pair *pair)
{
	struct ways *ways = pair->user;
	uint32_t way = ways_now(pair, A);

	ways_load(pair, A);
	ways_load(pair, B);
	pair_write(pair, 99, 8);
	pair_run(pair);
	ways_expect(pair, A, UROCE_PATH_ARMED, way);
	ways_expect(pair, B, UROCE_PATH_ARMED, way);
	pair_forget(pair);
	memset(ways->sent, 0, sizeof(ways->sent));
}

#endif
