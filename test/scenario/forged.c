/* forged.c - forged packets to a connection with SACKs: the forger knows addresses, QPNs and P_Key, perhaps more */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the threat model (threat-model.md) says of requests and PROBEs. All forged packets have a right ICRC.
 */
#include <stdlib.h>
#include <string.h>

#include "agreed.h"
#include "draw.h"
#include "packets.h"
#include "peek.h"
#include "rc/anomaly.h"
#include "rule.h"

#define SECOND_NS 1000000000ull
#define FRONT_BYTES 42u /* of an IPv4 frame, before the BTH */
#define ALARM 1000u     /* forged packets after which the event is due */

static uint32_t count_events(const struct pair *pair, enum side_name side, const char *name)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < pair->side[side].event_count && i < 64; i++)
		count += strcmp(pair->side[side].events[i], name) == 0;
	return count;
}

/* ---- source ports ---- */

/* The port is outside the peer's set: the packet is not kept, executed or answered, whatever its PSN. */
Test(forged, request_from_an_unknown_port_is_dropped_and_raises_an_alarm)
{
	struct pair *pair = open_with((struct pair_options){ .receives = 4 });
	uint64_t state = draw_start(1);

	RULE("W-2");
	RULE("W-5");
	RULE("V-1");
	for (uint32_t i = 0; i < ALARM; i++) {
		do
			pair->inject_port = (uint16_t)draw_next(&state);
		while (rc_ports_admit(pair->side[B].qp, pair->inject_port));
		pair_request(pair, send_packet(OP_SEND_ONLY, i % 256, 4));
		pair->now_ns += SECOND_NS / 300; /* below the rate that alone raises the event */
	}
	expect_leaves(pair, B);
	expect_completes(pair, B);
	cr_expect_eq(kept_by_b(pair), 0);
	cr_expect_eq(pair->side[B].drops[CNT_PORT_SOURCE_PORT], ALARM);
	expect_events(pair, B, "ANOMALY");
	pair->inject_port = 0;
	pair_send(pair, 1, 10);
	pair_run(pair);
	expect_completes(pair, A, "wr=1 SEND SUCCESS");
	close_agreed(pair);
}

/* A link that damages frames damages their ports, too. */
Test(forged, damaged_port_raises_no_alarm)
{
	struct pair *pair = open_with((struct pair_options){ .receives = 4 });
	uint64_t state = draw_start(2);

	RULE("V-1");
	if (pair->side[B].checked) { /* the host drops damaged frames before it asks the QP */
		close_agreed(pair);
		return;
	}
	pair->inject_damage = true;
	for (uint32_t i = 0; i < 2 * ALARM; i++) {
		do
			pair->inject_port = (uint16_t)draw_next(&state);
		while (rc_ports_admit(pair->side[B].qp, pair->inject_port));
		pair_request(pair, send_packet(OP_SEND_ONLY, i % 256, 4));
		pair->now_ns += SECOND_NS / 300;
	}
	expect_leaves(pair, B);
	cr_expect_eq(pair->side[B].drops[CNT_PORT_SOURCE_PORT], 2 * ALARM);
	expect_events(pair, B);
	pair->inject_damage = false;
	pair->inject_port = 0;
	close_agreed(pair);
}

/* Neither are SACKs, PROBEs, ACKs and NAKs from there believed. */
Test(forged, every_kind_of_packet_needs_a_port_of_the_peer)
{
	struct pair *pair = open_with((struct pair_options){ .receives = 4 });
	uint16_t port = 0;

	RULE("W-2");
	pair_cut(pair);
	pair_write(pair, 1, 4 * MTU);
	pair_transmit(pair, A);
	pair_forget(pair);
	for (enum side_name side = A; side <= B; side++) {
		const struct wire_packet packets[] = {
			ack_packet(3, SYNDROME_PLAIN_ACK, 1),
			ack_packet(0, SYNDROME_ACCESS, 0),
			{ .opcode = OP_SACK,
			  .cack_psn = 0xFFFFFF,
			  .sack_offset = 1,
			  .sack_bitmap = 8,
			  .ack_psn_offset = 4 },
			{ .opcode = OP_PROBE, .control_kind = WIRE_PROBE_KIND, .probe_id = 3 },
			write_packet(pair, OP_WRITE_ONLY, 0, 0, 8, 8),
		};

		while (rc_ports_admit(pair->side[side].qp, ++port))
			;
		pair->inject_port = port;
		for (uint32_t i = 0; i < sizeof(packets) / sizeof(packets[0]); i++)
			pair_inject(pair, side, packets[i]);
		pair_transmit(pair, side);
		expect_leaves(pair, side);
		expect_completes(pair, side);
		cr_expect_eq(pair->side[side].drops[CNT_PORT_SOURCE_PORT], sizeof(packets) / sizeof(packets[0]));
		cr_expect_eq(peek_state(pair->side[side].qp), UROCE_QPS_RTS);
	}
	close_agreed(pair);
}

/* A QP in RTR that has no start PSN yet does not know the ports of its peer: it takes it for one without SACKs. */
Test(forged, qp_in_rtr_keeps_no_packets)
{
	struct pair *pair = open_with((struct pair_options){ .receives = 4 });
	struct rc_qp *qp = pair->side[B].qp;

	RULE("S-21");
	RULE("K-SEQ");
	rc_ports_forget(qp);
	qp_set_state(qp, UROCE_QPS_RTR);
	pair->inject_port = 77;
	pair_request(pair, send_packet(OP_SEND_ONLY, 2, 4));
	expect_leaves(pair, B, "NAK_SEQUENCE psn=0 msn=0");
	qp_set_state(qp, UROCE_QPS_RTS);
	rc_ports_expect(qp);
	pair->inject_port = 0;
	pair_request(pair, send_packet(OP_SEND_ONLY, 2, 4)); /* the NAK asks for all of them once more */
	expect_leaves(pair, B);
	cr_expect_eq(kept_by_b(pair), 0);
	for (uint32_t psn = 0; psn < 2; psn++)
		pair_request(pair, send_packet(OP_SEND_ONLY, psn, 4));
	pair_request(pair, send_packet(OP_SEND_ONLY, 3, 4));
	cr_expect_eq(kept_by_b(pair), 1);
	close_agreed(pair);
}

/*
 * A program that gives the start PSN of its requests with RTS only, as verbs want it: its ACKs in RTR come from a port
 * that the peer expects all the same, because that port follows from the peer's start PSN.
 */
Test(forged, qp_in_rtr_without_a_start_psn_answers_from_a_port_of_its_own)
{
	struct pair *pair = open_with((struct pair_options){ .receives = 4, .psn_a = 0x1000, .psn_b = 0x2000 });
	struct rc_qp *qp = pair->side[B].qp;

	RULE("W-10");
	rc_ports_forget(qp);
	qp_set_state(qp, UROCE_QPS_RTR);
	qp->sq_psn = psn_make(0xABCDEF);
	pair_send(pair, 1, 10);
	pair_run(pair);
	expect_completes(pair, A, "wr=1 SEND SUCCESS");
	cr_expect_eq(pair->side[A].drops[CNT_PORT_SOURCE_PORT], 0);
	close_agreed(pair);
}

/* ---- how many guesses are right ---- */

/* Lets a forged SEND arrive at B. Returns whether it is kept or executed, and makes B forget it. */
static bool is_taken(struct pair *pair, uint32_t psn, uint16_t port)
{
	static const uint8_t data[4];
	struct rc_qp *qp = pair->side[B].qp;
	const struct rc_origin origin = { .source = qp->path.dest.bytes,
					  .dest = qp->path.source.bytes,
					  .device = qp->path.device,
					  .source_port = port };
	const struct wire_packet packet = {
		.opcode = OP_SEND_ONLY, .psn = psn, .pkey = 0xFFFF, .payload_bytes = sizeof(data), .payload = data
	};
	psn_t epsn = qp->responder.epsn;
	bool taken;

	if (rc_qp_admit(qp, &packet, &origin) != CNT_COUNTERS)
		return false;
	outbox_reset(&pair->out);
	cr_assert_eq(rc_qp_receive(qp, &packet, &origin, pair->now_ns, &pair->out), CNT_COUNTERS);
	taken = kept_by_b(pair) > 0 || !psn_equal(qp->responder.epsn, epsn);
	rc_kept_forget(qp);
	if (!psn_equal(qp->responder.epsn, epsn))
		pair_recv(pair, B, 1, PAIR_MEMORY_BYTES / 2, 64);
	return taken;
}

static struct pair *open_target(uint32_t paths)
{
	struct pair *pair = open_with((struct pair_options){ .receives = 4, .psn_a = 0x123456, .psn_b = 0x654321 });

	for (uint32_t i = 0; i < paths; i++)
		rc_kept_path_used(pair->side[B].qp, rc_ports_own(pair->side[A].qp, i));
	return pair;
}

/*
 * All pairs of PSN and port are tried that may be taken: as many as there are ports at most, so that a guess of both is
 * right once in 2^24 times, as a guess of the PSN alone in plain RC.
 */
Test(forged, acceptable_pairs_of_psn_and_port_are_bounded)
{
	static const uint32_t used[] = { 1, 8, 64 };

	RULE("S-21");
	RULE("Y-3");
	for (uint32_t n = 0; n < 3; n++) {
		struct pair *pair = open_target(used[n]);
		struct rc_qp *qp = pair->side[B].qp;
		uint64_t paths = qp->kept.paths;
		uint32_t pairs = SPREAD_MOST; /* those at ePSN */

		for (uint32_t i = 0; i < SPREAD_MOST; i++) {
			uint16_t port = rc_ports_own(pair->side[A].qp, i);

			for (uint32_t ahead = 1; ahead < 3 * KEPT_SPAN; ahead++) {
				qp->kept.paths = paths;
				pairs += is_taken(pair, psn_add(qp->responder.epsn, ahead).v, port);
			}
		}
		cr_expect_leq(pairs, PORTS_COUNT, "%u used paths: %u pairs", used[n], pairs);
		cr_expect_gt(pairs, PORTS_COUNT / 2);
		close_agreed(pair);
	}
}

/* 2^24 guesses, of which one is expected to be right; more than eight are with a probability of 10^-6. */
Test(forged, sixteen_million_guesses_hit_once)
{
	struct pair *pair = open_target(1);
	uint64_t state = draw_start(3);
	uint32_t right = 0;

	RULE("Y-3");
	for (uint32_t i = 0; i < 1u << 24; i++) {
		uint64_t drawn = draw_next(&state);

		right += is_taken(pair, drawn & PSN_MASK, (uint16_t)(PORTS_FIRST | drawn >> 32));
	}
	cr_expect_leq(right, 8, "%u of 2^24 guesses", right);
	close_agreed(pair);
}

/* Only what was kept or executed shows that the peer uses a port: guesses do not make honest packets less believed. */
Test(forged, guesses_do_not_shorten_the_reach_of_the_peer)
{
	struct pair *pair = open_target(1);
	uint64_t state = draw_start(9);

	RULE("S-21");
	for (uint32_t i = 0; i < 100000; i++) {
		uint64_t drawn = draw_next(&state);

		is_taken(pair, drawn & PSN_MASK, (uint16_t)(PORTS_FIRST | drawn >> 32));
	}
	cr_expect_leq(__builtin_popcountll(pair->side[B].qp->kept.paths), 2);
	close_agreed(pair);
}

/*
 * After a gap a packet from an unused port arrives far ahead of the peer's packets. SACKs do not report it, because
 * the peer would reject them as forged.
 */
Test(forged, rejected_packet_does_not_change_the_sack)
{
	uint64_t lost = 1 << 0;
	struct pair *pair = open_with((struct pair_options){ .receives = 0, .psn_a = 0x1000 });

	RULE("S-22");
	pair->copies = lose_of_a;
	pair->user = &lost;
	pair_write(pair, 1, 8 * MTU);
	pair->inject_port = rc_ports_own(pair->side[A].qp, 5);
	pair_inject(pair, B, send_packet(OP_SEND_ONLY, 0x1000 + 2000, 4));
	pair->inject_port = 0;
	pair_settle(pair, SECOND_NS);
	expect_completes(pair, A, "wr=1 WRITE SUCCESS");
	cr_expect_eq(pair->side[A].qp->counters[CNT_BAD_SACK], 0);
	close_agreed(pair);
}

/* ---- two copies that differ ---- */

/* The forged copy of PSN 2 arrives before the honest one, or behind it; then what was missing arrives. */
Test(forged, differing_copies_are_both_discarded)
{
	RULE("S-21");
	RULE("P-8");
	for (int first = 0; first < 2; first++) {
		uint64_t lost = 1 << 0;
		struct pair *pair = open_with((struct pair_options){ .receives = 0 });
		struct wire_packet evil = write_packet(pair, OP_WRITE_ONLY, 2, 2 * MTU, 8, 8);

		pair->copies = lose_of_a;
		pair->user = &lost;
		for (uint32_t i = 0; i < 4; i++)
			pair_write(pair, i, MTU);
		pair_transmit(pair, A);
		if (first)
			pair_inject(pair, B, evil);
		pair_deliver(pair, B);
		if (!first)
			pair_inject(pair, B, evil);
		cr_expect_eq(kept_by_b(pair), 2, "PSNs 1 and 3");
		expect_counts(pair, B, CNT_CONTRADICTION, 1);
		pair_transmit(pair, B);
		cr_expect_eq(count_events(pair, B, "ANOMALY"), 1);
		cr_assert(pair_settle(pair, SECOND_NS));
		expect_completes(pair, A, "wr=0 WRITE SUCCESS", "wr=1 WRITE SUCCESS", "wr=2 WRITE SUCCESS",
				 "wr=3 WRITE SUCCESS");
		cr_expect_arr_eq(pair->side[B].memory, pair->side[A].memory, MTU);
		close_agreed(pair);
	}
}

/* A packet that is sent again asks for an ACK, which the first copy need not have done. */
Test(forged, copy_with_ackreq_equals_the_original)
{
	struct pair *pair = open_with((struct pair_options){ .receives = 0 });
	struct wire_packet packet = write_packet(pair, OP_WRITE_ONLY, 2, 0, 8, 8);

	RULE("S-21");
	packet.flags = 0;
	pair_inject(pair, B, packet);
	packet.flags = WIRE_ACKREQ;
	pair_inject(pair, B, packet);
	cr_expect_eq(kept_by_b(pair), 1);
	expect_counts(pair, B, CNT_CONTRADICTION, 0);
	close_agreed(pair);
}

/* ---- bytes that are drawn ---- */

static uint64_t bytes_out;

static void count_bytes(struct pair *pair, enum side_name at, enum side_name from, const struct wire_packet *packet)
{
	(void)pair;
	if (at == B && from == B)
		bytes_out += FRONT_BYTES + packet_bytes(packet);
}

enum flood { PROBES, PROBES_BEHIND_A_GAP, RANDOM_AHEAD, BLOCKS_AHEAD, FLOODS };

static struct wire_packet draw_flood(const struct pair *pair, enum flood flood, uint32_t n, uint64_t *state)
{
	uint32_t epsn = peek_expected(pair->side[B].qp);

	switch (flood) {
	case RANDOM_AHEAD:
		return send_packet(OP_SEND_MIDDLE, epsn + 1 + (uint32_t)(draw_next(state) & 0x7FFFFF) % 0x7FFFFE, 0);
	case BLOCKS_AHEAD:
		return send_packet(OP_SEND_ONLY, epsn + 1 + n * KEPT_BLOCK % KEPT_SPAN, 0);
	case PROBES:
	case PROBES_BEHIND_A_GAP:
	case FLOODS:
		break;
	}
	return (struct wire_packet){ .opcode = OP_PROBE, .control_kind = WIRE_PROBE_KIND, .probe_id = (uint16_t)n };
}

/*
 * The forger knows a port as well. In each second B sends at most 1.5 times the bytes that arrive and 4 KiB, and the
 * event follows within a thousand packets or a second.
 */
Test(forged, floods_draw_few_bytes_and_raise_an_alarm)
{
	static const uint32_t rates[] = { 10, 1000, 20000 }; /* packets per second */

	RULE("S-22");
	RULE("Y-1");
	for (uint32_t i = 0; i < FLOODS * 3; i++) {
		enum flood flood = i / 3;
		uint32_t rate = rates[i % 3], packets = 0;
		struct pair *pair = open_with((struct pair_options){ .receives = 0 });
		uint64_t state = draw_start(i);

		pair_cut(pair);
		pair->tap = count_bytes;
		pair->now_ns = 5 * SECOND_NS;
		if (flood == PROBES_BEHIND_A_GAP)
			pair_request(pair, send_packet(OP_SEND_ONLY, 2000, 0));
		for (uint32_t second = 0; second < 3; second++) {
			uint64_t bytes_in = 0;

			bytes_out = 0;
			for (uint32_t n = 0; n < rate; n++) {
				struct wire_packet packet = draw_flood(pair, flood, packets++, &state);

				bytes_in += FRONT_BYTES + packet_bytes(&packet);
				pair_request(pair, packet);
				pair->now_ns += SECOND_NS / rate;
			}
			cr_expect_leq(bytes_out, bytes_in * 3 / 2 + 4096, "flood %u, %u/s: %lu bytes for %lu", flood,
				      rate, bytes_out, bytes_in);
			pair->side[B].sent_count = 0;
		}
		if (rate >= 1000 && flood != BLOCKS_AHEAD) /* these are near ePSN, and might be honest */
			cr_expect_geq(count_events(pair, B, "ANOMALY"), 1, "flood %u, %u/s", flood, rate);
		close_agreed(pair);
	}
}

/* Requests that are executed pay for the answers to an honest peer's PROBEs. */
Test(forged, probes_of_a_busy_peer_are_all_answered)
{
	struct pair *pair = open_with((struct pair_options){ .receives = 0 });
	uint32_t answered = 0;

	RULE("S-22");
	for (uint32_t n = 0; n < 1000; n++) {
		for (uint32_t i = 0; i < 4; i++)
			pair_inject(pair, B, write_packet(pair, OP_WRITE_ONLY, 4 * n + i, 0, 8, 8));
		pair_request(pair, (struct wire_packet){ .opcode = OP_PROBE,
							 .control_kind = WIRE_PROBE_KIND,
							 .probe_id = (uint16_t)n });
		for (uint32_t i = 0; i < pair->side[B].sent_count; i++)
			answered += strncmp(pair->side[B].sent[i], "ACK", 3) == 0;
		pair_forget(pair);
		pair->now_ns += 10000;
	}
	cr_expect_eq(answered, 1000);
	expect_counts(pair, B, CNT_PROBES_IGNORED, 0);
	close_agreed(pair);
}

/* Before each PROBE a packet has overtaken another: what the peer loses a little of all the time is no attack. */
Test(forged, all_probes_of_a_peer_with_gaps_are_answered)
{
	struct pair *pair = open_with((struct pair_options){ .receives = 0 });

	RULE("S-22");
	pair->now_ns = 5 * SECOND_NS;
	pair_cut(pair);
	for (uint32_t i = 0; i < 400; i++) {
		pair_request(pair, write_packet(pair, OP_WRITE_ONLY, 2 * i + 1, 0, 8, 8));
		pair_request(pair, (struct wire_packet){ .opcode = OP_PROBE,
							 .control_kind = WIRE_PROBE_KIND,
							 .probe_id = (uint16_t)(i + 1) });
		pair_request(pair, write_packet(pair, OP_WRITE_ONLY, 2 * i, 0, 8, 8));
		pair->now_ns += 20000;
		pair_forget(pair);
	}
	cr_expect_leq(pair->side[B].qp->kept.vain_probes, 1);
	expect_counts(pair, B, CNT_PROBES_IGNORED, 0);
	close_agreed(pair);
}
