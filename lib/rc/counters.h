/* counters.h - counters as rows of counters.def */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RC_COUNTERS_H
#define RC_COUNTERS_H

#include <stdint.h>

#include "wire/encap.h"

/* The counters of a QP come first, the counters of a port follow: one numbering for both. */
enum rc_counter {
#define COUNTER(symbol, name, sentence) CNT_##symbol,
#define PORT(symbol, name, sentence)
#include "rc/counters.def"
#undef PORT
	CNT_QP_COUNTERS,
	CNT_BEFORE_PORT = CNT_QP_COUNTERS - 1,
#undef COUNTER
#define COUNTER(symbol, name, sentence)
#define PORT(symbol, name, sentence) CNT_PORT_##symbol,
#include "rc/counters.def"
#undef PORT
#undef COUNTER
	CNT_COUNTERS
};

struct rc_counter_row {
	const char *name;
	const char *sentence;
};

extern const struct rc_counter_row rc_counters[CNT_COUNTERS];

/*
 * The counter of a port for a dropped frame of this kind (W-5); CNT_COUNTERS for a RoCE frame, which is not dropped
 * here.
 */
enum rc_counter rc_counters_of_frame(enum wire_frame kind);

#endif
