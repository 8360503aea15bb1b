/* answered.c - what an arriving response has to bring about: how far a requester is, and what it may place */
/* SPDX-License-Identifier: BSD-3-Clause */
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
	model->asks = 0;
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

/* An answer of a READ or atomic. */
static void arrive_answer(struct sim_world *world, struct sim_end *end, const struct wire_packet *packet, uint64_t psn,
			  struct sim_verdict *verdict)
{
	struct sim_model *model = &end->model;
	struct sim_message *message;
	uint64_t offset;

	if (!cover(world, end, psn)) {
		model->counts[CNT_RESPONSE_AHEAD]++;
		return;
	}
	message = &end->messages[model->una_message];
	if (!message->executed) {
		sim_world_fail(world, "QP %u: an answer to request %u, which was never executed", end->index,
			       model->una_message);
		return;
	}
	offset = (psn - message->first) * world->config.mtu;
	if (end->landing.key == 0 && message->landing != SIM_NONE && message->bytes > 0) {
		verdict->unwanted = true; /* it may not be placed any more */
		return;
	}
	if (message->opcode == UROCE_WR_RDMA_READ) {
		uint64_t bytes = model_part(world, message, (uint32_t)(psn - message->first));

		sim_memory_expect(world->memory, &message->buffer, offset, message->data + offset, bytes);
		verdict_touch(verdict, &message->buffer, offset, bytes);
	} else if (packet->opcode == OP_ATOMIC_ACKNOWLEDGE) {
		sim_memory_expect(world->memory, &message->buffer, 0, &message->original, 8);
		verdict_touch(verdict, &message->buffer, 0, 8);
	}
	move_una(world, end, psn + 1);
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

		model->counts[stale ? CNT_STALE_RESPONSE : CNT_GHOST_RESPONSE]++;
	} else if (packet->opcode != OP_ACKNOWLEDGE) {
		arrive_answer(world, end, packet, psn, verdict);
	} else if (syndrome_class(packet->syndrome) == SYNDROME_ACK) {
		cover(world, end, psn + 1);
	} else {
		const struct sim_message *oldest;

		cover(world, end, psn);
		oldest = &end->messages[model->una_message];
		if (psn - oldest->first < oldest->packets)
			arrive_nak(world, end, packet);
	}
}
