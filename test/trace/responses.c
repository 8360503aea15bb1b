/* responses.c - judges ACKs and NAKs, and keeps what the requester makes of every response */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "half.h"
#include "rc/codes.h"

static void progress(struct trace_half *half, int64_t snd_una, uint64_t now_ns)
{
	struct half_requester *requester = &half->requester;

	if (snd_una <= requester->snd_una)
		return;
	half_step(half, snd_una, now_ns);
	if (snd_una > requester->answer_at && requester->answer_came_ns == 0)
		requester->answer_came_ns = now_ns;
	if (requester->cursor < snd_una)
		requester->cursor = snd_una;
	if (requester->rnr_at != NOWHERE && requester->rnr_at < snd_una)
		requester->rnr_at = NOWHERE;
}

/* Everything before `end` is acknowledged by a response to `place`; false: but for an answer that is missing. */
static bool cover(struct trace_half *half, int64_t place, int64_t end, uint64_t now_ns)
{
	struct half_requester *requester = &half->requester;
	int64_t snd_una = half_cover(half, requester->snd_una, end);

	half_pieces_see(half, end, now_ns);
	progress(half, snd_una, now_ns);
	if (snd_una >= end)
		return true;
	half->not_at_responder |= place < requester->cursor;
	/* What was sent before the resend that is under way shows nothing new. */
	if (place < requester->cursor && (!requester->causes[CAUSE_ANSWER] || requester->answer_came_ns > 0)) {
		requester->answer_came_ns = 0;
		requester->causes[CAUSE_ANSWER] = true;
		requester->answer_lost_ns = now_ns;
		requester->answer_at = end;
	}
	return false;
}

static void take_nak(struct trace_half *half, const struct trace_packet *packet, int64_t place)
{
	struct half_requester *requester = &half->requester;
	uint8_t syndrome = packet->packet.syndrome;

	cover(half, place - 1, place, packet->time_ns);
	if (requester->snd_una != place && requester->pieces_end != place)
		return;
	if (syndrome_class(syndrome) == SYNDROME_RNR_NAK) {
		requester->causes[CAUSE_RNR] = true;
		requester->rnr_at = place;
		requester->rnr_from_ns = packet->time_ns;
		requester->rnr_until_ns = packet->time_ns + rc_codes_rnr_ns(syndrome_value(syndrome));
	} else if (syndrome_value(syndrome) == NAK_PSN_SEQUENCE) {
		requester->causes[CAUSE_NAK] = true;
	} else if (syndrome_value(syndrome) < NAK_CODES) {
		requester->fatal_ns = packet->time_ns;
	}
}

static void take_response(struct trace_half *half, const struct trace_packet *packet, int64_t place)
{
	struct half_requester *requester = &half->requester;

	if (place >= requester->next)
		return; /* a ghost */
	if (packet->packet.opcode == OP_ACKNOWLEDGE) {
		if (syndrome_class(packet->packet.syndrome) == SYNDROME_ACK)
			cover(half, place, place + 1, packet->time_ns);
		else
			take_nak(half, packet, place);
		return;
	}
	half_pieces_come(half, place, packet->time_ns);
	if (place >= requester->snd_una && cover(half, place, place, packet->time_ns) && requester->snd_una == place)
		progress(half, place + 1, packet->time_ns);
}

/* Messages that are ended by the PSN before this place; -1: not known. */
static int64_t messages_before(const struct trace_half *half, int64_t place)
{
	const struct half_request *request = half_find(half, place - 1);

	if (request)
		return request->messages;
	return half->request_count > 0 && place == half->requests[0].first ? 0 : -1;
}

/* What is counted at least before `end`, by an MSN, gives the greatest number that 0 messages can have had. */
static void check_msn(struct trace *trace, struct trace_half *half, const struct trace_packet *packet, int64_t end)
{
	struct half_responder *responder = &half->responder;
	int64_t limit = half->view & TRACE_AT_RESPONDER ? responder->expected : half->requester.next;
	int64_t counted = messages_before(half, end), most = messages_before(half, limit);
	uint32_t msn = packet->packet.msn;
	int64_t base;

	if (responder->msn_seen && ((msn - responder->msn) & (PSN_SPACE - 1)) >= WINDOW) {
		if (half->view & TRACE_AT_RESPONDER && packet->packet.opcode == OP_ACKNOWLEDGE)
			half_say(trace, half, packet, TRACE_MSN_GOES_BACK, "msn=%u after msn=%u", msn, responder->msn);
	} else if (packet->packet.opcode == OP_ACKNOWLEDGE) {
		responder->msn_seen = true;
		responder->msn = msn;
	}
	if (counted < 0 || most < 0)
		return;
	base = ((int64_t)msn - counted) & (PSN_SPACE - 1);
	if (!responder->msn_base_known || ((base - responder->msn_base) & (PSN_SPACE - 1)) >= WINDOW) {
		responder->msn_base_known = true;
		responder->msn_base = base;
	} else if (((base - responder->msn_base) & (PSN_SPACE - 1)) > most - counted) {
		half_say(trace, half, packet, TRACE_MSN_BEYOND, "msn=%u, at most %u", msn,
			 half_psn(responder->msn_base + most));
	}
}

static void judge_ack(struct trace *trace, struct trace_half *half, const struct trace_packet *packet, int64_t place)
{
	struct half_responder *responder = &half->responder;
	const struct half_request *after = half_find(half, place + 1);

	half->counts[COUNT_ACKS]++;
	half->counts[COUNT_ACKS_AGAIN] += place + 1 <= responder->said;
	if (place + 1 < responder->said && half->view & TRACE_AT_RESPONDER &&
	    !(after && after->first == place + 1 && half_needs_answer(&after->packet)))
		half_say(trace, half, packet, TRACE_ACK_GOES_BACK, "psn=%u was acknowledged",
			 half_psn(responder->said - 1));
}

static void judge_sequence_nak(struct trace *trace, struct trace_half *half, const struct trace_packet *packet,
			       int64_t place)
{
	struct half_responder *responder = &half->responder;
	bool again = responder->last_nak == place;

	half->counts[COUNT_NAKS_SEQUENCE]++;
	responder->last_nak = place;
	/* What has passed the point did not come to the responder. */
	half->not_at_responder |= place < responder->expected && !again;
	if (!(half->view & TRACE_AT_RESPONDER)) {
		if (again)
			half_say(trace, half, packet, TRACE_NAK_AGAIN, "psn=%u", half_psn(place));
		return;
	}
	if (place > responder->expected)
		return; /* reported elsewhere: it answers a request that was never sent */
	if (place < responder->said) {
		half_say(trace, half, packet, TRACE_NAK_GOES_BACK, "psn=%u was acknowledged",
			 half_psn(responder->said - 1));
		return;
	}
	if (place < responder->expected) {
		half_say(trace, half, packet, TRACE_LOST_INSIDE, "psn=%u has come, up to psn=%u", half_psn(place),
			 half_psn(responder->expected - 1));
		responder->expected = place;
	} else if (responder->silent) {
		half_say(trace, half, packet, TRACE_NAK_WHILE_SILENT, "an RNR NAK named the same PSN");
	} else if (responder->gap_told) {
		half_say(trace, half, packet, TRACE_SECOND_NAK, "psn=%u has not come since", half_psn(place));
	} else if (!responder->gap) {
		half_say(trace, half, packet, TRACE_NAK_WITHOUT_GAP, "psn=%u is what comes next", half_psn(place));
	}
	responder->gap = responder->gap_told = true;
}

/* RNR NAKs, and those that end the connection: for a request that has come in order, which is then as not come. */
static void judge_other_nak(struct trace *trace, struct trace_half *half, const struct trace_packet *packet,
			    int64_t place)
{
	struct half_responder *responder = &half->responder;
	bool rnr = syndrome_class(packet->packet.syndrome) == SYNDROME_RNR_NAK;

	half->counts[rnr ? COUNT_NAKS_RNR : COUNT_NAKS_FATAL]++;
	if (!(half->view & TRACE_AT_RESPONDER))
		return;
	if (place < responder->said) {
		half_say(trace, half, packet, TRACE_NAK_GOES_BACK, "psn=%u was acknowledged",
			 half_psn(responder->said - 1));
		return;
	}
	if (place >= responder->expected)
		half_say(trace, half, packet, TRACE_NAK_WITHOUT_REQUEST, "psn=%u", half_psn(place));
	if (place <= responder->expected) {
		responder->expected = place;
		responder->silent = rnr;
		responder->gap = responder->gap_told = false;
	}
}

/* Everything before `end` is acknowledged by this response: has it come, and is it answered? */
static void acknowledge(struct trace *trace, struct trace_half *half, const struct trace_packet *packet, int64_t end)
{
	struct half_responder *responder = &half->responder;
	int64_t come = half->view & TRACE_AT_RESPONDER ? responder->expected : half->requester.next;

	if (end > come) {
		half_say(trace, half, packet, TRACE_ANSWER_TO_NOTHING, "psn=%u comes next", half_psn(come));
		return;
	}
	if (end > responder->answered) {
		responder->answered = half_cover(half, responder->answered, end);
		if (responder->answered < end && half->view & TRACE_AT_RESPONDER)
			half_say(trace, half, packet, TRACE_ANSWER_OVERTAKEN, "psn=%u is not answered",
				 half_psn(responder->answered));
		responder->answered = end;
	}
	if (end > responder->said)
		responder->said = end;
}

static void judge_acknowledge(struct trace *trace, struct trace_half *half, const struct trace_packet *packet,
			      int64_t place)
{
	uint8_t syndrome = packet->packet.syndrome;

	switch (syndrome_class(syndrome)) {
	case SYNDROME_ACK:
		judge_ack(trace, half, packet, place);
		acknowledge(trace, half, packet, place + 1);
		check_msn(trace, half, packet, place + 1);
		return;
	case SYNDROME_NAK:
		if (syndrome_value(syndrome) == NAK_PSN_SEQUENCE) {
			acknowledge(trace, half, packet, place);
			judge_sequence_nak(trace, half, packet, place);
			check_msn(trace, half, packet, place);
			return;
		}
		if (syndrome_value(syndrome) >= NAK_CODES)
			break;
		/* fall through */
	case SYNDROME_RNR_NAK:
		judge_other_nak(trace, half, packet, place);
		acknowledge(trace, half, packet, place);
		check_msn(trace, half, packet, place);
		return;
	}
	half->counts[COUNT_RESERVED]++;
}

void half_judge_response(struct trace *trace, struct trace_half *half, const struct trace_packet *packet)
{
	int64_t place;

	if (!half->synced) {
		half->counts[COUNT_EARLY]++;
		return;
	}
	place = half_place(half, packet->packet.psn);
	if (!half->responder.spoken && !half->begin_known && place < half->requests[0].first)
		half_begin_at(half, place + (packet->packet.opcode == OP_ACKNOWLEDGE &&
					     syndrome_class(packet->packet.syndrome) == SYNDROME_ACK));
	half->responder.spoken = true;
	if (packet->packet.opcode == OP_ACKNOWLEDGE) {
		judge_acknowledge(trace, half, packet, place);
	} else {
		half_judge_answer(trace, half, packet, place);
		acknowledge(trace, half, packet, place);
		if (place < half->responder.expected || !(half->view & TRACE_AT_RESPONDER)) {
			if (place + 1 > half->responder.answered)
				half->responder.answered = place + 1;
			if (place + 1 > half->responder.said)
				half->responder.said = place + 1;
		}
		if (wire_opcode(packet->packet.opcode)->aeth)
			check_msn(trace, half, packet, place);
	}
	take_response(half, packet, place);
}
