/* page.h - the results for people: uroce-report makes one HTML page of what json.h has gathered */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_PERF_PAGE_H
#define APP_PERF_PAGE_H

#include <jansson.h>

struct perf_page;

/* Checks that uroce-report runs and the file can be written, and leaves what is in it until then. NULL: complained. */
struct perf_page *perf_page_open(const char *path);

/* Writes the page of root (NULL: none) and frees it. 0, or -1 after a complaint; nothing for NULL. */
int perf_page_close(struct perf_page *page, const json_t *root);

#endif
