/* mix.c - chooses operations at random, each as often as its weight says */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "testpmd/mix.h"

#include "common/draw.h"

/* The prompt may change the weights meanwhile, so each is read once. */
enum uroce_wr_opcode mix_pick(const struct settings *settings, uint64_t *random)
{
	uint64_t weights[SETTINGS_OPS], sum = 0, ticket;
	uint32_t op = 0;

	for (uint32_t i = 0; i < SETTINGS_OPS; i++) {
		weights[i] = __atomic_load_n(&settings->weights[i], __ATOMIC_RELAXED);
		sum += weights[i];
	}
	ticket = (draw_next(random) >> 11) % (sum ? sum : 1);
	while (op + 1 < SETTINGS_OPS && ticket >= weights[op])
		ticket -= weights[op++];
	return settings_op_names[op] ? (enum uroce_wr_opcode)op : UROCE_WR_RDMA_WRITE;
}
