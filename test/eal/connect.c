/* connect.c - connections by address over loop ports, through the public interface */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>

#include "calls.h"
#include "engine/clock.h"
#include "engine/connect.h"
#include "rule.h"
#include "start.h"
#include "ticks.h"

TestSuite(connect, .init = test_eal_start, .timeout = 120);

Test(connect, connection_lifecycle_with_private_data_both_ways)
{
	static const char question[] = "who are you?", reply[] = "nobody";
	static struct network network;
	struct uroce_cm_options asking = {
		.private_data = question,
		.private_bytes = sizeof(question),
		.path_mtu = 1024,
		.max_rd_atomic = 3,
		.retry_cnt = 5,
		.rnr_retry = 6,
	};
	struct uroce_cm_options answering = { .private_data = reply, .private_bytes = sizeof(reply) };
	struct uroce_cm_id *listener, *client;
	struct uroce_cm_channel *channel;
	struct uroce_cm_event event;
	struct uroce_qp_attr attr;

	RULE("C-4");
	RULE("C-6");
	RULE("C-27");
	calls_open(&network, 1, &channel);
	cr_assert_eq(uroce_cm_listen(channel, NULL, CALLS_PORT, 8, 42, &listener), 0);
	client = calls_dial(&network, channel, "10.0.0.2", &asking);
	event = calls_wait(channel, UROCE_CM_CONNECT_REQUEST);
	cr_expect_eq(event.listener, listener);
	cr_expect_eq(event.context, 42);
	cr_expect_str_eq((char *)event.private_data, question);
	cr_expect_eq(event.private_bytes, 56);
	cr_expect_eq(event.path_mtu, 1024);
	cr_expect_eq(event.peer_initiator, 3);
	cr_expect_eq(event.peer_responder, 8);
	cr_expect_eq(event.peer_retry_cnt, 5);
	cr_expect_eq(event.peer_rnr_retry, 6);
	cr_expect_not(event.peer_srq);
	cr_expect_eq(event.peer_qp_num, uroce_qp_num(uroce_cm_qp(client)));
	cr_expect_eq(event.extensions, UROCE_CM_ATOMIC_WRITE | UROCE_CM_FLUSH, "C-32");
	cr_expect_eq(uroce_cm_lcore(event.id), uroce_engine_lcore(network.engine, 0), "before it has a QP");
	cr_expect_null(uroce_cm_lcore(listener));
	calls_answer(&network, event.id, &answering);
	for (int i = 0; i < 2; i++) {
		struct uroce_cm_event established = calls_wait(channel, UROCE_CM_ESTABLISHED);

		if (established.id == client)
			cr_expect_str_eq((char *)established.private_data, reply);
		cr_expect_eq(established.extensions, UROCE_CM_ATOMIC_WRITE | UROCE_CM_FLUSH, "C-32");
		cr_assert_eq(uroce_qp_query(uroce_cm_qp(established.id), &attr), 0);
		cr_expect_eq(attr.qp_state, UROCE_QPS_RTS);
		cr_expect_eq(attr.path_mtu, 1024);
		cr_expect_eq(established.id == client ? attr.max_rd_atomic : attr.max_dest_rd_atomic, 3);
	}
	cr_assert_eq(uroce_cm_disconnect(client), 0);
	for (int i = 0; i < 2; i++)
		calls_wait(channel, UROCE_CM_DISCONNECTED);
	cr_assert_eq(uroce_qp_query(uroce_cm_qp(client), &attr), 0);
	cr_expect_eq(attr.qp_state, UROCE_QPS_ERR);
	calls_hang_up(client);
	calls_hang_up(event.id);
	calls_close(&network, channel, listener);
}

/* Two ends connect with these options; `ours` and `theirs` are the attributes that they have agreed on. */
static void agree(const struct uroce_cm_options *asking, const struct uroce_cm_options *answering,
		  struct uroce_qp_attr *ours, struct uroce_qp_attr *theirs)
{
	static struct network network;
	struct uroce_cm_channel *channel;
	struct uroce_cm_id *listener, *client;
	struct uroce_cm_event request;

	calls_open(&network, 1, &channel);
	cr_assert_eq(uroce_cm_listen(channel, NULL, CALLS_PORT, 8, 0, &listener), 0);
	client = calls_dial(&network, channel, "10.0.0.2", asking);
	request = calls_wait(channel, UROCE_CM_CONNECT_REQUEST);
	calls_answer(&network, request.id, answering);
	for (int side = 0; side < 2; side++)
		calls_wait(channel, UROCE_CM_ESTABLISHED);
	cr_assert_eq(uroce_qp_query(uroce_cm_qp(client), ours), 0);
	cr_assert_eq(uroce_qp_query(uroce_cm_qp(request.id), theirs), 0);
	cr_assert_eq(uroce_cm_disconnect(client), 0);
	for (int side = 0; side < 2; side++)
		calls_wait(channel, UROCE_CM_DISCONNECTED);
	calls_hang_up(client);
	calls_hang_up(request.id);
	calls_close(&network, channel, listener);
}

Test(connect, reads_repair_in_any_order_when_both_ends_support_it)
{
	static const struct {
		bool client_off, server_off;
		enum uroce_read_repair client, server;
	} rows[] = {
		{ false, false, UROCE_READ_REPAIR_ANY_ORDER, UROCE_READ_REPAIR_ANY_ORDER },
		{ true, false, UROCE_READ_REPAIR_OFF, UROCE_READ_REPAIR_UPWARDS },
		{ false, true, UROCE_READ_REPAIR_UPWARDS, UROCE_READ_REPAIR_OFF },
	};

	RULE("Q-16");
	RULE("C-32");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct uroce_cm_options asking = { .no_read_repair = rows[i].client_off };
		const struct uroce_cm_options answering = { .no_read_repair = rows[i].server_off };
		struct uroce_qp_attr ours, theirs;

		agree(&asking, &answering, &ours, &theirs);
		cr_expect_eq(ours.read_repair, rows[i].client, "row %zu", i);
		cr_expect_eq(theirs.read_repair, rows[i].server, "row %zu", i);
	}
}

Test(connect, sacks_need_both_ends_and_use_the_smaller_window)
{
	static const struct {
		struct uroce_cm_options client, server;
		uint16_t both;
	} rows[] = {
		{ { 0 }, { 0 }, 256 },
		{ { .no_sack = true }, { 0 }, 0 },
		{ { .sack_window = 2048 }, { .no_sack = true, .sack_window = 2048 }, 0 },
		{ { .sack_window = 2048 }, { 0 }, 256 },
		{ { .sack_window = 256 }, { .sack_window = 2048 }, 256 },
		{ { .sack_window = 2048 }, { .sack_window = 512 }, 512 },
		{ { .sack_window = 1024 }, { .sack_window = 2048 }, 1024 },
	};

	RULE("S-22");
	RULE("C-32");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct uroce_qp_attr ours, theirs;

		agree(&rows[i].client, &rows[i].server, &ours, &theirs);
		cr_expect_eq(ours.sack_window, rows[i].both, "row %zu", i);
		cr_expect_eq(theirs.sack_window, rows[i].both, "row %zu", i);
	}
}

Test(connect, each_end_chooses_its_paths_if_the_peer_has_sacks)
{
	static const struct {
		struct uroce_cm_options client, server;
		uint8_t ours, theirs;
	} rows[] = {
		{ { 0 }, { 0 }, 0, 0 },
		{ { .paths = 8 }, { .paths = 64 }, 8, 64 },
		{ { .paths = 8 }, { 0 }, 8, 0 },
		{ { .paths = 8 }, { .no_sack = true }, 0, 0 },
	};

	RULE("W-10");
	RULE("C-32");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct uroce_qp_attr ours, theirs;

		agree(&rows[i].client, &rows[i].server, &ours, &theirs);
		cr_expect_eq(ours.paths, rows[i].ours, "row %zu", i);
		cr_expect_eq(theirs.paths, rows[i].theirs, "row %zu", i);
	}
}

Test(connect, reject_carries_its_reason_and_private_data)
{
	static struct network network;
	struct uroce_cm_channel *channel;
	struct uroce_cm_id *listener, *client;
	struct uroce_cm_event event;

	RULE("C-14");
	calls_open(&network, 1, &channel);
	client = calls_dial(&network, channel, "10.0.0.2", NULL);
	event = calls_wait(channel, UROCE_CM_REJECTED);
	cr_expect_eq(event.reason, 8, "nobody listens");
	calls_hang_up(client);
	cr_assert_eq(uroce_cm_listen(channel, NULL, CALLS_PORT, 8, 0, &listener), 0);
	client = calls_dial(&network, channel, "10.0.0.2", NULL);
	event = calls_wait(channel, UROCE_CM_CONNECT_REQUEST);
	cr_assert_eq(uroce_cm_reject(event.id, "no", 3), 0);
	calls_hang_up(event.id);
	event = calls_wait(channel, UROCE_CM_REJECTED);
	cr_expect_eq(event.reason, 28);
	cr_expect_str_eq((char *)event.private_data, "no");
	calls_hang_up(client);
	cr_assert_eq(uroce_cm_id_destroy(listener), 0);
	calls_close(&network, channel, NULL);
}

Test(connect, unreachable_peer_is_reported)
{
	static struct network network;
	struct uroce_cm_channel *channel;
	struct uroce_cm_event event;
	struct uroce_cm_id *client;

	calls_open(&network, 1, &channel);
	client = calls_dial(&network, channel, "10.0.0.77", NULL);
	event = calls_wait(channel, UROCE_CM_UNREACHABLE);
	cr_expect_eq(event.status, -EHOSTUNREACH, "%s", strerror(-event.status));
	calls_hang_up(client);
	calls_close(&network, channel, NULL);
}

/* One error number for each, and nothing left behind. */
Test(connect, invalid_calls_are_refused)
{
	static struct network network;
	struct uroce_addr stranger = network_address("10.0.0.9"), peer = network_address("10.0.0.2");
	const struct uroce_qp_attr other_partition = { .qp_state = UROCE_QPS_INIT, .pkey = 0x8001 };
	const struct uroce_qp_attr partition = { .qp_state = UROCE_QPS_INIT, .pkey = 0xFFFF };
	struct uroce_cm_options options = { .private_data = "x", .private_bytes = 57 };
	struct uroce_cm_id *listener, *other, *id;
	struct uroce_cm_channel *channel;
	struct uroce_qp_init_attr init;
	struct uroce_qp *qp;

	RULE("C-25");
	calls_open(&network, 1, &channel);
	init = calls_qp_init(&network, 0);
	cr_expect_eq(uroce_cm_listen(channel, NULL, CALLS_PORT, 65537, 0, &listener), -EINVAL, "backlog");
	cr_expect_eq(uroce_cm_listen(channel, &stranger, CALLS_PORT, 1, 0, &listener), -EADDRNOTAVAIL);
	cr_assert_eq(uroce_cm_listen(channel, &peer, CALLS_PORT, 1, 0, &listener), 0);
	cr_expect_eq(uroce_cm_listen(channel, NULL, CALLS_PORT, 1, 0, &other), -EADDRINUSE);
	cr_assert_eq(uroce_cm_listen(channel, &peer, 0, 1, 0, &other), 0);
	cr_expect_geq(uroce_cm_port(other), 49152);
	cr_assert_eq(uroce_cm_id_destroy(other), 0);
	cr_assert_eq(uroce_cm_id_create(channel, 0, &id), 0);
	cr_expect_eq(uroce_cm_connect(id, NULL, &peer, CALLS_PORT, NULL), -EINVAL, "without a QP");
	cr_assert_eq(uroce_cm_qp_create(id, network.ends[0].pd, &init, 0, &qp), 0);
	cr_expect_eq(uroce_cm_qp_create(id, network.ends[0].pd, &init, 0, &qp), -EBUSY);
	cr_expect_eq(uroce_cm_connect(id, &stranger, &peer, CALLS_PORT, NULL), -EADDRNOTAVAIL);
	cr_expect_eq(uroce_cm_connect(id, NULL, &peer, CALLS_PORT, &options), -EINVAL, "private data");
	options = (struct uroce_cm_options){ .path_mtu = 1000 };
	cr_expect_eq(uroce_cm_connect(id, NULL, &peer, CALLS_PORT, &options), -EINVAL, "MTU");
	cr_expect_eq(uroce_qp_modify(qp, &other_partition, UROCE_QP_STATE | UROCE_QP_PKEY, NULL), 0);
	cr_expect_eq(uroce_cm_connect(id, NULL, &peer, CALLS_PORT, NULL), -EINVAL, "P_Key");
	cr_expect_eq(uroce_qp_modify(qp, &partition, UROCE_QP_STATE | UROCE_QP_PKEY, NULL), 0);
	cr_expect_eq(uroce_cm_accept(id, NULL), -ENOTCONN);
	cr_expect_eq(uroce_cm_reject(id, NULL, 0), -ENOTCONN);
	cr_expect_eq(uroce_cm_disconnect(id), -ENOTCONN);
	cr_expect_eq(uroce_cm_channel_destroy(channel), -EBUSY);
	calls_hang_up(id);
	calls_close(&network, channel, listener);
}

/* C-17: in any state, and the QP before the id or after it. */
Test(connect, id_destroyed_in_any_state_leaves_no_resources)
{
	static struct network network;
	struct uroce_cm_channel *channel;
	struct uroce_cm_id *listener;

	RULE("C-17");
	calls_open(&network, 1, &channel);
	cr_assert_eq(uroce_cm_listen(channel, NULL, CALLS_PORT, 8, 0, &listener), 0);
	for (int stage = 0; stage < 4; stage++) {
		struct uroce_cm_id *client = calls_dial(&network, channel, "10.0.0.2", NULL), *server = NULL;
		struct uroce_cm_event event;
		struct uroce_qp *qp;

		if (stage >= 1) {
			event = calls_wait(channel, UROCE_CM_CONNECT_REQUEST);
			server = event.id;
		}
		if (stage >= 2)
			calls_answer(&network, server, NULL);
		for (int i = 0; stage >= 3 && i < 2; i++)
			calls_wait(channel, UROCE_CM_ESTABLISHED);
		qp = uroce_cm_qp(client);
		if (stage % 2) {
			cr_assert_eq(uroce_qp_destroy(qp), 0);
			cr_assert_eq(uroce_cm_id_destroy(client), 0);
		} else {
			cr_assert_eq(uroce_cm_id_destroy(client), 0);
			cr_assert_eq(uroce_qp_destroy(qp), 0);
		}
		for (int i = 0; i < 20000; i++)
			network_poll(&network);
		while (uroce_cm_next(channel, &event) == 0) {
			if (event.type == UROCE_CM_CONNECT_REQUEST)
				server = event.id;
		}
		if (server)
			calls_hang_up(server);
	}
	calls_close(&network, channel, listener);
}

/* The engine stays while a channel exists; a channel created before any device serves all later devices. */
Test(connect, channel_may_precede_devices_and_keeps_the_engine)
{
	struct uroce_engine_config config = { 0 };
	struct uroce_cm_channel *channel, *again;
	struct uroce_engine *engine;

	cr_assert_eq(uroce_engine_create(&config, &engine), 0);
	cr_assert_eq(uroce_cm_channel_create(engine, &channel), 0);
	cr_expect_eq(uroce_engine_destroy(engine), -EBUSY);
	cr_assert_eq(uroce_cm_channel_destroy(channel), 0);
	cr_assert_eq(uroce_cm_channel_create(engine, &again), 0);
	cr_assert_eq(uroce_cm_channel_destroy(again), 0);
	cr_assert_eq(uroce_engine_destroy(engine), 0);
}

/* An RTU is lost: frames to QP 1 whose message has its attribute. */
static uint16_t lose_rtu(uint16_t port, uint16_t queue, struct rte_mbuf **frames, uint16_t count, uint16_t room,
			 void *nothing)
{
	uint16_t kept = 0;

	(void)port, (void)queue, (void)room, (void)nothing;
	for (uint16_t i = 0; i < count; i++) {
		const uint8_t *frame = rte_pktmbuf_mtod(frames[i], const uint8_t *);

		if (frames[i]->pkt_len > 80 && frame[42] == OP_UD_SEND_ONLY && frame[62 + 17] == 0x14)
			rte_pktmbuf_free(frames[i]);
		else
			frames[kept++] = frames[i];
	}
	return kept;
}

/* C-9: the first packet is as good as the RTU, and who has it can answer at once. */
Test(connect, packet_that_overtakes_the_rtu_is_answered)
{
	static struct network network;
	const struct rte_eth_rxtx_callback *callback;
	struct uroce_cm_channel *channel;
	struct uroce_cm_id *listener, *client, *server;
	struct uroce_send_wr send = { .opcode = UROCE_WR_SEND };
	struct uroce_recv_wr receive = { 0 };
	struct uroce_wc wc;

	RULE("C-9");
	calls_open(&network, 1, &channel);
	callback = rte_eth_add_rx_callback(network.loop.ports[1].port_id, 0, lose_rtu, NULL);
	cr_assert_eq(uroce_cm_listen(channel, NULL, CALLS_PORT, 1, 0, &listener), 0);
	client = calls_dial(&network, channel, "10.0.0.2", NULL);
	server = calls_wait(channel, UROCE_CM_CONNECT_REQUEST).id;
	calls_answer(&network, server, NULL);
	cr_assert_eq(uroce_qp_post_recv(uroce_cm_qp(server), &receive, NULL), 0);
	cr_assert_eq(calls_wait(channel, UROCE_CM_ESTABLISHED).id, client);
	cr_assert_eq(uroce_qp_post_send(uroce_cm_qp(server), &send, NULL), -EINVAL, "nothing has come yet");
	cr_assert_eq(uroce_qp_post_send(uroce_cm_qp(client), &send, NULL), 0);
	while (uroce_cq_poll(network.ends[1].cq, 1, &wc) == 0)
		network_poll(&network);
	cr_assert_eq(wc.opcode, UROCE_WC_RECV);
	cr_assert_eq(uroce_qp_post_send(uroce_cm_qp(server), &send, NULL), 0);
	cr_assert_eq(calls_wait(channel, UROCE_CM_ESTABLISHED).id, server);
	cr_assert_eq(rte_eth_remove_rx_callback(network.loop.ports[1].port_id, 0, callback), 0);
	calls_hang_up(client);
	calls_wait(channel, UROCE_CM_DISCONNECTED);
	calls_hang_up(server);
	calls_close(&network, channel, listener);
}

/*
 * Messages about connections that there are not are guesses; so many a second are told within two. A DREQ of them is
 * answered, and no drop.
 */
static void guess(enum cm_kind kind, const char *counter)
{
	static struct network network;
	struct uroce_cm_channel *channel;
	bool told = false;
	uint64_t began;

	calls_open(&network, 1, &channel);
	ticks_start(5000); /* at least 20000 guesses a second */
	began = engine_now_ns();
	for (uint32_t i = 0; !told && engine_now_ns() - began < 2 * ANOMALY_NS; i++) {
		struct cm_message message = { .kind = (uint8_t)kind, .local_id = i + 1, .remote_id = i + 1 };
		uint8_t mad[CM_MAD_BYTES];
		struct uroce_event event;

		cm_mad_build(&message, mad);
		calls_give(&network, 0, "10.0.0.2", mad);
		while (uroce_event_poll(network.ends[0].device, &event))
			told |= event.type == UROCE_EVENT_ANOMALY;
	}
	cr_expect(told, "%s", counter);
	cr_expect_gt(network_counter(&network, 0, counter), ANOMALY_UNKNOWN_SENDERS / 2);
	cr_expect_eq(network_counter(&network, 0, "drop_gsi_stranger") > 0, kind != CM_DREQ);
	calls_close(&network, channel, NULL);
}

Test(connect, guessed_connection_messages_raise_an_alarm)
{
	RULE("C-11");
	RULE("C-24");
	guess(CM_RTU, "drop_gsi_stranger");
	guess(CM_DREQ, "rx_gsi_unknown_dreq");
}

/* U-1, U-2: datagrams that cannot hold a CM message are dropped, each by its own counter, without an answer. */
Test(connect, invalid_packets_to_qp_1_are_dropped_and_counted)
{
	static const struct {
		const char *counter;
		uint32_t qkey;
		uint16_t pkey, bytes;
		uint8_t opcode;
	} rows[] = {
		{ "rx_gsi", CM_QKEY, 0xFFFF, CM_MAD_BYTES, OP_UD_SEND_ONLY },
		{ "rx_gsi", CM_QKEY, 0x7FFF, CM_MAD_BYTES, OP_UD_SEND_ONLY },
		{ "drop_other_class", CM_QKEY, 0xFFFF, CM_MAD_BYTES, OP_SEND_ONLY },
		{ "drop_pkey", CM_QKEY, 0xFFFE, CM_MAD_BYTES, OP_UD_SEND_ONLY },
		{ "drop_gsi_qkey", CM_QKEY + 1, 0xFFFF, CM_MAD_BYTES, OP_UD_SEND_ONLY },
		{ "drop_gsi_length", CM_QKEY, 0xFFFF, CM_MAD_BYTES - 4, OP_UD_SEND_ONLY },
	};
	static const uint8_t mad[CM_MAD_BYTES];
	static struct network network;
	struct uroce_cm_channel *channel;

	RULE("U-1");
	RULE("U-2");
	calls_open(&network, 1, &channel);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t before = network_counter(&network, 0, rows[i].counter);
		struct wire_packet packet = calls_packet(mad);

		packet.opcode = rows[i].opcode;
		packet.qkey = rows[i].qkey;
		packet.pkey = rows[i].pkey;
		packet.payload_bytes = rows[i].bytes;
		calls_give_packet(&network, 0, "10.0.0.2", &packet);
		cr_expect_eq(network_counter(&network, 0, rows[i].counter), before + 1, "row %zu", i);
	}
	calls_close(&network, channel, NULL);
}

static void hang_up_all(struct network *network, struct uroce_cm_channel *channel, struct uroce_cm_id *const *clients,
			uint32_t count)
{
	struct uroce_cm_event event;
	uint32_t ended = 0;

	for (uint32_t i = 0; i < count; i++)
		cr_assert_eq(uroce_cm_disconnect(clients[i]), 0);
	while (ended < 2 * count) {
		cr_assert_eq(uroce_cm_wait(channel, CALLS_PATIENCE_MS, &event), 0, "%u", ended);
		calls_take_event(network, &event, &(uint32_t){ 0 }, &ended);
	}
}

/* The lcores share the work, and a connection stays on the lcore of its QP. */
Test(connect, connections_live_on_all_lcores)
{
	enum { MANY = 64, LCORES = 2 };
	static struct network network;
	struct uroce_cm_channel *channel;
	struct uroce_cm_id *listener, *clients[MANY];
	struct uroce_cm_event event;
	uint32_t established = 0;

	calls_open(&network, LCORES, &channel);
	cr_assert_eq(uroce_cm_listen(channel, NULL, CALLS_PORT, MANY, 0, &listener), 0);
	for (int i = 0; i < MANY; i++)
		clients[i] = calls_dial(&network, channel, "10.0.0.2", NULL);
	while (established < 2 * MANY) {
		cr_assert_eq(uroce_cm_wait(channel, CALLS_PATIENCE_MS, &event), 0, "%u", established);
		calls_take_event(&network, &event, &established, &(uint32_t){ 0 });
	}
	hang_up_all(&network, channel, clients, MANY);
	calls_close(&network, channel, listener);
}

/* Polls until each client's WRITE, which is begun here, has been acknowledged. */
static void write_from_each(struct network *network, struct uroce_cm_id *const *clients, uint32_t count)
{
	struct uroce_sge sge = { (uintptr_t)network->ends[0].buffer, 4096, uroce_mr_lkey(network->ends[0].mr) };
	struct uroce_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = UROCE_WR_RDMA_WRITE,
		.send_flags = UROCE_SEND_SIGNALED,
		.remote_addr = (uintptr_t)network->ends[1].buffer,
		.rkey = uroce_mr_rkey(network->ends[1].mr),
	};

	for (uint32_t i = 0; i < count; i++)
		cr_assert_eq(uroce_qp_post_send(uroce_cm_qp(clients[i]), &wr, NULL), 0);
	for (uint32_t i = 0; i < count; i++)
		cr_assert_eq(network_wait(network, 0).status, UROCE_WC_SUCCESS);
}

static uint64_t handed_over(struct network *network)
{
	return network_counter(network, 0, "rx_handed_over") + network_counter(network, 1, "rx_handed_over");
}

/* Over a loop a connection has the same lcore at both ends, so no frame of it is handed from lcore to lcore. */
Test(connect, loop_frames_arrive_at_the_lcore_of_their_queue_pair)
{
	enum { MANY = 32, LCORES = 2 };
	static struct network network;
	struct uroce_cm_channel *channel;
	struct uroce_cm_id *listener, *clients[MANY];
	struct uroce_cm_event event;
	uint32_t established = 0, of_lcore[LCORES] = { 0 };

	RULE("C-27");
	calls_open(&network, LCORES, &channel);
	cr_assert_eq(uroce_cm_listen(channel, NULL, CALLS_PORT, MANY, 0, &listener), 0);
	for (int i = 0; i < MANY; i++)
		clients[i] = calls_dial(&network, channel, "10.0.0.2", NULL);
	while (established < 2 * MANY) {
		cr_assert_eq(uroce_cm_wait(channel, CALLS_PATIENCE_MS, &event), 0, "%u", established);
		if (event.type == UROCE_CM_CONNECT_REQUEST)
			of_lcore[uroce_lcore_index(uroce_cm_lcore(event.id))]++;
		calls_take_event(&network, &event, &established, &(uint32_t){ 0 });
	}
	for (int i = 0; i < LCORES; i++)
		cr_expect_eq(of_lcore[i], MANY / LCORES, "lcore %d has %u: not as many as clients", i, of_lcore[i]);
	write_from_each(&network, clients, MANY);
	cr_expect_eq(handed_over(&network), 0, "%lu frames", handed_over(&network));
	hang_up_all(&network, channel, clients, MANY);
	calls_close(&network, channel, listener);
}

/* That count can fail: queue pairs that the application puts on different lcores hand over each frame. */
Test(connect, frames_for_another_lcore_are_counted)
{
	static struct network network;

	network_open(&network, 2);
	network_create_qp(&network, 0, 16, 0);
	network_create_qp(&network, 1, 16, 1);
	network_connect(&network, false);
	cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 64), 0);
	cr_assert_eq(network_wait(&network, 0).status, UROCE_WC_SUCCESS);
	cr_expect_eq(network_counter(&network, 1, "rx_handed_over"), 1, "the WRITE");
	cr_expect_eq(network_counter(&network, 0, "rx_handed_over"), 1, "its ACK");
	network_close(&network);
}
