/* drops.h - tells a waiting user what a port drops, once a second */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * "No answer" and "answers that are thrown away" need different remedies. A program that waits calls app_drops_tell()
 * now and then, always with the same struct, which is zeroed at first.
 */
#ifndef APP_COMMON_DROPS_H
#define APP_COMMON_DROPS_H

#include <uroce/stats.h>

#include "common/ports.h"

struct app_drops {
	struct uroce_stats told; /* the counters when the last line was printed */
};

/* Prints on standard error a line for each reason for which frames were dropped since the last call. */
void app_drops_tell(struct app_drops *drops, const struct app_port *port);

#endif
