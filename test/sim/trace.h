/* trace.h - what happens, as a hash that must repeat, and as text for people */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_TRACE_H
#define SIM_TRACE_H

#include "sim/world.h"

/* Each goes into the hash; with options->trace it is a line of text as well. */
void sim_trace_sent(struct sim_world *world, const struct sim_end *end, const struct wire_packet *packet,
		    const struct sim_frame *frame);
void sim_trace_received(struct sim_world *world, const struct sim_end *end, const struct wire_packet *packet,
			enum rc_counter drop);
void sim_trace_fault(struct sim_world *world, const struct sim_end *end, enum sim_fault_kind kind);
void sim_trace_completion(struct sim_world *world, const struct sim_end *end, const struct uroce_wc *wc);
__attribute__((format(printf, 3, 4))) void sim_trace_say(struct sim_world *world, const struct sim_end *end,
							 const char *format, ...);

#endif
