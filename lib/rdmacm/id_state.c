/* id_state.c - creates and frees the struct behind an id */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "rdmacm/cma.h"

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
	return id;
}

void cma_id_set_device(struct cma_id *id)
{
	id->id.verbs = cma_context();
	id->id.port_num = 1;
}

void cma_id_free(struct cma_id *id)
{
	pthread_mutex_destroy(&id->lock);
	pthread_cond_destroy(&id->acked);
	free(id->id.route.path_rec);
	free(id->ep_attr);
	free(id);
}
