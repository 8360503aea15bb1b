/* inject.h - injects faults on the links of uroce-testpmd while it runs */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_TESTPMD_INJECT_H
#define APP_TESTPMD_INJECT_H

#include "testpmd/traffic.h"

#define INJECT_ALL UINT16_MAX

/*
 * Attaches the settings' faults to all ports, before any lcore polls them. Returns APP_EXIT_OK, or the exit code after
 * a complaint.
 */
int inject_open(const struct traffic *traffic);
/* To be called when no lcore polls any more. */
void inject_close(void);

/*
 * Each changes nothing if it fails, and complains. port: one port, or INJECT_ALL. what: loss, dup, reorder or corrupt;
 * probability: "0.01", or "1%".
 */
int inject_set(uint16_t port, const char *what, const char *probability);
/* cut: from now on a port loses all frames that it receives, as with a pulled cable; else it receives again. */
int inject_cut(uint16_t port, bool cut);
/* inject_cut() for a port that is stopped: it stays cut whatever faults are changed. */
void inject_stop(uint16_t port, bool stopped);
/* Removes all faults. */
void inject_none(void);

/* Prints which faults are set, and how often they have struck. */
void inject_show(void);

#endif
