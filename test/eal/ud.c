/* ud.c - datagrams over loop ports */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "engine/deliver.h"
#include "engine/engine.h"
#include "engine/ud.h"
#include "network.h"
#include "rule.h"
#include "start.h"

#define GRH UROCE_GRH_BYTES

TestSuite(ud, .init = test_eal_start, .timeout = 60);

struct datagrams {
	struct network network;
	struct uroce_ud *uds[2];
};

/* With two lcores each queue pair has its own. */
static void open_uds(struct datagrams *all, unsigned lcores)
{
	network_open(&all->network, lcores);
	for (int i = 0; i < 2; i++) {
		struct end *end = &all->network.ends[i];
		struct uroce_ud_init_attr init = {
			.max_recv_wr = 4,
			.max_recv_sge = 2,
			.qp_context = 70u + (uint32_t)i,
			.lcore = lcores > 1 ? uroce_engine_lcore(all->network.engine, (unsigned)i) : NULL
		};

		cr_assert_eq(uroce_cq_create(end->device, 256, &end->cq), 0);
		init.send_cq = init.recv_cq = end->cq;
		cr_assert_eq(uroce_ud_create(end->pd, &init, &all->uds[i]), 0);
	}
}

static void close_uds(struct datagrams *all)
{
	for (int i = 0; i < 2; i++)
		cr_assert_eq(uroce_ud_destroy(all->uds[i]), 0);
	network_close(&all->network);
}

static struct uroce_ud_addr address_of(const struct datagrams *all, int end, bool ipv6)
{
	return (struct uroce_ud_addr){
		.path = { .source = network_address(ipv6 ? "fe80::1" : "10.0.0.1"),
			  .dest = network_address(ipv6 ? "fe80::2" : "10.0.0.2") },
		.qp_num = uroce_ud_num(all->uds[end]),
		.qkey = uroce_ud_qkey(all->uds[end]),
	};
}

static void post_recv(struct datagrams *all, uint32_t bytes)
{
	struct end *end = &all->network.ends[1];
	struct uroce_sge sges[2] = { { (uintptr_t)end->buffer, GRH, uroce_mr_lkey(end->mr) },
				     { (uintptr_t)end->buffer + 100, bytes, uroce_mr_lkey(end->mr) } };
	struct uroce_recv_wr wr = { .wr_id = 9, .sg_list = sges, .num_sge = 2 };

	cr_assert_eq(uroce_ud_post_recv(all->uds[1], &wr), 0);
}

static int post_datagram(struct datagrams *all, const struct uroce_ud_addr *to, enum uroce_wr_opcode opcode,
			 uint32_t bytes)
{
	struct end *end = &all->network.ends[0];
	struct uroce_sge sge = { (uintptr_t)end->buffer, bytes, uroce_mr_lkey(end->mr) };
	struct uroce_send_wr wr = { .wr_id = 8,
				    .sg_list = &sge,
				    .num_sge = 1,
				    .opcode = opcode,
				    .imm_data = htonl(0x12345678),
				    .send_flags = UROCE_SEND_SIGNALED };
	int error = -EAGAIN;

	for (int i = 0; i < 10000 && error == -EAGAIN; i++) { /* until the MAC is known */
		error = uroce_ud_send(all->uds[0], to, &wr);
		network_poll(&all->network);
	}
	return error;
}

/* U-4: the datagram arrives after 40 bytes of GRH with the address of its sender. */
Test(ud, a_datagram_arrives_behind_its_grh)
{
	static struct datagrams all;
	static const uint32_t sizes[] = { 0, 1, 3, 256, 4096 };

	RULE("U-4");
	open_uds(&all, 1);
	for (int row = 0; row < 20; row++) {
		bool ipv6 = row % 2, imm = row / 2 % 2;
		uint32_t bytes = sizes[row / 4];
		struct uroce_ud_addr to = address_of(&all, 1, ipv6);
		uint8_t *sent = all.network.ends[0].buffer, *got = all.network.ends[1].buffer;
		struct uroce_wc wc;

		memset(got, 0xEE, 5000);
		for (uint32_t i = 0; i < bytes; i++)
			sent[i] = (uint8_t)(i * 7 + (uint32_t)row);
		post_recv(&all, 4096);
		cr_assert_eq(post_datagram(&all, &to, imm ? UROCE_WR_SEND_WITH_IMM : UROCE_WR_SEND, bytes), 0);
		wc = network_wait(&all.network, 0);
		cr_assert(wc.opcode == UROCE_WC_SEND && wc.status == UROCE_WC_SUCCESS && wc.wr_id == 8);
		wc = network_wait(&all.network, 1);
		cr_assert(wc.opcode == UROCE_WC_RECV && wc.status == UROCE_WC_SUCCESS && wc.wr_id == 9);
		cr_expect_eq(wc.byte_len, GRH + bytes);
		cr_expect_eq(wc.src_qp, uroce_ud_num(all.uds[0]));
		cr_expect_eq(wc.qp_num, uroce_ud_num(all.uds[1]));
		cr_expect_eq(wc.qp_context, 71);
		cr_expect_eq(wc.wc_flags, UROCE_WC_GRH | (imm ? UROCE_WC_WITH_IMM : 0));
		cr_expect_eq(ntohl(wc.imm_data), imm ? 0x12345678 : 0);
		cr_expect_arr_eq(got + 100, sent, bytes);
		cr_expect_eq(got[100 + bytes], 0xEE, "behind it nothing is written");
		if (ipv6) {
			cr_expect_eq(got[0] >> 4, 6);
			cr_expect_arr_eq(got + 8, to.path.source.bytes, 16);
		} else {
			cr_expect_eq(got[20], 0x45, "the last 20 bytes are the IPv4 header");
			cr_expect_arr_eq(got + 20 + 12, to.path.source.bytes + 12, 4);
			cr_expect_eq(got[19], 0);
		}
	}
	close_uds(&all);
}

/* Nothing of it is executed, and each has a counter of its own. */
Test(ud, invalid_datagrams_are_dropped_and_counted)
{
	static struct datagrams all;
	struct uroce_ud_addr to, wrong;
	struct uroce_wc wc;

	RULE("U-4");
	open_uds(&all, 1);
	to = wrong = address_of(&all, 1, false);
	cr_assert_eq(post_datagram(&all, &to, UROCE_WR_SEND, 8), 0);
	network_wait(&all.network, 0);
	while (network_counter(&all.network, 1, "drop_ud_receive") == 0) /* the first one waits for the MAC */
		network_poll(&all.network);
	cr_expect_eq(network_counter(&all.network, 1, "drop_ud_receive"), 1, "without a receive");
	post_recv(&all, 7);
	cr_assert_eq(post_datagram(&all, &to, UROCE_WR_SEND, 8), 0);
	network_wait(&all.network, 0);
	cr_expect_eq(network_counter(&all.network, 1, "drop_ud_receive"), 2, "with one that is too short");
	wrong.qkey++;
	cr_assert_eq(post_datagram(&all, &wrong, UROCE_WR_SEND, 7), 0);
	network_wait(&all.network, 0);
	cr_expect_eq(network_counter(&all.network, 1, "drop_ud_qkey"), 1);
	wrong = to;
	wrong.qp_num ^= 0x800000;
	cr_assert_eq(post_datagram(&all, &wrong, UROCE_WR_SEND, 7), 0);
	network_wait(&all.network, 0);
	cr_expect_eq(network_counter(&all.network, 1, "drop_unknown_qpn"), 1);
	cr_assert_eq(uroce_cq_poll(all.network.ends[1].cq, 1, &wc), 0);
	cr_assert_eq(post_datagram(&all, &to, UROCE_WR_SEND, 7), 0);
	network_wait(&all.network, 0);
	cr_expect_eq(network_wait(&all.network, 1).byte_len, GRH + 7, "the receive is still there");
	close_uds(&all);
}

Test(ud, invalid_datagram_requests_are_refused)
{
	static struct datagrams all;
	struct uroce_ud_addr to, stranger;
	struct uroce_sge sge = { 0, 8, 0 };
	struct uroce_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = UROCE_WR_SEND };

	open_uds(&all, 1);
	to = stranger = address_of(&all, 1, false);
	cr_assert_eq(post_datagram(&all, &to, UROCE_WR_SEND, 1), 0);
	cr_expect_eq(post_datagram(&all, &to, UROCE_WR_SEND, 4097), -EINVAL);
	cr_expect_str_neq(uroce_last_error(), "");
	cr_expect_eq(post_datagram(&all, &to, UROCE_WR_RDMA_WRITE, 8), -EINVAL);
	stranger.path.source = network_address("10.9.9.9");
	cr_expect_eq(post_datagram(&all, &stranger, UROCE_WR_SEND, 8), -EINVAL);
	cr_expect_eq(uroce_ud_send(all.uds[0], &to, &wr), -EACCES, "no such key");
	close_uds(&all);
}

/* Wherever it comes in, the lcore of the queue pair gets it. */
Test(ud, a_datagram_reaches_the_lcore_of_its_queue_pair)
{
	static struct datagrams all;
	struct uroce_ud_addr to;

	open_uds(&all, 2);
	to = address_of(&all, 1, false);
	for (int i = 0; i < 8; i++) {
		post_recv(&all, 64);
		cr_assert_eq(post_datagram(&all, &to, UROCE_WR_SEND, 64), 0);
		cr_expect_eq(network_wait(&all.network, 1).byte_len, GRH + 64);
		network_wait(&all.network, 0);
	}
	close_uds(&all);
}

/* C-18: a service is found by its port, and one that there is not is told so. */
Test(ud, datagram_service_is_found_by_address_and_port)
{
	static struct datagrams all;
	struct uroce_addr dest = network_address("10.0.0.2");
	struct uroce_cm_channel *channel;
	struct uroce_cm_id *listener, *id;
	struct uroce_cm_event event;

	RULE("C-18");
	open_uds(&all, 1);
	cr_assert_eq(uroce_cm_channel_create(all.network.engine, &channel), 0);
	for (int served = 0; served < 2; served++) {
		if (served)
			cr_assert_eq(uroce_cm_listen_ud(channel, &dest, 7, all.uds[1], &listener), 0);
		cr_assert_eq(uroce_cm_id_create(channel, 5, &id), 0);
		cr_assert_eq(uroce_cm_resolve_ud(id, all.network.ends[0].device, NULL, &dest, 7), 0);
		cr_expect_eq(uroce_cm_resolve_ud(id, all.network.ends[0].device, NULL, &dest, 7), -EISCONN);
		cr_assert_eq(uroce_cm_wait(channel, 5000, &event), 0);
		cr_assert_eq(event.type, UROCE_CM_UD_RESOLVED);
		cr_expect_eq(event.status, served ? 0 : -ECONNREFUSED);
		cr_expect_eq(event.peer_qp_num, served ? uroce_ud_num(all.uds[1]) : 0);
		cr_expect_eq(event.peer_qkey, served ? UROCE_CM_UD_QKEY : 0);
		cr_assert_eq(uroce_cm_id_destroy(id), 0);
	}
	cr_assert_eq(uroce_cm_id_destroy(listener), 0);
	cr_assert_eq(uroce_cm_channel_destroy(channel), 0);
	close_uds(&all);
}

/*
 * Two queue pairs take receives from one SRQ; damaged and foreign datagrams take none, and the limit raises an event.
 */
Test(ud, datagrams_use_a_shared_receive_queue)
{
	static struct datagrams all;
	struct uroce_srq_attr shared = { .max_wr = 4, .max_sge = 1 };
	struct uroce_ud_init_attr init = { .qp_context = 72 };
	struct uroce_sge sge = { .length = GRH + 100 };
	struct uroce_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };
	struct uroce_ud *own;
	struct uroce_ud_addr to;
	struct uroce_srq *srq;
	struct uroce_event event;
	struct uroce_wc wc;

	RULE("M-4");
	open_uds(&all, 1);
	struct end *end = &all.network.ends[1];

	cr_assert_eq(uroce_srq_create(end->pd, &shared, &srq), 0);
	own = all.uds[1];
	init.send_cq = init.recv_cq = end->cq;
	init.srq = srq;
	cr_assert_eq(uroce_ud_create(end->pd, &init, &all.uds[1]), 0);
	cr_expect_eq(uroce_ud_post_recv(all.uds[1], &wr), -EINVAL);
	cr_expect_str_eq(uroce_last_error(),
			 "the QP receives from its SRQ: post to the SRQ with uroce_srq_post_recv()");
	cr_expect_eq(uroce_srq_destroy(srq), -EBUSY);
	sge.addr = (uintptr_t)end->buffer;
	sge.lkey = uroce_mr_lkey(end->mr);
	for (wr.wr_id = 1; wr.wr_id <= 3; wr.wr_id++)
		cr_assert_eq(uroce_srq_post_recv(srq, &wr, NULL), 0);
	while (uroce_event_poll(end->device, &event))
		;
	cr_assert_eq(uroce_srq_arm(srq, 2), 0);
	to = address_of(&all, 1, false);
	memset(all.network.ends[0].buffer, 0x5A, 100);
	for (uint64_t i = 1; i <= 2; i++) {
		cr_assert_eq(post_datagram(&all, &to, UROCE_WR_SEND, 100), 0);
		for (int poll = 0; poll < 10000 && uroce_cq_poll(end->cq, 1, &wc) == 0; poll++)
			network_poll(&all.network);
		cr_assert_eq(wc.wr_id, i);
		cr_expect_eq(wc.status, UROCE_WC_SUCCESS);
		cr_expect_eq(wc.byte_len, GRH + 100);
		cr_expect_eq(end->buffer[GRH + 99], 0x5A);
	}
	cr_assert(uroce_event_poll(end->device, &event), "one receive is left, and two are the limit");
	cr_expect_eq(event.type, UROCE_EVENT_SRQ_LIMIT_REACHED);
	to.qkey++;
	cr_assert_eq(post_datagram(&all, &to, UROCE_WR_SEND, 100), 0);
	for (int poll = 0; poll < 1000; poll++)
		network_poll(&all.network);
	uroce_srq_query(srq, &shared);
	cr_expect_eq(shared.count, 1, "another Q_Key takes none");
	cr_assert_eq(uroce_ud_destroy(all.uds[1]), 0);
	cr_assert_eq(uroce_srq_destroy(srq), 0);
	all.uds[1] = own;
	close_uds(&all);
}

/* An lcore with several sources may take more datagrams in one poll than it has places for completions. */
Test(ud, datagrams_leave_completion_entries_for_other_packets)
{
	static struct datagrams all;
	static const struct uroce_addr dest = { .bytes = { [10] = 0xFF, [11] = 0xFF, [12] = 10, [15] = 2 } };
	struct wire_packet packet = { .opcode = OP_UD_SEND_ONLY, .pkey = PKEY_DEFAULT };
	const struct rc_origin origin = { .dest = dest.bytes };
	struct uroce_wc wc;

	RULE("U-4");
	open_uds(&all, 1);
	struct end *end = &all.network.ends[1];
	struct uroce_lcore *lcore = all.network.engine->lcores[0];
	struct engine_port *port = engine_find_port(lcore, end->device);

	packet.dest_qpn = uroce_ud_num(all.uds[1]);
	packet.qkey = uroce_ud_qkey(all.uds[1]);
	for (uint32_t i = 0; i < OUTBOX_COMPLETIONS; i++) {
		post_recv(&all, 100);
		engine_ud_receive(lcore, port, NULL, &packet, &origin);
		cr_assert_leq(lcore->out.completion_count, OUTBOX_COMPLETIONS - OUTBOX_RECEIVE_COMPLETIONS);
		while (uroce_cq_poll(end->cq, 1, &wc))
			cr_assert_eq(wc.status, UROCE_WC_SUCCESS);
	}
	network_poll(&all.network);
	while (uroce_cq_poll(end->cq, 1, &wc))
		;
	close_uds(&all);
}

/* ---- askers, each answered by the user ---- */

static struct uroce_cm_event next_event(struct uroce_cm_channel *channel, enum uroce_cm_event_type type)
{
	struct uroce_cm_event event;

	cr_assert_eq(uroce_cm_wait(channel, 5000, &event), 0, "%s does not come", uroce_cm_event_name(type));
	cr_assert_eq(event.type, type, "%s", uroce_cm_event_name(event.type));
	return event;
}

static struct uroce_cm_id *ask(struct uroce_cm_channel *channel, const char *words)
{
	struct uroce_cm_options options = { .private_data = words, .private_bytes = (uint32_t)strlen(words) + 1 };
	struct uroce_addr source = network_address("10.0.0.1"), dest = network_address("10.0.0.2");
	struct uroce_cm_id *id;

	cr_assert_eq(uroce_cm_id_create_ud(channel, 5, &id), 0);
	cr_assert_eq(uroce_cm_connect(id, &source, &dest, 7, &options), 0, "%s", uroce_last_error());
	return id;
}

/* C-18: like rdma_cm's udaddy. The answer suffices to send datagrams. */
Test(ud, each_sidr_request_is_answered_by_the_service_user)
{
	static struct datagrams all;
	struct uroce_cm_options answer = { .private_data = "here", .private_bytes = 5, .qkey = UROCE_CM_UD_QKEY };
	struct uroce_cm_id *listener, *asker, *refused;
	struct uroce_cm_channel *channel;
	struct uroce_cm_event event;
	struct uroce_ud_addr to;

	RULE("C-18");
	open_uds(&all, 1);
	cr_assert_eq(uroce_cm_channel_create(all.network.engine, &channel), 0);
	cr_assert_eq(uroce_cm_id_create_ud(channel, 3, &listener), 0);
	cr_assert_eq(uroce_cm_bind(listener, NULL, 7), 0);
	cr_assert_eq(uroce_cm_listen_bound(listener, 8), 0);
	asker = ask(channel, "a question");
	event = next_event(channel, UROCE_CM_CONNECT_REQUEST);
	cr_expect_eq(event.listener, listener);
	cr_expect_eq(event.context, 3);
	cr_expect_str_eq((const char *)event.private_data, "a question");
	cr_expect_eq(event.private_bytes, 180);
	cr_expect_neq(event.peer_port, 0);
	cr_expect_eq(event.path_mtu, 0);
	cr_expect_eq(uroce_cm_accept(event.id, &answer), -EINVAL, "without a queue pair");
	answer.qp_num = uroce_ud_num(all.uds[1]);
	cr_assert_eq(uroce_cm_accept(event.id, &answer), 0, "%s", uroce_last_error());
	cr_expect_eq(uroce_cm_accept(event.id, &answer), -ENOTCONN, "twice");
	cr_assert_eq(uroce_cm_id_destroy(event.id), 0);
	event = next_event(channel, UROCE_CM_UD_RESOLVED);
	cr_expect_eq(event.id, asker);
	cr_expect_eq(event.status, 0);
	cr_expect_eq(event.peer_qp_num, uroce_ud_num(all.uds[1]));
	cr_expect_eq(event.peer_qkey, UROCE_CM_UD_QKEY);
	cr_expect_str_eq((const char *)event.private_data, "here");
	to = (struct uroce_ud_addr){ .path = { .source = event.local, .dest = event.peer },
				     .qp_num = event.peer_qp_num,
				     .qkey = event.peer_qkey };
	post_recv(&all, 64);
	cr_assert_eq(post_datagram(&all, &to, UROCE_WR_SEND, 64), 0);
	cr_expect_eq(network_wait(&all.network, 1).byte_len, GRH + 64);
	refused = ask(channel, "another");
	event = next_event(channel, UROCE_CM_CONNECT_REQUEST);
	cr_expect_eq(uroce_cm_reject(event.id, "no", 137), -EINVAL);
	cr_assert_eq(uroce_cm_reject(event.id, "no", 3), 0);
	cr_assert_eq(uroce_cm_id_destroy(event.id), 0);
	event = next_event(channel, UROCE_CM_UD_RESOLVED);
	cr_expect_eq(event.id, refused);
	cr_expect_eq(event.status, -ECONNREFUSED);
	cr_expect_eq(event.reason, 2);
	cr_expect_str_eq((const char *)event.private_data, "no");
	cr_assert_eq(uroce_cm_id_destroy(asker), 0);
	cr_assert_eq(uroce_cm_id_destroy(refused), 0);
	cr_assert_eq(uroce_cm_id_destroy(listener), 0);
	cr_assert_eq(uroce_cm_channel_destroy(channel), 0);
	close_uds(&all);
}
