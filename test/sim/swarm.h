/* swarm.h - what a run is like: each seed draws its own limits, work and faults */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_SWARM_H
#define SIM_SWARM_H

#include <stdbool.h>
#include <stdint.h>

#include <uroce/wr.h>

#include "sim/fault.h"

#define SIM_NODES_MAX 4u
#define SIM_RECEIVES_MAX 16u

/* How nodes other than the first one keep up; all zero: as well as their peers. */
struct sim_pace {
	uint64_t receive_ns; /* what a frame takes that comes in */
	uint64_t send_ns;    /* and one that goes out, if its bytes take less */
	uint64_t tick_ns;    /* frames that have come are looked at only at multiples of it: answers leave in trains */
	uint64_t away_every_ns, away_ns; /* the node looks at nothing for so long, so often */
	uint32_t early;                  /* per million frames: it overtakes all that are delayed by the network */
	bool serial; /* the answers to a QP's READs have left before its next request is looked at */
};

/* Between the nodes, instead of links; each link to and from one takes delay_ns and byte_ps. */
struct sim_switches {
	uint32_t leaves, spines; /* as in struct sim_plan; no leaves: no switches */
	uint64_t buffer;         /* bytes a port */
	uint64_t neck_byte_ps;   /* of links between switches that lead away from hosts */
};

struct sim_config;
struct sim_plan;

/* What a run is asked for. UINT32_MAX and UINT64_MAX: as the seed draws it. */
struct sim_options {
	uint64_t seed;
	uint32_t messages; /* in all */
	uint32_t connections;
	uint32_t rates[FAULT_KINDS];     /* per million frames; of kinds that are about frames */
	uint32_t off;                    /* kinds of faults that never happen */
	const struct sim_config *steady; /* no swarm: just this; for what is measured. NULL: the seed draws it */
	uint32_t steady_bytes;           /* of each request then */
	const struct sim_plan *plan;     /* switches join the nodes, and each connection has one flow; NULL: none */
	uint32_t hours;                  /* no swarm either: mixed work spread over so many; 0: not */
	const uint64_t *allowed;         /* faults that may happen, sorted; NULL: all */
	uint32_t allowed_count;
	bool trace; /* print every packet and completion */
};

struct sim_config {
	uint32_t nodes, connections, messages;

	/* of all QPs */
	uint32_t mtu, depth, receives, max_packets;
	bool only_reads;  /* by the first end of each connection, of its peer: others need no memory then */
	bool only_writes; /* the same */
	uint8_t cc;       /* enum uroce_cc; with one QPs know the rate of their link */
	uint8_t rd_atomic, dest_rd_atomic, timeout, retry_cnt, rnr_retry, rnr_timer;
	bool any_order;   /* parts of READs may be asked for in any order */
	uint8_t repair;   /* enum uroce_read_repair, if not */
	uint16_t window;  /* both ends keep requests before their turn, and send SACKs; 0: no */
	uint8_t paths;    /* both ends spread their packets over so many; 0: they do not */
	uint64_t skew_ns; /* how much longer one of these may take than another */
	uint64_t dead_ns; /* from then on one of them carries nothing; 0: never */
	uint32_t holes;   /* in the messages of so many connections, the last ones: their first packet is always lost */
	uint32_t marks;   /* per million frames that arrive: the sender is told of congestion; 0: no rate control */
	bool srq, credits, imprecise, signal_all, no_probe, ipv6, shared_pd, zero_based, migration, check_first;
	bool reuse;               /* a QP is reset and set up again instead of destroyed */
	uint32_t srq_limit;       /* armed; 0: not */
	uint32_t start_near_wrap; /* per million connections */

	/* work */
	uint32_t weights[UROCE_WR_OPCODES];
	uint32_t signaled, inlined, fenced, two_way; /* per million */
	uint64_t app_ns;                             /* between two looks of an application */
	uint64_t rest_ns;                            /* between two batches, on average; 0: none */
	uint32_t post_batch, poll_batch;
	uint64_t receive_delay_ns; /* a receive is posted again that long after it was polled */

	/* the network */
	uint64_t delay_ns, jitter_ns, poll_ns, byte_ps;
	uint64_t late_ns; /* how late a reordered frame may be */
	uint64_t replay_ns;
	uint32_t burst_packets;
	struct sim_pace pace;
	struct sim_switches switches;
	bool crowded;                /* other QPs of the lcore leave little room for completions in the outbox */
	uint32_t plain;              /* per million connections: one of the two agrees to no SACKs */
	uint32_t rates[FAULT_KINDS]; /* per million frames, or per million requests */
	uint32_t stop_after;         /* faults stop when so many requests have been posted; UINT32_MAX: never */
	uint32_t lives;              /* how often a connection may be set up */
};

/* One connection with plain limits on a link of 100 Gbit/s and 10 us: what the tables measure begin with this. */
struct sim_config sim_swarm_steady(uint32_t messages);

static inline bool sim_node_is_slow(const struct sim_config *config, uint32_t node)
{
	return node > 0 &&
	       (config->pace.receive_ns || config->pace.tick_ns || config->pace.away_ns || config->pace.serial);
}

/* Fills config from the seed and what was asked for. */
void sim_swarm_draw(const struct sim_options *options, struct sim_config *config);
void sim_swarm_print(const struct sim_config *config);

#endif
