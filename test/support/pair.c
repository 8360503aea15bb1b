/* pair.c - two QPs of the core and a wire between them */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "admitted.h"
#include "invariants.h"
#include "packets.h"
#include "pair.h"
#include "patterned.h"
#include "peek.h"
#include "places.h"
#include "rc/spread.h"
#include "wire/bytes.h"
#include "wire/icrc.h"
#include "wire/icrc_copy.h"

#define HEADERS_BYTES 28u /* IPv4 and UDP */
#define REMOTE_ACCESS                                                                        \
	(UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_READ | UROCE_ACCESS_REMOTE_ATOMIC | \
	 UROCE_ACCESS_FLUSH_GLOBAL | UROCE_ACCESS_FLUSH_PERSISTENT)
#define ALL_ACCESS (REMOTE_ACCESS | UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_MW_BIND)

static uint32_t or_default(uint32_t value, uint32_t standard)
{
	return value ? value : standard;
}

static uint8_t count_or_default(uint8_t value, uint8_t standard)
{
	return value == 255 ? 0 : (uint8_t)or_default(value, standard);
}

/* Made once, for those who open very many pairs. */
const uint8_t *pair_pattern(enum side_name name)
{
	static uint8_t patterns[2][PATTERNED_BYTES];
	uint8_t *pattern = patterns[name];

	if (pattern[0] == 0) {
		for (uint32_t i = 0; i < PATTERNED_BYTES; i++)
			pattern[i] = (uint8_t)(i * 7 + (i >> 8) + (name == A ? 1 : 99));
	}
	return pattern;
}

/* Large memory is mapped. Small memory may still be there, from the pair before. */
static void place_memory(struct side *side, enum side_name name, uint32_t bytes)
{
	static int files[2] = { -1, -1 };
	const uint8_t *pattern = pair_pattern(name);

	if (!PAIR_IS_SMALL) {
		files[name] = files[name] < 0 ? patterned_file(pattern) : files[name];
		side->memory = patterned_map(files[name], bytes);
		side->memory_bytes = bytes;
		return;
	}
	if (side->memory_bytes != bytes) {
		free(side->memory);
		side->memory = malloc(bytes);
		side->memory_bytes = bytes;
	}
	for (uint32_t i = 0; i < bytes; i += PATTERNED_BYTES)
		memcpy(side->memory + i, pattern, bytes - i < PATTERNED_BYTES ? bytes - i : PATTERNED_BYTES);
}

static void open_side(struct side *side, enum side_name name, const struct pair_options *options)
{
	struct rc_permute24 space = { .secret = { 0x1234567 + name, 0x89ABCDEF, 0x5555, 0x777 } };
	struct rc_qp_config config = {
		.qpn = name == A ? 0x11 : 0x12,
		.pd = 1,
		.mrs = &side->mrs,
		.boards = options->no_boards ? NULL : &side->pool,
		.srq = name == B ? options->srq_b : NULL,
		.max_send_wr = or_default(options->depth, 64),
		.max_recv_wr = or_default(options->depth, 64),
		.max_send_sge = LIMIT_SGE,
		.max_recv_sge = LIMIT_SGE,
		.max_inline_data = or_default(options->inline_bytes, 128),
		.max_dest_rd_atomic = LIMIT_RD_ATOMIC,
		.max_mtu_bytes = LIMIT_MTU_BYTES,
	};
	int error;

	boards_init(&side->pool, side->boards, sizeof(side->boards) / sizeof(side->boards[0]));
	rc_mr_table_init(&side->mrs, side->entries, 16, &space);
	place_memory(side, name, or_default(name == A ? options->memory_a : options->memory_b, PAIR_MEMORY_BYTES));
	side->key = rc_mr_insert(&side->mrs, 1, side->memory, side->memory_bytes,
				 or_default(options->mr_access, ALL_ACCESS), &error);
	cr_assert_neq(side->key, 0);
	side->qp = aligned_alloc(64, rc_qp_bytes(&config));
	memset(side->qp, 0, rc_qp_bytes(&config));
	rc_qp_init(side->qp, &config);
	side->checked = getenv("UROCE_PAIR_CHECKED") != NULL;
}

static void connect_side(struct side *side, enum side_name name, const struct pair_options *options)
{
	struct uroce_qp_attr attr = {
		.qp_state = UROCE_QPS_INIT,
		.access_flags = or_default(options->access, REMOTE_ACCESS),
		.path_mtu = or_default(options->mtu, 1024),
		.dest_qp_num = name == A ? 0x12 : 0x11,
		.rq_psn = name == A ? options->psn_b : options->psn_a,
		.sq_psn = name == A ? options->psn_a : options->psn_b,
		.max_rd_atomic = count_or_default(options->rd_atomic, 4),
		.max_dest_rd_atomic = count_or_default(options->rd_atomic, 4),
		.min_rnr_timer = (uint8_t)or_default(options->rnr_timer, 12),
		.timeout = count_or_default(options->timeout, 14),
		.retry_cnt = count_or_default(options->retry_cnt, 7),
		.rnr_retry = count_or_default(options->rnr_retry, 7),
		.path = { .source = { { (uint8_t)(name + 1) } }, .dest = { { (uint8_t)(2 - name) } } },
	};
	uint32_t bad = 0;

	cr_assert_eq(rc_qp_modify(side->qp, &attr, UROCE_QP_STATE | UROCE_QP_ACCESS_FLAGS, &bad), 0, "INIT: %#x", bad);
	attr.qp_state = UROCE_QPS_RTR;
	cr_assert_eq(rc_qp_modify(side->qp, &attr,
				  UROCE_QP_STATE | UROCE_QP_PATH | UROCE_QP_PATH_MTU | UROCE_QP_DEST_QPN |
					  UROCE_QP_RQ_PSN | UROCE_QP_MAX_DEST_RD_ATOMIC | UROCE_QP_MIN_RNR_TIMER,
				  &bad),
		     0, "RTR: %#x", bad);
	attr.qp_state = UROCE_QPS_RTS;
	cr_assert_eq(rc_qp_modify(side->qp, &attr,
				  UROCE_QP_STATE | UROCE_QP_TIMEOUT | UROCE_QP_RETRY_CNT | UROCE_QP_RNR_RETRY |
					  UROCE_QP_MAX_RD_ATOMIC | UROCE_QP_SQ_PSN,
				  &bad),
		     0, "RTS: %#x", bad);
	poke_probes(side->qp, false);
}

static struct pair *spare; /* closed, for the next to be opened */

/* All of it that has to be zero is; its memory stays. */
static struct pair *take_spare(void)
{
	struct pair *pair = spare;

	spare = NULL;
	for (int i = 0; i < 2; i++) {
		struct side *side = &pair->side[i];
		uint8_t *memory = side->memory;
		uint32_t bytes = side->memory_bytes;

		memset(side, 0, offsetof(struct side, sent));
		side->memory = memory;
		side->memory_bytes = bytes;
	}
	memset((char *)pair + sizeof(pair->side), 0, offsetof(struct pair, out) - sizeof(pair->side));
	return pair;
}

struct pair *pair_open(const struct pair_options *options)
{
	struct pair *pair = spare ? take_spare() : calloc(1, sizeof(*pair));

	pair->now_ns = 1000000;
	pair->step_ns = 1000;
	for (int i = 0; i < 2; i++)
		open_side(&pair->side[i], (enum side_name)i, options);
	for (int i = 0; i < 2; i++)
		connect_side(&pair->side[i], (enum side_name)i, options);
	for (uint32_t i = 0; i < options->receives; i++)
		pair_recv(pair, B, 1000 + i, PAIR_MEMORY_BYTES / 2 + (uint64_t)i * 65536 % (PAIR_MEMORY_BYTES / 2),
			  65536);
	return pair;
}

void pair_close(struct pair *pair)
{
	bool keep = PAIR_IS_SMALL && !spare;

	for (int i = 0; i < 2; i++) {
		struct side *side = &pair->side[i];

		while (side->wire_head != side->wire_tail)
			free(side->wire[side->wire_head++ % PAIR_IN_FLIGHT].frame);
		free(side->qp);
		if (!PAIR_IS_SMALL)
			patterned_unmap(side->memory, side->memory_bytes);
		else if (!keep)
			free(side->memory);
	}
	if (keep)
		spare = pair;
	else
		free(pair);
}

void pair_aim(struct pair *pair, enum side_name name)
{
	struct rc_qp *qp = pair->side[name].qp;

	qp->dest_qpn = pair->side[!name].qp->qpn;
	qp_note_bth(qp);
}

int pair_post(struct pair *pair, enum side_name name, struct uroce_send_wr wr, uint64_t offset, uint32_t bytes)
{
	struct side *side = &pair->side[name];
	struct uroce_sge sge = { .addr = (uintptr_t)side->memory + offset, .length = bytes, .lkey = side->key };

	if (wr.sg_list == NULL && bytes > 0) {
		wr.sg_list = &sge;
		wr.num_sge = 1;
	}
	if (wr.remote_addr == 0)
		wr.remote_addr = (uintptr_t)pair->side[!name].memory;
	if (wr.rkey == 0)
		wr.rkey = pair->side[!name].key;
	return rc_qp_post_send(side->qp, &wr);
}

static int post_plain(struct pair *pair, enum uroce_wr_opcode opcode, uint64_t wr_id, uint32_t bytes, uint64_t add)
{
	struct uroce_send_wr wr = {
		.wr_id = wr_id,
		.opcode = opcode,
		.send_flags = UROCE_SEND_SIGNALED,
		.compare_add = add,
	};

	return pair_post(pair, A, wr, 0, bytes);
}

int pair_send(struct pair *pair, uint64_t wr_id, uint32_t bytes)
{
	return post_plain(pair, UROCE_WR_SEND, wr_id, bytes, 0);
}

int pair_write(struct pair *pair, uint64_t wr_id, uint32_t bytes)
{
	return post_plain(pair, UROCE_WR_RDMA_WRITE, wr_id, bytes, 0);
}

int pair_read(struct pair *pair, uint64_t wr_id, uint32_t bytes)
{
	return post_plain(pair, UROCE_WR_RDMA_READ, wr_id, bytes, 0);
}

int pair_fetch_add(struct pair *pair, uint64_t wr_id, uint64_t add)
{
	return post_plain(pair, UROCE_WR_ATOMIC_FETCH_AND_ADD, wr_id, 8, add);
}

int pair_recv(struct pair *pair, enum side_name name, uint64_t wr_id, uint64_t offset, uint32_t bytes)
{
	struct side *side = &pair->side[name];
	struct uroce_sge sge = { .addr = (uintptr_t)side->memory + offset, .length = bytes, .lkey = side->key };
	struct uroce_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = bytes ? 1 : 0 };

	return rc_qp_post_recv(side->qp, &wr);
}

/* Bytes of the exact length, so that ASan sees who reads beyond. */
static uint8_t *new_frame(struct flight *flight, uint32_t length)
{
	flight->length = length;
	flight->damaged = false;
	flight->frame = malloc(HEADERS_BYTES + length);
	flight->bytes = flight->frame + HEADERS_BYTES;
	return flight->bytes;
}

static void build_flight(const struct wire_packet *packet, struct flight *flight)
{
	uint8_t headers[WIRE_HEADERS_MAX_BYTES], *bytes = new_frame(flight, packet_bytes(packet));
	uint32_t at = wire_packet_build(packet, headers);

	memcpy(bytes, headers, at);
	if (packet->payload_bytes)
		memcpy(bytes + at, packet->payload, packet->payload_bytes);
	at += packet->payload_bytes;
	memset(bytes + at, 0, flight->length - at); /* pad and ICRC */
}

struct flight pair_copy_flight(const struct flight *flight)
{
	struct flight copy = *flight;

	memcpy(new_frame(&copy, flight->length), flight->bytes, flight->length);
	return copy;
}

static void put_on_wire(struct pair *pair, enum side_name from, const struct wire_packet *packet)
{
	struct side *side = &pair->side[from];

	cr_assert_lt(side->wire_tail - side->wire_head, PAIR_IN_FLIGHT, "the wire of the pair is full");
	side->wire[side->wire_tail % PAIR_IN_FLIGHT].path = side->qp->path;
	side->wire[side->wire_tail % PAIR_IN_FLIGHT].source_port =
		qp_spreads(side->qp) ? pair->source_port : rc_ports_own(side->qp, 0);
	build_flight(packet, &side->wire[side->wire_tail++ % PAIR_IN_FLIGHT]);
}

static void take_outbox(struct pair *pair, enum side_name name)
{
	struct side *side = &pair->side[name];
	struct rc_outbox *out = &pair->out;

	for (uint32_t i = 0; i < out->packet_count; i++) {
		const struct wire_packet sent = places_packet(out, i), *packet = &sent;
		int copies;

		pair->source_port = places_source_port(out, i);
		copies = pair->copies ? pair->copies(pair, name, side->packets, packet) : 1;
		check_packet(pair, name, packet);
		check_responses(side, name, packet);
		if (pair->tap)
			pair->tap(pair, name, name, packet);
		if (!PAIR_IS_SMALL && side->sent_count < PAIR_LINES)
			pair_print_line(pair, name, packet, side->sent[side->sent_count]);
		side->sent_count++;
		side->packets++;
		for (int copy = 0; copy < copies; copy++)
			put_on_wire(pair, name, packet);
	}
	for (uint32_t i = pair->crowd; i < out->completion_count; i++) {
		const struct uroce_wc *wc = &out->completions[i];

		check_completion(side, name, wc);
		if (side->done_count < PAIR_LINES) {
			if (!PAIR_IS_SMALL)
				pair_print_completion(wc, side->done[side->done_count]);
			side->wcs[side->done_count] = *wc;
		}
		side->done_count++;
	}
	for (uint32_t i = 0; i < out->event_count && side->event_count < 64; i++) {
		cr_assert_eq(out->events[i].qp_num, side->qp->qpn);
		side->done_at_event[side->event_count] = side->done_count;
		side->silent_us = out->events[i].silent_us;
		snprintf(side->events[side->event_count++], PAIR_LINE_BYTES, "%s",
			 uroce_event_name(out->events[i].type));
	}
}

static void empty_outbox(struct pair *pair)
{
	outbox_reset(&pair->out);
	pair->out.completion_count = pair->crowd;
}

bool pair_transmit_some(struct pair *pair, enum side_name name, uint32_t packets)
{
	bool more;

	empty_outbox(pair);
	places_give(&pair->out, packets);
	more = rc_qp_transmit(pair->side[name].qp, pair->now_ns, &pair->out);
	check_room(&pair->out, packets);
	take_outbox(pair, name);
	return more;
}

void pair_transmit(struct pair *pair, enum side_name name)
{
	while (pair_transmit_some(pair, name, OUTBOX_PACKETS))
		;
}

/* UROCE_PAIR_ICRC=isal: all scenarios with another way to compute ICRCs than the best of this CPU. */
__attribute__((constructor)) static void choose_kernel(void)
{
	const char *name = getenv("UROCE_PAIR_ICRC");

	for (int kernel = 0; name && kernel < WIRE_ICRC_IMPLS; kernel++) {
		if (strcmp(name, wire_icrc_impl_name((enum wire_icrc_impl)kernel)) == 0 &&
		    wire_icrc_choose((enum wire_icrc_impl)kernel))
			return;
	}
	if (name) {
		fprintf(stderr, "UROCE_PAIR_ICRC=%s: not isal, pclmul, vpclmul256 or vpclmul, or not on this CPU\n",
			name);
		exit(2);
	}
}

/* Headers as far as the ICRC needs them, and the ICRC. */
static uint8_t *finish_frame(const struct flight *flight)
{
	uint32_t bytes = HEADERS_BYTES + flight->length;
	uint8_t *frame = flight->frame;

	memset(frame, 0, HEADERS_BYTES);
	frame[0] = 0x45; /* IPv4 */
	store_le32(frame + bytes - WIRE_ICRC_BYTES, wire_icrc_frame(frame, bytes - WIRE_ICRC_BYTES));
	return frame;
}

/* The end of a flight. path: the way it came, as its sender sees it. */
static void hand_over(struct pair *pair, enum side_name to, const struct flight *flight, const struct uroce_path *path,
		      bool damaged)
{
	struct rc_qp *qp = pair->side[to].qp;
	uint8_t *frame = finish_frame(flight);
	const struct rc_origin origin = {
		.source = path->source.bytes,
		.dest = path->dest.bytes,
		.device = path->device,
		.vlan_id = path->vlan_id,
		.source_port = flight->source_port,
		.ip = pair->side[to].checked ? NULL : frame,
		.ip_bytes = HEADERS_BYTES + flight->length - WIRE_ICRC_BYTES,
	};
	struct wire_packet packet;
	enum rc_counter drop;

	if (flight->damaged && origin.ip == NULL) {
		free(frame);
		return;
	}
	cr_assert_eq(wire_packet_parse(frame + HEADERS_BYTES, flight->length, &packet), WIRE_PACKET_OK);
	if (pair->tap)
		pair->tap(pair, to, !to, &packet);
	if (damaged)
		frame[origin.ip_bytes] ^= 0x40;
	drop = rc_qp_admit(qp, &packet, &origin);
	if (drop == CNT_COUNTERS) {
		empty_outbox(pair);
		drop = receive_admitted(qp, &packet, &origin, pair->now_ns, &pair->out);
		if (origin.ip) /* W-3: a wrong ICRC is told, and no right one is taken for it */
			cr_assert_eq(drop == CNT_PORT_RX_ICRC, damaged);
		take_outbox(pair, to);
	}
	if (drop != CNT_COUNTERS) {
		pair->side[to].drops[drop]++;
		rc_qp_refused(qp, drop, &packet, &origin, pair->now_ns);
	}
	free(frame);
}

void pair_inject(struct pair *pair, enum side_name to, struct wire_packet packet)
{
	struct flight flight;

	packet.dest_qpn = pair->side[to].qp->qpn;
	packet.pkey = 0xFFFF;
	build_flight(&packet, &flight);
	flight.source_port = pair->inject_port ? pair->inject_port : rc_ports_own(pair->side[!to].qp, 0);
	hand_over(pair, to, &flight, pair->inject_path ? pair->inject_path : &pair->side[!to].qp->path,
		  pair->inject_damage);
}

static int lose(struct pair *pair, enum side_name from, uint32_t number, const struct wire_packet *packet)
{
	(void)pair;
	(void)from;
	(void)number;
	(void)packet;
	return 0;
}

void pair_cut(struct pair *pair)
{
	pair->copies = lose;
}

void pair_mend(struct pair *pair)
{
	pair->copies = NULL;
}

void pair_request(struct pair *pair, struct wire_packet packet)
{
	pair_inject(pair, B, packet);
	pair_transmit(pair, B);
}

void pair_respond(struct pair *pair, struct wire_packet packet)
{
	pair_inject(pair, A, packet);
	pair_transmit(pair, A);
}

void pair_deliver(struct pair *pair, enum side_name to)
{
	struct side *from = &pair->side[!to];

	while (from->wire_head != from->wire_tail) {
		struct flight *flight = &from->wire[from->wire_head++ % PAIR_IN_FLIGHT];

		hand_over(pair, to, flight, &flight->path, flight->damaged);
	}
}

static bool wire_is_empty(const struct pair *pair)
{
	return pair->side[A].wire_head == pair->side[A].wire_tail && pair->side[B].wire_head == pair->side[B].wire_tail;
}

void pair_run(struct pair *pair)
{
	do {
		for (int i = 0; i < 2; i++)
			pair_transmit(pair, (enum side_name)i);
		pair->now_ns += pair->step_ns;
		for (int i = 0; i < 2; i++)
			pair_deliver(pair, (enum side_name)i);
		for (int i = 0; i < 2; i++)
			pair_transmit(pair, (enum side_name)i);
	} while (!wire_is_empty(pair));
}

bool pair_fire(struct pair *pair)
{
	uint64_t a = rc_qp_deadline(pair->side[A].qp), b = rc_qp_deadline(pair->side[B].qp);
	uint64_t next = a < b ? a : b;

	if (next == RC_NEVER)
		return false;
	if (next > pair->now_ns)
		pair->now_ns = next;
	for (int i = 0; i < 2; i++)
		rc_qp_timeout(pair->side[i].qp, pair->now_ns);
	pair_run(pair);
	return true;
}

bool pair_settle(struct pair *pair, uint64_t limit_ns)
{
	uint64_t end = pair->now_ns + limit_ns;

	pair_run(pair);
	while (pair->now_ns < end) {
		if (!pair_fire(pair))
			return true;
	}
	return false;
}

void pair_forget(struct pair *pair)
{
	for (int i = 0; i < 2; i++)
		pair->side[i].sent_count = pair->side[i].done_count = pair->side[i].event_count = 0;
}

static void begin_measuring(struct pair *pair, uint64_t round_trip_ns)
{
	pair_write(pair, 100, 8);
	pair_transmit(pair, A);
	pair->now_ns += round_trip_ns;
}

void pair_measure(struct pair *pair, uint64_t round_trip_ns)
{
	begin_measuring(pair, round_trip_ns);
	pair_deliver(pair, B);
	pair_transmit(pair, B);
	pair_deliver(pair, A);
	pair_transmit(pair, A);
	cr_assert_eq(pair->side[A].qp->rtt.srtt_ns, round_trip_ns);
	expect_completes(pair, A, "wr=100 WRITE SUCCESS");
	pair_forget(pair);
}

void pair_measure_alone(struct pair *pair, uint64_t round_trip_ns)
{
	begin_measuring(pair, round_trip_ns);
	pair_respond(pair, ack_packet(0, SYNDROME_PLAIN_ACK, 1));
	expect_completes(pair, A, "wr=100 WRITE SUCCESS");
	pair_forget(pair);
}

uint32_t pair_region(struct pair *pair, enum side_name name, uint32_t pd, uint64_t offset, uint64_t bytes,
		     uint32_t access)
{
	struct side *side = &pair->side[name];
	int error = 0;
	uint32_t key = rc_mr_insert(&side->mrs, pd, side->memory + offset, bytes, access, &error);

	cr_assert_neq(key, 0, "region of %lu bytes: %d", bytes, error);
	return key;
}

void pair_fill(struct pair *pair, enum side_name name, uint64_t offset, uint8_t value, uint32_t bytes)
{
	memset(pair->side[name].memory + offset, value, bytes);
}

uint64_t pair_word(const struct pair *pair, enum side_name name, uint64_t offset)
{
	uint64_t word;

	memcpy(&word, pair->side[name].memory + offset, sizeof(word));
	return word;
}

void pair_set_word(struct pair *pair, enum side_name name, uint64_t offset, uint64_t word)
{
	memcpy(pair->side[name].memory + offset, &word, sizeof(word));
}
