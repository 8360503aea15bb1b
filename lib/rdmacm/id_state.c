/* id_state.c - creates and frees the struct behind an id, and disconnects all ids when the program ends */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "rdmacm/cma.h"

#define GOODBYE_MS 200

static struct {
	pthread_mutex_t lock;
	struct cma_id *first;
	pid_t process; /* the process that made the ids; a child that has been forked has no stack */
} all = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void enter(struct cma_id *id)
{
	pthread_mutex_lock(&all.lock);
	all.process = getpid();
	id->next_id = all.first;
	id->link_to_id = &all.first;
	if (all.first)
		all.first->link_to_id = &id->next_id;
	all.first = id;
	pthread_mutex_unlock(&all.lock);
}

static void leave(struct cma_id *id)
{
	pthread_mutex_lock(&all.lock);
	*id->link_to_id = id->next_id;
	if (id->next_id)
		id->next_id->link_to_id = id->link_to_id;
	pthread_mutex_unlock(&all.lock);
}

/*
 * When the program ends, tells the peers of all connections that are still open, as the kernel does for its own
 * programs. The program gets no events of these disconnects. Peers that do not answer are waited for only a moment. If
 * another thread is just making an id, no peer is told.
 */
__attribute__((destructor)) static void say_goodbye(void)
{
	struct uroce_cm_usage usage;
	unsigned told = 0;

	if (all.first == NULL || all.process != getpid() || pthread_mutex_trylock(&all.lock) != 0)
		return;
	for (struct cma_id *id = all.first; id; id = id->next_id)
		told += id->cm && uroce_cm_id_destroy(id->cm) == 0;
	for (unsigned i = 0; told && i < GOODBYE_MS; i++) {
		if (uroce_cm_usage(cma_engine(), &usage) != 0 || usage.connections == 0)
			break;
		usleep(1000);
	}
}

struct cma_id *cma_id_new(struct rdma_event_channel *channel, struct uroce_cm_id *cm, void *context,
			  enum rdma_port_space ps)
{
	struct cma_id *id = calloc(1, sizeof(*id));

	if (id == NULL)
		return NULL;
	id->cm = cm;
	id->is_ud = ps == RDMA_PS_UDP;
	id->id.channel = channel;
	id->id.context = context;
	id->id.ps = ps;
	id->id.qp_type = id->is_ud ? IBV_QPT_UD : IBV_QPT_RC;
	pthread_mutex_init(&id->lock, NULL);
	pthread_cond_init(&id->acked, NULL);
	enter(id);
	return id;
}

void cma_id_set_device(struct cma_id *id)
{
	id->id.verbs = cma_context();
	id->id.port_num = 1;
}

void cma_id_free(struct cma_id *id)
{
	leave(id);
	pthread_mutex_destroy(&id->lock);
	pthread_cond_destroy(&id->acked);
	free(id->id.route.path_rec);
	free(id->ep_attr);
	free(id);
}
