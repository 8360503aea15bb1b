/* sack_flight.h - a QP with packets in flight whose peer tells by SACKs what has come, for the tests of sack.c */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UNIT_RC_SACK_FLIGHT_H
#define TEST_UNIT_RC_SACK_FLIGHT_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "rc/cc.h"
#include "rc/loss.h"
#include "rc/qp.h"
#include "rc/sack.h"
#include "rc/scoreboard.h"
#include "rc/spread.h"

#define SLOTS 16u
#define SLOT_BYTES 128u
#define MTU 16u
#define FIRST 0xFFFFFCu /* PSNs wrap within the flight */
#define NONE UINT32_MAX /* the packet before the first one */
#define BOARDS 3u
#define PATHS 4u
#define TIMEOUT_NS 67108864ull
#define T0 1000000ull
#define PLACES 16u
#define PLACE_BYTES 256u

static _Alignas(64) uint8_t slots[SLOTS * SLOT_BYTES + SLOTS * sizeof(struct rc_atomic_operands)];
static uint8_t frames[PLACES][PLACE_BYTES];
static uint8_t *places[PLACES];
static struct wire_frame_template frame;
static struct rc_outbox out;
static struct rc_mr_table no_keys;
static struct rc_boards pool;
static struct rc_board boards[BOARDS];
static struct rc_qp at;
static struct rc_qp *const qp = &at;

static inline psn_t psn_of(uint32_t index)
{
	return psn_make(FIRST + index);
}

/* ---- what is in flight ---- */

/* A request is posted. */
static inline struct rc_send_wqe *post(uint8_t opcode, uint32_t psns)
{
	struct rc_send_wqe *wqe = sendwin_slot(&qp->win, qp->win.tail++);

	wqe->opcode = opcode;
	wqe->needs = rc_ops[opcode].needs;
	wqe->flags = UROCE_SEND_INLINE;
	wqe->length_bytes = psns * MTU;
	return wqe;
}

/* A request is posted and leaves, with so many PSNs. */
static inline struct rc_send_wqe *send(uint8_t opcode, uint32_t psns)
{
	struct rc_send_wqe *wqe = post(opcode, psns);

	wqe->first_psn = qp->win.snd_max;
	wqe->psn_count = psns;
	qp->win.started = qp->win.cursor = qp->win.tail;
	qp->win.snd_nxt = qp->win.snd_max = psn_add(qp->win.snd_max, psns);
	return wqe;
}

/* The outbox is empty, and has room for so many frames. */
static inline void make_room(uint32_t room)
{
	const struct wire_encap encap = { .dest = { 10, 0, 0, 2 }, .source = { 10, 0, 0, 1 }, .dest_port = 4791 };

	wire_frame_prepare(&frame, &encap);
	for (uint32_t i = 0; i < PLACES; i++)
		places[PLACES - 1 - i] = frames[i];
	outbox_next_packets(&out, &frame, places + PLACES, room);
}

/* Nothing is in flight yet. */
static inline void open_idle(void)
{
	memset(qp, 0, sizeof(*qp));
	memset(slots, 0, sizeof(slots));
	memset(boards, 0xFF, sizeof(boards));
	boards_init(&pool, boards, BOARDS);
	rc_board_set_pool(qp, &pool);
	qp->state = UROCE_QPS_RTS;
	qp->mrs = &no_keys;
	qp->mtu_bytes = MTU;
	qp->mtu_shift = 4;
	qp->kept.window = WINDOW_PACKETS;
	qp->sack.newest = psn_of(NONE); /* what came last is acknowledged */
	qp->win.slots = slots;
	qp->win.slot_bytes = SLOT_BYTES;
	qp->win.mask = SLOTS - 1;
	qp->win.snd_una = qp->win.snd_nxt = qp->win.snd_max = psn_of(0);
	qp->loss.timeout_ns = TIMEOUT_NS;
	qp->loss.retry_cnt = qp->loss.rnr_retry = 7;
	rc_loss_reset(qp);
	ask_set_probes(qp, true);
	rc_cc_reset(qp);
	make_room(PLACES);
}

/* So many WRITEs of a packet have left. */
static inline void open_flight(uint32_t packets)
{
	open_idle();
	for (uint32_t i = 0; i < packets; i++)
		send(UROCE_WR_RDMA_WRITE, 1);
}

/* The same over PATHS paths in turn. */
static inline struct rc_spread *open_spread_flight(uint32_t packets)
{
	open_flight(packets);
	rc_spread_over(qp, PATHS);
	for (uint32_t i = 0; i < KEPT_SPAN; i++)
		spread_of(qp)->path_of[psn_of(i).v % KEPT_SPAN] = i % PATHS;
	return spread_of(qp);
}

/* The oldest `count` packets, each a request of its own, are acknowledged. */
static inline void acknowledge(uint32_t count)
{
	rc_sendwin_ack_through(&qp->win, psn_add(qp->win.snd_una, count));
	if (scoreboard_has_map(qp))
		rc_scoreboard_acknowledged(qp);
}

/* ---- what the peer tells ---- */

/* Everything before packet `cack` has come, and behind that what the map has a bit for: bit i is for packet i. */
static inline struct wire_packet sack_of(uint32_t cack, uint64_t map)
{
	return (struct wire_packet){
		.opcode = OP_SACK,
		.cack_psn = psn_previous(psn_of(cack)).v,
		.sack_offset = (uint16_t)(1 - (int)cack),
		.sack_bitmap = map,
		.ooo_count = (uint16_t)__builtin_popcountll(map),
	};
}

/* A SACK that no PROBE has drawn: packet `newest` was the last one to come. */
static inline void tell(uint32_t cack, uint32_t newest, uint64_t map)
{
	struct wire_packet sack = sack_of(cack, map);

	sack.ack_psn_offset = (uint16_t)(newest + 1 - cack);
	rc_sack_arrived(qp, &sack, T0);
}

/* A SACK that answers the PROBE of this id. */
static inline void answer(uint16_t id, uint32_t cack, uint64_t map)
{
	struct wire_packet sack = sack_of(cack, map);

	sack.control_kind = WIRE_SACK_OF_PROBE;
	sack.probe_id = id;
	rc_sack_arrived(qp, &sack, T0);
}

/* ---- what is known, and what leaves ---- */

/*
 * What is known of each packet in flight, up to 32: K it has come, L it is lost, S it was sent again, P so, and a PROBE
 * has left behind it. "none": there is no map.
 */
static inline const char *known(void)
{
	static char line[33];
	uint32_t count = sendwin_outstanding(&qp->win);

	if (!scoreboard_has_map(qp))
		return "none";
	memset(line, 0, sizeof(line));
	for (uint32_t i = 0; i < count && i < 32; i++) {
		uint32_t state = scoreboard_state(qp, psn_add(qp->win.snd_una, i));

		if (state & SACK_RESENT)
			line[i] = state & SACK_RESENT_SINCE ? 'S' : 'P';
		else
			line[i] = ".KL"[state];
	}
	return line;
}

/* The frames in the outbox, each as "OPCODE packet" or "PROBE id", and the outbox is empty again. */
static inline const char *left(void)
{
	static char line[512];
	uint32_t used = 0;

	line[0] = 0;
	for (uint32_t i = 0; i < out.packet_count; i++) {
		struct wire_packet packet = { 0 };
		uint32_t bytes = out.frame_bytes[i] - FRAME_BTH_AT;

		cr_assert_eq(wire_packet_parse(frames[i] + FRAME_BTH_AT, bytes, &packet), WIRE_PACKET_OK);
		used += (uint32_t)snprintf(
			line + used, sizeof(line) - used, "%s%s %u", i ? ", " : "", wire_opcode(packet.opcode)->name,
			packet.opcode == OP_PROBE ? packet.probe_id : psn_distance(psn_make(packet.psn), psn_of(0)));
	}
	make_room(PLACES);
	return line;
}

/* What is lost leaves again. Returns what has left. */
static inline const char *resend(void)
{
	rc_sack_resend(qp, T0, &out);
	return left();
}

/* A PROBE leaves. Returns its id; over several paths that of the last one. */
static inline uint16_t probe(enum rc_counter counter)
{
	rc_sack_probe(qp, counter, &out);
	left();
	return qp->sack.probe_id;
}

#endif
