/* exchange.h - what two uroce-testpmd tell each other, over TCP or by address, before the traffic starts */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines of text. The initiator: "uroce-testpmd 1 QPS SIZE MTU ADDRESS RKEY VA", then a line "QPN PSN" a queue pair.
 * The target answers the same (its RKEY and VA are where the traffic goes), or "no REASON". The connection stays open
 * while the traffic lasts: its end tells the target to clear up.
 */
#ifndef APP_TESTPMD_EXCHANGE_H
#define APP_TESTPMD_EXCHANGE_H

#include <stdint.h>

#include <uroce/types.h>

struct app_pipe;

#define EXCHANGE_QPS_MAX 1024

struct exchange {
	uint32_t qps, size, mtu, rkey;
	uint64_t va;
	struct uroce_addr addr;
	uint32_t qpn[EXCHANGE_QPS_MAX], psn[EXCHANGE_QPS_MAX];
};

/* Where the lines go. */
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
