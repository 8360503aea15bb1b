/* page.h - lets uroce-report make an HTML page of the results */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_PERF_PAGE_H
#define APP_PERF_PAGE_H

#include <jansson.h>

struct perf_page;

/*
 * Checks that uroce-report runs and that the file can be written; the file's contents stay until the page is written.
 * Returns NULL after a complaint.
 */
struct perf_page *perf_page_open(const char *path);

/* Writes the page of root (NULL: none) and frees page, which may be NULL. Returns 0, or -1 after a complaint. */
int perf_page_close(struct perf_page *page, const json_t *root);

#endif
