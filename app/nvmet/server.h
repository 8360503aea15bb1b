/* server.h - a running target: its ports and its lanes, from opening to closing */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_SERVER_H
#define NVMET_SERVER_H

#include "nvmet/server_state.h"
#include "nvmet/store.h"

#define POOL_LEAST_SHARE (4ull << 20)

struct server_config {
	struct nvmf_config nvmf;
	const char *devices[SERVER_PORTS_MAX], *addresses[SERVER_PORTS_MAX], *gateways[SERVER_PORTS_MAX];
	struct uroce_vlan vlans[SERVER_PORTS_MAX];
	uint32_t port_count;
	uint32_t lanes; /* lcores that serve hosts, 1 ... LANES_MAX; 0: 1 */
	enum uroce_idle idle;
	uint16_t service;
	uint64_t pool_bytes;     /* buffers of all lanes together; each lane has at least POOL_LEAST_SHARE */
	bool no_dad;             /* as in struct uroce_port_config */
	const char *record_path; /* directory for the last frames of failed connections; NULL: none */
	bool threads;            /* threads read and write files, not io_uring */
};

/* Returns APP_EXIT_OK, or the exit code after a complaint. */
int server_open(struct server *server, const struct server_config *config);
/* From now on hosts can connect. */
int server_listen(struct server *server);
/* Polls all lanes that no other thread polls. Returns whether there was work. */
bool server_poll(struct server *server);
/* Tells the hosts that the target ends, and lets commands under way end, for at most `seconds`. */
void server_end(struct server *server, unsigned seconds);
/* Closes all queues that are left, before their namespaces are freed. */
void server_close_queues(struct server *server);
void server_close(struct server *server);

/* Counts those of all lanes. */
uint32_t server_queue_count(const struct server *server);
struct server_counts server_counts(const struct server *server);
uint64_t server_used_bytes(const struct server *server);

#endif
