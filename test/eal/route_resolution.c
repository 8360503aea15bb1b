/* route_resolution.c - device and addresses that lead to a peer are resolved before there is a queue pair */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "calls.h"
#include "engine/clock.h"
#include "rule.h"
#include "start.h"
#include "ticks.h"

TestSuite(route_resolution, .init = test_eal_start, .timeout = 60);

static struct network network;
static struct uroce_cm_channel *channel;

static struct uroce_cm_id *route(const char *source, const char *dest, unsigned timeout_ms)
{
	struct uroce_addr from = { 0 }, to = network_address(dest);
	struct uroce_cm_id *id;

	if (source)
		from = network_address(source);
	cr_assert_eq(uroce_cm_id_create(channel, 5, &id), 0);
	cr_assert_eq(uroce_cm_route(id, &from, &to, timeout_ms), 0, "%s", uroce_last_error());
	return id;
}

static void expect_addr(const struct uroce_addr *addr, const char *text)
{
	struct uroce_addr wanted = network_address(text);

	cr_expect_arr_eq(addr->bytes, wanted.bytes, sizeof(wanted.bytes), "%s", text);
}

/* C-27: the device at once, the addresses with the event; then a queue pair of that device, and along the same way. */
Test(route_resolution, route_resolution_precedes_queue_pair_and_connection)
{
	struct uroce_qp_init_attr init;
	struct uroce_cm_id *listener, *id;
	struct uroce_cm_event event;
	struct uroce_qp *qp;

	RULE("C-27");
	calls_open(&network, 1, &channel);
	cr_assert_eq(uroce_cm_listen(channel, NULL, CALLS_PORT, 1, 0, &listener), 0);
	id = route("10.0.0.1", "10.0.0.2", 0);
	cr_assert_eq(uroce_cm_device(id), network.ends[0].device);
	event = calls_wait(channel, UROCE_CM_ROUTE_RESOLVED);
	cr_expect_eq(event.id, id);
	cr_expect_eq(event.status, 0);
	cr_expect_eq(event.context, 5);
	expect_addr(&event.local, "10.0.0.1");
	expect_addr(&event.peer, "10.0.0.2");
	init = calls_qp_init(&network, 1);
	cr_expect_eq(uroce_cm_qp_create(id, network.ends[1].pd, &init, 0, &qp), -EINVAL, "of another device");
	init = calls_qp_init(&network, 0);
	cr_assert_eq(uroce_cm_qp_create(id, network.ends[0].pd, &init, 0, &qp), 0);
	cr_assert_eq(uroce_cm_connect(id, NULL, NULL, CALLS_PORT, NULL), 0);
	event = calls_wait(channel, UROCE_CM_CONNECT_REQUEST);
	expect_addr(&event.peer, "10.0.0.1");
	calls_answer(&network, event.id, NULL);
	for (int i = 0; i < 2; i++)
		calls_wait(channel, UROCE_CM_ESTABLISHED);
	calls_hang_up(id);
	calls_wait(channel, UROCE_CM_DISCONNECTED);
	calls_hang_up(event.id);
	calls_close(&network, channel, listener);
}

/* It waits as long as its user says, and no longer. */
Test(route_resolution, unanswered_mac_resolution_times_out)
{
	struct uroce_cm_id *id;
	struct uroce_cm_event event;
	uint64_t began;

	calls_open(&network, 1, &channel);
	ticks_start(10000);
	began = engine_now_ns();
	id = route(NULL, "10.0.0.77", 50);
	event = calls_wait(channel, UROCE_CM_ROUTE_RESOLVED);
	cr_expect_eq(event.status, -EHOSTUNREACH);
	expect_addr(&event.peer, "10.0.0.77");
	cr_expect_geq(engine_now_ns() - began, 50000000ull);
	cr_expect_lt(engine_now_ns() - began, 2000000000ull, "not the three seconds of a connection");
	calls_hang_up(id);
	calls_close(&network, channel, NULL);
}

/* A second call while the first resolution runs replaces it: only the last result is reported. */
Test(route_resolution, last_route_call_counts)
{
	struct uroce_addr near = network_address("10.0.0.2"), source = network_address("10.0.0.1");
	struct uroce_cm_event event;
	struct uroce_cm_id *id;

	calls_open(&network, 1, &channel);
	id = route("10.0.0.1", "10.0.0.77", 100);
	cr_assert_eq(uroce_cm_route(id, &source, &near, 0), 0);
	event = calls_wait(channel, UROCE_CM_ROUTE_RESOLVED);
	cr_expect_eq(event.status, 0);
	expect_addr(&event.peer, "10.0.0.2");
	cr_expect_eq(uroce_cm_wait(channel, 200, &event), -ETIMEDOUT);
	calls_hang_up(id);
	calls_close(&network, channel, NULL);
}

/* A late reader does not receive the first result either. */
Test(route_resolution, only_the_last_unread_route_is_reported)
{
	struct uroce_addr far = network_address("10.0.0.77"), source = network_address("10.0.0.1");
	struct uroce_cm_event event;
	struct uroce_cm_id *id;

	calls_open(&network, 1, &channel);
	id = route("10.0.0.1", "10.0.0.2", 0);
	for (int i = 0; i < 1000; i++)
		network_poll(&network);
	for (int i = 0; i < 20; i++)
		cr_assert_eq(uroce_cm_route(id, &source, NULL, 0), 0);
	cr_assert_eq(uroce_cm_route(id, &source, &far, 1), 0);
	for (int i = 0; i < 20000; i++)
		network_poll(&network);
	event = calls_wait(channel, UROCE_CM_ROUTE_RESOLVED);
	cr_expect_eq(event.status, -EHOSTUNREACH);
	expect_addr(&event.peer, "10.0.0.77");
	cr_expect_eq(uroce_cm_next(channel, &event), -EAGAIN);
	calls_hang_up(id);
	calls_close(&network, channel, NULL);
}

/* A queue pair on another lcore takes the id along, though its peer is still being asked for. */
Test(route_resolution, queue_pair_on_another_lcore_moves_the_resolution)
{
	struct uroce_qp_init_attr init;
	struct uroce_cm_id *id;
	struct uroce_qp *qp;

	calls_open(&network, 2, &channel);
	for (unsigned lcore = 0; lcore < 2; lcore++) {
		id = route(NULL, "10.0.0.77", 100);
		init = calls_qp_init(&network, uroce_cm_device(id) == network.ends[1].device);
		init.lcore = uroce_engine_lcore(network.engine, lcore);
		cr_assert_eq(uroce_cm_qp_create(id, network.ends[uroce_cm_device(id) == network.ends[1].device].pd,
						&init, 0, &qp),
			     0);
		cr_expect_eq(uroce_lcore_index(uroce_cm_lcore(id)), lcore);
		cr_expect_eq(calls_wait(channel, UROCE_CM_ROUTE_RESOLVED).status, -EHOSTUNREACH);
		calls_hang_up(id);
	}
	calls_close(&network, channel, NULL);
}

/* An id destroyed during resolution leaves no resources; nor does one that connects during it. */
Test(route_resolution, id_destroyed_or_connected_during_resolution_leaks_nothing)
{
	struct uroce_addr dest = network_address("10.0.0.2");
	struct uroce_qp_init_attr init;
	struct uroce_cm_event event;
	struct uroce_cm_id *id;
	struct uroce_qp *qp;

	calls_open(&network, 1, &channel);
	id = route("10.0.0.1", "10.0.0.77", 1000);
	calls_hang_up(id);
	id = route("10.0.0.1", "10.0.0.77", 1000);
	init = calls_qp_init(&network, 0);
	cr_assert_eq(uroce_cm_qp_create(id, network.ends[0].pd, &init, 0, &qp), 0);
	cr_assert_eq(uroce_cm_connect(id, NULL, &dest, CALLS_PORT, NULL), 0);
	event = calls_wait(channel, UROCE_CM_REJECTED);
	cr_expect_eq(event.reason, 8);
	cr_expect_eq(uroce_cm_route(id, NULL, &dest, 0), -EISCONN);
	calls_hang_up(id);
	calls_close(&network, channel, NULL);
}
