/* server.h - the target as it runs: ports, hosts' queues, stores, one lcore that polls them all */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_SERVER_H
#define NVMET_SERVER_H

#include <uroce/uroce.h>

#include "nvmet/journal.h"
#include "nvmet/pool.h"
#include "nvmet/store.h"
#include "nvmf/target.h"

#define SERVER_PORTS_MAX 8u
#define SERVER_COMPLETIONS 262144u /* of a port, under way at a time */

/* Memory that ports may move: a key of each. */
struct region {
	void *base;
	uint64_t bytes;
	struct uroce_mr *mrs[SERVER_PORTS_MAX];
	uint32_t lkeys[SERVER_PORTS_MAX];
};

struct server_port {
	const char *device, *address;
	struct uroce_port *port;
	struct uroce_addr addr;
	struct uroce_pd *pd;
	struct uroce_cq *cq;
	uint32_t completions; /* that its queues may have in the CQ */
};

struct server_counts {
	uint64_t hosts_come, hosts_gone, hosts_refused, queues, refused_queues, commands, errors, waits_for_memory,
		broken_queues, expired;
	uint64_t stuck_queues, mute_queues; /* whose hosts did not take answers, did not connect to a controller */
};

struct queue;

struct server {
	struct nvmf_target target;
	struct uroce_engine *engine;
	struct uroce_lcore *lcore;
	struct uroce_cm_channel *channel;
	struct uroce_cm_id *listeners[SERVER_PORTS_MAX];
	struct server_port ports[SERVER_PORTS_MAX];
	uint32_t port_count;
	struct pool pool;
	struct region *pool_region;
	struct ring *ring;           /* NULL: io_uring cannot be used */
	struct queue *queues;        /* all there are, in a list */
	struct queue *ending_queues; /* those of which not everything has come back */
	struct peer *peers;
	uint32_t queue_count;
	struct queue *waiting_first,
		*waiting_last; /* with commands that wait for memory, in the order of their coming */
	uint16_t service;
	uint64_t now_ns, looked_ns;
	bool ending;
	struct server_counts counts;
	struct journal journal;
};

struct server_config {
	struct nvmf_config nvmf;
	const char *devices[SERVER_PORTS_MAX], *addresses[SERVER_PORTS_MAX], *gateways[SERVER_PORTS_MAX];
	struct uroce_vlan vlans[SERVER_PORTS_MAX];
	uint32_t port_count;
	uint16_t service;
	uint64_t pool_bytes;
	const char *record_path; /* where connections that fail leave their last frames; NULL: nowhere */
	bool threads;            /* read and write files; not io_uring */
};

/* APP_EXIT_OK, or what to exit with; the reason has been printed. */
int server_open(struct server *server, const struct server_config *config);
/* Hosts can come from now on. */
int server_listen(struct server *server);
/* One poll. Returns whether there was something to do. */
bool server_poll(struct server *server);
/* Hosts are told, and what is under way ends; at most so long. */
void server_end(struct server *server, unsigned seconds);
/* All that are left, whatever they have: before their namespaces go. */
void server_close_queues(struct server *server);
void server_close(struct server *server);

/* NULL: no memory, or no room in a port's table. */
struct region *server_register(struct server *server, void *base, uint64_t bytes);
void server_deregister(struct server *server, struct region *region);

#endif
