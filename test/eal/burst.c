/* burst.c - frames that repeat the headers of the one before are judged one by one all the same */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "engine/qp.h"
#include "network.h"
#include "rule.h"
#include "start.h"
#include "wire/bytes.h"
#include "wire/icrc.h"

#define FRAMES 24u
#define PIECE_BYTES 64u

TestSuite(burst, .init = test_eal_start, .timeout = 60);

enum { IP_AT = 14, UDP_AT = 34, BTH_AT = 42 };

/* What is wrong with the frame in the middle of a burst, and where it is counted. */
struct fault {
	const char *counter;
	void (*spoil)(struct rte_mbuf *mbuf, uint8_t *frame);
	bool keeps_icrc; /* the ICRC is not made right again afterwards */
};

static void spoil_type(struct rte_mbuf *mbuf, uint8_t *frame)
{
	(void)mbuf;
	frame[12] ^= 0x10;
}

static void spoil_options(struct rte_mbuf *mbuf, uint8_t *frame)
{
	(void)mbuf;
	frame[IP_AT] = 0x4F; /* 60 bytes of header: the UDP header is where the payload is */
}

static void spoil_fragment(struct rte_mbuf *mbuf, uint8_t *frame)
{
	(void)mbuf;
	frame[IP_AT + 6] |= 0x20;
	store_be16(frame + IP_AT + 10, 0);
	store_be16(frame + IP_AT + 10, (uint16_t)~wire_encap_sum(0, frame + IP_AT, 20));
}

static void spoil_source(struct rte_mbuf *mbuf, uint8_t *frame)
{
	(void)mbuf;
	frame[IP_AT + 15] ^= 0x40;
	store_be16(frame + IP_AT + 10, 0);
	store_be16(frame + IP_AT + 10, (uint16_t)~wire_encap_sum(0, frame + IP_AT, 20));
}

/* The checksum does not show it. */
static void spoil_dest(struct rte_mbuf *mbuf, uint8_t *frame)
{
	(void)mbuf;
	frame[IP_AT + 17]++;
	frame[IP_AT + 19]--;
}

static void spoil_port(struct rte_mbuf *mbuf, uint8_t *frame)
{
	(void)mbuf;
	frame[UDP_AT + 3] ^= 1;
}

static void spoil_pkey(struct rte_mbuf *mbuf, uint8_t *frame)
{
	(void)mbuf;
	frame[BTH_AT + 3] ^= 1;
}

static void spoil_version(struct rte_mbuf *mbuf, uint8_t *frame)
{
	(void)mbuf;
	frame[BTH_AT + 1] |= 1;
}

static void spoil_qpn(struct rte_mbuf *mbuf, uint8_t *frame)
{
	(void)mbuf;
	frame[BTH_AT + 5] ^= 0x80;
}

static void spoil_payload(struct rte_mbuf *mbuf, uint8_t *frame)
{
	frame[mbuf->data_len - 10] ^= 1;
}

static void spoil_length(struct rte_mbuf *mbuf, uint8_t *frame)
{
	(void)frame;
	mbuf->data_len = (uint16_t)(mbuf->data_len - 8);
	mbuf->pkt_len -= 8;
}

static const struct fault faults[] = {
	{ "drop_not_roce", spoil_type, false },
	{ "drop_not_roce", spoil_options, true },
	{ "drop_ip_fragment", spoil_fragment, false },
	{ "drop_address", spoil_source, false },
	{ "rx_other_address", spoil_dest, false },
	{ "drop_not_roce", spoil_port, false },
	{ "drop_pkey", spoil_pkey, false },
	{ "drop_transport_version", spoil_version, false },
	{ "drop_unknown_qpn", spoil_qpn, false },
	{ "rx_icrc_encapsulated", spoil_payload, true },
	{ "drop_truncated", spoil_length, true },
};

/* Frame `number` of a burst: a WRITE of its own piece of end 1's buffer, all bytes its number. */
static struct rte_mbuf *create_frame(struct network *network, uint32_t number, uint32_t bytes, uint32_t rkey)
{
	const struct uroce_qp *from = network->ends[0].qp, *to = network->ends[1].qp;
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(network->loop.pool);
	uint8_t data[PIECE_BYTES];
	struct wire_packet packet = {
		.opcode = OP_WRITE_ONLY,
		.pad_bytes = packet_pad_bytes(bytes),
		.psn = psn_add(qp_core(to)->responder.epsn, number).v,
		.dest_qpn = to->qpn,
		.pkey = 0xFFFF,
		.va = (uintptr_t)network->ends[1].buffer + number * PIECE_BYTES,
		.rkey = rkey,
		.dma_length = bytes,
		.payload = data,
		.payload_bytes = bytes,
	};

	cr_assert_not_null(mbuf);
	memset(data, (int)(number + 1), sizeof(data));
	network_fill_frame(mbuf, &from->template, &packet);
	return mbuf;
}

static void send_burst(struct network *network, struct rte_mbuf **burst)
{
	cr_assert_eq(rte_eth_tx_burst(network->loop.ports[0].port_id, 0, burst, FRAMES), FRAMES);
	network_poll(network);
}

static bool piece_is(const struct network *network, uint32_t number, uint32_t bytes, uint8_t value)
{
	for (uint32_t i = 0; i < bytes; i++) {
		if (network->ends[1].buffer[number * PIECE_BYTES + i] != value)
			return false;
	}
	return true;
}

static void open_connected(struct network *network)
{
	network_open_connected(network, 1, 64);
	cr_assert_eq(network_post(network, UROCE_WR_RDMA_WRITE, 100), 0); /* finds the MAC addresses */
	cr_assert_eq(network_wait(network, 0).status, UROCE_WC_SUCCESS);
}

static void spoil(const struct fault *fault, struct rte_mbuf *mbuf)
{
	uint8_t *frame = rte_pktmbuf_mtod(mbuf, uint8_t *);

	fault->spoil(mbuf, frame);
	if (!fault->keeps_icrc)
		store_le32(frame + mbuf->data_len - 4, wire_icrc_frame(frame + IP_AT, mbuf->data_len - IP_AT - 4u));
}

static void check_faults(void)
{
	static struct network network;

	open_connected(&network);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		uint64_t before = network_counter(&network, 1, faults[i].counter);
		uint32_t at = 1 + (uint32_t)i * 2, rkey = uroce_mr_rkey(network.ends[1].mr);
		struct rte_mbuf *burst[FRAMES];

		memset(network.ends[1].buffer, 0, FRAMES * PIECE_BYTES);
		for (uint32_t number = 0; number < FRAMES; number++)
			burst[number] = create_frame(&network, number, PIECE_BYTES, rkey);
		spoil(&faults[i], burst[at]);
		send_burst(&network, burst);
		cr_assert_eq(network_counter(&network, 1, faults[i].counter) - before, 1, "row %zu: %s", i,
			     faults[i].counter);
		for (uint32_t number = 0; number < FRAMES; number++)
			cr_assert(piece_is(&network, number, PIECE_BYTES, number < at ? (uint8_t)(number + 1) : 0),
				  "row %zu: frame %u", i, number);
	}
	network_close(&network);
}

Test(burst, bad_frame_among_good_frames_is_dropped)
{
	RULE("W-5");
	RULE("Y-1");
	check_faults();
}

/* In front of each good frame two that are the same but for the fault: they change nothing for it. */
static void check_rows_of_faults(void)
{
	static struct network network;

	open_connected(&network);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		uint64_t before = network_counter(&network, 1, faults[i].counter);
		uint32_t rkey = uroce_mr_rkey(network.ends[1].mr);
		struct rte_mbuf *burst[FRAMES];

		memset(network.ends[1].buffer, 0, FRAMES * PIECE_BYTES);
		for (uint32_t at = 0; at < FRAMES; at++) {
			burst[at] = create_frame(&network, at / 3, PIECE_BYTES, rkey);
			if (at % 3 < 2)
				spoil(&faults[i], burst[at]);
		}
		send_burst(&network, burst);
		cr_assert_eq(network_counter(&network, 1, faults[i].counter) - before, FRAMES / 3 * 2, "row %zu: %s", i,
			     faults[i].counter);
		for (uint32_t number = 0; number < FRAMES / 3; number++)
			cr_assert(piece_is(&network, number, PIECE_BYTES, (uint8_t)(number + 1)), "row %zu: frame %u",
				  i, number);
	}
	network_close(&network);
}

Test(burst, consecutive_bad_frames_do_not_affect_the_next_good_frame)
{
	RULE("W-5");
	RULE("Y-1");
	check_rows_of_faults();
}

Test(burst, bad_frames_are_dropped_when_the_icrc_is_checked_first)
{
	RULE("W-5");
	network_checks_first = true;
	check_faults();
	check_rows_of_faults();
	network_checks_first = false;
}

Test(burst, frames_after_the_end_of_a_connection_are_dropped)
{
	static struct network network;
	struct rte_mbuf *burst[FRAMES];
	uint32_t rkey, at = 9;

	RULE("X-3");
	open_connected(&network);
	rkey = uroce_mr_rkey(network.ends[1].mr);
	memset(network.ends[1].buffer, 0, FRAMES * PIECE_BYTES);
	for (uint32_t number = 0; number < FRAMES; number++)
		burst[number] = create_frame(&network, number, PIECE_BYTES, number == at ? rkey ^ 1 : rkey);
	send_burst(&network, burst);
	cr_assert_eq(network_counter(&network, 1, "drop_qp_state"), FRAMES - at - 1);
	for (uint32_t number = 0; number < FRAMES; number++)
		cr_assert(piece_is(&network, number, PIECE_BYTES, number < at ? (uint8_t)(number + 1) : 0));
	cr_assert_eq(network_event(&network, 1, UROCE_EVENT_QP_ACCESS_ERR).qp_num, network.ends[1].qp->qpn);
	network_close(&network);
}

static void spoil_source_port(struct rte_mbuf *mbuf, uint8_t *frame)
{
	(void)mbuf;
	frame[UDP_AT + 1] ^= 1;
}

static void spoil_msn(struct rte_mbuf *mbuf, uint8_t *frame)
{
	(void)mbuf;
	frame[BTH_AT + 15] ^= 1;
}

/* Cuts the frame into two segments, so that it is laid out in memory that all such frames share. */
static void cut_in_two(struct network *network, struct rte_mbuf *mbuf)
{
	struct rte_mbuf *rest = rte_pktmbuf_alloc(network->loop.pool);
	uint16_t bytes = (uint16_t)(mbuf->data_len - 30);

	cr_assert_not_null(rest);
	memcpy(rte_pktmbuf_append(rest, bytes), rte_pktmbuf_mtod_offset(mbuf, uint8_t *, 30), bytes);
	rte_pktmbuf_trim(mbuf, bytes);
	cr_assert_eq(rte_pktmbuf_chain(mbuf, rest), 0);
}

/* End 0 has FRAMES WRITEs in flight, and nobody answers but the test. */
struct unanswered {
	struct network network;
	struct wire_frame_template template; /* of the end that has gone */
	psn_t first;
};

static void open_unanswered(struct unanswered *all)
{
	struct end *peer = &all->network.ends[1];

	open_connected(&all->network);
	all->template = peer->qp->template;
	all->first = qp_core(all->network.ends[0].qp)->win.snd_nxt;
	cr_assert_eq(uroce_qp_destroy(peer->qp), 0);
	peer->qp = NULL;
	for (uint32_t i = 0; i < FRAMES; i++)
		cr_assert_eq(network_post(&all->network, UROCE_WR_RDMA_WRITE, PIECE_BYTES), 0);
	network_poll(&all->network);
}

static void close_unanswered(struct unanswered *all)
{
	cr_assert_eq(uroce_qp_destroy(all->network.ends[0].qp), 0);
	all->network.ends[0].qp = NULL;
	network_close(&all->network);
}

/* The answer to WRITE `number`. */
static struct rte_mbuf *create_answer(struct unanswered *all, uint32_t number, uint8_t syndrome)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(all->network.loop.pool);
	struct wire_packet packet = {
		.opcode = OP_ACKNOWLEDGE,
		.psn = psn_add(all->first, number).v,
		.dest_qpn = all->network.ends[0].qp->qpn,
		.pkey = 0xFFFF,
		.syndrome = syndrome,
		.msn = number,
	};

	cr_assert_not_null(mbuf);
	network_fill_frame(mbuf, &all->template, &packet);
	return mbuf;
}

static const uint8_t ack_syndrome = SYNDROME_ACK << 5 | CREDIT_UNLIMITED;

/* In one burst; returns how many WRITEs have completed. */
static int send_answers(struct unanswered *all, struct rte_mbuf **burst, uint16_t count)
{
	struct uroce_wc wc[FRAMES];
	int completed;

	cr_assert_eq(rte_eth_tx_burst(all->network.loop.ports[1].port_id, 0, burst, count), count);
	network_poll(&all->network);
	completed = uroce_cq_poll(all->network.ends[0].cq, FRAMES, wc);
	for (int i = 0; i < completed; i++)
		cr_assert_eq(wc[i].status, UROCE_WC_SUCCESS);
	return completed;
}

/* One ACK per WRITE; the ICRC of the last two is wrong. */
Test(burst, bad_ack_after_good_acks_is_dropped)
{
	static const struct fault port = { NULL, spoil_source_port, true }, msn = { NULL, spoil_msn, true };
	static struct unanswered all;
	struct rte_mbuf *burst[FRAMES];

	RULE("W-3");
	open_unanswered(&all);
	for (uint32_t i = 0; i < FRAMES; i++)
		burst[i] = create_answer(&all, i, ack_syndrome);
	spoil(&port, burst[FRAMES - 2]);
	spoil(&msn, burst[FRAMES - 1]);
	cr_assert_eq(send_answers(&all, burst, FRAMES), FRAMES - 2);
	cr_assert_eq(network_counter(&all.network, 0, "rx_icrc_encapsulated"), 2);
	close_unanswered(&all);
}

/* An ACK out of order, a repeated one and one for nothing are counted, wherever they stand among good ones. */
Test(burst, consecutive_acks_are_checked_one_by_one)
{
	static const struct {
		uint16_t count;
		uint32_t numbers[8];
		int completed;
	} rows[] = { { 4, { 0, 1, 2, FRAMES }, 3 }, { 8, { 3, 6, 4, 5, 7, 7, 8, 9 }, 7 }, { 2, { 11, 10 }, 2 } };
	static struct unanswered all;
	struct rte_mbuf *burst[FRAMES];

	RULE("P-5");
	open_unanswered(&all);
	for (uint32_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
		for (uint16_t i = 0; i < rows[row].count; i++)
			burst[i] = create_answer(&all, rows[row].numbers[i], ack_syndrome);
		cr_assert_eq(send_answers(&all, burst, rows[row].count), rows[row].completed, "row %u", row);
	}
	cr_assert_eq(network_counter(&all.network, 0, "drop_stale_response"), 4, "4, 5, 7 and 10");
	cr_assert_eq(network_counter(&all.network, 0, "drop_ghost_response"), 1);
	close_unanswered(&all);
}

/* A deferred ACK is processed before any later packet. */
Test(burst, nak_after_acks_is_processed_after_them)
{
	static struct unanswered all;
	struct rte_mbuf *burst[4];

	RULE("K-SEQ-REQ");
	open_unanswered(&all);
	for (uint32_t i = 0; i < 3; i++)
		burst[i] = create_answer(&all, i, ack_syndrome);
	burst[3] = create_answer(&all, 3, SYNDROME_NAK << 5 | NAK_PSN_SEQUENCE);
	cr_assert_eq(send_answers(&all, burst, 4), 3);
	cr_assert_eq(network_counter(&all.network, 0, "packet_seq_err"), 1);
	cr_assert_geq(network_counter(&all.network, 0, "retransmitted_packets"), 1);
	burst[0] = create_answer(&all, 4, ack_syndrome);
	burst[1] = create_answer(&all, 5, ack_syndrome);
	cut_in_two(&all.network, burst[1]);
	cr_assert_eq(send_answers(&all, burst, 2), 3, "the second in pieces");
	close_unanswered(&all);
}

/* Lengths, and with them pads, change from frame to frame. */
Test(burst, one_burst_holds_frames_of_all_lengths)
{
	static struct network network;
	struct rte_mbuf *burst[FRAMES];

	open_connected(&network);
	memset(network.ends[1].buffer, 0, FRAMES * PIECE_BYTES);
	for (uint32_t number = 0; number < FRAMES; number++)
		burst[number] =
			create_frame(&network, number, PIECE_BYTES - number / 2, uroce_mr_rkey(network.ends[1].mr));
	send_burst(&network, burst);
	for (uint32_t number = 0; number < FRAMES; number++) {
		cr_assert(piece_is(&network, number, PIECE_BYTES - number / 2, (uint8_t)(number + 1)));
		cr_assert_eq(network.ends[1].buffer[(number + 1) * PIECE_BYTES - 1], number / 2 == 0 ? number + 1 : 0,
			     "nothing behind frame %u", number);
	}
	network_close(&network);
}

/* A whole frame, one in pieces that repeats it, and one in pieces for a QP that does not exist. */
Test(burst, frame_in_pieces_is_not_mistaken_for_the_previous_one)
{
	static struct network network;
	struct rte_mbuf *burst[FRAMES];

	RULE("W-5");
	open_connected(&network);
	memset(network.ends[1].buffer, 0, FRAMES * PIECE_BYTES);
	for (uint32_t number = 0; number < FRAMES; number++) {
		burst[number] = create_frame(&network, number, PIECE_BYTES, uroce_mr_rkey(network.ends[1].mr));
		if (number >= 2) {
			uint8_t *frame = rte_pktmbuf_mtod(burst[number], uint8_t *);

			spoil_qpn(burst[number], frame);
			store_le32(frame + burst[number]->data_len - 4,
				   wire_icrc_frame(frame + IP_AT, burst[number]->data_len - IP_AT - 4u));
		}
		if (number >= 1)
			cut_in_two(&network, burst[number]);
	}
	send_burst(&network, burst);
	cr_assert_eq(network_counter(&network, 1, "drop_unknown_qpn"), FRAMES - 2);
	for (uint32_t number = 0; number < FRAMES; number++)
		cr_assert(piece_is(&network, number, PIECE_BYTES, number < 2 ? (uint8_t)(number + 1) : 0), "%u",
			  number);
	network_close(&network);
}
