/* rate.h - what a link carries, in the codes of verbs: a width in lanes times the speed of a lane */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VERBS_RATE_H
#define VERBS_RATE_H

#include <stdint.h>

struct verb_rate {
	uint8_t width, speed; /* active_width and active_speed of a port */
};

/*
 * The fastest one that promises no more than the link carries. Verbs have no word for "not known" (0), and none for
 * less than one lane of 2.5 Gbit/s: both are told as that one, as Linux does with its own devices of RoCE.
 */
struct verb_rate verb_rate_of(uint32_t link_mbps);

#endif
