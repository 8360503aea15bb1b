/* page_plots.h - the plots of a page (page.h): which of them the results are enough for */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_PERF_PAGE_PLOTS_H
#define APP_PERF_PAGE_PLOTS_H

#include <jansson.h>
#include <stdio.h>

void perf_page_plots(FILE *out, const json_t *results);

#endif
