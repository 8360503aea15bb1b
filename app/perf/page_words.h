/* page_words.h - what the numbers of a page (page.h) mean, in sentences */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_PERF_PAGE_WORDS_H
#define APP_PERF_PAGE_WORDS_H

#include <jansson.h>
#include <stdio.h>

/* The few numbers that most look for. */
void perf_page_cards(FILE *out, const json_t *results);

/* What was found, and what to make of it. */
void perf_page_sentences(FILE *out, const json_t *root);

/* What the columns mean. */
void perf_page_terms(FILE *out);

#endif
