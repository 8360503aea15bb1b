/* config.c - the bounds of a manager fit each other, however few connections it is for */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "cm/cm.h"
#include "config/limits.h"
#include "rule.h"

/* C-22: what strangers may hold leaves the users' places alone, and one stranger leaves something to others. */
Test(config, strangers_leave_all_user_places)
{
	RULE("C-22");
	for (uint32_t connections = 1; connections <= 1u << 20; connections = connections * 5 / 4 + 1) {
		struct cm_config config = { .half_open = 0 };

		cm_config_fit(&config, connections);
		cr_assert_geq(config.connections - config.half_open, connections);
		cr_assert_geq(config.half_open, 1);
		cr_assert_geq(config.of_one_peer, 1);
		cr_assert(config.of_one_peer < config.half_open || connections == 1);
		cr_assert_geq(config.refusals, 1);
		cr_assert_gt(config.timewait_ids, config.connections);
	}
}

/* An honest host opens its thousand at once. */
Test(config, default_engine_accepts_a_thousand_from_one_host)
{
	struct cm_config config = { .half_open = 0 };

	RULE("C-22");
	cm_config_fit(&config, 8192);
	cr_expect_eq(config.half_open, 4096);
	cr_expect_eq(config.of_one_peer, 2048);
}
