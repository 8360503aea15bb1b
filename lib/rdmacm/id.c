/* id.c - ids: created, bound, resolved, asked for their properties */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rdmacm/cma.h"
#include "verbs/ops.h"

static int create(struct cma_id *id, struct cma_channel *channel)
{
	if (id->is_ud)
		return uroce_cm_id_create_ud(channel->cm, (uintptr_t)id, &id->cm);
	return uroce_cm_id_create(channel->cm, (uintptr_t)id, &id->cm);
}

CMA_API int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **out, void *context,
			   enum rdma_port_space ps)
{
	struct rdma_event_channel *own = channel ? channel : rdma_create_event_channel();
	struct cma_id *id;
	int error;

	if (own == NULL)
		return -1;
	if (ps != RDMA_PS_TCP && ps != RDMA_PS_UDP && ps != RDMA_PS_IB)
		error = -EPROTONOSUPPORT;
	else
		error = 0;
	id = error ? NULL : cma_id_new(own, NULL, context, ps);
	if (error == 0)
		error = id ? create(id, cma_channel_of(own)) : -ENOMEM;
	if (error == 0) {
		id->sync = id->owns_channel = channel == NULL;
		*out = &id->id;
		return 0;
	}
	if (id)
		cma_id_free(id);
	if (channel == NULL)
		rdma_destroy_event_channel(own);
	return cma_result(error);
}

CMA_API int rdma_destroy_id(struct rdma_cm_id *ours)
{
	struct cma_id *id = cma_id_of(ours);
	struct rdma_event_channel *own = id->owns_channel ? ours->channel : NULL;
	int error = uroce_cm_id_destroy(id->cm);

	if (error)
		return cma_result(error);
	if (ours->event)
		rdma_ack_cm_event(ours->event);
	pthread_mutex_lock(&id->lock);
	while (id->acks != id->told)
		pthread_cond_wait(&id->acked, &id->lock);
	pthread_mutex_unlock(&id->lock);
	cma_forget_events(id);
	if (own)
		rdma_destroy_event_channel(own);
	cma_id_free(id);
	return 0;
}

/*
 * The families that an id bound to any address accepts. 0.0.0.0 stands for IPv4 only; :: stands for both, unless the
 * program has set the option that excludes IPv4.
 */
static enum uroce_cm_family family_of(const struct cma_id *id, const struct sockaddr *addr)
{
	if (addr->sa_family == AF_INET)
		return UROCE_CM_IPV4;
	return id->af_only ? UROCE_CM_IPV6 : UROCE_CM_ANY_FAMILY;
}

static int bind_id(struct cma_id *id, const struct sockaddr *addr, const struct uroce_addr *bound, uint16_t port)
{
	int error = uroce_cm_set_family(id->cm, family_of(id, addr));

	return error ? error : uroce_cm_bind(id->cm, bound, port);
}

CMA_API int rdma_bind_addr(struct rdma_cm_id *ours, struct sockaddr *addr)
{
	struct cma_id *id = cma_id_of(ours);
	struct uroce_addr bound;
	uint16_t port;
	int error = cma_read_address(addr, &bound, &port);

	if (error == 0)
		error = bind_id(id, addr, &bound, port);
	if (error)
		return cma_result(error);
	memcpy(&ours->route.addr.src_storage, addr,
	       addr->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
	ours->route.addr.src_sin.sin_port = htons(uroce_cm_port(id->cm)); /* same offset for IPv6 */
	if (uroce_cm_device(id->cm))
		cma_id_set_device(id);
	return 0;
}

CMA_API int rdma_resolve_addr(struct rdma_cm_id *ours, struct sockaddr *src, struct sockaddr *dst, int timeout_ms)
{
	struct cma_id *id = cma_id_of(ours);
	struct uroce_addr source = { { 0 } }, dest;
	uint16_t port = 0, dest_port;
	int error = cma_read_address(dst, &dest, &dest_port);

	if (error == 0 && cma_is_any(&dest)) /* the peer is this host */
		dest = cma_device_info()->addrs[0];
	if (error == 0 && src)
		error = cma_read_address(src, &source, &port);
	if (error == 0 && src && port && uroce_cm_port(id->cm) == 0)
		error = bind_id(id, src, &source, port);
	if (error)
		return cma_result(error);
	/* Another thread may read the event before the call that causes it returns. */
	memcpy(&ours->route.addr.dst_storage, dst,
	       dst->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
	error = uroce_cm_route(id->cm, src ? &source : NULL, &dest, timeout_ms > 0 ? (unsigned)timeout_ms : 0);
	return error ? cma_result(error) : cma_complete(id);
}

/* Over Ethernet the route is known as soon as the address is resolved. */
CMA_API int rdma_resolve_route(struct rdma_cm_id *ours, int timeout_ms)
{
	struct ibv_sa_path_rec *path = calloc(1, sizeof(*path));
	struct cma_id *id = cma_id_of(ours);
	int error = path ? 0 : -ENOMEM;

	(void)timeout_ms;
	if (error == 0 && ours->verbs == NULL)
		error = -EINVAL;
	if (error) {
		free(path);
		return cma_result(error);
	}
	path->sgid = ours->route.addr.addr.ibaddr.sgid;
	path->dgid = ours->route.addr.addr.ibaddr.dgid;
	path->pkey = 0xFFFF;
	path->hop_limit = 64;
	path->traffic_class = id->tos;
	path->reversible = path->numb_path = 1;
	path->mtu_selector = 2; /* 2: exactly this MTU */
	path->mtu = verb_mtu(cma_device_info()->mtu_bytes);
	free(ours->route.path_rec);
	ours->route.path_rec = path;
	ours->route.num_paths = 1;
	error = cma_tell(id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	return error ? cma_result(error) : cma_complete(id);
}

CMA_API int rdma_listen(struct rdma_cm_id *ours, int backlog)
{
	struct cma_id *id = cma_id_of(ours);
	int error = uroce_cm_listen_bound(id->cm, backlog > 0 ? (uint32_t)backlog : 0);

	if (error)
		return cma_result(error);
	if (ours->route.addr.src_addr.sa_family == 0)
		ours->route.addr.src_addr.sa_family = AF_INET;
	ours->route.addr.src_sin.sin_port = htons(uroce_cm_port(id->cm));
	return 0;
}

CMA_API __be16 rdma_get_src_port(struct rdma_cm_id *ours)
{
	return htons(uroce_cm_port(cma_id_of(ours)->cm));
}

CMA_API __be16 rdma_get_dst_port(struct rdma_cm_id *ours)
{
	return ours->route.addr.dst_sin.sin_port;
}

CMA_API int rdma_set_option(struct rdma_cm_id *ours, int level, int name, void *value, size_t bytes)
{
	struct cma_id *id = cma_id_of(ours);

	if (level != RDMA_OPTION_ID)
		return cma_result(-EOPNOTSUPP);
	switch (name) {
	case RDMA_OPTION_ID_TOS:
	case RDMA_OPTION_ID_ACK_TIMEOUT:
		if (bytes != 1)
			return cma_result(-EINVAL);
		*(name == RDMA_OPTION_ID_TOS ? &id->tos : &id->ack_timeout) = *(const uint8_t *)value;
		return 0;
	case RDMA_OPTION_ID_REUSEADDR:
		if (bytes != sizeof(int))
			return cma_result(-EINVAL);
		return cma_result(uroce_cm_set_reuse(id->cm, *(const int *)value != 0));
	case RDMA_OPTION_ID_AFONLY:
		if (bytes != sizeof(int))
			return cma_result(-EINVAL);
		id->af_only = *(const int *)value != 0;
		return 0;
	default:
		return cma_result(-ENOSYS);
	}
}

CMA_API int rdma_migrate_id(struct rdma_cm_id *ours, struct rdma_event_channel *channel)
{
	struct rdma_event_channel *own = channel ? channel : rdma_create_event_channel();
	struct cma_id *id = cma_id_of(ours);
	struct rdma_event_channel *before = ours->channel;
	int error = own ? uroce_cm_migrate(id->cm, cma_channel_of(own)->cm) : -errno;

	if (error) {
		if (own && channel == NULL)
			rdma_destroy_event_channel(own);
		return cma_result(error);
	}
	cma_move_events(id, cma_channel_of(own));
	ours->channel = own;
	if (id->owns_channel)
		rdma_destroy_event_channel(before);
	id->sync = id->owns_channel = channel == NULL;
	return 0;
}

CMA_API int rdma_set_local_ece(struct rdma_cm_id *ours, struct ibv_ece *ece)
{
	(void)ours;
	return ece->vendor_id || ece->options ? cma_result(-EOPNOTSUPP) : 0;
}

CMA_API int rdma_get_remote_ece(struct rdma_cm_id *ours, struct ibv_ece *ece)
{
	(void)ours;
	memset(ece, 0, sizeof(*ece));
	return 0;
}
