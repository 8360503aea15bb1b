/* receive.c - receive requests: what fills them, what a completion says, and entries that cannot be used */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TC-C-3, C-8, C-10, C-12, F-2.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "packets.h"
#include "rule.h"

static int post_pieces(struct pair *pair, uint64_t wr_id, const struct uroce_sge *sges, uint32_t count)
{
	struct uroce_recv_wr wr = { .wr_id = wr_id, .sg_list = sges, .num_sge = count };

	return rc_qp_post_recv(pair->side[B].qp, &wr);
}

static struct uroce_sge piece(const struct pair *pair, uint64_t offset, uint32_t bytes)
{
	return (struct uroce_sge){ .addr = (uintptr_t)pair->side[B].memory + offset,
				   .length = bytes,
				   .lkey = pair->side[B].key };
}

/* TC-C-12 */
Test(receive, completion_reports_length_immediate_source_and_solicited)
{
	struct pair *pair = pair_open(&(struct pair_options){ .receives = 4 });
	struct wire_packet packet = send_packet(OP_SEND_ONLY_IMM, 0, 20);

	RULE("S-16");
	packet.imm = 0x01020304;
	packet.flags |= WIRE_SOLICITED;
	pair_request(pair, packet);
	pair_request(pair, send_packet(OP_SEND_ONLY, 1, 0));
	expect_completes(pair, B, "wr=1000 RECV SUCCESS len=20 imm=0x1020304 solicited", "wr=1001 RECV SUCCESS len=0");
	cr_assert_eq(pair->side[B].wcs[0].src_qp, pair->side[A].qp->qpn);
	pair_request(pair, write_packet(pair, OP_WRITE_FIRST, 2, 0, 1500, 1024));
	expect_completes(pair, B);
	packet = write_packet(pair, OP_WRITE_LAST_IMM, 3, 0, 0, 476);
	packet.imm = 0xA0B0C0D0;
	pair_request(pair, packet);
	packet = write_packet(pair, OP_WRITE_ONLY_IMM, 4, 0, 0, 0);
	packet.imm = 7;
	pair_request(pair, packet);
	expect_completes(pair, B, "wr=1002 RECV_IMM SUCCESS len=1500 imm=0xa0b0c0d0",
			 "wr=1003 RECV_IMM SUCCESS len=0 imm=0x7");
	cr_assert_eq(pair->side[B].wcs[0].src_qp, pair->side[A].qp->qpn);
	pair_close(pair);
}

/*
 * TC-C-3, TC-C-12, R-1: the entry is wanted at the packet with the immediate, not before; the data of the WRITE lies
 * there already.
 */
Test(receive, write_with_immediate_takes_a_receive_at_its_last_packet)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	struct wire_packet last = write_packet(pair, OP_WRITE_LAST_IMM, 1, 0, 0, 476);

	RULE("R-1");
	pair_fill(pair, B, 0, 0, 2048);
	pair_request(pair, write_packet(pair, OP_WRITE_FIRST, 0, 0, 1500, 1024));
	pair_request(pair, last);
	expect_leaves(pair, B, "ACK psn=0 credit=31 msn=0", "RNR_NAK psn=1 timer=12 msn=0");
	cr_assert_eq(pair->side[B].memory[1023], PACKETS_DATA);
	cr_assert_eq(pair->side[B].memory[1024], 0, "a packet that was not ready for wrote");
	pair_recv(pair, B, 5, 4096, 0);
	pair_request(pair, last);
	expect_leaves(pair, B, "ACK psn=1 credit=31 msn=1");
	expect_completes(pair, B, "wr=5 RECV_IMM SUCCESS len=1500 imm=0x0");
	cr_assert_eq(pair->side[B].memory[1499], PACKETS_DATA);
	cr_assert_eq(pair->side[B].memory[1500], 0);
	pair_close(pair);
}

/* TC-C-3: an RNR NAK for a SEND comes at its first packet; once it has begun, its entry is its own. */
Test(receive, send_takes_a_receive_at_its_first_packet_only)
{
	struct pair *pair = pair_open(&(struct pair_options){ .receives = 1 });

	RULE("R-1");
	pair_request(pair, send_packet(OP_SEND_FIRST, 0, 1024));
	pair_request(pair, send_packet(OP_SEND_LAST, 1, 8));
	pair_request(pair, send_packet(OP_SEND_FIRST, 2, 1024));
	expect_leaves(pair, B, "ACK psn=0 credit=31 msn=0", "ACK psn=1 credit=31 msn=1",
		      "RNR_NAK psn=2 timer=12 msn=1");
	pair_close(pair);
}

Test(receive, sixteen_pieces_are_filled_in_order)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	struct uroce_sge sges[16];
	uint8_t *memory = pair->side[B].memory;

	RULE("Q-2");
	pair_fill(pair, B, 0, 0, 65536);
	for (uint32_t i = 0; i < 16; i++)
		sges[i] = piece(pair, 4000 * (15 - i), i == 3 ? 0 : 100 + i);
	cr_assert_eq(post_pieces(pair, 1, sges, 16), 0);
	pair_fill(pair, A, 0, 0, 2048);
	for (uint32_t i = 0; i < 1600; i++)
		pair->side[A].memory[i] = (uint8_t)(i * 31 + 1);
	pair_send(pair, 9, 1600);
	pair_run(pair);
	expect_completes(pair, A, "wr=9 SEND SUCCESS");
	expect_completes(pair, B, "wr=1 RECV SUCCESS len=1600");
	for (uint32_t i = 0, at = 0; i < 16; i++) {
		uint32_t bytes = at + sges[i].length <= 1600 ? sges[i].length : 1600 - at;

		cr_assert(memcmp(memory + 4000 * (15 - i), pair->side[A].memory + at, bytes) == 0, "piece %u", i);
		cr_assert_eq(memory[4000 * (15 - i) + bytes], 0, "piece %u", i);
		at += bytes;
	}
	pair_close(pair);
}

Test(receive, invalid_posts_return_documented_errors)
{
	struct pair *pair = pair_open(&(struct pair_options){ .depth = 4 });
	struct uroce_sge sges[17] = { { 0 } };

	RULE("Q-2");
	cr_assert_eq(post_pieces(pair, 1, sges, 17), -EINVAL);
	for (uint32_t i = 0; i < 4; i++)
		cr_assert_eq(pair_recv(pair, B, i, 0, 64), 0);
	cr_assert_eq(pair_recv(pair, B, 4, 0, 64), -ENOMEM);
	pair_request(pair, send_packet(OP_SEND_ONLY, 0, 8));
	cr_assert_eq(pair_recv(pair, B, 4, 0, 64), 0);
	cr_assert_eq(pair_recv(pair, B, 5, 0, 64), -ENOMEM);
	pair_close(pair);
}

/* TC-C-8: no packet of a peer can cause K-OP, and the peer's data goes nowhere. */
Test(receive, unusable_receive_is_an_operational_error)
{
	static const char *const names[] = { "unknown key",  "another domain", "no local write",
					     "past the end", "wraps",          "second piece" };

	RULE("K-OP");
	RULE("K-RESP");
	for (uint32_t i = 0; i < 6; i++) {
		struct pair *pair = pair_open(&(struct pair_options){ 0 });
		struct uroce_sge sges[2] = { piece(pair, 0, 64), piece(pair, 4096, 64) };
		struct uroce_sge *bad = &sges[i == 5];

		bad->lkey = i == 0 || i == 5 ? bad->lkey ^ 0x100 :
			    i == 1           ? pair_region(pair, B, 2, 0, 4096, UROCE_ACCESS_LOCAL_WRITE) :
			    i == 2           ? pair_region(pair, B, 1, 0, 4096, UROCE_ACCESS_REMOTE_READ) :
					       bad->lkey;
		bad->addr = i == 3 ? (uintptr_t)pair->side[B].memory + PAIR_MEMORY_BYTES - 32 :
			    i == 4 ? UINT64_MAX - 15 :
				     bad->addr;
		pair_fill(pair, B, 0, 0x77, 64);
		pair_fill(pair, B, 4096, 0x77, 64);
		pair_fill(pair, B, PAIR_MEMORY_BYTES - 32, 0x77, 32);
		cr_assert_eq(post_pieces(pair, 1, sges, 2), 0);
		cr_assert_eq(pair_recv(pair, B, 2, 8192, 64), 0);
		cr_assert_eq(pair_post(pair, B, (struct uroce_send_wr){ .wr_id = 3, .opcode = UROCE_WR_SEND }, 0, 8),
			     0);
		pair_request(pair, send_packet(OP_SEND_ONLY, 0, 128));
		cr_assert_str_eq(pair->side[B].sent[pair->side[B].sent_count - 1], "NAK_REMOTE_OPERATIONAL psn=0 msn=0",
				 "%s", names[i]);
		expect_done_count(pair, B, 3);
		for (uint32_t d = 0; d < 3; d++)
			cr_assert_eq(pair->side[B].wcs[d].status,
				     pair->side[B].wcs[d].wr_id == 1 ? UROCE_WC_LOC_QP_OP_ERR : UROCE_WC_WR_FLUSH_ERR,
				     "%s: %s", names[i], pair->side[B].done[d]);
		expect_events(pair, B, "QP_FATAL");
		cr_assert_eq(pair->side[B].memory[4096], 0x77, "%s", names[i]);
		expect_counts(pair, B, CNT_RESP_LOCAL_OPERATIONAL, 1);
		pair_close(pair);
	}
}

/* A WRITE with immediate uses the entry, but not its buffers. */
Test(receive, write_with_immediate_does_not_check_the_buffers)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	struct uroce_sge sge = { .addr = 1, .length = 4, .lkey = 0x999 };

	RULE("S-16");
	cr_assert_eq(post_pieces(pair, 1, &sge, 1), 0);
	pair_request(pair, write_packet(pair, OP_WRITE_ONLY_IMM, 0, 0, 8, 8));
	expect_leaves(pair, B, "ACK psn=0 credit=31 msn=1");
	expect_completes(pair, B, "wr=1 RECV_IMM SUCCESS len=8 imm=0x0");
	pair_close(pair);
}

/* An empty SEND writes nothing, so the key of its only buffer is not checked. */
Test(receive, empty_send_does_not_check_the_buffer)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	struct uroce_sge sge = { .addr = 1, .length = 4, .lkey = 0x999 };

	RULE("S-16");
	cr_assert_eq(post_pieces(pair, 1, &sge, 1), 0);
	pair_request(pair, send_packet(OP_SEND_ONLY, 0, 0));
	expect_leaves(pair, B, "ACK psn=0 credit=31 msn=1");
	expect_completes(pair, B, "wr=1 RECV SUCCESS len=0");
	pair_close(pair);
}
