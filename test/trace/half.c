/* half.c - one direction of a connection: its requests by their place */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "half.h"

#include <stdlib.h>
#include <string.h>

/* The place nearest to what came last. */
int64_t half_place(const struct trace_half *half, uint32_t psn)
{
	int64_t distance = ((int64_t)psn - half->requester.next) & (PSN_SPACE - 1);

	return half->requester.next + (distance >= WINDOW ? distance - PSN_SPACE : distance);
}

uint32_t half_psn(int64_t place)
{
	return (uint32_t)(place & (PSN_SPACE - 1));
}

bool half_needs_answer(const struct wire_packet *packet)
{
	switch ((enum wire_kind)wire_opcode(packet->opcode)->kind) {
	case WIRE_KIND_READ_REQUEST:
	case WIRE_KIND_ATOMIC:
	case WIRE_KIND_FLUSH:
	case WIRE_KIND_ATOMIC_WRITE:
		return true;
	case WIRE_KIND_RESERVED:
	case WIRE_KIND_SEND:
	case WIRE_KIND_WRITE:
	case WIRE_KIND_READ_RESPONSE:
	case WIRE_KIND_ACKNOWLEDGE:
	case WIRE_KIND_ATOMIC_ACKNOWLEDGE:
	case WIRE_KIND_UD_SEND:
	case WIRE_KIND_CNP:
	case WIRE_KIND_SACK:
	case WIRE_KIND_PROBE:
		break;
	}
	return false;
}

int64_t half_psns(const struct trace_half *half, const struct wire_packet *packet)
{
	if (wire_opcode(packet->opcode)->kind != WIRE_KIND_READ_REQUEST || packet->dma_length <= half->mtu)
		return 1;
	return ((int64_t)packet->dma_length + half->mtu - 1) / half->mtu;
}

/* Index of the first request that begins behind place. */
static uint32_t index_behind(const struct trace_half *half, int64_t place)
{
	uint32_t low = 0, high = half->request_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (half->requests[middle].first <= place)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct half_request *half_find(const struct trace_half *half, int64_t place)
{
	uint32_t index = index_behind(half, place);
	struct half_request *request;

	if (index == 0)
		return NULL;
	request = &half->requests[index - 1];
	return place < request->first + request->count ? request : NULL;
}

struct half_request *half_insert(struct trace_half *half, int64_t place, int64_t count,
				 const struct wire_packet *packet)
{
	uint32_t index = index_behind(half, place);

	if (index < half->request_count && half->requests[index].first < place + count)
		return NULL;
	if (half->request_count == half->request_room) {
		half->request_room = half->request_room ? half->request_room * 2 : 32;
		half->requests = realloc(half->requests, half->request_room * sizeof(*half->requests));
		if (!half->requests)
			abort();
	}
	memmove(&half->requests[index + 1], &half->requests[index],
		(half->request_count++ - index) * sizeof(*half->requests));
	half->requests[index] = (struct half_request){
		.first = place,
		.count = count,
		.packet = *packet,
		.messages = -1,
		.carried = -1,
		.announced = -1,
	};
	return &half->requests[index];
}

const struct half_request *half_before(const struct trace_half *half, const struct half_request *request)
{
	const struct half_request *before = request - 1;

	return request > half->requests && before->first + before->count == request->first ? before : NULL;
}

void half_begin_at(struct trace_half *half, int64_t place)
{
	half->responder.expected = half->responder.said = half->responder.answered = place;
	half->responder.gap = true; /* by what has come already */
	half->responder.gap_told = false;
	half->requester.snd_una = half->requester.steps[0].snd_una = half->requester.pieces_end = place;
	for (uint32_t i = 0; i < half->request_count; i++)
		half->requests[i].messages = -1;
}

void half_step(struct trace_half *half, int64_t snd_una, uint64_t ns)
{
	struct half_requester *requester = &half->requester;

	if (requester->step_count == requester->step_room) {
		requester->step_room = requester->step_room ? requester->step_room * 2 : 32;
		requester->steps = realloc(requester->steps, requester->step_room * sizeof(*requester->steps));
		if (!requester->steps)
			abort();
	}
	requester->steps[requester->step_count++] = (struct half_step){ .ns = ns, .snd_una = snd_una };
	requester->snd_una = snd_una;
	half_pieces_pass(half, snd_una);
}

int64_t half_known_una(struct trace_half *half, uint64_t now_ns, uint64_t grace_ns)
{
	struct half_requester *requester = &half->requester;

	while (requester->known + 1 < requester->step_count &&
	       requester->steps[requester->known + 1].ns + grace_ns < now_ns)
		requester->known++;
	return requester->steps[requester->known].snd_una;
}

int64_t half_cover(const struct trace_half *half, int64_t from, int64_t end)
{
	while (from < end) {
		const struct half_request *request = half_find(half, from);

		if (request && half_needs_answer(&request->packet))
			break;
		from++;
	}
	return from;
}
