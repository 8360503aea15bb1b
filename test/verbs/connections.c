/* connections.c - thousands of connections by rdma_cm, one after another: afterwards everything is as before */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Both ends are ids of this process. Descriptors, the heap, the memory in use and how many queue pairs can be made at a
 * time are compared with what they were after the first hundred connections. What the two ends have agreed on beyond RC
 * (ibv_query_ece()) has to be the same at both, and is printed.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/rdma_cma.h>

#define WARM_UP 100
#define HEAP_SLACK_BYTES (64 * 1024)
#define RSS_SLACK_KIB 8192

struct usage {
	unsigned fds, qps;
	size_t heap_bytes;
	long rss_kib;
};

static struct rdma_event_channel *channel;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static uint32_t agreed; /* options of the last connection */

static __attribute__((noreturn)) void fail(const char *what)
{
	perror(what);
	exit(1);
}

static struct rdma_cm_id *wait_for(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	for (;;) {
		if (rdma_get_cm_event(channel, &event) != 0)
			fail("rdma_get_cm_event");
		if (event->event == RDMA_CM_EVENT_TIMEWAIT_EXIT) {
			rdma_ack_cm_event(event);
			continue;
		}
		if (event->event != type) {
			printf("%s came, status %d, instead of %s\n", rdma_event_str(event->event), event->status,
			       rdma_event_str(type));
			exit(1);
		}
		id = event->id;
		rdma_ack_cm_event(event);
		return id;
	}
}

static void create_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	if (rdma_create_qp(id, pd, &attr) != 0)
		fail("rdma_create_qp");
}

static void end(struct rdma_cm_id *id)
{
	rdma_destroy_qp(id);
	if (rdma_destroy_id(id) != 0)
		fail("rdma_destroy_id");
}

static void compare_ece(struct ibv_qp *client, struct ibv_qp *server)
{
	struct ibv_ece ours, theirs;

	if (ibv_query_ece(client, &ours) != 0 || ibv_query_ece(server, &theirs) != 0)
		fail("ibv_query_ece");
	if (ours.vendor_id == 0 || ours.vendor_id != theirs.vendor_id || ours.options != theirs.options) {
		printf("the client has agreed on 0x%x of vendor 0x%x, the server on 0x%x of 0x%x\n", ours.options,
		       ours.vendor_id, theirs.options, theirs.vendor_id);
		exit(1);
	}
	agreed = ours.options;
}

static void connect_once(struct sockaddr *to)
{
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };
	struct rdma_cm_id *client, *server;

	if (rdma_create_id(channel, &client, NULL, RDMA_PS_TCP) != 0)
		fail("rdma_create_id");
	if (rdma_resolve_addr(client, NULL, to, 2000) != 0)
		fail("rdma_resolve_addr");
	wait_for(RDMA_CM_EVENT_ADDR_RESOLVED);
	if (rdma_resolve_route(client, 2000) != 0)
		fail("rdma_resolve_route");
	wait_for(RDMA_CM_EVENT_ROUTE_RESOLVED);
	if (pd == NULL) {
		pd = ibv_alloc_pd(client->verbs);
		cq = ibv_create_cq(client->verbs, 16, NULL, NULL, 0);
	}
	create_qp(client);
	if (rdma_connect(client, &param) != 0)
		fail("rdma_connect");
	server = wait_for(RDMA_CM_EVENT_CONNECT_REQUEST);
	create_qp(server);
	if (rdma_accept(server, &param) != 0)
		fail("rdma_accept");
	wait_for(RDMA_CM_EVENT_ESTABLISHED);
	wait_for(RDMA_CM_EVENT_ESTABLISHED);
	compare_ece(client->qp, server->qp);
	if (rdma_disconnect(client) != 0)
		fail("rdma_disconnect");
	wait_for(RDMA_CM_EVENT_DISCONNECTED);
	wait_for(RDMA_CM_EVENT_DISCONNECTED);
	end(client);
	end(server);
}

static unsigned count_fds(void)
{
	DIR *folder = opendir("/proc/self/fd");
	unsigned count = 0;

	while (folder && readdir(folder))
		count++;
	closedir(folder);
	return count;
}

static long read_rss_kib(void)
{
	FILE *file = fopen("/proc/self/status", "r");
	char line[256];
	long kib = 0;

	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "VmRSS: %ld", &kib);
	fclose(file);
	return kib;
}

/* All that there is room for, and away with them. */
static unsigned count_qps(void)
{
	static struct ibv_qp *qps[1 << 16];
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	unsigned count = 0;

	while (count < sizeof(qps) / sizeof(qps[0]) && (qps[count] = ibv_create_qp(pd, &attr)))
		count++;
	for (unsigned i = 0; i < count; i++)
		ibv_destroy_qp(qps[i]);
	return count;
}

static struct usage look(const char *when)
{
	struct usage usage = { .qps = count_qps() };

	usage.fds = count_fds();
	usage.heap_bytes = mallinfo2().uordblks;
	usage.rss_kib = read_rss_kib();
	printf("%s: %u descriptors, room for %u queue pairs, %zu bytes of heap, %ld KiB in memory\n", when, usage.fds,
	       usage.qps, usage.heap_bytes, usage.rss_kib);
	fflush(stdout);
	return usage;
}

int main(int argc, char **argv)
{
	unsigned count = argc == 3 ? (unsigned)atoi(argv[2]) : 0;
	struct sockaddr_in to = { .sin_family = AF_INET };
	struct usage before, after;
	struct rdma_cm_id *listener;

	if (count == 0 || inet_pton(AF_INET, argv[1], &to.sin_addr) != 1) {
		fprintf(stderr, "usage: verbs-connections ADDRESS COUNT\n");
		return 2;
	}
	channel = rdma_create_event_channel();
	if (channel == NULL || rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP) != 0)
		fail("rdma_create_id");
	if (rdma_bind_addr(listener, (struct sockaddr *)&to) != 0 || rdma_listen(listener, 16) != 0)
		fail("rdma_listen");
	to.sin_port = rdma_get_src_port(listener);
	for (unsigned i = 0; i < WARM_UP; i++)
		connect_once((struct sockaddr *)&to);
	before = look("before");
	for (unsigned i = 0; i < count; i++)
		connect_once((struct sockaddr *)&to);
	after = look("after");
	if (after.fds != before.fds || after.qps != before.qps ||
	    after.heap_bytes > before.heap_bytes + HEAP_SLACK_BYTES || after.rss_kib > before.rss_kib + RSS_SLACK_KIB) {
		printf("something was not given back\n");
		return 1;
	}
	printf("%u connections, everything as before; agreed on 0x%x\n", count, agreed);
	return 0;
}
