/* flows.h - many QPs between the two ends of a network, each with requests of its own and every completion counted */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   1. network_open(), flow_open() for each flow
 *   2. again and again: flow_poll() for each flow that works, network_poll()
 *   3. flow_drain(), flow_close(), network_close()
 * wr_ids count the requests, so a completion that is missing, doubled or out of order fails the test.
 */
#ifndef TEST_EAL_FLOWS_H
#define TEST_EAL_FLOWS_H

#include "network.h"

#define FLOW_DEPTH 64u

/* What a flow does; zeros are defaults. */
struct flow_work {
	enum uroce_wr_opcode opcode;
	uint32_t bytes;  /* a request, of the network's buffers */
	uint32_t depth;  /* requests outstanding, at most FLOW_DEPTH */
	int lcore;       /* of the end that posts */
	int far_lcore;   /* of the other one */
	uint8_t timeout; /* of the ACK timer; 0: 22, 17 s, so that a slow machine is not taken for a lost frame */
	uint8_t rnr_timer;
	bool wrong_key; /* each request fails */
};

struct flow {
	struct flow_work work;
	struct uroce_cq *cqs[2];
	struct uroce_qp *qps[2];
	uint64_t posted, completed; /* requests */
	uint64_t failed;            /* of those completed; what follows the first one was flushed */
};

void flow_open(struct network *network, struct flow *flow, const struct flow_work *work);
/* Takes what has completed, in order, and posts as many anew. */
void flow_poll(struct network *network, struct flow *flow);
/* Takes what has completed only. */
void flow_reap(struct flow *flow);
/* Polls until nothing is outstanding. */
void flow_drain(struct network *network, struct flow *flow);
/* Destroys its QPs and CQs, whatever is under way. */
void flow_close(struct flow *flow);
uint64_t flow_counter(const struct flow *flow, int end, const char *name);

#endif
