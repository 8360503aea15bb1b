/* kept.c - the model of an end that keeps requests before their turn: in order, once, and SACKs tell the truth */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/codes.h"
#include "sim/model.h"
#include "sim/oracle.h"

static bool is_kept(const struct sim_model *model, uint64_t psn)
{
	return model->kept && model->kept[psn % KEPT_SPAN] == psn + 1;
}

void sim_model_before_turn(struct sim_end *end, uint32_t ahead, struct sim_verdict *verdict)
{
	struct sim_model *model = &end->model;

	model->counts[CNT_OUT_OF_SEQUENCE] += !model->gap;
	model->gap = true;
	verdict->offered = true;
	verdict->ahead_psn = model->epsn + ahead;
	verdict->kept_before = end->qp->counters[CNT_KEPT];
}

/* The next completion belongs to the message that has just been executed: another one may follow in the same call. */
static void take_completion(struct sim_world *world, struct sim_end *end, uint32_t *taken)
{
	if (!end->model.receive_done || *taken == world->out.completion_count)
		return;
	sim_oracle_completion(world, end, &world->out.completions[*taken]);
	++*taken;
}

/* Has the responder refused the packet at ePSN for good? The QP may be in ERR for a reason of the requester. */
static bool refused_for_good(const struct rc_qp *qp)
{
	const struct rc_ack *ack = &qp->responder.ack;

	return qp->state == UROCE_QPS_ERR && qp->responder.nak_outstanding &&
	       psn_equal(ack->nak_psn, qp->responder.epsn) && syndrome_class(ack->nak_syndrome) == SYNDROME_NAK &&
	       syndrome_value(ack->nak_syndrome) != NAK_PSN_SEQUENCE;
}

/* Has the core executed or refused more than the model? */
static bool core_is_ahead(const struct sim_world *world, const struct sim_end *end, const struct sim_verdict *verdict)
{
	const struct rc_qp *qp = end->qp;
	uint32_t epsn = (uint32_t)(world_peer(world, end)->start_psn + end->model.epsn) & PSN_MASK;

	if (refused_for_good(qp))
		return !verdict->had_failed && !verdict->fatal;
	return qp->responder.epsn.v != epsn || qp->counters[CNT_OUT_OF_BUFFER] != end->model.counts[CNT_OUT_OF_BUFFER];
}

void sim_model_follow_kept(struct sim_world *world, struct sim_end *end, struct sim_verdict *verdict)
{
	static const struct wire_packet drained = { .opcode = OP_WRITE_ONLY };
	struct sim_model *model = &end->model;
	uint32_t taken = world->filled;

	if (verdict->offered) {
		if (end->qp->counters[CNT_KEPT] == verdict->kept_before)
			model->counts[CNT_AFTER_NAK]++;
		else
			model->kept[verdict->ahead_psn % KEPT_SPAN] = verdict->ahead_psn + 1;
	}
	if (!verdict->request)
		return;
	while (!world->failed && is_kept(model, model->epsn) && core_is_ahead(world, end, verdict)) {
		take_completion(world, end, &taken);
		model_skip_local(world_peer(world, end), &model->message);
		sim_model_take_next(world, end, &drained, verdict);
	}
	for (uint32_t i = taken; i < world->out.completion_count; i++)
		world->out.completions[world->filled + i - taken] = world->out.completions[i];
	world->out.completion_count -= taken - world->filled;
	if (model->gap)
		model->ack_owed = true;
	model->gap = end->qp->responder.nak_outstanding;
	for (uint32_t i = 0; model->nak_expected && i < KEPT_SPAN; i++)
		model->kept[i] = 0; /* it was refused, and all will come again */
}

/* Kept packets for whose completions there was no room before are executed by a call that sends. */
void sim_model_polled(struct sim_world *world, struct sim_end *end)
{
	struct sim_verdict verdict = { .request = true, .had_failed = end->poll_state == UROCE_QPS_ERR };

	if (end->qp->state != UROCE_QPS_RESET && !world_connection(world, end)->tainted &&
	    is_kept(&end->model, end->model.epsn) && core_is_ahead(world, end, &verdict))
		sim_model_follow_kept(world, end, &verdict);
}

/*
 * SACKs have at most one and a half times the bytes that arrive, besides those of executed PSNs and a few per second.
 */
static void check_drawn(struct sim_world *world, struct sim_end *end, const struct wire_packet *packet)
{
	uint64_t paid = (end->bytes_in + end->model.epsn * KEPT_REQUEST_BYTES) * 3 / 2;

	end->sack_bytes += WIRE_IPV4_BYTES + WIRE_UDP_BYTES + 14 + packet_bytes(packet);
	if (end->sack_bytes > paid + KEPT_ALLOWANCE + world_clock(world, end) / 1000000 * KEPT_FLOOR_BYTES_MS)
		sim_world_fail(world, "QP %u: %lu bytes of SACKs for %lu bytes that arrived", end->index,
			       end->sack_bytes, end->bytes_in);
}

void sim_model_sack_sent(struct sim_world *world, struct sim_end *end, const struct wire_packet *packet)
{
	const struct sim_model *model = &end->model;
	uint32_t start = world_peer(world, end)->start_psn;

	if (packet->cack_psn != ((uint32_t)(start + model->epsn - 1) & PSN_MASK))
		sim_world_fail(world, "QP %u: a SACK says that everything up to %u has come", end->index,
			       packet->cack_psn);
	check_drawn(world, end, packet);
	if (sim_model_has_unsent(end, world_peer(world, end)))
		sim_world_fail(world, "QP %u: a SACK of PSN %u covers a READ or atomic without its response",
			       end->index, packet->cack_psn);
	for (uint32_t i = 0; i < KEPT_BLOCK; i++) {
		int64_t ahead = (int64_t)(int16_t)packet->sack_offset + i - 1;

		if ((packet->sack_bitmap >> i & 1) && ahead >= 0 && !is_kept(model, model->epsn + (uint64_t)ahead))
			sim_world_fail(world, "QP %u: a SACK says that PSN %lu has come", end->index,
				       model->epsn + (uint64_t)ahead);
	}
}
