/* channel.c - events: those of the connection manager, and events of this library */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "rdmacm/cma.h"

static int watch(int epoll, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

CMA_API struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct uroce_engine *engine = cma_engine();
	struct cma_channel *channel = engine ? calloc(1, sizeof(*channel)) : NULL;
	int error;

	if (channel == NULL)
		return NULL;
	error = uroce_cm_channel_create(engine, &channel->cm);
	if (error) {
		free(channel);
		cma_result(error);
		return NULL;
	}
	pthread_mutex_init(&channel->lock, NULL);
	pthread_mutex_init(&channel->reading, NULL);
	channel->last = &channel->first;
	channel->own_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	channel->channel.fd = epoll_create1(EPOLL_CLOEXEC);
	if (channel->own_fd >= 0 && channel->channel.fd >= 0 && watch(channel->channel.fd, channel->own_fd) == 0 &&
	    watch(channel->channel.fd, uroce_cm_channel_fd(channel->cm)) == 0)
		return &channel->channel;
	error = -errno;
	rdma_destroy_event_channel(&channel->channel);
	cma_result(error);
	return NULL;
}

CMA_API void rdma_destroy_event_channel(struct rdma_event_channel *ours)
{
	struct cma_channel *channel = cma_channel_of(ours);
	struct cma_event *next;

	if (channel->channel.fd >= 0)
		close(channel->channel.fd);
	if (channel->own_fd >= 0)
		close(channel->own_fd);
	for (struct cma_event *at = channel->first; at; at = next) {
		next = at->next;
		free(at);
	}
	uroce_cm_channel_destroy(channel->cm);
	pthread_mutex_destroy(&channel->lock);
	pthread_mutex_destroy(&channel->reading);
	free(channel);
}

int cma_tell(struct cma_id *id, enum rdma_cm_event_type type, int status)
{
	struct cma_channel *channel = cma_channel_of(id->id.channel);
	struct cma_event *one = calloc(1, sizeof(*one));

	if (one == NULL)
		return -ENOMEM;
	one->event = (struct rdma_cm_event){ .id = &id->id, .event = type, .status = status };
	pthread_mutex_lock(&channel->lock);
	*channel->last = one;
	channel->last = &one->next;
	pthread_mutex_unlock(&channel->lock);
	eventfd_write(channel->own_fd, 1);
	return 0;
}

/* Takes the id's own events off the list. */
static struct cma_event *take_those_of(struct cma_channel *channel, const struct cma_id *id)
{
	struct cma_event *taken = NULL, **end = &taken;

	pthread_mutex_lock(&channel->lock);
	for (struct cma_event **at = &channel->first; *at;) {
		struct cma_event *one = *at;

		if (one->event.id != &id->id) {
			at = &one->next;
			continue;
		}
		*at = one->next;
		one->next = NULL;
		*end = one;
		end = &one->next;
	}
	channel->last = &channel->first;
	while (*channel->last)
		channel->last = &(*channel->last)->next;
	pthread_mutex_unlock(&channel->lock);
	return taken;
}

void cma_move_events(struct cma_id *id, struct cma_channel *to)
{
	struct cma_event *taken = take_those_of(cma_channel_of(id->id.channel), id);

	if (taken == NULL)
		return;
	pthread_mutex_lock(&to->lock);
	*to->last = taken;
	while (*to->last)
		to->last = &(*to->last)->next;
	pthread_mutex_unlock(&to->lock);
	eventfd_write(to->own_fd, 1);
}

void cma_forget_events(struct cma_id *id)
{
	struct cma_event *next;

	for (struct cma_event *at = take_those_of(cma_channel_of(id->id.channel), id); at; at = next) {
		next = at->next;
		free(at);
	}
}

/* Takes the first event of this library; NULL: there is none. */
static struct cma_event *take_own(struct cma_channel *channel)
{
	struct cma_event *one;
	eventfd_t count;

	pthread_mutex_lock(&channel->lock);
	one = channel->first;
	if (one)
		channel->first = one->next;
	if (channel->first == NULL) {
		channel->last = &channel->first;
		eventfd_read(channel->own_fd, &count);
	}
	pthread_mutex_unlock(&channel->lock);
	return one;
}

/* ---- events of the connection manager as events of rdma_cm ---- */

static void set_private(struct cma_event *one, const struct uroce_cm_event *from, const void **data, uint8_t *bytes)
{
	memcpy(one->private_data, from->private_data, from->private_bytes);
	*data = from->private_bytes ? one->private_data : NULL;
	*bytes = (uint8_t)from->private_bytes;
}

static void set_addresses(struct cma_id *id, const struct uroce_cm_event *from, uint16_t peer_port)
{
	struct rdma_addr *addr = &id->id.route.addr;

	cma_write_address(&from->local, uroce_cm_port(id->cm), &addr->src_storage);
	cma_write_address(&from->peer, peer_port, &addr->dst_storage);
	memcpy(addr->addr.ibaddr.sgid.raw, from->local.bytes, 16);
	memcpy(addr->addr.ibaddr.dgid.raw, from->peer.bytes, 16);
	addr->addr.ibaddr.pkey = 0xFFFF;
}

static uint16_t port_of(const struct sockaddr_storage *address)
{
	const struct sockaddr_in *in = (const void *)address; /* an IPv6 address has its port at the same offset */

	return ntohs(in->sin_port);
}

/* Returns false if the request cannot be served, and has been refused. */
static bool take_request(struct cma_event *one, const struct uroce_cm_event *from)
{
	struct cma_id *listener = (struct cma_id *)(uintptr_t)from->context;
	struct cma_id *id = cma_id_new(listener->id.channel, from->id, listener->id.context, listener->id.ps);
	struct rdma_conn_param *conn = &one->event.param.conn;

	if (id == NULL) {
		uroce_cm_reject(from->id, NULL, 0);
		uroce_cm_id_destroy(from->id);
		return false;
	}
	uroce_cm_set_context(from->id, (uintptr_t)id);
	id->is_ud = listener->is_ud;
	id->sync = listener->sync;
	cma_id_set_device(id);
	set_addresses(id, from, from->peer_port);
	cma_write_address(&from->local, uroce_cm_port(listener->cm), &id->id.route.addr.src_storage);
	one->event.id = &id->id;
	one->event.listen_id = &listener->id;
	one->event.event = RDMA_CM_EVENT_CONNECT_REQUEST;
	if (id->is_ud) {
		set_private(one, from, &one->event.param.ud.private_data, &one->event.param.ud.private_data_len);
		return true;
	}
	set_private(one, from, &conn->private_data, &conn->private_data_len);
	conn->responder_resources = from->peer_initiator;
	conn->initiator_depth = from->peer_responder;
	conn->flow_control = from->peer_flow_control;
	conn->retry_count = from->peer_retry_cnt;
	conn->rnr_retry_count = from->peer_rnr_retry;
	conn->srq = from->peer_srq;
	conn->qp_num = from->peer_qp_num;
	id->asked = *conn;
	id->asked.private_data = NULL;
	id->asked.private_data_len = 0;
	return true;
}

static void set_answer(struct cma_event *one, const struct uroce_cm_event *from)
{
	struct rdma_conn_param *conn = &one->event.param.conn;

	set_private(one, from, &conn->private_data, &conn->private_data_len);
	conn->responder_resources = from->peer_initiator;
	conn->initiator_depth = from->peer_responder;
	conn->rnr_retry_count = from->peer_rnr_retry;
	conn->srq = from->peer_srq;
	conn->qp_num = from->peer_qp_num;
}

/* The peer has accepted. If the id has a queue pair, this library moves it to RTS and lets the peer know. */
static void take_response(struct cma_id *id, struct cma_event *one, const struct uroce_cm_event *from)
{
	set_answer(one, from);
	one->event.event = RDMA_CM_EVENT_CONNECT_RESPONSE;
	if (id->id.qp == NULL)
		return;
	if (cma_move_qp(id, IBV_QPS_RTR, UINT8_MAX) == 0 && cma_move_qp(id, IBV_QPS_RTS, UINT8_MAX) == 0 &&
	    uroce_cm_establish(id->cm) == 0) {
		one->event.event = RDMA_CM_EVENT_ESTABLISHED;
		return;
	}
	one->event.event = RDMA_CM_EVENT_CONNECT_ERROR;
	one->event.status = -errno;
	uroce_cm_reject(id->cm, NULL, 0);
}

static void take_datagrams(struct cma_id *id, struct cma_event *one, const struct uroce_cm_event *from)
{
	struct rdma_ud_param *ud = &one->event.param.ud;

	one->event.event = from->status ? RDMA_CM_EVENT_UNREACHABLE : RDMA_CM_EVENT_ESTABLISHED;
	one->event.status = from->status == -ECONNREFUSED ? from->reason : from->status;
	set_private(one, from, &ud->private_data, &ud->private_data_len);
	ud->qp_num = from->peer_qp_num;
	ud->qkey = from->peer_qkey;
	ud->ah_attr = cma_path(&from->local, &from->peer, id->tos);
}

static bool take_other(struct cma_id *id, struct cma_event *one, const struct uroce_cm_event *from)
{
	one->event.id = &id->id;
	one->event.status = from->status;
	switch (from->type) {
	case UROCE_CM_ROUTE_RESOLVED:
		one->event.event = from->status ? RDMA_CM_EVENT_ADDR_ERROR : RDMA_CM_EVENT_ADDR_RESOLVED;
		if (from->status == 0) {
			cma_id_set_device(id);
			set_addresses(id, from, port_of(&id->id.route.addr.dst_storage));
		}
		return true;
	case UROCE_CM_CONNECT_RESPONSE:
		take_response(id, one, from);
		return true;
	case UROCE_CM_ESTABLISHED:
		set_answer(one, from);
		one->event.event = RDMA_CM_EVENT_ESTABLISHED;
		return true;
	case UROCE_CM_REJECTED:
		set_answer(one, from);
		one->event.event = RDMA_CM_EVENT_REJECTED;
		one->event.status = from->reason;
		cma_fail_qp(id);
		return true;
	case UROCE_CM_UNREACHABLE:
		one->event.event = RDMA_CM_EVENT_UNREACHABLE;
		cma_fail_qp(id);
		return true;
	case UROCE_CM_DISCONNECTED:
		one->event.event = RDMA_CM_EVENT_DISCONNECTED;
		one->event.status = 0;
		return true;
	case UROCE_CM_TIMEWAIT_EXIT:
		one->event.event = RDMA_CM_EVENT_TIMEWAIT_EXIT;
		return true;
	case UROCE_CM_UD_RESOLVED:
		take_datagrams(id, one, from);
		return true;
	case UROCE_CM_CONNECT_REQUEST:
	case UROCE_CM_ALTERNATE:
	case UROCE_CM_EVENT_TYPES:
		break;
	}
	return false;
}

/* Takes an event of the connection manager; NULL: there is none, or *error is -ENOMEM. */
static struct cma_event *take_theirs(struct cma_channel *channel, int *error)
{
	struct uroce_cm_event from;
	struct cma_event *one = calloc(1, sizeof(*one));
	bool told = false;

	*error = one ? 0 : -ENOMEM;
	pthread_mutex_lock(&channel->reading);
	while (*error == 0 && !told) {
		*error = uroce_cm_next(channel->cm, &from);
		if (*error == 0 && from.type == UROCE_CM_CONNECT_REQUEST)
			told = take_request(one, &from);
		else if (*error == 0 && from.context)
			told = take_other((struct cma_id *)(uintptr_t)from.context, one, &from);
	}
	pthread_mutex_unlock(&channel->reading);
	if (*error) {
		free(one);
		return NULL;
	}
	return one;
}

CMA_API int rdma_get_cm_event(struct rdma_event_channel *ours, struct rdma_cm_event **event)
{
	struct cma_channel *channel = cma_channel_of(ours);
	bool blocks = !(fcntl(ours->fd, F_GETFL) & O_NONBLOCK);
	struct pollfd waiting = { .fd = ours->fd, .events = POLLIN };
	struct cma_event *one;
	struct cma_id *id;
	int error = 0;

	for (;;) {
		one = take_own(channel);
		if (one == NULL)
			one = take_theirs(channel, &error);
		if (one)
			break;
		if (error != -EAGAIN || !blocks)
			return cma_result(error);
		if (poll(&waiting, 1, -1) < 0)
			return -1;
	}
	/* As with rdma_cm, the event of a REQUEST counts for the listener. */
	id = cma_id_of(one->event.listen_id ? one->event.listen_id : one->event.id);
	pthread_mutex_lock(&id->lock);
	id->told++;
	pthread_mutex_unlock(&id->lock);
	*event = &one->event;
	return 0;
}

CMA_API int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	struct cma_id *id;

	if (event == NULL)
		return cma_result(-EINVAL);
	id = cma_id_of(event->listen_id ? event->listen_id : event->id);
	pthread_mutex_lock(&id->lock);
	id->acks++;
	pthread_cond_signal(&id->acked);
	pthread_mutex_unlock(&id->lock);
	free(event); /* the event is the first member of a struct cma_event */
	return 0;
}

int cma_complete(struct cma_id *id)
{
	struct rdma_cm_event *event;

	if (!id->sync)
		return 0;
	if (id->id.event) {
		rdma_ack_cm_event(id->id.event);
		id->id.event = NULL;
	}
	if (rdma_get_cm_event(id->id.channel, &id->id.event) != 0)
		return -1;
	event = id->id.event;
	if (event->status == 0)
		return 0;
	if (event->event == RDMA_CM_EVENT_REJECTED)
		return cma_result(-ECONNREFUSED);
	return cma_result(event->status < 0 ? event->status : -event->status);
}

CMA_API const char *rdma_event_str(enum rdma_cm_event_type event)
{
	static const char *const names[] = {
		[RDMA_CM_EVENT_ADDR_RESOLVED] = "RDMA_CM_EVENT_ADDR_RESOLVED",
		[RDMA_CM_EVENT_ADDR_ERROR] = "RDMA_CM_EVENT_ADDR_ERROR",
		[RDMA_CM_EVENT_ROUTE_RESOLVED] = "RDMA_CM_EVENT_ROUTE_RESOLVED",
		[RDMA_CM_EVENT_ROUTE_ERROR] = "RDMA_CM_EVENT_ROUTE_ERROR",
		[RDMA_CM_EVENT_CONNECT_REQUEST] = "RDMA_CM_EVENT_CONNECT_REQUEST",
		[RDMA_CM_EVENT_CONNECT_RESPONSE] = "RDMA_CM_EVENT_CONNECT_RESPONSE",
		[RDMA_CM_EVENT_CONNECT_ERROR] = "RDMA_CM_EVENT_CONNECT_ERROR",
		[RDMA_CM_EVENT_UNREACHABLE] = "RDMA_CM_EVENT_UNREACHABLE",
		[RDMA_CM_EVENT_REJECTED] = "RDMA_CM_EVENT_REJECTED",
		[RDMA_CM_EVENT_ESTABLISHED] = "RDMA_CM_EVENT_ESTABLISHED",
		[RDMA_CM_EVENT_DISCONNECTED] = "RDMA_CM_EVENT_DISCONNECTED",
		[RDMA_CM_EVENT_DEVICE_REMOVAL] = "RDMA_CM_EVENT_DEVICE_REMOVAL",
		[RDMA_CM_EVENT_MULTICAST_JOIN] = "RDMA_CM_EVENT_MULTICAST_JOIN",
		[RDMA_CM_EVENT_MULTICAST_ERROR] = "RDMA_CM_EVENT_MULTICAST_ERROR",
		[RDMA_CM_EVENT_ADDR_CHANGE] = "RDMA_CM_EVENT_ADDR_CHANGE",
		[RDMA_CM_EVENT_TIMEWAIT_EXIT] = "RDMA_CM_EVENT_TIMEWAIT_EXIT",
	};

	return (unsigned)event < sizeof(names) / sizeof(names[0]) ? names[event] : "UNKNOWN EVENT";
}
