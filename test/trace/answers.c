/* answers.c - judges READ responses and atomic acknowledges: asked for, in sequence, of the right length */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "half.h"

/* Takes the asking that begins at place; older ones of the same request that do not lie behind are given up by that. */
static bool take_asking(struct half_request *request, int64_t place, uint32_t *bytes)
{
	uint32_t taken = request->asked_count, kept = 0;

	for (uint32_t i = 0; i < request->asked_count; i++) {
		if (request->asked[i] == place) {
			taken = i;
			break;
		}
	}
	if (taken == request->asked_count)
		return false;
	*bytes = request->asked_bytes[taken];
	for (uint32_t i = 0; i < request->asked_count; i++) {
		if (i == taken || (i < taken && request->asked[i] < place))
			continue;
		request->asked[kept] = request->asked[i];
		request->asked_bytes[kept++] = request->asked_bytes[i];
	}
	request->asked_count = (uint8_t)kept;
	return true;
}

static void check_atomic(struct trace *trace, struct trace_half *half, const struct trace_packet *packet,
			 struct half_request *request)
{
	if (packet->packet.opcode != OP_ATOMIC_ACKNOWLEDGE)
		return;
	if (request->has_original && request->original != packet->packet.original)
		half_say(trace, half, packet, TRACE_ATOMIC_CHANGED, "%#llx after %#llx",
			 (unsigned long long)packet->packet.original, (unsigned long long)request->original);
	request->has_original = true;
	request->original = packet->packet.original;
}

/* Opcode and length by where in the stream it stands; only there where the whole stream is seen. */
static void check_position(struct trace *trace, struct trace_half *half, const struct trace_packet *packet,
			   const struct half_request *request, int64_t place, bool begins)
{
	const struct wire_opcode_row *op = wire_opcode(packet->packet.opcode);
	bool last = place + 1 == request->stream_end, restarted = begins && place > request->first;
	uint64_t before = (uint64_t)(place - request->first) * half->mtu;
	uint32_t bytes = packet->packet.payload_bytes;

	/* Who is asked again from within may begin anew, or go on as Linux does. */
	if (op->last != last || (op->first != begins && !(restarted && !op->first)))
		half_say(trace, half, packet, TRACE_RESPONSE_SEQUENCE, "%s, %s of its stream", op->name,
			 begins ? "the first" :
			 last   ? "the last" :
				  "in the middle");
	if (last ? before + bytes > request->packet.dma_length || bytes > half->mtu ||
			    bytes % 4 != (-packet->packet.pad_bytes & 3) :
		   bytes != half->mtu)
		half_say(trace, half, packet, TRACE_RESPONSE_LENGTH, "%u bytes", bytes);
}

static int64_t asking_end(const struct trace_half *half, int64_t place, uint32_t bytes)
{
	return place + (bytes <= half->mtu ? 1 : ((int64_t)bytes + half->mtu - 1) / half->mtu);
}

/*
 * A READ may be asked for again in parts. Of two askings that begin at the same place the newer one may be answered;
 * and what has never been answered is not given up for a part that is asked for again.
 */
static void settle_end(const struct trace_half *half, struct half_request *request, const struct wire_opcode_row *op,
		       int64_t place)
{
	bool early = op->last && place + 1 < request->stream_end, late = !op->last && place + 1 == request->stream_end;

	for (uint32_t i = 0; i < request->asked_count; i++) {
		int64_t end = asking_end(half, request->asked[i], request->asked_bytes[i]);

		if (request->asked[i] == request->stream_begin &&
		    ((early && end == place + 1) || (late && end > place + 1)))
			request->stream_end = end;
	}
	if (late && half->responder.answered < request->first + request->count)
		request->stream_end = request->first + request->count;
}

static void judge_read_response(struct trace *trace, struct trace_half *half, const struct trace_packet *packet,
				struct half_request *request, int64_t place)
{
	bool goes_on = place == request->stream_next, asked;
	uint32_t bytes = 0;

	/* It may be asked for again just where it has come to. */
	asked = (!goes_on || wire_opcode(packet->packet.opcode)->first) && take_asking(request, place, &bytes);
	if (!asked && !goes_on) {
		half_say(trace, half, packet, TRACE_RESPONSE_UNASKED, "psn=%u of the READ at psn=%u", half_psn(place),
			 half_psn(request->first));
		return;
	}
	if (asked) {
		request->stream_begin = place;
		request->stream_end = asking_end(half, place, bytes);
	}
	settle_end(half, request, wire_opcode(packet->packet.opcode), place);
	check_position(trace, half, packet, request, place, asked);
	request->stream_next = place + 1 < request->stream_end ? place + 1 : NOWHERE;
}

void half_judge_answer(struct trace *trace, struct trace_half *half, const struct trace_packet *packet, int64_t place)
{
	struct half_request *request = half_find(half, place);
	bool read = wire_opcode(packet->packet.opcode)->kind == WIRE_KIND_READ_RESPONSE;
	uint32_t bytes;

	half->counts[read ? COUNT_READ_RESPONSES : COUNT_ATOMIC_ANSWERS]++;
	if (read) {
		half->counts[COUNT_READ_BYTES] += packet->packet.payload_bytes;
		half->counts[COUNT_READ_RESPONSES_AGAIN] += place < half->responder.answered;
	}
	if (!request || !half_needs_answer(&request->packet)) {
		if (place < half->requester.next)
			half_say(trace, half, packet, TRACE_RESPONSE_UNASKED, "no request asked for an answer there");
		return;
	}
	check_atomic(trace, half, packet, request);
	if (!(half->view & TRACE_AT_RESPONDER))
		return;
	if (read && wire_opcode(request->packet.opcode)->kind == WIRE_KIND_READ_REQUEST)
		judge_read_response(trace, half, packet, request, place);
	else if (!take_asking(request, place, &bytes))
		half_say(trace, half, packet, TRACE_RESPONSE_UNASKED, "asked for fewer times");
}
