/* server_state.h - a running target: what its lanes share */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_SERVER_STATE_H
#define NVMET_SERVER_STATE_H

#include <pthread.h>
#include <uroce/uroce.h>

#include "nvmet/journal.h"
#include "nvmet/lane_state.h"
#include "nvmf/target.h"

#define SERVER_PORTS_MAX LANE_PORTS_MAX

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

#endif
