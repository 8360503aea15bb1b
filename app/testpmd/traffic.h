/* traffic.h - queue pairs that send requests and queue pairs that serve them, polled by EAL lcores */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each worker lcore polls one lcore of the engine, and posts and polls for that lcore's queue pairs. The main thread
 * only sets flags and reads counters; to create or destroy queue pairs it pauses the workers.
 */
#ifndef APP_TESTPMD_TRAFFIC_H
#define APP_TESTPMD_TRAFFIC_H

#include <pthread.h>
#include <stdatomic.h>

#include "common/objects.h"
#include "common/ports.h"
#include "testpmd/keys.h"
#include "testpmd/settings.h"

#define TRAFFIC_WORKERS 16
#define EXCHANGE_QPS_MAX 1024

/* What an end tells the other (terms.h): its queue pairs, and what they are for. */
struct exchange {
	uint32_t qps, size, mtu, rkey;
	uint32_t sack_window; /* packets; 0: no SACKs */
	uint32_t paths;       /* of each queue pair; 0 and 1: one */
	uint32_t pkey;
	uint64_t va;
	struct uroce_addr addr;
	uint32_t qpn[EXCHANGE_QPS_MAX], psn[EXCHANGE_QPS_MAX];
};

/* One queue pair. */
struct flow {
	struct uroce_qp *qp;
	unsigned port, worker;
	bool asks, serves;           /* asks: it sends requests; serves: it posts receives */
	uint32_t requests, receives; /* how many are posted */
	uint32_t room;               /* how many receives may be posted */
	uint64_t random;
	uint64_t remote_va;
	uint32_t remote_rkey;
	struct keys keys;
	bool wants_key; /* the next request is a SEND with invalidate, for which it has no key yet */
	_Atomic bool dead;
	bool told;             /* its death has been printed */
	struct uroce_wc error; /* why it died */
	/* sums over the flow's requests; for a flow that only serves, over the SENDs that it has received */
	_Atomic uint64_t messages, bytes;
};

struct worker {
	struct traffic *traffic;
	unsigned index;
	struct uroce_lcore *lcore;
	struct uroce_cq *cqs[SETTINGS_PORTS];
	_Atomic bool paused;
};

/* What the queue pairs of a port share. */
struct traffic_port {
	struct app_port *port;
	struct app_objects objects;
	struct uroce_srq *srq; /* NULL: each queue pair has its own receive queue */
	uint8_t *memory;
	unsigned first_worker, worker_count;
};

struct traffic {
	struct settings *settings;
	struct uroce_engine *engine;
	struct traffic_port ports[SETTINGS_PORTS];
	unsigned port_count;
	uint64_t memory_bytes;    /* for each port */
	uint32_t cq_depth, depth; /* depths of the queues as created */
	struct worker workers[TRAFFIC_WORKERS];
	unsigned worker_count;
	struct flow flows[2 * EXCHANGE_QPS_MAX];
	_Atomic uint32_t flow_count;
	uint32_t area_message_bytes;    /* the largest message; a target uses the initiator's */
	_Atomic uint32_t message_bytes; /* the size of messages now */
	_Atomic bool running, pause, quit;
	/* why a peer's queue pairs could not be made or connected, which the peer is told, too; "": no failure */
	char trouble[160];
	pthread_mutex_t flows_lock; /* held while flows are destroyed, or read by another thread than their worker */
};

/* How many bytes a port needs for messages with these settings. */
uint64_t traffic_memory_bytes(const struct settings *settings);

/* Returns 0, or -1 after a complaint. The ports are open, and the EAL lcores 1 ... worker_count are free. */
int traffic_open(struct traffic *traffic);
int traffic_launch(struct traffic *traffic);
/* Stops the workers and frees everything. */
void traffic_close(struct traffic *traffic);

/* Packets in flight that this end offers with SACKs; 0: without. */
uint32_t traffic_sack_window(const struct traffic *traffic);
/* With both ends here: makes queue pairs between the two ports. */
int traffic_connect_ports(struct traffic *traffic);
/*
 * Makes queue pairs of port 0, which traffic_accept() connects later, and describes them in *ours, whose qps, size, mtu
 * and sack_window are set already. asks: this end is the initiator.
 */
int traffic_offer(struct traffic *traffic, bool asks, struct exchange *ours);
int traffic_accept(struct traffic *traffic, const struct exchange *theirs);
/* Destroys all queue pairs. */
void traffic_drop_flows(struct traffic *traffic);

/* Finds a flow by its QP number, with flows_lock held; NULL: there is none. */
struct flow *traffic_find(struct traffic *traffic, uint32_t qp_num);

/* From now on messages have so many bytes. Returns 0, or -1 after a complaint: more than at the start. */
int traffic_resize(struct traffic *traffic, uint32_t bytes);

void traffic_start(struct traffic *traffic);
/* Posts nothing more, and waits up to 2 s until what is outstanding has completed. */
void traffic_stop(struct traffic *traffic);

#endif
