/* answers.c - judges READ responses and atomic acknowledges: asked for, in sequence, of the right length */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "half.h"

#include <string.h>

static void remove_asking(struct half_request *request, uint32_t index)
{
	request->asked_count--;
	memmove(&request->asked[index], &request->asked[index + 1],
		(request->asked_count - index) * sizeof(request->asked[0]));
}

/*
 * An answer goes on where one of the askings has come to, and how it begins and ends tells which: a part may be
 * answered in front of the rest. Of askings that begin at the same place only the last packet tells.
 */
enum fit { FIT_NONE, FIT_PLACE, FIT_WENT_ON, FIT_FROM_WITHIN, FIT_EXACT };

struct match {
	enum fit fit;
	uint32_t at, asking; /* the answer goes on at the place of the one, and is the other's */
};

static enum fit fit(const struct half_request *request, int64_t begin, int64_t end, const struct wire_opcode_row *op,
		    int64_t place)
{
	bool first = place == begin, last = place + 1 == end;

	if (op->last != last)
		return FIT_PLACE;
	if (op->first == first)
		return FIT_EXACT;
	/* Who is asked again from within may begin anew, or go on as Linux does. */
	return first && place > request->first ? FIT_FROM_WITHIN : FIT_PLACE;
}

/* Of equals the first that has not begun, or the one that went on last. */
static void improve(struct match *best, bool first, enum fit fit, uint32_t at, uint32_t asking)
{
	if (fit > best->fit || (fit == best->fit && !first))
		*best = (struct match){ fit, at, asking };
}

static struct match find_asking(const struct half_request *request, const struct wire_opcode_row *op, int64_t place)
{
	const struct half_asking *asked = request->asked;
	struct match best = { FIT_NONE, 0, 0 };

	for (uint32_t i = 0; i < request->asked_count; i++) {
		for (uint32_t j = 0; asked[i].next == place && j < request->asked_count; j++) {
			if (asked[j].begin == asked[i].begin && asked[j].end > place)
				improve(&best, op->first, fit(request, asked[j].begin, asked[j].end, op, place), i, j);
		}
		/* Linux goes on in what it was asked for before, to the end of the part. */
		if (op->last && place + 1 == asked[i].end && asked[i].next == asked[i].begin && place > asked[i].begin)
			improve(&best, op->first, FIT_WENT_ON, i, i);
	}
	return best;
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

/* Only there where the whole stream is seen. */
static void check_length(struct trace *trace, struct trace_half *half, const struct trace_packet *packet,
			 const struct half_request *request, int64_t place, bool last)
{
	uint64_t before = (uint64_t)(place - request->first) * half->mtu;
	uint32_t bytes = packet->packet.payload_bytes;

	if (last ? before + bytes > request->packet.dma_length || bytes > half->mtu ||
			    bytes % 4 != (-packet->packet.pad_bytes & 3) :
		   bytes != half->mtu)
		half_say(trace, half, packet, TRACE_RESPONSE_LENGTH, "%u bytes", bytes);
}

static void judge_read_response(struct trace *trace, struct trace_half *half, const struct trace_packet *packet,
				struct half_request *request, int64_t place)
{
	const struct wire_opcode_row *op = wire_opcode(packet->packet.opcode);
	struct match match = find_asking(request, op, place);
	const struct half_asking *asking = &request->asked[match.asking];
	struct half_asking goes_on;

	if (match.fit == FIT_NONE) {
		half_say(trace, half, packet, TRACE_RESPONSE_UNASKED, "psn=%u of the READ at psn=%u", half_psn(place),
			 half_psn(request->first));
		return;
	}
	if (match.fit == FIT_PLACE)
		half_say(trace, half, packet, TRACE_RESPONSE_SEQUENCE, "%s, %s of what was asked for", op->name,
			 place == asking->begin   ? "the first" :
			 place + 1 == asking->end ? "the last" :
						    "in the middle");
	check_length(trace, half, packet, request, place, place + 1 == asking->end);
	request->asked[match.at].next = asking->next;
	goes_on = *asking;
	goes_on.next = place + 1;
	remove_asking(request, match.asking);
	if (goes_on.next < goes_on.end)
		request->asked[request->asked_count++] = goes_on;
}

static void judge_atomic_answer(struct trace *trace, struct trace_half *half, const struct trace_packet *packet,
				struct half_request *request)
{
	if (request->asked_count > 0)
		remove_asking(request, 0);
	else
		half_say(trace, half, packet, TRACE_RESPONSE_UNASKED, "asked for fewer times");
}

void half_judge_answer(struct trace *trace, struct trace_half *half, const struct trace_packet *packet, int64_t place)
{
	struct half_request *request = half_find(half, place);
	bool read = wire_opcode(packet->packet.opcode)->kind == WIRE_KIND_READ_RESPONSE;

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
	else
		judge_atomic_answer(trace, half, packet, request);
}
