/* page_words.c - what the numbers of a page mean, in sentences */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "perf/page_words.h"

#include <stdbool.h>
#include <string.h>

#include "perf/html.h"
#include "perf/page.h"

#define LONG_TAIL 10.0 /* p99.9 over the median from where on it is worth a sentence */
#define LOST_CORE_A_S 20.0

static double of_latency(const json_t *result, const char *key)
{
	return number_at(json_object_get(result, "latency_us"), key);
}

static double gbit_of(const json_t *result)
{
	return number_at(result, "gbit_per_s");
}

static double rate_of(const json_t *result)
{
	return number_at(result, "messages_per_s") * (strcmp(word_at(result, "mode"), "bw") == 0 ? 1 : NAN);
}

static double quickness_of(const json_t *result)
{
	return -of_latency(result, "p50");
}

static double tail_of(const json_t *result)
{
	return of_latency(result, "p99_9") / of_latency(result, "p50");
}

/* The result with the highest value, or NULL when none has one. */
static const json_t *best_of(const json_t *results, double (*value)(const json_t *result))
{
	const json_t *best = NULL, *result;
	size_t i;

	json_array_foreach(results, i, result)
	{
		if (!isnan(value(result)) && (best == NULL || value(result) > value(best)))
			best = result;
	}
	return best;
}

static double sum_of(const json_t *results, const char *key)
{
	const json_t *result;
	double sum = 0;
	size_t i;

	json_array_foreach(results, i, result) sum += isnan(number_at(result, key)) ? 0 : number_at(result, key);
	return sum;
}

static void card(FILE *out, const char *class, const char *value, const char *what, const json_t *result)
{
	fprintf(out, "<div class=\"card\"><b class=\"%s\">", class);
	html_text(out, value);
	fputs("</b><span>", out);
	html_text(out, what);
	if (result) {
		fputs("<br>", out);
		html_text(out, word_at(result, "op"));
		fprintf(out, " of %.0f bytes", number_at(result, "size_bytes"));
	}
	fputs("</span></div>\n", out);
}

void perf_page_cards(FILE *out, const json_t *results)
{
	const json_t *widest = best_of(results, gbit_of), *busiest = best_of(results, rate_of);
	const json_t *quickest = best_of(results, quickness_of);
	double bad = sum_of(results, "errors") + sum_of(results, "bad_bytes");
	char text[64];

	fputs("<div class=\"cards\">\n", out);
	if (widest) {
		snprintf(text, sizeof(text), "%.3f Gbit/s", gbit_of(widest));
		card(out, "value", text, "highest bandwidth", widest);
	}
	if (busiest) {
		snprintf(text, sizeof(text), "%.3f M/s", rate_of(busiest) / 1e6);
		card(out, "value", text, "most messages a second", busiest);
	}
	if (quickest) {
		snprintf(text, sizeof(text), "%.3f \u00b5s", -quickness_of(quickest));
		card(out, "value", text, "shortest median latency", quickest);
	}
	snprintf(text, sizeof(text), "%.0f", bad);
	card(out, bad > 0 ? "bad" : "value", text, bad > 0 ? "errors and wrong bytes" : "errors", NULL);
	fputs("</div>\n", out);
}

static void tell_correctness(FILE *out, const json_t *results)
{
	double errors = sum_of(results, "errors"), wrong = sum_of(results, "bad_bytes");
	double checked = sum_of(results, "checked_messages"), again = sum_of(results, "retransmits");
	double naks = sum_of(results, "rnr_naks"), messages = sum_of(results, "messages");

	if (errors + wrong > 0)
		html_line(out, "li class=\"bad\"",
			  "%.0f completions or checks failed and %.0f bytes were wrong: the figures are those of a "
			  "run that went wrong, and say nothing.",
			  errors, wrong);
	else if (checked >= messages)
		html_line(out, "li", "Each of %.0f messages was checked, and was right.", checked);
	else
		html_line(out, "li", "Every request completed. Bytes were not looked at%s: --verify does that.",
			  checked > 0 ? ", only what atomics gave" : "");
	if (again > 0)
		html_line(out, "li",
			  "%.0f packets were sent again: frames were lost, damaged or late, and each loss costs "
			  "at least a round trip.",
			  again);
	else
		html_line(out, "li", "No packet had to be sent again: the link lost nothing.");
	if (naks > 0)
		html_line(out, "li",
			  "The receiver was not ready %.0f times: it posts receives more slowly than messages come. "
			  "A larger -r, or --flow-control, spares the sender these waits.",
			  naks);
}

static void tell_tail(FILE *out, const json_t *results)
{
	const json_t *quickest = best_of(results, quickness_of), *longest = best_of(results, tail_of);

	if (quickest)
		html_line(out, "li",
			  "The quickest is %s of %.0f bytes: half of the messages took no longer than %.3f \u00b5s, "
			  "99 %% no longer than %.3f \u00b5s.",
			  word_at(quickest, "op"), number_at(quickest, "size_bytes"), of_latency(quickest, "p50"),
			  of_latency(quickest, "p99"));
	if (longest && tail_of(longest) > LONG_TAIL)
		html_line(out, "li",
			  "The longest tail has %s of %.0f bytes: one message of a thousand takes %.0f times as long "
			  "as the median. Without losses that is mostly the machine: other work on the core, or "
			  "interrupts.",
			  word_at(longest, "op"), number_at(longest, "size_bytes"), tail_of(longest));
}

/* What a case was compared with: told of the cases in which that is lowest and highest. */
static const struct {
	const char *group, *key; /* group: an object within the result, or NULL */
	const char *what;
} comparisons[] = {
	{ NULL, "fraction_of_limit", "Of the least that any such stack must do with the same payload on this machine" },
	{ NULL, "rtt_over_bare", "A round trip, in round trips of bare frames" },
	{ NULL, "recovery_rtts", "What a lost frame costs, in round trips of bare frames" },
	{ "failover", "resumed_ms", "Milliseconds after the first link was cut until messages completed again" },
	{ NULL, "scaling", "What lcores do all at once, of what they do alone" },
	{ NULL, "goodput_beside_junk", "Goodput that is kept beside as many frames that have to be refused" },
};

static void tell_comparisons(FILE *out, const json_t *results)
{
	for (unsigned row = 0; row < sizeof(comparisons) / sizeof(comparisons[0]); row++) {
		const json_t *low = NULL, *high = NULL, *result;
		double least = NAN, most = NAN;
		size_t i;

		json_array_foreach(results, i, result)
		{
			const char *group = comparisons[row].group;
			double value = number_at(group ? json_object_get(result, group) : result, comparisons[row].key);

			if (isnan(value))
				continue;
			if (low == NULL || value < least) {
				low = result;
				least = value;
			}
			if (high == NULL || value > most) {
				high = result;
				most = value;
			}
		}
		if (low && low == high)
			html_line(out, "li", "%s: %.3f.", comparisons[row].what, least);
		else if (low)
			html_line(out, "li", "%s: from %.3f (%s of %.0f bytes) to %.3f (%s of %.0f bytes).",
				  comparisons[row].what, least, word_at(low, "op"), number_at(low, "size_bytes"), most,
				  word_at(high, "op"), number_at(high, "size_bytes"));
	}
}

static void tell_place(FILE *out, const json_t *root)
{
	const json_t *environment = json_object_get(root, "environment"), *results = json_object_get(root, "results");
	const json_t *port = json_array_get(json_object_get(environment, "ports"), 0);
	double seconds = sum_of(results, "seconds"), lost = sum_of(results, "interruptions");

	if (strcmp(word_at(port, "driver"), "net_ring") == 0)
		html_line(out, "li",
			  "Both ends were in one process, and rings in memory between them: this is what the "
			  "software costs, for both ends together, and no network.");
	if (lost > LOST_CORE_A_S * (seconds + 0.1))
		html_line(out, "li",
			  "The measuring thread lost its core %.0f times to others, in %.1f s: the machine was busy, "
			  "and the tails and dips are its own.",
			  lost, seconds);
}

void perf_page_sentences(FILE *out, const json_t *root)
{
	const json_t *results = json_object_get(root, "results");

	html_line(out, "h2", "What was found");
	fputs("<ul>\n", out);
	tell_correctness(out, results);
	tell_tail(out, results);
	tell_comparisons(out, results);
	tell_place(out, root);
	fputs("</ul>\n", out);
}

void perf_page_terms(FILE *out)
{
	static const char *const terms[] = {
		"Gbit/s counts the payload alone; headers, acknowledgements and what was sent again come on top of it.",
		"Bandwidth is measured with many requests outstanding (depth, for each queue pair), latency with one.",
		"Latency of SENDs and WRITEs is half of a round trip of two messages, as perftest has it; of READs, "
		"atomics and flush it is the whole round trip.",
		"A message of flush is a WRITE and a FLUSH of its bytes, which is done when they are in the memory "
		"behind the caches.",
		"Cycles a packet are those of all busy cores for each frame that a port sent or received, waiting "
		"included.",
		"The clock begins after a warm-up, which is not counted.",
	};

	html_line(out, "h3", "How to read them");
	fputs("<ul class=\"soft small\">\n", out);
	for (unsigned i = 0; i < sizeof(terms) / sizeof(terms[0]); i++)
		html_line(out, "li", "%s", terms[i]);
	fputs("</ul>\n", out);
}
