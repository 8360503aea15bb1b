/* refusals_cm.c - the refusals of connections and datagrams leave their sentences, too */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include <uroce/uroce.h>

#include "calls.h"
#include "engine/device_state.h"
#include "refusals.h"
#include "start.h"

TestSuite(refusals_cm, .init = test_eal_start, .timeout = 60);

static struct network network;

/* With several queues that are not wired, or with one as before. */
static void look_like_a_nic(struct uroce_device *device, bool nic)
{
	device->config.queue_count = nic ? 2 : 1;
	device->queues_are_wired = !nic;
}

static void refuse_options(struct uroce_cm_id *id, const struct uroce_addr *dest)
{
	struct uroce_cm_options options = { .private_bytes = 500 };

	EXPECT(-EINVAL, "private_bytes 500: must be 0 to 56", uroce_cm_connect(id, NULL, dest, CALLS_PORT, &options));
	options = (struct uroce_cm_options){ .private_bytes = 5 };
	EXPECT(-EINVAL, "private_data: NULL although private_bytes is 5",
	       uroce_cm_connect(id, NULL, dest, CALLS_PORT, &options));
	options = (struct uroce_cm_options){ .path_mtu = 300 };
	EXPECT(-EINVAL, "path_mtu 300: use a power of two from 256 to 4096, the path MTU of the device",
	       uroce_cm_connect(id, NULL, dest, CALLS_PORT, &options));
	options = (struct uroce_cm_options){ .sack_window = 300 };
	EXPECT(-EINVAL, "sack_window 300: use 256, 512, 1024 or 2048, or 0 for the default, 256",
	       uroce_cm_connect(id, NULL, dest, CALLS_PORT, &options));
	options = (struct uroce_cm_options){ .paths = 65 };
	EXPECT(-EINVAL, "paths 65: use 4 to 64, which require SACKs, or 0 for a single path",
	       uroce_cm_connect(id, NULL, dest, CALLS_PORT, &options));
	options = (struct uroce_cm_options){ .paths = 8 };
	look_like_a_nic(network.ends[0].device, true);
	EXPECT(-EINVAL,
	       "paths 8: port * has 2 queues and selects a queue by UDP source port; multipath requires a port with "
	       "one queue",
	       uroce_cm_connect(id, NULL, dest, CALLS_PORT, &options));
	look_like_a_nic(network.ends[0].device, false);
	options = (struct uroce_cm_options){ .option_mask = 0x80 };
	EXPECT(-EINVAL, "option_mask 0x80: it has bits outside enum uroce_cm_option_mask",
	       uroce_cm_connect(id, NULL, dest, CALLS_PORT, &options));
}

Test(refusals_cm, connections)
{
	struct uroce_addr own, stranger, far;
	struct uroce_cm_channel *channel;
	struct uroce_cm_id *id, *listener, *other;
	struct uroce_cm_event event;
	struct uroce_qp_init_attr init;
	struct uroce_qp *qp;

	calls_open(&network, 1, &channel);
	init = calls_qp_init(&network, 0);
	own = network_address("10.0.0.2"), stranger = network_address("10.0.0.77");
	far = network_address("10.0.0.1");
	EXPECT(-EAGAIN, "channel: no event is pending", uroce_cm_next(channel, &event));
	EXPECT(-ETIMEDOUT, "timeout_ms 1: no event arrived in that time", uroce_cm_wait(channel, 1, &event));
	EXPECT(-EINVAL, "backlog 65537: must be 0 to 65536 pending requests",
	       uroce_cm_listen(channel, NULL, CALLS_PORT, 65537, 0, &listener));
	EXPECT(-EADDRNOTAVAIL, "addr 10.0.0.77: no device of the engine has this address",
	       uroce_cm_listen(channel, &stranger, CALLS_PORT, 8, 0, &listener));
	EXPECT(-EINVAL, "ud: NULL", uroce_cm_listen_ud(channel, NULL, CALLS_PORT, NULL, &listener));
	cr_assert_eq(uroce_cm_listen(channel, NULL, CALLS_PORT, 8, 0, &listener), 0);
	EXPECT(-EADDRINUSE, "port 7174: it is in use; use 0 for a free port",
	       uroce_cm_listen(channel, NULL, CALLS_PORT, 8, 0, &other));
	EXPECT(-EINVAL, "id: it listens", uroce_cm_connect(listener, NULL, &own, CALLS_PORT, NULL));
	EXPECT(-EINVAL, "id: it is a listener, or already has a QP",
	       uroce_cm_resolve_ud(listener, network.ends[0].device, NULL, &own, CALLS_PORT));
	cr_assert_eq(uroce_cm_id_create(channel, 1, &id), 0);
	EXPECT(-EBUSY, "channel: 2 ids still use it; destroy them first", uroce_cm_channel_destroy(channel));
	EXPECT(-EINVAL, "id: it has no QP; call uroce_cm_qp_create() or set qp_num",
	       uroce_cm_connect(id, NULL, &own, CALLS_PORT, NULL));
	EXPECT(-ENOTCONN, "id: no connection request is pending on it", uroce_cm_reject(id, NULL, 0));
	EXPECT(-EINVAL, "private_bytes 500: must be 0 to 148, and private_data must not be NULL",
	       uroce_cm_reject(id, NULL, 500));
	EXPECT(-ENOTCONN, "id: its connection is not established", uroce_cm_disconnect(id));
	EXPECT(-ENOTCONN, "id: its connection is not established",
	       uroce_cm_load_alternate(id, &(struct uroce_path){ 0 }, 0));
	cr_assert_eq(uroce_cm_qp_create(id, network.ends[0].pd, &init, 0, &qp), 0);
	EXPECT(-EBUSY, "id: it already has QP 0x*, see uroce_cm_qp()",
	       uroce_cm_qp_create(id, network.ends[0].pd, &init, 0, &qp));
	refuse_options(id, &own);
	EXPECT(-EADDRNOTAVAIL, "source 10.0.0.77: port * does not have this address",
	       uroce_cm_connect(id, &stranger, &own, CALLS_PORT, NULL));
	EXPECT(-ENOTCONN, "id: no connection request is pending on it", uroce_cm_accept(id, NULL));
	EXPECT(-EINVAL, "timeout 32: must be 0 to 31", uroce_cm_load_alternate(id, &(struct uroce_path){ 0 }, 32));
	cr_assert_eq(uroce_cm_connect(id, &far, &own, CALLS_PORT, NULL), 0);
	EXPECT(-EISCONN, "id: it was already resolved or connected; create a new id",
	       uroce_cm_connect(id, &far, &own, CALLS_PORT, NULL));
	cr_assert_eq(uroce_cm_close(id), 0);
	calls_close(&network, channel, listener);
}

/* What leads nowhere, and queue pairs that their users move. */
Test(refusals_cm, routes_and_user_moved_queue_pairs)
{
	struct uroce_addr own, stranger;
	struct uroce_cm_options options = { .qp_num = 0x1000000 };
	struct uroce_cm_channel *channel;
	struct uroce_cm_id *id;
	struct uroce_qp_init_attr init;
	struct uroce_qp_attr attr;
	struct uroce_path path = { 0 };
	struct uroce_qp *qp;
	uint32_t mask;

	calls_open(&network, 1, &channel);
	init = calls_qp_init(&network, 0);
	own = network_address("10.0.0.1"), stranger = network_address("10.0.0.77");
	cr_assert_eq(uroce_cm_id_create(channel, 1, &id), 0);
	EXPECT(-EINVAL, "dest: an address is required unless uroce_cm_route() has set one",
	       uroce_cm_route(id, NULL, NULL, 0));
	EXPECT(-EADDRNOTAVAIL, "source 10.0.0.77: no device of the engine has this address",
	       uroce_cm_route(id, &stranger, &own, 0));
	EXPECT(-EINVAL, "state RESET: must be INIT, RTR or RTS", uroce_cm_qp_attr(id, UROCE_QPS_RESET, &attr, &mask));
	EXPECT(-ENOTCONN, "id: no message from the peer has arrived yet",
	       uroce_cm_qp_attr(id, UROCE_QPS_RTR, &attr, &mask));
	EXPECT(-ENOTCONN, "id: no connection reply is pending, see UROCE_CM_CONNECT_RESPONSE", uroce_cm_establish(id));
	EXPECT(-ENOTCONN, "id: it has no connection", uroce_cm_notify(id));
	cr_assert_eq(uroce_cm_route(id, &own, &stranger, 0), 0);
	EXPECT(-ENOTCONN, "id: no message from the peer has arrived yet",
	       uroce_cm_qp_attr(id, UROCE_QPS_RTS, &attr, &mask));
	EXPECT(-ENOTCONN, "id: it has no connection", uroce_cm_notify(id));
	cr_expect_eq(uroce_cm_qp_attr(id, UROCE_QPS_INIT, &attr, &mask), 0);
	EXPECT(-EINVAL, "qp_num 16777216: must be 0 to 16777215",
	       uroce_cm_connect(id, NULL, NULL, CALLS_PORT, &options));
	options = (struct uroce_cm_options){ .qp_num = 17, .alternate = &path };
	EXPECT(-EINVAL, "alternate: must be NULL with qp_num; the application sets the alternate path of its own QP",
	       uroce_cm_connect(id, NULL, NULL, CALLS_PORT, &options));
	cr_assert_eq(uroce_cm_qp_create(id, network.ends[0].pd, &init, 0, &qp), 0);
	EXPECT(-EINVAL, "qp_num 0x000011: the id already has QP 0x*",
	       uroce_cm_connect(id, NULL, NULL, CALLS_PORT, &options));
	cr_assert_eq(uroce_cm_close(id), 0);
	calls_close(&network, channel, NULL);
}

/* Ports, other channels, and services of datagrams. */
Test(refusals_cm, ports_and_services)
{
	struct uroce_engine_config config = { 0 };
	struct uroce_cm_options options = { .cm_retries = 16 };
	struct uroce_addr own, peer;
	struct uroce_cm_channel *channel, *others;
	struct uroce_cm_id *id, *asker, *listener;
	struct uroce_engine *engine;
	struct uroce_cm_event event;
	struct uroce_qp_init_attr init;
	struct uroce_qp_attr attr;
	struct uroce_qp *qp;
	uint32_t mask;

	calls_open(&network, 1, &channel);
	init = calls_qp_init(&network, 0);
	own = network_address("10.0.0.1"), peer = network_address("10.0.0.2");
	cr_assert_eq(uroce_engine_create(&config, &engine), 0);
	cr_assert_eq(uroce_cm_channel_create(engine, &others), 0);
	cr_assert_eq(uroce_cm_id_create(channel, 1, &id), 0);
	EXPECT(-EINVAL, "channel: it belongs to a different engine than the id", uroce_cm_migrate(id, others));
	cr_assert_eq(uroce_cm_channel_destroy(others), 0);
	cr_assert_eq(uroce_engine_destroy(engine), 0);
	EXPECT(-EINVAL, "family 3: must be 0 to 2", uroce_cm_set_family(id, (enum uroce_cm_family)3));
	cr_assert_eq(uroce_cm_bind(id, NULL, 0), 0);
	EXPECT(-EINVAL, "id: it is already bound to a port; set the family before the id is bound",
	       uroce_cm_set_family(id, UROCE_CM_IPV4));
	EXPECT(-EINVAL, "id: it is already bound to a port; set reuse before the id is bound",
	       uroce_cm_set_reuse(id, true));
	EXPECT(-EINVAL, "id: it is already bound to a port, or is connecting", uroce_cm_bind(id, NULL, 0));
	cr_assert_eq(uroce_cm_route(id, &own, &peer, 0), 0);
	calls_wait(channel, UROCE_CM_ROUTE_RESOLVED);
	EXPECT(-EINVAL, "id: it is connecting to a peer, so it cannot listen", uroce_cm_listen_bound(id, 0));
	cr_assert_eq(uroce_cm_id_create_ud(channel, 1, &listener), 0);
	cr_assert_eq(uroce_cm_bind(listener, NULL, CALLS_PORT), 0);
	cr_assert_eq(uroce_cm_listen_bound(listener, 1), 0);
	EXPECT(-EINVAL, "id: a listener or UD id has no connected QP",
	       uroce_cm_qp_create(listener, network.ends[0].pd, &init, 0, &qp));
	EXPECT(-EINVAL, "id: a listener or UD id has no connected QP",
	       uroce_cm_qp_attr(listener, UROCE_QPS_INIT, &attr, &mask));
	cr_assert_eq(uroce_cm_id_create_ud(channel, 1, &asker), 0);
	EXPECT(-EINVAL, "cm_timeout 0, cm_retries 16: must not exceed 31 and 15, respectively",
	       uroce_cm_connect(asker, &own, &peer, CALLS_PORT, &options));
	options = (struct uroce_cm_options){ .private_bytes = 181, .private_data = "" };
	EXPECT(-EINVAL, "private_bytes 181: must be 0 to 180, and private_data must not be NULL",
	       uroce_cm_connect(asker, &own, &peer, CALLS_PORT, &options));
	cr_assert_eq(uroce_cm_connect(asker, &own, &peer, CALLS_PORT, NULL), 0);
	event = calls_wait(channel, UROCE_CM_CONNECT_REQUEST);
	EXPECT(-EINVAL, "qp_num 0: a UD service requires the number of its QP, see uroce_ud_num()",
	       uroce_cm_accept(event.id, NULL));
	cr_assert_eq(uroce_cm_id_destroy(event.id), 0);
	cr_expect_eq(calls_wait(channel, UROCE_CM_UD_RESOLVED).status, -ECONNREFUSED);
	cr_assert_eq(uroce_cm_id_destroy(asker), 0);
	cr_assert_eq(uroce_cm_id_destroy(id), 0);
	calls_close(&network, channel, listener);
}

Test(refusals_cm, engine_without_devices)
{
	struct uroce_engine_config config = { 0 };
	struct uroce_addr far = network_address("9.9.9.9");
	struct uroce_cm_channel *channel;
	struct uroce_engine *engine;
	struct uroce_cm_id *id;

	cr_assert_eq(uroce_engine_create(&config, &engine), 0);
	cr_assert_eq(uroce_cm_channel_create(engine, &channel), 0);
	cr_assert_eq(uroce_cm_id_create(channel, 1, &id), 0);
	EXPECT(-ENETUNREACH, "dest 9.9.9.9: no device of the engine has a route to it",
	       uroce_cm_route(id, NULL, &far, 0));
	cr_assert_eq(uroce_cm_id_destroy(id), 0);
	cr_assert_eq(uroce_cm_channel_destroy(channel), 0);
	cr_assert_eq(uroce_engine_destroy(engine), 0);
}

static void use_up_listeners(struct uroce_cm_channel *channel)
{
	static struct uroce_cm_id *listeners[5000];
	uint32_t count = 0;

	while (uroce_cm_listen(channel, NULL, 0, 8, 0, &listeners[count]) == 0)
		cr_assert_lt(++count, 5000);
	EXPECT(-ENOSPC, "the engine already has * listeners, the maximum; destroy one first",
	       uroce_cm_listen(channel, NULL, 0, 8, 0, &listeners[count]));
	while (count)
		cr_assert_eq(uroce_cm_id_destroy(listeners[--count]), 0);
}

static void use_up_uds(const struct end *end)
{
	const struct uroce_ud_init_attr init = {
		.send_cq = end->cq, .recv_cq = end->cq, .max_recv_wr = 1, .max_recv_sge = 1
	};
	static struct uroce_ud *uds[1000];
	uint32_t count = 0;

	while (uroce_ud_create(end->pd, &init, &uds[count]) == 0)
		cr_assert_lt(++count, 1000);
	EXPECT(-ENOSPC, "the engine already has * UD QPs, the maximum; destroy one first",
	       uroce_ud_create(end->pd, &init, &uds[count]));
	while (count)
		cr_assert_eq(uroce_ud_destroy(uds[--count]), 0);
}

/* More than there is room for, and a queue pair of another partition. */
Test(refusals_cm, too_many_connections)
{
	const struct uroce_qp_attr attr = { .qp_state = UROCE_QPS_INIT, .pkey = 0x8001 };
	struct uroce_addr far = network_address("10.0.0.2");
	struct uroce_cm_channel *channel;
	struct uroce_qp_init_attr init;
	struct uroce_cm_id *id;
	struct uroce_qp *qp;

	calls_open(&network, 1, &channel);
	init = calls_qp_init(&network, 0);
	use_up_listeners(channel);
	use_up_uds(&network.ends[0]);
	cr_assert_eq(uroce_cm_id_create(channel, 1, &id), 0);
	cr_assert_eq(uroce_cm_qp_create(id, network.ends[0].pd, &init, 0, &qp), 0);
	cr_assert_eq(uroce_qp_modify(qp, &attr, UROCE_QP_STATE | UROCE_QP_PKEY, NULL), 0);
	EXPECT(-EINVAL, "P_Key 0x8001 of the QP: CM connections require the default partition, 0x7fff",
	       uroce_cm_connect(id, NULL, &far, CALLS_PORT, NULL));
	calls_hang_up(id);
	calls_close(&network, channel, NULL);
}

Test(refusals_cm, datagrams)
{
	struct uroce_ud_init_attr init = { .max_recv_wr = 0, .max_recv_sge = 1 };
	struct uroce_send_wr wr = { .opcode = UROCE_WR_RDMA_READ };
	struct uroce_sge sge = { .addr = 1, .length = 8, .lkey = 1 };
	struct uroce_ud_addr to = { .qp_num = 0 };
	struct end *end = &network.ends[0];
	struct uroce_ud *ud;

	network_open_ends(&network);
	EXPECT(-EINVAL, "send_cq: the CQ must belong to the same device as the PD",
	       uroce_ud_create(end->pd, &init, &ud));
	init.send_cq = end->cq;
	EXPECT(-EINVAL, "recv_cq: the CQ must belong to the same device as the PD",
	       uroce_ud_create(end->pd, &init, &ud));
	init.recv_cq = end->cq;
	EXPECT(-EINVAL, "max_recv_wr 0: 1 ... 32768", uroce_ud_create(end->pd, &init, &ud));
	init.max_recv_wr = 1;
	init.max_recv_sge = 17;
	EXPECT(-EINVAL, "max_recv_sge 17: 1 ... 16", uroce_ud_create(end->pd, &init, &ud));
	init.max_recv_sge = 1;
	cr_assert_eq(uroce_ud_create(end->pd, &init, &ud), 0);
	EXPECT(-EINVAL, "num_sge 2: must be 0 to 1, the limit of the queue",
	       uroce_ud_post_recv(ud, &(struct uroce_recv_wr){ .num_sge = 2 }));
	EXPECT(-EINVAL, "opcode 4: a UD QP supports only SEND and SEND_WITH_IMM", uroce_ud_send(ud, &to, &wr));
	wr.opcode = UROCE_WR_SEND;
	wr.num_sge = 1;
	EXPECT(-EINVAL, "num_sge 1: must be 0 to 16, and sg_list must not be NULL", uroce_ud_send(ud, &to, &wr));
	wr.sg_list = &sge;
	sge.length = 5000;
	EXPECT(-EINVAL, "5000 bytes: must not exceed 4096, the path MTU of the device", uroce_ud_send(ud, &to, &wr));
	sge.length = 8;
	EXPECT(-EINVAL, "qp_num 0: 1 ... 16777215", uroce_ud_send(ud, &to, &wr));
	to.qp_num = 5;
	EXPECT(-EINVAL, "path.source: not an address of the device", uroce_ud_send(ud, &to, &wr));
	to.path.source = network_address("10.0.0.1");
	to.path.dest = network_address("10.0.0.2");
	EXPECT(-EACCES, "sg_list: an lkey belongs to another protection domain, or its range is outside the region",
	       uroce_ud_send(ud, &to, &wr));
	cr_assert_eq(uroce_ud_destroy(ud), 0);
	network_close(&network);
}
