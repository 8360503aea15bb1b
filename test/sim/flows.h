/* flows.h - who sends what to whom through which switches: a plan, made from a few words or a text */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_FLOWS_H
#define SIM_FLOWS_H

#include <stdbool.h>
#include <stdint.h>

#define PLAN_HOSTS_MAX 254u /* their number stands in the last byte of an address */
#define PLAN_FLOWS_MAX 4096u
#define PLAN_BYTES_MAX (64u << 20)

/* STAR: one switch. DUMBBELL: two, each with half of the hosts, and one link between them. */
enum sim_topology { TOPOLOGY_STAR, TOPOLOGY_DUMBBELL };

/* One WRITE. */
struct sim_flow {
	uint32_t from, to, bytes;
	uint64_t start_ns;
};

/* The same of all ports of switches; those of hosts drop and mark nothing. */
struct sim_port_limits {
	uint64_t byte_ps;    /* what a byte takes */
	uint64_t delay_ns;   /* of the link behind it */
	uint64_t limit;      /* bytes that may wait */
	uint64_t kmin, kmax; /* none are marked up to kmin, all from kmax on */
	uint32_t pmax;       /* per million: of those that come just before kmax */
};

struct sim_plan {
	enum sim_topology topology;
	uint32_t hosts, flow_count, largest;
	struct sim_flow *flows;
	struct sim_port_limits limits;
};

/*
 * incast:N[:BYTES], star:FILE, dumbbell:FILE. A line of a file is FROM->TO start NS size BYTES; empty lines, and those
 * that begin with #, say nothing. false: *why tells what is wrong with it.
 */
bool sim_plan_make(const char *words, struct sim_plan *plan, const char **why);
void sim_plan_forget(struct sim_plan *plan);

#endif
