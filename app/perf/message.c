/* message.c - converts cases, peers and tallies to JSON and back, and checks every value */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "common/fields.h"
#include "common/json.h"
#include "perf/message.h"

#define CASE(member) offsetof(struct perf_case, member)
#define NUMBER(name, member, low, high)                          \
	{                                                        \
		name, APP_FIELD_U32, CASE(member), (low), (high) \
	}

/* clang-format off */
static const struct app_field case_fields[] = {
	{ "op", APP_FIELD_NAME, CASE(op), 0, PERF_OPS - 1, perf_op_names },
	{ "mode", APP_FIELD_NAME, CASE(mode), 0, PERF_MODES - 1, perf_mode_names },
	NUMBER("size", size_bytes, 1, PERF_SIZE_MAX),
	NUMBER("mtu", mtu_bytes, 256, 4096),
	NUMBER("qps", qps, 1, 65536),
	NUMBER("depth", depth, 1, 32768),
	NUMBER("rx_depth", rx_depth, 0, 32768),
	NUMBER("outs", outs, 1, 128),
	NUMBER("cq_mod", cq_mod, 0, 32768),
	NUMBER("inline", inline_bytes, 0, 512),
	NUMBER("timeout", timeout, 0, 31),
	NUMBER("retries", retries, 0, 7),
	NUMBER("rnr_timer", rnr_timer, 0, 31),
	NUMBER("rx_rate", rx_rate, 0, 1000000000),
	NUMBER("traffic_class", traffic_class, 0, 255),
	NUMBER("cc", cc, UROCE_CC_DEFAULT, UROCE_CC_ALGORITHMS - 1),
	NUMBER("sack_window", sack_window, 0, 4),
	NUMBER("paths", paths, 0, 64),
	NUMBER("burst", burst, 0, 1u << 20),
	{ "iterations", APP_FIELD_U64, CASE(iterations), 0, 1e12 },
	{ "seconds", APP_FIELD_REAL, CASE(seconds), 1e-9, 86400 },
	{ "rate", APP_FIELD_REAL, CASE(rate), 0, 1e15 },
	{ "both_ways", APP_FIELD_BOOL, CASE(both_ways) },
	{ "verify", APP_FIELD_BOOL, CASE(verify) },
	{ "flow_control", APP_FIELD_BOOL, CASE(flow_control) },
	{ "no_read_repair", APP_FIELD_BOOL, CASE(no_read_repair) },
	{ "use_srq", APP_FIELD_BOOL, CASE(use_srq) },
};

static const struct app_field peer_fields[] = {
	{ "addr", APP_FIELD_ADDR, offsetof(struct perf_peer, addr) },
	{ "target", APP_FIELD_U64, offsetof(struct perf_peer, target), 0, (double)INT64_MAX },
	{ "rkey", APP_FIELD_U32, offsetof(struct perf_peer, rkey), 0, UINT32_MAX },
};

static const struct app_field stop_fields[] = {
	{ "seconds", APP_FIELD_REAL, offsetof(struct perf_tally, seconds), 0, 1e9 },
	{ "peak_per_s", APP_FIELD_REAL, offsetof(struct perf_tally, peak_per_s), 0, 1e15 },
	{ "cut", APP_FIELD_BOOL, offsetof(struct perf_tally, cut) },
};
/* clang-format on */

#define COUNT(fields) (sizeof(fields) / sizeof((fields)[0]))

json_t *perf_message_of_peer(const char *type, const struct perf_peer *own, uint32_t qps)
{
	json_t *peer = json_object();

	app_fields_put(peer, peer_fields, COUNT(peer_fields), own);
	app_numbers_put(peer, "qp_nums", own->qp_nums, qps);
	app_numbers_put(peer, "psns", own->psns, qps);
	app_numbers_put(peer, "windows", own->window_keys, own->window_count);
	return json_pack("{s:s, s:o}", "type", type, "peer", peer);
}

json_t *perf_message_of_case(const struct perf_case *test, const struct perf_peer *own)
{
	json_t *message = perf_message_of_peer("case", own, test->qps);

	app_fields_put(message, case_fields, COUNT(case_fields), test);
	return message;
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
	if (test->rate > 0 && test->mode == PERF_LAT)
		return "rate";
	return (test->rate > 0) != (test->burst > 0) ? "burst" : NULL;
}

int perf_message_to_case(const json_t *message, struct perf_case *test, const char **why)
{
	memset(test, 0, sizeof(*test));
	*why = app_fields_get(message, case_fields, COUNT(case_fields), test);
	if (*why)
		return -EINVAL;
	test->both_ways &= test->mode == PERF_BW;
	*why = find_conflict(test);
	return *why ? -EINVAL : 0;
}

int perf_message_to_peer(const json_t *message, struct perf_peer *peer, uint32_t qps)
{
	const json_t *object = json_object_get(message, "peer");

	return app_fields_get(object, peer_fields, COUNT(peer_fields), peer) == NULL &&
			       app_numbers_get(object, "qp_nums", 24, peer->qp_nums, qps) &&
			       app_numbers_get(object, "psns", 24, peer->psns, qps) &&
			       app_numbers_get(object, "windows", 32, peer->window_keys, peer->window_count) ?
		       0 :
		       -EINVAL;
}

json_t *perf_message_of_stop(const char *type, const struct perf_end *end)
{
	json_t *message = json_pack("{s:s}", "type", type), *completed = json_array();

	for (const struct perf_tally_row *row = perf_tally_rows; row < perf_tally_rows + PERF_TALLY_ROWS; row++)
		json_set_number(message, row->name, *tally_count(&end->tally, row));
	app_fields_put(message, stop_fields, COUNT(stop_fields), &end->tally);
	for (uint32_t i = 0; i < end->test.qps; i++)
		json_array_append_new(completed, json_integer((json_int_t)end->flows[i].completed));
	json_object_set_new(message, "completed", completed);
	return message;
}

int perf_message_to_stop(const json_t *message, struct perf_tally *tally, uint64_t *completed, uint32_t qps)
{
	const json_t *array = json_object_get(message, "completed");

	memset(tally, 0, sizeof(*tally));
	if (json_array_size(array) != qps || app_fields_get(message, stop_fields, COUNT(stop_fields), tally))
		return -EINVAL;
	for (const struct perf_tally_row *row = perf_tally_rows; row < perf_tally_rows + PERF_TALLY_ROWS; row++)
		*tally_count(tally, row) = (uint64_t)json_integer_value(json_object_get(message, row->name));
	for (uint32_t i = 0; i < qps; i++)
		completed[i] = (uint64_t)json_integer_value(json_array_get(array, i));
	return 0;
}
