/* work.c - requests of both sides of a pair, and what must have become of them */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "work.h"

#include <string.h>

#define HOUR_NS 3600000000000ull
#define WIRE_ROOM 300u

static void tap(struct pair *pair, enum side_name at, enum side_name from, const struct wire_packet *packet)
{
	struct work *work = pair->user;
	struct trace_packet seen = { .number = ++work->packets, .time_ns = pair->now_ns, .packet = *packet };

	seen.source[15] = (uint8_t)(from + 1);
	seen.dest[15] = (uint8_t)(2 - from);
	trace_add(work->traces[at], &seen);
}

/* The first byte of an input says what connection it is. */
static struct pair_options read_options(uint8_t choice, bool may_fail)
{
	return (struct pair_options){
		.mtu = choice & 1 ? 256 : 512,
		.psn_a = choice & 2 ? 0xFFFFF8 : 7,
		.psn_b = choice & 4 ? 0x7FFFF8 : 9,
		.rd_atomic = (uint8_t)(1 + (choice >> 4 & 3)),
		.retry_cnt = may_fail && choice & 64 ? 1 : 0,
		.rnr_retry = may_fail && choice & 128 ? 1 : 0,
		.rnr_timer = 1,
		.timeout = 8,
		.depth = 16,
	};
}

static void watch(struct work *work, const struct pair_options *options, enum uroce_read_repair repair)
{
	static const uint8_t addresses[2][16] = { { [15] = 1 }, { [15] = 2 } };
	const uint32_t psns[2] = { options->psn_a, options->psn_b };

	for (int i = 0; i < 2; i++) {
		struct trace_options at = {
			.at_given = true,
			.any_order = repair == UROCE_READ_REPAIR_ANY_ORDER,
			.mtu = options->mtu,
			.silence_ns = ASK_SHORTEST_NS,
			.grace_ns = 5000000, /* the input lets a side send late */
			.at[15] = (uint8_t)(i + 1),
		};

		work->traces[i] = trace_open(&at);
		for (int from = 0; from < 2; from++)
			trace_begins(work->traces[i], addresses[from], addresses[!from],
				     work->pair->side[from].qp->dest_qpn, psns[from]);
	}
	work->pair->tap = tap;
}

void work_open(struct work *work, struct input *input, bool may_fail)
{
	uint8_t choice = input_byte(input);
	struct pair_options options = read_options(choice, may_fail);
	enum uroce_read_repair repair = may_fail ? UROCE_READ_REPAIR_OFF : (choice >> 6) % 3;

	*work = (struct work){ .pair = pair_open(&options) };
	work->pair->user = work;
	if (!may_fail)
		watch(work, &options, repair);
	for (int i = 0; i < 2; i++) {
		work->pair->side[i].qp->ask.probes = choice & 8;
		work->pair->side[i].qp->read_repair = repair;
		memset(work->pair->side[i].memory + !i * WORK_SIDE + WORK_WORD_AT, 0, 8);
	}
}

void work_close(struct work *work)
{
	for (int i = 0; i < 2; i++) {
		if (work->traces[i])
			trace_close(work->traces[i]);
	}
	pair_close(work->pair);
}

static bool takes_receive(uint8_t opcode)
{
	return opcode == UROCE_WR_SEND || opcode == UROCE_WR_SEND_WITH_IMM || opcode == UROCE_WR_RDMA_WRITE_WITH_IMM;
}

void work_post(struct work *work, enum side_name name, struct input *input, bool hopeless)
{
	static const enum uroce_wr_opcode opcodes[] = {
		UROCE_WR_SEND,      UROCE_WR_RDMA_WRITE,          UROCE_WR_RDMA_READ,    UROCE_WR_ATOMIC_FETCH_AND_ADD,
		UROCE_WR_RDMA_READ, UROCE_WR_RDMA_WRITE_WITH_IMM, UROCE_WR_ATOMIC_WRITE, UROCE_WR_SEND_WITH_IMM,
	};
	struct work_side *side = &work->sides[name];
	uint32_t offset = name * WORK_SIDE + side->posted * WORK_PIECE;
	struct work_request *request = &side->requests[side->posted];
	uint8_t choice = input_byte(input);
	struct uroce_send_wr wr = { .wr_id = side->posted, .opcode = opcodes[choice & 7] };

	if (side->posted == WORK_POSTS)
		return;
	wr.send_flags = UROCE_SEND_SIGNALED | (choice & 32 ? UROCE_SEND_FENCE : 0);
	request->opcode = (uint8_t)wr.opcode;
	request->bytes = wr.opcode >= UROCE_WR_ATOMIC_CMP_AND_SWP ? 8 : input_byte(input) * 8u + (choice >> 6);
	if (wr.opcode == UROCE_WR_ATOMIC_FETCH_AND_ADD)
		wr.compare_add = request->value = 1u + choice;
	wr.remote_addr = (uintptr_t)work->pair->side[!name].memory + offset;
	if (wr.opcode == UROCE_WR_ATOMIC_FETCH_AND_ADD)
		wr.remote_addr = (uintptr_t)work->pair->side[!name].memory + name * WORK_SIDE + WORK_WORD_AT;
	if (hopeless && wr.opcode != UROCE_WR_SEND && wr.opcode != UROCE_WR_SEND_WITH_IMM &&
	    (request->bytes > 0 || wr.opcode > UROCE_WR_RDMA_READ)) {
		wr.rkey = work->pair->side[!name].key ^ 0xFF;
		request->hopeless = true;
	}
	if (pair_post(work->pair, name, wr, offset, request->bytes) != 0)
		return;
	if (takes_receive(request->opcode))
		side->taker_offsets[side->takers++] = offset;
	side->posted++;
}

/* Where the data of the peer's next taker belongs. */
void work_receive(struct work *work, enum side_name name)
{
	struct work_side *side = &work->sides[name];
	const struct work_side *peer = &work->sides[!name];

	if (side->receives < peer->takers &&
	    pair_recv(work->pair, name, 1000 + side->receives, peer->taker_offsets[side->receives], WORK_PIECE) == 0)
		side->receives++;
}

static uint32_t on_wire(const struct side *side)
{
	return side->wire_tail - side->wire_head;
}

/* Brings a packet to the front, the others keep their order. */
static bool bring_forward(struct side *from, uint32_t number)
{
	uint32_t count = on_wire(from);
	struct flight chosen;

	if (count == 0)
		return false;
	number %= count;
	chosen = from->wire[(from->wire_head + number) % PAIR_IN_FLIGHT];
	for (uint32_t i = number; i > 0; i--)
		from->wire[(from->wire_head + i) % PAIR_IN_FLIGHT] =
			from->wire[(from->wire_head + i - 1) % PAIR_IN_FLIGHT];
	from->wire[from->wire_head % PAIR_IN_FLIGHT] = chosen;
	return true;
}

void work_deliver(struct work *work, enum side_name name, uint32_t number)
{
	struct side *from = &work->pair->side[name];
	uint32_t tail = from->wire_tail;

	if (!bring_forward(from, number))
		return;
	from->wire_tail = from->wire_head + 1;
	pair_deliver(work->pair, !name);
	from->wire_tail = tail;
}

void work_deliver_train(struct work *work, enum side_name name, uint32_t packets)
{
	for (uint32_t i = 0; i < packets && on_wire(&work->pair->side[name]) > 0; i++)
		work_deliver(work, name, 0);
}

void work_drop(struct work *work, enum side_name name, uint32_t number)
{
	struct side *from = &work->pair->side[name];

	if (bring_forward(from, number))
		free(from->wire[from->wire_head++ % PAIR_IN_FLIGHT].frame);
}

void work_double(struct work *work, enum side_name name, uint32_t number)
{
	struct side *from = &work->pair->side[name];
	struct flight copy;

	if (on_wire(from) == 0 || on_wire(from) > WIRE_ROOM)
		return;
	copy = pair_copy_flight(&from->wire[(from->wire_head + number % on_wire(from)) % PAIR_IN_FLIGHT]);
	from->wire[from->wire_tail++ % PAIR_IN_FLIGHT] = copy;
}

/* A host looks at its timers before it lets a QP send. */
static void fire_due(struct work *work, enum side_name name)
{
	struct rc_qp *qp = work->pair->side[name].qp;

	if (rc_qp_deadline(qp) <= work->pair->now_ns)
		rc_qp_timeout(qp, work->pair->now_ns);
}

void work_transmit(struct work *work, enum side_name name, uint32_t packets)
{
	fire_due(work, name);
	if (on_wire(&work->pair->side[name]) < WIRE_ROOM)
		pair_transmit_some(work->pair, name, packets);
}

void work_expire(struct work *work)
{
	struct pair *pair = work->pair;
	uint64_t a = rc_qp_deadline(pair->side[A].qp), b = rc_qp_deadline(pair->side[B].qp), next = a < b ? a : b;

	if (next == RC_NEVER)
		return;
	if (next > pair->now_ns)
		pair->now_ns = next;
	for (int i = 0; i < 2; i++)
		rc_qp_timeout(pair->side[i].qp, pair->now_ns);
}

void work_look(struct work *work)
{
	for (int i = 0; i < 2; i++) {
		struct work_side *side = &work->sides[i];
		const struct side *end = &work->pair->side[i];
		uint32_t count = side->sent_done + side->received_done;

		MUST(end->done_count <= PAIR_LINES);
		for (; count < end->done_count; count++) {
			const struct uroce_wc *wc = &end->wcs[count];

			if (wc->wr_id >= 1000) { /* a receive */
				MUST(side->received_done < side->receives && wc->wr_id == 1000 + side->received_done++);
			} else {
				MUST(side->sent_done < side->posted && wc->wr_id == side->sent_done);
				MUST(wc->status != UROCE_WC_SUCCESS || !side->requests[side->sent_done].hopeless);
				side->sent_done++;
			}
		}
	}
}

void work_settle(struct work *work)
{
	for (int i = 0; i < 2; i++) {
		fire_due(work, (enum side_name)i);
		while (work->sides[i].receives < work->sides[!i].takers) {
			uint32_t before = work->sides[i].receives;

			work_receive(work, (enum side_name)i);
			if (work->sides[i].receives == before)
				break;
		}
	}
	MUST(pair_settle(work->pair, HOUR_NS));
	work_look(work);
}

/* Data of the requests that succeeded, and the sum of the atomics among them; a failed one may have been executed. */
static void check_data(const struct work *work, enum side_name name)
{
	const struct work_side *side = &work->sides[name];
	const struct side *end = &work->pair->side[name];
	const uint8_t *mine = end->memory, *theirs = work->pair->side[!name].memory;
	uint64_t sum = 0, word;
	uint32_t number = 0;
	bool all = true;

	for (uint32_t i = 0; i < end->done_count; i++) {
		const struct work_request *request = &side->requests[number];
		uint32_t offset = name * WORK_SIDE + number * WORK_PIECE;

		if (end->wcs[i].wr_id >= 1000)
			continue;
		number++;
		if (end->wcs[i].status != UROCE_WC_SUCCESS) {
			all = false;
		} else if (request->opcode == UROCE_WR_ATOMIC_FETCH_AND_ADD) {
			memcpy(&word, mine + offset, 8);
			MUST(word == sum);
			sum += request->value;
		} else {
			MUST(memcmp(mine + offset, theirs + offset, request->bytes) == 0);
		}
	}
	memcpy(&word, theirs + name * WORK_SIDE + WORK_WORD_AT, 8);
	MUST(all ? word == sum : word >= sum);
}

static void check_trace(struct trace *trace)
{
	const struct trace_finding *findings;
	uint32_t count;

	trace_judge(trace);
	count = trace_findings(trace, &findings);
	for (uint32_t i = 0; i < count; i++) {
		if (trace_verdicts[findings[i].verdict].wrong)
			fprintf(stderr, "packet %lu, psn=%u: %s: %s\n", (unsigned long)findings[i].number,
				findings[i].psn, trace_verdicts[findings[i].verdict].name, findings[i].detail);
	}
	MUST(trace_wrong(trace) == 0);
}

void work_check(struct work *work)
{
	for (int i = 0; i < 2; i++) {
		const struct work_side *side = &work->sides[i];
		const struct side *end = &work->pair->side[i];

		MUST(side->sent_done == side->posted);
		if (end->qp->state == UROCE_QPS_ERR)
			MUST(side->received_done == side->receives);
		check_data(work, (enum side_name)i);
		if (work->traces[i])
			check_trace(work->traces[i]);
	}
}
