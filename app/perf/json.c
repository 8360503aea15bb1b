/* json.c - the results for programs */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "common/exit.h"
#include "common/names.h"
#include "common/run_json.h"
#include "perf/beside.h"
#include "perf/json.h"
#include "perf/page.h"

/* number of buckets of the histogram that are put together, which leaves 32 for each power of two */
#define BUCKETS_TOGETHER 4u

struct perf_json {
	struct app_json file;
	struct perf_page *page;
	json_t *root, *results;
};

struct perf_json *perf_json_open(const char *path, const char *page_path)
{
	struct perf_json *json = calloc(1, sizeof(*json));

	if (json == NULL)
		return NULL;
	if ((page_path && (json->page = perf_page_open(page_path)) == NULL) ||
	    app_json_open(&json->file, path) != APP_EXIT_OK) {
		perf_page_close(json->page, NULL);
		free(json);
		return NULL;
	}
	json->root = json_object();
	json->results = json_array();
	return json;
}

void perf_json_start(struct perf_json *json, int argc, char *const *argv)
{
	app_run_json_begin(json->root, argc, argv);
}

static json_t *number_or_null(double value, bool applies)
{
	return applies ? json_real(value) : json_null();
}

static void put_real(json_t *object, const char *name, double value, bool applies)
{
	json_object_set_new(object, name, number_or_null(value, applies));
}

void perf_json_environment(struct perf_json *json, const struct perf_environment *environment)
{
	json_t *ports = json_array(), *warnings = json_array();

	for (uint32_t i = 0; i < environment->port_count; i++)
		json_array_append_new(ports,
				      json_pack("{s:s, s:s, s:s, s:s}", "name", environment->ports[i].name, "driver",
						environment->ports[i].driver, "address", environment->ports[i].address,
						"mac", environment->ports[i].mac));
	for (uint32_t i = 0; i < environment->warning_count; i++)
		json_array_append_new(warnings, json_string(environment->warnings[i]));
	json_object_set_new(json->root, "environment",
			    json_pack("{s:s, s:i, s:s, s:o, s:b, s:s, s:s, s:o}", "cpu", environment->cpu, "lcores",
				      (int)environment->lcores, "dpdk", environment->dpdk, "ports", ports, "hugepages",
				      (int)environment->hugepages, "build", environment->build, "icrc",
				      environment->icrc, "warnings", warnings));
}

static json_t *latency_of(const struct perf_result *result)
{
	const struct app_histogram *latency = result->latency;
	double scale = result->latency_scale_us;

	if (latency == NULL || latency->count == 0)
		return json_null();
	return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "min", (double)latency->min * scale, "p50",
			 percentile_us(result, 0.5), "p99", percentile_us(result, 0.99), "p99_9",
			 percentile_us(result, 0.999), "p99_99", percentile_us(result, 0.9999), "max",
			 (double)latency->max * scale, "mean", app_histogram_mean(latency) * scale, "stdev",
			 app_histogram_deviation(latency) * scale);
}

/* [highest value in us, count], as fine as a plot needs. */
static json_t *latency_counts_of(const struct perf_result *result)
{
	const struct app_histogram *latency = result->latency;
	json_t *array;
	uint64_t sum = 0;

	if (latency == NULL || latency->count == 0)
		return json_null();
	array = json_array();
	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		sum += latency->buckets[i];
		if (sum == 0 || (i + 1) % BUCKETS_TOGETHER)
			continue;
		json_array_append_new(array,
				      json_pack("[f,I]", (double)app_histogram_end_of(i) * result->latency_scale_us,
						(json_int_t)sum));
		sum = 0;
	}
	return array;
}

/* [seconds, messages completed], of the end that starts. */
static json_t *series_of(const struct perf_result *result)
{
	const struct perf_series *series = result->series;
	json_t *array;

	if (series == NULL || series->count == 0)
		return json_null();
	array = json_array();
	for (uint32_t i = 0; i < series->count; i++)
		json_array_append_new(array, json_pack("[f,I]", (double)series->points[i].cycles * result->cycle_s,
						       (json_int_t)series->points[i].messages));
	return array;
}

static json_t *failover_of(const struct perf_failover_result *failover)
{
	if (!failover->cut)
		return json_null();
	return json_pack("{s:[I,I], s:[f,f], s:o}", "migrations", (json_int_t)failover->migrations[0],
			 (json_int_t)failover->migrations[1], "path_mig_ms", failover->path_mig_ms[0],
			 failover->path_mig_ms[1], "resumed_ms",
			 number_or_null(failover->resumed_ms, failover->resumed_ms > 0));
}

/* Adds the results, and how the run has ended. The page needs them even without a JSON file. */
static void complete(struct perf_json *json, bool interrupted)
{
	json_object_set(json->root, "results", json->results);
	app_run_json_end(json->root, interrupted);
}

void perf_json_result(struct perf_json *json, const struct perf_result *result, const struct perf_beside *beside)
{
	const struct perf_case *test = &result->test;
	const struct perf_tally *tally = &result->tally;
	bool bw = test->mode == PERF_BW;
	struct perf_layout layout;
	json_t *object;

	perf_case_lay_out(test, &layout);
	object = json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:b}", "op", perf_op_names[test->op], "mode",
			   perf_mode_names[test->mode], "size_bytes", (json_int_t)test->size_bytes, "mtu_bytes",
			   (json_int_t)test->mtu_bytes, "qps", (json_int_t)test->qps, "depth",
			   (json_int_t)(bw ? layout.depth : 1), "lcores", (json_int_t)result->lcores, "both_ways",
			   (int)test->both_ways);
	json_object_set_new(object, "seconds", json_real(tally->seconds));
	json_object_set_new(object, "messages", json_integer((json_int_t)tally->messages));
	json_object_set_new(object, "errors", json_integer((json_int_t)tally->errors));
	json_object_set_new(object, "bad_bytes", json_integer((json_int_t)tally->bad_bytes));
	json_object_set_new(object, "checked_messages", json_integer((json_int_t)tally->checked));
	put_real(object, "gbit_per_s", result->gbit_per_s, bw);
	put_real(object, "peak_gbit_per_s", result->peak_gbit_per_s, bw && result->peak_gbit_per_s > 0);
	json_object_set_new(object, "messages_per_s", json_real(result->messages_per_s));
	put_real(object, "cycles_per_packet", result->cycles_per_packet, result->cycles_per_packet > 0);
	for (const struct perf_tally_row *row = perf_tally_rows; row < perf_tally_rows + PERF_TALLY_ROWS; row++) {
		if (row->counter)
			json_object_set_new(object, row->name, json_integer((json_int_t)*tally_count(tally, row)));
	}
	json_object_set_new(object, "cc", json_string(app_cc_names[test->cc]));
	json_object_set_new(object, "sack_window", json_integer(test->sack_window ? 128 << test->sack_window : 0));
	json_object_set_new(object, "paths", json_integer(test->paths ? test->paths : 1));
	json_object_set_new(object, "flow_control", json_boolean(test->flow_control));
	json_object_set_new(object, "use_srq", json_boolean(test->use_srq));
	put_real(object, "rate_limit_messages_per_s", test->rate, test->rate > 0);
	json_object_set_new(object, "ack_each", json_boolean(test->ack_each));
	json_object_set_new(object, "no_read_repair", json_boolean(test->no_read_repair));
	json_object_set_new(object, "failover", failover_of(&result->failover));
	json_object_set_new(object, "interruptions", json_integer((json_int_t)result->interruptions));
	if (beside)
		beside->put(object, result);
	json_object_set_new(object, "latency_us", latency_of(result));
	json_object_set_new(object, "latency_counts", latency_counts_of(result));
	json_object_set_new(object, "over_time", series_of(result));
	json_array_append_new(json->results, object);
	/* If the run is killed, the file has the results so far, and says that it is not complete. */
	complete(json, true);
	if (json->file.regular)
		app_json_write(&json->file, json->root);
}

int perf_json_close(struct perf_json *json)
{
	int error;

	complete(json, app_is_interrupted());
	error = app_json_close(&json->file, json->root);
	error |= perf_page_close(json->page, json->root);
	json_decref(json->results);
	json_decref(json->root);
	free(json);
	return error ? -1 : 0;
}
