/* answered.c - what an arriving response has to bring about: how far a requester is, and what it may place */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "rc/codes.h"
#include "sim/model.h"

static void move_una(struct sim_world *world, struct sim_end *end, uint64_t snd_una)
{
	struct sim_model *model = &end->model;
	const struct sim_message *message = &end->messages[model->una_message];

	model->snd_una = snd_una;
	model->rnr_until_ns = 0;
	model->rnr_naks = 0;
	model->attempts = snd_una < model->limit;
	model->asks = model->naks_behind = 0;
	model->timer_ns = world_clock(world, end);
	end->troubles = 0;
	end->last_progress_ns = world->now_ns;
	if (snd_una == message->first + message->packets)
		model->una_message++;
}

/* Everything before `until` is acknowledged, but for what wants an answer of its own. */
static bool cover(struct sim_world *world, struct sim_end *end, uint64_t until)
{
	struct sim_model *model = &end->model;

	while (model->snd_una < until) {
		const struct sim_message *message = &end->messages[model->una_message];
		uint64_t ends = message->first + message->packets;

		if (message_needs_answer(message))
			return false;
		move_una(world, end, until < ends ? until : ends);
		model_skip_local(end, &model->una_message);
	}
	return true;
}

static void arrive_nak(struct sim_world *world, struct sim_end *end, const struct wire_packet *packet)
{
	struct sim_model *model = &end->model;

	if (syndrome_class(packet->syndrome) != SYNDROME_RNR_NAK) {
		model->nak_code = syndrome_value(packet->syndrome);
		return;
	}
	model->rnr_naks++;
	if (model->rnr_until_ns == 0) /* until the timer has fired, others are ignored */
		model->rnr_until_ns = world_clock(world, end) + rc_codes_rnr_ns(syndrome_value(packet->syndrome));
}

/* Where an answer of a READ or atomic goes, which holds what the model knows. */
static void expect_placed(struct sim_world *world, struct sim_message *message, uint64_t psn,
			  struct sim_verdict *verdict)
{
	uint64_t offset = (psn - message->first) * world->config.mtu, bytes;

	if (message->opcode == UROCE_WR_RDMA_READ) {
		bytes = model_part(world, message, (uint32_t)(psn - message->first));
		sim_memory_expect(world->memory, &message->buffer, offset, message->data + offset, bytes);
		verdict_touch(verdict, &message->buffer, offset, bytes);
	} else if (sim_ops[message->opcode].lands) {
		sim_memory_expect(world->memory, &message->buffer, 0, &message->original, 8);
		verdict_touch(verdict, &message->buffer, 0, 8);
	}
}

/* The request of ours that owns the PSN, which has been sent. */
static struct sim_message *owner_of(struct sim_end *end, uint64_t psn)
{
	for (uint32_t i = end->model.una_message; i < end->posted; i++) {
		struct sim_message *message = &end->messages[i];

		if (!message->local && psn < message->first + message->packets)
			return message;
	}
	return NULL;
}

static bool may_be_placed(const struct sim_end *end, const struct sim_message *message)
{
	return end->landing.key || message->landing == SIM_NONE || message->bytes == 0;
}

static void note_proven(struct sim_model *model, uint64_t psn)
{
	if (psn > model->proven)
		model->proven = psn;
}

/* An answer of a READ or atomic. */
static void arrive_answer(struct sim_world *world, struct sim_end *end, uint64_t psn, struct sim_verdict *verdict)
{
	struct sim_model *model = &end->model;
	bool first = cover(world, end, psn);
	struct sim_message *message = first ? &end->messages[model->una_message] : owner_of(end, psn);

	note_proven(model, psn);
	verdict->ahead = end->qp->counters[CNT_RESPONSE_AHEAD];
	verdict->early_psn = psn;
	if (!first && (message == NULL || !message_needs_answer(message))) {
		model->counts[CNT_RESPONSE_AHEAD]++;
		return;
	}
	if (!message->executed) {
		sim_world_fail(world, "QP %u: an answer of PSN %lu to a request that was never executed", end->index,
			       psn);
		return;
	}
	if (!first) {
		verdict->early = message;
		return;
	}
	if (!may_be_placed(end, message)) {
		verdict->unwanted = true; /* it may not be placed any more */
		return;
	}
	expect_placed(world, message, psn, verdict);
	move_una(world, end, psn + 1);
}

/* Has the answer at snd_una come before its turn, or needs it none, and the peer has shown that it is past it? */
static bool may_be_passed(const struct sim_end *end)
{
	const struct sim_model *model = &end->model;
	const struct sim_message *message = &end->messages[model->una_message];

	if (!message_needs_answer(message))
		return model->snd_una < model->proven;
	return message->came && message->came[model->snd_una - message->first];
}

void sim_model_response_taken(struct sim_world *world, struct sim_end *end, struct sim_verdict *verdict)
{
	struct sim_model *model = &end->model;
	struct sim_message *message = verdict->early;
	uint32_t una = end->qp->win.snd_una.v;

	if (message && end->qp->counters[CNT_RESPONSE_AHEAD] != verdict->ahead) {
		model->counts[CNT_RESPONSE_AHEAD]++;
	} else if (message) {
		if (!may_be_placed(end, message))
			sim_world_fail(world, "QP %u: an answer is placed in memory that is not registered",
				       end->index);
		if (message->came == NULL)
			message->came = calloc(message->packets, 1);
		message->came[verdict->early_psn - message->first] = 1;
		expect_placed(world, message, verdict->early_psn, verdict);
		end->last_progress_ns = world->now_ns;
		model->timer_ns = world_clock(world, end);
	}
	model_skip_local(end, &model->una_message);
	while (((uint32_t)(end->start_psn + model->snd_una) & PSN_MASK) != una && model->snd_una < model->limit &&
	       may_be_passed(end)) {
		move_una(world, end, model->snd_una + 1);
		model_skip_local(end, &model->una_message);
	}
}

void sim_model_response_arrived(struct sim_world *world, struct sim_end *end, const struct wire_packet *packet,
				struct sim_verdict *verdict)
{
	struct sim_model *model = &end->model;
	uint32_t ahead = (uint32_t)(packet->psn - end->start_psn - model->snd_una) & PSN_MASK;
	uint32_t behind = (uint32_t)-ahead & PSN_MASK;
	uint64_t psn = model->snd_una + ahead;

	if (ahead >= model->limit - model->snd_una) {
		bool stale = behind > 0 && behind <= model->snd_una &&
			     behind + (model->limit - model->snd_una) <= PSN_WINDOW;

		if (model->beside && behind == 1 && packet->opcode == OP_ACKNOWLEDGE)
			model->beside = false;
		else
			model->counts[stale ? CNT_STALE_RESPONSE : CNT_GHOST_RESPONSE]++;
	} else if (packet->opcode != OP_ACKNOWLEDGE) {
		arrive_answer(world, end, psn, verdict);
	} else if (syndrome_class(packet->syndrome) == SYNDROME_ACK) {
		cover(world, end, psn + 1);
		note_proven(model, psn + 1);
	} else {
		const struct sim_message *oldest;

		note_proven(model, psn);
		cover(world, end, psn);
		model->naks_behind +=
			psn > model->snd_una && packet->syndrome == syndrome_make(SYNDROME_NAK, NAK_PSN_SEQUENCE);
		oldest = &end->messages[model->una_message];
		if (psn - oldest->first < oldest->packets)
			arrive_nak(world, end, packet);
	}
}
