/* trace.c - which connection a packet belongs to, where the trace was taken, and what was found */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "half.h"
#include "messages.h"

#define NO_QPN UINT32_MAX

const struct trace_verdict_row trace_verdicts[TRACE_VERDICTS] = {
#define VERDICT(symbol, verdict, is_wrong, text) \
	[TRACE_##symbol] = { .name = verdict, .wrong = is_wrong, .sentence = text },
#include "verdicts.def"
#undef VERDICT
};

/* Where SACKs and PROBEs of two ends that have agreed to selective repeat went. */
struct agreed {
	uint8_t source[16], dest[16];
	uint32_t dest_qpn;
};

struct trace {
	struct trace_options options;
	struct trace_packet *packets;
	uint64_t packet_count, packet_room;
	struct agreed *agreed;
	uint64_t agreed_count, agreed_room;
	struct messages *messages;
	uint64_t begin_ns;
	bool begun;
	struct trace_half **halves;
	uint32_t half_count, half_room, half_recent;
	struct trace_finding *findings;
	uint32_t finding_count, finding_room;
	uint64_t counts[TRACE_VERDICTS];
};

/* A larger array when it is full. A program that has no memory left for a trace has nothing else to do. */
static void *grown(void *array, uint64_t used, uint64_t *room, size_t bytes)
{
	if (used < *room)
		return array;
	*room = *room ? *room * 2 : 64;
	array = realloc(array, *room * bytes);
	if (!array)
		abort();
	return array;
}

struct trace *trace_open(const struct trace_options *options)
{
	struct trace *trace = calloc(1, sizeof(*trace));

	if (!trace)
		abort();
	trace->options = *options;
	trace->messages = messages_open();
	return trace;
}

static void free_halves(struct trace *trace)
{
	for (uint32_t i = 0; i < trace->half_count; i++) {
		free(trace->halves[i]->requests);
		free(trace->halves[i]->requester.steps);
		free(trace->halves[i]->requester.pieces);
		free(trace->halves[i]);
	}
}

void trace_close(struct trace *trace)
{
	free_halves(trace);
	messages_close(trace->messages);
	free(trace->agreed);
	free(trace->halves);
	free(trace->findings);
	free(trace->packets);
	free(trace);
}

const struct trace_options *trace_options(const struct trace *trace)
{
	return &trace->options;
}

/* NO_QPN: any QP of dest. */
static bool is_of(const struct agreed *agreed, const uint8_t *source, const uint8_t *dest, uint32_t dest_qpn)
{
	return (dest_qpn == NO_QPN || agreed->dest_qpn == dest_qpn) && memcmp(agreed->source, source, 16) == 0 &&
	       memcmp(agreed->dest, dest, 16) == 0;
}

static bool has_agreed(const struct trace *trace, const uint8_t *source, const uint8_t *dest, uint32_t dest_qpn)
{
	for (uint64_t i = 0; i < trace->agreed_count; i++) {
		if (is_of(&trace->agreed[i], source, dest, dest_qpn))
			return true;
	}
	return false;
}

static void note_agreed(struct trace *trace, const struct trace_packet *packet)
{
	struct agreed *agreed;

	if (has_agreed(trace, packet->source, packet->dest, packet->packet.dest_qpn))
		return;
	trace->agreed = grown(trace->agreed, trace->agreed_count, &trace->agreed_room, sizeof(*trace->agreed));
	agreed = &trace->agreed[trace->agreed_count++];
	memcpy(agreed->source, packet->source, 16);
	memcpy(agreed->dest, packet->dest, 16);
	agreed->dest_qpn = packet->packet.dest_qpn;
}

void trace_add(struct trace *trace, const struct trace_packet *packet)
{
	if (!trace->begun)
		trace->begin_ns = packet->time_ns;
	trace->begun = true;
	if (packet->packet.opcode == OP_SACK || packet->packet.opcode == OP_PROBE)
		note_agreed(trace, packet);
	if (messages_take(trace->messages, packet) || !opcode_is_rc(packet->packet.opcode))
		return;
	trace->packets = grown(trace->packets, trace->packet_count, &trace->packet_room, sizeof(*trace->packets));
	trace->packets[trace->packet_count] = *packet;
	trace->packets[trace->packet_count++].packet.payload = NULL; /* it may be gone when the trace is judged */
}

static struct trace_finding *add_finding(struct trace *trace, uint64_t number, enum trace_verdict verdict)
{
	uint64_t room = trace->finding_room;
	struct trace_finding *finding;

	trace->findings = grown(trace->findings, trace->finding_count, &room, sizeof(*trace->findings));
	trace->finding_room = (uint32_t)room;
	finding = &trace->findings[trace->finding_count++];
	*finding = (struct trace_finding){ .verdict = verdict, .number = number };
	trace->counts[verdict]++;
	return finding;
}

void half_say(struct trace *trace, struct trace_half *half, const struct trace_packet *packet,
	      enum trace_verdict verdict, const char *format, ...)
{
	struct trace_finding *finding = add_finding(trace, packet->number, verdict);
	va_list args;

	finding->half = half->index;
	finding->psn = packet->packet.psn;
	va_start(args, format);
	vsnprintf(finding->detail, sizeof(finding->detail), format, args);
	va_end(args);
}

void trace_say(struct trace *trace, const struct dialog_message *message, enum trace_verdict verdict,
	       const char *format, ...)
{
	struct trace_finding *finding = add_finding(trace, message->number, verdict);
	va_list args;

	finding->connection = message->connection + 1;
	va_start(args, format);
	vsnprintf(finding->detail, sizeof(finding->detail), format, args);
	va_end(args);
}

static bool same_ends(const struct trace_half *half, const uint8_t *source, const uint8_t *dest)
{
	return memcmp(half->source, source, 16) == 0 && memcmp(half->dest, dest, 16) == 0;
}

/* The other direction of a half whose two QPNs are known. */
static struct trace_half *other_half(const struct trace *trace, const struct trace_half *half)
{
	for (uint32_t i = 0; half->source_qpn != NO_QPN && i < trace->half_count; i++) {
		struct trace_half *other = trace->halves[i];

		if (same_ends(other, half->dest, half->source) && other->dest_qpn == half->source_qpn &&
		    (other->source_qpn == NO_QPN || other->source_qpn == half->dest_qpn))
			return other;
	}
	return NULL;
}

static void pair_with_other(const struct trace *trace, struct trace_half *half)
{
	struct trace_half *other = other_half(trace, half);

	if (other)
		other->source_qpn = half->dest_qpn;
}

static struct trace_half *add_half(struct trace *trace, const uint8_t *source, const uint8_t *dest, uint32_t dest_qpn)
{
	struct trace_half *half = calloc(1, sizeof(*half));
	uint64_t room = trace->half_room;

	if (!half)
		abort();
	trace->halves = grown(trace->halves, trace->half_count, &room, sizeof(*trace->halves));
	trace->half_room = (uint32_t)room;
	half->index = trace->half_count;
	memcpy(half->source, source, 16);
	memcpy(half->dest, dest, 16);
	half->dest_qpn = dest_qpn;
	half->source_qpn = NO_QPN;
	/* The responses of the other direction may have told which QP sends to this one. */
	for (uint32_t i = 0; i < trace->half_count; i++) {
		const struct trace_half *other = trace->halves[i];

		if (same_ends(other, half->dest, half->source) && other->source_qpn == half->dest_qpn)
			half->source_qpn = other->dest_qpn;
	}
	trace->halves[trace->half_count++] = half;
	return half;
}

static struct trace_half *half_to(struct trace *trace, const uint8_t *source, const uint8_t *dest, uint32_t dest_qpn)
{
	for (uint32_t i = 0; i < trace->half_count; i++) {
		struct trace_half *half = trace->halves[(trace->half_recent + i) % trace->half_count];

		if (half->dest_qpn == dest_qpn && same_ends(half, source, dest)) {
			trace->half_recent = half->index;
			return half;
		}
	}
	return add_half(trace, source, dest, dest_qpn);
}

static struct trace_half *half_of_request(struct trace *trace, const struct trace_packet *packet)
{
	return half_to(trace, packet->source, packet->dest, packet->packet.dest_qpn);
}

void trace_begins(struct trace *trace, const uint8_t source[16], const uint8_t dest[16], uint32_t dest_qpn,
		  uint32_t psn)
{
	struct trace_half *half = half_to(trace, source, dest, dest_qpn);

	half->begin_psn = psn;
	half->begin_known = true;
}

void trace_begins_behind(struct trace *trace, uint64_t number, const uint8_t source[16], const uint8_t dest[16],
			 uint32_t dest_qpn, uint32_t psn, uint32_t mtu)
{
	struct trace_half *half;
	bool any = false;

	/* A number that was used before has a half already, which began elsewhere. */
	for (uint64_t i = 0; i < trace->packet_count; i++) {
		const struct trace_packet *packet = &trace->packets[i];

		if (wire_opcode(packet->packet.opcode)->response || packet->packet.dest_qpn != dest_qpn ||
		    memcmp(packet->source, source, 16) != 0 || memcmp(packet->dest, dest, 16) != 0)
			continue;
		if (packet->number < number)
			return;
		any = true;
	}
	if (!any)
		return;
	half = half_to(trace, source, dest, dest_qpn);
	if (!half->begin_known)
		trace_begins(trace, source, dest, dest_qpn, psn);
	if (mtu && !trace->options.mtu)
		half->mtu = mtu;
}

/*
 * A response names the QP that it goes to, not the one that it is from. The first one of a half is known by its PSN,
 * which is the nearest to what was requested; start PSNs are random.
 */
static struct trace_half *half_of_response(struct trace *trace, const struct trace_packet *packet)
{
	struct trace_half *best = NULL;
	int64_t best_distance = WINDOW;

	for (uint32_t i = 0; i < trace->half_count; i++) {
		struct trace_half *half = trace->halves[i];
		int64_t distance;

		if (!half->synced || !same_ends(half, packet->dest, packet->source))
			continue;
		if (half->source_qpn == packet->packet.dest_qpn)
			return half;
		distance = (half->requester.next - 1 - packet->packet.psn) & (PSN_SPACE - 1);
		if (half->source_qpn == NO_QPN && distance < best_distance) {
			best = half;
			best_distance = distance;
		}
	}
	if (best) {
		best->source_qpn = packet->packet.dest_qpn;
		pair_with_other(trace, best);
	}
	return best;
}

static void judge_packet(struct trace *trace, const struct trace_packet *packet)
{
	struct trace_half *half;

	if (!wire_opcode(packet->packet.opcode)->response) {
		half_judge_request(trace, half_of_request(trace, packet), packet);
		return;
	}
	half = half_of_response(trace, packet);
	if (half)
		half_judge_response(trace, half, packet);
}

/* Packets that are not the last of a message have the path's MTU, in both directions. */
static void learn_mtu_of_data(struct trace *trace, const struct trace_packet *packet)
{
	const struct wire_opcode_row *op = wire_opcode(packet->packet.opcode);

	for (uint32_t i = 0; op->payload && !op->last && i < trace->half_count; i++) {
		struct trace_half *half = trace->halves[i];
		bool own = same_ends(half, packet->source, packet->dest) && half->dest_qpn == packet->packet.dest_qpn;
		bool answer = same_ends(half, packet->dest, packet->source);

		if ((op->response ? answer : own) && half->mtu < packet->packet.payload_bytes)
			half->mtu = packet->packet.payload_bytes;
	}
}

/* How many PSNs a READ takes tells it too. Where packets are lost it seems to take more: the largest MTU counts. */
static void learn_mtu_of_reads(struct trace_half *half, const struct trace_packet *packet)
{
	uint32_t taken = (packet->packet.psn - half->read_psn) & (PSN_SPACE - 1);

	for (uint32_t mtu = 256; half->read_bytes > 0 && mtu <= 4096; mtu *= 2) {
		if ((half->read_bytes + mtu - 1) / mtu == taken) {
			half->read_mtu = mtu > half->read_mtu ? mtu : half->read_mtu;
			break;
		}
	}
	half->read_psn = packet->packet.psn;
	half->read_bytes = packet->packet.opcode == OP_READ_REQUEST ? packet->packet.dma_length : 0;
}

/* What other connections of the same ends have, when nothing of its own tells. */
static uint32_t mtu_between(const struct trace *trace, const struct trace_half *half)
{
	uint32_t mtu = 0;

	for (uint32_t i = 0; i < trace->half_count; i++) {
		const struct trace_half *other = trace->halves[i];

		if ((same_ends(other, half->source, half->dest) || same_ends(other, half->dest, half->source)) &&
		    other->mtu > mtu)
			mtu = other->mtu;
	}
	return mtu ? mtu : 4096;
}

static void learn_mtu(struct trace *trace)
{
	for (uint64_t i = 0; i < trace->packet_count; i++) {
		const struct trace_packet *packet = &trace->packets[i];

		if (!wire_opcode(packet->packet.opcode)->response) {
			struct trace_half *half = half_of_request(trace, packet);

			half->synced = true;
			learn_mtu_of_reads(half, packet);
		}
		learn_mtu_of_data(trace, packet);
	}
	for (uint32_t i = 0; i < trace->half_count; i++) {
		if (trace->options.mtu)
			trace->halves[i]->mtu = trace->options.mtu;
		else if (trace->halves[i]->mtu == 0)
			trace->halves[i]->mtu = trace->halves[i]->read_mtu;
	}
	for (uint32_t i = 0; i < trace->half_count; i++) {
		if (trace->halves[i]->mtu == 0)
			trace->halves[i]->mtu = mtu_between(trace, trace->halves[i]);
	}
}

/* Forgets what was seen, but not which halves there are, their MTU and their view. */
static void start_again(struct trace *trace)
{
	for (uint32_t i = 0; i < trace->half_count; i++) {
		struct trace_half *half = trace->halves[i], kept = *half;

		free(half->requests);
		free(half->requester.steps);
		free(half->requester.pieces);
		*half = (struct trace_half){
			.index = kept.index,
			.dest_qpn = kept.dest_qpn,
			.source_qpn = NO_QPN,
			.view = kept.view,
			.mtu = kept.mtu,
			.begin_psn = kept.begin_psn,
			.begin_known = kept.begin_known,
			.not_at_requester = kept.not_at_requester,
			.not_at_responder = kept.not_at_responder,
			.resent_needlessly = kept.resent_needlessly,
		};
		memcpy(half->source, kept.source, 16);
		memcpy(half->dest, kept.dest, 16);
	}
	trace->finding_count = 0;
	memset(trace->counts, 0, sizeof(trace->counts));
}

/* Does something show that the trace was not taken at this end? */
static bool not_at(const struct trace *trace, const uint8_t *end, const uint8_t *peer)
{
	bool found = false;

	for (uint32_t i = 0; i < trace->half_count; i++) {
		const struct trace_half *half = trace->halves[i];

		found |= same_ends(half, end, peer) && half->not_at_requester;
		found |= same_ends(half, peer, end) && half->not_at_responder;
	}
	return found;
}

static bool resends_needlessly(const struct trace *trace, const uint8_t *end, const uint8_t *peer)
{
	bool found = false;

	for (uint32_t i = 0; i < trace->half_count; i++)
		found |= same_ends(trace->halves[i], end, peer) && trace->halves[i]->resent_needlessly;
	return found;
}

static uint32_t find_view(const struct trace *trace, const struct trace_half *half)
{
	bool not_source, not_dest;

	if (trace->options.at_wire)
		return 0;
	if (trace->options.at_given)
		return (memcmp(half->source, trace->options.at, 16) == 0 ? TRACE_AT_REQUESTER : 0u) |
		       (memcmp(half->dest, trace->options.at, 16) == 0 ? TRACE_AT_RESPONDER : 0u);
	not_source = not_at(trace, half->source, half->dest);
	not_dest = not_at(trace, half->dest, half->source);
	/* Its acknowledgement was lost behind the point, or it wastes: without a sign of the other, the former. */
	if (!not_dest)
		not_source |= resends_needlessly(trace, half->source, half->dest);
	if (!not_source)
		not_dest |= resends_needlessly(trace, half->dest, half->source);
	return (not_source ? 0u : TRACE_AT_REQUESTER) | (not_dest ? 0u : TRACE_AT_RESPONDER);
}

/* The rules of go-back-N are not those of ends that have agreed to selective repeat. */
static void forget_findings_of_agreed(struct trace *trace)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < trace->half_count; i++) {
		struct trace_half *half = trace->halves[i];

		half->selective = has_agreed(trace, half->source, half->dest, half->dest_qpn) ||
				  has_agreed(trace, half->dest, half->source, half->source_qpn);
	}
	for (uint32_t i = 0; i < trace->finding_count; i++) {
		const struct trace_finding *finding = &trace->findings[i];

		if (!finding->connection && trace->halves[finding->half]->selective)
			trace->counts[finding->verdict]--;
		else
			trace->findings[left++] = *finding;
	}
	trace->finding_count = left;
}

void trace_judge(struct trace *trace)
{
	bool told = trace->options.at_wire || trace->options.at_given;

	learn_mtu(trace);
	messages_begin_halves(trace->messages, trace);
	start_again(trace);
	for (uint64_t i = 0; !told && i < trace->packet_count; i++)
		judge_packet(trace, &trace->packets[i]);
	for (uint32_t i = 0; i < trace->half_count; i++)
		trace->halves[i]->view = find_view(trace, trace->halves[i]);
	start_again(trace);
	messages_start(trace->messages, trace->begin_ns);
	for (uint64_t i = 0; i < trace->packet_count; i++) {
		messages_judge_before(trace->messages, trace, trace->packets[i].number);
		judge_packet(trace, &trace->packets[i]);
	}
	messages_judge_before(trace->messages, trace, UINT64_MAX);
	forget_findings_of_agreed(trace);
}

const struct dialog *trace_dialog(const struct trace *trace)
{
	return messages_dialog(trace->messages);
}

uint32_t trace_findings(const struct trace *trace, const struct trace_finding **findings)
{
	*findings = trace->findings;
	return trace->finding_count;
}

uint64_t trace_count(const struct trace *trace, enum trace_verdict verdict)
{
	return trace->counts[verdict];
}

uint64_t trace_wrong(const struct trace *trace)
{
	uint64_t wrong = 0;

	for (int i = 0; i < TRACE_VERDICTS; i++)
		wrong += trace_verdicts[i].wrong ? trace->counts[i] : 0;
	return wrong;
}

uint32_t trace_halves(const struct trace *trace)
{
	return trace->half_count;
}

const struct trace_half *trace_half(const struct trace *trace, uint32_t index)
{
	return trace->halves[index];
}
