/* alternate.c - alternate paths of connections by address: asked for by either end, by both at once, and in vain */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "calls.h"
#include "cm/mad.h"
#include "drivers/fault/fault.h"
#include "engine/device_state.h"
#include "rule.h"
#include "start.h"
#include "wire/encap.h"
#include "wire/packet.h"

TestSuite(alternate, .init = test_eal_start, .timeout = 120);

/* A second pair of ports, with two pairs of addresses. */
struct second {
	struct drivers_loop loop;
	struct uroce_device *devices[2];
};

/* Of the pair of addresses `way`, 1 or 2, that of an end. */
static struct uroce_addr address(int end, int way)
{
	static const char *const texts[2][2] = { { "10.0.1.1", "10.0.1.2" }, { "10.0.2.1", "10.0.2.2" } };

	return network_address(texts[way - 1][end]);
}

static struct uroce_path path_of(int end, int way)
{
	return (struct uroce_path){ .source = address(end, way), .dest = address(!end, way) };
}

static void open_all(struct network *network, struct second *second, struct uroce_cm_channel **channel,
		     struct uroce_cm_id **listener)
{
	struct drivers_loop_config config = {
		.name = "second", .queue_count = 1, .ring_entries = 256, .mbuf_count = 2047
	};
	struct uroce_error error;

	calls_open(network, 1, channel);
	cr_assert_eq(drivers_loop_open(&config, &second->loop, &error), 0, "%s", error.text);
	for (int i = 0; i < 2; i++) {
		struct uroce_device_config device = {
			.port_id = second->loop.ports[i].port_id,
			.pool = second->loop.pool,
			.addr_count = 2,
			.addrs = { address(i, 1), address(i, 2) },
		};

		cr_assert_eq(uroce_device_create(network->engine, &device, &second->devices[i]), 0);
	}
	cr_assert_eq(uroce_cm_listen(*channel, NULL, CALLS_PORT, 8, 0, listener), 0);
}

/* ids: the active end's and the passive one's. options: of the active end. */
static void connect_ends(struct network *network, struct uroce_cm_channel *channel,
			 const struct uroce_cm_options *options, struct uroce_cm_id *ids[2])
{
	struct uroce_cm_event event;

	ids[0] = calls_dial(network, channel, "10.0.0.2", options);
	event = calls_wait(channel, UROCE_CM_CONNECT_REQUEST);
	cr_expect_eq(event.has_alternate, options != NULL);
	ids[1] = event.id;
	calls_answer(network, ids[1], NULL);
	for (int i = 0; i < 2; i++)
		calls_wait(channel, UROCE_CM_ESTABLISHED);
}

static void close_all(struct network *network, struct second *second, struct uroce_cm_channel *channel,
		      struct uroce_cm_id *listener, struct uroce_cm_id *ids[2])
{
	for (int i = 0; i < 2; i++)
		calls_hang_up(ids[i]);
	calls_end(network); /* their DREQs may go over the second pair */
	for (int i = 0; i < 2; i++)
		cr_assert_eq(uroce_device_destroy(second->devices[i]), 0);
	cr_assert_eq(drivers_loop_close(&second->loop), 0);
	calls_close(network, channel, listener);
}

/* The answer of the last REP that came, about the alternate path of its REQ. */
static uint8_t failover_in_rep;

static uint16_t look_for_rep(uint16_t port, uint16_t queue, struct rte_mbuf **burst, uint16_t count, uint16_t max,
			     void *nothing)
{
	struct cm_message message;
	struct wire_packet packet;
	struct wire_encap encap;

	(void)port, (void)queue, (void)max, (void)nothing;
	for (uint16_t i = 0; i < count; i++) {
		const uint8_t *frame = rte_pktmbuf_mtod(burst[i], const uint8_t *);

		if (wire_encap_parse(frame, burst[i]->data_len, false, &encap) == WIRE_FRAME_ROCE &&
		    wire_packet_parse(frame + encap.bth_offset, encap.bth_bytes, &packet) == WIRE_PACKET_OK &&
		    packet.dest_qpn == CM_QPN &&
		    cm_mad_parse(packet.payload, packet.payload_bytes, &message) == CM_MAD_OK && message.kind == CM_REP)
			failover_in_rep = message.failover;
	}
	return count;
}

/* Each of both is told so, once. */
static void wait_loaded(struct uroce_cm_channel *channel)
{
	for (int i = 0; i < 2; i++)
		cr_expect_eq(calls_wait(channel, UROCE_CM_ALTERNATE).status, 0);
}

static void expect_loaded(struct second *second, struct uroce_cm_id *ids[2], int way, const char *when)
{
	for (int i = 0; i < 2; i++) {
		struct uroce_qp_attr attr;

		cr_assert_eq(uroce_qp_query(uroce_cm_qp(ids[i]), &attr), 0);
		cr_expect_eq(attr.alt_path.device, second->devices[i], "end %d, %s", i, when);
		cr_expect_arr_eq(attr.alt_path.source.bytes, address(i, way).bytes, 16, "end %d, %s", i, when);
		cr_expect_arr_eq(attr.alt_path.dest.bytes, address(!i, way).bytes, 16, "end %d, %s", i, when);
		cr_expect_neq(attr.path_mig_state, UROCE_PATH_MIGRATED, "end %d, %s", i, when);
	}
}

/* Packets both ways: they arm both ends, or tell each that the other has followed. */
static void talk(struct network *network, struct uroce_cm_id *ids[2])
{
	for (int i = 0; i < 4; i++) {
		struct uroce_send_wr wr = { .opcode = UROCE_WR_RDMA_WRITE, .send_flags = UROCE_SEND_SIGNALED };
		struct uroce_wc wc;

		cr_assert_eq(uroce_qp_post_send(uroce_cm_qp(ids[i % 2]), &wr, NULL), 0);
		while (uroce_cq_poll(network->ends[i % 2].cq, 1, &wc) == 0)
			network_poll(network);
		cr_assert_eq(wc.status, UROCE_WC_SUCCESS);
	}
}

static enum uroce_path_mig_state migration_of(struct uroce_cm_id *id)
{
	struct uroce_qp_attr attr;

	cr_assert_eq(uroce_qp_query(uroce_cm_qp(id), &attr), 0);
	return attr.path_mig_state;
}

static void migrate(struct uroce_cm_id *id)
{
	struct uroce_qp_attr attr = { .path_mig_state = UROCE_PATH_MIGRATED };

	cr_assert_eq(migration_of(id), UROCE_PATH_ARMED);
	cr_assert_eq(uroce_qp_modify(uroce_cm_qp(id), &attr, UROCE_QP_PATH_MIG_STATE, NULL), 0);
}

/* A LAP loads the path on both sides, and packets arm it; then either side may move. */
Test(alternate, an_alternate_path_is_loaded_and_used)
{
	static struct network network;
	static struct second second;
	struct uroce_path path = path_of(0, 1);
	struct uroce_cm_options options = { .alternate = &path };
	struct uroce_cm_channel *channel;
	struct uroce_cm_id *listener, *ids[2];

	RULE("C-20");
	open_all(&network, &second, &channel, &listener);
	connect_ends(&network, channel, &options, ids);
	wait_loaded(channel);
	expect_loaded(&second, ids, 1, "named in the REQ");
	talk(&network, ids);
	migrate(ids[0]);
	talk(&network, ids);
	cr_expect_eq(migration_of(ids[1]), UROCE_PATH_MIGRATED, "it has followed");
	close_all(&network, &second, channel, listener, ids);
}

/* A path loaded later by the peer is reported as the peer sees it, as is the earlier path. */
Test(alternate, either_end_may_load_the_alternate_path)
{
	static struct network network;
	static struct second second;
	struct uroce_cm_channel *channel;
	struct uroce_cm_id *listener, *ids[2];

	RULE("C-20");
	open_all(&network, &second, &channel, &listener);
	connect_ends(&network, channel, NULL, ids);
	for (int from = 0; from < 2; from++) {
		struct uroce_path path = path_of(from, 1 + from);

		cr_assert_eq(uroce_cm_load_alternate(ids[from], &path, 0), 0);
		wait_loaded(channel);
		expect_loaded(&second, ids, 1 + from, from ? "asked for by the passive end" : "by the active end");
	}
	close_all(&network, &second, channel, listener, ids);
}

/* Their LAPs cross: each call is answered once, and both ends have the same path then. */
Test(alternate, both_ends_may_load_a_path_at_once)
{
	static struct network network;
	static struct second second;
	struct uroce_cm_channel *channel;
	struct uroce_cm_id *listener, *ids[2];

	RULE("C-20");
	open_all(&network, &second, &channel, &listener);
	connect_ends(&network, channel, NULL, ids);
	for (int first = 0; first < 2; first++) {
		for (int i = 0; i < 2; i++) {
			struct uroce_path path = path_of(i ^ first, 1 + i);

			cr_assert_eq(uroce_cm_load_alternate(ids[i ^ first], &path, 0), 0);
		}
		wait_loaded(channel);
		expect_loaded(&second, ids, 1 + first, "of the active end");
	}
	close_all(&network, &second, channel, listener, ids);
}

/* After a migration each user loads the previous path again as soon as the peer has followed. */
Test(alternate, both_ends_may_rearm_after_a_migration)
{
	static struct network network;
	static struct second second;
	struct uroce_path path = path_of(0, 1);
	struct uroce_cm_options options = { .alternate = &path };
	struct uroce_cm_channel *channel;
	struct uroce_cm_id *listener, *ids[2];

	RULE("A-8");
	RULE("C-20");
	open_all(&network, &second, &channel, &listener);
	connect_ends(&network, channel, &options, ids);
	wait_loaded(channel);
	talk(&network, ids);
	migrate(ids[0]);
	talk(&network, ids);
	for (int i = 0; i < 2; i++) {
		struct uroce_path back = { .source = network_address(i ? "10.0.0.2" : "10.0.0.1"),
					   .dest = network_address(i ? "10.0.0.1" : "10.0.0.2") };

		cr_assert_eq(uroce_cm_load_alternate(ids[i], &back, 0), 0);
	}
	wait_loaded(channel);
	talk(&network, ids);
	for (int i = 0; i < 2; i++)
		cr_expect_eq(migration_of(ids[i]), UROCE_PATH_ARMED, "end %d", i);
	migrate(ids[1]);
	talk(&network, ids);
	close_all(&network, &second, channel, listener, ids);
}

/* The path that was left may be dead, and it is most likely when a connection is closed after a migration. */
Test(alternate, a_connection_that_has_migrated_is_closed_over_its_new_path)
{
	static struct network network;
	static struct second second;
	struct uroce_path path = path_of(0, 1);
	struct uroce_cm_options options = { .alternate = &path };
	struct drivers_fault_config none = { 0 };
	struct drivers_fault *faults[2];
	struct uroce_cm_channel *channel;
	struct uroce_cm_id *listener, *ids[2];
	struct uroce_error error;

	RULE("C-20");
	open_all(&network, &second, &channel, &listener);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(drivers_fault_attach(&network.loop.ports[i], &none, &faults[i], &error), 0, "%s",
			     error.text);
	for (int from = 0; from < 2; from++) {
		connect_ends(&network, channel, &options, ids);
		wait_loaded(channel);
		talk(&network, ids);
		migrate(ids[0]);
		talk(&network, ids);
		for (int i = 0; i < 2; i++)
			drivers_fault_cut(faults[i], true);
		cr_assert_eq(uroce_cm_disconnect(ids[from]), 0);
		for (int i = 0; i < 2; i++)
			cr_expect_eq(calls_wait(channel, UROCE_CM_DISCONNECTED).status, 0, "by end %d", from);
		for (int i = 0; i < 2; i++) {
			drivers_fault_cut(faults[i], false);
			if (from == 0)
				calls_hang_up(ids[i]);
		}
	}
	for (int i = 0; i < 2; i++)
		drivers_fault_detach(faults[i]);
	close_all(&network, &second, channel, listener, ids);
}

/* Refused where it is asked for, and by the peer when only that one sees it. */
Test(alternate, path_in_use_is_refused_as_alternate)
{
	static struct network network;
	static struct second second;
	struct uroce_path same = { .source = network_address("10.0.0.1"), .dest = network_address("10.0.0.2") };
	struct uroce_path stranger = { .source = network_address("10.7.0.1"), .dest = network_address("10.7.0.2") };
	struct uroce_path far = { .source = address(0, 1), .dest = network_address("10.7.0.2") };
	struct uroce_cm_options options = { .alternate = &same };
	struct uroce_addr peer = network_address("10.0.0.2");
	struct uroce_cm_channel *channel;
	struct uroce_cm_id *listener, *ids[2], *id;
	struct uroce_qp_init_attr init;
	struct uroce_qp *qp;

	RULE("C-20");
	open_all(&network, &second, &channel, &listener);
	connect_ends(&network, channel, NULL, ids);
	cr_expect_eq(uroce_cm_load_alternate(ids[0], &same, 0), -EINVAL);
	cr_expect_str_eq(uroce_last_error(), "path: it equals the path in use");
	cr_expect_eq(uroce_cm_load_alternate(ids[0], &stranger, 0), -EINVAL);
	cr_expect_str_eq(uroce_last_error(), "path.source: no device of the engine has this address");
	init = calls_qp_init(&network, 0);
	cr_assert_eq(uroce_cm_id_create(channel, 0, &id), 0);
	cr_assert_eq(uroce_cm_qp_create(id, network.ends[0].pd, &init, 0, &qp), 0);
	cr_expect_eq(uroce_cm_connect(id, NULL, &peer, CALLS_PORT, &options), -EINVAL);
	cr_expect_str_eq(uroce_last_error(), "alternate: it equals the primary path");
	options.alternate = &stranger;
	cr_expect_eq(uroce_cm_connect(id, NULL, &peer, CALLS_PORT, &options), -EINVAL);
	cr_expect_str_eq(uroce_last_error(), "alternate: no device has its source address");
	calls_hang_up(id);
	cr_assert_eq(uroce_cm_load_alternate(ids[0], &far, 0), 0);
	cr_expect_eq(uroce_cm_load_alternate(ids[0], &far, 0), -EALREADY);
	cr_expect_str_eq(uroce_last_error(), "path: another path is being negotiated; wait for UROCE_CM_ALTERNATE");
	cr_expect_eq(calls_wait(channel, UROCE_CM_ALTERNATE).status, 8, "it is no address of the peer");
	close_all(&network, &second, channel, listener, ids);
}

/* The passive end of a connection, which its user has accepted with these options. */
static struct uroce_cm_id *accepted(struct network *network, struct uroce_cm_channel *channel,
				    const struct uroce_path *alternate, const struct uroce_cm_options *options,
				    struct uroce_cm_id **active)
{
	const struct uroce_cm_options asking = { .alternate = alternate };
	struct uroce_cm_event event;

	*active = calls_dial(network, channel, "10.0.0.2", &asking);
	event = calls_wait(channel, UROCE_CM_CONNECT_REQUEST);
	failover_in_rep = 0xFF;
	if (options)
		cr_assert_eq(uroce_cm_accept(event.id, options), 0, "%s", uroce_last_error());
	else
		calls_answer(network, event.id, NULL);
	for (int i = 0; i < 100; i++)
		network_poll(network);
	return event.id;
}

/* C-19: 0 accepted, 1 not supported, 2 rejected. */
Test(alternate, reply_reports_the_state_of_the_requested_path)
{
	static struct network network;
	static struct second second;
	struct uroce_path good = path_of(0, 1), far = good;
	const struct {
		const struct uroce_path *path;
		bool user_moves;
		uint8_t failover;
	} rows[] = {
		{ NULL, false, 0 }, { &good, false, 0 }, { &far, false, 2 }, { NULL, true, 1 }, { &good, true, 1 }
	};
	struct uroce_cm_channel *channel;
	struct uroce_cm_id *listener, *ids[2];

	RULE("C-19");
	far.dest = network_address("10.7.0.2");
	open_all(&network, &second, &channel, &listener);
	cr_assert_not_null(rte_eth_add_rx_callback(network.loop.ports[0].port_id, 0, look_for_rep, NULL));
	for (size_t i = 0; i < RTE_DIM(rows); i++) {
		struct uroce_qp_init_attr init = calls_qp_init(&network, 1);
		struct uroce_cm_options moves = { .qp_num = 0 };
		struct uroce_qp *qp = NULL;
		struct uroce_qp_attr attr;

		if (rows[i].user_moves) {
			cr_assert_eq(uroce_qp_create(network.ends[1].pd, &init, &qp), 0);
			moves.qp_num = uroce_qp_num(qp);
		}
		ids[1] = accepted(&network, channel, rows[i].path, qp ? &moves : NULL, &ids[0]);
		cr_expect_eq(failover_in_rep, rows[i].failover, "row %zu: %u", i, failover_in_rep);
		if (!qp) {
			cr_assert_eq(uroce_qp_query(uroce_cm_qp(ids[1]), &attr), 0);
			cr_expect_eq(attr.alt_path.device == second.devices[1], rows[i].path == &good, "row %zu", i);
		}
		for (int end = 0; end < 2; end++)
			cr_assert_eq(uroce_cm_close(ids[end]), 0);
		if (qp)
			cr_assert_eq(uroce_qp_destroy(qp), 0);
		calls_end(&network);
	}
	for (int i = 0; i < 2; i++)
		cr_assert_eq(uroce_device_destroy(second.devices[i]), 0);
	cr_assert_eq(drivers_loop_close(&second.loop), 0);
	calls_close(&network, channel, listener);
}

/* A router forwards no packet with a hop limit of 1; two families make no path. */
Test(alternate, unusable_path_is_refused_with_its_reason)
{
	static struct network network;
	static struct second second;
	struct uroce_path path = path_of(0, 1), mixed = { .source = address(0, 1), .dest = network_address("fd00::2") };
	struct uroce_cm_channel *channel;
	struct uroce_cm_id *listener, *ids[2];
	struct uroce_device_config *config;

	RULE("C-20");
	open_all(&network, &second, &channel, &listener);
	connect_ends(&network, channel, NULL, ids);
	config = &second.devices[1]->config;
	config->prefix_bits[0] = 32; /* as the passive end sees it the peer is behind a router */
	config->gateways[0] = network_address("10.0.1.254");
	path.hop_limit = 1;
	cr_assert_eq(uroce_cm_load_alternate(ids[0], &path, 0), 0);
	cr_expect_eq(calls_wait(channel, UROCE_CM_ALTERNATE).status, 11);
	path.hop_limit = 2;
	cr_assert_eq(uroce_cm_load_alternate(ids[0], &path, 0), 0);
	wait_loaded(channel);
	cr_expect_eq(uroce_cm_load_alternate(ids[0], &mixed, 0), -EINVAL);
	cr_expect_str_eq(uroce_last_error(), "path: source and dest must both be IPv4 or both be IPv6");
	config = &second.devices[0]->config;
	config->prefix_bits[0] = 32;
	config->gateways[0] = network_address("10.0.1.254");
	path.hop_limit = 1;
	cr_expect_eq(uroce_cm_load_alternate(ids[0], &path, 0), -EINVAL);
	cr_expect_str_eq(uroce_last_error(), "path.hop_limit 1: 10.0.1.2 is behind a router, so 2 or more is required");
	close_all(&network, &second, channel, listener, ids);
}
