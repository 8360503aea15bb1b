/* two_paths.h - two paths between the sides of a pair: their failures, and the path of each packet */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Path 0 is the path of pair_open(). The paths differ by their addresses, or by their ports only:
 *   struct two_paths paths = { .by_port = true };
 *   struct pair *pair = two_paths_open(&paths, &(struct pair_options){ .retry_cnt = 1 });
 *   two_paths_arm(pair);
 *   paths.dead[A][0] = true;
 */
#ifndef TEST_TWO_PATHS_H
#define TEST_TWO_PATHS_H

#include <criterion/criterion.h>
#include <string.h>

#include "pair.h"
#include "rc/migration.h"

struct two_paths {
	bool by_port;
	bool dead[2][2];     /* [side][path]: packets of the side over the path are lost */
	uint32_t sent[2][2]; /* packets sent since arming, lost ones included */
	uint16_t pkey[2];    /* of the newest packet of each side */
};

/* The path from the point of view of a side. */
static inline struct uroce_path two_paths_path(const struct two_paths *paths, enum side_name side, uint32_t path_index)
{
	static char ports[2];
	struct uroce_path path = { .source = { { (uint8_t)(side + 1) } }, .dest = { { (uint8_t)(2 - side) } } };

	if (paths->by_port)
		path.device = (struct uroce_device *)&ports[path_index];
	else
		path.source.bytes[15] = path.dest.bytes[15] = (uint8_t)path_index;
	return path;
}

static inline uint32_t two_paths_now(const struct pair *pair, enum side_name side)
{
	struct uroce_path second = two_paths_path(pair->user, side, 1);

	return memcmp(&pair->side[side].qp->path, &second, sizeof(second)) == 0;
}

static inline int two_paths_fate(struct pair *pair, enum side_name from, uint32_t number,
				 const struct wire_packet *packet)
{
	struct two_paths *paths = pair->user;
	uint32_t path_index = two_paths_now(pair, from);

	(void)number;
	paths->sent[from][path_index]++;
	paths->pkey[from] = packet->pkey;
	return !paths->dead[from][path_index];
}

static inline struct pair *two_paths_open(struct two_paths *paths, const struct pair_options *options)
{
	struct pair *pair = pair_open(options);

	pair->user = paths;
	pair->copies = two_paths_fate;
	pair->shows_migreq = true;
	pair->side[A].qp->path = two_paths_path(paths, A, 0);
	pair->side[B].qp->path = two_paths_path(paths, B, 0);
	return pair;
}

/* The attributes that load a path as the alternate path and request REARM. */
#define TWO_PATHS_LOAD (UROCE_QP_ALT_PATH | UROCE_QP_PATH_MIG_STATE)

static inline struct uroce_qp_attr two_paths_alternate(const struct pair *pair, enum side_name side,
						       uint32_t path_index)
{
	return (struct uroce_qp_attr){
		.alt_path = two_paths_path(pair->user, side, path_index),
		.alt_pkey = 0xFFFF,
		.alt_timeout = 14,
		.path_mig_state = UROCE_PATH_REARM,
	};
}

/* REARM is refused until a packet has arrived over the new path: the ACK of an empty WRITE is enough. */
static inline void two_paths_use_new(struct pair *pair, enum side_name side)
{
	if (rc_migration_may_rearm(pair->side[side].qp))
		return;
	pair_post(pair, side, (struct uroce_send_wr){ .opcode = UROCE_WR_RDMA_WRITE }, 0, 0);
	pair_run(pair);
}

/* Loads the unused path, and requests REARM. */
static inline void two_paths_load(struct pair *pair, enum side_name side)
{
	struct uroce_qp_attr attr = two_paths_alternate(pair, side, !two_paths_now(pair, side));
	uint32_t bad = 0;

	two_paths_use_new(pair, side);
	cr_assert_eq(rc_qp_modify(pair->side[side].qp, &attr, TWO_PATHS_LOAD, &bad), 0, "%#x", bad);
}

static inline enum uroce_path_mig_state two_paths_state(const struct pair *pair, enum side_name side)
{
	struct uroce_qp_attr attr;

	rc_qp_query(pair->side[side].qp, &attr);
	return attr.path_mig_state;
}

/* Software requests MIGRATED. */
static inline void two_paths_migrate(struct pair *pair, enum side_name side)
{
	struct uroce_qp_attr attr = { .path_mig_state = UROCE_PATH_MIGRATED };
	uint32_t bad = 0;

	cr_assert_eq(rc_qp_modify(pair->side[side].qp, &attr, UROCE_QP_PATH_MIG_STATE, &bad), 0, "%#x", bad);
}

#define two_paths_expect(pair, side, state, path_index) two_paths_check(pair, side, state, path_index, PAIR_WHERE)
static inline void two_paths_check(const struct pair *pair, enum side_name side, enum uroce_path_mig_state state,
				   uint32_t path_index, const char *where)
{
	cr_assert_eq(two_paths_state(pair, side), state, "%s: %c is in state %d, not %d", where, "AB"[side],
		     two_paths_state(pair, side), state);
	cr_assert_eq(two_paths_now(pair, side), path_index, "%s: %c uses path %u, not %u", where, "AB"[side],
		     two_paths_now(pair, side), path_index);
}

/* Both load the other path; a WRITE of A (PSN 0 if it is the first) and its ACK arm both. Its lines are forgotten. */
static inline void two_paths_arm(struct pair *pair)
{
	struct two_paths *paths = pair->user;
	uint32_t path_index = two_paths_now(pair, A);

	two_paths_load(pair, A);
	two_paths_load(pair, B);
	pair_write(pair, 99, 8);
	pair_run(pair);
	two_paths_expect(pair, A, UROCE_PATH_ARMED, path_index);
	two_paths_expect(pair, B, UROCE_PATH_ARMED, path_index);
	pair_forget(pair);
	memset(paths->sent, 0, sizeof(paths->sent));
}

#endif
