/* sent.c - does a packet that leaves say what it should? */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "rc/codes.h"
#include "sim/model.h"

/* ---- the responder's ---- */

/* Answers that have never left: the first request with one, or none before `executed`. */
static struct sim_message *find_unsent(struct sim_end *end, struct sim_end *peer)
{
	struct sim_model *model = &end->model;

	for (; model->unsent < model->executed; model->unsent++) {
		struct sim_message *message = &peer->messages[model->unsent];

		if (!message->local && message_needs_answer(message) && message->answers_sent < message->packets)
			return message;
	}
	return NULL;
}

bool sim_model_has_unsent(struct sim_end *end, struct sim_end *peer)
{
	return find_unsent(end, peer) != NULL;
}

/* Owed to a new request, or to a repeated one, which may not make an ACK beyond a later READ or atomic (S-8). */
static bool ack_has_reason(const struct sim_world *world, struct sim_end *end, int64_t psn)
{
	struct sim_model *model = &end->model;
	bool newest = psn == (int64_t)model->epsn - 1;

	if (newest && model->ack_owed) {
		model->ack_owed = model->repeat_owed = false;
		return true;
	}
	if (model->repeat_owed &&
	    psn <= sim_model_repeat_limit(world, end, world_peer(world, end), model->repeat_psn)) {
		model->repeat_owed = false;
		return true;
	}
	return world->config.credits; /* it may bring credits (F-4) */
}

static void check_ack(struct sim_world *world, struct sim_end *end, const struct wire_packet *packet, int64_t psn)
{
	const struct sim_message *unsent = find_unsent(end, world_peer(world, end));
	int64_t epsn = (int64_t)end->model.epsn;

	if (psn < -1 || psn > epsn - 1)
		sim_world_fail(world, "QP %u: an ACK of PSN %ld, executed is %ld", end->index, psn, epsn - 1);
	else if (packet->msn != (end->model.msn & PSN_MASK))
		sim_world_fail(world, "QP %u: an ACK with MSN %u, not %u", end->index, packet->msn, end->model.msn);
	else if (!ack_has_reason(world, end, psn))
		sim_world_fail(world, "QP %u: an ACK of PSN %ld that is owed to nobody", end->index, psn);
	else if (unsent && (int64_t)unsent->first <= psn)
		sim_world_fail(world, "QP %u: an ACK of PSN %ld before the answer of the request at %lu has left",
			       end->index, psn, unsent->first);
}

/* K-RULE, K-0. */
static void check_nak(struct sim_world *world, struct sim_end *end, const struct wire_packet *packet, int64_t psn)
{
	struct sim_model *model = &end->model;
	const struct sim_message *unsent = find_unsent(end, world_peer(world, end));
	bool receiver = syndrome_class(packet->syndrome) == SYNDROME_RNR_NAK;
	bool access = !receiver && syndrome_value(packet->syndrome) == NAK_REMOTE_ACCESS;

	/* A READ whose memory went away while it was being answered. */
	if (access && unsent && unsent->rkey != end->target.key &&
	    psn == (int64_t)(unsent->first + unsent->answers_sent)) {
		model->counts[CNT_RESP_REMOTE_ACCESS_ERRORS]++;
		model->fatal = true;
		model->fatal_code = NAK_REMOTE_ACCESS;
		return;
	}
	if (!model->nak_expected)
		sim_world_fail(world, "QP %u: a NAK %#x without a reason, or a second one", end->index,
			       packet->syndrome);
	else if (psn != (int64_t)model->epsn)
		sim_world_fail(world, "QP %u: a NAK of PSN %ld, expected is %lu", end->index, psn, model->epsn);
	else if (receiver != model->rnr_out ||
		 (!receiver &&
		  syndrome_value(packet->syndrome) != (model->fatal ? model->fatal_code : NAK_PSN_SEQUENCE)))
		sim_world_fail(world, "QP %u: the wrong NAK: %#x", end->index, packet->syndrome);
	else if (unsent)
		sim_world_fail(world, "QP %u: a NAK before the answer of the request at %lu has left", end->index,
			       unsent->first);
	model->nak_expected = model->ack_owed = model->repeat_owed = false;
	model->nak_out = true;
}

static bool answer_is_right(const struct sim_world *world, const struct sim_message *message,
			    const struct wire_packet *packet, uint32_t index, uint32_t begin, uint32_t end)
{
	const struct wire_opcode_row *op = wire_opcode(packet->opcode);
	uint64_t bytes = message->opcode == UROCE_WR_RDMA_READ ? model_part(world, message, index) : 0;
	uint8_t answer = sim_ops[message->opcode].answer;

	if (answer && packet->opcode == answer && !op->atomic_ack)
		return packet->payload_bytes == 8 && memcmp(packet->payload, &message->original, 8) == 0;
	if (answer)
		return packet->opcode == answer && packet->original == message->original;
	return op->kind == WIRE_KIND_READ_RESPONSE && op->last == (index + 1 == end) && op->first == (index == begin) &&
	       packet->payload_bytes == bytes &&
	       (bytes == 0 || memcmp(packet->payload, message->data + (uint64_t)index * world->config.mtu, bytes) == 0);
}

/*
 * Is it the next packet of a part that is owed? Those before it may have been given up, for their memory is not
 * registered any more, or the READ not known. Returns the part, which is forgotten with its last packet.
 */
static bool take_part(struct sim_model *model, const struct sim_message *message, uint32_t index, struct sim_part *part)
{
	uint32_t i = 0;

	while (i < model->part_count && (model->parts[i].first != message->first || model->parts[i].next != index))
		i++;
	if (i == model->part_count)
		return false;
	*part = model->parts[i];
	model->parts[i].next++;
	if (model->parts[i].next == model->parts[i].end)
		i++;
	model->part_count -= i;
	memmove(model->parts, model->parts + i, model->part_count * sizeof(model->parts[0]));
	return true;
}

static void check_answer(struct sim_world *world, struct sim_end *end, const struct wire_packet *packet, int64_t psn)
{
	struct sim_end *peer = world_peer(world, end);
	struct sim_message *unsent = find_unsent(end, peer), *message = sim_model_find_answered(end, peer, psn);
	struct sim_part part;
	uint32_t index;

	if (message == NULL) {
		sim_world_fail(world, "QP %u: an answer of PSN %ld, which no executed request owns", end->index, psn);
		return;
	}
	index = (uint32_t)(psn - (int64_t)message->first);
	part = (struct sim_part){ .begin = message->begin, .end = message->end };
	if (take_part(&end->model, message, index, &part))
		;
	else if (index != message->next++)
		sim_world_fail(world, "QP %u: the answer of PSN %ld is not the next of its stream", end->index, psn);
	if (message == unsent && index == message->answers_sent)
		message->answers_sent++;
	else if (index >= message->answers_sent)
		sim_world_fail(world, "QP %u: the answer of PSN %ld is out of order", end->index, psn);
	/* Later its memory may have changed: then a replayed READ is answered with what is there now (S-9). */
	if (peer->model.snd_una < message->first + message->packets && peer->qp &&
	    (!answer_is_right(world, message, packet, index, part.begin, part.end) ||
	     (wire_opcode(packet->opcode)->aeth && packet->msn != (message->msn & PSN_MASK))))
		sim_world_fail(world, "QP %u: the answer of PSN %ld is wrong", end->index, psn);
}

void sim_model_answer_sent(struct sim_world *world, struct sim_end *end, const struct wire_packet *packet)
{
	const struct sim_end *peer = world_peer(world, end);
	uint32_t behind = (uint32_t)(peer->start_psn + end->model.epsn - packet->psn) & PSN_MASK;
	int64_t psn = (int64_t)end->model.epsn - behind;

	if (packet->opcode != OP_ACKNOWLEDGE)
		check_answer(world, end, packet, psn);
	else if (syndrome_class(packet->syndrome) == SYNDROME_ACK)
		check_ack(world, end, packet, psn);
	else
		check_nak(world, end, packet, psn);
}

/* ---- the requester's ---- */

/*
 * A READ may be asked for again in parts of whole packets, but not by its first packet before the peer has executed it:
 * the part would be taken for a request of its own.
 */
static bool is_part_of_read(const struct sim_world *world, const struct sim_message *message,
			    const struct wire_packet *packet, uint32_t index)
{
	return message->opcode == UROCE_WR_RDMA_READ && packet->dma_length > 0 &&
	       packet->dma_length % world->config.mtu == 0 &&
	       packet->dma_length < message->bytes - (uint64_t)index * world->config.mtu &&
	       (index > 0 || message->executed);
}

/* Opcode and extension headers of packet `index`. */
static bool headers_are_right(const struct sim_world *world, const struct sim_message *message,
			      const struct wire_packet *packet, uint32_t index)
{
	const struct wire_opcode_row *op = wire_opcode(packet->opcode);
	bool cut = op->kind == WIRE_KIND_SEND || op->kind == WIRE_KIND_WRITE;
	bool first = index == 0, last = index + 1 == message->packets;
	bool immediate = message->opcode == UROCE_WR_SEND_WITH_IMM || message->opcode == UROCE_WR_RDMA_WRITE_WITH_IMM;
	uint64_t done = message->opcode == UROCE_WR_RDMA_READ ? (uint64_t)index * world->config.mtu : 0;

	if (op->kind != sim_ops[message->opcode].kind)
		return false;
	if (cut && (op->first != first || op->last != last || op->immdt != (immediate && last)))
		return false;
	if (op->ieth != (last && message->opcode == UROCE_WR_SEND_WITH_INV))
		return false;
	if ((op->immdt && packet->imm != message->imm) || (op->ieth && packet->invalidate_key != message->rkey))
		return false;
	if ((op->reth || op->atomic) && (packet->va != message->remote_va + done || packet->rkey != message->rkey))
		return false;
	if (op->reth && packet->dma_length != message->bytes - done && !is_part_of_read(world, message, packet, index))
		return false;
	return !cut || (bool)(packet->flags & WIRE_SOLICITED) == (last && (message->flags & UROCE_SEND_SOLICITED));
}

static bool payload_is_right(const struct sim_world *world, const struct sim_message *message,
			     const struct wire_packet *packet, uint32_t index)
{
	uint64_t offset = (uint64_t)index * world->config.mtu, bytes = model_part(world, message, index);
	uint8_t data[LIMIT_MTU_BYTES];

	if (!sim_ops[message->opcode].payload)
		return packet->payload_bytes == 0;
	if (packet->payload_bytes != bytes)
		return false;
	if (message->flags & UROCE_SEND_INLINE)
		memcpy(data, message->data + offset, bytes);
	else
		sim_memory_gather(world->memory, &message->buffer, offset, data, bytes);
	return bytes == 0 || memcmp(data, packet->payload, bytes) == 0;
}

/* may this request begin now? */
static const char *why_not_yet(const struct sim_world *world, const struct sim_end *end, uint32_t index)
{
	const struct sim_message *message = &end->messages[index];
	uint32_t unanswered = 0;

	for (uint32_t i = end->model.una_message; i < index; i++)
		unanswered += !end->messages[i].local && message_needs_answer(&end->messages[i]);
	if (end->poll_state != UROCE_QPS_RTS)
		return "in SQD";
	if (message->bad == BAD_LKEY && message->buffer.count == 1) /* of several, the last is the wrong one */
		return "with a wrong key";
	if ((message->flags & UROCE_SEND_FENCE) && unanswered > 0)
		return "before its fence";
	return message_needs_answer(message) && unanswered >= world->config.rd_atomic ? "beyond the depth" : NULL;
}

/* A duplicate of what is acknowledged, without data: it asks whether the peer is there (T-6). */
static bool is_empty_probe(const struct wire_packet *packet, uint64_t ahead)
{
	return ahead == PSN_MASK && packet->opcode == OP_WRITE_ONLY && (packet->flags & WIRE_ACKREQ) &&
	       packet->payload_bytes + packet->pad_bytes + packet->dma_length == 0;
}

/* Linux answers a part of a READ that lies before one that it was asked for later never more. */
static bool asked_upwards(const struct sim_world *world, struct sim_message *message, uint32_t index)
{
	bool upwards = message->opcode != UROCE_WR_RDMA_READ || index >= message->asked_from;

	message->asked_from = index;
	return upwards || world->config.any_order;
}

void sim_model_request_sent(struct sim_world *world, struct sim_end *end, const struct wire_packet *packet)
{
	struct sim_model *model = &end->model;
	uint64_t psn = model->snd_una + ((uint32_t)(packet->psn - end->start_psn - model->snd_una) & PSN_MASK);
	const struct sim_message *message = NULL;
	const char *reason;
	uint64_t end_psn;
	uint32_t at;

	model_skip_local(end, &model->una_message);
	if (is_empty_probe(packet, psn - model->snd_una)) {
		model->counts[CNT_RETRANSMITTED_PACKETS]++;
		model->asks++;
		model->beside = model->snd_una == model->limit;
		return;
	}
	for (at = model->una_message; at < end->posted; at++) {
		message = &end->messages[at];
		if (!message->local && psn < message->first + message->packets)
			break;
	}
	if (at == end->posted || message == NULL || psn > model->limit) {
		sim_world_fail(world, "QP %u: sends PSN %lu, the next is %lu", end->index, psn, model->limit);
		return;
	}
	if (!headers_are_right(world, message, packet, (uint32_t)(psn - message->first)) ||
	    !payload_is_right(world, message, packet, (uint32_t)(psn - message->first)))
		sim_world_fail(world, "QP %u: packet %lu of request %u is not as it was posted", end->index,
			       psn - message->first, at);
	if (!asked_upwards(world, &end->messages[at], (uint32_t)(psn - message->first)))
		sim_world_fail(world, "QP %u: asks for PSN %lu of a READ that was asked for from behind it", end->index,
			       psn);
	reason = psn == model->limit && psn == message->first ? why_not_yet(world, end, at) : NULL;
	if (reason)
		sim_world_fail(world, "QP %u: request %u begins %s", end->index, at, reason);
	if (model->resend_due && psn != model->snd_una && model->snd_una < model->limit)
		sim_world_fail(world, "QP %u: sends PSN %lu after a migration, and not what is unanswered", end->index,
			       psn);
	model->resend_due = false;
	model->attempts += psn == model->snd_una;
	if (model->rnr_until_ns > world_clock(world, end))
		sim_world_fail(world, "QP %u: sends PSN %lu although the receiver is not ready yet", end->index, psn);
	model->beside = false;
	model->counts[CNT_RETRANSMITTED_PACKETS] += psn != model->limit;
	end_psn = message->opcode == UROCE_WR_RDMA_READ ? message->first + message->packets : psn + 1;
	if (end_psn > model->limit)
		model->limit = end_psn;
	if (model->limit - model->snd_una > PSN_WINDOW)
		sim_world_fail(world, "QP %u: %lu PSNs are outstanding", end->index, model->limit - model->snd_una);
}
