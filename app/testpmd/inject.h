/* inject.h - faults on the links of uroce-testpmd, while it runs */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_TESTPMD_INJECT_H
#define APP_TESTPMD_INJECT_H

#include "testpmd/traffic.h"

#define INJECT_ALL UINT16_MAX

/* Puts the settings' faults on all ports, before any lcore polls them. APP_EXIT_OK, or what to exit with, said. */
int inject_open(const struct traffic *traffic);
/* When no lcore polls any more. */
void inject_close(void);

/*
 * Each complains when it fails, and changes nothing then; port: INJECT_ALL, or one of them. what: loss, dup, reorder or
 * corrupt; probability: "0.01", or "1%".
 */
int inject_set(uint16_t port, const char *what, const char *probability);
/* All frames that a port receives are lost, as by a pulled cable; or no more. */
int inject_cut(uint16_t port, bool cut);
/* The same of a port that is stopped, which no fault that ends makes run again. */
void inject_stop(uint16_t port, bool stopped);
/* No faults of any kind. */
void inject_none(void);

/* What is set, and what has happened. */
void inject_show(FILE *out);

#endif
