/* show.h - what uroce-testpmd prints: ports, queue pairs, statistics */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_TESTPMD_SHOW_H
#define APP_TESTPMD_SHOW_H

#include <stdio.h>

#include "testpmd/traffic.h"

/* A port number from 0 on, or all ports. */
#define SHOW_ALL (-1)
void show_port_info(const struct traffic *traffic, int port);
/* Prints counters since the last clear: only those that are not 0, each with its sentence. */
void show_port_stats(const struct traffic *traffic, int port);
/* Prints all counters, with those of the driver. */
void show_port_xstats(const struct traffic *traffic, int port);
/* From now on shown counters count from 0; `drivers`: the counters of the drivers, too. */
void show_clear(const struct traffic *traffic, int port, bool drivers);
/* Prints connections by address: those in use, and counters. */
void show_cm(struct traffic *traffic);
void show_qps(struct traffic *traffic);
/* Prints completion queues, memory regions and shared receive queues. */
void show_cqs(struct traffic *traffic);
void show_mrs(struct traffic *traffic);
void show_srqs(struct traffic *traffic);
/* Print a queue pair in full; or why it is in ERR. Both say so if the queue pair does not exist. */
void show_qp(struct traffic *traffic, uint32_t qp_num);
void show_why(struct traffic *traffic, uint32_t qp_num);
/* Prints how busy each lcore has been since the last call. */
void show_lcores(struct traffic *traffic);
/*
 * Prints a line about the time since the last call: requests completed here, packets sent again for them, and packets
 * sent only to probe a silent peer. If no queue pair sends requests, the line counts the requests of peers that were
 * served. out NULL: prints nothing, and only starts counting anew.
 */
void show_rate(const struct traffic *traffic, FILE *out);

#endif
