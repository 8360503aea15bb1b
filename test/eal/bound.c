/* bound.c - addresses and ports that ids have before they listen or connect */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "calls.h"
#include "rule.h"
#include "start.h"

TestSuite(bound, .init = test_eal_start, .timeout = 60);

static struct network network;
static struct uroce_cm_channel *channel;

static struct uroce_cm_id *make(bool datagrams)
{
	struct uroce_cm_id *id;

	cr_assert_eq(datagrams ? uroce_cm_id_create_ud(channel, 9, &id) : uroce_cm_id_create(channel, 9, &id), 0);
	return id;
}

static void destroy(struct uroce_cm_id *id)
{
	cr_assert_eq(uroce_cm_id_destroy(id), 0);
}

/* C-27: first bound, then listening, and both ends at ports of their choice. */
Test(bound, bound_id_listens_or_connects_at_its_address)
{
	struct uroce_addr own = network_address("10.0.0.1"), peer = network_address("10.0.0.2");
	struct uroce_qp_init_attr init;
	struct uroce_cm_id *listener, *client;
	struct uroce_cm_event event;
	struct uroce_qp *qp;

	RULE("C-27");
	calls_open(&network, 1, &channel);
	listener = make(false), client = make(false);
	cr_assert_eq(uroce_cm_bind(listener, &peer, CALLS_PORT), 0);
	cr_expect_eq(uroce_cm_port(listener), CALLS_PORT);
	cr_expect_eq(uroce_cm_device(listener), network.ends[1].device);
	cr_assert_eq(uroce_cm_bind(client, &own, 1234), 0);
	init = calls_qp_init(&network, 0);
	cr_assert_eq(uroce_cm_qp_create(client, network.ends[0].pd, &init, 0, &qp), 0);
	cr_assert_eq(uroce_cm_connect(client, NULL, &peer, CALLS_PORT, NULL), 0);
	cr_expect_eq(calls_wait(channel, UROCE_CM_REJECTED).reason, 8, "bound is not listening");
	calls_hang_up(client);
	cr_assert_eq(uroce_cm_listen_bound(listener, 0), 0);
	client = make(false);
	cr_assert_eq(uroce_cm_bind(client, &own, 1234), 0, "it is free again");
	cr_assert_eq(uroce_cm_qp_create(client, network.ends[0].pd, &init, 0, &qp), 0);
	cr_assert_eq(uroce_cm_connect(client, NULL, &peer, CALLS_PORT, NULL), 0);
	event = calls_wait(channel, UROCE_CM_CONNECT_REQUEST);
	cr_expect_eq(event.listener, listener);
	cr_expect_eq(event.context, 9);
	cr_expect_eq(event.peer_port, 1234);
	cr_expect_arr_eq(event.peer.bytes, own.bytes, sizeof(own.bytes));
	calls_hang_up(event.id);
	calls_wait(channel, UROCE_CM_REJECTED);
	calls_hang_up(client);
	calls_close(&network, channel, listener);
}

/* A connection without a source port gets one that can be queried. */
Test(bound, default_source_port_of_a_connection_can_be_queried)
{
	struct uroce_cm_id *listener, *client;
	struct uroce_cm_event event;

	calls_open(&network, 1, &channel);
	cr_assert_eq(uroce_cm_listen(channel, NULL, CALLS_PORT, 0, 0, &listener), 0);
	client = calls_dial(&network, channel, "10.0.0.2", NULL);
	event = calls_wait(channel, UROCE_CM_CONNECT_REQUEST);
	cr_expect_neq(uroce_cm_port(client), 0);
	cr_expect_eq(event.peer_port, uroce_cm_port(client));
	calls_hang_up(event.id);
	calls_wait(channel, UROCE_CM_REJECTED);
	calls_hang_up(client);
	calls_close(&network, channel, listener);
}

/* A port belongs to one id: of each address, or of any, and in each port space by itself. */
Test(bound, port_belongs_to_one_id_per_address_and_port_space)
{
	struct uroce_addr first = network_address("10.0.0.1"), second = network_address("10.0.0.2");
	struct uroce_cm_id *ids[5], *other;

	calls_open(&network, 1, &channel);
	for (int i = 0; i < 5; i++)
		ids[i] = make(i == 4);
	cr_assert_eq(uroce_cm_bind(ids[0], &first, 80), 0);
	cr_expect_eq(uroce_cm_bind(ids[1], &first, 80), -EADDRINUSE);
	cr_expect_eq(uroce_cm_bind(ids[1], NULL, 80), -EADDRINUSE);
	cr_expect_eq(uroce_cm_listen(channel, NULL, 80, 0, 0, &other), -EADDRINUSE);
	cr_expect_eq(uroce_cm_bind(ids[1], &second, 80), 0);
	cr_expect_eq(uroce_cm_bind(ids[1], &second, 81), -EINVAL, "it has one");
	cr_expect_eq(uroce_cm_bind(ids[4], &first, 80), 0, "that of UDP");
	cr_expect_eq(uroce_cm_bind(ids[2], NULL, 0), 0);
	cr_expect_eq(uroce_cm_bind(ids[3], NULL, 0), 0);
	cr_expect_geq(uroce_cm_port(ids[2]), 49152);
	cr_expect_neq(uroce_cm_port(ids[2]), uroce_cm_port(ids[3]));
	for (int i = 0; i < 5; i++)
		destroy(ids[i]);
	cr_assert_eq(uroce_cm_listen(channel, NULL, 80, 0, 0, &other), 0, "all are free again");
	calls_close(&network, channel, other);
}

/* As servers do it that have a listener for each family: 0.0.0.0, and :: which is told to be of IPv6 alone. */
Test(bound, wildcard_address_of_each_family_is_distinct)
{
	struct uroce_addr first = network_address("10.0.0.1");
	struct uroce_cm_id *ids[4];

	calls_open(&network, 1, &channel);
	for (int i = 0; i < 4; i++)
		ids[i] = make(false);
	cr_assert_eq(uroce_cm_set_family(ids[0], UROCE_CM_IPV4), 0);
	cr_assert_eq(uroce_cm_set_family(ids[1], UROCE_CM_IPV6), 0);
	cr_assert_eq(uroce_cm_set_family(ids[2], UROCE_CM_IPV4), 0);
	cr_assert_eq(uroce_cm_bind(ids[0], NULL, 80), 0);
	cr_expect_eq(uroce_cm_bind(ids[2], NULL, 80), -EADDRINUSE, "of the same family");
	cr_expect_eq(uroce_cm_bind(ids[3], NULL, 80), -EADDRINUSE, "of both");
	cr_expect_eq(uroce_cm_bind(ids[1], NULL, 80), 0);
	cr_expect_eq(uroce_cm_set_family(ids[1], UROCE_CM_IPV4), -EINVAL, "it is bound");
	cr_expect_eq(uroce_cm_bind(ids[3], &first, 80), -EADDRINUSE, "one of IPv4's");
	destroy(ids[0]);
	cr_expect_eq(uroce_cm_bind(ids[3], &first, 80), 0, "which IPv6 does not have");
	for (int i = 1; i < 4; i++)
		destroy(ids[i]);
	calls_close(&network, channel, NULL);
}

Test(bound, ids_with_reuse_share_a_port_until_one_listens)
{
	struct uroce_cm_id *ids[4];

	calls_open(&network, 1, &channel);
	for (int i = 0; i < 4; i++) {
		ids[i] = make(false);
		if (i < 3)
			cr_assert_eq(uroce_cm_set_reuse(ids[i], true), 0);
	}
	cr_expect_eq(uroce_cm_bind(ids[0], NULL, 80), 0);
	cr_expect_eq(uroce_cm_bind(ids[1], NULL, 80), 0);
	cr_expect_eq(uroce_cm_bind(ids[3], NULL, 80), -EADDRINUSE, "without reuse");
	cr_expect_eq(uroce_cm_set_reuse(ids[1], false), -EINVAL, "it is bound");
	cr_expect_eq(uroce_cm_listen_bound(ids[0], 0), -EADDRINUSE, "the port is shared");
	destroy(ids[1]);
	cr_expect_eq(uroce_cm_listen_bound(ids[0], 0), 0);
	cr_expect_eq(uroce_cm_bind(ids[2], NULL, 80), -EADDRINUSE, "one listens");
	destroy(ids[2]);
	destroy(ids[3]);
	calls_close(&network, channel, ids[0]);
}

/* Without saying where: at any address, at a port that is free. And a backlog of 0 is no lack of one. */
Test(bound, unbound_id_listens_on_any_address)
{
	struct uroce_cm_id *listener = NULL, *clients[2];
	struct uroce_addr peer = network_address("10.0.0.2");
	struct uroce_qp_init_attr init;
	struct uroce_cm_event events[2];
	struct uroce_qp *qp;

	calls_open(&network, 1, &channel);
	init = calls_qp_init(&network, 0);
	listener = make(false);
	cr_assert_eq(uroce_cm_listen_bound(listener, 0), 0);
	cr_expect_eq(uroce_cm_listen_bound(listener, 0), -EINVAL, "it listens");
	cr_assert_geq(uroce_cm_port(listener), 49152);
	for (int i = 0; i < 2; i++) {
		clients[i] = make(false);
		cr_assert_eq(uroce_cm_qp_create(clients[i], network.ends[0].pd, &init, 0, &qp), 0);
		cr_assert_eq(uroce_cm_connect(clients[i], NULL, &peer, uroce_cm_port(listener), NULL), 0);
		events[i] = calls_wait(channel, UROCE_CM_CONNECT_REQUEST);
	}
	for (int i = 0; i < 2; i++) {
		calls_hang_up(events[i].id);
		calls_wait(channel, UROCE_CM_REJECTED);
	}
	for (int i = 0; i < 2; i++)
		calls_hang_up(clients[i]);
	calls_close(&network, channel, listener);
}
