/* error_cause.c - what a failure says of itself: the cause, where, after how many retries and how long */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * In the completion, and in the record that the QP keeps of its first failure.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "packets.h"
#include "peek.h"
#include "rc/fail.h"
#include "rule.h"

#define REMOTE_ALL (UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_READ | UROCE_ACCESS_REMOTE_ATOMIC)
#define AETH(syndrome, msn) ((uint32_t)(syndrome) << 24 | (msn))

static struct uroce_qp_error last_error(const struct pair *pair, enum side_name side)
{
	struct uroce_qp_error error;

	memset(&error, 0x55, sizeof(error));
	rc_qp_last_error(pair->side[side].qp, &error);
	return error;
}

/* The n-th completion failed like this, and the record says the same. */
static void check(const struct pair *pair, enum side_name side, uint32_t n, uint32_t cause, uint32_t psn, uint32_t aeth)
{
	const struct uroce_wc *wc = &pair->side[side].wcs[n];
	struct uroce_qp_error error = last_error(pair, side);

	cr_assert_lt(n, pair->side[side].done_count);
	cr_assert_eq(wc->vendor_err, cause, "cause %u, not %u", wc->vendor_err, cause);
	cr_assert_eq(wc->psn, psn, "PSN %u, not %u", wc->psn, psn);
	cr_assert_eq(wc->aeth, aeth, "AETH %#x, not %#x", wc->aeth, aeth);
	cr_assert_eq(wc->path, 0);
	cr_assert_eq(error.status, wc->status);
	cr_assert_eq(error.cause, wc->vendor_err);
	cr_assert_eq(error.psn, wc->psn);
	cr_assert_eq(error.aeth, wc->aeth);
	cr_assert_eq(error.retries, wc->retries);
	cr_assert_eq(error.elapsed_us, wc->elapsed_us);
	cr_assert_eq(error.path_index, 0);
	cr_assert_eq(memcmp(&error.path, &pair->side[side].qp->path, sizeof(error.path)), 0);
}

/* ---- the requester ---- */

/* Silence: each retry an ACK timeout, and the time since the packet went out first. */
Test(error_cause, timeout_reports_retries_and_elapsed_time)
{
	struct pair *pair = pair_open(&(struct pair_options){ .retry_cnt = 2, .psn_a = 77 });
	uint64_t sent_ns;

	RULE("E-4");
	cr_assert_eq(last_error(pair, A).status, UROCE_WC_SUCCESS, "nothing has failed yet");
	pair_write(pair, 1, 8);
	pair_run(pair);
	pair_cut(pair);
	pair->now_ns += 5000000;
	sent_ns = pair->now_ns;
	pair_write(pair, 2, 2000);
	pair_transmit(pair, A);
	while (peek_state(pair->side[A].qp) == UROCE_QPS_RTS)
		cr_assert(pair_fire(pair));
	expect_done(pair, A, 1, "wr=2 WRITE RETRY_EXC_ERR");
	check(pair, A, 1, UROCE_CAUSE_TIMEOUT, 78, AETH(SYNDROME_PLAIN_ACK, 1));
	cr_assert_eq(pair->side[A].wcs[1].retries, 2);
	cr_assert_geq(pair->side[A].wcs[1].elapsed_us, 3 * 67108);
	cr_assert_leq(pair->side[A].wcs[1].elapsed_us, (pair->now_ns - sent_ns) / 1000);
	cr_assert(!last_error(pair, A).responder);
	pair_close(pair);
}

/* The first packet carries no AckReq because more follow: its time is reported all the same, and its timer runs. */
Test(error_cause, elapsed_time_starts_at_the_oldest_packet)
{
	RULE("E-4");
	RULE("T-1");
	for (uint32_t i = 0; i < 4; i++) {
		struct pair *pair = pair_open(&(struct pair_options){ .retry_cnt = 255 });
		struct uroce_send_wr wr = { .wr_id = 2, .opcode = UROCE_WR_RDMA_WRITE };
		struct rc_qp *qp = pair->side[A].qp;
		uint64_t deadline_ns;

		poke_probes(qp, i & 1);
		pair_write(pair, 1, 8);
		pair_run(pair);
		pair_cut(pair);
		pair->now_ns += 5000000;
		deadline_ns = pair->now_ns + 67108864; /* code 14 */
		pair_post(pair, A, wr, 0, i < 2 ? 8 : 2000);
		pair_post(pair, A, wr, 0, 8);
		pair_post(pair, A, wr, 0, 8);
		pair_transmit_some(pair, A, 2);
		cr_assert_null(strstr(pair->side[A].sent[1], "ackreq"));
		cr_assert_eq(peek_resend_ns(qp), deadline_ns);
		pair->now_ns += 1000;
		pair_transmit(pair, A);
		cr_assert_eq(peek_resend_ns(qp), deadline_ns);
		while (peek_state(qp) == UROCE_QPS_RTS)
			cr_assert(pair_fire(pair));
		expect_done(pair, A, 1, "wr=2 WRITE RETRY_EXC_ERR");
		cr_assert_eq(pair->side[A].wcs[1].elapsed_us, 67108, "%u us", pair->side[A].wcs[1].elapsed_us);
		pair_close(pair);
	}
}

/* In mid-message: the PSN is the first that was not acknowledged, the time counts from that ACK. */
Test(error_cause, progress_restarts_retries_and_elapsed_time)
{
	struct pair *pair = pair_open(&(struct pair_options){ .retry_cnt = 1 });

	RULE("E-4");
	pair_cut(pair);
	pair_write(pair, 1, 3000);
	pair_transmit(pair, A);
	pair_fire(pair);
	pair->now_ns += 1000000;
	pair_respond(pair, ack_packet(0, SYNDROME_PLAIN_ACK, 0));
	while (peek_state(pair->side[A].qp) == UROCE_QPS_RTS)
		cr_assert(pair_fire(pair));
	check(pair, A, 0, UROCE_CAUSE_TIMEOUT, 1, AETH(SYNDROME_PLAIN_ACK, 0));
	cr_assert_eq(pair->side[A].wcs[0].retries, 1);
	cr_assert_geq(pair->side[A].wcs[0].elapsed_us, 2 * 67108);
	cr_assert_leq(pair->side[A].wcs[0].elapsed_us, 3 * 67108, "%u us", pair->side[A].wcs[0].elapsed_us);
	pair_close(pair);
}

/* The last trigger is the one that counts. */
Test(error_cause, each_retry_trigger_has_a_name)
{
	RULE("E-4");
	for (uint32_t i = 0; i < 4; i++) {
		struct pair *pair = pair_open(&(struct pair_options){ .retry_cnt = 255, .rnr_retry = 255 });

		pair_cut(pair);
		pair_read(pair, 1, 8);
		pair_write(pair, 2, 8);
		pair_transmit(pair, A);
		pair->now_ns += 3000;
		if (i == 0)
			pair_respond(pair, ack_packet(0, SYNDROME_SEQUENCE, 0));
		if (i == 1)
			pair_respond(pair, ack_packet(1, SYNDROME_PLAIN_ACK, 2));
		if (i == 2)
			pair_respond(pair, ack_packet(0, SYNDROME_RNR + 5, 0));
		if (i == 3)
			pair_respond(pair, ack_packet(0, SYNDROME_OPERATIONAL, 0));
		expect_done(pair, A, 0,
			    i == 2 ? "wr=1 READ RNR_RETRY_EXC_ERR" :
			    i == 3 ? "wr=1 READ REM_OP_ERR" :
				     "wr=1 READ RETRY_EXC_ERR");
		check(pair, A, 0,
		      i == 0 ? UROCE_CAUSE_SEQUENCE_NAK :
		      i == 1 ? UROCE_CAUSE_IMPLIED_NAK :
		      i == 2 ? UROCE_CAUSE_RNR :
			       UROCE_CAUSE_REMOTE_NAK,
		      0,
		      i == 0 ? AETH(SYNDROME_SEQUENCE, 0) :
		      i == 1 ? AETH(SYNDROME_PLAIN_ACK, 2) :
		      i == 2 ? AETH(SYNDROME_RNR + 5, 0) :
			       AETH(SYNDROME_OPERATIONAL, 0));
		cr_assert_eq(pair->side[A].wcs[0].retries, 0);
		cr_assert_eq(pair->side[A].wcs[0].elapsed_us, 3);
		cr_assert_eq(pair->side[A].wcs[1].vendor_err, UROCE_CAUSE_FLUSHED);
		pair_close(pair);
	}
}

/* Two budgets: RNR waits are counted for an RNR failure, retries for the others. */
/* The answers inside a READ carry none. */
Test(error_cause, packet_without_aeth_keeps_the_last_syndrome)
{
	struct pair *pair = pair_open(&(struct pair_options){ .retry_cnt = 255 });

	RULE("E-4");
	pair_cut(pair);
	pair_read(pair, 1, 3000);
	pair_transmit(pair, A);
	pair_respond(pair, response_packet(OP_READ_RESPONSE_FIRST, 0, 1024));
	pair_respond(pair, response_packet(OP_READ_RESPONSE_MIDDLE, 1, 1024));
	cr_assert(pair_settle(pair, 1000000000));
	expect_done(pair, A, 0, "wr=1 READ RETRY_EXC_ERR");
	check(pair, A, 0, UROCE_CAUSE_TIMEOUT, 2, AETH(SYNDROME_PLAIN_ACK, 1));
	pair_close(pair);
}

Test(error_cause, rnr_retries_are_counted_for_an_rnr_failure)
{
	struct pair *pair = pair_open(&(struct pair_options){ .retry_cnt = 3, .rnr_retry = 2, .rnr_timer = 1 });

	RULE("E-4");
	RULE("R-6");
	pair_send(pair, 1, 8);
	pair_run(pair);
	while (peek_state(pair->side[A].qp) == UROCE_QPS_RTS)
		cr_assert(pair_fire(pair));
	expect_done(pair, A, 0, "wr=1 SEND RNR_RETRY_EXC_ERR");
	check(pair, A, 0, UROCE_CAUSE_RNR, 0, AETH(SYNDROME_RNR + 1, 0));
	cr_assert_eq(pair->side[A].wcs[0].retries, 2);
	pair_close(pair);
}

enum local_fault { FAULT_KEY, FAULT_DOMAIN, FAULT_RIGHTS, FAULT_RANGE, FAULTS };

static const char *const fault_names[FAULTS] = { "key", "domain", "rights", "range" };

/* Makes a piece of a side's memory fail for one reason. */
static void spoil(struct pair *pair, enum side_name side, struct uroce_sge *sge, enum local_fault fault)
{
	sge->lkey = fault == FAULT_KEY    ? 0x999 :
		    fault == FAULT_DOMAIN ? pair_region(pair, side, 2, 0, 4096, UROCE_ACCESS_LOCAL_WRITE) :
		    fault == FAULT_RIGHTS ? pair_region(pair, side, 1, 0, 4096, UROCE_ACCESS_REMOTE_READ) :
					    pair->side[side].key;
	if (fault == FAULT_RANGE)
		sge->addr += PAIR_MEMORY_BYTES - 4;
}

/* Each check of a local key, for data that goes out, that will come in, and that is of an atomic. */
Test(error_cause, each_check_of_a_local_key_has_a_name)
{
	static const enum uroce_wr_opcode opcodes[] = { UROCE_WR_SEND, UROCE_WR_RDMA_WRITE, UROCE_WR_RDMA_READ,
							UROCE_WR_ATOMIC_FETCH_AND_ADD, UROCE_WR_ATOMIC_WRITE };

	RULE("E-4");
	RULE("Q-13");
	for (uint32_t o = 0; o < 5; o++) {
		bool reads = opcodes[o] != UROCE_WR_RDMA_READ && opcodes[o] != UROCE_WR_ATOMIC_FETCH_AND_ADD;

		for (uint32_t fault = 0; fault < FAULTS; fault++) {
			struct pair *pair = pair_open(&(struct pair_options){ .psn_a = 5 });
			struct uroce_sge sge = { .addr = (uintptr_t)pair->side[A].memory, .length = 8 };
			struct uroce_send_wr wr = { .wr_id = 1, .opcode = opcodes[o], .sg_list = &sge, .num_sge = 1 };

			spoil(pair, A, &sge, (enum local_fault)fault);
			pair_cut(pair);
			pair_post(pair, A, wr, 0, 0);
			pair_transmit(pair, A);
			if (fault == FAULT_RIGHTS && reads) { /* every region may be read here */
				expect_completes(pair, A);
				pair_close(pair);
				continue;
			}
			cr_assert_eq(pair->side[A].done_count, 1, "%s", fault_names[fault]);
			cr_assert_eq(pair->side[A].wcs[0].status, UROCE_WC_LOC_PROT_ERR);
			check(pair, A, 0, UROCE_CAUSE_LOCAL_KEY + fault, 5, 0);
			cr_assert_eq(pair->side[A].wcs[0].retries, 0);
			cr_assert_eq(pair->side[A].wcs[0].elapsed_us, 0, "never sent: %u us",
				     pair->side[A].wcs[0].elapsed_us);
			pair_close(pair);
		}
	}
}

/* The request was sent, and then the memory of one of its pieces went: nothing is written, whichever piece it is. */
Test(error_cause, read_with_deregistered_local_memory_fails_at_its_response)
{
	RULE("E-4");
	RULE("Q-11");
	RULE("Q-13");
	for (uint32_t pieces = 1; pieces <= 2; pieces++) {
		struct pair *pair = pair_open(&(struct pair_options){ 0 });
		uint32_t key = pair_region(pair, A, 1, 4096, 64, UROCE_ACCESS_LOCAL_WRITE);
		struct uroce_sge sges[2] = {
			{ .addr = (uintptr_t)pair->side[A].memory, .length = 8, .lkey = pair->side[A].key },
			{ .addr = (uintptr_t)pair->side[A].memory + 4096, .length = 8, .lkey = key },
		};
		struct uroce_send_wr wr = { .wr_id = 1, .opcode = UROCE_WR_RDMA_READ, .num_sge = pieces };

		wr.sg_list = sges + 2 - pieces;
		pair_set_word(pair, A, 0, 7);
		pair_set_word(pair, A, 4096, 7);
		pair_cut(pair);
		pair_post(pair, A, wr, 0, 8);
		pair_transmit(pair, A);
		cr_assert_eq(rc_mr_remove(&pair->side[A].mrs, key), 0);
		pair_respond(pair, response_packet(OP_READ_RESPONSE_ONLY, 0, 8 * pieces));
		expect_done(pair, A, 0, "wr=1 READ LOC_PROT_ERR");
		check(pair, A, 0, UROCE_CAUSE_LOCAL_KEY, 0, AETH(SYNDROME_PLAIN_ACK, 1));
		cr_assert(pair_word(pair, A, 0) == 7 && pair_word(pair, A, 4096) == 7, "%u pieces", pieces);
		pair_close(pair);
	}
}

/* ---- the responder ---- */

static void check_responder(const struct pair *pair, uint8_t status, uint32_t cause, uint32_t psn, const char *name)
{
	struct uroce_qp_error error = last_error(pair, B);

	cr_assert_eq(error.status, status, "%s: %s", name, uroce_wc_status_name(error.status));
	cr_assert(error.responder, "%s", name);
	cr_assert_eq(error.cause, cause, "%s: cause %u, not %u", name, error.cause, cause);
	cr_assert_eq(error.psn, psn, "%s: PSN %u", name, error.psn);
	cr_assert_eq(error.retries, 0, "%s", name);
	cr_assert_eq(error.path_index, 0, "%s", name);
	cr_assert_eq(memcmp(&error.path, &pair->side[B].qp->path, sizeof(error.path)), 0, "%s", name);
}

/* Each check of the peer's key. Without a receive in use only the record tells; with one its completion does, too. */
Test(error_cause, each_check_of_a_remote_key_has_a_name)
{
	static const uint8_t opcodes[] = { OP_WRITE_ONLY, OP_WRITE_ONLY_IMM, OP_READ_REQUEST, OP_FETCH_ADD };
	const uint32_t others = UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_FLUSH_GLOBAL;

	RULE("E-4");
	RULE("K-ACC");
	for (uint32_t o = 0; o < 4; o++) {
		for (uint32_t fault = 0; fault < FAULTS; fault++) {
			struct pair *pair = pair_open(&(struct pair_options){ .receives = 2, .psn_a = 9 });
			struct wire_packet packet = write_packet(pair, opcodes[o], 10, 0, 8, o < 2 ? 8 : 0);

			packet.rkey = fault == FAULT_KEY    ? 0x999 :
				      fault == FAULT_DOMAIN ? pair_region(pair, B, 2, 0, 4096, others | REMOTE_ALL) :
				      fault == FAULT_RIGHTS ? pair_region(pair, B, 1, 0, 4096, others) :
							      packet.rkey;
			packet.va += fault == FAULT_RANGE ? PAIR_MEMORY_BYTES : 0;
			pair_request(pair, send_packet(OP_SEND_ONLY, 9, 8));
			pair_forget(pair);
			pair_request(pair, packet);
			check_responder(pair, UROCE_WC_REM_ACCESS_ERR, UROCE_CAUSE_REMOTE_KEY + fault, 10,
					fault_names[fault]);
			if (opcodes[o] == OP_WRITE_ONLY_IMM) {
				check(pair, B, 0, UROCE_CAUSE_REMOTE_KEY + fault, 10, 0);
				expect_completes(pair, B, "wr=1001 RECV REM_ACCESS_ERR");
			} else {
				expect_completes(pair, B, "wr=1001 RECV WR_FLUSH_ERR");
				cr_assert_eq(pair->side[B].wcs[0].vendor_err, UROCE_CAUSE_FLUSHED);
			}
			pair_close(pair);
		}
	}
}

/* A receive entry that is of no use: a local key, but a request of the peer found it. */
Test(error_cause, each_check_of_a_receive_has_a_name)
{
	RULE("E-4");
	RULE("K-OP");
	for (uint32_t fault = 0; fault < FAULTS; fault++) {
		struct pair *pair = pair_open(&(struct pair_options){ 0 });
		struct uroce_sge sge = { .addr = (uintptr_t)pair->side[B].memory, .length = 8 };
		struct uroce_recv_wr wr = { .wr_id = 4, .sg_list = &sge, .num_sge = 1 };

		spoil(pair, B, &sge, (enum local_fault)fault);
		cr_assert_eq(rc_qp_post_recv(pair->side[B].qp, &wr), 0);
		pair_request(pair, send_packet(OP_SEND_ONLY, 0, 8));
		check(pair, B, 0, UROCE_CAUSE_LOCAL_KEY + fault, 0, 0);
		check_responder(pair, UROCE_WC_LOC_QP_OP_ERR, UROCE_CAUSE_LOCAL_KEY + fault, 0, fault_names[fault]);
		pair_close(pair);
	}
}

/* A READ that is refused part-way: the PSN of the first response that was not sent. */
Test(error_cause, read_error_names_the_first_unsent_response)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	struct wire_packet read = read_packet(pair, 0, 0, 3000);

	RULE("E-4");
	read.rkey = pair_region(pair, B, 1, 0, 4096, UROCE_ACCESS_REMOTE_READ);
	pair_inject(pair, B, read);
	pair_transmit_some(pair, B, 2);
	cr_assert_eq(rc_mr_remove(&pair->side[B].mrs, read.rkey), 0);
	pair_transmit(pair, B);
	check_responder(pair, UROCE_WC_REM_ACCESS_ERR, UROCE_CAUSE_REMOTE_KEY, 2, "READ");
	pair_close(pair);
}

Test(error_cause, invalid_or_too_long_request_reports_its_cause)
{
	RULE("E-4");
	RULE("S-6");
	for (uint32_t i = 0; i < 4; i++) {
		struct pair *pair = pair_open(&(struct pair_options){ 0 });
		uint32_t cause = i == 3 ? UROCE_CAUSE_LENGTH : UROCE_CAUSE_INVALID_REQUEST;

		pair_recv(pair, B, 4, 0, 100);
		pair_request(pair, i == 0 ? send_packet(0x15, 0, 0) :
				   i == 1 ? send_packet(OP_SEND_LAST, 0, 8) :
				   i == 2 ? write_packet(pair, OP_WRITE_ONLY_IMM, 0, 0, 9, 8) :
					    send_packet(OP_SEND_ONLY, 0, 101));
		check_responder(pair, i == 3 ? UROCE_WC_LOC_LEN_ERR : UROCE_WC_REM_INV_REQ_ERR, cause, 0,
				pair_text("case %u", i));
		if (i >= 2)
			check(pair, B, 0, cause, 0, 0);
		pair_close(pair);
	}
}

/* ---- the record ---- */

Test(error_cause, first_failure_is_kept_until_reset)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	struct rc_qp *qp = pair->side[B].qp;
	struct uroce_qp_attr attr = { .qp_state = UROCE_QPS_RESET };
	uint32_t bad;

	RULE("E-4");
	pair_post(pair, B, (struct uroce_send_wr){ .opcode = UROCE_WR_RDMA_WRITE }, 0, 8);
	pair_run(pair);
	pair_request(pair, send_packet(0x15, 0, 0));
	cr_assert_eq(last_error(pair, B).aeth, AETH(SYNDROME_PLAIN_ACK, 1));
	pair_request(pair, send_packet(OP_SEND_FIRST, 0, 1024));
	check_responder(pair, UROCE_WC_REM_INV_REQ_ERR, UROCE_CAUSE_INVALID_REQUEST, 0, "first");
	cr_assert_eq(rc_qp_modify(qp, &attr, UROCE_QP_STATE, &bad), 0);
	cr_assert_eq(last_error(pair, B).status, UROCE_WC_SUCCESS);
	rc_fail_send(qp, UROCE_WC_RETRY_EXC_ERR, UROCE_CAUSE_TIMEOUT);
	cr_assert_eq(last_error(pair, B).cause, UROCE_CAUSE_TIMEOUT);
	cr_assert_eq(last_error(pair, B).aeth, 0, "of its earlier life");
	cr_assert_eq(rc_qp_modify(qp, &attr, UROCE_QP_STATE, &bad), 0);
	pair_close(pair);
}

/* Moved to ERR by software: nothing has failed. */
Test(error_cause, err_by_software_is_no_failure)
{
	struct pair *pair = pair_open(&(struct pair_options){ .receives = 1 });
	struct uroce_qp_attr attr = { .qp_state = UROCE_QPS_ERR };
	uint32_t bad;

	RULE("E-4");
	RULE("E-6");
	pair_cut(pair);
	pair_write(pair, 1, 8);
	pair_request(pair, send_packet(OP_SEND_FIRST, 0, 1024));
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(rc_qp_modify(pair->side[i].qp, &attr, UROCE_QP_STATE, &bad), 0);
		pair_transmit(pair, (enum side_name)i);
		cr_assert_eq(pair->side[i].wcs[0].status, UROCE_WC_WR_FLUSH_ERR);
		cr_assert_eq(pair->side[i].wcs[0].vendor_err, UROCE_CAUSE_FLUSHED);
		cr_assert_eq(last_error(pair, (enum side_name)i).status, UROCE_WC_SUCCESS);
	}
	pair_close(pair);
}

/* The peer's request fails while one of ours is in flight: ours is flushed, and adds nothing to the record. */
Test(error_cause, request_in_flight_is_no_second_failure)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	struct rc_qp *qp = pair->side[A].qp;

	RULE("E-4");
	pair_cut(pair);
	pair_write(pair, 1, 8);
	pair_transmit(pair, A);
	pair->now_ns += 5000000;
	rc_report_responder_failed(qp, UROCE_WC_REM_ACCESS_ERR, UROCE_CAUSE_REMOTE_KEY, psn_make(3));
	rc_fail_enter_error(qp, UROCE_EVENT_QP_ACCESS_ERR);
	pair_transmit(pair, A);
	expect_completes(pair, A, "wr=1 WRITE WR_FLUSH_ERR");
	cr_assert_eq(pair->side[A].wcs[0].elapsed_us, 0);
	cr_assert(last_error(pair, A).responder);
	cr_assert_eq(last_error(pair, A).elapsed_us, 0);
	pair_close(pair);
}
