/* server.h - a running target: what its lanes share */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_SERVER_H
#define NVMET_SERVER_H

#include <uroce/uroce.h>

#include "nvmet/journal.h"
#include "nvmet/lane.h"
#include "nvmet/store.h"
#include "nvmf/target.h"

#define SERVER_PORTS_MAX LANE_PORTS_MAX
#define SERVER_COMPLETIONS 262144u /* CQ entries of a port for all its lanes */
#define POOL_LEAST_SHARE (4ull << 20)

/* Memory that ports may use: a key for each port. */
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
	bool has_threads; /* each lane but the first has a thread */
	pthread_mutex_t events_lock;
	struct request *spare; /* memory for the next event */
	uint16_t service;
	_Atomic bool ending, stopped;
	struct journal journal;
};

struct server_config {
	struct nvmf_config nvmf;
	const char *devices[SERVER_PORTS_MAX], *addresses[SERVER_PORTS_MAX], *gateways[SERVER_PORTS_MAX];
	struct uroce_vlan vlans[SERVER_PORTS_MAX];
	uint32_t port_count;
	uint32_t lanes; /* lcores that serve hosts, 1 ... LANES_MAX; 0: 1 */
	enum uroce_idle idle;
	uint16_t service;
	uint64_t pool_bytes;     /* for all lanes together; each has at least POOL_LEAST_SHARE */
	const char *record_path; /* directory for the last frames of failed connections; NULL: none */
	bool threads;            /* threads read and write files, not io_uring */
};

/* Returns APP_EXIT_OK, or the exit code after a complaint. */
int server_open(struct server *server, const struct server_config *config);
/* From now on hosts can connect. */
int server_listen(struct server *server);
/* Polls all lanes that no other thread polls. Returns whether there was work. */
bool server_poll(struct server *server);
/* Tells the hosts, and lets commands under way end, for at most so long. */
void server_end(struct server *server, unsigned seconds);
/* Closes all queues that are left, before their namespaces are freed. */
void server_close_queues(struct server *server);
void server_close(struct server *server);

/* Counts those of all lanes. */
uint32_t server_queue_count(const struct server *server);
struct server_counts server_counts(const struct server *server);
uint64_t server_used_bytes(const struct server *server);

/* Registers memory with all ports. NULL: no memory, or no room in a port's table. */
struct region *server_register(struct server *server, void *base, uint64_t bytes);
void server_deregister(struct server *server, struct region *region);

#endif
