/* message.c - converts cases, peers and tallies to JSON and back, and checks every value */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "perf/message.h"

/* The numbers of a case, with their ranges. */
static const struct {
	const char *name;
	size_t offset;
	uint32_t low, high;
} case_numbers[] = {
	{ "size", offsetof(struct perf_case, size_bytes), 1, PERF_SIZE_MAX },
	{ "mtu", offsetof(struct perf_case, mtu_bytes), 256, 4096 },
	{ "qps", offsetof(struct perf_case, qps), 1, 65536 },
	{ "depth", offsetof(struct perf_case, depth), 1, 32768 },
	{ "rx_depth", offsetof(struct perf_case, rx_depth), 0, 32768 },
	{ "outs", offsetof(struct perf_case, outs), 1, 128 },
	{ "cq_mod", offsetof(struct perf_case, cq_mod), 0, 32768 },
	{ "inline", offsetof(struct perf_case, inline_bytes), 0, 512 },
	{ "timeout", offsetof(struct perf_case, timeout), 0, 31 },
	{ "retries", offsetof(struct perf_case, retries), 0, 7 },
	{ "rnr_timer", offsetof(struct perf_case, rnr_timer), 0, 31 },
	{ "rx_rate", offsetof(struct perf_case, rx_rate), 0, 1000000000 },
	{ "traffic_class", offsetof(struct perf_case, traffic_class), 0, 255 },
	{ "cc", offsetof(struct perf_case, cc), UROCE_CC_DEFAULT, UROCE_CC_ALGORITHMS - 1 },
	{ "sack_window", offsetof(struct perf_case, sack_window), 0, 4 },
	{ "paths", offsetof(struct perf_case, paths), 0, 64 },
	{ "burst", offsetof(struct perf_case, burst), 0, 1u << 20 },
};

#define CASE_NUMBERS (sizeof(case_numbers) / sizeof(case_numbers[0]))

bool perf_message_is(const json_t *message, const char *type)
{
	const char *text = json_string_value(json_object_get(message, "type"));

	return text && strcmp(text, type) == 0;
}

static json_t *peer_object(const struct perf_peer *own, uint32_t qps)
{
	json_t *numbers = json_array(), *psns = json_array(), *windows = json_array();
	char addr[64];

	for (uint32_t i = 0; i < qps; i++) {
		json_array_append_new(numbers, json_integer(own->qp_nums[i]));
		json_array_append_new(psns, json_integer(own->psns[i]));
	}
	for (uint32_t i = 0; i < own->window_count; i++)
		json_array_append_new(windows, json_integer(own->window_keys[i]));
	return json_pack("{s:s, s:I, s:I, s:o, s:o, s:o}", "addr", uroce_addr_format(&own->addr, addr, sizeof(addr)),
			 "target", (json_int_t)own->target, "rkey", (json_int_t)own->rkey, "qp_nums", numbers, "psns",
			 psns, "windows", windows);
}

json_t *perf_message_of_peer(const char *type, const struct perf_peer *own, uint32_t qps)
{
	return json_pack("{s:s, s:o}", "type", type, "peer", peer_object(own, qps));
}

json_t *perf_message_of_case(const struct perf_case *test, const struct perf_peer *own)
{
	json_t *message = perf_message_of_peer("case", own, test->qps);

	json_object_set_new(message, "op", json_string(perf_op_names[test->op]));
	json_object_set_new(message, "mode", json_string(perf_mode_names[test->mode]));
	for (unsigned i = 0; i < CASE_NUMBERS; i++) {
		uint32_t value;

		memcpy(&value, (const char *)test + case_numbers[i].offset, sizeof(value));
		json_object_set_new(message, case_numbers[i].name, json_integer(value));
	}
	json_object_set_new(message, "seconds", json_real(test->seconds));
	json_object_set_new(message, "iterations", json_integer((json_int_t)test->iterations));
	json_object_set_new(message, "both_ways", json_boolean(test->both_ways));
	json_object_set_new(message, "verify", json_boolean(test->verify));
	json_object_set_new(message, "flow_control", json_boolean(test->flow_control));
	json_object_set_new(message, "no_read_repair", json_boolean(test->no_read_repair));
	json_object_set_new(message, "use_srq", json_boolean(test->use_srq));
	json_object_set_new(message, "rate", json_real(test->rate));
	return message;
}

static int find_name(const json_t *value, const char *const *names, int count)
{
	const char *text = json_string_value(value);

	for (int i = 0; i < count && text; i++) {
		if (strcmp(text, names[i]) == 0)
			return i;
	}
	return -1;
}

/* Checks the rules between values that options.c checks on the command line. */
static const char *find_conflict(const struct perf_case *test)
{
	if ((test->mtu_bytes & (test->mtu_bytes - 1)) != 0)
		return "mtu";
	if (test->cq_mod > test->depth)
		return "cq_mod";
	if ((uint64_t)test->qps * test->depth > 1u << 20)
		return "depth";
	if (perf_ops[test->op].bytes && test->size_bytes != perf_ops[test->op].bytes)
		return "size";
	if (perf_ops[test->op].invalidates && test->qps > PERF_WINDOWS_MAX)
		return "qps";
	if (test->mode == PERF_LAT && test->qps != 1)
		return "qps";
	if (test->use_srq && (!op_shares_receives(&perf_ops[test->op]) || test->flow_control))
		return "use_srq";
	if (!(test->rate >= 0 && test->rate <= 1e15) || (test->rate > 0 && test->mode == PERF_LAT))
		return "rate";
	if ((test->rate > 0) != (test->burst > 0))
		return "burst";
	if (!(test->seconds > 0 && test->seconds <= 86400))
		return "seconds";
	return test->iterations > 1000000000000 ? "iterations" : NULL;
}

int perf_message_to_case(const json_t *message, struct perf_case *test, const char **why)
{
	int op, mode;

	memset(test, 0, sizeof(*test));
	op = find_name(json_object_get(message, "op"), perf_op_names, PERF_OPS);
	mode = find_name(json_object_get(message, "mode"), perf_mode_names, PERF_MODES);
	*why = op < 0 ? "op" : "mode";
	if (op < 0 || mode < 0)
		return -EINVAL;
	test->op = (enum perf_op)op;
	test->mode = (enum perf_mode)mode;
	for (unsigned i = 0; i < CASE_NUMBERS; i++) {
		const json_t *number = json_object_get(message, case_numbers[i].name);
		json_int_t value = json_integer_value(number);
		uint32_t value32 = (uint32_t)value;

		*why = case_numbers[i].name;
		if (!json_is_integer(number) || value < case_numbers[i].low || value > case_numbers[i].high)
			return -EINVAL;
		memcpy((char *)test + case_numbers[i].offset, &value32, sizeof(value32));
	}
	*why = "iterations";
	if (!json_is_integer(json_object_get(message, "iterations")))
		return -EINVAL;
	test->seconds = json_number_value(json_object_get(message, "seconds"));
	test->iterations = (uint64_t)json_integer_value(json_object_get(message, "iterations"));
	test->both_ways = json_is_true(json_object_get(message, "both_ways")) && test->mode == PERF_BW;
	test->verify = json_is_true(json_object_get(message, "verify"));
	test->flow_control = json_is_true(json_object_get(message, "flow_control"));
	test->no_read_repair = json_is_true(json_object_get(message, "no_read_repair"));
	test->use_srq = json_is_true(json_object_get(message, "use_srq"));
	test->rate = json_number_value(json_object_get(message, "rate"));
	*why = find_conflict(test);
	return *why ? -EINVAL : 0;
}

/* Reads a number of at most `bits` bits. */
static bool read_bits(const json_t *array, size_t index, unsigned bits, uint32_t *value)
{
	const json_t *number = json_array_get(array, index);
	json_int_t wide = json_integer_value(number);

	*value = (uint32_t)wide;
	return json_is_integer(number) && wide >= 0 && wide < (json_int_t)1 << bits;
}

int perf_message_to_peer(const json_t *message, struct perf_peer *peer, uint32_t qps)
{
	const json_t *object = json_object_get(message, "peer");
	const json_t *numbers = json_object_get(object, "qp_nums"), *psns = json_object_get(object, "psns");
	const json_t *windows = json_object_get(object, "windows");
	const char *addr = json_string_value(json_object_get(object, "addr"));

	if (addr == NULL || uroce_addr_parse(addr, &peer->addr, NULL) != 0 || json_array_size(numbers) != qps ||
	    json_array_size(psns) != qps || json_array_size(windows) != peer->window_count)
		return -EINVAL;
	peer->target = (uint64_t)json_integer_value(json_object_get(object, "target"));
	peer->rkey = (uint32_t)json_integer_value(json_object_get(object, "rkey"));
	for (uint32_t i = 0; i < qps; i++) {
		if (!read_bits(numbers, i, 24, &peer->qp_nums[i]) || !read_bits(psns, i, 24, &peer->psns[i]))
			return -EINVAL;
	}
	for (uint32_t i = 0; i < peer->window_count; i++) {
		if (!read_bits(windows, i, 32, &peer->window_keys[i]))
			return -EINVAL;
	}
	return 0;
}

json_t *perf_message_of_stop(const char *type, const struct perf_end *end)
{
	json_t *message = json_pack("{s:s}", "type", type), *completed = json_array();

	for (const struct perf_tally_row *row = perf_tally_rows; row < perf_tally_rows + PERF_TALLY_ROWS; row++)
		json_object_set_new(message, row->name, json_integer((json_int_t)*tally_count(&end->tally, row)));
	json_object_set_new(message, "seconds", json_real(end->tally.seconds));
	json_object_set_new(message, "cut", json_boolean(end->tally.cut));
	json_object_set_new(message, "peak_per_s", json_real(end->tally.peak_per_s));
	for (uint32_t i = 0; i < end->test.qps; i++)
		json_array_append_new(completed, json_integer((json_int_t)end->flows[i].completed));
	json_object_set_new(message, "completed", completed);
	return message;
}

int perf_message_to_stop(const json_t *message, struct perf_tally *tally, uint64_t *completed, uint32_t qps)
{
	const json_t *array = json_object_get(message, "completed");

	memset(tally, 0, sizeof(*tally));
	if (json_array_size(array) != qps)
		return -EINVAL;
	for (const struct perf_tally_row *row = perf_tally_rows; row < perf_tally_rows + PERF_TALLY_ROWS; row++)
		*tally_count(tally, row) = (uint64_t)json_integer_value(json_object_get(message, row->name));
	tally->seconds = json_number_value(json_object_get(message, "seconds"));
	tally->cut = json_is_true(json_object_get(message, "cut"));
	tally->peak_per_s = json_number_value(json_object_get(message, "peak_per_s"));
	for (uint32_t i = 0; i < qps; i++)
		completed[i] = (uint64_t)json_integer_value(json_array_get(array, i));
	return 0;
}
