/* traffic.h - queue pairs that ask and queue pairs that serve, polled by EAL lcores */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each worker lcore polls one lcore of the engine, posts and polls for the queue pairs that live there. The main thread
 * only sets flags and reads counters; to create or destroy queue pairs it pauses the workers' posting.
 */
#ifndef APP_TESTPMD_TRAFFIC_H
#define APP_TESTPMD_TRAFFIC_H

#include <pthread.h>
#include <stdatomic.h>

#include "common/objects.h"
#include "common/ports.h"
#include "testpmd/exchange.h"
#include "testpmd/settings.h"

#define TRAFFIC_WORKERS 16

/* One queue pair. */
struct flow {
	struct uroce_qp *qp;
	unsigned port, worker;
	bool asks, serves;           /* posts requests; posts receives */
	uint32_t requests, receives; /* posted */
	uint32_t room;               /* receives that may be */
	uint64_t random;
	uint64_t remote_va;
	uint32_t remote_rkey;
	_Atomic bool dead;
	bool told;                        /* its death has been printed */
	struct uroce_wc error;            /* why it died */
	_Atomic uint64_t messages, bytes; /* of its requests; of one that only serves, of SENDs that it received */
};

struct worker {
	struct traffic *traffic;
	unsigned index;
	struct uroce_lcore *lcore;
	struct uroce_cq *cqs[SETTINGS_PORTS];
	_Atomic bool paused;
};

/* What a port has for its queue pairs. */
struct traffic_port {
	struct app_port *port;
	struct app_objects objects;
	struct uroce_srq *srq; /* NULL: each queue pair has receives of its own */
	uint8_t *memory;
	unsigned first_worker, worker_count;
};

struct traffic {
	struct settings *settings;
	struct uroce_engine *engine;
	struct traffic_port ports[SETTINGS_PORTS];
	unsigned port_count;
	uint64_t memory_bytes;    /* of each port */
	uint32_t cq_depth, depth; /* of the queues that are made */
	struct worker workers[TRAFFIC_WORKERS];
	unsigned worker_count;
	struct flow flows[2 * EXCHANGE_QPS_MAX];
	_Atomic uint32_t flow_count;
	uint32_t area_message_bytes;    /* what a message may have; the target takes the initiator's */
	_Atomic uint32_t message_bytes; /* what it has */
	_Atomic bool running, pause, quit;
	char trouble[160]; /* why a peer's queue pairs cannot be made or connected, for the peer, too; "" none */
	pthread_mutex_t flows_lock; /* flows go, or are looked at by another thread than their workers */
};

/* What a port needs for messages with these settings. */
uint64_t traffic_memory_bytes(const struct settings *settings);

/* 0, or -1 after a complaint. Ports are open; the EAL lcores 1 ... worker_count are free. */
int traffic_open(struct traffic *traffic);
int traffic_launch(struct traffic *traffic);
/* Stops the workers and gives everything back. */
void traffic_close(struct traffic *traffic);

/* Both ends here: queue pairs between the two ports. */
int traffic_connect_ports(struct traffic *traffic);
/* Queue pairs of port 0, to be connected: fills ours. asks: the initiator's. */
int traffic_offer(struct traffic *traffic, uint32_t qps, uint32_t size, uint32_t mtu, bool asks, struct exchange *ours);
int traffic_accept(struct traffic *traffic, const struct exchange *theirs);
/* Both with the exchange of a peer: of its queue pairs, or of those that the settings want. */
bool traffic_serve(struct traffic *traffic, const struct exchange_line *line);
int traffic_meet(struct traffic *traffic, const struct exchange_line *line);
/* Destroys all queue pairs. */
void traffic_drop_flows(struct traffic *traffic);

/* A flow by its number, under flows_lock; NULL: there is none. */
struct flow *traffic_find(struct traffic *traffic, uint32_t qp_num);

/* Messages have so many bytes from now on. 0, or -1 after a complaint: more than they began with. */
int traffic_resize(struct traffic *traffic, uint32_t bytes);

void traffic_start(struct traffic *traffic);
/* Posts no more and waits, at most 2 s, until what is outstanding has completed. */
void traffic_stop(struct traffic *traffic);

#endif
