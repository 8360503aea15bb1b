/* halfway.c - calls of rdma_cm that fail on the way leave nobody waiting, and nothing behind */
/* SPDX-License-Identifier: BSD-3-Clause */
/* usage: verbs-halfway ADDRESS, its own address. A line for each call; exit 1: one was wrong. */
#include <arpa/inet.h>
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "need.h"

#define PORT 7301
#define CONSUMER_DEFINED 28 /* the reason of a REJ */

static bool failed;
static struct sockaddr_in address = { .sin_family = AF_INET };

static void expect(const char *what, bool good)
{
	printf("%s: %s\n", what, good ? "as it should be" : "WRONG");
	failed |= !good;
}

static struct rdma_cm_event *next(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;

	need("rdma_get_cm_event", rdma_get_cm_event(channel, &event) == 0);
	if (event->event != type)
		printf("%s came, status %d\n", rdma_event_str(event->event), event->status);
	need(rdma_event_str(type), event->event == type);
	return event;
}

static struct rdma_cm_id *create(struct rdma_event_channel *channel, enum rdma_port_space space)
{
	struct rdma_cm_id *id;

	need("rdma_create_id", rdma_create_id(channel, &id, NULL, space) == 0);
	return id;
}

static void create_qp(struct rdma_cm_id *id, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = type,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	need("rdma_create_qp", rdma_create_qp(id, NULL, &attr) == 0);
}

static struct rdma_cm_id *listen_at(struct rdma_event_channel *channel, enum rdma_port_space space, uint16_t port)
{
	struct rdma_cm_id *id = create(channel, space);

	address.sin_port = htons(port);
	need("rdma_bind_addr", rdma_bind_addr(id, (struct sockaddr *)&address) == 0);
	need("rdma_listen", rdma_listen(id, 1) == 0);
	return id;
}

static struct rdma_cm_id *dial(struct rdma_event_channel *channel, enum rdma_port_space space, uint16_t port)
{
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };
	struct rdma_cm_id *id = create(channel, space);

	address.sin_port = htons(port);
	need("rdma_resolve_addr", rdma_resolve_addr(id, NULL, (struct sockaddr *)&address, 2000) == 0);
	rdma_ack_cm_event(next(channel, RDMA_CM_EVENT_ADDR_RESOLVED));
	need("rdma_resolve_route", rdma_resolve_route(id, 2000) == 0);
	rdma_ack_cm_event(next(channel, RDMA_CM_EVENT_ROUTE_RESOLVED));
	create_qp(id, space == RDMA_PS_TCP ? IBV_QPT_RC : IBV_QPT_UD);
	need("rdma_connect", rdma_connect(id, &param) == 0);
	return id;
}

static void hang_up(struct rdma_cm_id *id)
{
	if (id->qp)
		rdma_destroy_qp(id);
	need("rdma_destroy_id", rdma_destroy_id(id) == 0);
}

/* More private data than a REP has room for. */
static void try_accept(enum rdma_port_space space, uint16_t port)
{
	static const uint8_t data[255];
	struct rdma_event_channel *server = rdma_create_event_channel(), *client = rdma_create_event_channel();
	struct rdma_conn_param bad = { .private_data = data, .private_data_len = sizeof(data) };
	struct rdma_cm_id *listener = listen_at(server, space, port), *id = dial(client, space, port), *accepted;
	struct rdma_cm_event *event = next(server, RDMA_CM_EVENT_CONNECT_REQUEST);

	accepted = event->id;
	rdma_ack_cm_event(event);
	create_qp(accepted, space == RDMA_PS_TCP ? IBV_QPT_RC : IBV_QPT_UD);
	expect("rdma_accept() with too much private data", rdma_accept(accepted, &bad) == -1 && errno == EINVAL);
	event = next(client, space == RDMA_PS_TCP ? RDMA_CM_EVENT_REJECTED : RDMA_CM_EVENT_UNREACHABLE);
	if (space == RDMA_PS_TCP)
		expect("the client is refused at once", event->status == CONSUMER_DEFINED);
	rdma_ack_cm_event(event);
	hang_up(accepted);
	hang_up(id);
	hang_up(listener);
	rdma_destroy_event_channel(server);
	rdma_destroy_event_channel(client);
}

/* A queue pair that cannot be made when the request arrives. */
static void try_get_request(void)
{
	struct rdma_event_channel *client = rdma_create_event_channel();
	struct rdma_addrinfo info = { .ai_flags = RAI_PASSIVE,
				      .ai_qp_type = IBV_QPT_RC,
				      .ai_port_space = RDMA_PS_TCP,
				      .ai_src_addr = (struct sockaddr *)&address,
				      .ai_src_len = sizeof(address) };
	struct ibv_qp_init_attr attr = { .cap = { .max_send_wr = 1u << 30, .max_recv_wr = 1 } };
	struct rdma_cm_id *listener, *id, *taken = NULL;
	struct rdma_cm_event *event;

	address.sin_port = htons(PORT + 2);
	need("rdma_create_ep", rdma_create_ep(&listener, &info, NULL, &attr) == 0);
	need("rdma_listen", rdma_listen(listener, 1) == 0);
	id = dial(client, RDMA_PS_TCP, PORT + 2);
	expect("rdma_get_request() without a queue pair", rdma_get_request(listener, &taken) == -1 && taken == NULL);
	event = next(client, RDMA_CM_EVENT_REJECTED);
	expect("the client is refused at once", event->status == CONSUMER_DEFINED);
	rdma_ack_cm_event(event);
	hang_up(id);
	rdma_destroy_ep(listener);
	rdma_destroy_event_channel(client);
}

static void try_getaddrinfo(void)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_NUMERICHOST }, *info = &hints;

	expect("rdma_getaddrinfo() that fails leaves the result alone",
	       rdma_getaddrinfo("no address", NULL, &hints, &info) != 0 && info == &hints);
}

int main(int count, char **words)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	need("usage", count == 2 && inet_pton(AF_INET, words[1], &address.sin_addr) == 1);
	alarm(40);
	try_accept(RDMA_PS_TCP, PORT);
	try_accept(RDMA_PS_UDP, PORT + 1);
	try_get_request();
	try_getaddrinfo();
	return failed;
}
