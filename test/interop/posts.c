/* posts.c - our side of datagrams with Linux: udaddy's exchange, N messages there and then N back */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * usage: interop-posts EAL-OPTIONS -- IP/LEN serve PORT N SIZE [each] | call ADDR PORT N SIZE [each]
 * each: each asker is a REQUEST that is accepted; and asking is connecting, with words.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <uroce/uroce.h>

#include "common/eal.h"
#include "common/ports.h"
#include "start.h"

#define LIMIT_S 60
#define RECEIVES 64u
#define SLOT_BYTES 4200u

static struct {
	struct app_port port;
	struct uroce_engine *engine;
	struct uroce_pd *pd;
	struct uroce_cq *cq;
	struct uroce_mr *mr;
	struct uroce_ud *ud;
	struct uroce_cm_channel *channel;
	struct uroce_cm_id *id;
	struct uroce_ud_addr peer;
	uint8_t *memory;
	uint32_t count, bytes, sent, received;
	bool known, each;
	int failed;
	time_t limit;
} all;

static int fail(const char *what, int error)
{
	if (error == 0)
		return 0;
	printf("%s: %s %s\n", what, strerror(-error), uroce_last_error());
	return all.failed = 1;
}

static void post_receive(uint64_t slot)
{
	struct uroce_sge sge = { (uintptr_t)all.memory + slot * SLOT_BYTES, SLOT_BYTES, uroce_mr_lkey(all.mr) };
	struct uroce_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 };

	fail("receive", uroce_ud_post_recv(all.ud, &wr));
}

/* udaddy tells its number as immediate data; its address is that of the IPv4 header in the GRH. */
static void take(const struct uroce_wc *wc)
{
	const uint8_t *grh = all.memory + wc->wr_id * SLOT_BYTES;

	if (wc->status != UROCE_WC_SUCCESS || wc->byte_len != UROCE_GRH_BYTES + all.bytes) {
		printf("status %u, %u bytes\n", wc->status, wc->byte_len);
		all.failed = 1;
	}
	if (!all.known) {
		all.known = true;
		all.peer.qp_num = ntohl(wc->imm_data);
		all.peer.qkey = UROCE_CM_UD_QKEY;
		all.peer.path.source = all.port.addr;
		all.peer.path.dest = all.port.addr;
		memcpy(all.peer.path.dest.bytes + 12, grh + 20 + 12, 4);
	}
	all.received++;
	post_receive(wc->wr_id);
}

static void take_request(const struct uroce_cm_event *event)
{
	struct uroce_cm_options options = { .qp_num = uroce_ud_num(all.ud), .private_data = "yes", .private_bytes = 4 };

	if (event->type != UROCE_CM_CONNECT_REQUEST)
		return;
	fail("accept", uroce_cm_accept(event->id, &options));
	fail("destroy", uroce_cm_id_destroy(event->id));
	printf("accepted one from port %u\n", event->peer_port);
}

static void poll_once(void)
{
	struct uroce_cm_event event;
	struct uroce_wc wc;

	uroce_lcore_poll(uroce_engine_lcore(all.engine, 0));
	while (uroce_cq_poll(all.cq, 1, &wc) == 1)
		take(&wc);
	if (all.each && all.id && uroce_cm_next(all.channel, &event) == 0)
		take_request(&event);
	if (time(NULL) > all.limit)
		all.failed = 1;
}

static void receive_all(void)
{
	while (all.received < all.count && !all.failed)
		poll_once();
}

static void send_all(void)
{
	struct uroce_sge sge = { (uintptr_t)all.memory + RECEIVES * SLOT_BYTES, all.bytes, uroce_mr_lkey(all.mr) };
	struct uroce_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = UROCE_WR_SEND_WITH_IMM, .imm_data = htonl(uroce_ud_num(all.ud))
	};

	while (all.sent < all.count && !all.failed) {
		int error = uroce_ud_send(all.ud, &all.peer, &wr);

		if (error == 0)
			all.sent++;
		else if (error != -EAGAIN)
			fail("send", error);
		poll_once();
	}
}

static int listen_for_each(uint16_t port)
{
	return fail("id", uroce_cm_id_create_ud(all.channel, 0, &all.id)) ||
	       fail("bind", uroce_cm_bind(all.id, NULL, port)) || fail("listen", uroce_cm_listen_bound(all.id, 0));
}

static void serve(const char *port)
{
	uint16_t number = (uint16_t)atoi(port);

	if (all.each ? listen_for_each(number) :
		       fail("listen", uroce_cm_listen_ud(all.channel, NULL, number, all.ud, &all.id)))
		return;
	printf("listening on port %s\n", port);
	receive_all();
	send_all();
}

static int ask(const struct uroce_addr *addr, uint16_t port)
{
	const struct uroce_cm_options options = { .private_data = "who?", .private_bytes = 5 };

	if (!all.each)
		return fail("id", uroce_cm_id_create(all.channel, 0, &all.id)) ||
		       fail("resolve", uroce_cm_resolve_ud(all.id, all.port.device, NULL, addr, port));
	return fail("id", uroce_cm_id_create_ud(all.channel, 0, &all.id)) ||
	       fail("connect", uroce_cm_connect(all.id, NULL, addr, port, &options));
}

static void call(const char *text, const char *port)
{
	struct uroce_cm_event event;
	struct uroce_addr addr;

	if (uroce_addr_parse(text, &addr, NULL) != 0 || ask(&addr, (uint16_t)atoi(port)) ||
	    fail("wait", uroce_cm_wait(all.channel, 20000, &event)) || fail("resolved", event.status))
		return;
	all.known = true;
	all.peer = (struct uroce_ud_addr){ .path = { .source = all.port.addr, .dest = addr },
					   .qp_num = event.peer_qp_num,
					   .qkey = event.peer_qkey };
	send_all();
	receive_all();
}

static void run(char **words)
{
	bool server = strcmp(words[0], "serve") == 0;
	struct uroce_ud_init_attr init = {
		.send_cq = all.cq, .recv_cq = all.cq, .max_recv_wr = RECEIVES, .max_recv_sge = 1
	};
	time_t end;

	all.count = (uint32_t)atoi(words[server ? 2 : 3]);
	all.bytes = (uint32_t)atoi(words[server ? 3 : 4]);
	all.each = words[server ? 4 : 5] != NULL;
	all.limit = time(NULL) + LIMIT_S;
	all.memory = calloc(RECEIVES + 1, SLOT_BYTES);
	if (fail("memory",
		 uroce_mr_reg(all.pd, all.memory, (RECEIVES + 1) * SLOT_BYTES, UROCE_ACCESS_LOCAL_WRITE, &all.mr)) ||
	    fail("queue pair", uroce_ud_create(all.pd, &init, &all.ud)))
		return;
	for (uint32_t i = 0; i < RECEIVES; i++)
		post_receive(i);
	if (server)
		serve(words[1]);
	else
		call(words[1], words[2]);
	if (!all.failed)
		printf("%u datagrams each way, all done\n", all.count);
	for (end = time(NULL) + 1; time(NULL) <= end;)
		poll_once();
	if (all.id)
		uroce_cm_id_destroy(all.id);
	uroce_ud_destroy(all.ud);
	uroce_mr_dereg(all.mr);
	free(all.memory);
}

static int open_and_run(const char *device, char **words)
{
	struct uroce_engine_config engine_config = { .max_qps = 16, .max_mrs = 16 };
	struct app_port_config port_config = { .device = device, .port = { .addresses = { words[0] } } };
	int exit_code;

	if (uroce_engine_create(&engine_config, &all.engine) != 0)
		return APP_EXIT_INTERNAL;
	port_config.port.engine = all.engine;
	exit_code = app_port_open(&port_config, &all.port);
	if (exit_code == APP_EXIT_OK) {
		exit_code = APP_EXIT_INTERNAL;
		if (uroce_pd_alloc(all.port.device, &all.pd) == 0 &&
		    uroce_cq_create(all.port.device, 1024, &all.cq) == 0 &&
		    uroce_cm_channel_create(all.engine, &all.channel) == 0) {
			run(words + 1);
			exit_code = all.failed;
			uroce_cm_channel_destroy(all.channel);
			uroce_cq_destroy(all.cq);
			uroce_pd_dealloc(all.pd);
		}
		app_port_close(&all.port);
	}
	uroce_engine_destroy(all.engine);
	return exit_code;
}

int main(int argc, char **argv)
{
	return start(argc, argv, 5, "see the head of test/interop/posts.c", open_and_run);
}
