/* table.c - connections by id, peer and end, timers and resting ids, each beside a plain list */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "cm/conn.h"
#include "draw.h"
#include "rule.h"

#define MANY 37u

static struct cm_table table;
static void *memory;
static struct cm_conn *live[MANY];
static uint32_t live_count;
static uint64_t deadline_of[MANY]; /* by the place in the table */

static void open_table(uint32_t connections, uint32_t rests)
{
	struct cm_config config = { .connections = connections, .timewait_ids = rests };
	uint8_t *at;

	for (uint8_t i = 0; i < sizeof(config.key); i++)
		config.key[i] = i;
	memory = aligned_alloc(64, cm_table_bytes(&config));
	memset(memory, 0, cm_table_bytes(&config));
	memset(&table, 0, sizeof(table));
	live_count = 0;
	at = memory;
	cm_table_init(&table, &at, &config);
}

static void close_table(void)
{
	free(memory);
}

TestSuite(table, .fini = close_table);

/* As many heads of chains as connections, in powers of two. */
Test(table, table_has_a_head_per_connection)
{
	static const uint32_t rows[][2] = { { 1, 0 }, { 2, 1 }, { 3, 3 }, { 33, 63 }, { 64, 63 }, { 65, 127 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		open_table(rows[i][0], rows[i][0]);
		cr_expect_eq(table.head_mask, rows[i][1], "%u: %u", rows[i][0], table.head_mask);
		cr_expect_eq((size_t)((char *)table.timewait.by_peer - (char *)table.timewait.by_id),
			     (rows[i][1] * sizeof(uint32_t) + 64) & ~63ull, "%u", rows[i][0]);
		if (i + 1 < sizeof(rows) / sizeof(rows[0]))
			close_table();
	}
}

static uint32_t heads_in_use(const uint32_t *heads)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i < 64; i++)
		used += heads[i] != CM_NONE;
	return used;
}

static void begin_timewait(const struct cm_conn *conn, uint64_t until_ns)
{
	cm_timewait_reserve(&table.timewait, CM_TIMEWAIT_OWN);
	cm_timewait_begin(&table.timewait, conn->routes.request.dest, CM_TIMEWAIT_OWN, conn->ids.local_id,
			  conn->ids.remote_id, until_ns);
}

/* Of 64 heads 64 drawn at random meet about 40. */
Test(table, chains_are_short)
{
	open_table(64, 64);
	for (uint32_t i = 0; i < 64; i++) {
		struct cm_conn *conn = cm_table_alloc(&table, 0, 0);

		conn->ids.remote_id = conn->sides.peer.qpn = i;
		cm_table_add_peer(&table, conn);
		cm_table_add_qp(&table, conn);
		begin_timewait(conn, 1);
	}
	cr_expect_gt(heads_in_use(table.by_id), 30);
	cr_expect_gt(heads_in_use(table.by_peer), 30);
	cr_expect_gt(heads_in_use(table.by_qp), 30);
	cr_expect_gt(heads_in_use(table.timewait.by_id), 30);
	cr_expect_gt(heads_in_use(table.timewait.by_peer), 30);
}

/* ---- all beside a list ---- */

static void take(uint64_t *seed)
{
	struct cm_conn *conn = cm_table_alloc(&table, 7, 5);

	cr_assert_eq(conn == NULL, live_count == table.conn_count);
	if (conn == NULL)
		return;
	cr_assert_eq(conn->ids.local_id & 7, 5);
	conn->stage.state = CM_ESTABLISHED;
	conn->ids.remote_id = draw_below(seed, 3);
	conn->routes.request.dest[15] = (uint8_t)draw_below(seed, 2);
	conn->ids.peer_guid = draw_below(seed, 3);
	conn->sides.peer.qpn = draw_below(seed, 2);
	if (draw_chance(seed, 700))
		cm_table_add_peer(&table, conn);
	if (draw_chance(seed, 700))
		cm_table_add_qp(&table, conn);
	live[live_count++] = conn;
	deadline_of[cm_table_index(&table, conn)] = CM_NEVER;
}

static void return_it(uint32_t which)
{
	uint32_t id = live[which]->ids.local_id, index = cm_table_index(&table, live[which]);

	cm_table_return(&table, live[which]);
	live[which] = live[--live_count];
	cr_assert_null(cm_table_by_id(&table, id));
	cr_assert_null(cm_table_at(&table, index));
}

static void set_timer(const struct cm_conn *conn, uint64_t deadline_ns)
{
	cm_table_set_timer(&table, conn, deadline_ns);
	deadline_of[cm_table_index(&table, conn)] = deadline_ns;
}

static uint64_t deadline(const struct cm_conn *conn)
{
	return deadline_of[cm_table_index(&table, conn)];
}

static void step(uint64_t *seed)
{
	uint32_t which = live_count ? draw_below(seed, live_count) : 0;

	switch (live_count ? draw_below(seed, 6) : 0) {
	case 0:
	case 1:
		take(seed);
		break;
	case 2:
		return_it(which);
		break;
	case 3:
		cm_table_remove_qp(&table, live[which]);
		break;
	case 4:
		set_timer(live[which], draw_below(seed, 1000));
		break;
	case 5:
		set_timer(live[which], CM_NEVER);
		break;
	}
}

static void expect_ids_and_timers(void)
{
	uint64_t nearest = CM_NEVER;

	for (uint32_t i = 0; i < live_count; i++) {
		cr_assert_eq(cm_table_by_id(&table, live[i]->ids.local_id), live[i]);
		cr_assert_eq(cm_table_at(&table, cm_table_index(&table, live[i])), live[i]);
		nearest = deadline(live[i]) < nearest ? deadline(live[i]) : nearest;
	}
	cr_assert_eq(table.used, live_count);
	cr_assert_eq(cm_table_deadline(&table), nearest);
	if (nearest == CM_NEVER)
		return;
	cr_assert(nearest == 0 || cm_table_due(&table, nearest - 1) == NULL);
	cr_assert_eq(deadline(cm_table_due(&table, nearest)), nearest);
}

static void expect_peers_and_ends(void)
{
	for (uint8_t i = 0; i < 6; i++) {
		uint8_t addr[16] = { [15] = i % 2 };
		uint32_t value = i / 2, qpn = i % 2, wanted = 0, found = 0;
		struct cm_conn *conn = NULL;

		for (uint32_t k = 0; k < live_count; k++) {
			wanted += live[k]->links.in_peers && live[k]->ids.remote_id == value &&
				  live[k]->routes.request.dest[15] == i % 2;
			wanted += live[k]->links.in_qps && live[k]->ids.peer_guid == value &&
				  live[k]->sides.peer.qpn == qpn && live[k]->routes.request.dest[15] == i % 2;
		}
		while ((conn = cm_table_by_peer(&table, addr, value, conn)) != NULL) {
			cr_assert(conn->links.in_peers && conn->ids.remote_id == value &&
				  conn->routes.request.dest[15] == i % 2);
			found++;
		}
		while ((conn = cm_table_by_qp(&table, addr, value, qpn, conn)) != NULL) {
			cr_assert(conn->links.in_qps && conn->ids.peer_guid == value && conn->sides.peer.qpn == qpn);
			cr_assert_eq(conn->routes.request.dest[15], i % 2);
			found++;
		}
		cr_assert_eq(found, wanted);
	}
}

static void expect_the_right_ones(uint32_t connections, uint32_t steps)
{
	uint64_t seed = draw_start(connections);

	open_table(connections, 1);
	for (uint32_t i = 0; i < steps; i++) {
		step(&seed);
		expect_ids_and_timers();
		expect_peers_and_ends();
	}
	while (live_count)
		return_it(0);
	expect_ids_and_timers();
	cr_expect_eq(table.timers.count, 0);
	cr_expect_null(cm_table_due(&table, CM_NEVER));
}

Test(table, random_allocation_finds_the_correct_entries)
{
	expect_the_right_ones(MANY, 20000);
}

/* Four heads for six peers and six ends: most have to share one. */
Test(table, entries_sharing_a_chain_are_distinguished)
{
	expect_the_right_ones(4, 20000);
}

/* ---- ids ---- */

Test(table, id_in_use_or_time_wait_is_not_allocated)
{
	struct cm_conn *first, *second;
	uint32_t id;

	RULE("C-2");
	RULE("C-16");
	open_table(4, 4);
	first = cm_table_alloc(&table, 0, 0);
	id = first->ids.local_id;
	table.drawn = 0; /* the same is drawn again */
	second = cm_table_alloc(&table, 0, 0);
	cr_expect_neq(second->ids.local_id, id);
	cm_table_return(&table, second);
	begin_timewait(first, 10);
	cm_table_return(&table, first);
	table.drawn = 0;
	second = cm_table_alloc(&table, 0, 0);
	cr_expect_neq(second->ids.local_id, id);
	cm_table_return(&table, second);
	cm_timewait_wake(&table.timewait, 10);
	table.drawn = 0;
	cr_expect_eq(cm_table_alloc(&table, 0, 0)->ids.local_id, id);
}

/* All but the lowest bit are the manager's here, and are 0. */
Test(table, no_id_is_zero)
{
	open_table(1, 1);
	for (uint32_t i = 0; i < 100; i++) {
		struct cm_conn *conn = cm_table_alloc(&table, UINT32_MAX - 1, 0);

		cr_assert_eq(conn->ids.local_id, 1);
		cm_table_return(&table, conn);
	}
}
