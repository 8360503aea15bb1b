/* html.h - a page that stands for itself: its looks in the light and in the dark, text that may be anything */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_PERF_HTML_H
#define APP_PERF_HTML_H

#include <stdio.h>

#define HTML_COLOURS 10u /* classes c0 ... c9, for fills and strokes */

/* Up to where the content begins; title is plain text. */
void html_begin(FILE *out, const char *title);
void html_end(FILE *out);

/* Text as it is: what HTML would take for its own is escaped, also for an attribute in quotes. */
void html_text(FILE *out, const char *text);

/* A paragraph, heading or the like of plain text: html_line(out, "p class=\"soft\"", "%u of %u", ...). */
void html_line(FILE *out, const char *tag, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
