/* show.h - what uroce-testpmd prints: ports, queue pairs, statistics */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_TESTPMD_SHOW_H
#define APP_TESTPMD_SHOW_H

#include <stdio.h>

#include "testpmd/traffic.h"

/* Of one port, 0 ...; or of all. */
#define SHOW_ALL (-1)
void show_port_info(const struct traffic *traffic, int port, FILE *out);
/* Counters since the last clear; only those that are not 0, each with its sentence. */
void show_port_stats(const struct traffic *traffic, int port, FILE *out);
/* All of them, those of the driver, too. */
void show_port_xstats(const struct traffic *traffic, int port, FILE *out);
/* What is shown counts from here on; with drivers what their drivers count does, too. */
void show_clear(const struct traffic *traffic, int port, bool drivers);
/* Connections by address: what there is now, and what has been counted. */
void show_cm(const struct traffic *traffic, FILE *out);
void show_qps(struct traffic *traffic, FILE *out);
/* One of them in full; why it is in ERR; either says so when there is none. */
void show_qp(struct traffic *traffic, uint32_t qp_num, FILE *out);
void show_why(struct traffic *traffic, uint32_t qp_num, FILE *out);
/* How busy each has been since the last call. */
void show_lcores(const struct traffic *traffic, FILE *out);
/*
 * One line of what has happened since the last call: requests that are done here, what was sent again for them and what
 * only asked a silent peer; or, where no queue pair sends requests, those of peers that were served. NULL: only begins
 * anew.
 */
void show_rate(const struct traffic *traffic, FILE *out);

#endif
