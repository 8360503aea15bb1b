/* sack.c - fuzz target: forged SACKs, PROBEs, CNPs and reports at SACK ends; they complete, lose nothing */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two ends at work over a bad wire, as in life.c, and somebody between them who knows all but what has happened: he
 * tells each end what he likes in the name of the other. A SACK that tells of what cannot be is dropped and counted,
 * and changes nothing; one that can be moves neither snd_una nor completions, whatever it tells. A CNP changes nothing
 * but the rate. In the end every request has completed, and what succeeded has its data at the peer.
 */
#include <string.h>

#include "rc/ask.h"
#include "rc/cc.h"
#include "rc/emit.h"
#include "rc/kept.h"
#include "rc/loss.h"
#include "rc/ports.h"
#include "rc/scoreboard.h"
#include "work.h"

#define STORED 24u /* few, so that the store is full at times */

static void agree(struct work *work, struct rc_store stores[2], struct rc_kept_packet packets[2][STORED])
{
	for (int i = 0; i < 2; i++) {
		struct side *side = &work->pair->side[i];

		rc_store_init(&stores[i], packets[i], STORED);
		side->pool.store = &stores[i];
		rc_kept_agree(side->qp, WINDOW_PACKETS);
		rc_ports_expect(side->qp);
	}
}

/* ---- what is forged ---- */

static int32_t take_near(struct input *input, int32_t most)
{
	uint8_t choice = input_byte(input);

	return choice < 224 ? (int32_t)choice % (2 * most) - most : (int16_t)input_bytes(input, 2);
}

static struct wire_packet take_sack(const struct rc_qp *qp, struct input *input)
{
	uint8_t shape = input_byte(input);
	struct wire_packet sack = { .opcode = OP_SACK, .payload = (const uint8_t *)"" };
	uint32_t flight = sendwin_outstanding(&qp->win);
	int32_t first;

	sack.cack_psn = (qp->win.snd_una.v - 1 + (shape & 1 ? (uint32_t)take_near(input, 16) : 0)) & PSN_MASK;
	first = shape & 2 ? take_near(input, 80) : 1;
	sack.sack_offset = (uint16_t)first;
	sack.sack_bitmap = input_bytes(input, 2);
	if (shape & 4)
		sack.sack_bitmap = sack.sack_bitmap << 48 | input_bytes(input, 6);
	if (!(shape & 8) && flight < 64) /* only what is in flight, so that more of them are believed */
		sack.sack_bitmap &= ((uint64_t)1 << flight) - 1;
	sack.ack_psn_offset =
		shape & 16 ? (uint16_t)take_near(input, 16) : (uint16_t)(input_byte(input) % (flight + 1));
	if (shape & 32) {
		sack.control_kind = WIRE_SACK_OF_PROBE;
		sack.probe_id = shape & 64 ? input_byte(input) : qp->sack.probe_id;
	}
	if ((shape & 0xC8) == 0xC8)
		sack.control_kind |= (uint16_t)(1u << (input_byte(input) & 15));
	return sack;
}

/* ---- what may be believed, said once more in other words ---- */

/* How far psn lies behind snd_una, or before it. */
static int32_t from_una(const struct rc_qp *qp, uint32_t psn)
{
	return (int32_t)((psn - qp->win.snd_una.v) << 8) >> 8;
}

static bool in_flight_or_before(const struct rc_qp *qp, uint32_t psn)
{
	return from_una(qp, psn) < (int32_t)sendwin_outstanding(&qp->win);
}

static bool may_be(const struct rc_qp *qp, const struct wire_packet *sack)
{
	if ((sack->control_kind & WIRE_SACK_FORM) || !in_flight_or_before(qp, sack->cack_psn) ||
	    from_una(qp, sack->cack_psn) < -1 - (int32_t)qp->win.behind)
		return false;
	if (!(sack->control_kind & WIRE_SACK_OF_PROBE) &&
	    !in_flight_or_before(qp, sack->cack_psn + (uint32_t)(int16_t)sack->ack_psn_offset))
		return false;
	for (uint32_t i = 0; i < 64; i++) {
		if ((sack->sack_bitmap >> i & 1) &&
		    !in_flight_or_before(qp, sack->cack_psn + (uint32_t)(int16_t)sack->sack_offset + i))
			return false;
	}
	return true;
}

/* ---- what may be drawn ---- */

#define FRONT_BYTES 42u /* of an IPv4 frame, before the BTH */

static struct drawn {
	uint64_t in_bytes, sack_bytes;
	uint32_t first_psn;
} drawn[2];

static void count_bytes(struct pair *pair, enum side_name at, enum side_name from, const struct wire_packet *packet)
{
	(void)pair;
	if (at != from)
		drawn[at].in_bytes += FRONT_BYTES + packet_bytes(packet);
	else if (packet->opcode == OP_SACK)
		drawn[at].sack_bytes += FRONT_BYTES + packet_bytes(packet);
}

/*
 * SACKs have at most one and a half times the bytes that arrive, besides those of executed PSNs and a few per second.
 */
static void check_drawn(const struct work *work, enum side_name side)
{
	const struct rc_qp *qp = work->pair->side[side].qp;
	uint64_t executed = (qp->responder.epsn.v - drawn[side].first_psn) & PSN_MASK;

	MUST(drawn[side].sack_bytes <= (drawn[side].in_bytes + executed * KEPT_REQUEST_BYTES) * 3 / 2 + KEPT_ALLOWANCE +
					       work->pair->now_ns / 1000000 * KEPT_FLOOR_BYTES_MS);
}

/* Nothing is known of what is not in flight, and what is lost is counted. */
static void check_map(const struct rc_qp *qp)
{
	uint32_t lost = 0;

	for (uint32_t i = 0; scoreboard_has_map(qp) && i < KEPT_SPAN; i++) {
		uint16_t state = scoreboard_state(qp, psn_add(qp->win.snd_una, i));

		MUST(state == SACK_IN_FLIGHT || i < sendwin_outstanding(&qp->win));
		lost += state == SACK_LOST;
	}
	MUST(!scoreboard_has_map(qp) || qp_board(qp, BOARD_SACK)->sack.lost == lost);
}

/* What is stored is in the map of the QP, before its turn, and no more than there is room for. */
static void check_store(const struct side *side)
{
	const struct rc_board *board = qp_board(side->qp, BOARD_KEPT);
	uint32_t count = 0;

	for (uint32_t i = 0; board && i < KEPT_SPAN; i++)
		count += board->kept.packets[i] != 0;
	MUST(count == (board ? board->kept.count : 0) && count == side->pool.store->kept.pool.used && count <= STORED);
	MUST((side->pool.store->oldest != NULL) == (board != NULL));
}

static void forge_sack(struct work *work, enum side_name name, struct input *input)
{
	struct side *side = &work->pair->side[name];
	struct rc_qp *qp = side->qp;
	struct wire_packet sack = take_sack(qp, input);
	const struct rc_sendwin win = qp->win;
	const struct rc_sack told = qp->sack;
	const struct rc_loss loss = qp->loss;
	uint32_t done = side->done_count;
	uint64_t bad = qp->counters[CNT_BAD_SACK];
	bool right = may_be(qp, &sack), listens = qp->state == UROCE_QPS_RTS || qp->state == UROCE_QPS_SQD;

	pair_inject(work->pair, name, sack);
	MUST(side->done_count == done && psn_equal(qp->win.snd_una, win.snd_una) && qp->win.acked == win.acked);
	MUST(psn_equal(qp->win.snd_max, win.snd_max) && qp->loss.retries_left >= loss.retries_left);
	MUST(!listens || qp->counters[CNT_BAD_SACK] == bad + !right);
	if (!right)
		MUST(memcmp(&told, &qp->sack, sizeof(told)) == 0 && memcmp(&loss, &qp->loss, sizeof(loss)) == 0);
	check_map(qp);
}

/* A PROBE asks for no more than SACKs and an ACK. */
static void forge_probe(struct work *work, enum side_name name, struct input *input)
{
	struct side *side = &work->pair->side[name];
	const struct rc_responder resp = side->qp->responder;
	uint32_t done = side->done_count, used = side->pool.store->kept.pool.used;

	pair_inject(work->pair, name,
		    (struct wire_packet){
			    .opcode = OP_PROBE,
			    .control_kind = WIRE_PROBE_KIND,
			    .probe_id = input_byte(input),
			    .payload = (const uint8_t *)"",
		    });
	MUST(side->done_count == done && side->pool.store->kept.pool.used == used);
	MUST(psn_equal(side->qp->responder.epsn, resp.epsn) && side->qp->responder.msn == resp.msn);
}

/* Slows the sender down, no matter how often it comes; what is in flight, and its retries, stay as they are. */
static void forge_cnp(struct work *work, enum side_name name)
{
	const struct wire_packet cnp = { .opcode = OP_CNP, .flags = WIRE_BECN, .payload = (const uint8_t *)"" };
	const struct rc_qp *qp = work->pair->side[name].qp;
	const struct rc_sendwin win = qp->win;
	const struct rc_loss loss = qp->loss;
	const uint64_t handled = qp->counters[CNT_CNP_HANDLED];
	const uint8_t state = qp->state;

	pair_inject(work->pair, name, cnp);
	MUST(memcmp(&win, &qp->win, sizeof(win)) == 0 && memcmp(&loss, &qp->loss, sizeof(loss)) == 0);
	MUST(qp->state == state && qp->counters[CNT_CNP_HANDLED] <= handled + 1);
	MUST(qp->cc.algorithm == UROCE_CC_DCQCN || qp->pace.mbps == 0);
}

/* A report that the peer's lcore was away changes a text, and draws an ACK (C-33). */
static void forge_report(struct work *work, enum side_name name, struct input *input)
{
	struct rc_qp *qp = work->pair->side[name].qp;
	const struct rc_responder resp = qp->responder;
	const struct rc_sendwin win = qp->win;
	const struct rc_loss loss = qp->loss;
	uint32_t psn = (resp.epsn.v - 1u - input_byte(input)) & PSN_MASK;

	pair_inject(work->pair, name,
		    (struct wire_packet){
			    .opcode = OP_WRITE_ONLY,
			    .flags = WIRE_ACKREQ,
			    .psn = psn,
			    .va = input_bytes(input, 3),
			    .rkey = EMIT_AWAY_RKEY,
			    .payload = (const uint8_t *)"",
		    });
	MUST(memcmp(&win, &qp->win, sizeof(win)) == 0 && memcmp(&loss, &qp->loss, sizeof(loss)) == 0);
	MUST(psn_equal(qp->responder.epsn, resp.epsn) && qp->responder.msn == resp.msn);
	MUST(qp->peer_away_ms <= ASK_AWAY_MS_MAX && qp->peer_away_at_ns <= work->pair->now_ns);
}

static void take_step(struct work *work, struct input *input)
{
	uint8_t what = input_byte(input);
	enum side_name side = what & 1 ? B : A;

	switch (what >> 1 & 15) {
	case 0:
	case 1:
		work_post(work, side, input, false);
		break;
	case 2:
		work_receive(work, side);
		break;
	case 3:
	case 4:
		work_transmit(work, side, 1u + (what >> 5) * 4);
		break;
	case 5:
	case 6:
		work_deliver_train(work, side, 1u + (what >> 5) * 4);
		break;
	case 7:
		work_deliver(work, side, input_byte(input));
		break;
	case 8:
		work_drop(work, side, input_byte(input));
		break;
	case 9:
		work_double(work, side, input_byte(input));
		break;
	case 10:
		work_expire(work);
		break;
	case 11:
		forge_probe(work, side, input);
		break;
	case 12: /* what it keeps is dropped, as for another QP that needs the room; or an lcore was away */
		if (what >= 0xC0)
			rc_kept_forget(work->pair->side[side].qp);
		else if (what >= 0x80)
			rc_ask_report_away(work->pair->side[side].qp, 1u + input_byte(input));
		else if (what >= 0x40)
			forge_report(work, side, input);
		work->pair->now_ns += (what >> 5) * 30000u;
		break;
	case 14:
		forge_cnp(work, side);
		break;
	default:
		forge_sack(work, side, input);
		break;
	}
	work->pair->now_ns += 1000;
}

/* Whoever has not failed knows of nothing that is missing, and keeps nothing, unless the peer has failed. */
static void check_ends(const struct work *work)
{
	const struct side *sides = work->pair->side;
	bool failed = sides[A].qp->state == UROCE_QPS_ERR || sides[B].qp->state == UROCE_QPS_ERR;

	for (int i = 0; i < 2; i++) {
		MUST(!scoreboard_has_map(sides[i].qp));
		MUST(failed || qp_board(sides[i].qp, BOARD_KEPT) == NULL);
		check_store(&sides[i]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct work work;
	static struct rc_store stores[2];
	static struct rc_kept_packet packets[2][STORED];
	struct input input = { data, data + size };

	if (size < 4 || size > 2048)
		return 0;
	work_open(&work, &input, true);
	agree(&work, stores, packets);
	memset(drawn, 0, sizeof(drawn));
	for (int i = 0; i < 2; i++) {
		struct rc_qp *qp = work.pair->side[i].qp;

		drawn[i].first_psn = qp->responder.epsn.v;
		rc_cc_choose(qp, data[size - 1] & 2 ? UROCE_CC_DCQCN : UROCE_CC_FIXED);
	}
	work.pair->tap = count_bytes;
	if (data[size - 1] & 1) /* few kept packets are executed in one call */
		work.pair->crowd = OUTBOX_COMPLETIONS - OUTBOX_RECEIVE_COMPLETIONS - (data[size - 1] >> 6);
	while (!input_is_over(&input)) {
		take_step(&work, &input);
		work_look(&work);
		check_store(&work.pair->side[A]);
		check_store(&work.pair->side[B]);
		check_drawn(&work, A);
		check_drawn(&work, B);
	}
	work_settle(&work);
	work_check(&work);
	check_ends(&work);
	work_close(&work);
	return 0;
}
