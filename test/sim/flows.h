/* flows.h - who sends what to whom through which switches: a plan, made from a few words or a text */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_FLOWS_H
#define SIM_FLOWS_H

#include <stdbool.h>
#include <stdint.h>

#define PLAN_HOSTS_MAX 254u   /* their number stands in the last byte of an address */
#define PLAN_SWITCHES_MAX 64u /* leaves, and as many spines */
#define PLAN_FLOWS_MAX 4096u
#define PLAN_BYTES_MAX (64u << 20)

/* One WRITE. */
struct sim_flow {
	uint32_t from, to, bytes;
	uint64_t start_ns;
};

/* Which hosts agree to SACKs: a flow has them if both of its hosts do. */
enum sim_sacks { SACKS_NONE, SACKS_EVEN, SACKS_ALL };

/* The same of all ports of switches; those of hosts drop and mark nothing. */
struct sim_port_limits {
	uint64_t byte_ps;    /* what a byte takes */
	uint64_t delay_ns;   /* of the link behind it */
	uint64_t limit;      /* bytes that may wait */
	uint64_t kmin, kmax; /* none are marked up to kmin, all from kmax on */
	uint32_t pmax;       /* per million: of those that come just before kmax */
};

/*
 * Hosts are spread over leaves, the first ones on the first leaf. Each leaf has a link to each spine; a flow takes one
 * of them by ECMP. Without spines there is a star of one leaf, or a dumbbell of two with one link between them.
 */
struct sim_plan {
	uint32_t leaves, spines;
	uint64_t neck_byte_ps; /* of the link of a dumbbell, of links to spines; 0: as fast as all others */
	uint32_t hosts, flow_count, largest;
	struct sim_flow *flows;
	enum sim_sacks sacks;
	uint8_t paths; /* of each flow that has SACKs; 0: one */
	struct sim_port_limits limits;
};

/*
 * incast:N[:BYTES], permutation:N[:BYTES], star:FILE, dumbbell:FILE, neck:MBPS:FILE (a dumbbell with such a link),
 * leaf-spine:LEAVES:SPINES:FILE. A line of a file is FROM->TO start NS size BYTES; empty lines, and those that begin
 * with #, say nothing. false: *why tells what is wrong.
 */
bool sim_plan_make(const char *words, struct sim_plan *plan, const char **why);
/* So many bytes a port of a switch, of which 20 to 80 % are for marks. */
void sim_plan_set_buffer(struct sim_plan *plan, uint64_t bytes);
/* false: no word for a value of enum sim_sacks. */
bool sim_plan_read_sacks(const char *word, enum sim_sacks *sacks);
bool sim_plan_has_sacks(const struct sim_plan *plan, const struct sim_flow *flow);
/* On which leaf a host is. */
uint32_t sim_plan_leaf(const struct sim_plan *plan, uint32_t host);
void sim_plan_forget(struct sim_plan *plan);

#endif
