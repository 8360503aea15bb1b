/* message.c - what the other process says: what is sent comes back, and nonsense is refused by name */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "perf/message.h"

static const struct perf_case good = {
	.op = PERF_WRITE_IMM,
	.mode = PERF_BW,
	.size_bytes = 65536,
	.mtu_bytes = 2048,
	.qps = 2,
	.depth = 128,
	.rx_depth = 77,
	.outs = 16,
	.cq_mod = 4,
	.inline_bytes = 220,
	.timeout = 14,
	.seconds = 0.25,
	.iterations = 1000000000000,
	.rate = 12345.5,
	.burst = 32,
	.use_srq = true,
	.both_ways = true,
	.verify = true,
};

static json_t *good_message(void)
{
	static uint32_t qp_nums[] = { 0x123456, 0xFFFFFF }, psns[] = { 0, 0xABCDEF };
	static uint32_t window_keys[] = { 0xFFFFFF01, 1, 0x80000000 };
	struct perf_peer own = { .target = 0x7fffdeadbeef,
				 .rkey = 0xFEDCBA98,
				 .qp_nums = qp_nums,
				 .psns = psns,
				 .window_count = 3,
				 .window_keys = window_keys };

	uroce_addr_parse("10.1.2.3", &own.addr, NULL);
	return perf_message_of_case(&good, &own);
}

Test(perf_message, case_and_peer_survive_the_round_trip)
{
	uint32_t qp_nums[2], psns[2], window_keys[3];
	struct perf_peer peer = { .qp_nums = qp_nums, .psns = psns, .window_count = 3, .window_keys = window_keys };
	json_t *message = good_message();
	struct perf_case test;
	const char *why;
	char text[64];

	cr_assert_eq(perf_message_to_case(message, &test, &why), 0, "%s", why);
	cr_expect_eq(memcmp(&test, &good, sizeof(test)), 0);
	cr_assert_eq(perf_message_to_peer(message, &peer, 2), 0);
	cr_expect_str_eq(uroce_addr_format(&peer.addr, text, sizeof(text)), "10.1.2.3");
	cr_expect_eq(peer.target, 0x7fffdeadbeef);
	cr_expect_eq(peer.rkey, 0xFEDCBA98);
	cr_expect(window_keys[0] == 0xFFFFFF01 && window_keys[1] == 1 && window_keys[2] == 0x80000000);
	cr_expect(qp_nums[0] == 0x123456 && qp_nums[1] == 0xFFFFFF && psns[0] == 0 && psns[1] == 0xABCDEF);
	json_decref(message);
}

/* Every value that may not be, one at a time. */
static const struct {
	const char *key, *json;
} bad_cases[] = {
	{ "op", "\"wrote\"" },  { "op", "3" },
	{ "mode", "\"\"" },     { "size", "0" },
	{ "size", "-1" },       { "size", "1073741825" },
	{ "size", "\"64\"" },   { "size", "4294967360" },
	{ "mtu", "1000" },      { "mtu", "128" },
	{ "mtu", "8192" },      { "qps", "0" },
	{ "qps", "65537" },     { "depth", "0" },
	{ "depth", "32769" },   { "rx_depth", "32769" },
	{ "outs", "0" },        { "outs", "129" },
	{ "cq_mod", "129" },    { "inline", "513" },
	{ "timeout", "32" },    { "seconds", "0" },
	{ "seconds", "1e9" },   { "seconds", "\"1\"" },
	{ "iterations", "-1" }, { "rate", "-1" },
	{ "rate", "1e16" },     { "burst", "0" },
	{ "burst", "1048577" },
};

Test(perf_message, a_case_with_one_bad_value_is_refused_by_its_name)
{
	for (unsigned i = 0; i < sizeof(bad_cases) / sizeof(bad_cases[0]); i++) {
		json_t *message = good_message();
		json_t *value = json_loads(bad_cases[i].json, JSON_DECODE_ANY, NULL);
		struct perf_case test;
		const char *why = NULL;

		cr_assert_not_null(value);
		json_object_set_new(message, bad_cases[i].key, value);
		cr_expect_eq(perf_message_to_case(message, &test, &why), -EINVAL, "%s: %s", bad_cases[i].key,
			     bad_cases[i].json);
		cr_expect(why && strcmp(why, bad_cases[i].key) == 0, "%s: %s names %s", bad_cases[i].key,
			  bad_cases[i].json, why ? why : "nothing");
		json_object_del(message, bad_cases[i].key);
		cr_expect_eq(perf_message_to_case(message, &test, &why), -EINVAL, "no %s", bad_cases[i].key);
		json_decref(message);
	}
}

Test(perf_message, excessive_total_is_refused_although_each_value_is_valid)
{
	json_t *message = good_message();
	struct perf_case test;
	const char *why = NULL;

	json_object_set_new(message, "qps", json_integer(65536));
	cr_expect_eq(perf_message_to_case(message, &test, &why), -EINVAL);
	cr_expect_str_eq(why, "depth");
	json_decref(message);
	message = good_message();
	json_object_set_new(message, "mode", json_string("lat"));
	cr_expect_eq(perf_message_to_case(message, &test, &why), -EINVAL);
	cr_expect_str_eq(why, "qps");
	json_object_set_new(message, "qps", json_integer(1));
	cr_expect_eq(perf_message_to_case(message, &test, &why), -EINVAL);
	cr_expect_str_eq(why, "rate");
	json_decref(message);
	message = good_message();
	json_object_set_new(message, "flow_control", json_true());
	cr_expect_eq(perf_message_to_case(message, &test, &why), -EINVAL);
	cr_expect_str_eq(why, "use_srq");
	json_object_set_new(message, "flow_control", json_false());
	json_object_set_new(message, "op", json_string("write"));
	cr_expect_eq(perf_message_to_case(message, &test, &why), -EINVAL);
	cr_expect_str_eq(why, "use_srq");
	json_decref(message);
}

/* As many as the case makes of it, and each a key. */
Test(perf_message, a_peer_with_the_wrong_windows_is_refused)
{
	static const char *const bad[] = { "[1,2]", "[1,2,3,4]", "[1,2,4294967296]", "[1,2,-1]", "[1,2,\"3\"]", "7" };
	uint32_t qp_nums[2], psns[2], window_keys[3];
	struct perf_peer peer = { .qp_nums = qp_nums, .psns = psns, .window_count = 3, .window_keys = window_keys };

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		json_t *message = good_message();

		json_object_set_new(json_object_get(message, "peer"), "windows",
				    json_loads(bad[i], JSON_DECODE_ANY, NULL));
		cr_expect_eq(perf_message_to_peer(message, &peer, 2), -EINVAL, "%s", bad[i]);
		json_decref(message);
	}
}

Test(perf_message, peer_with_a_wrong_qp_count_or_wide_numbers_is_refused)
{
	static const char *const bad[] = { "[1]", "[1,2,3]", "[1,16777216]", "[1,-1]", "[1,\"2\"]", "7" };
	uint32_t qp_nums[2], psns[2];
	uint32_t window_keys[3];
	struct perf_peer peer = { .qp_nums = qp_nums, .psns = psns, .window_count = 3, .window_keys = window_keys };

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		json_t *message = good_message();

		json_object_set_new(json_object_get(message, "peer"), i % 2 ? "psns" : "qp_nums",
				    json_loads(bad[i], JSON_DECODE_ANY, NULL));
		cr_expect_eq(perf_message_to_peer(message, &peer, 2), -EINVAL, "%s", bad[i]);
		json_decref(message);
	}
}
