/* rate.c - what a link carries, in the codes of verbs */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs/rate.h"

#include <criterion/criterion.h>

#define GBIT 1000u

/* As ibv_devinfo reads the codes, in Mbit/s. */
static uint32_t read_back(struct verb_rate rate)
{
	uint32_t lane = 0;

	switch (rate.speed) {
	case 1:
		lane = 2500;
		break;
	case 2:
		lane = 5000;
		break;
	case 4:
		lane = 10000;
		break;
	case 32:
		lane = 25000;
		break;
	case 64:
		lane = 50000;
		break;
	}
	return lane * (rate.width == 1 ? 1 : rate.width == 2 ? 4 : rate.width == 4 ? 8 : 0);
}

Test(rate, ethernet_speeds_are_exact)
{
	static const uint32_t gbit[] = { 5, 10, 20, 25, 40, 50, 100, 200, 400 };

	for (size_t i = 0; i < sizeof(gbit) / sizeof(gbit[0]); i++)
		cr_expect_eq(read_back(verb_rate_of(gbit[i] * GBIT)), gbit[i] * GBIT, "%u Gbit/s", gbit[i]);
	cr_expect_eq(read_back(verb_rate_of(2500)), 2500);
}

Test(rate, rate_never_exceeds_the_speed)
{
	for (uint32_t mbps = 2500; mbps < 900 * GBIT; mbps += 500)
		cr_assert_leq(read_back(verb_rate_of(mbps)), mbps, "%u Mbit/s", mbps);
	cr_expect_eq(read_back(verb_rate_of(56 * GBIT)), 50 * GBIT);
	cr_expect_eq(read_back(verb_rate_of(UINT32_MAX)), 400 * GBIT);
}

Test(rate, unknown_speed_maps_to_the_slowest_rate)
{
	cr_expect_eq(read_back(verb_rate_of(0)), 2500);
	cr_expect_eq(read_back(verb_rate_of(100)), 2500);
	cr_expect_eq(read_back(verb_rate_of(1000)), 2500);
}
