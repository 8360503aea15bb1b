/* cm.c - the manager itself: whose a message is, how long things take, what is counted */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "meet.h"
#include "rule.h"

#define S 1000000000ull
#define CODE_NS(code) (4096ull << (code))

/* ---- how long things take ---- */

/* C-10: the answer's time and twice the way of a packet, each time; what is not configured is the default. */
Test(cm, each_retry_waits_as_long_as_the_first_try)
{
	static const struct {
		struct cm_config config;
		uint64_t wait_ns;
		uint32_t tries;
	} rows[] = {
		{ { 0 }, CODE_NS(18) + 2 * CODE_NS(14), 15 },
		{ { .response_timeout = 10, .packet_life = 3, .max_retries = 2 }, CODE_NS(10) + 2 * CODE_NS(3), 2 },
	};

	RULE("C-10");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct meet *meet = meet_open(&rows[i].config);
		const struct cm *cm = meet->end[MEET_A].cm;
		uint64_t due = meet->now_ns;

		meet->fate = meet_lose_all;
		meet_connect(meet, 7174, 17);
		for (uint32_t tries = 0; tries <= rows[i].tries; tries++) {
			cr_assert_eq(cm_count(cm, CM_CNT_RETRIES), tries);
			cr_assert_eq(cm_count_sent(cm, CM_REQ), tries + 1);
			cr_assert_null(meet_last(meet, MEET_A));
			due += rows[i].wait_ns;
			cr_assert_eq(cm_deadline(cm), due, "row %zu, try %u", i, tries);
			meet_wait(meet, due);
		}
		cr_expect_eq(meet_last(meet, MEET_A)->event, CM_EVENT_UNREACHABLE);
		cr_expect_eq(cm_count(cm, CM_CNT_TIMEOUTS), 1);
		cr_expect_eq(cm_deadline(cm), UINT64_MAX);
		meet_close(meet);
	}
}

/* The user's time is that of the manager, or a minute; three quarters of the peer's wait it is told to go on. */
Test(cm, user_has_a_minute_or_the_configured_time)
{
	static const uint64_t configured[] = { 0, 10 * S };

	RULE("C-12");
	for (size_t i = 0; i < 2; i++) {
		struct meet *meet = meet_open(&(struct cm_config){ .patience_ns = configured[i] });
		const struct cm *cm = meet->end[MEET_B].cm;
		uint64_t began = meet->now_ns;

		meet_listen(meet, MEET_B, 7174, 8);
		meet_connect(meet, 7174, 17);
		meet_run(meet);
		cr_assert_eq(cm_deadline(cm), began + CODE_NS(18) / 4 * 3);
		meet_wait(meet, began + S);
		cr_assert_eq(cm_count_sent(cm, CM_MRA), 1);
		cr_assert_eq(cm_deadline(cm), began + (configured[i] ? 10 : 60) * S);
		meet_settle(meet, began + 61 * S);
		cr_expect_eq(meet_last(meet, MEET_B)->event, CM_EVENT_UNREACHABLE);
		cr_expect_eq(cm_count(cm, CM_CNT_TIMEOUTS), 1);
		meet_close(meet);
	}
}

/* A has sent a REQ; what it gets comes from B. */
static struct cm_message asked(struct meet *meet, struct cm_route *to_a, uint32_t *a)
{
	struct cm_message req;
	struct cm_route to_b;

	*a = meet_connect(meet, 7174, 17);
	req = meet_take(meet, MEET_A, &to_b);
	*to_a = meet_back(&to_b);
	meet_forget_notes(meet);
	return req;
}

/* C-12: it waits as long as it is asked to, and each time costs a try. */
Test(cm, mra_extends_the_wait_and_costs_a_try)
{
	struct meet *meet = meet_open(&(struct cm_config){ .max_retries = 2 });
	struct cm_message req, mra = { .kind = CM_MRA, .answered = CM_ANSWERED_REQ };
	const struct cm *cm = meet->end[MEET_A].cm;
	struct cm_route to_a;
	uint32_t a;

	RULE("C-12");
	req = asked(meet, &to_a, &a);
	mra.remote_id = req.local_id;
	mra.local_id = 5;
	mra.service_timeout = 20;
	meet_give(meet, MEET_A, &mra, &to_a);
	cr_expect_eq(cm_deadline(cm), meet->now_ns + CODE_NS(20) + CODE_NS(18) + 2 * CODE_NS(14));
	mra.service_timeout = 31; /* 24 is the most */
	meet_give(meet, MEET_A, &mra, &to_a);
	cr_expect_eq(cm_deadline(cm), meet->now_ns + CODE_NS(24) + CODE_NS(18) + 2 * CODE_NS(14));
	cr_expect_eq(cm_count(cm, CM_CNT_DROP_STATE), 0);
	mra.service_timeout = 20;
	meet_give(meet, MEET_A, &mra, &to_a);
	cr_expect_eq(cm_count(cm, CM_CNT_DROP_STATE), 0, "the last wait, too");
	cr_expect_eq(cm_deadline(cm), meet->now_ns + CODE_NS(20) + CODE_NS(18) + 2 * CODE_NS(14));
	mra.service_timeout = 1;
	meet_give(meet, MEET_A, &mra, &to_a);
	cr_expect_eq(cm_count(cm, CM_CNT_DROP_STATE), 1);
	cr_expect_eq(cm_deadline(cm), meet->now_ns + CODE_NS(20) + CODE_NS(18) + 2 * CODE_NS(14));
	meet_close(meet);
}

static int lose_first_req(struct meet *meet, enum meet_name from, const struct cm_message *message)
{
	(void)from;
	return message->kind != CM_REQ || cm_count_sent(meet->end[MEET_A].cm, CM_REQ) > 1;
}

/* C-12: only the last try arrives, and the peer's user thinks longer than that is waited for. */
Test(cm, the_last_try_may_be_prolonged)
{
	struct meet *meet = meet_open(&(struct cm_config){ .max_retries = 1 });

	RULE("C-12");
	meet_listen(meet, MEET_B, 7174, 8);
	meet->fate = lose_first_req;
	meet_connect(meet, 7174, 17);
	meet_settle(meet, meet->now_ns + 5 * S);
	meet_expect(meet, "A REQ, A REQ, B event REQUEST, B MRA");
	meet_accept(meet, meet_last(meet, MEET_B)->connection, 18);
	meet_run(meet);
	cr_expect_eq(meet_last(meet, MEET_A)->event, CM_EVENT_ESTABLISHED);
	meet_close(meet);
}

/* C-23: of a REQ while that waits, of a LAP while that does. */
Test(cm, mra_refers_to_the_pending_message)
{
	struct meet *meet = meet_open(NULL);
	struct cm_message mra = { .kind = CM_MRA, .answered = CM_ANSWERED_REP, .service_timeout = 20 };
	struct cm_path way = { .ack_timeout = 14 };
	struct cm *cm = meet->end[MEET_A].cm;
	struct cm_route to_a, to_b;
	struct cm_message lap;
	uint32_t a, b;

	RULE("C-12");
	RULE("C-23");
	mra.remote_id = asked(meet, &to_a, &a).local_id;
	meet_give(meet, MEET_A, &mra, &to_a);
	cr_expect_eq(cm_count(cm, CM_CNT_DROP_STATE), 1, "of a REP, and it has sent none");
	meet_listen(meet, MEET_B, 7174, 8);
	meet_establish(meet, &a, &b);
	cm_load_alternate(cm, a, &way, meet->now_ns);
	meet_drain(meet, MEET_A);
	lap = meet_take(meet, MEET_A, &to_b);
	mra.local_id = lap.remote_id;
	mra.remote_id = lap.local_id;
	meet_give(meet, MEET_A, &mra, &to_a);
	cr_expect_eq(cm_count(cm, CM_CNT_DROP_STATE), 2, "of a REP, and a LAP waits");
	mra.answered = CM_ANSWERED_LAP;
	meet_give(meet, MEET_A, &mra, &to_a);
	cr_expect_eq(cm_count(cm, CM_CNT_DROP_STATE), 2);
	meet_settle(meet, meet->now_ns + 2 * S);
	cr_expect_eq(cm_count_sent(cm, CM_LAP), 1, "it waits, as the peer asks");
	meet_give(meet, MEET_B, &lap, &to_b);
	meet_run(meet);
	meet_give(meet, MEET_A, &mra, &to_a);
	cr_expect_eq(cm_count(cm, CM_CNT_DROP_STATE), 3, "the LAP waits no more");
	meet_close(meet);
}

/* Whoever was refused and forgotten is no time-out. */
Test(cm, rejected_and_forgotten_request_sends_nothing)
{
	struct meet *meet = meet_open(NULL);
	struct cm_usage usage;
	uint32_t b;

	RULE("C-11");
	meet_listen(meet, MEET_B, 7174, 8);
	meet_connect(meet, 7174, 17);
	meet_run(meet);
	b = meet_last(meet, MEET_B)->connection;
	cm_reject(meet->end[MEET_B].cm, b, CM_REJ_CONSUMER, NULL, meet->now_ns);
	cm_forget(meet->end[MEET_B].cm, b, meet->now_ns);
	meet_run(meet);
	meet_forget_notes(meet);
	meet_settle(meet, meet->now_ns + 10 * S);
	meet_expect(meet, "");
	cm_usage(meet->end[MEET_B].cm, &usage, meet->now_ns);
	cr_expect_eq(usage.connections, 0);
	cr_expect_eq(cm_count(meet->end[MEET_B].cm, CM_CNT_TIMEOUTS), 0);
	meet_close(meet);
}

/* ---- whose a message is ---- */

static uint32_t owner_of(const struct cm_message *message, uint32_t mask, uint8_t last_of_address)
{
	const uint8_t key[16] = { 1 }, source[16] = { [15] = last_of_address };
	uint8_t mad[CM_MAD_BYTES];

	cm_mad_build(message, mad);
	return cm_owner(key, mask, source, mad);
}

Test(cm, address_of_a_request_also_selects_its_owner)
{
	struct cm_message req = { .kind = CM_REQ, .qpn = 17 };
	uint32_t found = 0;

	for (uint8_t i = 0; i < 64; i++)
		found |= 1u << owner_of(&req, 7, i);
	cr_expect_eq(found, 0xFF);
}

Test(cm, the_only_manager_owns_every_message)
{
	static const uint8_t kinds[] = { CM_REQ, CM_REJ, CM_DREQ, CM_SIDR_REQ, CM_SIDR_REP };

	for (size_t i = 0; i < sizeof(kinds); i++) {
		struct cm_message message = { .kind = kinds[i], .local_id = 7 };

		cr_expect_eq(owner_of(&message, 0, 1), 0);
	}
}

/* ---- looks ---- */

Test(cm, events_carry_the_user_context)
{
	struct meet *meet = meet_open(NULL);
	uint32_t a, b;

	RULE("C-27");
	meet_listen(meet, MEET_B, 7174, 8);
	meet_establish(meet, &a, &b);
	cm_set_context(meet->end[MEET_A].cm, a, 4711);
	cm_disconnect(meet->end[MEET_B].cm, b, NULL, meet->now_ns);
	meet_run(meet);
	cr_expect_eq(meet_last(meet, MEET_A)->event, CM_EVENT_DISCONNECTED);
	cr_expect_eq(meet_last(meet, MEET_A)->context, 4711);
	meet_close(meet);
}

Test(cm, unused_reject_reasons_are_not_counted)
{
	struct meet *meet = meet_open(NULL);
	uint32_t a, b;

	RULE("C-26");
	meet_listen(meet, MEET_B, 7174, 8);
	meet_establish(meet, &a, &b);
	for (uint16_t reason = 0; reason < 64; reason++) {
		cr_expect_eq(cm_count_rejects(meet->end[MEET_A].cm, reason), 0);
		cr_expect_eq(cm_count_rejects(meet->end[MEET_B].cm, reason), 0);
	}
	meet_close(meet);
}

Test(cm, expired_time_wait_ids_are_not_in_use)
{
	struct meet *meet = meet_open(NULL);
	struct cm *cm = meet->end[MEET_A].cm;
	struct cm_usage usage;

	RULE("C-16");
	cm_forget(cm, meet_connect(meet, 7174, 17), meet->now_ns);
	cm_usage(cm, &usage, meet->now_ns);
	cr_expect_eq(usage.timewait_ids, 1);
	cm_usage(cm, &usage, meet->now_ns + 10 * S);
	cr_expect_eq(usage.timewait_ids, 0);
	meet_close(meet);
}
