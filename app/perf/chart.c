/* chart.c - plots as SVG within a page */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "perf/chart.h"

#include <math.h>
#include <string.h>

#include "perf/html.h"

#define WIDTH 760.0
#define HEIGHT 300.0
#define LEFT 70.0
#define RIGHT 32.0
#define TOP 12.0
#define BOTTOM 46.0
#define ROW 26.0
#define ROWS_LEFT 170.0
#define ROWS_RIGHT 150.0
#define TICKS_MAX 40u
#define DECADES_WITH_STEPS 2.5 /* more of them are named by their powers only */
#define PERCENTILES_MAX 6.0

/* A place on an axis, in the units in which its ticks are at equal distances. */
static double place(const struct chart_axis *axis, double value)
{
	switch (axis->scale) {
	case CHART_LINEAR:
		return value;
	case CHART_LOG:
	case CHART_BYTES:
		return log10(value);
	case CHART_PERCENTILES:
		break;
	}
	value = -log10(1 - value);
	return value < PERCENTILES_MAX ? value : PERCENTILES_MAX;
}

void chart_axis_take(struct chart_axis *axis, double value)
{
	if (!isfinite(value) || ((axis->scale == CHART_LOG || axis->scale == CHART_BYTES) && value <= 0))
		return;
	axis->low = axis->used && axis->low < value ? axis->low : value;
	axis->high = axis->used && axis->high > value ? axis->high : value;
	axis->used = true;
}

/* The largest of 1, 2, 5 times a power of ten that is at most value, or the smallest that is at least so. */
static double round_to_step(double value, bool up)
{
	static const double steps[] = { 1, 2, 5, 10 };
	double power = pow(10, floor(log10(value) + 1e-9)), best = power;

	for (unsigned i = 0; i < 4; i++) {
		if (up && power * steps[i] >= value * (1 - 1e-9))
			return power * steps[i];
		if (!up && power * steps[i] <= value * (1 + 1e-9))
			best = power * steps[i];
	}
	return best;
}

static double linear_step(double high)
{
	return round_to_step(high / 6, true);
}

/* Ends where a tick is. */
static void widen(struct chart_axis *axis)
{
	if (!axis->used) {
		axis->low = 1;
		axis->high = 10;
	}
	switch (axis->scale) {
	case CHART_LINEAR:
		axis->low = 0;
		axis->high = axis->high > 0 ? axis->high : 1;
		axis->high = ceil(axis->high / linear_step(axis->high) - 1e-9) * linear_step(axis->high);
		break;
	case CHART_LOG:
		axis->low = round_to_step(axis->low, false);
		axis->high = round_to_step(axis->high, true);
		if (axis->low == axis->high)
			axis->high *= 2;
		break;
	case CHART_BYTES:
		if (axis->low == axis->high)
			axis->high *= 2;
		break;
	case CHART_PERCENTILES:
		axis->low = 0;
		break;
	}
}

static void name_bytes(char *text, size_t bytes, double value)
{
	static const char *const units[] = { "", "K", "M", "G" };
	unsigned unit = 0;

	for (; value >= 1024 && unit < 3; unit++)
		value /= 1024;
	snprintf(text, bytes, "%g%s", value, units[unit]);
}

struct tick {
	double value;
	char name[24];
};

static uint32_t log_ticks(const struct chart_axis *axis, struct tick *ticks)
{
	static const double steps[] = { 1, 2, 5 };
	bool with_steps = log10(axis->high / axis->low) < DECADES_WITH_STEPS;
	uint32_t count = 0;

	for (double power = pow(10, floor(log10(axis->low) + 1e-9)); power <= axis->high * 1.001; power *= 10) {
		for (unsigned i = 0; i < (with_steps ? 3 : 1) && count < TICKS_MAX; i++) {
			double value = power * steps[i];

			if (value < axis->low * 0.999 || value > axis->high * 1.001)
				continue;
			ticks[count].value = value;
			snprintf(ticks[count++].name, sizeof(ticks->name), "%g", value);
		}
	}
	return count;
}

static uint32_t make_ticks(const struct chart_axis *axis, struct tick *ticks)
{
	static const char *const percentiles[] = {
		"min", "90 %", "99 %", "99.9 %", "99.99 %", "99.999 %", "99.9999 %"
	};
	uint32_t count = 0;

	switch (axis->scale) {
	case CHART_LINEAR:
		for (; linear_step(axis->high) * count <= axis->high * 1.001 && count < TICKS_MAX; count++) {
			ticks[count].value = linear_step(axis->high) * count;
			snprintf(ticks[count].name, sizeof(ticks->name), "%g", ticks[count].value);
		}
		break;
	case CHART_LOG:
		return log_ticks(axis, ticks);
	case CHART_BYTES:
		for (double size = 1; size <= axis->high && count < TICKS_MAX; size *= 4) {
			if (size < axis->low)
				continue;
			ticks[count].value = size;
			name_bytes(ticks[count].name, sizeof(ticks->name), size);
			count++;
		}
		break;
	case CHART_PERCENTILES:
		for (; count <= place(axis, axis->high) + 1e-9 && count < 7; count++) {
			ticks[count].value = 1 - pow(10, -(double)count);
			snprintf(ticks[count].name, sizeof(ticks->name), "%s", percentiles[count]);
		}
		break;
	}
	return count;
}

/* 0 ... 1 along an axis. */
static double along(const struct chart_axis *axis, double value)
{
	double low = place(axis, axis->low), high = place(axis, axis->high);

	return high > low ? (place(axis, value) - low) / (high - low) : 0.5;
}

static double x_of(const struct chart *chart, double value)
{
	return LEFT + along(&chart->x, value) * (WIDTH - LEFT - RIGHT);
}

static double y_of(const struct chart *chart, double value)
{
	return HEIGHT - BOTTOM - along(&chart->y, value) * (HEIGHT - TOP - BOTTOM);
}

static void text_at(FILE *out, double x, double y, const char *anchor, const char *class, const char *text)
{
	fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" class=\"%s\">", x, y, anchor, class);
	html_text(out, text);
	fputs("</text>\n", out);
}

static void rule(FILE *out, double x1, double y1, double x2, double y2, const char *class)
{
	fprintf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>\n", x1, y1, x2, y2, class);
}

static void begin_svg(FILE *out, double height, const char *about)
{
	fprintf(out, "<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"", WIDTH, height);
	html_text(out, about);
	fputs("\">\n", out);
}

void chart_begin(struct chart *chart, FILE *out, const struct chart_axis *x, const struct chart_axis *y,
		 const char *about)
{
	struct tick ticks[TICKS_MAX];
	uint32_t count;

	*chart = (struct chart){ .out = out, .x = *x, .y = *y };
	if (x->scale != CHART_LINEAR || !x->used)
		widen(&chart->x);
	else
		chart->x.low = 0; /* time ends where it ends */
	widen(&chart->y);
	begin_svg(out, HEIGHT, about);
	count = make_ticks(&chart->y, ticks);
	for (uint32_t i = 0; i < count; i++) {
		rule(out, LEFT, y_of(chart, ticks[i].value), WIDTH - RIGHT, y_of(chart, ticks[i].value), "grid");
		text_at(out, LEFT - 8, y_of(chart, ticks[i].value) + 4, "end", "tick", ticks[i].name);
	}
	count = make_ticks(&chart->x, ticks);
	for (uint32_t i = 0; i < count; i++) {
		rule(out, x_of(chart, ticks[i].value), TOP, x_of(chart, ticks[i].value), HEIGHT - BOTTOM, "grid");
		text_at(out, x_of(chart, ticks[i].value), HEIGHT - BOTTOM + 18, "middle", "tick", ticks[i].name);
	}
	rule(out, LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM, "axis");
	text_at(out, (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, "middle", "title", x->title);
	fprintf(out, "<g transform=\"translate(14 %.1f) rotate(-90)\">", (HEIGHT - BOTTOM + TOP) / 2);
	text_at(out, 0, 0, "middle", "title", y->title);
	fputs("</g>\n", out);
}

static bool can_show(const struct chart *chart, const struct chart_point *point)
{
	return isfinite(point->x) && isfinite(point->y) && isfinite(place(&chart->x, point->x)) &&
	       isfinite(place(&chart->y, point->y));
}

void chart_line(struct chart *chart, const struct chart_point *points, uint32_t count, unsigned colour, bool dashed,
		bool marked)
{
	fprintf(chart->out, "<g class=\"c%u\">\n<polyline class=\"line%s\" points=\"", colour % HTML_COLOURS,
		dashed ? " dashed" : "");
	for (uint32_t i = 0; i < count; i++) {
		if (can_show(chart, &points[i]))
			fprintf(chart->out, "%s%.1f,%.1f", i ? " " : "", x_of(chart, points[i].x),
				y_of(chart, points[i].y));
	}
	fputs("\"/>\n", chart->out);
	for (uint32_t i = 0; i < count && marked; i++) {
		if (can_show(chart, &points[i]))
			fprintf(chart->out,
				"<circle class=\"mark\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.2\"><title>%g: %.4g</title>"
				"</circle>\n",
				x_of(chart, points[i].x), y_of(chart, points[i].y), points[i].x, points[i].y);
	}
	fputs("</g>\n", chart->out);
}

void chart_end(struct chart *chart)
{
	fputs("</svg>\n", chart->out);
}

static void draw_row(FILE *out, const struct chart_row *row, double y, const struct chart_axis *axis, double width)
{
	double at = ROWS_LEFT + along(axis, row->value) * width, end = at;

	text_at(out, ROWS_LEFT - 10, y + 17, "end", "name", row->name);
	fprintf(out, "<g class=\"c%u\">", row->colour % HTML_COLOURS);
	if (axis->scale == CHART_LINEAR) {
		fprintf(out, "<rect class=\"mark\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"14\" rx=\"2\"/>",
			ROWS_LEFT, y + 6, at - ROWS_LEFT);
	} else {
		double low = ROWS_LEFT + along(axis, row->low) * width;

		end = ROWS_LEFT + along(axis, row->high) * width;
		fprintf(out, "<rect class=\"faint\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"8\" rx=\"4\"/>", low,
			y + 9, end - low);
		fprintf(out, "<circle class=\"mark\" cx=\"%.1f\" cy=\"%.1f\" r=\"5\"/>", at, y + 13);
	}
	fputs("</g>\n", out);
	text_at(out, (end > at ? end : at) + 10, y + 17, "start", "value", row->text);
}

void chart_rows(FILE *out, const struct chart_row *rows, uint32_t count, struct chart_axis *axis, const char *about)
{
	double width = WIDTH - ROWS_LEFT - ROWS_RIGHT, bottom = TOP + ROW * count;
	struct tick ticks[TICKS_MAX];
	uint32_t tick_count;

	widen(axis);
	begin_svg(out, bottom + BOTTOM, about);
	tick_count = make_ticks(axis, ticks);
	for (uint32_t i = 0; i < tick_count; i++) {
		double x = ROWS_LEFT + along(axis, ticks[i].value) * width;

		rule(out, x, TOP, x, bottom, "grid");
		text_at(out, x, bottom + 18, "middle", "tick", ticks[i].name);
	}
	text_at(out, ROWS_LEFT + width / 2, bottom + BOTTOM - 8, "middle", "title", axis->title);
	for (uint32_t i = 0; i < count; i++)
		draw_row(out, &rows[i], TOP + ROW * i, axis, width);
	fputs("</svg>\n", out);
}

void chart_legend_begin(FILE *out)
{
	fputs("<ul class=\"legend\">\n", out);
}

void chart_legend(FILE *out, unsigned colour, const char *name)
{
	fprintf(out, "<li class=\"c%u\"><i></i>", colour % HTML_COLOURS);
	html_text(out, name);
	fputs("</li>\n", out);
}

void chart_legend_end(FILE *out)
{
	fputs("</ul>\n", out);
}
