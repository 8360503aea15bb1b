/* server.h - the target as it runs: what is shared by the lanes of its lcores */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_SERVER_H
#define NVMET_SERVER_H

#include <uroce/uroce.h>

#include "nvmet/journal.h"
#include "nvmet/lane.h"
#include "nvmet/store.h"
#include "nvmf/target.h"

#define SERVER_PORTS_MAX LANE_PORTS_MAX
#define SERVER_COMPLETIONS 262144u /* of a port, under way at a time */
#define POOL_LEAST_SHARE (4ull << 20)

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
};

struct server {
	struct nvmf_target target;
	struct uroce_engine *engine;
	struct uroce_cm_channel *channel;
	struct uroce_cm_id *listeners[SERVER_PORTS_MAX];
	struct server_port ports[SERVER_PORTS_MAX];
	uint32_t port_count;
	struct lane *lanes;
	uint32_t lane_count;
	bool has_threads; /* each lane but the first has a thread that polls it */
	pthread_mutex_t events_lock;
	struct request *spare; /* for the next event */
	uint16_t service;
	_Atomic bool ending, stopped;
	struct journal journal;
};

struct server_config {
	struct nvmf_config nvmf;
	const char *devices[SERVER_PORTS_MAX], *addresses[SERVER_PORTS_MAX], *gateways[SERVER_PORTS_MAX];
	struct uroce_vlan vlans[SERVER_PORTS_MAX];
	uint32_t port_count;
	uint32_t lanes; /* lcores that serve hosts, up to LANES_MAX; 0: 1 */
	uint16_t service;
	uint64_t pool_bytes;     /* of all lanes together; each has POOL_LEAST_SHARE at least */
	const char *record_path; /* where connections that fail leave their last frames; NULL: nowhere */
	bool threads;            /* read and write files; not io_uring */
};

/* APP_EXIT_OK, or what to exit with; the reason has been printed. */
int server_open(struct server *server, const struct server_config *config);
/* Hosts can come from now on. */
int server_listen(struct server *server);
/* One poll of all lanes that no other thread polls. Returns whether there was something to do. */
bool server_poll(struct server *server);
/* Hosts are told, and what is under way ends; at most so long. */
void server_end(struct server *server, unsigned seconds);
/* All that are left, whatever they have: before their namespaces go. */
void server_close_queues(struct server *server);
void server_close(struct server *server);

/* Of all lanes. */
uint32_t server_queue_count(const struct server *server);
struct server_counts server_counts(const struct server *server);
uint64_t server_used_bytes(const struct server *server);

/* NULL: no memory, or no room in a port's table. */
struct region *server_register(struct server *server, void *base, uint64_t bytes);
void server_deregister(struct server *server, struct region *region);

#endif
