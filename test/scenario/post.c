/* post.c - posting requests: gather lists, inline data, unsignaled ones, full queues; what is refused or found later */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TC-E-22, E-23, F-2.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "packets.h"
#include "peek.h"
#include "places.h"
#include "rule.h"

static int post(struct pair *pair, uint64_t wr_id, enum uroce_wr_opcode opcode, uint32_t flags, uint32_t bytes)
{
	struct uroce_send_wr wr = { .wr_id = wr_id, .opcode = opcode, .send_flags = flags };

	return pair_post(pair, A, wr, 0, bytes);
}

static struct uroce_sge piece(const struct pair *pair, uint64_t offset, uint32_t bytes)
{
	return (struct uroce_sge){ .addr = (uintptr_t)pair->side[A].memory + offset,
				   .length = bytes,
				   .lkey = pair->side[A].key };
}

static void modify(struct pair *pair, enum side_name side, enum uroce_qp_state state)
{
	uint32_t bad = 0;
	struct uroce_qp_attr attr = { .qp_state = state };

	cr_assert_eq(rc_qp_modify(pair->side[side].qp, &attr, UROCE_QP_STATE, &bad), 0, "%#x", bad);
}

/* Pieces of every size, empty ones too, over packet borders: a WRITE gathers and a READ scatters the same. */
Test(post, sixteen_pieces_are_gathered_and_scattered)
{
	static const uint32_t sizes[16] = { 1, 255, 0, 300, 1024, 7, 0, 0, 2048, 3, 1, 1, 1, 500, 64, 9 };

	RULE("Q-2");
	for (int read = 0; read < 2; read++) {
		struct pair *pair = pair_open(&(struct pair_options){ .mtu = 256 });
		struct uroce_send_wr wr = {
			.wr_id = 1,
			.opcode = read ? UROCE_WR_RDMA_READ : UROCE_WR_RDMA_WRITE,
			.send_flags = UROCE_SEND_SIGNALED,
			.num_sge = 16,
		};
		struct uroce_sge sges[16];

		for (uint32_t i = 0; i < 16; i++)
			sges[i] = piece(pair, 40000 - 2500 * i, sizes[i]);
		wr.sg_list = sges;
		cr_assert_eq(pair_post(pair, A, wr, 0, 0), 0);
		memset(sges, 0, sizeof(sges)); /* the list is the application's again */
		pair_run(pair);
		expect_completes(pair, A, read ? "wr=1 READ SUCCESS len=4214" : "wr=1 WRITE SUCCESS");
		for (uint32_t i = 0, at = 0; i < 16; i++) {
			cr_assert(memcmp(pair->side[A].memory + 40000 - 2500 * i, pair->side[B].memory + at,
					 sizes[i]) == 0,
				  "piece %u", i);
			at += sizes[i];
		}
		pair_close(pair);
	}
}

/* TC-E-23, over a loss: the data is that of the post. */
Test(post, inline_data_is_copied_and_needs_no_key)
{
	struct pair *pair = pair_open(&(struct pair_options){ .mtu = 256 });
	uint8_t data[128], copy[128];
	struct uroce_sge sges[2] = { { .addr = (uintptr_t)data, .length = 100 },
				     { .addr = (uintptr_t)data + 100, .length = 28 } };
	struct uroce_send_wr wr = {
		.wr_id = 1,
		.opcode = UROCE_WR_RDMA_WRITE,
		.send_flags = UROCE_SEND_SIGNALED | UROCE_SEND_INLINE,
		.sg_list = sges,
		.num_sge = 2,
	};

	RULE("Q-2");
	for (uint32_t i = 0; i < 128; i++)
		data[i] = copy[i] = (uint8_t)(i + 3);
	cr_assert_eq(pair_post(pair, A, wr, 0, 0), 0);
	memset(data, 0, sizeof(data));
	pair_cut(pair);
	pair_transmit(pair, A);
	pair_mend(pair);
	pair_fire(pair);
	expect_completes(pair, A, "wr=1 WRITE SUCCESS");
	cr_assert(memcmp(pair->side[B].memory, copy, 128) == 0);
	sges[1].length = 29;
	cr_assert_eq(pair_post(pair, A, wr, 0, 0), -EINVAL);
	wr.opcode = UROCE_WR_RDMA_READ;
	sges[1].length = 28;
	cr_assert_eq(pair_post(pair, A, wr, 0, 0), -EINVAL, "a READ has nothing to copy");
	pair_close(pair);
}

/* More of it than a packet holds: each takes its part, whether they leave at once or one at a time. */
Test(post, inline_data_spans_several_packets)
{
	static const uint32_t sizes[] = { 257, 300, 512 };

	RULE("Q-2");
	for (uint32_t i = 0; i < 12; i++) {
		struct pair *pair = pair_open(&(struct pair_options){ .mtu = 256, .inline_bytes = 512, .receives = 1 });
		uint32_t bytes = sizes[i / 4], flags = UROCE_SEND_SIGNALED | UROCE_SEND_INLINE;
		uint8_t *there = pair->side[B].memory + (i & 1 ? 0 : PAIR_MEMORY_BYTES / 2);

		cr_assert_eq(post(pair, 1, i & 1 ? UROCE_WR_RDMA_WRITE : UROCE_WR_SEND, flags, bytes), 0);
		memset(there, 0, 1024);
		if (i & 2)
			pair_transmit_some(pair, A, 1);
		pair_run(pair);
		expect_completes(pair, A, i & 1 ? "wr=1 WRITE SUCCESS" : "wr=1 SEND SUCCESS");
		cr_assert_arr_eq(there, pair->side[A].memory, bytes, "%u bytes", bytes);
		cr_assert_eq(there[bytes], 0);
		pair_close(pair);
	}
}

/* TC-C-10, TC-C-12 */
Test(post, every_operation_carries_its_immediate_and_may_be_empty)
{
	struct pair *pair = pair_open(&(struct pair_options){ .receives = 4 });
	struct uroce_send_wr wr = { .wr_id = 1,
				    .opcode = UROCE_WR_SEND_WITH_IMM,
				    .send_flags = UROCE_SEND_SIGNALED | UROCE_SEND_SOLICITED,
				    .imm_data = htonl(0x11223344) };

	RULE("Q-1");
	RULE("Q-2");
	RULE("S-16");
	pair_post(pair, A, wr, 0, 0);
	wr.opcode = UROCE_WR_RDMA_WRITE_WITH_IMM;
	wr.send_flags = UROCE_SEND_SIGNALED;
	wr.wr_id = 2;
	pair_post(pair, A, wr, 0, 1500);
	wr.wr_id = 3;
	pair_post(pair, A, wr, 0, 0);
	pair_send(pair, 4, 0);
	pair_write(pair, 5, 0);
	pair_read(pair, 6, 0);
	pair_run(pair);
	expect_leaves(pair, A, "SEND_ONLY_IMM psn=0 solicited ackreq imm=0x11223344 bytes=0",
		      "WRITE_FIRST psn=1 va=0x0 len=1500 bytes=1024",
		      "WRITE_LAST_IMM psn=2 ackreq imm=0x11223344 bytes=476",
		      "WRITE_ONLY_IMM psn=3 ackreq va=0x0 len=0 imm=0x11223344 bytes=0",
		      "SEND_ONLY psn=4 ackreq bytes=0", "WRITE_ONLY psn=5 ackreq va=0x0 len=0 bytes=0",
		      "READ_REQUEST psn=6 ackreq va=0x0 len=0");
	expect_completes(pair, B, "wr=1000 RECV SUCCESS len=0 imm=0x11223344 solicited",
			 "wr=1001 RECV_IMM SUCCESS len=1500 imm=0x11223344",
			 "wr=1002 RECV_IMM SUCCESS len=0 imm=0x11223344", "wr=1003 RECV SUCCESS len=0");
	expect_completes(pair, A, "wr=1 SEND SUCCESS", "wr=2 WRITE SUCCESS", "wr=3 WRITE SUCCESS", "wr=4 SEND SUCCESS",
			 "wr=5 WRITE SUCCESS", "wr=6 READ SUCCESS len=0");
	pair_close(pair);
}

Test(post, the_solicited_bit_is_on_the_last_packet_only)
{
	struct pair *pair = pair_open(&(struct pair_options){ .receives = 1 });
	struct uroce_send_wr wr = { .wr_id = 1, .opcode = UROCE_WR_SEND, .send_flags = UROCE_SEND_SOLICITED };

	RULE("S-16");
	pair_post(pair, A, wr, 0, 2500);
	pair_run(pair);
	expect_leaves(pair, A, "SEND_FIRST psn=0 bytes=1024", "SEND_MIDDLE psn=1 bytes=1024",
		      "SEND_LAST psn=2 solicited ackreq bytes=452");
	expect_completes(pair, B, "wr=1000 RECV SUCCESS len=2500 solicited");
	pair_close(pair);
}

/* TC-E-22: unsignaled ones hold their slots until the next that reports. */
Test(post, next_reported_request_frees_unsignaled_slots)
{
	struct pair *pair = pair_open(&(struct pair_options){ .depth = 4 });

	RULE("Q-6");
	for (uint32_t i = 0; i < 3; i++)
		cr_assert_eq(post(pair, i, UROCE_WR_RDMA_WRITE, 0, 8), 0);
	pair_run(pair);
	expect_completes(pair, A);
	cr_assert_eq(post(pair, 3, UROCE_WR_RDMA_WRITE, UROCE_SEND_SIGNALED, 8), 0);
	cr_assert_eq(post(pair, 4, UROCE_WR_RDMA_WRITE, 0, 8), -ENOMEM);
	pair_run(pair);
	expect_completes(pair, A, "wr=3 WRITE SUCCESS");
	for (uint32_t i = 0; i < 4; i++)
		cr_assert_eq(post(pair, 5 + i, UROCE_WR_RDMA_WRITE, 0, 8), 0);
	cr_assert_eq(post(pair, 9, UROCE_WR_RDMA_WRITE, 0, 8), -ENOMEM);
	pair_close(pair);
}

Test(post, an_error_completes_unsignaled_requests_too)
{
	struct pair *pair = pair_open(&(struct pair_options){ .retry_cnt = 255 });

	RULE("E-9");
	RULE("E-1");
	pair_cut(pair);
	for (uint32_t i = 0; i < 3; i++)
		post(pair, i, UROCE_WR_RDMA_WRITE, 0, 8);
	pair_transmit(pair, A);
	pair_respond(pair, ack_packet(0, SYNDROME_PLAIN_ACK, 1));
	pair_fire(pair);
	expect_completes(pair, A, "wr=1 WRITE RETRY_EXC_ERR", "wr=2 WRITE WR_FLUSH_ERR");
	pair_close(pair);
}

/* The QP is in ERR for posts as well, before anybody has read the completion. */
Test(post, a_post_after_a_failure_is_taken_and_flushed)
{
	struct pair *pair = pair_open(&(struct pair_options){ .retry_cnt = 255, .rd_atomic = 255 });

	RULE("E-7");
	RULE("Q-14");
	pair_cut(pair);
	pair_write(pair, 1, 8);
	cr_assert_eq(pair_read(pair, 2, 8), -EINVAL);
	pair_transmit(pair, A);
	pair_fire(pair);
	cr_assert_eq(pair_read(pair, 2, 8), 0, "in ERR anything is taken");
	pair_transmit(pair, A);
	expect_completes(pair, A, "wr=1 WRITE RETRY_EXC_ERR", "wr=2 READ WR_FLUSH_ERR");
	pair_close(pair);
}

Test(post, a_bad_request_is_refused_and_leaves_no_trace)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	struct uroce_sge sges[17];
	struct uroce_send_wr wr = { .wr_id = 1, .opcode = UROCE_WR_RDMA_WRITE, .sg_list = sges, .num_sge = 17 };

	RULE("Q-2");
	RULE("Q-13");
	for (uint32_t i = 0; i < 17; i++)
		sges[i] = piece(pair, 0, 1);
	cr_assert_eq(pair_post(pair, A, wr, 0, 0), -EINVAL);
	wr.num_sge = 1;
	wr.opcode = UROCE_WR_OPCODES;
	cr_assert_eq(pair_post(pair, A, wr, 0, 0), -EINVAL);
	wr.opcode = UROCE_WR_RDMA_WRITE;
	wr.send_flags = 1u << 20;
	cr_assert_eq(pair_post(pair, A, wr, 0, 0), -EINVAL);
	pair_run(pair);
	expect_leaves(pair, A);
	expect_completes(pair, A);
	pair_close(pair);
}

/* TC-F-2 */
Test(post, state_decides_whether_a_post_waits_or_flushes)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });

	RULE("Q-14");
	RULE("X-3");
	modify(pair, A, UROCE_QPS_SQD);
	pair_run(pair);
	expect_events(pair, A, "SQ_DRAINED");
	cr_assert_eq(pair_write(pair, 1, 8), 0);
	cr_assert_eq(pair_recv(pair, A, 10, 0, 8), 0);
	pair_run(pair);
	expect_leaves(pair, A);
	modify(pair, A, UROCE_QPS_ERR);
	cr_assert_eq(pair_write(pair, 2, 8), 0);
	cr_assert_eq(pair_read(pair, 3, 8), 0);
	cr_assert_eq(pair_recv(pair, A, 11, 0, 8), 0);
	pair_run(pair);
	expect_leaves(pair, A);
	expect_completes(pair, A, "wr=1 WRITE WR_FLUSH_ERR", "wr=2 WRITE WR_FLUSH_ERR", "wr=3 READ WR_FLUSH_ERR",
			 "wr=10 RECV WR_FLUSH_ERR", "wr=11 RECV WR_FLUSH_ERR");
	cr_assert_eq(pair_send(pair, 4, 8), 0);
	pair_run(pair);
	expect_completes(pair, A, "wr=4 SEND WR_FLUSH_ERR");
	expect_events(pair, A);
	modify(pair, A, UROCE_QPS_RESET);
	cr_assert_eq(pair_write(pair, 5, 8), -EINVAL);
	cr_assert_eq(pair_recv(pair, A, 5, 0, 8), -EINVAL);
	cr_assert_eq(rc_qp_modify(pair->side[A].qp, &(struct uroce_qp_attr){ .qp_state = UROCE_QPS_INIT },
				  UROCE_QP_STATE | UROCE_QP_ACCESS_FLAGS, &(uint32_t){ 0 }),
		     0);
	cr_assert_eq(pair_write(pair, 6, 8), -EINVAL);
	cr_assert_eq(pair_recv(pair, A, 6, 0, 8), 0);
	pair_run(pair);
	expect_completes(pair, A);
	pair_close(pair);
}

/* local faults, each behind a good request and in front of one that is never sent. */
Test(post, a_local_fault_is_reported_after_the_earlier_requests)
{
	static const struct {
		const char *name;
		const char *line;
		uint32_t cause;
	} rows[] = {
		{ "unknown key", "wr=2 WRITE LOC_PROT_ERR", UROCE_CAUSE_LOCAL_KEY },
		{ "another domain", "wr=2 WRITE LOC_PROT_ERR", UROCE_CAUSE_LOCAL_DOMAIN },
		{ "past the end", "wr=2 WRITE LOC_PROT_ERR", UROCE_CAUSE_LOCAL_RANGE },
		{ "wraps", "wr=2 WRITE LOC_PROT_ERR", UROCE_CAUSE_LOCAL_RANGE },
		{ "second piece", "wr=2 WRITE LOC_PROT_ERR", UROCE_CAUSE_LOCAL_KEY },
		{ "2^31 and one", "wr=2 WRITE LOC_LEN_ERR", UROCE_CAUSE_LENGTH },
	};

	RULE("Q-13");
	RULE("E-2");
	RULE("E-4");
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct pair *pair = pair_open(&(struct pair_options){ 0 });
		struct uroce_sge sges[2] = { piece(pair, 0, 64), piece(pair, 64, 64) };
		struct uroce_send_wr wr = { .wr_id = 2, .opcode = UROCE_WR_RDMA_WRITE, .sg_list = sges, .num_sge = 2 };

		sges[i == 4].lkey ^= i == 0 || i == 4 ? 0x100 : 0;
		if (i == 1)
			sges[0].lkey = pair_region(pair, A, 2, 0, 4096, UROCE_ACCESS_LOCAL_WRITE);
		if (i == 2)
			sges[0].addr += PAIR_MEMORY_BYTES - 63;
		if (i == 3)
			sges[0].addr = UINT64_MAX - 7;
		if (i == 5) {
			sges[0].length = 1u << 31;
			sges[1].length = 1;
		}
		pair_cut(pair);
		pair_write(pair, 1, 8);
		cr_assert_eq(pair_post(pair, A, wr, 0, 0), 0, "%s", rows[i].name);
		pair_write(pair, 3, 8);
		pair_transmit(pair, A);
		expect_leaves(pair, A, "WRITE_ONLY psn=0 ackreq va=0x0 len=8 bytes=8");
		expect_completes(pair, A);
		/* Resent as usual meanwhile. */
		pair_fire(pair);
		expect_leaves(pair, A, "WRITE_ONLY psn=0 ackreq va=0x0 len=8 bytes=8");
		pair_respond(pair, ack_packet(0, SYNDROME_PLAIN_ACK, 1));
		expect_leaves(pair, A);
		cr_assert_eq(pair->side[A].wcs[1].vendor_err, rows[i].cause, "%s", rows[i].name);
		expect_completes(pair, A, "wr=1 WRITE SUCCESS", rows[i].line, "wr=3 WRITE WR_FLUSH_ERR");
		expect_events(pair, A, "QP_FATAL");
		pair_close(pair);
	}
}

/* E-2: an earlier one fails after all: then its error is the one, and the fault is flushed with the rest. */
Test(post, earlier_failure_precedes_a_local_fault)
{
	struct pair *pair = pair_open(&(struct pair_options){ .retry_cnt = 255 });
	struct uroce_sge sge = piece(pair, 0, 64);
	struct uroce_send_wr wr = { .wr_id = 2, .opcode = UROCE_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1 };

	RULE("E-2");
	sge.lkey ^= 0x100;
	pair_cut(pair);
	pair_write(pair, 1, 8);
	pair_post(pair, A, wr, 0, 0);
	wr.wr_id = 3;
	pair_post(pair, A, wr, 0, 0);
	pair_transmit(pair, A);
	pair_fire(pair);
	expect_completes(pair, A, "wr=1 WRITE RETRY_EXC_ERR", "wr=2 WRITE WR_FLUSH_ERR", "wr=3 WRITE WR_FLUSH_ERR");
	expect_events(pair, A, "QP_FATAL");
	pair_close(pair);
}

/* Sent packets stay sent, and no more memory is read. */
Test(post, key_removed_in_mid_message_is_a_local_fault)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	uint32_t key = pair_region(pair, A, 1, 0, 8192, UROCE_ACCESS_LOCAL_WRITE);
	struct uroce_sge sge = piece(pair, 0, 4000);
	struct uroce_send_wr wr = { .wr_id = 1, .opcode = UROCE_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1 };

	RULE("M-2");
	RULE("Q-13");
	sge.lkey = key;
	pair_cut(pair);
	pair_post(pair, A, wr, 0, 0);
	pair_transmit_some(pair, A, 1);
	cr_assert_eq(rc_mr_remove(&pair->side[A].mrs, key), 0);
	pair_transmit(pair, A);
	expect_leaves(pair, A, "WRITE_FIRST psn=0 ackreq va=0x0 len=4000 bytes=1024");
	expect_completes(pair, A, "wr=1 WRITE LOC_PROT_ERR");
	pair_close(pair);
}

/* Packets of sixteen pieces each, which go out as there is room for them. */
Test(post, packets_of_many_pieces_leave_as_there_is_room)
{
	struct pair *pair = pair_open(&(struct pair_options){ .depth = 16 });
	struct uroce_sge sges[16];
	uint32_t polls = 1;

	RULE("Q-2");
	RULE("S-15");
	for (uint32_t i = 0; i < 16; i++)
		sges[i] = piece(pair, 2000 * i, 50 + i);
	for (uint32_t i = 0; i < 10; i++) {
		struct uroce_send_wr wr = {
			.wr_id = i,
			.opcode = UROCE_WR_RDMA_WRITE,
			.send_flags = UROCE_SEND_SIGNALED,
			.sg_list = sges,
			.num_sge = 16,
			.remote_addr = (uintptr_t)pair->side[B].memory + 100000 + 2000 * i,
		};

		cr_assert_eq(pair_post(pair, A, wr, 0, 0), 0);
	}
	while (pair_transmit_some(pair, A, 3)) {
		cr_assert_eq(pair->out.packet_count, 3);
		cr_assert_leq(++polls, 10);
	}
	cr_assert_gt(polls, 1);
	expect_sent_count(pair, A, 10);
	pair_run(pair);
	expect_done_count(pair, A, 10);
	for (uint32_t n = 0; n < 10; n++) {
		for (uint32_t i = 0, at = 100000 + 2000 * n; i < 16; at += 50 + i++)
			cr_assert_eq(memcmp(pair->side[B].memory + at, pair->side[A].memory + 2000 * i, 50 + i), 0,
				     "WRITE %u, piece %u", n, i);
	}
	pair_close(pair);
}

/* One ACK completes more than a poll has room for, or an error flushes as many: all in order, none twice. */
Test(post, poll_without_completion_room_continues_in_the_next)
{
	RULE("Q-6");
	RULE("E-1");
	for (uint32_t fails = 0; fails < 2; fails++) {
		struct pair *pair = pair_open(&(struct pair_options){ .depth = 512 });
		struct rc_outbox *out = &pair->out;
		uint32_t count = fails ? 300 : 256, polls = 1; /* all that may be in flight, or more */
		struct wire_packet packet =
			ack_packet(fails ? 9 : 255, fails ? SYNDROME_ACCESS : SYNDROME_PLAIN_ACK, 1);
		const struct rc_origin origin = { 0 };

		pair_cut(pair);
		for (uint32_t i = 0; i < count; i++)
			cr_assert_eq(post(pair, i, UROCE_WR_RDMA_WRITE, UROCE_SEND_SIGNALED, 8), 0);
		pair_transmit(pair, A);
		/* Room for three of those that have succeeded. */
		outbox_reset(out);
		out->completion_count = OUTBOX_COMPLETIONS - 3;
		cr_assert_eq(rc_qp_receive(pair->side[A].qp, &packet, &origin, pair->now_ns, out), CNT_COUNTERS);
		cr_assert_eq(out->completion_count, OUTBOX_COMPLETIONS);
		for (uint32_t i = 0; i < 3; i++) {
			cr_assert_eq(out->completions[OUTBOX_COMPLETIONS - 3 + i].wr_id, i);
			cr_assert_eq(out->completions[OUTBOX_COMPLETIONS - 3 + i].status, UROCE_WC_SUCCESS);
		}
		while (pair_transmit_some(pair, A, OUTBOX_PACKETS))
			cr_assert_leq(++polls, 10);
		cr_assert_eq(polls, 1 + fails);
		expect_done_count(pair, A, count - 3);
		for (uint32_t i = 3; i < count; i++) {
			const struct uroce_wc *wc = &pair->side[A].wcs[i - 3];

			cr_assert_eq(wc->wr_id, i);
			cr_assert_eq(wc->status, !fails || i < 9 ? UROCE_WC_SUCCESS :
						 i == 9          ? UROCE_WC_REM_ACCESS_ERR :
								   UROCE_WC_WR_FLUSH_ERR);
		}
		pair_close(pair);
	}
}

/* E-7: also of a QP that could not send yet when a request of its peer was fatal. */
Test(post, a_post_after_a_failure_in_rtr_is_taken_and_flushed)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	struct rc_qp *qp = pair->side[B].qp;
	const struct uroce_send_wr wr = { .wr_id = 1, .opcode = UROCE_WR_SEND };

	RULE("E-7");
	RULE("Q-14");
	poke_state(qp, UROCE_QPS_RTR); /* as before its last step */
	cr_assert_eq(pair_post(pair, B, wr, 0, 8), -EINVAL);
	pair_request(pair, send_packet(OP_SEND_LAST, 0, 8));
	cr_assert_eq(peek_state(qp), UROCE_QPS_ERR);
	cr_assert_eq(pair_post(pair, B, wr, 0, 8), 0);
	pair_transmit(pair, B);
	expect_completes(pair, B, "wr=1 SEND WR_FLUSH_ERR");
	pair_close(pair);
}

/* Posts go on for ever in ERR: what is flushed gives its slot back. */
Test(post, a_flushed_request_frees_its_slot)
{
	struct pair *pair = pair_open(&(struct pair_options){ .depth = 4 });
	uint32_t bad;

	RULE("E-1");
	RULE("Q-14");
	cr_assert_eq(rc_qp_modify(pair->side[A].qp, &(struct uroce_qp_attr){ .qp_state = UROCE_QPS_ERR },
				  UROCE_QP_STATE, &bad),
		     0);
	for (uint64_t round = 0; round < 3; round++) {
		for (uint64_t i = 0; i < 4; i++)
			cr_assert_eq(pair_write(pair, 4 * round + i, 8), 0, "round %lu, post %lu", round, i);
		cr_assert_eq(pair_write(pair, 99, 8), -ENOMEM);
		pair_transmit(pair, A);
		expect_done_count(pair, A, (uint32_t)(4 * round + 4));
	}
	pair_close(pair);
}

/* Successful completions without room are delivered in the next call, before events (V-1). */
Test(post, completions_without_room_precede_events)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	struct rc_qp *qp = pair->side[A].qp;
	struct rc_outbox *out = &pair->out;
	const struct wire_packet packet = ack_packet(2, SYNDROME_PLAIN_ACK, 3);
	const struct rc_origin origin = { 0 };

	RULE("Q-6");
	RULE("V-1");
	pair_cut(pair);
	for (uint64_t i = 0; i < 3; i++)
		pair_write(pair, i, 8);
	pair_transmit(pair, A);
	outbox_reset(out);
	out->completion_count = OUTBOX_COMPLETIONS - 1;
	rc_qp_receive(qp, &packet, &origin, pair->now_ns, out);
	qp->report.events = 1u << UROCE_EVENT_PATH_MIG;
	outbox_reset(out);
	places_give(out, OUTBOX_PACKETS);
	out->completion_count = OUTBOX_COMPLETIONS - 1;
	cr_assert(rc_qp_transmit(qp, pair->now_ns, out), "one of two has no room");
	cr_assert_eq(out->event_count, 0);
	pair_forget(pair);
	pair_transmit(pair, A);
	expect_completes(pair, A, "wr=2 WRITE SUCCESS");
	expect_events(pair, A, "PATH_MIG");
	pair_close(pair);
}

/* An empty piece reads no memory, so its key is not checked, even at the end of a packet. */
Test(post, empty_piece_needs_no_key_to_be_sent)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	uint8_t *memory = pair->side[A].memory;
	struct uroce_sge sges[5] = {
		{ .addr = 1, .length = 0, .lkey = 0xBAD },
		{ .addr = (uintptr_t)memory, .length = 1024, .lkey = pair->side[A].key },
		{ .addr = 1, .length = 0, .lkey = 0xBAD },
		{ .addr = (uintptr_t)memory + 1024, .length = 476, .lkey = pair->side[A].key },
		{ .addr = 1, .length = 0, .lkey = 0xBAD },
	};
	struct uroce_send_wr wr = {
		.wr_id = 1,
		.opcode = UROCE_WR_RDMA_WRITE,
		.send_flags = UROCE_SEND_SIGNALED,
		.sg_list = sges,
		.num_sge = 5,
	};

	RULE("Q-2");
	RULE("Q-13");
	cr_assert_eq(pair_post(pair, A, wr, 0, 0), 0);
	pair_run(pair);
	expect_completes(pair, A, "wr=1 WRITE SUCCESS");
	cr_assert_arr_eq(pair->side[B].memory, memory, 1500);
	pair_close(pair);
}
