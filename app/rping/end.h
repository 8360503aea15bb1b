/* end.h - one end of rping's exchange: a buffer advertised, read and written again and again */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The client fills a buffer with a pattern and advertises it in a SEND of 16 bytes: address, key, length, all big
 * endian. The server READs it and answers with an empty advertisement. The client advertises another buffer, the server
 * WRITEs what it has read there and answers again; then the client has an iteration, and compares.
 */
#ifndef RPING_END_H
#define RPING_END_H

#include <uroce/uroce.h>

struct rping_options {
	bool server, client, persistent, verify, verbose, dry_run;
	const char *device, *ip, *gateway, *peer;
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
	struct uroce_addr peer; /* of a server's */
	struct uroce_qp *qp;
	struct uroce_mr *mr;
	uint8_t *memory; /* advertisements in and out, then the two buffers */
	uint64_t iterations;
	enum rping_state state; /* which advertisement is under way: of what is read, or of where is written */
	uint8_t first;          /* character that the pattern begins with */
	bool established, failed, ended;
	struct rping_end *next;
};

/* Memory, QP and a receive. 0 or an exit code; the reason has been printed. */
int rping_end_open(struct rping_end *end, const struct rping_options *options, struct uroce_cm_id *id,
		   struct uroce_pd *pd, struct uroce_cq *cq);
void rping_end_close(struct rping_end *end);
/* The client begins. */
int rping_end_start(struct rping_end *end);
/* A completion of this end. 0; or an exit code, then the connection is to be ended. */
int rping_end_take(struct rping_end *end, const struct uroce_wc *wc);

#endif
