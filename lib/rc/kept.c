/* kept.c - keeps requests that come before their turn, and tells the peer of them with SACKs */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/kept.h"

#include <string.h>

#include "rc/ack.h"
#include "rc/anomaly.h"
#include "rc/emit.h"
#include "rc/holes.h"
#include "rc/ports.h"
#include "rc/spread.h"

#define BLOCKS (KEPT_SPAN / KEPT_BLOCK)

static struct rc_kept_map *map_of(const struct rc_qp *qp)
{
	return &qp_board(qp, BOARD_KEPT)->kept;
}

static struct rc_store *store_of(const struct rc_qp *qp)
{
	return qp->borrowed.pool ? qp->borrowed.pool->store : NULL;
}

/* The first PSN of the block that psn lies in. */
static psn_t block_of(psn_t psn)
{
	return psn_make(psn.v & ~(KEPT_BLOCK - 1));
}

static uint32_t bit_of(psn_t psn)
{
	return 1u << (psn.v / KEPT_BLOCK % BLOCKS);
}

static uint16_t *slot_of(struct rc_kept_map *map, psn_t psn)
{
	return &map->packets[psn.v % KEPT_SPAN];
}

/* ---- the store ---- */

static uint32_t take_packet(struct rc_store *store)
{
	uint32_t index;

	if (store->free) {
		index = store->free - 1;
		store->free = store->packets[index].next;
	} else {
		index = store->touched++;
	}
	return index;
}

static void give_packet(struct rc_store *store, uint32_t index)
{
	store->packets[index].next = store->free;
	store->free = index + 1;
}

static void leave_list(struct rc_store *store, struct rc_board *board)
{
	struct rc_kept_map *map = &board->kept;

	if (map->older)
		map->older->kept.newer = map->newer;
	else
		store->oldest = map->newer;
	if (map->newer)
		map->newer->kept.older = map->older;
	else
		store->newest = map->older;
}

static void join_list(struct rc_store *store, struct rc_board *board)
{
	board->kept.older = store->newest;
	board->kept.newer = NULL;
	if (store->newest)
		store->newest->kept.newer = board;
	else
		store->oldest = board;
	store->newest = board;
}

static void release(struct rc_qp *qp, uint16_t *slot)
{
	give_packet(store_of(qp), *slot - 1u);
	share_peers_give(&store_of(qp)->kept, qp_board(qp, BOARD_KEPT)->peer, 1);
	*slot = 0;
	map_of(qp)->count--;
}

void rc_kept_forget(struct rc_qp *qp)
{
	struct rc_board *board = qp_board(qp, BOARD_KEPT);

	if (board == NULL)
		return;
	for (uint32_t i = 0; i < KEPT_SPAN && board->kept.count > 0; i++) {
		if (board->kept.packets[i])
			release(qp, &board->kept.packets[i]);
	}
	leave_list(store_of(qp), board);
	rc_board_return(qp, BOARD_KEPT);
}

/*
 * Would the QP get room if this board's QP gave up all packets that it keeps? A peer takes nothing from one that has
 * less than itself.
 */
static bool would_help(const struct rc_qp *qp, const struct rc_board *board)
{
	const struct share_peers *kept = &store_of(qp)->kept;
	uint16_t peer = rc_board_peer(qp);

	return kept->held[peer] <= kept->held[board->peer] &&
	       share_peers_allow_after(kept, board->peer, board->kept.count, peer, 1) &&
	       (qp_board(qp, BOARD_KEPT) || rc_board_may_borrow_after(qp, BOARD_KEPT, board->peer));
}

/*
 * The QP that has waited longest for its missing packet gives up all packets that it keeps, if it has waited for
 * KEPT_PATIENCE_NS. Returns false if it does not.
 */
static bool make_room(struct rc_qp *qp, uint64_t now_ns)
{
	const struct rc_board *oldest = store_of(qp)->oldest;

	if (oldest == NULL || oldest->kept.qp == qp || now_ns - oldest->kept.moved_ns < KEPT_PATIENCE_NS ||
	    !would_help(qp, oldest))
		return false;
	oldest->kept.qp->kept.gave_up = true;
	rc_kept_forget(oldest->kept.qp);
	return true;
}

static bool borrow(struct rc_qp *qp, uint64_t now_ns)
{
	struct rc_board *board;

	if (!rc_board_may_borrow(qp, BOARD_KEPT) && !make_room(qp, now_ns))
		return false;
	board = rc_board_take(qp, BOARD_KEPT);
	board->kept.qp = qp;
	board->kept.moved_ns = now_ns;
	board->kept.base = qp->responder.epsn;
	board->kept.count = 0;
	memset(board->kept.packets, 0, sizeof(board->kept.packets));
	join_list(store_of(qp), board);
	return true;
}

/* Takes the room for one more packet of the QP, which needs a board for its first one. */
static bool take_room(struct rc_qp *qp, uint64_t now_ns)
{
	struct share_peers *kept = &store_of(qp)->kept;
	uint16_t peer;

	if (qp_board(qp, BOARD_KEPT) == NULL && !borrow(qp, now_ns))
		return false;
	peer = qp_board(qp, BOARD_KEPT)->peer;
	if (!share_peers_allow(kept, peer, 1) && !make_room(qp, now_ns)) {
		rc_kept_remains(qp);
		return false;
	}
	share_peers_add(kept, peer, 1);
	return true;
}

/* ---- what an arrival may draw ---- */

/*
 * Refills the allowance: with a part of the bytes that arrive, `bytes` now and at least KEPT_REQUEST_BYTES for each PSN
 * that was executed since the last time, and slowly with time.
 */
static void refill(struct rc_qp *qp, uint32_t bytes, uint64_t now_ns)
{
	struct rc_kept *kept = &qp->kept;
	uint32_t now_ms = (uint32_t)(now_ns / 1000000);
	uint64_t arrived = bytes + (uint64_t)psn_distance(qp->responder.epsn, kept->paid) * KEPT_REQUEST_BYTES;
	uint64_t more = arrived * KEPT_ANSWER_PERCENT / 100 + (uint64_t)(now_ms - kept->paid_ms) * KEPT_FLOOR_BYTES_MS;

	more += kept->allowance;
	kept->allowance = more < KEPT_ALLOWANCE ? (uint16_t)more : KEPT_ALLOWANCE;
	kept->paid = qp->responder.epsn;
	kept->paid_ms = now_ms;
}

/* Pays for a frame. Returns false if the allowance does not suffice. */
static bool pay(struct rc_qp *qp, uint32_t bytes)
{
	if (qp->kept.allowance < bytes)
		return false;
	qp->kept.allowance -= (uint16_t)bytes;
	return true;
}

/* ---- what comes ---- */

void rc_kept_agree(struct rc_qp *qp, uint16_t window)
{
	qp->kept.window = window;
	qp->kept.allowance = KEPT_ALLOWANCE;
	qp->kept.paths = 1; /* the usual port */
}

void rc_kept_reset(struct rc_qp *qp)
{
	rc_kept_forget(qp);
	qp->kept = (struct rc_kept){ 0 };
}

/* Does the map reach to psn, which lies behind ePSN? */
static bool reaches(const struct rc_qp *qp, psn_t psn)
{
	return psn_distance(psn, block_of(qp->responder.epsn)) < KEPT_SPAN;
}

/* Is a packet at psn believed if it comes from this port? Only such packets are kept, and move `newest`. */
static bool port_allows(const struct rc_qp *qp, psn_t psn, uint16_t source_port)
{
	uint32_t index = ports_index(qp, source_port), ahead = psn_distance(psn, qp->responder.epsn);
	uint64_t paths = qp->kept.paths;

	return ahead <= KEPT_NEAR || (index < SPREAD_MOST && (paths >> index & 1) &&
				      ahead <= ports_reach((uint32_t)__builtin_popcountll(paths)));
}

void rc_kept_path_used(struct rc_qp *qp, uint16_t source_port)
{
	uint32_t index = ports_index(qp, source_port);

	if (ports_are_known(qp) && index < SPREAD_MOST)
		qp->kept.paths |= 1ull << index;
}

/* Has the packet at psn, which the map reaches to, come before its turn? */
static bool is_kept(const struct rc_qp *qp, psn_t psn)
{
	return qp_board(qp, BOARD_KEPT) && *slot_of(map_of(qp), psn) != 0;
}

/* The headers of a request as bytes, without what a copy that is sent again may change. Returns how many. */
static uint32_t write_headers(const struct wire_packet *packet, uint8_t headers[WIRE_HEADERS_MAX_BYTES])
{
	struct wire_packet plain = *packet;

	plain.flags &= WIRE_SOLICITED;
	plain.pkey = 0;
	return wire_packet_build(&plain, headers);
}

/* Do two packets with the same PSN request the same? */
static bool is_same_request(const struct wire_packet *a, const struct wire_packet *b)
{
	uint8_t headers[2][WIRE_HEADERS_MAX_BYTES];
	uint32_t bytes = write_headers(a, headers[0]);

	return bytes == write_headers(b, headers[1]) && memcmp(headers[0], headers[1], bytes) == 0 &&
	       a->payload_bytes == b->payload_bytes &&
	       (a->payload_bytes == 0 || memcmp(a->payload, b->payload, a->payload_bytes) == 0);
}

/*
 * A further copy of a kept packet arrived. If they differ one of them is forged, and nobody knows which one: both are
 * dropped, and the peer sends the packet again.
 */
static void compare_copies(struct rc_qp *qp, const struct wire_packet *packet, uint64_t now_ns)
{
	uint16_t *slot = slot_of(map_of(qp), psn_make(packet->psn));

	if (is_same_request(&store_of(qp)->packets[*slot - 1u].packet, packet))
		return;
	release(qp, slot);
	qp->counters[CNT_CONTRADICTION]++;
	rc_anomaly_raise(qp, now_ns);
}

/*
 * Keeps a copy of the packet if its port makes it believed. Returns false if the packet is kept already or cannot be
 * kept. A QP has a board only while it keeps something.
 */
static bool keep(struct rc_qp *qp, const struct wire_packet *packet, bool believed, uint64_t now_ns)
{
	psn_t psn = psn_make(packet->psn);
	struct rc_kept_packet *copy;
	uint16_t *slot;
	uint32_t index;

	if (store_of(qp) == NULL || packet->payload_bytes > LIMIT_MTU_BYTES || !reaches(qp, psn))
		return false;
	if (is_kept(qp, psn)) {
		compare_copies(qp, packet, now_ns);
		return false;
	}
	if (!believed || qp->kept.gave_up || !take_room(qp, now_ns))
		return false;
	slot = slot_of(map_of(qp), psn_make(packet->psn));
	index = take_packet(store_of(qp));
	copy = &store_of(qp)->packets[index];
	copy->packet = *packet;
	copy->packet.payload = copy->payload;
	if (packet->payload_bytes > 0)
		memcpy(copy->payload, packet->payload, packet->payload_bytes);
	*slot = (uint16_t)(index + 1);
	map_of(qp)->count++;
	return true;
}

/* The next SACKs tell of all blocks from the one with `from` to the one with `to`. */
static void tell_blocks(struct rc_kept *kept, psn_t from, psn_t to)
{
	uint32_t blocks = psn_distance(block_of(to), block_of(from)) / KEPT_BLOCK;

	for (uint32_t i = 0; i <= blocks && i < BLOCKS; i++)
		kept->news |= bit_of(psn_add(from, i * KEPT_BLOCK));
}

void rc_kept_offer(struct rc_qp *qp, const struct wire_packet *packet, uint16_t source_port, uint64_t now_ns)
{
	struct rc_kept *kept = &qp->kept;
	psn_t psn = psn_make(packet->psn), epsn = qp->responder.epsn;
	bool gap = qp->responder.nak_outstanding, believed = port_allows(qp, psn, source_port);

	if (kept->refused) {
		qp->counters[CNT_AFTER_NAK]++;
		return;
	}
	refill(qp, KEPT_REQUEST_BYTES + packet->payload_bytes, now_ns);
	if (keep(qp, packet, believed, now_ns)) {
		qp->counters[CNT_KEPT]++;
		rc_kept_path_used(qp, source_port);
	} else {
		qp->counters[CNT_AFTER_NAK]++;
	}
	if (!gap)
		kept->newest = epsn;
	if (believed && psn_before(kept->newest, psn) && reaches(qp, psn)) {
		tell_blocks(kept, kept->newest, psn);
		kept->newest = psn;
	}
	if (gap && !(believed && reaches(qp, psn))) /* the SACKs of this gap do not tell of it */
		return;
	kept->news |= bit_of(psn);
	ack_sack_is_due(&qp->responder.ack);
}

void rc_kept_probed(struct rc_qp *qp, const struct wire_packet *packet, uint64_t now_ns)
{
	struct rc_kept *kept = &qp->kept;
	uint32_t paths;

	if (qp->responder.ack.due & WORK_NAK) /* the NAK answers the PROBE */
		return;
	if (!psn_equal(kept->probed_at, qp->responder.epsn))
		kept->vain_probes = 0;
	kept->probed_at = qp->responder.epsn;
	kept->vain_probes += kept->vain_probes < UINT16_MAX;
	paths = (uint32_t)__builtin_popcountll(kept->paths);
	refill(qp, kept->vain_probes > KEPT_VAIN_PROBES * paths ? 0 : KEPT_PROBE_BYTES, now_ns);
	if (!pay(qp, KEPT_ACK_BYTES)) {
		/* an honest peer with many paths may send a PROBE over each of them */
		if (qp->counters[CNT_PROBES_IGNORED]++ % paths == 0)
			rc_anomaly_note(qp, now_ns);
		return;
	}
	if (qp_spreads(qp)) /* PROBEs over several paths may come together, and each is answered */
		rc_spread_probed(qp, kept->probed ? kept->probe_id : 0);
	kept->probed = true;
	kept->probe_id = packet->probe_id;
	kept->news = UINT32_MAX;
	ack_sack_is_due(&qp->responder.ack);
	ack_asked_for(&qp->responder.ack);
}

/* ---- their turn ---- */

const struct wire_packet *rc_kept_next(struct rc_qp *qp)
{
	psn_t epsn = qp->responder.epsn;
	struct rc_kept_map *map;
	uint32_t passed;

	if (qp_board(qp, BOARD_KEPT) == NULL)
		return NULL;
	map = map_of(qp);
	passed = psn_distance(epsn, map->base);
	for (uint32_t i = 0; i < passed && i < KEPT_SPAN; i++) {
		uint16_t *slot = slot_of(map, psn_add(map->base, i));

		if (*slot)
			release(qp, slot);
	}
	map->base = epsn;
	if (*slot_of(map, epsn) == 0)
		return NULL;
	return &store_of(qp)->packets[*slot_of(map, epsn) - 1u].packet;
}

void rc_kept_filled(struct rc_qp *qp, uint64_t now_ns)
{
	struct rc_board *board = qp_board(qp, BOARD_KEPT);

	qp->kept.refused = qp->kept.chosen = qp->kept.gave_up = false;
	refill(qp, 0, now_ns);
	if (board == NULL)
		return;
	board->kept.moved_ns = now_ns;
	leave_list(store_of(qp), board);
	join_list(store_of(qp), board);
}

void rc_kept_closed(struct rc_qp *qp)
{
	if (qp->kept.probed)
		return;
	qp->kept.chosen = false;
	qp->kept.news = 0;
	ack_sack_said(&qp->responder.ack);
}

bool rc_kept_remains(struct rc_qp *qp)
{
	if (qp_board(qp, BOARD_KEPT) && map_of(qp)->count == 0)
		rc_kept_forget(qp);
	return qp_board(qp, BOARD_KEPT) != NULL;
}

void rc_kept_refused(struct rc_qp *qp)
{
	rc_kept_forget(qp);
	qp->kept.refused = true;
	qp->kept.chosen = false;
	qp->kept.news = 0;
	ack_sack_said(&qp->responder.ack);
}

/* ---- SACKs ---- */

/* Has something come behind a missing packet? Behind a refused packet nothing counts as come. */
static bool has_gap(const struct rc_qp *qp)
{
	return qp->responder.nak_outstanding && !qp->kept.refused;
}

/* Bit i: the packet at first + i has come. */
static uint64_t bitmap_of(const struct rc_qp *qp, psn_t first)
{
	uint64_t bits = 0;

	for (uint32_t i = 0; i < KEPT_BLOCK; i++) {
		psn_t psn = psn_add(first, i);
		bool came = psn_before(psn, qp->responder.epsn) || (reaches(qp, psn) && is_kept(qp, psn));

		bits |= (uint64_t)came << i;
	}
	return bits;
}

static uint16_t signed_16(uint32_t distance)
{
	return distance < INT16_MAX ? (uint16_t)distance : INT16_MAX;
}

/* Writes the SACK that tells of the block at `first`. */
static void add_sack(struct rc_qp *qp, psn_t first, struct rc_outbox *out)
{
	const struct rc_kept *kept = &qp->kept;
	psn_t cack = psn_previous(qp->responder.epsn);
	bool gap = has_gap(qp);
	uint32_t count = qp_board(qp, BOARD_KEPT) ? map_of(qp)->count : 0;
	struct wire_packet packet = {
		.opcode = OP_SACK,
		.control_kind = kept->probed ? WIRE_SACK_OF_PROBE : 0,
		.ack_psn_offset = kept->probed ? kept->probe_id : signed_16(gap ? psn_distance(kept->newest, cack) : 0),
		.entropy = path_source_port(qp->dest_qpn, qp->qpn),
		.source_id = (uint16_t)qp->qpn,
		.dest_id = (uint16_t)qp->dest_qpn,
		.cack_psn = cack.v,
		.sack_offset = (uint16_t)(first.v - cack.v),
		.sack_bitmap = bitmap_of(qp, first),
		.ooo_count = (uint16_t)count,
	};

	emit_packet(qp, &packet, cack, out);
}

/*
 * Adds blocks without news to those that SACKs tell of, because a SACK may be lost, and its block may not change again.
 * The block of the missing packet at ePSN comes each time, since most depends on it; every other time one of the other
 * blocks comes as well, in their order, as RFC 2018 repeats its blocks. So while packets come everything is told again
 * within 2 * BLOCKS calls.
 */
static void choose_repeats(struct rc_kept *kept, psn_t first, uint32_t blocks)
{
	uint32_t next;

	if (kept->chosen)
		return;
	kept->chosen = true;
	kept->news |= bit_of(first);
	kept->elsewhere = !kept->elsewhere && blocks > 2;
	if (!kept->elsewhere)
		return;
	next = (kept->repeated - first.v / KEPT_BLOCK) % BLOCKS + 1; /* counted from the first block */
	kept->repeated = (uint8_t)((first.v / KEPT_BLOCK + (next < blocks ? next : 1)) % BLOCKS);
	kept->news |= 1u << kept->repeated;
}

/* Writes a SACK for each block that has news or is to be repeated. Returns false if there is no room for all. */
static bool say_once(struct rc_qp *qp, struct rc_outbox *out)
{
	struct rc_kept *kept = &qp->kept;
	psn_t first = block_of(qp->responder.epsn), end = has_gap(qp) ? kept->newest : first;
	uint32_t blocks = psn_distance(block_of(end), first) / KEPT_BLOCK + 1;

	if (blocks < 2 && kept->probed)
		/*
		 * if the end of a flight was lost nothing behind ePSN has come: a SACK of the second block shows that
		 * its packets are missing, too
		 */
		blocks = 2;
	choose_repeats(kept, first, blocks);
	for (uint32_t i = 0; i < blocks && i < BLOCKS; i++) {
		psn_t block = psn_add(first, i * KEPT_BLOCK);

		if (!(kept->news & bit_of(block)))
			continue;
		if (!outbox_has_packet_room(out))
			return false;
		if (!pay(qp, KEPT_SACK_BYTES)) /* later arrivals pay for further SACKs */
			break;
		add_sack(qp, block, out);
		kept->news &= ~bit_of(block);
	}
	kept->news = 0;
	kept->probed = kept->chosen = false;
	return true;
}

/*
 * Takes the next PROBE that waits for its answer: it came over another path than the last. Returns false if no PROBE
 * waits.
 */
static bool turn_to_next_probe(struct rc_qp *qp, struct rc_outbox *out)
{
	struct rc_kept *kept = &qp->kept;
	uint16_t id = qp_spreads(qp) ? rc_spread_next_probe(qp, out) : 0;

	if (id == 0)
		return false;
	kept->probed = true;
	kept->probe_id = id;
	kept->news = UINT32_MAX;
	return true;
}

bool rc_kept_say(struct rc_qp *qp, struct rc_outbox *out)
{
	do {
		if (!say_once(qp, out))
			return false;
	} while (turn_to_next_probe(qp, out));
	if (qp_spreads(qp))
		rc_spread_answers(qp, out);
	ack_sack_said(&qp->responder.ack);
	return true;
}
