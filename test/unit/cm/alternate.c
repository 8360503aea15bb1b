/* alternate.c - LAP and APR: what they say, and what is made of those that do not fit */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "meet.h"
#include "rule.h"

#define S 1000000000ull

static const struct cm_path way = { .local_gid = { 1 }, .remote_gid = { 2 }, .ack_timeout = 14, .hop_limit = 64 };

/* A established connection, and the LAP that A has sent about it. */
static struct cm_message lap_of(struct meet *meet, uint32_t *a, uint32_t *b, struct cm_route *to_b)
{
	meet_listen(meet, MEET_B, 7174, 8);
	meet_establish(meet, a, b);
	cr_assert_eq(cm_load_alternate(meet->end[MEET_A].cm, *a, &way, meet->now_ns), 0);
	meet_drain(meet, MEET_A);
	meet_forget_notes(meet);
	return meet_take(meet, MEET_A, to_b);
}

Test(alternate, lap_names_connection_and_path)
{
	struct meet *meet = meet_open(NULL);
	struct cm_route to_b;
	struct cm_message lap;
	uint32_t a, b;

	RULE("C-20");
	lap = lap_of(meet, &a, &b, &to_b);
	cr_expect_eq(lap.kind, CM_LAP);
	cr_expect_eq(lap.qpn, cm_own(meet->end[MEET_B].cm, b)->qpn);
	cr_expect_eq(lap.remote_response_timeout, 18);
	cr_expect_eq(lap.alternate.local_gid[0], 1);
	cr_expect_eq(lap.alternate.remote_gid[0], 2);
	cr_expect_eq(lap.alternate.hop_limit, 64);
	lap.alternate.local_lid = 3;
	lap.alternate.remote_lid = 4;
	meet_give(meet, MEET_B, &lap, &to_b);
	meet_run(meet);
	cr_expect_eq(cm_alternate(meet->end[MEET_A].cm, a)->remote_gid[0], 2);
	cr_expect_eq(cm_alternate(meet->end[MEET_B].cm, b)->local_gid[0], 2, "as B sees it");
	cr_expect_eq(cm_alternate(meet->end[MEET_B].cm, b)->remote_gid[0], 1);
	cr_expect_eq(cm_alternate(meet->end[MEET_B].cm, b)->local_lid, 4);
	cr_expect_eq(cm_alternate(meet->end[MEET_B].cm, b)->remote_lid, 3);
	meet_close(meet);
}

/* C-2: an answer is known by it. */
Test(alternate, each_lap_has_its_own_transaction_id)
{
	struct meet *meet = meet_open(NULL);
	struct cm_message lap, apr, next;
	struct cm_route to_b, to_a;
	uint32_t a, b;

	RULE("C-2");
	RULE("C-23");
	lap = lap_of(meet, &a, &b, &to_b);
	meet_give(meet, MEET_B, &lap, &to_b);
	apr = meet_take(meet, MEET_B, &to_a);
	meet_give(meet, MEET_A, &apr, &to_a);
	cm_load_alternate(meet->end[MEET_A].cm, a, &way, meet->now_ns);
	meet_drain(meet, MEET_A);
	next = meet_take(meet, MEET_A, &to_b);
	cr_expect_neq(next.transaction_id, lap.transaction_id);
	meet_forget_notes(meet);
	meet_give(meet, MEET_A, &apr, &to_a); /* the answer of before, again */
	meet_expect(meet, "");
	cr_expect_eq(cm_count(meet->end[MEET_A].cm, CM_CNT_DROP_STATE), 1);
	meet_close(meet);
}

static struct cm_route along(const struct cm_path *path)
{
	struct cm_route route = { 0 };

	memcpy(route.source, path->local_gid, sizeof(route.source));
	memcpy(route.dest, path->remote_gid, sizeof(route.dest));
	return route;
}

/* Both learn that their QPs have migrated, or only the one that speaks: the other answers where it was spoken to. */
Test(alternate, messages_follow_a_migrated_qp)
{
	RULE("C-20");
	for (int both = 0; both < 2; both++) {
		struct meet *meet = meet_open(NULL);
		struct cm_route to_b, to_a, new = along(&way), back = meet_back(&new);
		struct cm_message message;
		uint32_t a, b;

		message = lap_of(meet, &a, &b, &to_b);
		meet_give(meet, MEET_B, &message, &to_b);
		message = meet_take(meet, MEET_B, &to_a);
		meet_give(meet, MEET_A, &message, &to_a);
		cm_qp_migrated(meet->end[MEET_A].cm, a, &new);
		if (both)
			cm_qp_migrated(meet->end[MEET_B].cm, b, &back);
		cr_assert_eq(cm_disconnect(meet->end[MEET_A].cm, a, NULL, meet->now_ns), 0);
		meet_drain(meet, MEET_A);
		message = meet_take(meet, MEET_A, &to_b);
		cr_expect(route_is_same(&to_b, &back), "the DREQ");
		meet_forget_notes(meet);
		meet_give(meet, MEET_B, &message, &to_b);
		meet_expect(meet, "B DREP, B QP to ERR, B event DISCONNECTED");
		meet_take(meet, MEET_B, &to_a);
		cr_expect(route_is_same(&to_a, &new), "the DREP");
		meet_close(meet);
	}
}

/* C-23: a path that the connection has never had is a stranger's. */
Test(alternate, message_from_outside_the_paths_is_dropped)
{
	struct cm_path other = { .local_gid = { 3 }, .remote_gid = { 2 } };
	struct meet *meet = meet_open(NULL);
	struct cm_message dreq;
	struct cm_route to_b, strange = along(&other);
	uint32_t a, b;

	RULE("C-23");
	dreq = lap_of(meet, &a, &b, &to_b);
	dreq.kind = CM_DREQ;
	dreq.qpn = cm_own(meet->end[MEET_B].cm, b)->qpn;
	strange = meet_back(&strange);
	meet_give(meet, MEET_B, &dreq, &strange);
	meet_expect(meet, "");
	cr_expect_eq(cm_count(meet->end[MEET_B].cm, CM_CNT_DROP_STRANGER), 1);
	meet_close(meet);
}

Test(alternate, failed_path_load_is_reported_with_its_status)
{
	static const struct {
		int error;
		uint8_t status;
		const char *b, *a;
	} rows[] = {
		{ -EINVAL, 3, "B QP to ALTERNATE -22, B APR", "A event ALTERNATE 3" },
		{ -EAGAIN, 3, "B QP to ALTERNATE -11, B APR", "A event ALTERNATE 3" },
		{ -EOPNOTSUPP, 2, "B QP to ALTERNATE -95, B APR", "A event ALTERNATE 2" },
		{ -EEXIST, 5, "B QP to ALTERNATE -17, B APR", "A event ALTERNATE 5" },
		{ -EADDRNOTAVAIL, 8, "B QP to ALTERNATE -99, B APR", "A event ALTERNATE 8" },
		{ -ENETUNREACH, 8, "B QP to ALTERNATE -101, B APR", "A event ALTERNATE 8" },
		{ -EAFNOSUPPORT, 8, "B QP to ALTERNATE -97, B APR", "A event ALTERNATE 8" },
		{ -EHOSTUNREACH, 11, "B QP to ALTERNATE -113, B APR", "A event ALTERNATE 11" },
	};

	RULE("C-20");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct meet *meet = meet_open(NULL);
		struct cm_message lap, apr;
		struct cm_route to_b, to_a;
		uint32_t a, b;

		lap = lap_of(meet, &a, &b, &to_b);
		meet->end[MEET_B].move_error = rows[i].error;
		meet_give(meet, MEET_B, &lap, &to_b);
		meet_expect(meet, rows[i].b);
		apr = meet_take(meet, MEET_B, &to_a);
		cr_expect_eq(apr.status, rows[i].status, "row %zu: %u", i, apr.status);
		meet_give(meet, MEET_A, &apr, &to_a);
		meet_expect(meet, rows[i].a);
		cr_expect(meet_last(meet, MEET_A)->has_message);
		cr_expect_eq(cm_load_alternate(meet->end[MEET_A].cm, a, &way, meet->now_ns), 0, "it may try again");
		meet_close(meet);
	}
}

Test(alternate, lap_for_another_qp_is_refused_with_its_status)
{
	struct meet *meet = meet_open(NULL);
	struct cm_message lap, apr;
	struct cm_route to_b, to_a;
	uint32_t a, b;

	RULE("C-20");
	lap = lap_of(meet, &a, &b, &to_b);
	lap.qpn++;
	meet_give(meet, MEET_B, &lap, &to_b);
	meet_expect(meet, "B APR");
	apr = meet_take(meet, MEET_B, &to_a);
	cr_expect_eq(apr.status, 6);
	meet_close(meet);
}

/* C-21: earlier versions send no order in their APR, and have no status for a LAP that goes first. */
Test(alternate, apr_without_an_order_is_accepted)
{
	struct meet *meet = meet_open(NULL);
	struct cm_message mine, theirs, apr = { .kind = CM_APR };
	struct cm_route to_a, to_b;
	uint32_t a, b;

	RULE("C-20");
	theirs = lap_of(meet, &a, &b, &to_b);
	cr_assert_eq(cm_load_alternate(meet->end[MEET_B].cm, b, &way, meet->now_ns), 0);
	meet_drain(meet, MEET_B);
	mine = meet_take(meet, MEET_B, &to_a);
	meet_forget_notes(meet);
	meet_give(meet, MEET_B, &theirs, &to_b);
	meet_expect(meet, "B QP to ALTERNATE, B APR");
	apr.transaction_id = mine.transaction_id;
	apr.local_id = mine.remote_id;
	apr.remote_id = mine.local_id;
	meet_give(meet, MEET_B, &apr, &to_b);
	meet_expect(meet, "B QP to ALTERNATE, B event ALTERNATE");
	/* and refuses without saying why */
	cr_assert_eq(cm_load_alternate(meet->end[MEET_B].cm, b, &way, meet->now_ns), 0);
	meet_drain(meet, MEET_B);
	meet_take(meet, MEET_B, &to_a); /* the APR of before */
	apr.transaction_id = meet_take(meet, MEET_B, &to_a).transaction_id;
	apr.status = 3;
	meet_forget_notes(meet);
	meet_give(meet, MEET_B, &apr, &to_b);
	meet_expect(meet, "B event ALTERNATE 3");
	meet_close(meet);
}

/* Both ask at once; returns A's refusal of B's LAP, whose own goes first. */
static struct cm_message refusal_of(struct meet *meet, struct cm_route *to_b)
{
	struct cm_message mine, refusal;
	struct cm_route to_a;

	mine = meet_take(meet, MEET_B, &to_a);
	meet_give(meet, MEET_A, &mine, &to_a);
	refusal = meet_take(meet, MEET_A, to_b);
	cr_assert_eq(refusal.status, 3);
	meet_forget_notes(meet);
	return refusal;
}

/* The path of the preferred LAP is loaded already: that is the answer, and the own LAP ends. */
Test(alternate, loaded_path_answers_the_crossing_lap)
{
	struct meet *meet = meet_open(NULL);
	struct cm_message theirs, refusal;
	struct cm_route to_b;
	uint32_t a, b;

	RULE("C-20");
	theirs = lap_of(meet, &a, &b, &to_b);
	cr_assert_eq(cm_load_alternate(meet->end[MEET_B].cm, b, &way, meet->now_ns), 0);
	meet_drain(meet, MEET_B);
	refusal = refusal_of(meet, &to_b);
	meet_give(meet, MEET_B, &theirs, &to_b);
	meet_forget_notes(meet);
	meet_give(meet, MEET_B, &refusal, &to_b);
	meet_expect(meet, "B event ALTERNATE");
	cr_expect_eq(meet_last(meet, MEET_B)->status, 0);
	cr_expect_eq(cm_deadline(meet->end[MEET_B].cm), UINT64_MAX);
	meet_close(meet);
}

/* The preferred LAP is still in flight: it is awaited for a full timeout from now on. */
Test(alternate, yielding_side_restarts_its_wait)
{
	struct meet *meet = meet_open(NULL);
	struct cm *cm = meet->end[MEET_B].cm;
	struct cm_message theirs, refusal;
	struct cm_route to_b;
	uint64_t wait_ns;
	uint32_t a, b;

	RULE("C-20");
	RULE("C-31");
	theirs = lap_of(meet, &a, &b, &to_b);
	cr_assert_eq(cm_load_alternate(cm, b, &way, meet->now_ns), 0);
	wait_ns = cm_deadline(cm) - meet->now_ns;
	meet_drain(meet, MEET_B);
	refusal = refusal_of(meet, &to_b);
	meet->now_ns += wait_ns / 2;
	meet_give(meet, MEET_B, &refusal, &to_b);
	meet_expect(meet, "");
	cr_expect_eq(cm_deadline(cm), meet->now_ns + wait_ns);
	meet_give(meet, MEET_B, &theirs, &to_b);
	meet_expect(meet, "B QP to ALTERNATE, B APR, B event ALTERNATE");
	meet_close(meet);
}

/* A host reports the same move twice. */
Test(alternate, unsolicited_move_sends_no_answer)
{
	struct meet *meet = meet_open(NULL);
	struct cm_message lap;
	struct cm_route to_b;
	uint32_t a, b;

	RULE("C-20");
	lap = lap_of(meet, &a, &b, &to_b);
	meet_give(meet, MEET_B, &lap, &to_b);
	meet_run(meet);
	meet_forget_notes(meet);
	cm_qp_moved(meet->end[MEET_A].cm, a, CM_MOVE_ALTERNATE, 0, meet->now_ns);
	cm_qp_moved(meet->end[MEET_B].cm, b, CM_MOVE_ALTERNATE, 0, meet->now_ns);
	meet_drain(meet, MEET_A);
	meet_drain(meet, MEET_B);
	meet_expect(meet, "");
	meet_close(meet);
}

Test(alternate, unanswered_load_may_be_repeated)
{
	struct meet *meet = meet_open(NULL);
	struct cm_route to_b;
	uint32_t a, b;

	RULE("C-21");
	lap_of(meet, &a, &b, &to_b);
	meet->fate = meet_lose_laps;
	meet_settle(meet, meet->now_ns + 60 * S);
	cr_assert_eq(meet_last(meet, MEET_A)->status, -ETIMEDOUT);
	cr_expect_eq(cm_deadline(meet->end[MEET_A].cm), UINT64_MAX);
	cr_expect_eq(cm_load_alternate(meet->end[MEET_A].cm, a, &way, meet->now_ns), 0);
	meet_close(meet);
}

/* The peer's LAP crosses our DREQ, or arrives when the connection has ended. */
Test(alternate, lap_for_a_closing_connection_is_refused)
{
	RULE("C-20");
	for (int closed = 0; closed < 2; closed++) {
		struct meet *meet = meet_open(NULL);
		struct cm_message lap, apr, dreq;
		struct cm_route to_b, to_a, back;
		uint32_t a, b;

		lap = lap_of(meet, &a, &b, &to_b);
		cr_assert_eq(cm_disconnect(meet->end[MEET_B].cm, b, NULL, meet->now_ns), 0);
		meet_drain(meet, MEET_B);
		dreq = meet_take(meet, MEET_B, &to_a);
		if (closed) {
			dreq.kind = CM_DREP;
			dreq.local_id = lap.local_id;
			dreq.remote_id = lap.remote_id;
			meet_give(meet, MEET_B, &dreq, &to_b);
		}
		meet_forget_notes(meet);
		for (int copies = 0; copies < 2; copies++) {
			meet_give(meet, MEET_B, &lap, &to_b);
			meet_expect(meet, "B APR");
			apr = meet_take(meet, MEET_B, &back);
			cr_expect_eq(apr.status, 1, "%s: %u", closed ? "closed" : "DREQ sent", apr.status);
			cr_expect_eq(apr.transaction_id, lap.transaction_id);
			cr_expect(route_is_same(&back, &to_a));
		}
		meet_give(meet, MEET_A, &apr, &to_a);
		meet_expect(meet, "A event ALTERNATE 1");
		meet_close(meet);
	}
}
