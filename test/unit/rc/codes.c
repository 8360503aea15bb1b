/* codes.c - encoded numbers against the tables of the book */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "rc/codes.h"
#include "rule.h"

Test(codes, the_rnr_timer_has_32_values)
{
	static const double milliseconds[32] = { 655.36, .01,   .02,   .03,    .04,    .06,    .08,    .12,
						 .16,    .24,   .32,   .48,    .64,    .96,    1.28,   1.92,
						 2.56,   3.84,  5.12,  7.68,   10.24,  15.36,  20.48,  30.72,
						 40.96,  61.44, 81.92, 122.88, 163.84, 245.76, 327.68, 491.52 };

	RULE("R-2");
	for (uint32_t code = 0; code < 32; code++)
		cr_assert_eq(rc_codes_rnr_ns(code), (uint64_t)(milliseconds[code] * 1e6 + .5), "code %u", code);
	cr_assert_eq(rc_codes_rnr_ns(RNR_TIMER_DEFAULT), 640000);
}

Test(codes, ack_timeout_doubles_and_zero_disables_it)
{
	RULE("T-1");
	cr_assert_eq(rc_codes_timeout_ns(0), 0);
	for (uint32_t n = 1; n < 32; n++)
		cr_assert_eq(rc_codes_timeout_ns(n), 4096ull << n, "code %u", n);
}

Test(codes, a_syndrome_is_a_class_and_a_value)
{
	cr_assert_eq(syndrome_make(SYNDROME_ACK, CREDIT_UNLIMITED), 0x1F);
	cr_assert_eq(syndrome_make(SYNDROME_RNR_NAK, 0), 0x20);
	cr_assert_eq(syndrome_make(SYNDROME_NAK, NAK_PSN_SEQUENCE), 0x60);
	cr_assert_eq(syndrome_make(SYNDROME_NAK, NAK_INVALID_REQUEST), 0x61);
	cr_assert_eq(syndrome_make(SYNDROME_NAK, NAK_REMOTE_ACCESS), 0x62);
	cr_assert_eq(syndrome_make(SYNDROME_NAK, NAK_REMOTE_OPERATIONAL), 0x63);
	for (uint32_t s = 0; s < 256; s++)
		cr_assert_eq(syndrome_class((uint8_t)s) << 5 | syndrome_value((uint8_t)s), s);
}

Test(codes, path_mtu_has_five_values)
{
	uint32_t found = 0;

	for (uint32_t bytes = 0; bytes < 10000; bytes++)
		found += mtu_is_valid(bytes);
	cr_assert_eq(found, 5);
	cr_assert(mtu_is_valid(256) && mtu_is_valid(512) && mtu_is_valid(1024) && mtu_is_valid(2048) &&
		  mtu_is_valid(4096));
}
