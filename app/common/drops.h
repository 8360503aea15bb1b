/* drops.h - what a port drops while a program waits, told once a second */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * "No answer" and "answers that are thrown away" want different remedies. A program that waits calls app_drops_tell()
 * now and then, with the same zeroed structure.
 */
#ifndef APP_COMMON_DROPS_H
#define APP_COMMON_DROPS_H

#include <uroce/stats.h>

#include "common/ports.h"

struct app_drops {
	struct uroce_stats told; /* what was counted when the last line was printed */
};

/* A line on standard error for each reason for which frames were dropped since the last call. */
void app_drops_tell(struct app_drops *drops, const struct app_port *port);

#endif
