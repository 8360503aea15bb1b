/* trace.c - the hash, and lines of text */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdarg.h>
#include <stdio.h>

#include "sim/trace.h"
#include "wire/bytes.h"
#include "wire/print.h"

void sim_world_note(struct sim_world *world, uint64_t a, uint64_t b, uint64_t c)
{
	const uint64_t values[] = { world->now_ns, a, b, c };

	for (uint32_t i = 0; i < 4; i++) {
		world->hash = (world->hash ^ values[i]) * 0x9E3779B97F4A7C15ull;
		world->hash ^= world->hash >> 32;
	}
}

static void begin_line(const struct sim_world *world, const struct sim_end *end)
{
	printf("%12.3f us  QP %-3u ", (double)world->now_ns / 1000, end->index);
}

void sim_trace_sent(struct sim_world *world, const struct sim_end *end, const struct wire_packet *packet,
		    const struct sim_frame *frame)
{
	char line[WIRE_PRINT_MAX_BYTES];

	/* The ICRC speaks for all the bytes before it. */
	sim_world_note(world, (uint64_t)end->index << 32 | frame->length, frame->number,
		       load_le32(frame->bytes + frame->length - WIRE_ICRC_BYTES));
	if (!world->options->trace)
		return;
	begin_line(world, end);
	printf("-> #%lu %s\n", end->frames_sent, wire_print_packet(packet, line, sizeof(line)));
}

void sim_trace_received(struct sim_world *world, const struct sim_end *end, const struct wire_packet *packet,
			enum rc_counter drop)
{
	char line[WIRE_PRINT_MAX_BYTES];

	sim_world_note(world, end->index, packet->psn, (uint64_t)packet->opcode << 32 | drop);
	if (!world->options->trace)
		return;
	begin_line(world, end);
	printf("<- %s%s%s\n", wire_print_packet(packet, line, sizeof(line)),
	       drop == CNT_COUNTERS ? "" : "  dropped: ", drop == CNT_COUNTERS ? "" : rc_counters[drop].name);
}

void sim_trace_fault(struct sim_world *world, const struct sim_end *end, enum sim_fault_kind kind)
{
	sim_world_note(world, end->index, kind, world->faults.count);
	if (!world->options->trace)
		return;
	begin_line(world, end);
	printf("!! %s\n", sim_fault_names[kind]);
}

void sim_trace_completion(struct sim_world *world, const struct sim_end *end, const struct uroce_wc *wc)
{
	sim_world_note(world, (uint64_t)end->index << 8 | wc->status, wc->wr_id,
		       (uint64_t)wc->opcode << 32 | wc->byte_len);
	if (!world->options->trace)
		return;
	begin_line(world, end);
	printf("== wr=%lu %s%s status %u cause %u len=%u\n", wc->wr_id & UINT32_MAX,
	       wc->opcode & UROCE_WC_RECV ? "receive" : "request", wc->status ? " FAILED" : "", wc->status,
	       wc->vendor_err, wc->byte_len);
}

void sim_trace_say(struct sim_world *world, const struct sim_end *end, const char *format, ...)
{
	va_list list;

	if (!world->options->trace)
		return;
	begin_line(world, end);
	va_start(list, format);
	vprintf(format, list);
	va_end(list);
	putchar('\n');
}
