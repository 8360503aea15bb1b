/* resends.c - judges requests that are sent again: the same contents, from the right place, for a reason */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "half.h"

/* A READ asked for again: from k packets on, VA and length follow; it may ask for less, not for more. */
static void check_read(struct trace *trace, struct trace_half *half, const struct trace_packet *packet,
		       const struct half_request *request, int64_t place)
{
	const struct wire_packet *old = &request->packet, *now = &packet->packet;
	uint64_t skipped = (uint64_t)(place - request->first) * half->mtu;

	if (now->opcode != old->opcode || now->rkey != old->rkey)
		half_say(trace, half, packet, TRACE_RESEND_DIFFERS, "another opcode or key than that of its READ");
	else if (now->va != old->va + skipped || skipped + now->dma_length > old->dma_length)
		half_say(trace, half, packet, TRACE_READ_RANGE, "va=%#llx len=%u at %lld packets of va=%#llx len=%u",
			 (unsigned long long)now->va, now->dma_length, (long long)(place - request->first),
			 (unsigned long long)old->va, old->dma_length);
}

static void check_contents(struct trace *trace, struct trace_half *half, const struct trace_packet *packet,
			   const struct half_request *request, int64_t place)
{
	const struct wire_packet *old = &request->packet, *now = &packet->packet;
	const struct wire_opcode_row *op = wire_opcode(old->opcode);
	const char *what = NULL;

	if (op->kind == WIRE_KIND_READ_REQUEST) {
		check_read(trace, half, packet, request, place);
		return;
	}
	if (now->opcode != old->opcode)
		what = "opcode";
	else if (now->payload_bytes != old->payload_bytes || now->pad_bytes != old->pad_bytes)
		what = "length";
	else if ((op->reth || op->atomic) && (now->va != old->va || now->rkey != old->rkey))
		what = "address or key";
	else if (op->reth && now->dma_length != old->dma_length)
		what = "DMALen";
	else if (op->atomic && (now->swap_add != old->swap_add || now->compare != old->compare))
		what = "operands";
	else if ((op->immdt || op->ieth) && now->imm != old->imm)
		what = "immediate or key";
	if (what)
		half_say(trace, half, packet, TRACE_RESEND_DIFFERS, "%s first, now %s: another %s", op->name,
			 wire_opcode(now->opcode)->name, what);
}

/* Since when nothing has happened, as the requester must know by now. */
static uint64_t silent_since(struct trace_half *half, uint64_t timer_ns, uint64_t now_ns, uint64_t grace_ns)
{
	const struct half_requester *requester = &half->requester;
	uint64_t progress_ns;

	half_known_una(half, now_ns, grace_ns);
	progress_ns = requester->steps[requester->known].ns;
	return progress_ns > timer_ns ? progress_ns : timer_ns;
}

static enum half_cause find_cause(const struct trace *trace, const struct trace_half *half, uint64_t now_ns,
				  uint64_t silence_ns)
{
	const struct half_requester *requester = &half->requester;

	if (requester->causes[CAUSE_NAK])
		return CAUSE_NAK;
	if (requester->causes[CAUSE_RNR])
		return CAUSE_RNR;
	if (requester->causes[CAUSE_ANSWER] &&
	    (requester->answer_came_ns == 0 || now_ns <= requester->answer_came_ns + trace_options(trace)->grace_ns))
		return CAUSE_ANSWER;
	return silence_ns >= trace_options(trace)->silence_ns ? CAUSE_SILENCE : CAUSE_NONE;
}

/* The requester goes back: once for each cause. */
static void judge_restart(struct trace *trace, struct trace_half *half, const struct trace_packet *packet)
{
	static const enum half_count counts[HALF_CAUSES] = {
		[CAUSE_NAK] = COUNT_RESTARTS_NAK,
		[CAUSE_ANSWER] = COUNT_RESTARTS_ANSWER,
		[CAUSE_RNR] = COUNT_RESTARTS_RNR,
		[CAUSE_SILENCE] = COUNT_RESTARTS_SILENCE,
	};
	struct half_requester *requester = &half->requester;
	uint64_t now_ns = packet->time_ns, grace_ns = trace_options(trace)->grace_ns;
	uint64_t silence_ns = now_ns - silent_since(half, requester->timer_ns, now_ns, grace_ns);
	enum half_cause cause = find_cause(trace, half, now_ns, silence_ns);

	if (cause == CAUSE_NONE) {
		half_say(trace, half, packet, TRACE_RESEND_WITHOUT_CAUSE, "%llu ns after the last progress or resend",
			 (unsigned long long)silence_ns);
	} else {
		half->counts[counts[cause]]++;
	}
	if (cause == CAUSE_ANSWER && packet->time_ns > requester->answer_lost_ns + trace_options(trace)->grace_ns +
							       trace_options(trace)->silence_ns)
		half_say(trace, half, packet, TRACE_ANSWER_LATE, "%llu ns after it showed",
			 (unsigned long long)(packet->time_ns - requester->answer_lost_ns));
	if (cause == CAUSE_ANSWER)
		half->answer_ns += packet->time_ns - requester->answer_lost_ns;
	if (cause == CAUSE_SILENCE)
		half->silence_ns += now_ns - silent_since(half, requester->resent_ns, now_ns, grace_ns);
	for (int i = 0; i < HALF_CAUSES; i++)
		requester->causes[i] = false;
	/* After a silence it may have been a probe, whatever else had come: an ACK timer does not notice that. */
	requester->timer_ns = silence_ns >= trace_options(trace)->silence_ns ? requester->resent_ns : now_ns;
	requester->resent_ns = now_ns;
}

/* May the requester have gone back to the beginning, for something else than an answer that showed to be missing? */
static bool may_have_gone_back(const struct trace *trace, struct trace_half *half, uint64_t now_ns)
{
	const struct trace_options *options = trace_options(trace);

	return half->requester.causes[CAUSE_NAK] || half->requester.causes[CAUSE_RNR] ||
	       now_ns - silent_since(half, half->requester.timer_ns, now_ns, options->grace_ns) >= options->silence_ns;
}

/* An answer is missing, or was dropped, that showed to be: it is asked for. */
static void ask_for_piece(struct trace_half *half, uint64_t now_ns)
{
	struct half_requester *requester = &half->requester;

	if (requester->causes[CAUSE_ANSWER])
		half->answer_ns += now_ns - requester->answer_lost_ns;
	half->counts[COUNT_RESTARTS_ANSWER]++;
	requester->causes[CAUSE_ANSWER] = false;
	requester->timer_ns = requester->resent_ns = now_ns;
}

/* Where a restart may begin and go on; only at the requester is it known what it has got. */
static void judge_place(struct trace *trace, struct trace_half *half, const struct trace_packet *packet,
			const struct half_request *request, int64_t place)
{
	struct half_requester *requester = &half->requester;
	bool read = wire_opcode(packet->packet.opcode)->kind == WIRE_KIND_READ_REQUEST;
	/* What was sent last goes out once more to ask for an ACK, when what follows has to wait: no restart. */
	bool asks = !read && place + 1 == requester->cursor && (packet->packet.flags & WIRE_ACKREQ);
	int64_t snd_una = half_known_una(half, packet->time_ns, trace_options(trace)->grace_ns);
	int64_t missing = half_pieces_missing(half, snd_una > request->first ? snd_una : request->first, place);
	bool begun = requester->pieces_end > request->first, piece = half_pieces_has(half, place);
	bool back = place < requester->cursor || requester->cursor == requester->next ||
		    (piece && requester->only_piece && place > requester->cursor);

	if (back && !asks) {
		bool due = half_pieces_is_due(half, place, packet->time_ns, trace_options(trace)->grace_ns);

		if (piece && !due)
			requester->causes[CAUSE_ANSWER] = false;
		requester->only_piece = due && !may_have_gone_back(trace, half, packet->time_ns);
		if (requester->only_piece)
			ask_for_piece(half, packet->time_ns);
		else
			judge_restart(trace, half, packet);
	}
	requester->cursor = read ? place + half_psns(half, &packet->packet) : place + 1;
	if (place < snd_una)
		half_say(trace, half, packet, TRACE_RESEND_NEEDLESS, "psn=%u and all before it are acknowledged",
			 half_psn(snd_una - 1));
	else if (read && begun && missing < place && !trace_options(trace)->any_order)
		half_say(trace, half, packet, TRACE_READ_LEAVES_OUT, "psn=%u has not come", half_psn(missing));
}

void half_judge_resend(struct trace *trace, struct trace_half *half, const struct trace_packet *packet, int64_t place)
{
	struct half_request *request = half_find(half, place);
	const struct half_request *before = half_before(half, request);
	bool read = wire_opcode(packet->packet.opcode)->kind == WIRE_KIND_READ_REQUEST;

	half->counts[COUNT_RESENT]++;
	half->counts[COUNT_RESENT_READS] += read;
	half->counts[COUNT_RESENT_BYTES] += packet->packet.payload_bytes;
	check_contents(trace, half, packet, request, place);
	if (before && before->messages >= 0)
		request->messages = before->messages + wire_opcode(request->packet.opcode)->last;
	half->resent_needlessly |= place < half_known_una(half, packet->time_ns, trace_options(trace)->grace_ns);
	if (half->view & TRACE_AT_REQUESTER)
		judge_place(trace, half, packet, request, place);
}
