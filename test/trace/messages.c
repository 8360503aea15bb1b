/* messages.c - judges messages of connection management */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "messages.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "half.h"

/* So long after the trace began an answer may be to what was asked before: a usual time-out, 4.096 us x 2^20. */
#define ASKED_BEFORE_NS 4295000000ull

#define KINDS (CM_KIND_LAST - CM_KIND_FIRST + 1)

/* The newest message of each kind of a side; what came later stands behind it. */
struct course {
	const struct dialog_message *newest[2][KINDS];
};

struct messages {
	struct dialog *dialog;
	struct course *courses; /* by connection */
	uint32_t next;          /* message to judge */
	uint64_t begin_ns;
};

struct messages *messages_open(void)
{
	struct messages *messages = calloc(1, sizeof(*messages));

	if (!messages || !(messages->dialog = dialog_open()))
		abort();
	return messages;
}

void messages_close(struct messages *messages)
{
	dialog_close(messages->dialog);
	free(messages->courses);
	free(messages);
}

const struct dialog *messages_dialog(const struct messages *messages)
{
	return messages->dialog;
}

bool messages_take(struct messages *messages, const struct trace_packet *packet)
{
	struct dialog_message message = { .number = packet->number, .time_ns = packet->time_ns };

	if (packet->packet.opcode != OP_UD_SEND_ONLY || packet->packet.dest_qpn != CM_QPN || !packet->packet.payload ||
	    cm_mad_parse(packet->packet.payload, packet->packet.payload_bytes, &message.cm) != CM_MAD_OK)
		return false;
	memcpy(message.source, packet->source, 16);
	memcpy(message.dest, packet->dest, 16);
	if (!dialog_add(messages->dialog, &message))
		abort();
	return true;
}

/* The first message of a kind that is not strange. */
static const struct dialog_message *first_of(const struct messages *messages, uint32_t connection, uint8_t kind)
{
	const struct dialog_connection *row = &messages->dialog->connections[connection];

	for (uint32_t i = row->first_message; i <= row->last_message; i++) {
		const struct dialog_message *message = &messages->dialog->messages[i];

		if (message->connection == connection && message->cm.kind == kind && !message->strange)
			return message;
	}
	return NULL;
}

/* The path MTU that a REQ tells; 0: none. */
static uint32_t mtu_of(const struct cm_message *req)
{
	return req->path_mtu >= 1 && req->path_mtu <= 5 ? 128u << req->path_mtu : 0;
}

/* Each end tells the PSN that it expects first. */
void messages_begin_halves(const struct messages *messages, struct trace *trace)
{
	for (uint32_t i = 0; i < messages->dialog->connection_count; i++) {
		const struct dialog_connection *connection = &messages->dialog->connections[i];
		const struct dialog_message *req = first_of(messages, i, CM_REQ), *rep = first_of(messages, i, CM_REP);
		const uint8_t(*ends)[16] = connection->addresses;

		if (!req || !rep)
			continue;
		trace_begins_behind(trace, req->number, ends[DIALOG_ACTIVE], ends[DIALOG_PASSIVE], rep->cm.qpn,
				    rep->cm.psn, mtu_of(&req->cm));
		trace_begins_behind(trace, req->number, ends[DIALOG_PASSIVE], ends[DIALOG_ACTIVE], req->cm.qpn,
				    req->cm.psn, mtu_of(&req->cm));
	}
}

void messages_start(struct messages *messages, uint64_t begin_ns)
{
	free(messages->courses);
	messages->courses = calloc(messages->dialog->connection_count + 1, sizeof(*messages->courses));
	if (!messages->courses)
		abort();
	messages->next = 0;
	messages->begin_ns = begin_ns;
}

static const struct dialog_message **newest_of(struct course *course, int side, uint8_t kind)
{
	return &course->newest[side][kind - CM_KIND_FIRST];
}

/* The kind of message that one is the answer to; 0: it is none. */
static uint8_t question_of(const struct cm_message *cm)
{
	static const uint8_t about[4] = { CM_REQ, CM_REP };

	switch ((enum cm_kind)cm->kind) {
	case CM_REP:
		return CM_REQ;
	case CM_RTU:
		return CM_REP;
	case CM_DREP:
		return CM_DREQ;
	case CM_APR:
		return CM_LAP;
	case CM_SIDR_REP:
		return CM_SIDR_REQ;
	case CM_REJ:
		return about[cm->answered & 3];
	case CM_MRA:
		return cm->answered == CM_ANSWERED_LAP ? CM_LAP : about[cm->answered & 3];
	case CM_REQ:
	case CM_DREQ:
	case CM_LAP:
	case CM_SIDR_REQ:
		return 0;
	}
	return 0;
}

static void check_answer(struct messages *messages, struct trace *trace, const struct dialog_message *message)
{
	const struct dialog_connection *connection = &messages->dialog->connections[message->connection];
	uint8_t question = question_of(&message->cm);
	bool of_set_up = question == CM_REQ || question == CM_REP;
	const struct dialog_message *asked;
	uint64_t wanted;

	if (question == 0)
		return;
	asked = *newest_of(&messages->courses[message->connection], !message->side, question);
	if (!asked) {
		bool before = !connection->whole && message->time_ns < messages->begin_ns + ASKED_BEFORE_NS;

		trace_say(trace, message, before ? TRACE_CM_NOT_SEEN : TRACE_CM_UNASKED, "%s without %s",
			  cm_mad_kind_short(message->cm.kind), cm_mad_kind_short(question));
		return;
	}
	/* All messages of the set-up have the transaction id of its REQ. */
	wanted = of_set_up && connection->whole ? connection->transaction_id : asked->cm.transaction_id;
	if (message->cm.transaction_id != wanted)
		trace_say(trace, message, TRACE_CM_TRANSACTION, "0x%" PRIx64 ", not 0x%" PRIx64,
			  message->cm.transaction_id, wanted);
}

/* What a time-out code stands for, as Linux counts it: 2^(code - 8) ms, a bit less than 4.096 us x 2^code. */
static uint64_t timeout_ns(uint8_t code)
{
	return 1000000ull << code >> 8;
}

/* How long who sends it waits for the answer; 0: that is not known. */
static uint64_t patience_ns(const struct course *course, const struct dialog_message *message)
{
	const struct dialog_message *req = course->newest[DIALOG_ACTIVE][CM_REQ - CM_KIND_FIRST];

	switch (message->cm.kind) {
	case CM_LAP:
		return timeout_ns(message->cm.remote_response_timeout);
	case CM_REQ:
	case CM_REP:
	case CM_DREQ:
		if (req && message->side == DIALOG_ACTIVE)
			return timeout_ns(req->cm.remote_response_timeout);
		return req ? timeout_ns(req->cm.local_response_timeout) : 0;
	default:
		return 0;
	}
}

/* An MRA that the sender has had in time tells it to wait from then on. */
static uint64_t earliest_ns(struct trace *trace, struct course *course, const struct dialog_message *message,
			    const struct dialog_message *before, uint64_t patience)
{
	const struct dialog_message *mra = *newest_of(course, !message->side, CM_MRA);
	uint64_t grace_ns = trace_options(trace)->grace_ns, earliest = before->time_ns + patience;

	if (mra > before && question_of(&mra->cm) == message->cm.kind && mra->time_ns + grace_ns < message->time_ns &&
	    mra->time_ns + timeout_ns(mra->cm.service_timeout) > earliest)
		earliest = mra->time_ns + timeout_ns(mra->cm.service_timeout);
	return earliest;
}

static void check_again(struct messages *messages, struct trace *trace, const struct dialog_message *message)
{
	struct course *course = &messages->courses[message->connection];
	const struct dialog_message *before = *newest_of(course, message->side, message->cm.kind), *asked;
	uint8_t question = question_of(&message->cm);
	uint64_t patience = patience_ns(course, message), earliest;

	asked = question ? *newest_of(course, !message->side, question) : NULL;
	if (!message->again || !before || asked > before || message->cm.kind == CM_MRA)
		return;
	if (question && patience == 0 && message->cm.kind != CM_REP) {
		trace_say(trace, message, TRACE_CM_NEEDLESS, "%s, and no %s came again",
			  cm_mad_kind_short(message->cm.kind), cm_mad_kind_short(question));
		return;
	}
	earliest = earliest_ns(trace, course, message, before, patience);
	if (patience > 0 && message->time_ns + trace_options(trace)->grace_ns < earliest)
		trace_say(trace, message, TRACE_CM_EARLY, "%s after %.3f ms, %.3f ms too early",
			  cm_mad_kind_short(message->cm.kind), (double)(message->time_ns - before->time_ns) / 1e6,
			  (double)(earliest - message->time_ns) / 1e6);
}

static void judge(struct messages *messages, struct trace *trace, const struct dialog_message *message)
{
	if (message->strange) {
		trace_say(trace, message, TRACE_CM_WRONG_ID, "%s with id 0x%08x to 0x%08x",
			  cm_mad_kind_short(message->cm.kind), message->cm.local_id, message->cm.remote_id);
		return;
	}
	if (message->taken)
		trace_say(trace, message, TRACE_CM_ID_TAKEN, "%s with id 0x%08x", cm_mad_kind_short(message->cm.kind),
			  message->cm.local_id);
	check_answer(messages, trace, message);
	check_again(messages, trace, message);
	*newest_of(&messages->courses[message->connection], message->side, message->cm.kind) = message;
}

void messages_judge_before(struct messages *messages, struct trace *trace, uint64_t number)
{
	for (; messages->next < messages->dialog->message_count; messages->next++) {
		const struct dialog_message *message = &messages->dialog->messages[messages->next];

		if (message->number >= number)
			return;
		judge(messages, trace, message);
	}
}
