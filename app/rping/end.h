/* end.h - one end of rping's exchange: a buffer is advertised, read and written again and again */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The client fills a buffer with a pattern and advertises it in a SEND of 16 bytes: address, key, length, all big
 * endian. The server READs it and answers with an empty advertisement. The client advertises another buffer, the server
 * WRITEs there what it has read, and answers again. Then the client has completed an iteration, and compares.
 */
#ifndef RPING_END_H
#define RPING_END_H

#include <uroce/uroce.h>

struct rping_options {
	bool server, client, persistent, verify, verbose, dry_run;
	const char *device, *ip, *gateway, *peer;
	bool no_dad;
	struct uroce_vlan vlan;
	unsigned port;
	uint32_t size;
	uint64_t count; /* 0: until ctrl-C */
};

struct rping_advert {
	uint64_t addr;
	uint32_t rkey, bytes;
};

enum rping_state { RPING_READ_ADVERT, RPING_WRITE_ADVERT };

struct rping_end {
	const struct rping_options *options;
	struct uroce_cm_id *id;
	struct uroce_addr peer; /* address of the client, for an end of a server */
	struct uroce_qp *qp;
	struct uroce_mr *mr;
	uint8_t *memory; /* advertisements received and sent, then the two buffers */
	uint64_t iterations;
	enum rping_state state; /* what the next advertisement is about: the buffer to read, or the buffer to write */
	uint8_t first;          /* first character of the pattern */
	bool established, failed, ended;
	struct rping_end *next;
};

/* Makes memory and QP, and posts a receive. Returns APP_EXIT_OK, or the exit code after a complaint. */
int rping_end_open(struct rping_end *end, const struct rping_options *options, struct uroce_cm_id *id,
		   struct uroce_pd *pd, struct uroce_cq *cq);
void rping_end_close(struct rping_end *end);
/* Starts the exchange of a client. */
int rping_end_start(struct rping_end *end);
/* Takes a completion of this end. Returns 0, or the exit code with which the connection has to be ended. */
int rping_end_handle(struct rping_end *end, const struct uroce_wc *wc);

#endif
