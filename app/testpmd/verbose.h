/* verbose.h - completions of uroce-testpmd as lines of text, while it runs */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lcores that poll note completions in a ring and never wait for who reads the lines. What the ring has no room for is
 * counted, and the count is a line, too.
 */
#ifndef APP_TESTPMD_VERBOSE_H
#define APP_TESTPMD_VERBOSE_H

#include <stdio.h>

#include <uroce/wr.h>

#define VERBOSE_RECEIVES 1u
#define VERBOSE_REQUESTS 2u

/* APP_EXIT_OK, or what to exit with, said. */
int verbose_open(void);
void verbose_close(void);

/* By any lcore. level: of the setting. */
void verbose_note(uint32_t level, const struct uroce_wc *wc);

/* What was noted since the last call; by one thread. */
void verbose_tell(FILE *out);

#endif
