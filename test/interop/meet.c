/* meet.c - the guest's side of connections, over librdmacm: asks once, or refuses, and prints what it saw */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * usage: meet ask ADDR PORT [hold]       connects; with hold it stays connected until it is killed or hung up on
 *        meet refuse PORT TIMES WORDS    each request is refused with the words
 */
#include <arpa/inet.h>
#include <netdb.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RESOLVE_MS 5000

static int fail(const char *what)
{
	perror(what);
	return 1;
}

static struct rdma_cm_event *next_event(struct rdma_event_channel *channel)
{
	struct rdma_cm_event *event;

	return rdma_get_cm_event(channel, &event) == 0 ? event : NULL;
}

static void print_event(const struct rdma_cm_event *event)
{
	const char *words = event->param.conn.private_data ? event->param.conn.private_data : "";

	printf("%s status=%d \"%.*s\"\n", rdma_event_str(event->event), event->status,
	       (int)strnlen(words, event->param.conn.private_data_len), words);
	fflush(stdout);
}

/* One event, which should be of this type. */
static int expect(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event = next_event(channel);
	int wrong;

	if (event == NULL)
		return fail("event");
	wrong = event->event != type;
	if (wrong)
		print_event(event);
	rdma_ack_cm_event(event);
	return wrong;
}

static int create_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	return rdma_create_qp(id, NULL, &init) ? fail("rdma_create_qp") : 0;
}

static int ask(char **words, int hold)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_conn_param param = {
		.responder_resources = 1, .initiator_depth = 1, .retry_count = 7, .rnr_retry_count = 7
	};
	struct addrinfo *addr;
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	if (getaddrinfo(words[0], words[1], NULL, &addr) || rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) ||
	    rdma_resolve_addr(id, NULL, addr->ai_addr, RESOLVE_MS))
		return fail("rdma_resolve_addr");
	if (expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED) || rdma_resolve_route(id, RESOLVE_MS) ||
	    expect(channel, RDMA_CM_EVENT_ROUTE_RESOLVED) || create_qp(id) || rdma_connect(id, &param))
		return fail("rdma_connect");
	do {
		event = next_event(channel);
		if (event == NULL)
			return fail("event");
		print_event(event);
		hold = hold && event->event == RDMA_CM_EVENT_ESTABLISHED;
		rdma_ack_cm_event(event);
	} while (hold);
	rdma_disconnect(id);
	rdma_destroy_qp(id);
	rdma_destroy_id(id);
	return 0;
}

static int refuse(const char *port, int times, const char *words)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)) };
	struct rdma_cm_id *listener;

	if (rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(listener, (struct sockaddr *)&addr) || rdma_listen(listener, 16))
		return fail("rdma_listen");
	for (int i = 0; i < times; i++) {
		struct rdma_cm_event *event = next_event(channel);

		if (event == NULL)
			return fail("event");
		print_event(event);
		if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST &&
		    rdma_reject(event->id, words, (uint8_t)(strlen(words) + 1)))
			return fail("rdma_reject");
		rdma_ack_cm_event(event);
	}
	sleep(2); /* a refusal that was lost is asked for again */
	return 0;
}

int main(int argc, char **argv)
{
	if (argc >= 4 && strcmp(argv[1], "ask") == 0)
		return ask(argv + 2, argc > 4);
	if (argc == 5 && strcmp(argv[1], "refuse") == 0)
		return refuse(argv[2], atoi(argv[3]), argv[4]);
	fprintf(stderr, "usage: see the head of test/interop/meet.c\n");
	return 2;
}
