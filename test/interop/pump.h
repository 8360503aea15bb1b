/* pump.h - a stream of messages whose every byte is compared */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One side pumps COUNT messages over each QP, the other is the sink. Message k of QP q carries a pattern of its own.
 *   send    the sink compares each one as it comes
 *   write   the sink compares all that its memory holds, whenever it is full
 *   read    the sink fills its memory once, the pump compares what it gets
 *   fadd    adds 1 to the sink's first word; what comes back must grow
 * Both print "pump" or "sink" and how many messages were wrong; the pump remarks how long it took.
 */
#ifndef TEST_INTEROP_PUMP_H
#define TEST_INTEROP_PUMP_H

#include "steps.h"

int pump_run(struct script *script, enum script_work work, uint32_t bytes, uint32_t count);
int pump_sink(struct script *script, enum script_work work, uint32_t bytes, uint32_t count);

#endif
