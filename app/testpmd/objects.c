/* objects.c - prints tables of completion queues, memory regions and shared receive queues */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "testpmd/objects.h"

static uint32_t count_qps(const struct traffic *traffic, unsigned port, unsigned worker)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < atomic_load(&traffic->flow_count); i++)
		count += traffic->flows[i].port == port && traffic->flows[i].worker == worker;
	return count;
}

void objects_show_cqs(const struct traffic *traffic, FILE *out)
{
	fprintf(out, "%-5s %-6s %-12s %s\n", "port", "lcore", "queue pairs", "room");
	for (unsigned p = 0; p < traffic->port_count; p++) {
		for (unsigned w = 0; w < traffic->worker_count; w++) {
			if (traffic->workers[w].cqs[p])
				fprintf(out, "%-5u %-6u %-12u %u\n", p, w, count_qps(traffic, p, w), traffic->cq_depth);
		}
	}
}

void objects_show_mrs(const struct traffic *traffic, FILE *out)
{
	fprintf(out, "%-5s %-18s %-14s %-12s %s\n", "port", "address", "bytes", "key", "peers may");
	for (unsigned p = 0; p < traffic->port_count; p++) {
		const struct traffic_port *port = &traffic->ports[p];

		fprintf(out, "%-5u %-18p %-14lu 0x%08x   read, write, atomics, flush\n", p, (void *)port->memory,
			traffic->memory_bytes, uroce_mr_rkey(port->objects.mr));
	}
}

void objects_show_srqs(const struct traffic *traffic, FILE *out)
{
	fprintf(out, "%-5s %-9s %s\n", "port", "receives", "room");
	for (unsigned p = 0; p < traffic->port_count; p++) {
		struct uroce_srq_attr attr;

		if (traffic->ports[p].srq == NULL)
			continue;
		uroce_srq_query(traffic->ports[p].srq, &attr);
		fprintf(out, "%-5u %-9u %u\n", p, attr.count, attr.max_wr);
	}
	if (!traffic->settings->srq)
		fprintf(out, "none: --srq makes one a port\n");
}
