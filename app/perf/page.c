/* page.c - the results for people: one HTML page of what json.h has gathered */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "perf/page.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/eal.h"
#include "perf/html.h"
#include "perf/page_plots.h"
#include "perf/page_words.h"

struct perf_page {
	const char *path;
	FILE *file;
};

static const char *remedy_of(int error)
{
	switch (error) {
	case ENOENT:
		return "make its folder first, or name another one";
	case EISDIR:
		return "name a file in it";
	case EACCES:
	case EPERM:
	case EROFS:
		return "name a file where you may write";
	}
	return "name another file";
}

struct perf_page *perf_page_open(const char *path)
{
	struct perf_page *page = calloc(1, sizeof(*page));

	if (page == NULL)
		return NULL;
	page->path = path;
	/* Not emptied yet: who interrupts the run keeps the page of the one before. */
	page->file = fopen(path, "a");
	if (page->file == NULL) {
		app_complain(APP_EXIT_ENVIRONMENT, "--report %s: %s; %s", path, strerror(errno), remedy_of(errno));
		free(page);
		return NULL;
	}
	return page;
}

struct column {
	const char *title, *key;
	const char *format;
	bool of_latency;
};

static const struct column bandwidth_columns[] = {
	{ "bytes", "size_bytes", "%.0f", false },
	{ "QPs", "qps", "%.0f", false },
	{ "messages", "messages", "%.0f", false },
	{ "seconds", "seconds", "%.3f", false },
	{ "Gbit/s", "gbit_per_s", "%.3f", false },
	{ "best 10 ms", "peak_gbit_per_s", "%.3f", false },
	{ "messages/s", "messages_per_s", "%.0f", false },
	{ "cycles a packet", "cycles_per_packet", "%.0f", false },
	{ "of the limit", "fraction_of_limit", "%.3f", false },
	{ "beside junk", "goodput_beside_junk", "%.3f", false },
	{ "of alone", "scaling", "%.3f", false },
	{ "sent again", "retransmits", "%.0f", false },
	{ "errors", "errors", "%.0f", false },
};

static const struct column latency_columns[] = {
	{ "bytes", "size_bytes", "%.0f", false },
	{ "messages", "messages", "%.0f", false },
	{ "min", "min", "%.3f", true },
	{ "50 %", "p50", "%.3f", true },
	{ "99 %", "p99", "%.3f", true },
	{ "99.9 %", "p99_9", "%.3f", true },
	{ "99.99 %", "p99_99", "%.3f", true },
	{ "max", "max", "%.3f", true },
	{ "mean", "mean", "%.3f", true },
	{ "deviation", "stdev", "%.3f", true },
	{ "of bare frames", "rtt_over_bare", "%.3f", false },
	{ "for a loss", "recovery_rtts", "%.2f", false },
	{ "sent again", "retransmits", "%.0f", false },
	{ "errors", "errors", "%.0f", false },
};

static double cell_of(const json_t *result, const struct column *column)
{
	return number_at(column->of_latency ? json_object_get(result, "latency_us") : result, column->key);
}

/* A column that applies to no row is left out. */
static bool has_column(const json_t *results, const char *mode, const struct column *column)
{
	const json_t *result;
	size_t i;

	json_array_foreach(results, i, result)
	{
		if (strcmp(word_at(result, "mode"), mode) == 0 && !isnan(cell_of(result, column)))
			return true;
	}
	return false;
}

static void put_row(FILE *out, const json_t *results, const json_t *result, const struct column *columns, size_t count)
{
	const char *mode = word_at(result, "mode");

	fputs("<tr><td>", out);
	html_text(out, word_at(result, "op"));
	fputs(json_is_true(json_object_get(result, "both_ways")) ? ", both ways</td>" : "</td>", out);
	for (size_t i = 0; i < count; i++) {
		double value = cell_of(result, &columns[i]);

		if (!has_column(results, mode, &columns[i]))
			continue;
		fputs("<td>", out);
		if (!isnan(value))
			fprintf(out, columns[i].format, value);
		fputs("</td>", out);
	}
	fputs("</tr>\n", out);
}

static void put_table(FILE *out, const json_t *results, const char *mode, const struct column *columns, size_t count)
{
	const json_t *result;
	size_t i;

	fputs("<div class=\"wide\"><table>\n<tr><th>operation</th>", out);
	for (i = 0; i < count; i++) {
		if (has_column(results, mode, &columns[i])) {
			fputs("<th>", out);
			html_text(out, columns[i].title);
			fputs("</th>", out);
		}
	}
	fputs("</tr>\n", out);
	json_array_foreach(results, i, result)
	{
		if (strcmp(word_at(result, "mode"), mode) == 0)
			put_row(out, results, result, columns, count);
	}
	fputs("</table></div>\n", out);
}

static void put_tables(FILE *out, const json_t *results)
{
	html_line(out, "h2", "Numbers");
	if (has_column(results, "bw", &bandwidth_columns[0])) {
		html_line(out, "h3", "Bandwidth");
		put_table(out, results, "bw", bandwidth_columns,
			  sizeof(bandwidth_columns) / sizeof(bandwidth_columns[0]));
	}
	if (has_column(results, "lat", &latency_columns[0])) {
		html_line(out, "h3", "Latency in microseconds");
		put_table(out, results, "lat", latency_columns, sizeof(latency_columns) / sizeof(latency_columns[0]));
	}
}

static void put_fact(FILE *out, const char *name, const char *text)
{
	fputs("<tr><td class=\"soft\">", out);
	html_text(out, name);
	fputs("</td><td>", out);
	html_text(out, text);
	fputs("</td></tr>\n", out);
}

static void put_environment(FILE *out, const json_t *root)
{
	const json_t *environment = json_object_get(root, "environment"), *port;
	char text[512];
	size_t i;

	html_line(out, "h2", "Where it was measured");
	fputs("<div class=\"wide\"><table class=\"facts\">\n", out);
	put_fact(out, "Processor", word_at(environment, "cpu"));
	snprintf(text, sizeof(text), "%.0f", number_at(environment, "lcores"));
	put_fact(out, "Busy lcores", text);
	json_array_foreach(json_object_get(environment, "ports"), i, port)
	{
		snprintf(text, sizeof(text), "%s (%s), %s, %s", word_at(port, "name"), word_at(port, "driver"),
			 word_at(port, "address"), word_at(port, "mac"));
		put_fact(out, "Port", text);
	}
	put_fact(out, "Hugepages", json_is_true(json_object_get(environment, "hugepages")) ? "yes" : "no");
	put_fact(out, "ICRC code", word_at(environment, "icrc"));
	snprintf(text, sizeof(text), "uroce %s, %s; DPDK %s", word_at(root, "version"), word_at(environment, "build"),
		 word_at(environment, "dpdk"));
	put_fact(out, "Software", text);
	fputs("</table></div>\n", out);
}

static void put_head(FILE *out, const json_t *root)
{
	const json_t *warning, *word;
	size_t i;

	html_line(out, "h1", "RDMA in user space, measured");
	html_line(out, "p class=\"soft\"", "uroce-perf %s, %s, %s", word_at(root, "version"), word_at(root, "started"),
		  word_at(json_object_get(root, "environment"), "cpu"));
	fputs("<p><code>", out);
	json_array_foreach(json_object_get(root, "command"), i, word)
	{
		if (i)
			fputc(' ', out);
		html_text(out, json_string_value(word));
	}
	fputs("</code></p>\n", out);
	json_array_foreach(json_object_get(json_object_get(root, "environment"), "warnings"), i, warning)
		html_line(out, "p class=\"warn\"", "Warning: %s", json_string_value(warning));
}

static void put_page(FILE *out, const json_t *root)
{
	const json_t *results = json_object_get(root, "results");

	html_begin(out, "uroce-perf");
	put_head(out, root);
	if (json_array_size(results) == 0) {
		html_line(out, "p class=\"bad\"", "No case came to its end: see what uroce-perf printed.");
	} else {
		perf_page_cards(out, results);
		perf_page_sentences(out, root);
		perf_page_plots(out, results);
		put_tables(out, results);
		perf_page_terms(out);
	}
	put_environment(out, root);
	html_end(out);
}

int perf_page_close(struct perf_page *page, const json_t *root)
{
	struct stat status;
	int error = 0;

	if (page == NULL)
		return 0;
	if (root) {
		/* What is no file, such as a pipe, has nothing to be emptied of. */
		if (fstat(fileno(page->file), &status) == 0 && S_ISREG(status.st_mode))
			error = ftruncate(fileno(page->file), 0);
		put_page(page->file, root);
		error |= ferror(page->file);
	}
	error |= fclose(page->file);
	if (error)
		app_complain(APP_EXIT_ENVIRONMENT, "--report %s is not complete: %s; the results were printed",
			     page->path, strerror(errno));
	free(page);
	return error ? -1 : 0;
}
