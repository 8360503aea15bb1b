/* counters.c - names and sentences of the counters */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/counters.h"

const struct rc_counter_row rc_counters[CNT_COUNTERS] = {
#define COUNTER(symbol, label, text) [CNT_##symbol] = { .name = label, .sentence = text },
#define PORT(symbol, label, text) [CNT_PORT_##symbol] = { .name = label, .sentence = text },
#include "rc/counters.def"
#undef PORT
#undef COUNTER
};
