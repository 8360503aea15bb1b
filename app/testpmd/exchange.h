/* exchange.h - the lines that two uroce-testpmd exchange, over TCP or by address, before the traffic starts */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The exchange is lines of text. The initiator sends "uroce-testpmd 1 QPS SIZE MTU ADDRESS RKEY VA [WINDOW [PATHS]]",
 * then a line "QPN PSN" for each queue pair. The target answers with such lines about its own end (the traffic uses its
 * RKEY and VA), or with "no REASON". The connection stays open while the traffic lasts; when the connection ends the
 * target destroys the queue pairs.
 */
#ifndef APP_TESTPMD_EXCHANGE_H
#define APP_TESTPMD_EXCHANGE_H

#include <stdint.h>

#include <uroce/types.h>

struct app_pipe;

#define EXCHANGE_QPS_MAX 1024

struct exchange {
	uint32_t qps, size, mtu, rkey;
	uint32_t sack_window; /* packets; 0: no SACKs */
	uint32_t paths;       /* of each queue pair; 0 and 1: one */
	uint32_t pkey;
	uint64_t va;
	struct uroce_addr addr;
	uint32_t qpn[EXCHANGE_QPS_MAX], psn[EXCHANGE_QPS_MAX];
};

/* The connection that the lines go over. */
struct exchange_line {
	int fd;                /* -1 with a pipe */
	struct app_pipe *pipe; /* NULL: TCP */
};

/* A listening descriptor, or -1 after a complaint. */
int exchange_listen(unsigned port);
/* A connection, or -1 after a complaint. */
int exchange_dial(const char *host, unsigned port);

/* 0, or -1 after a complaint. */
int exchange_send(const struct exchange_line *line, const struct exchange *ours);
int exchange_refuse(const struct exchange_line *line, const char *reason);
int exchange_receive(const struct exchange_line *line, struct exchange *theirs);

#endif
