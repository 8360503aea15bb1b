/* page_plots.c - the plots of a page */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "perf/page_plots.h"

#include <stdlib.h>
#include <string.h>

#include "perf/chart.h"
#include "perf/html.h"
#include "perf/options.h"
#include "perf/page.h"

#define POINTS_MAX 4096u
#define POINTS_MIN 6u /* of a line over time: fewer say nothing */

/* A value of a result, and how a line of an operation comes to it. */
typedef double value_of(const json_t *result);

static double gbit_of(const json_t *result)
{
	return number_at(result, "gbit_per_s");
}

static double rate_of(const json_t *result)
{
	return number_at(result, "messages_per_s") / 1e6;
}

static double median_of(const json_t *result)
{
	return number_at(json_object_get(result, "latency_us"), "p50");
}

static double p99_of(const json_t *result)
{
	return number_at(json_object_get(result, "latency_us"), "p99");
}

static bool is_of(const json_t *result, unsigned op, enum perf_mode mode)
{
	return strcmp(word_at(result, "op"), perf_ops[op].name) == 0 &&
	       strcmp(word_at(result, "mode"), perf_mode_names[mode]) == 0;
}

/* Of an operation the case of the smallest or largest messages, or NULL. */
static const json_t *extreme_of(const json_t *results, unsigned op, enum perf_mode mode, bool largest)
{
	const json_t *best = NULL, *result;
	size_t i;

	json_array_foreach(results, i, result)
	{
		if (is_of(result, op, mode) &&
		    (best == NULL || (number_at(result, "size_bytes") > number_at(best, "size_bytes")) == largest))
			best = result;
	}
	return best;
}

static bool any_of(const json_t *results, enum perf_mode mode)
{
	for (unsigned op = 0; op < PERF_OPS; op++) {
		if (extreme_of(results, op, mode, true))
			return true;
	}
	return false;
}

/* Are there several sizes of an operation, so that a line can be drawn? */
static bool has_sizes(const json_t *results, enum perf_mode mode)
{
	for (unsigned op = 0; op < PERF_OPS; op++) {
		if (extreme_of(results, op, mode, true) != extreme_of(results, op, mode, false))
			return true;
	}
	return false;
}

static void legend(FILE *out, const json_t *results, enum perf_mode mode)
{
	chart_legend_begin(out);
	for (unsigned op = 0; op < PERF_OPS; op++) {
		if (extreme_of(results, op, mode, true))
			chart_legend(out, op, perf_ops[op].name);
	}
	chart_legend_end(out);
}

static void draw_over_size(struct chart *chart, const json_t *results, enum perf_mode mode, value_of *value,
			   bool dashed)
{
	struct chart_point points[PERF_SIZES_MAX];
	const json_t *result;
	size_t i;

	for (unsigned op = 0; op < PERF_OPS; op++) {
		uint32_t count = 0;

		json_array_foreach(results, i, result)
		{
			if (is_of(result, op, mode) && count < PERF_SIZES_MAX)
				points[count++] =
					(struct chart_point){ number_at(result, "size_bytes"), value(result) };
		}
		if (count)
			chart_line(chart, points, count, op, dashed, true);
	}
}

/* Of each operation a line over the size of messages; more is a second one, dashed. */
static void plot_sizes(FILE *out, const json_t *results, enum perf_mode mode, const char *title, value_of *value,
		       value_of *more)
{
	struct chart_axis x = { .scale = CHART_BYTES, .title = "bytes a message" };
	struct chart_axis y = { .scale = value == gbit_of ? CHART_LINEAR : CHART_LOG, .title = title };
	struct chart chart;
	const json_t *result;
	size_t i;

	json_array_foreach(results, i, result)
	{
		if (strcmp(word_at(result, "mode"), perf_mode_names[mode]) != 0)
			continue;
		chart_axis_take(&x, number_at(result, "size_bytes"));
		chart_axis_take(&y, value(result));
		if (more)
			chart_axis_take(&y, more(result));
	}
	legend(out, results, mode);
	chart_begin(&chart, out, &x, &y, title);
	draw_over_size(&chart, results, mode, value, false);
	if (more)
		draw_over_size(&chart, results, mode, more, true);
	chart_end(&chart);
}

static void name_row(struct chart_row *row, unsigned op, const json_t *result)
{
	*row = (struct chart_row){ .colour = op };
	snprintf(row->name, sizeof(row->name), "%s, %.0f bytes", perf_ops[op].name, number_at(result, "size_bytes"));
}

static void plot_bandwidth_rows(FILE *out, const json_t *results)
{
	struct chart_axis axis = { .scale = CHART_LINEAR, .title = "Gbit/s of payload" };
	struct chart_row rows[PERF_OPS];
	uint32_t count = 0;

	for (unsigned op = 0; op < PERF_OPS; op++) {
		const json_t *result = extreme_of(results, op, PERF_BW, true);

		if (result == NULL)
			continue;
		name_row(&rows[count], op, result);
		rows[count].value = gbit_of(result);
		chart_axis_take(&axis, rows[count].value);
		snprintf(rows[count].text, sizeof(rows[count].text), "%.3f, %.3f M/s", gbit_of(result),
			 rate_of(result));
		count++;
	}
	chart_rows(out, rows, count, &axis, "Bandwidth of each case");
}

static void plot_latency_rows(FILE *out, const json_t *results)
{
	struct chart_axis axis = { .scale = CHART_LOG, .title = "microseconds" };
	struct chart_row rows[PERF_OPS];
	uint32_t count = 0;

	for (unsigned op = 0; op < PERF_OPS; op++) {
		const json_t *result = extreme_of(results, op, PERF_LAT, true);
		const json_t *latency = json_object_get(result, "latency_us");

		if (!json_is_object(latency))
			continue;
		name_row(&rows[count], op, result);
		rows[count].low = number_at(latency, "min");
		rows[count].value = number_at(latency, "p50");
		rows[count].high = number_at(latency, "p99_9");
		snprintf(rows[count].text, sizeof(rows[count].text), "%.3f, 99.9 %%: %.3f", rows[count].value,
			 rows[count].high);
		chart_axis_take(&axis, rows[count].low);
		chart_axis_take(&axis, rows[count].high);
		count++;
	}
	if (count)
		chart_rows(out, rows, count, &axis, "Latency of each case: the shortest, the median, 99.9 % of them");
	html_line(out, "p class=\"soft small\"",
		  "The dot is the median; the band reaches from the shortest to what 99.9 %% of "
		  "the messages do not exceed.");
}

/* What each fraction of the messages does not exceed. Returns how many points there are. */
static uint32_t percentiles_of(const json_t *result, struct chart_point *points)
{
	const json_t *counts = json_object_get(result, "latency_counts"), *pair;
	double total = number_at(result, "messages"), sum = 0;
	uint32_t count = 0;
	size_t i;

	if (json_array_size(counts) == 0)
		return 0;
	points[count++] = (struct chart_point){ 0, number_at(json_object_get(result, "latency_us"), "min") };
	json_array_foreach(counts, i, pair)
	{
		sum += json_number_value(json_array_get(pair, 1));
		if (count < POINTS_MAX)
			points[count++] = (struct chart_point){ sum < total ? sum / total : 1 - 1 / (total + 1),
								json_number_value(json_array_get(pair, 0)) };
	}
	return count;
}

/* Gbit/s between one point and the next. */
static uint32_t rates_of(const json_t *result, struct chart_point *points)
{
	const json_t *series = json_object_get(result, "over_time"), *pair;
	double bits = number_at(result, "size_bytes") * 8 / 1e9, seconds = 0, messages = 0;
	uint32_t count = 0;
	size_t i;

	json_array_foreach(series, i, pair)
	{
		double now = json_number_value(json_array_get(pair, 0));
		double done = json_number_value(json_array_get(pair, 1));

		if (count < POINTS_MAX && now > seconds)
			points[count++] = (struct chart_point){ now, (done - messages) * bits / (now - seconds) };
		seconds = now;
		messages = done;
	}
	return count >= POINTS_MIN ? count : 0;
}

/* A line for the chosen case of each operation. Nothing at all when no case has points. */
static void plot_curves(FILE *out, const json_t *results, enum perf_mode mode, const char *heading, const char *words)
{
	bool over_time = mode == PERF_BW;
	struct chart_axis x = { .scale = over_time ? CHART_LINEAR : CHART_PERCENTILES,
				.title = over_time ? "seconds into the case" : "of the messages" };
	struct chart_axis y = { .scale = over_time ? CHART_LINEAR : CHART_LOG,
				.title = over_time ? "Gbit/s" : "microseconds" };
	struct chart_point *points = calloc(POINTS_MAX, sizeof(*points));
	struct chart chart;

	for (unsigned pass = 0; pass < 2 && points; pass++) {
		for (unsigned op = 0; op < PERF_OPS; op++) {
			const json_t *result = extreme_of(results, op, mode, over_time);
			uint32_t count = over_time ? rates_of(result, points) : percentiles_of(result, points);

			for (uint32_t i = 0; i < count && pass == 0; i++) {
				chart_axis_take(&x, points[i].x);
				chart_axis_take(&y, points[i].y);
			}
			if (pass == 1 && count)
				chart_line(&chart, points, count, op, false, false);
		}
		if (!y.used)
			break;
		if (pass == 0) {
			html_line(out, "h3", "%s", heading);
			legend(out, results, mode);
			chart_begin(&chart, out, &x, &y, heading);
		} else {
			chart_end(&chart);
			html_line(out, "p class=\"soft small\"", "%s", words);
		}
	}
	free(points);
}

void perf_page_plots(FILE *out, const json_t *results)
{
	if (any_of(results, PERF_BW)) {
		html_line(out, "h2", "Bandwidth");
		if (has_sizes(results, PERF_BW)) {
			plot_sizes(out, results, PERF_BW, "Gbit/s of payload", gbit_of, NULL);
			html_line(out, "h3", "Messages");
			plot_sizes(out, results, PERF_BW, "million messages a second", rate_of, NULL);
		} else {
			plot_bandwidth_rows(out, results);
		}
		plot_curves(
			out, results, PERF_BW, "Over time",
			"The largest messages of each operation, of the end that starts. A dip is a moment in which "
			"less completed: a loss, or a machine that was busy with something else.");
	}
	if (!any_of(results, PERF_LAT))
		return;
	html_line(out, "h2", "Latency");
	if (has_sizes(results, PERF_LAT)) {
		plot_sizes(out, results, PERF_LAT, "microseconds", median_of, p99_of);
		html_line(out, "p class=\"soft small\"",
			  "The median; dashed what 99 %% of the messages do not exceed.");
	} else {
		plot_latency_rows(out, results);
	}
	plot_curves(
		out, results, PERF_LAT, "Distribution",
		"What so many of the messages do not exceed, of the smallest messages of each operation. Each step to "
		"the right is ten times as rare: at 99.9 % one message of a thousand takes longer.");
}
