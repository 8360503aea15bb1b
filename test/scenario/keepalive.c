/* keepalive.c - an idle connection asks its peer now and then, and is told when that is dead */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "packets.h"
#include "peek.h"
#include "rc/loss.h"
#include "rule.h"
#include "two_paths.h"

#define INTERVAL_MS 500u
#define INTERVAL_NS 500000000ull
#define TIMEOUT_NS 67108864ull /* code 14 */
#define STEPS_NS 1000000ull    /* that polls take besides */
#define RETRIES 7

static void set_interval(struct pair *pair, enum side_name side, uint32_t interval_ms)
{
	struct uroce_qp_attr attr = { .keepalive_ms = interval_ms };
	uint32_t bad = 0;

	cr_assert_eq(rc_qp_modify(pair->side[side].qp, &attr, UROCE_QP_KEEPALIVE, &bad), 0, "%#x", bad);
}

/* A has sent one WRITE, and asks from now on. */
static struct pair *open_idle(const struct pair_options *options)
{
	struct pair *pair = pair_open(options);

	pair_write(pair, 1, 8);
	pair_run(pair);
	expect_completes(pair, A, "wr=1 WRITE SUCCESS");
	set_interval(pair, A, INTERVAL_MS);
	pair_forget(pair);
	return pair;
}

/* A has sent nothing but so many empty WRITEs in the place of its last packet, of no memory, since it was idle. */
static void expect_asked(struct pair *pair, uint32_t times)
{
	expect_sent_count(pair, A, times);
	for (uint32_t i = 0; i < times; i++) {
		const char *line = pair->side[A].sent[i];

		cr_expect(strncmp(line, "WRITE_ONLY psn=0 ackreq va=", 27) == 0 &&
				  strstr(line, " rkey=0x00000000 len=0 bytes=0"),
			  "%s", line);
	}
	expect_counts(pair, A, CNT_KEEPALIVES, times);
}

/* Everything that falls due up to then happens. */
static void run_until(struct pair *pair, uint64_t end_ns)
{
	for (;;) {
		uint64_t a = rc_qp_deadline(pair->side[A].qp), b = rc_qp_deadline(pair->side[B].qp);

		if ((a < b ? a : b) > end_ns)
			break;
		cr_assert(pair_fire(pair));
	}
	if (pair->now_ns < end_ns)
		pair->now_ns = end_ns;
}

Test(keepalive, keepalive_is_off_by_default_and_after_reset)
{
	struct pair *pair = open_idle(&(struct pair_options){ 0 });
	struct rc_qp *qp = pair->side[A].qp;
	struct uroce_qp_attr attr;

	rc_qp_query(qp, &attr);
	cr_expect_eq(attr.keepalive_ms, INTERVAL_MS);
	rc_qp_query(pair->side[B].qp, &attr);
	cr_expect_eq(attr.keepalive_ms, 0);
	cr_expect_eq(rc_qp_deadline(pair->side[B].qp), RC_NEVER);
	set_interval(pair, A, 0);
	cr_expect_eq(rc_qp_deadline(qp), RC_NEVER);
	set_interval(pair, A, INTERVAL_MS);
	attr.qp_state = UROCE_QPS_RESET;
	cr_assert_eq(rc_qp_modify(qp, &attr, UROCE_QP_STATE, NULL), 0);
	cr_expect_eq(rc_qp_deadline(qp), RC_NEVER);
	rc_qp_query(qp, &attr);
	cr_expect_eq(attr.keepalive_ms, 0);
	pair_close(pair);
}

/* No PSN, no place in the queue, no completion: the peer sees something that it has had already. */
Test(keepalive, idle_connection_sends_one_keepalive_per_interval)
{
	struct pair *pair = open_idle(&(struct pair_options){ 0 });
	struct rc_qp *qp = pair->side[A].qp;

	RULE("C-33");
	run_until(pair, pair->now_ns + 3 * INTERVAL_NS + INTERVAL_NS / 2);
	expect_asked(pair, 3);
	expect_leaves(pair, B, "ACK psn=0 credit=31 msn=1", "ACK psn=0 credit=31 msn=1", "ACK psn=0 credit=31 msn=1");
	expect_completes(pair, A);
	expect_completes(pair, B);
	expect_events(pair, A);
	expect_counts(pair, A, CNT_LOCAL_ACK_TIMEOUT_ERR, 0);
	expect_counts(pair, A, CNT_STALE_RESPONSE, 0);
	cr_expect_eq(peek_resend_ns(qp), RC_NEVER);
	pair_write(pair, 2, 8);
	pair_run(pair);
	expect_completes(pair, A, "wr=2 WRITE SUCCESS");
	pair_close(pair);
}

/* The peer's PSN before the first: it has never had that, and answers all the same. */
Test(keepalive, keepalive_works_before_the_first_request)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });

	RULE("C-33");
	set_interval(pair, A, INTERVAL_MS);
	set_interval(pair, B, INTERVAL_MS);
	run_until(pair, pair->now_ns + 10 * INTERVAL_NS);
	cr_expect_eq(peek_state(pair->side[A].qp), UROCE_QPS_RTS);
	cr_expect_eq(peek_state(pair->side[B].qp), UROCE_QPS_RTS);
	expect_events(pair, A);
	expect_counts(pair, A, CNT_LOCAL_ACK_TIMEOUT_ERR, 0);
	expect_counts(pair, B, CNT_LOCAL_ACK_TIMEOUT_ERR, 0);
	expect_counts(pair, A, CNT_GHOST_RESPONSE, 0);
	pair_close(pair);
}

Test(keepalive, completed_work_postpones_keepalive)
{
	struct pair *pair = open_idle(&(struct pair_options){ 0 });

	for (int i = 0; i < 8; i++) {
		run_until(pair, pair->now_ns + INTERVAL_NS / 2);
		pair_write(pair, 10, 8);
		pair_run(pair);
	}
	expect_counts(pair, A, CNT_KEEPALIVES, 0);
	run_until(pair, pair->now_ns + INTERVAL_NS + TIMEOUT_NS);
	expect_counts(pair, A, CNT_KEEPALIVES, 1);
	pair_close(pair);
}

Test(keepalive, dead_peer_is_reported_within_interval_and_retry_budget)
{
	struct pair *pair = open_idle(&(struct pair_options){ .retry_cnt = RETRIES });
	struct rc_qp *qp = pair->side[A].qp;
	struct uroce_qp_error error;
	uint64_t died_ns;

	RULE("C-33");
	RULE("T-4");
	died_ns = pair->now_ns;
	pair_cut(pair);
	while (peek_state(qp) == UROCE_QPS_RTS)
		cr_assert(pair_fire(pair));
	cr_expect_leq(pair->now_ns - died_ns, INTERVAL_NS + (RETRIES + 1) * TIMEOUT_NS + STEPS_NS);
	expect_asked(pair, RETRIES + 1);
	expect_events(pair, A, "QP_FATAL");
	expect_completes(pair, A);
	rc_qp_last_error(qp, &error);
	cr_expect_eq(error.status, UROCE_WC_RETRY_EXC_ERR);
	cr_expect_eq(error.cause, UROCE_CAUSE_KEEPALIVE);
	cr_expect_eq(error.retries, RETRIES);
	cr_expect_geq(error.elapsed_us, (INTERVAL_NS + (RETRIES + 1) * TIMEOUT_NS) / 1000);
	cr_expect_eq(pair->side[A].silent_us, error.elapsed_us);
	cr_expect_eq(rc_qp_deadline(qp), RC_NEVER, "it is over");
	pair_write(pair, 3, 8);
	pair_transmit(pair, A);
	expect_completes(pair, A, "wr=3 WRITE WR_FLUSH_ERR");
	pair_close(pair);
}

/* Less than the budget is lost: it is whole again afterwards. */
static int lose_all_but_the_fourth(struct pair *pair, enum side_name from, uint32_t number,
				   const struct wire_packet *packet)
{
	static uint32_t count;

	(void)pair;
	(void)number;
	(void)packet;
	return from == B || ++count % 4 == 0;
}

Test(keepalive, lossy_link_costs_only_retries)
{
	struct pair *pair = open_idle(&(struct pair_options){ .retry_cnt = 3 });
	struct rc_qp *qp = pair->side[A].qp;

	pair->copies = lose_all_but_the_fourth;
	run_until(pair, pair->now_ns + 5 * (INTERVAL_NS + 3 * TIMEOUT_NS) + TIMEOUT_NS);
	cr_expect_eq(peek_state(qp), UROCE_QPS_RTS);
	cr_expect_eq(peek_retries_left(qp), 3);
	expect_events(pair, A);
	cr_expect_gt(qp->counters[CNT_LOCAL_ACK_TIMEOUT_ERR], 9);
	pair_close(pair);
}

/* What is posted while nobody answers fails as such, and not twice. */
Test(keepalive, request_posted_during_keepalive_carries_the_failure)
{
	struct pair *pair = open_idle(&(struct pair_options){ .retry_cnt = 2 });
	struct rc_qp *qp = pair->side[A].qp;

	pair_cut(pair);
	while (qp->counters[CNT_KEEPALIVES] == 0)
		cr_assert(pair_fire(pair));
	pair_write(pair, 2, 8);
	pair_run(pair);
	while (peek_state(qp) == UROCE_QPS_RTS)
		cr_assert(pair_fire(pair));
	expect_completes(pair, A, "wr=2 WRITE RETRY_EXC_ERR");
	expect_events(pair, A, "QP_FATAL");
	pair_close(pair);
	pair = open_idle(&(struct pair_options){ 0 });
	qp = pair->side[A].qp;
	pair_cut(pair);
	while (qp->counters[CNT_KEEPALIVES] == 0)
		cr_assert(pair_fire(pair));
	pair_mend(pair);
	pair_write(pair, 2, 8);
	run_until(pair, pair->now_ns + 4 * INTERVAL_NS);
	expect_completes(pair, A, "wr=2 WRITE SUCCESS");
	cr_expect_eq(peek_state(qp), UROCE_QPS_RTS);
	pair_close(pair);
}

Test(keepalive, without_an_ack_timer_the_interval_is_the_timeout)
{
	struct pair *pair = open_idle(&(struct pair_options){ .retry_cnt = 2 });
	struct rc_qp *qp = pair->side[A].qp;
	uint64_t died_ns = pair->now_ns;

	rc_loss_set_timeout(qp, 0);
	pair_cut(pair);
	while (peek_state(qp) == UROCE_QPS_RTS)
		cr_assert(pair_fire(pair));
	cr_expect_leq(pair->now_ns - died_ns, 4 * INTERVAL_NS + TIMEOUT_NS);
	expect_events(pair, A, "QP_FATAL");
	pair_close(pair);
}

/* With an armed path the silence of the first one is answered as that of a request is. */
Test(keepalive, armed_path_replaces_a_dead_one)
{
	struct two_paths paths = { 0 };
	struct pair *pair = two_paths_open(&paths, &(struct pair_options){ .retry_cnt = 2 });
	struct rc_qp *qp = pair->side[A].qp;

	RULE("A-3");
	two_paths_arm(pair);
	set_interval(pair, A, INTERVAL_MS);
	paths.dead[A][0] = paths.dead[B][0] = true;
	run_until(pair, pair->now_ns + 2 * INTERVAL_NS);
	two_paths_expect(pair, A, UROCE_PATH_MIGRATED, 1);
	two_paths_expect(pair, B, UROCE_PATH_MIGRATED, 1);
	cr_expect_eq(peek_state(qp), UROCE_QPS_RTS);
	cr_expect_not(peek_waits_beside(qp), "the new path has answered");
	pair_close(pair);
}

static void wait_until_due(struct pair *pair)
{
	struct rc_qp *qp = pair->side[A].qp;

	while (!peek_ask_is_due(qp))
		pair_timeout_at(pair, qp, rc_qp_deadline(qp));
}

Test(keepalive, sent_keepalive_leaves_no_work)
{
	struct pair *pair = open_idle(&(struct pair_options){ 0 });

	pair_cut(pair);
	wait_until_due(pair);
	cr_assert(pair_transmit_some(pair, A, 0), "no room, and yet nothing more to do");
	expect_asked(pair, 0);
	cr_assert_not(pair_transmit_some(pair, A, 1));
	expect_asked(pair, 1);
	pair_close(pair);
}

/* The timer is the keep-alive's while it asks, and nobody else's. */
Test(keepalive, disabled_keepalive_stops_only_its_own_timer)
{
	struct pair *pair = open_idle(&(struct pair_options){ 0 });
	struct rc_qp *qp = pair->side[A].qp;
	uint64_t deadline_ns;

	pair_cut(pair);
	wait_until_due(pair);
	pair_transmit(pair, A);
	cr_assert_eq(rc_qp_deadline(qp), pair->now_ns + TIMEOUT_NS);
	set_interval(pair, A, 0);
	cr_assert_eq(rc_qp_deadline(qp), RC_NEVER);
	pair_write(pair, 2, 8);
	pair_transmit(pair, A);
	deadline_ns = rc_qp_deadline(qp);
	cr_assert_eq(deadline_ns, pair->now_ns + TIMEOUT_NS);
	set_interval(pair, A, INTERVAL_MS);
	set_interval(pair, A, 0);
	cr_assert_eq(rc_qp_deadline(qp), deadline_ns);
	pair_close(pair);
}

/* However long nothing had been said before. */
Test(keepalive, first_keepalive_leaves_one_interval_after_enabling)
{
	struct pair *pair = open_idle(&(struct pair_options){ 0 });

	set_interval(pair, A, 0);
	pair->now_ns += 10 * INTERVAL_NS;
	set_interval(pair, A, INTERVAL_MS);
	run_until(pair, pair->now_ns + INTERVAL_NS - STEPS_NS);
	expect_asked(pair, 0);
	run_until(pair, pair->now_ns + 2 * STEPS_NS);
	expect_asked(pair, 1);
	pair_close(pair);
}

Test(keepalive, sqd_sends_no_keepalive)
{
	struct pair *pair = open_idle(&(struct pair_options){ 0 });
	const struct uroce_qp_attr attr = { .qp_state = UROCE_QPS_SQD };

	cr_assert_eq(rc_qp_modify(pair->side[A].qp, &attr, UROCE_QP_STATE, NULL), 0);
	run_until(pair, pair->now_ns + 4 * INTERVAL_NS);
	expect_asked(pair, 0);
	pair_close(pair);
}

/* It has not left yet, so there is no other that the failure could be told with. */
Test(keepalive, posted_request_reports_the_dead_peer)
{
	struct pair *pair = open_idle(&(struct pair_options){ .retry_cnt = 255 });
	struct rc_qp *qp = pair->side[A].qp;

	RULE("E-1");
	pair_cut(pair);
	wait_until_due(pair);
	pair_transmit(pair, A);
	pair_write(pair, 2, 8);
	pair_write(pair, 3, 8);
	pair_timeout_at(pair, qp, rc_qp_deadline(qp));
	pair_transmit(pair, A);
	expect_completes(pair, A, "wr=2 WRITE RETRY_EXC_ERR", "wr=3 WRITE WR_FLUSH_ERR");
	cr_assert_eq(pair->side[A].wcs[0].vendor_err, UROCE_CAUSE_KEEPALIVE);
	pair_close(pair);
}

/* No answer to it: it is asked again, when there is room, and not counted again before. */
Test(keepalive, retry_without_room_counts_once)
{
	struct pair *pair = open_idle(&(struct pair_options){ 0 });
	struct rc_qp *qp = pair->side[A].qp;

	RULE("T-3");
	pair_cut(pair);
	wait_until_due(pair);
	pair_transmit(pair, A);
	for (uint32_t i = 0; i < 3; i++) {
		pair->now_ns += TIMEOUT_NS;
		rc_qp_timeout(qp, pair->now_ns);
		cr_assert(pair_transmit_some(pair, A, 0));
	}
	cr_assert_eq(peek_retries_left(qp), RETRIES - 1);
	pair_close(pair);
}

/* It answers what asked before the request left, which may be lost. */
Test(keepalive, keepalive_answer_does_not_stop_a_request_timer)
{
	struct pair *pair = open_idle(&(struct pair_options){ 0 });
	const struct rc_loss *loss = &pair->side[A].qp->loss;

	RULE("T-1");
	pair_cut(pair);
	wait_until_due(pair);
	pair_transmit(pair, A);
	pair->now_ns += TIMEOUT_NS / 2;
	pair_write(pair, 2, 8);
	pair_transmit(pair, A);
	pair->now_ns += TIMEOUT_NS / 4;
	pair_respond(pair, ack_packet(0, SYNDROME_PLAIN_ACK, 1));
	cr_assert_geq(loss->ack_deadline_ns, pair->now_ns + TIMEOUT_NS / 4 * 3);
	cr_assert_leq(loss->ack_deadline_ns, pair->now_ns + TIMEOUT_NS);
	pair_close(pair);
}

/* A request that leaves while the keep-alive waits has a timer and a budget of its own: it has only just been sent. */
Test(keepalive, request_that_overtakes_keepalive_has_its_full_timeout)
{
	RULE("T-1");
	RULE("T-3");
	for (uint32_t spent = 0; spent < 2; spent++) { /* retries that the keep-alive has cost */
		struct pair *pair = open_idle(&(struct pair_options){ .retry_cnt = 1 });
		struct rc_qp *qp = pair->side[A].qp;

		pair_cut(pair);
		while (qp->counters[CNT_KEEPALIVES] <= spent)
			cr_assert(pair_fire(pair));
		pair->now_ns = peek_resend_ns(qp) - 1000;
		pair_write(pair, 2, 8);
		pair_transmit(pair, A);
		cr_assert_eq(peek_resend_ns(qp), pair->now_ns + TIMEOUT_NS);
		cr_assert_eq(peek_retries_left(qp), 1);
		cr_assert_not(peek_waits_beside(qp));
		pair_close(pair);
	}
}

/* Without an ACK timer the keep-alive has one, and requests have none (TC-E-12). */
Test(keepalive, request_that_overtakes_keepalive_inherits_no_timer)
{
	struct pair *pair = open_idle(&(struct pair_options){ 0 });
	struct rc_qp *qp = pair->side[A].qp;

	RULE("T-1");
	rc_loss_set_timeout(qp, 0);
	pair_cut(pair);
	wait_until_due(pair);
	pair_transmit(pair, A);
	cr_assert_neq(peek_resend_ns(qp), RC_NEVER);
	pair->now_ns += INTERVAL_NS - 1000;
	pair_write(pair, 2, 8);
	pair_transmit(pair, A);
	cr_assert_eq(peek_resend_ns(qp), RC_NEVER);
	run_until(pair, pair->now_ns + 4 * INTERVAL_NS);
	expect_counts(pair, A, CNT_LOCAL_ACK_TIMEOUT_ERR, 0);
	pair_close(pair);
}

/* The answer to a keep-alive that was overtaken is one of the past; what is asked about since is asked about. */
Test(keepalive, overtaken_keepalive_awaits_no_answer)
{
	struct pair *pair = open_idle(&(struct pair_options){ 0 });
	struct rc_qp *qp = pair->side[A].qp;

	RULE("T-1");
	RULE("Q-8");
	pair_cut(pair);
	wait_until_due(pair);
	pair_transmit(pair, A);
	pair_write(pair, 2, 8);
	pair_transmit(pair, A);
	pair_respond(pair, ack_packet(1, SYNDROME_PLAIN_ACK, 2));
	expect_completes(pair, A, "wr=2 WRITE SUCCESS");
	cr_assert_not(peek_waits_beside(qp));
	pair_respond(pair, ack_packet(1, SYNDROME_PLAIN_ACK, 2));
	expect_counts(pair, A, CNT_STALE_RESPONSE, 1);
	pair_close(pair);
}

/* The next deadline of A passes, and what A sends then stays on the wire. */
static void fire(struct pair *pair)
{
	struct rc_qp *qp = pair->side[A].qp;

	if (rc_qp_deadline(qp) > pair->now_ns)
		pair->now_ns = rc_qp_deadline(qp);
	rc_qp_timeout(qp, pair->now_ns);
	pair_transmit(pair, A);
}

static void post_unsignaled(struct pair *pair)
{
	struct uroce_send_wr wr = { .wr_id = 2, .opcode = UROCE_WR_RDMA_WRITE };

	cr_assert_eq(pair_post(pair, A, wr, 0, 8), 0);
}

/*
 * The answer to a keep-alive repeats the ACK of the packet before the oldest, as the answer to a request for an ACK
 * does. `sent` keep-alives have left, and `early` of them are answered, when an unsignaled request leaves, and then its
 * request for an ACK.
 */
static void expect_no_loss(uint32_t sent, uint32_t early)
{
	struct pair *pair = open_idle(&(struct pair_options){ .retry_cnt = sent == 1 ? 255 : (uint8_t)(sent - 1) });
	struct rc_qp *qp = pair->side[A].qp;

	poke_probes(qp, true);
	while (qp->counters[CNT_KEEPALIVES] < sent)
		fire(pair);
	for (uint32_t i = 0; i < early; i++)
		pair_respond(pair, ack_packet(0, SYNDROME_PLAIN_ACK, 1));
	post_unsignaled(pair);
	pair_transmit(pair, A);
	fire(pair);
	expect_counts(pair, A, CNT_DEFERRED_ACKREQS, 1);
	for (uint32_t i = early; i < sent; i++)
		pair_respond(pair, ack_packet(0, SYNDROME_PLAIN_ACK, 1));
	pair->now_ns += TIMEOUT_NS / 8;
	rc_qp_timeout(qp, pair->now_ns);
	cr_expect_eq(peek_state(qp), UROCE_QPS_RTS, "%u sent, %u answered early", sent, early);
	expect_counts(pair, A, CNT_IMPLIED_NAK_SEQ_ERR, 0);
	expect_counts(pair, A, CNT_RETRANSMITTED_PACKETS, 0);
	pair_run(pair);
	expect_leaves(pair, B, "ACK psn=1 credit=31 msn=2");
	pair_close(pair);
}

Test(keepalive, keepalive_answer_does_not_answer_a_later_ackreq)
{
	RULE("C-33");
	RULE("T-5");
	RULE("O-1");
	for (uint32_t sent = 1; sent <= 3; sent++) {
		for (uint32_t early = 0; early < sent; early++)
			expect_no_loss(sent, early);
	}
}
