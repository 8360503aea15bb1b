/* connections.h - connection managers, set up and taken down by users over a bad network, with hosts that crash */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_CONNECTIONS_H
#define SIM_CONNECTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct sim_connections {
	uint64_t seed;
	bool trace;
	/* out */
	uint64_t hash, datagrams;
	uint32_t parties, established;
	char failure[256]; /* empty: none */
};

/* One story. Everything follows from the seed. */
void sim_connections_run(struct sim_connections *run);

#endif
