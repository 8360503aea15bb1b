/* leaves.c - a program that ends without a word to its peer: the peer is told, as the kernel does it */
/* SPDX-License-Identifier: BSD-3-Clause */
/* usage: verbs-leaves [ADDRESS]. Without one it listens, accepts and ends. Exit 1: it failed, or nothing was told. */
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define PORT "7199"
#define PATIENCE_MS 20000 /* the server's end of the connection would be given up by then */

static int fail(const char *what)
{
	perror(what);
	return 1;
}

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static struct rdma_cm_id *make(const char *address, int flags)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP, .ai_flags = flags }, *info;
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 }
	};
	struct rdma_cm_id *id = NULL;

	if (rdma_getaddrinfo(address, PORT, &hints, &info) == 0 && rdma_create_ep(&id, info, NULL, &attr) != 0)
		id = NULL;
	return id;
}

static int serve(void)
{
	struct rdma_cm_id *listener = make("0.0.0.0", RAI_PASSIVE), *id;

	if (listener == NULL || rdma_listen(listener, 1) != 0)
		return fail("listen");
	return rdma_get_request(listener, &id) != 0 || rdma_accept(id, NULL) != 0 ? fail("accept") : 0;
}

int main(int argc, char **argv)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;
	struct pollfd waiting = { .events = POLLIN };
	long began;

	if (argc < 2)
		return serve();
	id = make(argv[1], 0);
	if (id == NULL || rdma_connect(id, NULL) != 0)
		return fail("connect");
	began = now_ms();
	waiting.fd = id->channel->fd;
	if (poll(&waiting, 1, PATIENCE_MS) != 1 || rdma_get_cm_event(id->channel, &event) != 0)
		return fail("nothing was told");
	printf("%s after %ld ms\n", rdma_event_str(event->event), now_ms() - began);
	return event->event != RDMA_CM_EVENT_DISCONNECTED;
}
