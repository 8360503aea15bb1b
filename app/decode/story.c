/* story.c - tells for each connection in a capture how it was set up and how it ended */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "decode/story.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm/ip.h"
#include "cm/names.h"
#include "cm/service.h"
#include "decode/dialog.h"
#include "common/exit.h"
#include "wire/print.h"

#define LINE_BYTES 512u

struct decode_story {
	struct dialog *dialog;
	uint64_t begin_ns;
};

static void *must_have(void *memory)
{
	if (memory)
		return memory;
	exit(app_complain(APP_EXIT_ENVIRONMENT,
			  "no memory for the CM messages of the capture: end other programs, or split the capture"));
}

struct decode_story *decode_story_open(void)
{
	struct decode_story *story = must_have(calloc(1, sizeof(*story)));

	story->dialog = must_have(dialog_open());
	return story;
}

void decode_story_close(struct decode_story *story)
{
	dialog_close(story->dialog);
	free(story);
}

void decode_story_begin(struct decode_story *story, uint64_t time_ns)
{
	story->begin_ns = time_ns;
}

void decode_story_add(struct decode_story *story, const struct finding *finding)
{
	struct dialog_message message = { .number = finding->frame->number, .time_ns = finding->frame->time_ns };

	if (!finding->has_mad || finding->mad_fault != CM_MAD_OK || decode_finding_is_bad(finding))
		return;
	memcpy(message.source, finding->encap.source, 16);
	memcpy(message.dest, finding->encap.dest, 16);
	message.cm = finding->message;
	if (!dialog_add(story->dialog, &message))
		must_have(NULL);
}

static void append_service(struct wire_line *line, const struct cm_message *cm)
{
	char service[CM_SERVICE_MAX_BYTES];
	struct cm_ip ip;

	wire_print_append(line, " service %s", cm_service_print(cm->service_id, service, sizeof(service)));
	if (cm_ip_find(cm, &ip))
		wire_print_append(line, " from port %u", ip.source_port);
}

/* The time of a 5-bit code, 4.096 us x 2^n. */
static double code_ms(uint8_t code)
{
	return (double)(4096ull << code) / 1e6;
}

static void append_ids(struct wire_line *line, const struct cm_message *cm)
{
	wire_print_append(line, " id=0x%08" PRIx32 " to=0x%08" PRIx32, cm->local_id, cm->remote_id);
}

/* Appends the fields of a message that show what has happened. */
static void append_message(struct wire_line *line, const struct cm_message *cm)
{
	wire_print_append(line, " %s", cm_mad_kind_short(cm->kind));
	if (cm->kind == CM_REQ || cm->kind == CM_SIDR_REQ || cm->kind == CM_SIDR_REP)
		wire_print_append(line, " id=0x%08" PRIx32, cm->local_id);
	else
		append_ids(line, cm);
	switch ((enum cm_kind)cm->kind) {
	case CM_REQ:
		wire_print_append(line, " qpn=0x%06" PRIx32 " psn=%" PRIu32, cm->qpn, cm->psn);
		append_service(line, cm);
		break;
	case CM_SIDR_REQ:
		append_service(line, cm);
		break;
	case CM_REP:
		wire_print_append(line, " qpn=0x%06" PRIx32 " psn=%" PRIu32, cm->qpn, cm->psn);
		break;
	case CM_DREQ:
		wire_print_append(line, " qpn=0x%06" PRIx32, cm->qpn);
		break;
	case CM_REJ:
		wire_print_append(line, " of %s: %s (%u)", cm_names_answered(CM_REJ, cm->answered),
				  cm_names_reason(cm->reason), cm->reason);
		break;
	case CM_MRA:
		wire_print_append(line, " of %s: wait another %.3f ms", cm_names_answered(CM_MRA, cm->answered),
				  code_ms(cm->service_timeout));
		break;
	case CM_LAP:
		wire_print_append(line, " alternate path ");
		wire_print_addr(line, cm->alternate.local_gid);
		wire_print_append(line, " > ");
		wire_print_addr(line, cm->alternate.remote_gid);
		break;
	case CM_APR:
		wire_print_append(line, " %s (%u)", cm_names_apr_status(cm->status), cm->status);
		break;
	case CM_SIDR_REP:
		wire_print_append(line, " %s (%u) qpn=0x%06" PRIx32 " qkey=0x%08" PRIx32,
				  cm_names_sidr_status(cm->status), cm->status, cm->qpn, cm->qkey);
		break;
	case CM_RTU:
	case CM_DREP:
		break;
	}
}

static void print_message(const struct decode_story *story, const struct dialog_message *message)
{
	char text[LINE_BYTES];
	struct wire_line line = { text, sizeof(text), 0 };
	/* The clock of the capture may have gone back. */
	int64_t since_ns = (int64_t)(message->time_ns - story->begin_ns);

	wire_print_append(&line, "  %.6f ", (double)since_ns / 1e9);
	wire_print_addr(&line, message->source);
	wire_print_append(&line, " -> ");
	wire_print_addr(&line, message->dest);
	append_message(&line, &message->cm);
	if (message->strange)
		wire_print_append(&line, " (ids of no connection)");
	if (message->again)
		wire_print_append(&line, " (again)");
	puts(text);
}

/* The history of a connection up to the message at hand. */
struct course {
	const struct dialog_message *first, *seen[CM_KIND_LAST - CM_KIND_FIRST + 1]; /* of each kind the first */
	uint32_t tries;                                                              /* REQs sent */
};

static const struct dialog_message *seen(const struct course *course, enum cm_kind kind)
{
	return course->seen[kind - CM_KIND_FIRST];
}

static void follow(struct course *course, const struct dialog_message *message)
{
	course->first = course->first ? course->first : message;
	course->tries += message->cm.kind == CM_REQ || message->cm.kind == CM_SIDR_REQ;
	if (!seen(course, message->cm.kind) && !message->strange)
		course->seen[message->cm.kind - CM_KIND_FIRST] = message;
}

static double ms_between(const struct dialog_message *from, const struct dialog_message *to)
{
	return (double)(int64_t)(to->time_ns - from->time_ns) / 1e6;
}

static void append_rejected(struct wire_line *line, const struct dialog_message *rej)
{
	wire_print_append(line, "rejected by ");
	wire_print_addr(line, rej->source);
	wire_print_append(line, ": %s", cm_names_reason(rej->cm.reason));
}

static void append_setup(struct wire_line *line, const struct course *course, bool whole)
{
	const struct dialog_message *first = course->first, *rep = seen(course, CM_REP), *rtu = seen(course, CM_RTU);
	const struct dialog_message *rej = seen(course, CM_REJ);

	if (!whole && (rep || rtu))
		wire_print_append(line, "connection setup began before the capture");
	else if (!whole)
		wire_print_append(line, "set up before the capture");
	else if (rtu)
		wire_print_append(line, "established after %.3f ms", ms_between(first, rtu));
	else if (rep)
		wire_print_append(line, "REP after %.3f ms, no RTU", ms_between(first, rep));
	else if (!rej)
		wire_print_append(line, "no answer to %" PRIu32 " REQ", course->tries);
	if (!rej)
		return;
	if (line->used > 0)
		wire_print_append(line, ", ");
	append_rejected(line, rej);
	if (whole)
		wire_print_append(line, " after %.3f ms", ms_between(first, rej));
}

static void append_end(struct wire_line *line, const struct course *course)
{
	const struct dialog_message *rtu = seen(course, CM_RTU), *drep = seen(course, CM_DREP);

	if (!drep && seen(course, CM_DREQ))
		wire_print_append(line, ", DREQ not answered");
	if (!drep)
		return;
	wire_print_append(line, ", disconnected");
	if (rtu)
		wire_print_append(line, " after another %.3f ms", ms_between(rtu, drep));
}

/* "established after 1.234 ms, disconnected after another 20.000 ms" */
static void print_course(const struct course *course, const struct dialog_connection *connection, bool part)
{
	const struct dialog_message *sidr = seen(course, CM_SIDR_REP);
	char text[LINE_BYTES] = "";
	struct wire_line line = { text, sizeof(text), 0 };

	if (part && !connection->ended) {
		wire_print_append(&line, "outcome unknown: the rest of the file could not be read");
	} else if (!connection->datagram) {
		append_setup(&line, course, connection->whole);
		append_end(&line, course);
	} else if (sidr) {
		wire_print_append(&line, "answered: %s", cm_names_sidr_status(sidr->cm.status));
	} else {
		wire_print_append(&line, "no answer to %" PRIu32 " SIDR_REQ", course->tries);
	}
	printf("  = %s\n", text);
}

static void print_connection(const struct decode_story *story, uint32_t index, bool part)
{
	const struct dialog_connection *connection = &story->dialog->connections[index];
	const struct cm_message *first = &story->dialog->messages[connection->first_message].cm;
	char text[LINE_BYTES], service[CM_SERVICE_MAX_BYTES];
	struct wire_line line = { text, sizeof(text), 0 };
	struct course course = { 0 };

	wire_print_append(&line, "connection %" PRIu32 ": ", index + 1);
	wire_print_addr(&line, connection->addresses[DIALOG_ACTIVE]);
	wire_print_append(&line, " -> ");
	wire_print_addr(&line, connection->addresses[DIALOG_PASSIVE]);
	if (connection->whole)
		wire_print_append(&line, " %s", cm_service_print(first->service_id, service, sizeof(service)));
	puts(text);
	for (uint32_t i = connection->first_message; i <= connection->last_message; i++) {
		const struct dialog_message *message = &story->dialog->messages[i];

		if (message->connection != index)
			continue;
		print_message(story, message);
		follow(&course, message);
	}
	print_course(&course, connection, part);
}

void decode_story_print(const struct decode_story *story, bool part)
{
	for (uint32_t i = 0; i < story->dialog->connection_count; i++)
		print_connection(story, i, part);
	printf("%" PRIu32 " connections, %" PRIu32 " messages\n", story->dialog->connection_count,
	       story->dialog->message_count);
}
