/* config.c - the bounds of a manager fit each other, however few connections it is for */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "cm/cm.h"
#include "config/limits.h"
#include "rule.h"
#include "share/share.h"

/* C-22: what strangers may hold leaves the users' places alone, and there is room for the time-wait of all. */
Test(config, strangers_leave_all_user_places)
{
	RULE("C-22");
	for (uint32_t connections = 1; connections <= 1u << 20; connections = connections * 5 / 4 + 1) {
		struct cm_config config = { .half_open = 0 };

		cm_config_fit(&config, connections);
		cr_assert_geq(config.connections - config.half_open, connections);
		cr_assert_geq(config.half_open, 1);
		cr_assert_geq(config.refusals, 1);
		cr_assert_gt(config.timewait_ids, config.connections);
	}
}

/* How many places of a pool of this size one address gets, `others` having taken all that they could before. */
static uint32_t share_of(uint32_t size, uint32_t reserve, uint32_t others)
{
	struct share pool = { .size = size };
	uint32_t held = 0;

	for (uint32_t i = 0; i <= others; i++) {
		for (held = 0; share_allows(&pool, held, 1 + reserve);)
			share_take(&pool, &held, 1);
	}
	return held;
}

/* C-22: whom no other address competes with, can have as many connections in use as there are. */
Test(config, one_address_may_use_all_connections)
{
	RULE("C-22");
	for (uint32_t connections = 1; connections <= 1u << 20; connections = connections * 3 + 1) {
		struct cm_config config = { .half_open = 0 };

		cm_config_fit(&config, connections);
		cr_expect_geq(share_of(config.timewait_ids, config.timewait_ids / 8, 0), config.connections);
	}
}

/* An honest host opens its thousand at once, also next to a greedy one. */
Test(config, default_engine_accepts_a_thousand_from_one_host)
{
	struct cm_config config = { .half_open = 0 };

	RULE("C-22");
	cm_config_fit(&config, 8192);
	cr_expect_eq(config.half_open, 4096);
	cr_expect_eq(share_of(config.half_open, 0, 0), 2048);
	cr_expect_eq(share_of(config.half_open, 0, 1), 1024);
}
