/* requests.c - judges request packets: their order, their lengths, and what of them has come in order */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "half.h"

#include <string.h>

static void count_request(struct trace_half *half, const struct wire_packet *packet)
{
	half->counts[COUNT_BYTES] += packet->payload_bytes;
	switch ((enum wire_kind)wire_opcode(packet->opcode)->kind) {
	case WIRE_KIND_SEND:
		half->counts[COUNT_SEND]++;
		break;
	case WIRE_KIND_WRITE:
		half->counts[COUNT_WRITE]++;
		break;
	case WIRE_KIND_READ_REQUEST:
		half->counts[COUNT_READ]++;
		break;
	case WIRE_KIND_ATOMIC:
		half->counts[COUNT_ATOMIC]++;
		break;
	case WIRE_KIND_FLUSH:
	case WIRE_KIND_ATOMIC_WRITE:
		half->counts[COUNT_OTHER]++;
		break;
	case WIRE_KIND_RESERVED:
	case WIRE_KIND_READ_RESPONSE:
	case WIRE_KIND_ACKNOWLEDGE:
	case WIRE_KIND_ATOMIC_ACKNOWLEDGE:
	case WIRE_KIND_UD_SEND:
	case WIRE_KIND_CNP:
	case WIRE_KIND_SACK:
	case WIRE_KIND_PROBE:
		half->counts[COUNT_RESERVED]++;
		break;
	}
}

/* The first request of the trace: nothing is known of what was before it, unless its connection's beginning is. */
static void synchronise(struct trace_half *half, const struct trace_packet *packet)
{
	int64_t place = 4 * PSN_SPACE + (half->begin_known ? half->begin_psn : packet->packet.psn);

	half->synced = true;
	half->requester.next = half->requester.cursor = place;
	half_step(half, place, 0);
	half->requester.rnr_at = NOWHERE;
	half->responder.expected = half->responder.said = half->responder.answered = place;
	half->responder.last_nak = NOWHERE;
}

static void check_length(struct trace *trace, struct trace_half *half, const struct trace_packet *packet,
			 const struct half_request *request)
{
	const struct wire_opcode_row *op = wire_opcode(packet->packet.opcode);
	uint32_t bytes = packet->packet.payload_bytes;

	if (!op->payload)
		return;
	if (packet->packet.pad_bytes != packet_pad_bytes(bytes) || bytes > half->mtu ||
	    (!op->last && bytes != half->mtu) || (op->last && !op->first && bytes == 0))
		half_say(trace, half, packet, TRACE_REQUEST_LENGTH, "%u bytes, pad %u, MTU %u", bytes,
			 packet->packet.pad_bytes, half->mtu);
	else if (op->kind == WIRE_KIND_WRITE && op->last && request->announced >= 0 && request->carried >= 0 &&
		 request->carried != request->announced)
		half_say(trace, half, packet, TRACE_REQUEST_LENGTH, "the message has %lld bytes, its RETH says %lld",
			 (long long)request->carried, (long long)request->announced);
}

/* What follows from the request before it. NULL: that one is not known. */
static void link_request(struct trace *trace, struct trace_half *half, const struct trace_packet *packet,
			 struct half_request *request, const struct half_request *before)
{
	const struct wire_opcode_row *op = wire_opcode(request->packet.opcode), *old = NULL;
	bool begins = !op->payload || op->first;

	if (before)
		old = wire_opcode(before->packet.opcode);
	if (begins) {
		request->carried = request->packet.payload_bytes;
		request->announced = op->kind == WIRE_KIND_WRITE ? (int64_t)request->packet.dma_length : -1;
	} else if (before && before->carried >= 0) {
		request->carried = before->carried + request->packet.payload_bytes;
		request->announced = before->announced;
	}
	if (before && before->messages >= 0)
		request->messages = before->messages + (!op->payload || op->last);
	if (old) {
		bool open = old->payload && !old->last;

		if (begins == open || (!begins && old->kind != op->kind))
			half_say(trace, half, packet, TRACE_OPCODE_SEQUENCE, "%s after %s", op->name, old->name);
	}
	check_length(trace, half, packet, request);
}

/* The first asking that another one repeats; the oldest, when none is repeated. */
static uint32_t dispensable(const struct half_request *request)
{
	for (uint32_t i = 0; i < request->asked_count; i++) {
		for (uint32_t j = i + 1; j < request->asked_count; j++) {
			if (memcmp(&request->asked[i], &request->asked[j], sizeof(request->asked[0])) == 0)
				return i;
		}
	}
	return 0;
}

static void note_asking(const struct trace_half *half, struct half_request *request, const struct wire_packet *packet,
			int64_t place)
{
	if (!half_needs_answer(&request->packet))
		return;
	if (request->asked_count == ASKED_MAX) {
		uint32_t given_up = dispensable(request);

		memmove(&request->asked[given_up], &request->asked[given_up + 1],
			(--request->asked_count - given_up) * sizeof(request->asked[0]));
	}
	request->asked[request->asked_count++] =
		(struct half_asking){ .begin = place, .next = place, .end = place + half_psns(half, packet) };
}

static void note_sending(struct trace_half *half, const struct wire_packet *packet, struct half_request *request,
			 int64_t place)
{
	int64_t end = place + half_psns(half, packet);
	uint64_t sending = ++half->requester.sendings;

	if (end >= request->first + request->count)
		request->sending = sending;
	half_pieces_sent(half, place, end, sending);
}

/* What the responder must make of it, if everything that passed here came to it. */
static void arrive(struct trace_half *half, int64_t place, const struct half_request *request)
{
	struct half_responder *responder = &half->responder;
	bool here = half->view & TRACE_AT_RESPONDER;

	if (place > responder->expected) {
		half->counts[responder->gap || responder->silent ? COUNT_AFTER_NAK : COUNT_GAPS] += here;
		responder->gap = true;
		return;
	}
	if (place < responder->expected) {
		half->counts[COUNT_DUPLICATES] += here;
		return;
	}
	responder->expected += request ? request->count : 1;
	responder->gap = responder->gap_told = responder->silent = false;
}

static void check_window(struct trace *trace, struct trace_half *half, const struct trace_packet *packet, int64_t end)
{
	if (end - half->requester.snd_una > WINDOW)
		half_say(trace, half, packet, TRACE_WINDOW_EXCEEDED, "%lld PSNs from psn=%u on",
			 (long long)(end - half->requester.snd_una), half_psn(half->requester.snd_una));
}

/* Never seen before: at its own place in the order, or in a hole. */
static struct half_request *take_new(struct trace *trace, struct trace_half *half, const struct trace_packet *packet,
				     int64_t place)
{
	int64_t count = half_psns(half, &packet->packet);
	struct half_request *request = half_insert(half, place, count, &packet->packet);

	if (!request) {
		half_say(trace, half, packet, TRACE_RESEND_DIFFERS, "it takes %lld PSNs, others are known within",
			 (long long)count);
		return NULL;
	}
	if (request == half->requests) { /* the first of the trace: what was before counts as nothing */
		const struct wire_opcode_row *op = wire_opcode(packet->packet.opcode);

		request->messages = !op->payload || op->last;
		for (uint32_t i = 1; i < half->request_count; i++)
			request[i].messages = -1;
		half->responder.msn_base_known = false;
	}
	link_request(trace, half, packet, request, half_before(half, request));
	return request;
}

static void check_waits(struct trace *trace, struct trace_half *half, const struct trace_packet *packet, int64_t place)
{
	const struct half_requester *requester = &half->requester;
	uint64_t grace = trace_options(trace)->grace_ns;

	if (!(half->view & TRACE_AT_REQUESTER))
		return;
	if (requester->rnr_at != NOWHERE && place >= requester->rnr_at &&
	    packet->time_ns > requester->rnr_from_ns + grace && packet->time_ns < requester->rnr_until_ns)
		half_say(trace, half, packet, TRACE_RNR_NOT_WAITED, "%llu ns too early",
			 (unsigned long long)(requester->rnr_until_ns - packet->time_ns));
	if (requester->fatal_ns && packet->time_ns > requester->fatal_ns + grace)
		half_say(trace, half, packet, TRACE_REQUEST_AFTER_FATAL, "%llu ns after it",
			 (unsigned long long)(packet->time_ns - requester->fatal_ns));
}

/* An empty WRITE in the place of another request that was sent long ago: it only asks how far the peer has come. */
static bool is_probe(const struct trace_half *half, const struct wire_packet *packet, int64_t place)
{
	const struct half_request *request = half_find(half, place);

	if (packet->opcode != OP_WRITE_ONLY || packet->dma_length > 0 || !(packet->flags & WIRE_ACKREQ) ||
	    (half->request_count == 0 && !half->begin_known) || place >= half->requester.next)
		return false;
	if (request == NULL && half->begin_known)
		return half_place(half, half->begin_psn) > place;
	if (request == NULL) /* before the very first one, whose address it has */
		return place + 1 == half->requests[0].first && packet->va == half->requests[0].packet.va &&
		       packet->rkey == half->requests[0].packet.rkey;
	/* Where an empty WRITE stood itself, the question has the address of the one behind it. */
	return request->packet.opcode != OP_WRITE_ONLY || request->packet.dma_length > 0 ||
	       request->packet.va != packet->va || request->packet.rkey != packet->rkey;
}

void half_judge_request(struct trace *trace, struct trace_half *half, const struct trace_packet *packet)
{
	struct half_requester *requester = &half->requester;
	struct half_request *request;
	int64_t place;
	bool earlier;

	count_request(half, &packet->packet);
	if (!half->synced)
		synchronise(half, packet);
	place = half_place(half, packet->packet.psn);
	check_waits(trace, half, packet, place);
	if (is_probe(half, &packet->packet, place)) {
		half->counts[COUNT_RESENT]++;
		arrive(half, place, NULL);
		return;
	}
	earlier = !half->responder.spoken && !half->begin_known && half->request_count > 0 &&
		  place < half->requests[0].first;
	if (earlier)
		half_begin_at(half, place);
	request = half_find(half, place);
	if (request) {
		half_judge_resend(trace, half, packet, place);
	} else {
		half->not_at_requester |= place > requester->next;
		if (place > requester->next && half->view & TRACE_AT_REQUESTER)
			half_say(trace, half, packet, TRACE_PSN_SKIPPED, "psn=%u comes next",
				 half_psn(requester->next));
		request = take_new(trace, half, packet, place);
	}
	/* take_new() may have moved the requests; so may nothing below. */
	if (request)
		note_sending(half, &packet->packet, request, place);
	if (request && place >= request->first)
		note_asking(half, request, &packet->packet, place);
	arrive(half, place, request);
	half->responder.gap |= earlier && requester->next > half->responder.expected; /* that has come already */
	if (request && request->first + request->count > requester->next) {
		if (requester->snd_una == requester->next)
			requester->timer_ns = requester->resent_ns = packet->time_ns;
		if (requester->cursor == requester->next)
			requester->cursor = request->first + request->count;
		requester->next = request->first + request->count;
		check_window(trace, half, packet, requester->next);
	}
}
