/* scoreboard_orders.c - small windows: the orders in which packets arrive, are lost, are repeated and are sent again */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Up to six packets leave over one path or over two in turn. From there every order of events is tried:
 *   - the oldest frame of a path arrives; or is lost; or arrives, and once more later;
 *   - the oldest answer of the peer arrives, or is lost, or only its ACK or its SACK arrives;
 *   - packets that are called lost leave again, or a new packet leaves;
 *   - everything is sent again from the oldest packet on, as after a time-out;
 *   - when nothing is under way any more the timer sends PROBEs.
 * A model that sees the network judges: a packet is called lost only if its last copy was lost; and it is called lost
 * when a SACK tells of a first copy that left later over the same path. In the end all packets have come. States that
 * were met before are not followed again.
 *
 * Time stands still, and answers stay in order. What waits, marks of time and overtaken SACKs tell is tried in
 * scoreboard.c, and by the simulator.
 */
#include <stdlib.h>

#include "rc/flight.h"
#include "rule.h"
#include "sack_flight.h"

#define WINDOW_MOST 6u
#define QUEUE_MOST 24u
#define WAYS 2u
#define IS_PROBE 0x8000u
#define PACKET_BITS 3u
#define PACKET_MASK ((1u << PACKET_BITS) - 1)
#define TIMERS_MOST 8u /* in a row without an event of the network */
#define TABLE (1u << 22)

enum fate { UNDER_WAY, CAME, DROPPED };

struct peer_answer {
	uint8_t cack, map;
	uint16_t probe; /* id, or 0 */
};

/* What the model knows; it is small, and is hashed as a whole. */
struct network {
	/* the low bits are a packet and the others number its copies; or IS_PROBE and the PROBE's id */
	uint16_t frames[WAYS][QUEUE_MOST];
	struct peer_answer answers[QUEUE_MOST];
	uint8_t frame_count[WAYS], answer_count;
	uint8_t got;                            /* bit i: the peer has packet i */
	uint8_t copies[WINDOW_MOST];            /* how many have left */
	uint8_t fate[WINDOW_MOST];              /* of the last copy */
	uint8_t drops, repeats, rewinds, later; /* how often that may still happen; new packets that may still leave */
	uint8_t timers;                         /* since a packet last came */
	uint8_t packets, ways;
	/* of the last copy: when it left, counted in copies, and over which path */
	uint8_t left_at[WINDOW_MOST], way[WINDOW_MOST];
	uint8_t leaves;
};

struct moment {
	struct network net;
	struct rc_qp qp;
	struct rc_board boards[BOARDS];
	struct rc_boards pool;
};

static struct network net;
static uint64_t *met;
static uint64_t moments;
static char trace[64][24];
static uint32_t depth;

/* ---- moments ---- */

static void keep(struct moment *moment)
{
	moment->net = net;
	moment->qp = *qp;
	memcpy(moment->boards, boards, sizeof(boards));
	moment->pool = pool;
}

static void go_back(const struct moment *moment)
{
	net = moment->net;
	*qp = moment->qp;
	memcpy(boards, moment->boards, sizeof(boards));
	pool = moment->pool;
}

static void mix(uint64_t *hash, const void *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		*hash = (*hash ^ ((const uint8_t *)bytes)[i]) * 0x100000001B3;
	*hash ^= *hash >> 29;
}

/* Everything that decides what comes next. */
static uint64_t hash_of_now(void)
{
	uint64_t hash = 0xCBF29CE484222325;
	uint32_t una = psn_distance(qp->win.snd_una, psn_of(0));

	mix(&hash, &net, sizeof(net));
	mix(&hash, &una, sizeof(una));
	mix(&hash, &qp->sack.newest, sizeof(psn_t));
	mix(&hash, &qp->flight_past.rewind_limit, sizeof(psn_t));
	mix(&hash, &qp->sack.probe_end, sizeof(psn_t));
	mix(&hash, &qp->sack.probe_id, sizeof(uint16_t));
	mix(&hash, &(bool){ qp->sack.probing }, sizeof(bool));
	mix(&hash, &qp->flight_past.repeats, sizeof(bool));
	if (scoreboard_has_map(qp)) {
		mix(&hash, &qp_board(qp, BOARD_SACK)->sack, offsetof(struct rc_sack_map, states));
		for (uint32_t i = 0; i < net.packets; i++)
			mix(&hash, &qp_board(qp, BOARD_SACK)->sack.states[psn_of(i).v % KEPT_SPAN], sizeof(uint16_t));
	}
	if (qp_spreads(qp)) {
		const struct rc_spread *spread = spread_of(qp);

		mix(&hash, spread->paths, WAYS * sizeof(spread->paths[0]));
		mix(&hash, &spread->seen, sizeof(psn_t));
		mix(&hash,
		    &(uint8_t[]){ spread->next, spread->turns, spread->answer_path, spread->asked, spread->suspects,
				  spread->patient, spread->seen_is_known },
		    7);
		for (uint32_t i = 0; i < net.packets; i++)
			mix(&hash, &spread->path_of[psn_of(i).v % KEPT_SPAN], 1);
	}
	return hash ? hash : 1;
}

/* Has this moment not been met before? */
static bool is_new(void)
{
	uint64_t hash = hash_of_now(), place = hash % TABLE;

	while (met[place] && met[place] != hash)
		place = (place + 1) % TABLE;
	if (met[place] == hash)
		return false;
	met[place] = hash;
	moments++;
	cr_assert_lt(moments, TABLE / 2);
	return true;
}

static const char *history(void)
{
	static char text[64 * 24];

	text[0] = 0;
	for (uint32_t i = 0; i < depth && i < 64; i++)
		strcat(strcat(text, i ? ", " : ""), trace[i]);
	return text;
}

static void note_event(const char *what, uint32_t which)
{
	if (depth < 64)
		snprintf(trace[depth], sizeof(trace[0]), "%s %u", what, which);
	depth++;
}

/* ---- the requester ---- */

static uint32_t way_of(uint32_t packet)
{
	return qp_spreads(qp) ? spread_index_of(spread_of(qp), psn_of(packet)) : 0;
}

static void put(uint32_t way, uint16_t what)
{
	cr_assert_lt(net.frame_count[way], QUEUE_MOST, "%s", history());
	net.frames[way][net.frame_count[way]++] = what;
}

/* A copy of the packet leaves over its path. */
static void put_packet(uint32_t packet)
{
	put(way_of(packet), (uint16_t)(packet | (uint32_t)++net.copies[packet] << PACKET_BITS));
	net.fate[packet] = UNDER_WAY;
	net.left_at[packet] = ++net.leaves;
	net.way[packet] = (uint8_t)way_of(packet);
}

/* The frames that have been written leave. */
static void send_frames(void)
{
	for (uint32_t i = 0; i < out.packet_count; i++) {
		struct wire_packet packet = { 0 };
		uint32_t bytes = out.frame_bytes[i] - FRAME_BTH_AT;

		cr_assert_eq(wire_packet_parse(frames[i] + FRAME_BTH_AT, bytes, &packet), WIRE_PACKET_OK);
		if (packet.opcode == OP_PROBE)
			put(qp_spreads(qp) ? packet.probe_id & SPREAD_INDEX : 0, IS_PROBE | packet.probe_id);
		else
			put_packet(psn_distance(psn_make(packet.psn), psn_of(0)));
	}
	make_room(PLACES);
}

/* Has a first copy come that left later over the same path, as the map tells? */
static bool was_overtaken(uint32_t packet, uint8_t map)
{
	for (uint32_t i = packet + 1; i < net.packets; i++) {
		if ((map >> i & 1) && net.copies[i] == 1 && net.way[i] == net.way[packet] &&
		    net.left_at[i] > net.left_at[packet])
			return true;
	}
	return false;
}

/* A SACK with this map, or 0, was taken. */
static void check(uint8_t map)
{
	for (uint32_t i = psn_distance(qp->win.snd_una, psn_of(0)); i < net.packets; i++) {
		bool lost = scoreboard_has_map(qp) && scoreboard_state(qp, psn_of(i)) == SACK_LOST;

		cr_assert(!lost || net.fate[i] == DROPPED, "packet %u of %u, %u paths, is not lost: %s", i, net.packets,
			  net.ways, history());
		cr_assert(lost || map == 0 || (map >> i & 1) || net.fate[i] != DROPPED || !was_overtaken(i, map),
			  "packet %u of %u, %u paths, is lost: %s", i, net.packets, net.ways, history());
	}
}

/* Of an answer, an ACK or a SACK may be lost. */
static void take_answer(struct peer_answer got, bool ack, bool sack)
{
	uint32_t una = psn_distance(qp->win.snd_una, psn_of(0));

	if (ack && got.cack > una) {
		rc_sendwin_ack_through(&qp->win, psn_of(got.cack));
		qp->flight.rewound = false;
		rc_flight_copies_acknowledged(qp);
		if (scoreboard_has_map(qp))
			rc_scoreboard_acknowledged(qp);
	}
	if (sack && got.probe)
		answer(got.probe & (uint16_t)~IS_PROBE, got.cack, got.map);
	else if (sack && got.map)
		tell(got.cack, 31u - (uint32_t)__builtin_clz(got.map), got.map);
	check(sack ? got.map : 0);
}

static bool has_lost(void)
{
	return scoreboard_has_map(qp) && qp_board(qp, BOARD_SACK)->sack.lost > 0;
}

/* A packet that was not in flight leaves. */
static void send_new(void)
{
	uint32_t packet = net.packets++;

	send(UROCE_WR_RDMA_WRITE, 1);
	if (qp_spreads(qp))
		spread_leaves(qp, psn_of(packet), &out);
	put_packet(packet);
}

/* The window was rewound, and all packets from the oldest on leave once more. */
static void rewind_all(void)
{
	rc_loss_go_back(qp);
	for (uint32_t i = psn_distance(qp->win.snd_una, psn_of(0)); i < net.packets; i++) {
		if (qp_spreads(qp))
			spread_leaves(qp, psn_of(i), &out);
		put_packet(i);
	}
	flight_go_to(qp, qp->win.snd_max);
}

/* ---- the peer ---- */

static void arrive(uint16_t what)
{
	struct peer_answer given = { .probe = what & IS_PROBE ? what : 0 };

	if (!(what & IS_PROBE)) {
		net.timers = net.got >> (what & PACKET_MASK) & 1 ? net.timers : 0;
		if (net.copies[what & PACKET_MASK] == what >> PACKET_BITS)
			net.fate[what & PACKET_MASK] = CAME;
		net.got |= (uint8_t)(1u << (what & PACKET_MASK));
	}
	while (given.cack < net.packets && (net.got >> given.cack & 1))
		given.cack++;
	given.map = (uint8_t)(net.got >> given.cack << given.cack);
	cr_assert_lt(net.answer_count, QUEUE_MOST);
	net.answers[net.answer_count++] = given;
}

/* ---- every order ---- */

static void follow(void);

static void then(const struct moment *moment, uint32_t before)
{
	if (is_new())
		follow();
	go_back(moment);
	depth = before;
}

/* Takes the oldest frame of a path. */
static uint16_t take_frame(uint32_t way)
{
	uint16_t what = net.frames[way][0];

	net.frame_count[way]--;
	memmove(net.frames[way], net.frames[way] + 1, sizeof(net.frames[way]) - sizeof(what));
	net.frames[way][QUEUE_MOST - 1] = 0;
	return what;
}

static void lose(uint16_t what)
{
	uint32_t packet = what & PACKET_MASK;

	net.drops--;
	if (!(what & IS_PROBE) && net.fate[packet] == UNDER_WAY && net.copies[packet] == what >> PACKET_BITS)
		net.fate[packet] = DROPPED;
}

static struct peer_answer pop_answer(void)
{
	struct peer_answer first = net.answers[0];

	net.answer_count--;
	memmove(net.answers, net.answers + 1, sizeof(net.answers) - sizeof(first));
	memset(&net.answers[QUEUE_MOST - 1], 0, sizeof(first));
	return first;
}

static void follow_frame(const struct moment *moment, uint32_t way, uint32_t before)
{
	uint16_t what = net.frames[way][0];

	note_event("came", what);
	arrive(take_frame(way));
	then(moment, before);
	if (net.drops > 0) {
		note_event("lost", what);
		lose(take_frame(way));
		then(moment, before);
	}
	if (net.repeats > 0) {
		note_event("repeated", what);
		net.repeats--;
		arrive(what);
		then(moment, before);
	}
}

static void follow_answer(const struct moment *moment, uint32_t before)
{
	/* both parts come, or one, or none: each loss counts */
	for (uint32_t parts = 4; parts-- > 0;) {
		if (parts != 3 && net.drops == 0)
			break;
		net.drops -= parts != 3;
		note_event(parts == 3 ? "answer" :
			   parts == 2 ? "SACK" :
			   parts == 1 ? "ACK" :
					"lost answer",
			   net.answers[0].map);
		take_answer(pop_answer(), parts & 1, parts & 2);
		then(moment, before);
	}
}

/* Goes on from this moment in every way. */
static void follow(void)
{
	struct moment *moment = malloc(sizeof(*moment));
	uint32_t before = depth;
	bool quiet = net.answer_count == 0 && !has_lost();

	keep(moment);
	for (uint32_t way = 0; way < WAYS; way++) {
		if (net.frame_count[way] > 0)
			follow_frame(moment, way, before);
		quiet &= net.frame_count[way] == 0;
	}
	if (net.answer_count > 0)
		follow_answer(moment, before);
	if (has_lost()) {
		note_event("lost ones leave", 0);
		rc_sack_resend(qp, T0, &out);
		send_frames();
		then(moment, before);
	}
	if (net.later > 0) {
		net.later--;
		note_event("new", net.packets);
		send_new();
		then(moment, before);
	}
	if (net.rewinds > 0 && !psn_equal(qp->win.snd_una, qp->win.snd_max)) {
		net.rewinds--;
		note_event("rewind", 0);
		rewind_all();
		then(moment, before);
	}
	if (quiet && !psn_equal(qp->win.snd_una, qp->win.snd_max)) {
		cr_assert_lt(net.timers++, TIMERS_MOST, "%u packets, %u paths, nothing helps: %s", net.packets,
			     net.ways, history());
		note_event("timer", 0);
		rc_sack_probe(qp, CNT_EARLY_PROBES, &out);
		send_frames();
		then(moment, before);
	}
	free(moment);
}

struct budget {
	uint8_t drops, repeats, rewinds, later;
};

/* A window of so many packets, to which `later` are added. Returns how many moments there are. */
static uint64_t try_all(uint32_t packets, uint32_t ways, struct budget budget)
{
	met = calloc(TABLE, sizeof(*met));
	moments = depth = 0;
	open_flight(0);
	memset(&net, 0, sizeof(net));
	net.ways = (uint8_t)ways;
	if (ways > 1)
		rc_spread_over(qp, ways);
	cr_assert_eq(qp_spreads(qp), ways > 1);
	while (net.packets < packets)
		send_new();
	net.drops = budget.drops;
	net.repeats = budget.repeats;
	net.rewinds = budget.rewinds;
	net.later = budget.later;
	follow();
	free(met);
	return moments;
}

static void try_windows(uint32_t most, struct budget budget)
{
	for (uint32_t ways = 1; ways <= WAYS; ways++) {
		for (uint32_t packets = 1; packets + budget.later <= most; packets++)
			printf("# %u packets and %u new ones, %u paths: %lu moments\n", packets, budget.later, ways,
			       try_all(packets, ways, budget));
	}
}

Test(scoreboard_orders, only_lost_packets_are_sent_again, .timeout = 120)
{
	RULE("T-7");
	RULE("S-23");
	try_windows(WINDOW_MOST, (struct budget){ .drops = 2, .repeats = 1 });
}

Test(scoreboard_orders, new_packets_show_the_loss_of_copies, .timeout = 120)
{
	RULE("T-7");
	RULE("S-23");
	try_windows(3, (struct budget){ .drops = 3, .later = 2 });
	try_windows(4, (struct budget){ .drops = 2, .later = 2 });
}

Test(scoreboard_orders, rewound_packets_are_sent_again_only_if_lost, .timeout = 120)
{
	RULE("T-7");
	RULE("S-23");
	try_windows(3, (struct budget){ .drops = 2, .rewinds = 1, .later = 1 });
	try_windows(4, (struct budget){ .drops = 1, .rewinds = 1, .later = 1 });
}
