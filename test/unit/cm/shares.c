/* shares.c - the pools of a manager that requests use up: one address leaves the others enough of each */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "config/limits.h"
#include "meet.h"
#include "rule.h"
#include "shared_pool.h"

#define PORT 7174u
#define MOST 64u

/* What becomes of a request that the user is asked about. */
enum unit {
	WAITS, /* nothing yet */
	USED,  /* an established connection */
	RESTS  /* a connection that has ended: its ids are in time-wait */
};

/* Two strangers and the connections that they have to B, the newest last. */
struct strangers {
	struct meet *meet;
	enum unit unit;
	struct cm_message request; /* a request to copy, and its route */
	struct cm_route to_b;
	uint32_t number; /* of requests until now */
	uint32_t held[2][MOST], count[2];
};

static struct strangers strangers_of(struct meet *meet, enum unit unit)
{
	struct strangers strangers = { .meet = meet, .unit = unit };
	uint32_t a = meet_connect(meet, PORT, 17);

	strangers.request = meet_take(meet, MEET_A, &strangers.to_b);
	cm_forget(meet->end[MEET_A].cm, a, meet->now_ns);
	return strangers;
}

static struct cm *cm_of(const struct strangers *strangers)
{
	return strangers->meet->end[MEET_B].cm;
}

static void drain(const struct strangers *strangers)
{
	struct meet_end *b = &strangers->meet->end[MEET_B];

	meet_drain(strangers->meet, MEET_B);
	b->head = b->tail;
}

/* Returns whether the user is asked about one more request of this stranger. */
static bool ask(struct strangers *strangers, uint32_t peer)
{
	struct meet *meet = strangers->meet;
	struct cm_message req = strangers->request;
	struct cm_route to_b = strangers->to_b;
	uint32_t asked = meet->end[MEET_B].event_count;

	to_b.dest[15] = (uint8_t)(100 + peer);
	memcpy(req.primary.local_gid, to_b.dest, 16);
	memcpy(req.primary.remote_gid, to_b.source, 16);
	memcpy(req.private_data + 16, to_b.dest + 12, 4);
	memcpy(req.private_data + 32, to_b.source + 12, 4);
	req.local_id = req.qpn = 1000 + strangers->number++;
	meet_give(meet, MEET_B, &req, &to_b);
	drain(strangers);
	return meet->end[MEET_B].event_count > asked;
}

static void establish(struct strangers *strangers, uint32_t b)
{
	struct meet *meet = strangers->meet;
	struct cm_message rep, rtu = { .kind = CM_RTU };
	struct cm_route to_peer, to_b;

	cr_assert_eq(meet_accept(meet, b, 2000 + strangers->number), 0);
	rep = meet_take(meet, MEET_B, &to_peer);
	rtu.transaction_id = rep.transaction_id;
	rtu.local_id = rep.remote_id;
	rtu.remote_id = rep.local_id;
	to_b = meet_back(&to_peer);
	meet_give(meet, MEET_B, &rtu, &to_b);
	cr_assert_eq(meet_last(meet, MEET_B)->event, CM_EVENT_ESTABLISHED);
}

static void end(struct strangers *strangers, uint32_t b)
{
	struct meet *meet = strangers->meet;
	struct cm_message dreq, drep = { .kind = CM_DREP };
	struct cm_route to_peer, to_b;

	cm_forget(cm_of(strangers), b, meet->now_ns);
	meet_drain(meet, MEET_B);
	dreq = meet_take(meet, MEET_B, &to_peer);
	drep.transaction_id = dreq.transaction_id;
	drep.local_id = dreq.remote_id;
	drep.remote_id = dreq.local_id;
	to_b = meet_back(&to_peer);
	meet_give(meet, MEET_B, &drep, &to_b);
}

static bool take(void *context, uint32_t peer)
{
	struct strangers *strangers = context;
	uint32_t b;

	if (!ask(strangers, peer))
		return false;
	cr_assert_lt(strangers->count[peer], MOST);
	b = meet_last(strangers->meet, MEET_B)->connection;
	strangers->held[peer][strangers->count[peer]++] = b;
	if (strangers->unit != WAITS)
		establish(strangers, b);
	if (strangers->unit == RESTS)
		end(strangers, b);
	return true;
}

static void give(void *context, uint32_t peer)
{
	struct strangers *strangers = context;
	uint32_t b = strangers->held[peer][--strangers->count[peer]];

	if (strangers->unit == WAITS) {
		cm_reject(cm_of(strangers), b, CM_REJ_CONSUMER, NULL, strangers->meet->now_ns);
		cm_forget(cm_of(strangers), b, strangers->meet->now_ns);
		drain(strangers);
		return;
	}
	if (strangers->unit == USED)
		end(strangers, b);
	strangers->meet->now_ns += CM_REST_NS;
}

/* Two strangers share a pool of B; returns how many requests were dropped for this reason. */
static uint64_t check(const struct cm_config *config, uint32_t backlog, enum unit unit, uint32_t least,
		      enum cm_counter dropped)
{
	struct meet *meet = meet_open(config);
	struct strangers strangers = strangers_of(meet, unit);
	struct cm_listener *listener = meet_listen(meet, MEET_B, PORT, backlog);
	struct cm_usage usage;
	uint64_t count;

	shared_pool_check(&(struct shared_pool){ .context = &strangers, .take = take, .give = give, .least = least });
	cm_usage(meet->end[MEET_B].cm, &usage, meet->now_ns);
	cr_expect_eq(usage.connections, 0);
	cr_expect_eq(usage.half_open, 0);
	cr_expect_eq(usage.timewait_ids, 0);
	cr_expect_eq(listener->pending, 0);
	count = cm_count(meet->end[MEET_B].cm, dropped);
	meet_close(meet);
	return count;
}

/* In each of the two rounds one request of each stranger is dropped. */
#define DROPS 4u

Test(shares, greedy_address_leaves_half_open_connections_to_another_one)
{
	struct cm_config config = { .half_open = 32, .timewait_ids = 512 };

	RULE("C-22");
	cr_expect_eq(check(&config, 64, WAITS, 8, CM_CNT_DROP_OF_ONE_PEER), DROPS);
}

/* Connections in use count as those in time-wait do, for each has room reserved. */
Test(shares, greedy_address_leaves_time_wait_to_another_one)
{
	struct cm_config config = { .half_open = 64, .timewait_ids = 32 };

	RULE("C-16");
	RULE("C-22");
	cr_expect_eq(check(&config, 64, USED, 7, CM_CNT_DROP_RESTS), DROPS);
	cr_expect_eq(check(&config, 64, RESTS, 7, CM_CNT_DROP_RESTS), DROPS);
}

/* A slow user answers nobody: whoever has filled the backlog keeps nobody else out. */
Test(shares, greedy_address_leaves_backlog_to_another_one)
{
	struct cm_config config = { .half_open = 64, .timewait_ids = 512 };

	RULE("C-22");
	RULE("C-27");
	cr_expect_eq(check(&config, 8, WAITS, 4, CM_CNT_DROP_BACKLOG), DROPS);
}

/* lcores that take requests at the same time may take more than there is room for. */
Test(shares, overfull_backlog_takes_no_request)
{
	struct meet *meet = meet_open(NULL);
	struct strangers strangers = strangers_of(meet, WAITS);
	struct cm_listener *listener = meet_listen(meet, MEET_B, PORT, 2);

	RULE("C-22");
	for (uint32_t pending = 4; pending < 7; pending++) {
		listener->pending = pending;
		cr_expect_not(ask(&strangers, 0), "%u", pending);
	}
	listener->pending = 3;
	cr_expect(ask(&strangers, 0));
	meet_close(meet);
}

/* C-27: at another port, or at the same port of another address, the same client has the whole backlog again. */
Test(shares, one_address_may_fill_each_backlog)
{
	struct meet *meet = meet_open(NULL);
	struct strangers strangers = strangers_of(meet, WAITS);

	RULE("C-27");
	for (uint8_t i = 0; i < 3; i++) {
		struct cm_listener *listener = meet_listen(meet, MEET_B, (uint16_t)(i < 2 ? PORT + i : PORT), 3);

		strangers.request.service_id = listener->service_id;
		if (i == 2) {
			strangers.to_b.source[15] += 7;
			memcpy(listener->addr, strangers.to_b.source, 16);
		}
		for (uint32_t k = 0; k < 3; k++)
			cr_expect(ask(&strangers, 0), "request %u of listener %u", k, i);
		cr_expect_not(ask(&strangers, 0), "listener %u", i);
	}
	meet_close(meet);
}

/* C-27: a backlog of one takes a request, and while it waits a request of one more client. */
Test(shares, smallest_backlog_takes_a_request_of_another_address)
{
	struct meet *meet = meet_open(NULL);
	struct strangers strangers = strangers_of(meet, WAITS);

	RULE("C-27");
	meet_listen(meet, MEET_B, PORT, 1);
	cr_expect(ask(&strangers, 0));
	cr_expect_not(ask(&strangers, 0));
	cr_expect(ask(&strangers, 1));
	cr_expect_not(ask(&strangers, 2));
	meet_close(meet);
}
