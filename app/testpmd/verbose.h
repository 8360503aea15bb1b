/* verbose.h - prints completions of uroce-testpmd as lines while it runs */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lcores that poll note completions in a ring, and never wait for the printing thread. Completions for which the ring
 * has no room are counted, and the count is printed.
 */
#ifndef APP_TESTPMD_VERBOSE_H
#define APP_TESTPMD_VERBOSE_H

#include <stdio.h>

#include <uroce/wr.h>

#define VERBOSE_RECEIVES 1u
#define VERBOSE_REQUESTS 2u

/* Returns APP_EXIT_OK, or the exit code after a complaint. */
int verbose_open(void);
void verbose_close(void);

/* Notes a completion, if the level of the setting asks for it. Any lcore may call it. */
void verbose_note(uint32_t level, const struct uroce_wc *wc);

/* For one thread: prints what was noted since the last call. */
void verbose_tell(FILE *out);

#endif
