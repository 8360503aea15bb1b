/* chart.h - plots as SVG within a page (html.h): lines over an axis, and rows of bars or ranges */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_PERF_CHART_H
#define APP_PERF_CHART_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum chart_scale {
	CHART_LINEAR,      /* from 0 */
	CHART_LOG,         /* of positive values */
	CHART_BYTES,       /* the same, named 64, 4K, 1M */
	CHART_PERCENTILES, /* of fractions: 0, 90 %, 99 %, 99.9 % at equal distances */
};

/* The range is that of the data: chart_axis_take() for each value, before chart_begin(). */
struct chart_axis {
	enum chart_scale scale;
	const char *title;
	bool used;
	double low, high;
};

struct chart_point {
	double x, y;
};

struct chart {
	FILE *out;
	struct chart_axis x, y;
};

void chart_axis_take(struct chart_axis *axis, double value);

/* Frame, grid and names. about says in words what is shown, for who cannot see it. */
void chart_begin(struct chart *chart, FILE *out, const struct chart_axis *x, const struct chart_axis *y,
		 const char *about);

/* Points outside of what a scale can show are left out; each tells its numbers under the pointer when it is marked. */
void chart_line(struct chart *chart, const struct chart_point *points, uint32_t count, unsigned colour, bool dashed,
		bool marked);
void chart_end(struct chart *chart);

/* A row from 0 to value; or, where low < value, a dot at value in a range from low to high. */
struct chart_row {
	char name[64], text[64]; /* at its left, and behind it */
	unsigned colour;
	double low, value, high;
};

void chart_rows(FILE *out, const struct chart_row *rows, uint32_t count, struct chart_axis *axis, const char *about);

void chart_legend_begin(FILE *out);
void chart_legend(FILE *out, unsigned colour, const char *name);
void chart_legend_end(FILE *out);

#endif
