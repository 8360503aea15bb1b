/* listeners.c - listeners and ids that go while events of theirs wait to be read */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>

#include "calls.h"
#include "rule.h"
#include "start.h"

#define CLIENTS 3

TestSuite(listeners, .init = test_eal_start, .timeout = 60);

static bool is_readable(const struct uroce_cm_channel *channel)
{
	struct pollfd readable = { .fd = uroce_cm_channel_fd(channel), .events = POLLIN };

	return poll(&readable, 1, 0) == 1;
}

/* Clients have a channel of their own. Their REQUESTs wait in the server's, and nobody has read them. */
static void ask(struct network *network, struct uroce_cm_channel *clients, struct uroce_cm_channel *server,
		struct uroce_cm_id *ids[CLIENTS])
{
	for (int i = 0; i < CLIENTS; i++)
		ids[i] = calls_dial(network, clients, "10.0.0.2", NULL);
	while (!is_readable(server))
		network_poll(network);
	for (int i = 0; i < 1000; i++)
		network_poll(network);
}

/* Its unread requests are not reported; their senders are rejected, and no resources remain. */
Test(listeners, destroyed_listener_rejects_its_unread_requests)
{
	static struct network network;
	struct uroce_cm_channel *clients, *server;
	struct uroce_cm_id *listener, *ids[CLIENTS];
	struct uroce_cm_event event;

	RULE("C-17");
	RULE("C-27");
	calls_open(&network, 1, &clients);
	cr_assert_eq(uroce_cm_channel_create(network.engine, &server), 0);
	cr_assert_eq(uroce_cm_listen(server, NULL, CALLS_PORT, CLIENTS, 0, &listener), 0);
	ask(&network, clients, server, ids);
	cr_assert_eq(uroce_cm_id_destroy(listener), 0);
	cr_expect_not(is_readable(server));
	cr_expect_eq(uroce_cm_next(server, &event), -EAGAIN);
	for (int i = 0; i < CLIENTS; i++)
		cr_expect_eq(calls_wait(clients, UROCE_CM_REJECTED).reason, 28);
	cr_expect_eq(uroce_cm_channel_destroy(server), 0);
	for (int i = 0; i < CLIENTS; i++)
		calls_hang_up(ids[i]);
	calls_close(&network, clients, NULL);
}

/* What its user has read is its user's, and so are the requests of another listener. */
Test(listeners, destroyed_listener_keeps_read_requests_and_other_listeners)
{
	static struct network network;
	struct uroce_cm_channel *clients, *server;
	struct uroce_cm_id *listener, *other, *ids[CLIENTS], *stranger;
	struct uroce_addr peer = network_address("10.0.0.2");
	struct uroce_qp_init_attr init;
	struct uroce_cm_event read, event;
	struct uroce_qp *qp;

	RULE("C-27");
	calls_open(&network, 1, &clients);
	init = calls_qp_init(&network, 0);
	cr_assert_eq(uroce_cm_channel_create(network.engine, &server), 0);
	cr_assert_eq(uroce_cm_listen(server, NULL, CALLS_PORT, CLIENTS, 0, &listener), 0);
	cr_assert_eq(uroce_cm_listen(server, NULL, CALLS_PORT + 1, 1, 0, &other), 0);
	ask(&network, clients, server, ids);
	cr_assert_eq(uroce_cm_id_create(clients, 1, &stranger), 0);
	cr_assert_eq(uroce_cm_qp_create(stranger, network.ends[0].pd, &init, 0, &qp), 0);
	cr_assert_eq(uroce_cm_connect(stranger, NULL, &peer, CALLS_PORT + 1, NULL), 0);
	for (int i = 0; i < 1000; i++)
		network_poll(&network);
	cr_assert_eq(uroce_cm_next(server, &read), 0);
	cr_assert_eq(uroce_cm_id_destroy(listener), 0);
	cr_expect(is_readable(server));
	cr_assert_eq(uroce_cm_next(server, &event), 0);
	cr_expect_eq(event.listener, other);
	cr_expect_not(is_readable(server));
	calls_answer(&network, read.id, NULL);
	for (int i = 0; i < CLIENTS - 1; i++)
		calls_wait(clients, UROCE_CM_REJECTED);
	calls_wait(clients, UROCE_CM_ESTABLISHED);
	calls_wait(server, UROCE_CM_ESTABLISHED);
	calls_hang_up(read.id);
	calls_hang_up(event.id);
	for (int i = 0; i < CLIENTS; i++)
		calls_hang_up(ids[i]);
	calls_hang_up(stranger);
	cr_assert_eq(uroce_cm_id_destroy(other), 0);
	cr_assert_eq(uroce_cm_channel_destroy(server), 0);
	calls_close(&network, clients, NULL);
}

/* An event of an id that has gone keeps the descriptor readable no longer than it was there. */
Test(listeners, destroyed_id_discards_its_unread_events)
{
	static struct network network;
	struct uroce_cm_channel *channel;
	struct uroce_cm_event event;
	struct uroce_cm_id *client;

	RULE("C-17");
	calls_open(&network, 1, &channel);
	client = calls_dial(&network, channel, "10.0.0.2", NULL);
	while (!is_readable(channel))
		network_poll(&network);
	calls_hang_up(client);
	cr_expect_not(is_readable(channel));
	cr_expect_eq(uroce_cm_next(channel, &event), -EAGAIN);
	calls_close(&network, channel, NULL);
}
