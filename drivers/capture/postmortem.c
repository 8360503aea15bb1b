/* postmortem.c - gathers the last frames of a failed QP, explains each, and writes a pcapng file and a text */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/capture/postmortem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <uroce/frame.h>
#include <uroce/stats.h>

#include "drivers/capture/clock.h"
#include "drivers/capture/pcapng.h"

#define PEERS_MAX 8u /* addresses of the peer: of the path, the alternate path, and earlier paths */
#define PATH_BYTES 600u
#define PSN_MASK 0xFFFFFFu
#define PSN_HALF 0x800000u
#define SILENCE_NS 10000000 /* a longer silence gets a line in the text */

/* The frames of a QP in order of time, and what the frames so far have shown. */
struct story {
	const struct uroce_qp_view *view;
	struct capture_clock clock; /* cycles and time of day when the failure was noticed */
	struct drivers_flow_frame *frames;
	const struct drivers_flow_frame **order;
	uint32_t count;
	struct seen {
		bool any;
		uint32_t next_psn; /* the PSN after the newest request */
	} seen[2];                 /* [0]: received requests; [1]: sent requests */
};

/* ---- frames ---- */

/* Frames of one burst have the same time, and stay in the order in which they were noted. */
static int by_time(const void *a, const void *b)
{
	const struct drivers_flow_frame *x = *(const struct drivers_flow_frame *const *)a;
	const struct drivers_flow_frame *y = *(const struct drivers_flow_frame *const *)b;

	if (x->cycles != y->cycles)
		return x->cycles < y->cycles ? -1 : 1;
	return x < y ? -1 : x > y;
}

struct peers {
	struct uroce_addr addresses[PEERS_MAX];
	uint32_t count;
};

static void add_peer(struct peers *peers, const struct uroce_addr *address)
{
	for (uint32_t i = 0; i < peers->count; i++) {
		if (memcmp(&peers->addresses[i], address, sizeof(*address)) == 0)
			return;
	}
	if (peers->count < PEERS_MAX)
		peers->addresses[peers->count++] = *address;
}

/* A QP that has migrated does not know its earlier path, but received frames tell where the peer was. */
static struct peers find_peers(const struct story *story)
{
	struct peers peers = { .count = 0 };

	add_peer(&peers, &story->view->attr.path.dest);
	add_peer(&peers, &story->view->attr.alt_path.dest);
	for (uint32_t i = 0; i < story->count; i++) {
		const struct drivers_flow_frame *frame = &story->frames[i];
		struct uroce_frame_view view;

		if (uroce_frame_parse(frame->data, frame->kept_bytes, frame->frame_bytes, &view) == 0)
			add_peer(&peers, &view.source);
	}
	return peers;
}

static void gather(struct story *story, const struct postmortem *what)
{
	struct peers peers;

	for (uint32_t i = 0; i < what->address_count; i++)
		story->count += drivers_tap_copy(what->tap, false, story->view->qp_num, what->addresses[i].bytes,
						 story->frames + story->count);
	peers = find_peers(story);
	for (uint32_t i = 0; i < peers.count; i++)
		story->count += drivers_tap_copy(what->tap, true, story->view->attr.dest_qp_num,
						 peers.addresses[i].bytes, story->frames + story->count);
	for (uint32_t i = 0; i < story->count; i++)
		story->order[i] = &story->frames[i];
	qsort(story->order, story->count, sizeof(story->order[0]), by_time);
}

static bool is_behind(uint32_t psn, uint32_t next)
{
	return ((psn - next) & PSN_MASK) >= PSN_HALF;
}

/* What to say about a frame besides its contents; NULL: nothing. */
static const char *remark(struct story *story, const struct drivers_flow_frame *frame,
			  const struct uroce_frame_view *view)
{
	struct seen *seen = &story->seen[frame->outbound];

	switch ((enum uroce_frame_kind)view->kind) {
	case UROCE_FRAME_REQUEST:
		if (seen->any && is_behind(view->psn, seen->next_psn))
			return frame->outbound ? "sent again" : "the peer sends it again";
		seen->any = true;
		seen->next_psn = (view->psn + 1) & PSN_MASK;
		return NULL;
	case UROCE_FRAME_SEQUENCE_NAK:
		return frame->outbound ? "this end did not receive this request" :
					 "the peer did not receive this request";
	case UROCE_FRAME_NAK:
		return frame->outbound ? "this end refuses the request" : "the peer refuses the request";
	case UROCE_FRAME_RNR_NAK:
		return frame->outbound ? "this end has no receive posted for this request" :
					 "the peer has no receive posted for this request";
	case UROCE_FRAME_CONGESTION:
		return frame->outbound ? "this end requests a lower rate" : "the peer requests a lower rate";
	case UROCE_FRAME_RESPONSE:
	case UROCE_FRAME_DATAGRAM:
	case UROCE_FRAME_CONTROL:
		break;
	}
	return NULL;
}

/* ---- the text ---- */

static void write_path(const char *what, const struct uroce_path *path, FILE *out)
{
	char source[64], dest[64];

	fprintf(out, "%s %s -> %s", what, uroce_addr_format(&path->source, source, sizeof(source)),
		uroce_addr_format(&path->dest, dest, sizeof(dest)));
}

static void write_head(const struct story *story, const char *port_name, const char *why, FILE *out)
{
	const struct uroce_qp_view *view = story->view;
	time_t seconds = (time_t)(story->clock.time_ns / 1000000000);
	struct tm when;
	char text[64];

	gmtime_r(&seconds, &when);
	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &when);
	fprintf(out, "QP 0x%06x of port %s failed, %s.%03u UTC\n\n%s\n\n", view->qp_num, port_name, text,
		(unsigned)(story->clock.time_ns / 1000000 % 1000), why);
	write_path("path", &view->attr.path, out);
	fprintf(out, ", peer's QP 0x%06x, path MTU %u, lcore %u\n", view->attr.dest_qp_num, view->attr.path_mtu,
		view->lcore);
	fprintf(out, "timeout %u, retry_cnt %u, rnr_retry %u, round trip %.1f us\n", view->attr.timeout,
		view->attr.retry_cnt, view->attr.rnr_retry, (double)view->round_trip_ns / 1e3);
	fprintf(out, "acknowledged up to PSN %u, sent up to PSN %u; next PSN expected from the peer: %u\n",
		view->acked_psn, view->sent_psn, view->expected_psn);
	fprintf(out, "\ncounters of this QP that are not 0\n");
	for (uint32_t i = 0; i < view->stats.count; i++) {
		if (view->stats.values[i])
			fprintf(out, "  %-32s %12" PRIu64 "  %s\n", uroce_counter_name(i), view->stats.values[i],
				uroce_counter_text(i));
	}
}

static void write_silence(int64_t ns, FILE *out)
{
	if (ns >= SILENCE_NS)
		fprintf(out, "%14s    ... nothing for %.1f ms ...\n", "", (double)ns / 1e6);
}

/* Writes a frame with its time relative to the failure. */
static void write_frame(const struct story *story, const struct drivers_flow_frame *frame, const char *text,
			const char *note, FILE *out)
{
	fprintf(out, "%11.3f ms %s %s%s%s\n",
		(double)capture_clock_between(&story->clock, story->clock.cycles, frame->cycles) / 1e6,
		frame->outbound ? "->" : "<-", text, note ? "   # " : "", note ? note : "");
}

/* ---- both files ---- */

static FILE *open_text(const char *path)
{
	int fd = drivers_pcapng_new_file(path);

	return fd < 0 ? NULL : fdopen(fd, "w");
}

static void write_frames(struct story *story, struct drivers_pcapng *file, FILE *text)
{
	uint64_t before = story->count ? story->order[0]->cycles : story->clock.cycles;

	fprintf(text,
		"\nlast %u frames of this QP, sent (->) and received (<-), with the time from each frame to the "
		"detection of the failure\n",
		story->count);
	for (uint32_t i = 0; i < story->count; i++) {
		const struct drivers_flow_frame *frame = story->order[i];
		struct uroce_frame_view view;
		struct drivers_pcapng_frame out = {
			.time_ns = capture_clock_time(&story->clock, frame->cycles),
			.data = frame->data,
			.kept_bytes = frame->kept_bytes,
			.frame_bytes = frame->frame_bytes,
			.outbound = frame->outbound,
		};

		write_silence(capture_clock_between(&story->clock, before, frame->cycles), text);
		before = frame->cycles;
		if (uroce_frame_parse(frame->data, frame->kept_bytes, frame->frame_bytes, &view) == 0) {
			out.comment = remark(story, frame, &view);
			write_frame(story, frame, view.text, out.comment, text);
		} else {
			out.comment = "not a valid RoCE frame: a receiver drops it";
			write_frame(story, frame, out.comment, NULL, text);
		}
		drivers_pcapng_add(file, &out);
	}
	write_silence(capture_clock_between(&story->clock, before, story->clock.cycles), text);
	fprintf(text, "%11.3f ms    the QP is in ERR\n", 0.0);
}

/* The name of a file, and its name while it is being written, so that a reader finds only whole files. */
struct names {
	char of_file[PATH_BYTES], of_part[PATH_BYTES];
};

static void name_file(struct names *names, const struct postmortem *what, const char *suffix)
{
	snprintf(names->of_file, sizeof(names->of_file), "%s/uroce-%d-qp%06x.%s", what->directory, (int)getpid(),
		 what->view->qp_num, suffix);
	snprintf(names->of_part, sizeof(names->of_part), "%s/uroce-%d-qp%06x.%s.part", what->directory, (int)getpid(),
		 what->view->qp_num, suffix);
}

/* Puts both files in place if both are whole; otherwise removes both. */
static void publish(const struct names *frames, const struct names *story, bool whole)
{
	if (whole && rename(frames->of_part, frames->of_file) == 0) {
		if (rename(story->of_part, story->of_file) == 0)
			return;
		unlink(frames->of_file);
	}
	unlink(frames->of_part);
	unlink(story->of_part);
}

static void write_files(struct story *story, const struct postmortem *what)
{
	char why[UROCE_EXPLAIN_BYTES];
	struct names frames_names, text_names;
	struct drivers_pcapng *file;
	bool whole;
	FILE *text;

	name_file(&frames_names, what, "pcapng");
	name_file(&text_names, what, "txt");
	uroce_qp_explain(story->view, why, sizeof(why));
	file = drivers_pcapng_open_new(frames_names.of_part, &what->port_name, 1, FLOWS_KEPT_BYTES, why, NULL);
	text = open_text(text_names.of_part);
	whole = file && text;
	if (whole) {
		write_head(story, what->port_name, why, text);
		write_frames(story, file, text);
		if (what->is_last)
			fprintf(text, "\nThis process has recorded its maximum number of failures: later ones are "
				      "not recorded.\n");
		whole = !ferror(text);
	}
	if (file)
		whole &= drivers_pcapng_close(file);
	if (text)
		whole &= fclose(text) == 0;
	publish(&frames_names, &text_names, whole);
}

void postmortem_write(const struct postmortem *what)
{
	size_t room = (size_t)drivers_tap_queues(what->tap) * FLOWS_FRAMES * (UROCE_ADDRS_MAX + PEERS_MAX);
	struct story story = {
		.view = what->view,
		.clock = capture_clock_read(),
		.frames = malloc(room * sizeof(*story.frames)),
		.order = malloc(room * sizeof(const struct drivers_flow_frame *)),
	};

	if (story.frames && story.order) {
		gather(&story, what);
		write_files(&story, what);
	}
	free(story.frames);
	free((void *)(uintptr_t)story.order);
}
