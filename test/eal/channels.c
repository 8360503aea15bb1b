/* channels.c - ids that go from one channel to another, and their events with them */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include "calls.h"
#include "engine/clock.h"
#include "rule.h"
#include "start.h"

TestSuite(channels, .init = test_eal_start, .timeout = 60);

static struct network network;
static struct uroce_cm_channel *first, *second;
static struct uroce_cm_id *listener;

static bool is_readable(const struct uroce_cm_channel *channel)
{
	struct pollfd readable = { .fd = uroce_cm_channel_fd(channel), .events = POLLIN };

	return poll(&readable, 1, 0) == 1;
}

static void open_channels(void)
{
	calls_open(&network, 1, &first);
	cr_assert_eq(uroce_cm_channel_create(network.engine, &second), 0);
	cr_assert_eq(uroce_cm_listen(first, NULL, CALLS_PORT, 0, 0, &listener), 0);
}

static void close_channels(void)
{
	cr_assert_eq(uroce_cm_id_destroy(listener), 0);
	cr_assert_eq(uroce_cm_channel_destroy(second), 0);
	calls_close(&network, first, NULL);
}

static void poll_on(void)
{
	for (int i = 0; i < 1000; i++)
		network_poll(&network);
}

/* C-27: those that wait, in their order, and those that come. */
Test(channels, pending_events_migrate_with_their_id)
{
	struct uroce_cm_id *client, *server;
	struct uroce_cm_event event;

	RULE("C-27");
	open_channels();
	client = calls_dial(&network, first, "10.0.0.2", NULL);
	server = calls_wait(first, UROCE_CM_CONNECT_REQUEST).id;
	calls_answer(&network, server, NULL);
	poll_on();
	cr_assert_eq(uroce_cm_disconnect(server), 0);
	poll_on();
	cr_assert(is_readable(first) && !is_readable(second));
	cr_assert_eq(uroce_cm_migrate(client, second), 0);
	cr_expect(is_readable(first), "the server's wait there still");
	cr_expect(is_readable(second));
	cr_assert_eq(uroce_cm_migrate(client, second), 0, "where it is");
	cr_expect_eq(calls_wait(second, UROCE_CM_ESTABLISHED).id, client);
	cr_expect_eq(calls_wait(second, UROCE_CM_DISCONNECTED).id, client);
	cr_expect_not(is_readable(second));
	cr_assert_eq(uroce_cm_migrate(server, second), 0);
	cr_expect_not(is_readable(first));
	cr_expect_eq(uroce_cm_next(first, &event), -EAGAIN);
	cr_expect_eq(calls_wait(second, UROCE_CM_ESTABLISHED).id, server);
	cr_expect_eq(calls_wait(second, UROCE_CM_DISCONNECTED).id, server);
	cr_expect_eq(uroce_cm_channel_destroy(second), -EBUSY, "it has two ids now");
	calls_hang_up(client);
	calls_hang_up(server);
	close_channels();
}

/* An id without pending events has its next event in the new channel, also an id without an lcore. */
Test(channels, later_events_arrive_in_the_new_channel)
{
	struct uroce_addr dest = network_address("10.0.0.77");
	struct uroce_cm_id *id;

	open_channels();
	cr_assert_eq(uroce_cm_id_create(first, 1, &id), 0);
	cr_assert_eq(uroce_cm_migrate(id, second), 0);
	cr_assert_eq(uroce_cm_route(id, NULL, &dest, 50), 0);
	cr_assert_eq(uroce_cm_migrate(id, first), 0);
	cr_expect_eq(calls_wait(first, UROCE_CM_ROUTE_RESOLVED).status, -EHOSTUNREACH);
	calls_hang_up(id);
	close_channels();
}

/* Requests that nobody has read are the listener's; one that was read is its user's, and stays. */
Test(channels, unread_requests_migrate_with_their_listener)
{
	struct uroce_cm_id *clients[4], *read;

	open_channels();
	clients[0] = calls_dial(&network, first, "10.0.0.2", NULL);
	read = calls_wait(first, UROCE_CM_CONNECT_REQUEST).id;
	for (int i = 1; i < 3; i++)
		clients[i] = calls_dial(&network, first, "10.0.0.2", NULL);
	poll_on();
	cr_assert_eq(uroce_cm_migrate(listener, second), 0);
	cr_expect_not(is_readable(first));
	clients[3] = calls_dial(&network, first, "10.0.0.2", NULL);
	for (int i = 1; i < 4; i++)
		calls_hang_up(calls_wait(second, UROCE_CM_CONNECT_REQUEST).id);
	calls_hang_up(read);
	for (int i = 0; i < 4; i++)
		calls_wait(first, UROCE_CM_REJECTED);
	for (int i = 0; i < 4; i++)
		calls_hang_up(clients[i]);
	close_channels();
}

/* ---- while lcores run ---- */

#define ROUNDS 50u

/* Requests are refused, clients told so go; how many there were. */
static void read_all(struct uroce_cm_channel *channel, uint32_t *requests, uint32_t *rejects)
{
	struct uroce_cm_event event;

	while (uroce_cm_next(channel, &event) == 0) {
		*requests += event.type == UROCE_CM_CONNECT_REQUEST;
		*rejects += event.type == UROCE_CM_REJECTED;
		calls_hang_up(event.id);
	}
}

/* Events are raised while their ids and their listener go to and fro: each is read once, in either channel. */
Test(channels, no_event_is_lost_during_migrations)
{
	uint64_t until_ns = engine_now_ns() + 20000000000ull;
	uint32_t requests = 0, rejects = 0;
	pthread_t poller;

	RULE("C-27");
	open_channels();
	cr_assert_eq(pthread_create(&poller, NULL, network_poll_until_stopped, &network), 0);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct uroce_cm_channel *to = i % 2 ? first : second;
		struct uroce_cm_id *client = calls_dial(&network, first, "10.0.0.2", NULL);

		cr_assert_eq(uroce_cm_migrate(listener, to), 0);
		cr_assert_eq(uroce_cm_migrate(client, to), 0);
		read_all(first, &requests, &rejects);
		read_all(second, &requests, &rejects);
	}
	while ((requests < ROUNDS || rejects < ROUNDS) && engine_now_ns() < until_ns) {
		read_all(first, &requests, &rejects);
		read_all(second, &requests, &rejects);
	}
	network.stop = true;
	pthread_join(poller, NULL);
	network_poll(&network); /* the lcores are this thread's again */
	cr_expect_eq(requests, ROUNDS, "%u", requests);
	cr_expect_eq(rejects, ROUNDS, "%u", rejects);
	cr_expect(!is_readable(first) && !is_readable(second));
	close_channels();
}
