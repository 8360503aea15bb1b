/* ep.c - endpoints: an id with all that belongs to it, and requests, each by one call that waits */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rdmacm/cma.h"

#define RESOLVE_MS 2000

/* Makes a bound id. A queue pair is made only when a request arrives. */
static int create_passive(struct cma_id *id, struct rdma_addrinfo *res, struct ibv_pd *pd,
			  const struct ibv_qp_init_attr *attr)
{
	if (rdma_bind_addr(&id->id, res->ai_src_addr) != 0)
		return -1;
	if (attr == NULL)
		return 0;
	id->ep_attr = malloc(sizeof(*attr));
	if (id->ep_attr == NULL)
		return cma_result(-ENOMEM);
	*id->ep_attr = *attr;
	id->ep_attr->qp_type = (enum ibv_qp_type)res->ai_qp_type;
	id->id.pd = pd;
	return 0;
}

static int create_active(struct cma_id *id, struct rdma_addrinfo *res, struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	if (rdma_resolve_addr(&id->id, res->ai_src_addr, res->ai_dst_addr, RESOLVE_MS) != 0 ||
	    rdma_resolve_route(&id->id, RESOLVE_MS) != 0)
		return -1;
	if (attr == NULL)
		return 0;
	attr->qp_type = (enum ibv_qp_type)res->ai_qp_type;
	return rdma_create_qp(&id->id, pd, attr);
}

CMA_API int rdma_create_ep(struct rdma_cm_id **out, struct rdma_addrinfo *res, struct ibv_pd *pd,
			   struct ibv_qp_init_attr *attr)
{
	struct rdma_cm_id *id;
	int result, error;

	if (rdma_create_id(NULL, &id, NULL, (enum rdma_port_space)res->ai_port_space) != 0)
		return -1;
	if (res->ai_flags & RAI_PASSIVE)
		result = create_passive(cma_id_of(id), res, pd, attr);
	else
		result = create_active(cma_id_of(id), res, pd, attr);
	if (result == 0) {
		*out = id;
		return 0;
	}
	error = errno;
	rdma_destroy_ep(id);
	errno = error;
	return -1;
}

CMA_API void rdma_destroy_ep(struct rdma_cm_id *id)
{
	rdma_destroy_qp(id);
	rdma_destroy_srq(id);
	rdma_destroy_id(id);
}

/* Gives the new id a channel of its own, as the listener has. */
static int take_request(struct cma_id *listener, struct rdma_cm_event *event)
{
	struct rdma_cm_id *id = event->id;
	struct ibv_qp_init_attr attr;

	if (listener->ep_attr) {
		attr = *listener->ep_attr;
		if (rdma_create_qp(id, listener->id.pd, &attr) != 0)
			return -1;
	}
	if (rdma_migrate_id(id, NULL) != 0)
		return -1;
	id->event = event; /* the event is kept so that its private data can be read until the next event */
	return 0;
}

/* Nobody gets the id of a request that could not be taken: its client is refused, and the id destroyed. */
static int refuse_request(struct rdma_cm_event *event)
{
	struct rdma_cm_id *id = event->id;
	int error = errno;

	rdma_ack_cm_event(event);
	rdma_reject(id, NULL, 0);
	rdma_destroy_ep(id);
	return cma_result(-error);
}

CMA_API int rdma_get_request(struct rdma_cm_id *listen, struct rdma_cm_id **out)
{
	struct cma_id *listener = cma_id_of(listen);
	struct rdma_cm_event *event;

	if (!listener->sync)
		return cma_result(-EINVAL);
	if (listen->event) {
		rdma_ack_cm_event(listen->event);
		listen->event = NULL;
	}
	if (rdma_get_cm_event(listen->channel, &event) != 0)
		return -1;
	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST) {
		rdma_ack_cm_event(event);
		return cma_result(-EINVAL);
	}
	if (take_request(listener, event) != 0)
		return refuse_request(event);
	*out = event->id;
	return 0;
}
