/* prompt.c - clients that send as soon as they are connected: their server has no event of a queue pair */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * usage: verbs-prompt [ADDRESS]. Without one it serves TIMES clients, one after another. Its queue pair is in RTS
 * before the client hears that it is accepted, as with rdma-core's own rdma_accept(): to one that is in RTR the first
 * message is COMM_EST, which SPDK takes for the end of the queue pair. Exit 1: it failed, or there was an event.
 */
#include <dlfcn.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdio.h>
#include <unistd.h>
#include <uroce/cm.h>

#define PORT "7199"
#define TIMES 5
#define SLOW_US 100000 /* so long a client has for its message */

static char byte[1];

/* Stands in front of the library's, which librdmacm.so.1 would call: our thread is slow at the moment that counts. */
int uroce_cm_accept(struct uroce_cm_id *id, const struct uroce_cm_options *options)
{
	int (*accept)(struct uroce_cm_id *, const struct uroce_cm_options *);
	int error;

	*(void **)&accept = dlsym(RTLD_NEXT, "uroce_cm_accept");
	error = accept(id, options);
	usleep(SLOW_US);
	return error;
}

static int fail(const char *what)
{
	perror(what);
	return 1;
}

static struct rdma_cm_id *make(const char *address, int flags)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP, .ai_flags = flags }, *info;
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 1,
			 .max_recv_wr = 1,
			 .max_send_sge = 1,
			 .max_recv_sge = 1,
			 .max_inline_data = 1 },
		.sq_sig_all = 1,
	};
	struct rdma_cm_id *id = NULL;

	if (rdma_getaddrinfo(address, PORT, &hints, &info) == 0 && rdma_create_ep(&id, info, NULL, &attr) != 0)
		id = NULL;
	return id;
}

static int take_event(struct ibv_context *context)
{
	struct pollfd waiting = { context->async_fd, POLLIN, 0 };
	struct ibv_async_event event;

	if (poll(&waiting, 1, 0) == 0 || ibv_get_async_event(context, &event) != 0)
		return 0;
	printf("an event: %s\n", ibv_event_type_str(event.event_type));
	ibv_ack_async_event(&event);
	return 1;
}

static int serve_one(struct rdma_cm_id *listener)
{
	struct rdma_cm_id *id;
	struct ibv_wc wc;
	struct ibv_mr *mr;
	int had_event;

	if (rdma_get_request(listener, &id) != 0)
		return fail("a request");
	mr = rdma_reg_msgs(id, byte, sizeof(byte));
	if (mr == NULL || rdma_post_recv(id, NULL, byte, sizeof(byte), mr) != 0 || rdma_accept(id, NULL) != 0)
		return fail("accept");
	if (rdma_get_recv_comp(id, &wc) != 1 || wc.status != IBV_WC_SUCCESS)
		return fail("a message");
	had_event = take_event(id->verbs);
	rdma_disconnect(id);
	rdma_dereg_mr(mr);
	rdma_destroy_ep(id);
	return had_event;
}

static int serve(void)
{
	struct rdma_cm_id *listener = make("0.0.0.0", RAI_PASSIVE);
	int wrong = 0;

	if (listener == NULL || rdma_listen(listener, 1) != 0)
		return fail("listen");
	for (int i = 0; i < TIMES && wrong == 0; i++)
		wrong = serve_one(listener);
	return wrong;
}

static int send_one(const char *address)
{
	struct rdma_cm_id *id = make(address, 0);
	struct ibv_wc wc;

	if (id == NULL || rdma_connect(id, NULL) != 0)
		return fail("connect");
	if (rdma_post_send(id, NULL, byte, sizeof(byte), NULL, IBV_SEND_INLINE) != 0 ||
	    rdma_get_send_comp(id, &wc) != 1 || wc.status != IBV_WC_SUCCESS)
		return fail("a message");
	rdma_disconnect(id);
	rdma_destroy_ep(id);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return serve();
	for (int i = 0; i < TIMES; i++) {
		if (send_one(argv[1]) != 0)
			return 1;
	}
	printf("%d clients have sent\n", TIMES);
	return 0;
}
