/* credit.c - a fast sender and a slow receiver: with credits nothing is sent that has no place */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "pair.h"
#include "rc/codes.h"
#include "rule.h"

static struct pair *open_with_credits(uint32_t receives)
{
	struct pair *pair = pair_open(&(struct pair_options){ .receives = receives });

	for (int i = 0; i < 2; i++)
		pair->side[i].qp->credit.enabled = true;
	return pair;
}

Test(credit, codes_grant_what_the_table_says_and_round_down)
{
	static const struct {
		uint32_t count, code;
	} rows[] = {
		{ 0, 0 },   { 1, 1 },   { 4, 4 },   { 5, 4 },    { 6, 5 },      { 7, 5 },           { 8, 6 },
		{ 47, 10 }, { 48, 11 }, { 49, 11 }, { 255, 15 }, { 32768, 30 }, { 4000000000, 30 },
	};

	RULE("F-1");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_assert_eq(rc_codes_credit_code(rows[i].count), rows[i].code, "%u entries", rows[i].count);
	for (uint32_t code = 0; code < 31; code++)
		cr_assert_eq(rc_codes_credit_code(rc_codes_credit_count(code)), code);
	cr_assert_eq(rc_codes_credit_count(31), UINT32_MAX);
}

Test(credit, an_ack_tells_the_free_receive_entries)
{
	struct pair *pair = open_with_credits(6);

	RULE("F-2");
	pair_write(pair, 1, 64);
	pair_run(pair);
	/* The first news comes unasked, before any request: the PSN before the start, MSN 0. */
	expect_sent(pair, B, 0, "ACK psn=16777215 credit=5 msn=0");
	expect_sent(pair, B, 1, "ACK psn=0 credit=5 msn=1");
	pair_send(pair, 2, 64);
	pair_run(pair);
	expect_sent(pair, B, 2, "ACK psn=1 credit=4 msn=2");
	pair_close(pair);
}

Test(credit, without_the_agreement_there_is_no_limit)
{
	struct pair *pair = pair_open(&(struct pair_options){ .receives = 1 });

	RULE("F-6");
	for (uint64_t i = 0; i < 3; i++)
		pair_send(pair, i, 64);
	pair_transmit(pair, A);
	expect_sent_count(pair, A, 3);
	pair_run(pair);
	expect_sent(pair, B, 0, "RNR_NAK psn=1 timer=12 msn=1");
	pair_close(pair);
}

Test(credit, one_send_goes_before_the_first_news_then_as_many_as_granted)
{
	struct pair *pair = open_with_credits(0);

	RULE("F-3");
	for (uint64_t i = 0; i < 10; i++)
		pair_send(pair, i, 64);
	pair_write(pair, 10, 64);
	pair_transmit(pair, A);
	expect_sent_count(pair, A, 1);
	expect_sent(pair, A, 0, "SEND_ONLY psn=0 ackreq bytes=64");
	for (uint64_t i = 0; i < 4; i++)
		pair_recv(pair, B, 100 + i, i * 1024, 1024);
	pair_run(pair);
	/* Four entries: four SENDs complete, the others wait, and no RNR NAK was needed. */
	expect_done_count(pair, B, 4);
	cr_assert_eq(pair->side[B].qp->counters[CNT_OUT_OF_BUFFER], 0);
	for (uint64_t i = 4; i < 10; i++)
		pair_recv(pair, B, 100 + i, i * 1024, 1024);
	pair_run(pair);
	expect_done_count(pair, B, 10);
	expect_done_count(pair, A, 11);
	cr_assert_eq(pair->side[B].qp->counters[CNT_OUT_OF_BUFFER], 0);
	pair_close(pair);
}

Test(credit, requests_that_need_no_entry_wait_for_none)
{
	struct pair *pair = open_with_credits(1);

	RULE("F-3");
	pair_send(pair, 1, 64);
	pair_run(pair);
	for (uint64_t i = 2; i < 6; i++)
		pair_write(pair, i, 64);
	pair_run(pair);
	expect_done_count(pair, A, 5);
	pair_close(pair);
}

Test(credit, when_the_news_is_lost_one_message_probes_after_an_ack_timeout)
{
	struct pair *pair = open_with_credits(1);
	uint64_t start;

	RULE("F-3");
	pair_send(pair, 1, 64);
	pair_run(pair);
	pair_send(pair, 2, 64);
	pair_run(pair);
	expect_done_count(pair, A, 1);
	/* An entry is posted, but what B says of it does not arrive. */
	pair_recv(pair, B, 101, 0, 1024);
	pair_transmit(pair, B);
	while (pair->side[B].wire_head != pair->side[B].wire_tail)
		free(pair->side[B].wire[pair->side[B].wire_head++ % PAIR_IN_FLIGHT].bytes);
	start = pair->now_ns;
	cr_assert(pair_fire(pair));
	cr_assert_geq(pair->now_ns - start, rc_codes_timeout_ns(14) / 2);
	expect_done_count(pair, A, 2);
	cr_assert_eq(pair->side[A].qp->counters[CNT_LOCAL_ACK_TIMEOUT_ERR], 0, "no retry was spent");
	pair_close(pair);
}

Test(credit, news_after_a_read_names_the_psn_before_it)
{
	struct pair *pair = open_with_credits(1);

	RULE("F-4");
	pair_send(pair, 1, 64);
	pair_read(pair, 2, 3000);
	pair_run(pair);
	expect_done_count(pair, A, 2);
	pair_forget(pair);
	pair_recv(pair, B, 101, 0, 1024);
	pair_run(pair);
	expect_sent(pair, B, 0, "ACK psn=0 credit=1 msn=2");
	expect_sent_count(pair, B, 1);
	expect_sent_count(pair, A, 0);
	pair_close(pair);
}

Test(credit, a_storage_like_load_draws_no_rnr_nak)
{
	struct pair *pair = open_with_credits(8);
	uint64_t posted = 0, receives = 0;

	RULE("F-5");
	while (pair->side[B].done_count < 500) {
		while (posted < 500 && pair_send(pair, posted, 2000) == 0)
			posted++;
		pair_run(pair);
		/* The receiver is slow: it gives back one entry at a time. */
		pair_recv(pair, B, receives++, 0, 4096);
	}
	cr_assert_eq(pair->side[B].qp->counters[CNT_OUT_OF_BUFFER], 0);
	pair_close(pair);
}
