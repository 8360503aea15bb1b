/* model.c - what an arriving packet has to bring about */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "rc/codes.h"
#include "rc/holes.h"
#include "sim/model.h"

void sim_model_reset(struct sim_end *end)
{
	free(end->model.parts);
	free(end->model.kept);
	end->model = (struct sim_model){ 0 };
}

static void taint_connection(struct sim_world *world, uint32_t index)
{
	if (world->connections[index].tainted)
		return;
	world->connections[index].tainted = true;
	for (uint32_t i = 0; i < 2; i++) {
		struct sim_end *either = &world->ends[2 * index + i];

		sim_memory_loosen(world->memory, either->target.at, either->target.bytes);
		sim_memory_loosen(world->memory, either->landing.at, either->landing.bytes);
		sim_memory_loosen(world->memory, either->receives->region.at, either->receives->region.bytes);
		sim_memory_loosen(world->memory, either->words.at, either->words.bytes);
	}
}

void sim_model_taint(struct sim_world *world, struct sim_end *end)
{
	sim_world_trouble(world, end, 100);
	taint_connection(world, end->index / 2);
	/*
	 * Who takes an entry from a shared queue takes it from all others; and of an atomic that was kept nobody knows
	 * whether a word that all share was changed before or behind it.
	 */
	for (uint32_t i = 0; (world->config.srq || world->config.window) && i < world->config.connections; i++)
		taint_connection(world, i);
}

/* ---- responder ---- */

static bool is_within(const struct sim_region *region, uint64_t at, uint64_t bytes)
{
	return at >= region->at && at + bytes <= region->at + region->bytes;
}

/* Does the key of the request still open what it is about? */
static bool may_access(const struct sim_end *end, const struct sim_message *message)
{
	const struct sim_region *region = is_within(&end->words, message->remote_at, 8) ? &end->words : &end->target;

	if (message->bytes == 0 && !(message->flush & UROCE_FLUSH_WHOLE_REGION))
		return true;
	if (message->bad == BAD_RKEY || message->bad == BAD_RANGE)
		return false;
	return message->windowed ? end->window_valid : message->rkey == region->key;
}

static const enum rc_counter refusal_counters[NAK_CODES] = {
	[NAK_INVALID_REQUEST] = CNT_RESP_LOCAL_LENGTH_ERROR,
	[NAK_REMOTE_ACCESS] = CNT_RESP_REMOTE_ACCESS_ERRORS,
	[NAK_REMOTE_OPERATIONAL] = CNT_RESP_LOCAL_OPERATIONAL,
};

/* The NAK that the packet at ePSN has to draw; 0: none. */
static uint32_t refusal_of(const struct sim_world *world, const struct sim_end *end, const struct sim_message *message)
{
	uint64_t offset = (uint64_t)end->model.packet * world->config.mtu;
	const struct sim_buffer *buffer = &end->receives->items[end->model.held].buffer;

	if (!message_is_send(message))
		return may_access(end, message) ? 0 : NAK_REMOTE_ACCESS;
	if (offset + model_part(world, message, end->model.packet) > (uint64_t)buffer->bytes[0] + buffer->bytes[1])
		return NAK_INVALID_REQUEST;
	if (message->bad == BAD_RKEY && end->model.packet + 1 == message->packets)
		return NAK_REMOTE_ACCESS;
	return end->receives->region.key == 0 && model_part(world, message, end->model.packet) > 0 ?
		       NAK_REMOTE_OPERATIONAL :
		       0;
}

/* A receive entry, when the packet needs one and none is held. false: there is none. */
static bool take_receive(struct sim_end *end, const struct sim_message *message, bool first, bool last)
{
	struct sim_model *model = &end->model;
	struct sim_receives *receives = end->receives;

	if (!message_needs_receive(message) || model->holds || !(message_is_send(message) ? first : last))
		return true;
	if (receives->taken == receives->posted)
		return false;
	model->holds = true;
	if (receives == &end->own) {
		model->held = receives->taken++ % SIM_RECEIVES_MAX;
		return true;
	}
	/* A shared queue gives its entries in the order in which they were posted. */
	for (uint32_t i = 0; i < SIM_RECEIVES_MAX; i++) {
		if (receives->items[i].busy && receives->items[i].index == receives->taken)
			model->held = i;
	}
	receives->taken++;
	return true;
}

void sim_model_data(struct sim_world *world, const struct sim_message *message, uint64_t offset, void *to,
		    uint64_t bytes)
{
	if (message->flags & UROCE_SEND_INLINE)
		memcpy(to, message->data + offset, bytes);
	else
		sim_memory_gather(world->memory, &message->buffer, offset, to, bytes);
}

/* A packet of a SEND or WRITE. */
static void execute_packet(struct sim_world *world, struct sim_end *end, struct sim_message *message,
			   struct sim_verdict *verdict)
{
	struct sim_model *model = &end->model;
	uint64_t offset = (uint64_t)model->packet * world->config.mtu;
	uint64_t bytes = model_part(world, message, model->packet);
	struct sim_buffer place = message_is_send(message) ? end->receives->items[model->held].buffer :
							     one_piece(message->remote_at, message->bytes);
	uint8_t data[LIMIT_MTU_BYTES];

	sim_model_data(world, message, offset, data, bytes);
	sim_memory_expect(world->memory, &place, offset, data, bytes);
	verdict_touch(verdict, &place, offset, bytes);
	model->epsn++;
	if (++model->packet < message->packets)
		return;
	model->msn++;
	if (message->opcode == UROCE_WR_SEND_WITH_INV)
		end->window_valid = false;
	model->counts[message_is_send(message) ? CNT_RX_SEND_REQUESTS : CNT_RX_WRITE_REQUESTS]++;
	model->receive_done = message_needs_receive(message);
	model->packet = 0;
}

/* A READ, an atomic, an ATOMIC WRITE, a FLUSH: answered one by one. */
static void execute_rd_atomic(struct sim_world *world, struct sim_end *end, struct sim_message *message,
			      struct sim_verdict *verdict)
{
	struct sim_model *model = &end->model;

	sim_ops[message->opcode].execute(world, end, message, verdict);
	message->end = message->packets;
	message->msn = ++model->msn;
	model->epsn += message->packets;
}

/* F-3, F-5: who listens to credits and hears everything sends one message too many at most, before the first ACK. */
static void check_credits(struct sim_world *world, struct sim_end *end)
{
	const struct sim_end *peer = world_peer(world, end);
	uint32_t before = 0;

	/*
	 * What a node that stood still has to tell comes late; and who waits for an ACK timeout may try with one (F-5):
	 * responses in the middle of a READ are no answer to that wait.
	 */
	if (world->now_ns >= peer->told_ns + rc_codes_timeout_ns(world->config.timeout))
		end->model.probing = end->model.message;
	if (end->model.probing == end->model.message)
		return;
	if (world->nodes[end->node].paused_until_ns || world->nodes[peer->node].paused_until_ns)
		return;
	if (!world->config.credits || end->receives != &end->own || end->all_troubles > 0 || peer->all_troubles > 0)
		return;
	for (uint32_t i = 0; i < end->model.message; i++)
		before += message_needs_receive(&peer->messages[i]) && !peer->messages[i].local;
	if (before > 0)
		sim_world_fail(world, "QP %u: message %u finds no receive in spite of credits", end->index,
			       end->model.message);
}

/* The packet that ePSN is for. */
void sim_model_take_next(struct sim_world *world, struct sim_end *end, const struct wire_packet *packet,
			 struct sim_verdict *verdict)
{
	struct sim_end *peer = world_peer(world, end);
	struct sim_model *model = &end->model;
	struct sim_message *message;

	if (model->nak_expected &&
	    model->rnr_out) { /* the NAK has to leave first, or what is behind is never sent again */
		model->counts[CNT_AFTER_NAK]++;
		return;
	}
	model->nak_out = model->rnr_out = model->nak_expected = false;
	if (model->message >= peer->posted) {
		sim_world_fail(world, "QP %u: a request arrives that was never posted", end->index);
		return;
	}
	verdict->request = true;
	message = &peer->messages[model->message];
	if (!take_receive(end, message, model->packet == 0, model->packet + 1 == message->packets)) {
		model->counts[CNT_OUT_OF_BUFFER]++;
		check_credits(world, end);
		model->nak_expected = model->rnr_out = true;
		return;
	}
	model->fatal_code = refusal_of(world, end, message);
	if (model->fatal_code) {
		model->counts[refusal_counters[model->fatal_code]]++;
		model->nak_expected = model->fatal = verdict->fatal = true;
		return;
	}
	model->executed = model->message + 1;
	message->executed = true;
	if (message_needs_answer(message)) {
		execute_rd_atomic(world, end, message, verdict);
		model->ack_owed = false; /* its answer is worth an ACK */
	} else {
		model->ack_owed |= packet->flags & WIRE_ACKREQ;
		execute_packet(world, end, message, verdict);
		if (model->packet > 0)
			return;
	}
	model->message++;
}

static void arrive_request(struct sim_world *world, struct sim_end *end, const struct wire_packet *packet,
			   struct sim_verdict *verdict)
{
	struct sim_model *model = &end->model;
	uint32_t ahead = (uint32_t)(packet->psn - world_peer(world, end)->start_psn - model->epsn) & PSN_MASK;

	if (ahead == 0) {
		sim_model_take_next(world, end, packet, verdict);
	} else if (ahead >= PSN_WINDOW) {
		sim_model_duplicate_arrived(world, end, packet, verdict);
	} else if (model->nak_out || model->nak_expected) {
		model->counts[CNT_AFTER_NAK]++;
	} else if (model->kept && (end->knows_psn || end->qp->state != UROCE_QPS_RTR)) {
		sim_model_before_turn(end, ahead, verdict);
	} else {
		model->counts[CNT_OUT_OF_SEQUENCE]++;
		model->nak_expected = true;
	}
}

/* ---- both ---- */

/* Y-3: a response that is waited for, or a request near ePSN or in the cache. */
static bool fits_a_migration(const struct sim_world *world, const struct sim_end *end, const struct wire_packet *packet)
{
	const struct sim_model *model = &end->model;
	uint32_t ahead = (uint32_t)(packet->psn - end->start_psn - model->snd_una) & PSN_MASK;
	uint32_t near = (uint32_t)(packet->psn - world_peer(world, end)->start_psn - model->epsn + ANOMALY_DISTANCE);

	if (wire_opcode(packet->opcode)->response)
		return ahead < model->limit - model->snd_una;
	return (near & PSN_MASK) <= 2 * ANOMALY_DISTANCE ||
	       rc_replay_find_owner(&end->qp->replay, psn_make(packet->psn)) != NULL;
}

/*
 * in ARMED a request to migrate to another path than the alternate one, or one that no migration explains; in
 * REARM the latter only.
 */
static bool is_refused(const struct sim_world *world, const struct sim_end *end, const struct wire_packet *packet,
		       const struct rc_origin *origin)
{
	const struct rc_migration *migration = &end->qp->migration;
	const struct uroce_path *alternate = &end->qp->alternate.path;
	bool elsewhere = memcmp(alternate->dest.bytes, origin->source, 16) != 0 ||
			 memcmp(alternate->source.bytes, origin->dest, 16) != 0;

	if (!(packet->flags & WIRE_MIGREQ) || migration->state == UROCE_PATH_MIGRATED)
		return false;
	if (migration->state == UROCE_PATH_REARM)
		return !elsewhere && !fits_a_migration(world, end, packet);
	return elsewhere || !fits_a_migration(world, end, packet);
}

void sim_model_arrive(struct sim_world *world, struct sim_end *end, const struct wire_packet *packet,
		      const struct rc_origin *origin, struct sim_verdict *verdict)
{
	verdict->had_failed = end->qp->state == UROCE_QPS_ERR;
	if (world_connection(world, end)->tainted || !verdict->right)
		return;
	model_skip_local(end, &end->model.una_message);
	model_skip_local(world_peer(world, end), &end->model.message);
	if (!end->qp->replay.has_parts)
		end->model.part_count =
			0; /* of those that the model still knows, the memory is not registered any more */
	if (!opcode_is_rc(packet->opcode)) {
		end->model.ack_owed |= packet->opcode == OP_PROBE;
		return;
	}
	if (wire_opcode(packet->opcode)->aeth)
		end->told_ns = world->now_ns;
	verdict->refused = is_refused(world, end, packet, origin);
	if (verdict->refused)
		end->model.counts[CNT_MIGRATION_REFUSED]++;
	else if (wire_opcode(packet->opcode)->response)
		sim_model_response_arrived(world, end, packet, verdict);
	else
		arrive_request(world, end, packet, verdict);
}

/*
 * Has this answer not come? One that came before its turn has not when the core says so, which has begun anew: then it
 * has to come again before snd_una may pass it.
 */
static bool forget_answer(struct sim_end *end, const struct sim_message *message, uint64_t psn)
{
	psn_t core_psn = psn_make((uint32_t)(end->start_psn + psn));
	uint8_t *came = message->came ? &message->came[psn - message->first] : NULL;

	if (came == NULL || *came == 0)
		return true;
	if (psn != end->model.snd_una &&
	    !rc_holes_may_take(end->qp, core_psn, rc_sendwin_owner(&end->qp->win, core_psn)))
		return false;
	*came = 0;
	return true;
}

/* Its answer has payload, which may be written before the ICRC is known: that of an atomic lies in a header. */
static bool is_answered_with_payload(const struct sim_message *message)
{
	const struct sim_op *op = &sim_ops[message->opcode];

	return op->lands && (op->answer == 0 || wire_opcode(op->answer)->payload);
}

/* The place of an answer that has not come, whatever its ICRC was. */
static void accept_answer(struct sim_world *world, struct sim_end *end, const struct wire_packet *packet)
{
	const struct sim_model *model = &end->model;
	uint64_t psn = model->snd_una + ((packet->psn - end->start_psn - (uint32_t)model->snd_una) & PSN_MASK);

	for (uint32_t i = model->una_message; i < end->posted && psn < model->limit; i++) {
		const struct sim_message *message = &end->messages[i];

		if (message->local || psn >= message->first + message->packets)
			continue;
		if (is_answered_with_payload(message) && forget_answer(end, message, psn))
			sim_memory_accept(world->memory, &message->buffer, (psn - message->first) * world->config.mtu,
					  world->config.mtu);
		return;
	}
}

/*
 * What may have been written before the ICRC was found wrong (decisions/0004): the place of the next packet, or of
 * this response, which is missing.
 */
static void accept_early(struct sim_world *world, struct sim_end *end, const struct wire_packet *packet)
{
	const struct sim_model *model = &end->model;
	const struct sim_end *peer = world_peer(world, end);
	const struct sim_message *coming = model->message < peer->posted ? &peer->messages[model->message] : NULL;
	uint64_t offset = (uint64_t)model->packet * world->config.mtu;

	if (model->packet > 0 && message_is_send(coming)) {
		sim_memory_accept(world->memory, &end->receives->items[model->held].buffer, offset, world->config.mtu);
	} else if (model->packet > 0) {
		struct sim_buffer rest = one_piece(coming->remote_at, coming->bytes);

		sim_memory_accept(world->memory, &rest, offset, world->config.mtu);
	} else if (end->receives == &end->own && end->own.region.key && end->own.taken != end->own.posted) {
		sim_memory_accept(world->memory, &end->own.items[end->own.taken % SIM_RECEIVES_MAX].buffer, 0,
				  world->config.mtu);
	}
	if (wire_opcode(packet->opcode)->response && end->landing.key)
		accept_answer(world, end, packet);
}

static void check_positions(struct sim_world *world, const struct sim_end *end, const struct sim_verdict *verdict)
{
	const struct rc_qp *qp = end->qp;
	const struct sim_model *model = &end->model;
	uint32_t epsn = (uint32_t)(world_peer(world, end)->start_psn + model->epsn) & PSN_MASK;
	uint32_t snd_una = (uint32_t)(end->start_psn + model->snd_una) & PSN_MASK;

	if (verdict->request && verdict->fatal != (qp->state == UROCE_QPS_ERR) && !verdict->had_failed)
		sim_world_fail(world, "QP %u: a request was %s that had to be %s", end->index,
			       verdict->fatal ? "accepted" : "refused", verdict->fatal ? "refused" : "accepted");
	if (verdict->unwanted && qp->state != UROCE_QPS_ERR)
		sim_world_fail(world, "QP %u: an answer for memory that is not registered is taken", end->index);
	if (qp->state == UROCE_QPS_ERR)
		return;
	if (qp->responder.epsn.v != epsn)
		sim_world_fail(world, "QP %u: ePSN is %u, not %u", end->index, qp->responder.epsn.v, epsn);
	if (qp->state != UROCE_QPS_RTR && qp->win.snd_una.v != snd_una)
		sim_world_fail(world, "QP %u: the oldest PSN is %u, not %u", end->index, qp->win.snd_una.v, snd_una);
	if (verdict->unknown_duplicate &&
	    qp->counters[CNT_REPLAY_MISS] + qp->counters[CNT_REPLAY_MISMATCH] != verdict->misses)
		sim_world_fail(world, "QP %u: the answer that the peer waits for is not in the replay cache",
			       end->index);
}

void sim_model_arrived(struct sim_world *world, struct sim_end *end, const struct wire_packet *packet,
		       struct sim_verdict *verdict, enum rc_counter drop)
{
	uint64_t wrong;

	if (verdict->right != (drop == CNT_COUNTERS))
		sim_world_fail(world, "QP %u: the ICRC of a packet is %s, and it was %s", end->index,
			       verdict->right ? "right" : "wrong", drop == CNT_COUNTERS ? "taken" : "dropped");
	if (world_connection(world, end)->tainted)
		return;
	if (!verdict->right) {
		accept_early(world, end, packet);
		return;
	}
	if (end->qp->state == UROCE_QPS_ERR && verdict->had_failed)
		return;
	if (verdict->restarted)
		sim_model_restarted(world, end, packet, verdict);
	if (end->model.kept)
		sim_model_follow_kept(world, end, verdict);
	if (wire_opcode(packet->opcode)->response && packet->opcode != OP_SACK && !verdict->refused)
		sim_model_response_taken(world, end, verdict);
	check_positions(world, end, verdict);
	wrong = sim_memory_compare_part(world->memory, &verdict->touched, verdict->offset, verdict->bytes);
	if (wrong != UINT64_MAX && (end->qp->state != UROCE_QPS_ERR || verdict->fatal))
		sim_world_fail(world, "QP %u: %s psn=%u placed wrong bytes, or none, at %lu", end->index,
			       wire_opcode(packet->opcode)->name, packet->psn, wrong);
}

void sim_model_refused(struct sim_world *world, struct sim_end *end, const struct wire_packet *packet,
		       const struct rc_origin *origin, enum rc_counter drop)
{
	const struct rc_qp *qp = end->qp;
	bool known = memcmp(qp->path.dest.bytes, origin->source, 16) == 0 &&
		     memcmp(qp->path.source.bytes, origin->dest, 16) == 0;

	if (drop == CNT_PORT_ADDRESS && known)
		sim_world_fail(world, "QP %u: a packet of its own path was refused", end->index);
	if (drop == CNT_PORT_QP_STATE && (qp->state == UROCE_QPS_RTS || qp->state == UROCE_QPS_SQD))
		sim_world_fail(world, "QP %u: a packet was refused for the state", end->index);
	if (drop == CNT_PORT_PKEY && packet->pkey == 0xFFFF)
		sim_world_fail(world, "QP %u: a packet was refused for its P_Key", end->index);
}

void sim_model_poll(struct sim_world *world, struct sim_end *end)
{
	struct sim_model *model = &end->model;

	if (world_connection(world, end)->tainted || model->migrations == end->qp->migration.count)
		return;
	model->migrations = end->qp->migration.count;
	model->resend_due = model->snd_una < model->limit && model->rnr_until_ns == 0;
}

/* T-1: never before its time. */
void sim_model_fired(struct sim_world *world, struct sim_end *end, uint64_t expired)
{
	struct sim_model *model = &end->model;
	uint64_t now = world_clock(world, end);

	if (model->rnr_until_ns <= now)
		model->rnr_until_ns = 0;
	if (expired == 0 || world_connection(world, end)->tainted)
		return;
	if (now < model->timer_ns + rc_codes_timeout_ns(world->config.timeout))
		sim_world_fail(world, "QP %u: the ACK timer expires %lu ns after progress", end->index,
			       now - model->timer_ns);
	model->timer_ns = now;
}

void sim_model_sent(struct sim_world *world, struct sim_end *end, const struct wire_packet *packet)
{
	if (packet->dest_qpn != world_peer(world, end)->qpn || packet->pkey != 0xFFFF)
		sim_world_fail(world, "QP %u: a packet for QPN %#x, P_Key %#x", end->index, packet->dest_qpn,
			       packet->pkey);
	if (world_connection(world, end)->tainted || world->failed)
		return;
	if (packet->opcode == OP_SACK) {
		sim_model_sack_sent(world, end, packet);
	} else if (packet->opcode == OP_PROBE) {
		end->model.counts[CNT_RETRANSMITTED_PACKETS]++;
		end->model.asks++;
	} else if (wire_opcode(packet->opcode)->response)
		sim_model_answer_sent(world, end, packet);
	else
		sim_model_request_sent(world, end, packet);
}
