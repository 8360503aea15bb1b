/* repeated.c - what a request that comes again has to bring about, and which of its answers may come again */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "rc/board.h"
#include "sim/model.h"

/* Is this READ or atomic one whose answer the peer still waits for? Then the replay cache must have it (S-11). */
static bool is_still_needed(const struct sim_world *world, const struct sim_end *end, const struct wire_packet *packet)
{
	const struct sim_end *peer = world_peer(world, end);
	const struct sim_message *message;
	uint64_t behind = (end->model.epsn - (packet->psn - peer->start_psn)) & PSN_MASK;
	uint64_t psn = end->model.epsn - behind;
	uint32_t index = peer->model.una_message;

	if (wire_opcode(packet->opcode)->payload && packet->opcode != OP_ATOMIC_WRITE)
		return false;
	if (behind > end->model.epsn || psn < peer->model.snd_una || index >= peer->posted || peer->qp == NULL)
		return false;
	message = &peer->messages[index];
	return psn >= message->first && psn < message->first + message->packets && message_needs_answer(message);
}

struct sim_message *sim_model_find_answered(struct sim_end *end, struct sim_end *peer, int64_t psn)
{
	for (uint32_t i = end->model.executed; i-- > 0;) {
		struct sim_message *message = &peer->messages[i];

		if (!message->local && (int64_t)message->first <= psn)
			return psn < (int64_t)(message->first + message->packets) && message_needs_answer(message) ?
				       message :
				       NULL;
	}
	return NULL;
}

/* How far the ACK of a repeated SEND or WRITE may go: not past a later READ or atomic that is still in the cache. */
int64_t sim_model_repeat_limit(const struct sim_world *world, const struct sim_end *end, const struct sim_end *peer,
			       int64_t psn)
{
	int64_t limit = (int64_t)end->model.epsn - 1;
	uint32_t cached = 0;

	for (uint32_t i = end->model.executed; i-- > 0 && cached < world->config.dest_rd_atomic;) {
		const struct sim_message *message = &peer->messages[i];

		if (message->local || !message_needs_answer(message))
			continue;
		if ((int64_t)message->first <= psn)
			break;
		cached++;
		limit = (int64_t)message->first - 1;
	}
	return limit;
}

/* Of a READ that is being answered for the first time: it has not come so far yet. */
static bool part_comes_anyway(const struct sim_message *message, const struct wire_packet *packet, int64_t psn)
{
	uint32_t begin = (uint32_t)(psn - (int64_t)message->first);

	if (packet->opcode != OP_READ_REQUEST || message->next == message->end)
		return false;
	return message->answers_sent < message->packets && begin > message->answers_sent;
}

static uint32_t packets_asked(const struct sim_world *world, const struct wire_packet *packet)
{
	return packet->dma_length ? (packet->dma_length + world->config.mtu - 1) / world->config.mtu : 1;
}

/* A part of a READ, all of which has left before: it may be answered in front of what is still to leave. */
static bool goes_before(const struct sim_world *world, const struct sim_message *message,
			const struct wire_packet *packet, int64_t psn)
{
	uint32_t end = (uint32_t)(psn - (int64_t)message->first) + packets_asked(world, packet);

	return packet->opcode == OP_READ_REQUEST && end < message->packets && end <= message->answers_sent;
}

/*
 * The core has taken it as such a part: there was room to remember it, and its user has not turned read repair off.
 * Otherwise the READ begins anew there.
 */
static bool owes_part(const struct sim_end *end, const struct wire_packet *packet)
{
	bool repairs = end->qp->read_repair != UROCE_READ_REPAIR_OFF;
	const struct rc_parts *parts =
		repairs && end->qp->replay.has_parts ? &qp_board(end->qp, BOARD_PARTS)->parts : NULL;

	for (uint32_t i = 0; parts && i < parts->count; i++) {
		if (parts->parts[(parts->first + i) % LIMIT_HOLES].begin_psn.v == (packet->psn & PSN_MASK))
			return true;
	}
	return false;
}

static void owe_part(struct sim_model *model, const struct sim_part *part)
{
	if (model->parts == NULL)
		model->parts = calloc(SIM_PARTS, sizeof(*model->parts));
	for (uint32_t i = 0; i < model->part_count; i++) {
		const struct sim_part *owed = &model->parts[i];

		if (owed->first == part->first && owed->begin == part->begin && owed->end == part->end)
			return;
	}
	if (model->part_count < SIM_PARTS)
		model->parts[model->part_count++] = *part;
}

/* The answer begins anew as it was asked for; or not, for the part goes before it. */
void sim_model_restarted(struct sim_world *world, struct sim_end *end, const struct wire_packet *packet,
			 const struct sim_verdict *verdict)
{
	struct sim_message *message = verdict->restarted;
	uint32_t begin = message->begin, asked = begin + packets_asked(world, packet);
	bool missed = end->qp->counters[CNT_REPLAY_MISS] + end->qp->counters[CNT_REPLAY_MISMATCH] != verdict->misses;
	bool part = !missed && verdict->goes_before && owes_part(end, packet);

	if (part)
		owe_part(&end->model, &(struct sim_part){ message->first, begin, begin, asked });
	if (!missed && !part)
		return;
	message->begin = verdict->old_begin;
	message->next = verdict->old_next;
	message->end = verdict->old_end;
}

/* An old request once more: it is answered from where it asks, or acknowledged (S-8, S-9, S-10). */
void sim_model_duplicate_arrived(struct sim_world *world, struct sim_end *end, const struct wire_packet *packet,
				 struct sim_verdict *verdict)
{
	struct sim_model *model = &end->model;
	struct sim_end *peer = world_peer(world, end);
	uint32_t behind = (uint32_t)(model->epsn - (packet->psn - peer->start_psn)) & PSN_MASK;
	int64_t psn = (int64_t)model->epsn - behind;
	uint8_t kind = wire_opcode(packet->opcode)->kind;

	model->counts[CNT_DUPLICATE_REQUEST]++;
	verdict->unknown_duplicate = is_still_needed(world, end, packet);
	verdict->misses = end->qp->counters[CNT_REPLAY_MISS] + end->qp->counters[CNT_REPLAY_MISMATCH];
	if (kind == WIRE_KIND_SEND || kind == WIRE_KIND_WRITE) {
		if (!model->repeat_owed || psn > model->repeat_psn)
			model->repeat_psn = psn;
		model->repeat_owed = true;
		return;
	}
	verdict->restarted = sim_model_find_answered(end, peer, psn);
	if (verdict->restarted == NULL)
		return;
	if (part_comes_anyway(verdict->restarted, packet, psn)) {
		verdict->restarted = NULL;
		return;
	}
	verdict->goes_before = goes_before(world, verdict->restarted, packet, psn);
	verdict->old_begin = verdict->restarted->begin;
	verdict->old_next = verdict->restarted->next;
	verdict->old_end = verdict->restarted->end;
	verdict->restarted->begin = verdict->restarted->next = (uint32_t)(psn - (int64_t)verdict->restarted->first);
	verdict->restarted->end = verdict->restarted->begin + 1;
	if (kind == WIRE_KIND_READ_REQUEST)
		verdict->restarted->end = verdict->restarted->begin + packets_asked(world, packet);
	if (verdict->restarted->answers_sent < verdict->restarted->packets)
		verdict->restarted->end = verdict->restarted->packets; /* what has never left is not given up */
}
