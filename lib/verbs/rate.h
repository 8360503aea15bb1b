/* rate.h - the speed of a link in the codes of verbs: number of lanes and speed of a lane */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VERBS_RATE_H
#define VERBS_RATE_H

#include <stdint.h>

struct verb_rate {
	uint8_t width, speed; /* active_width and active_speed of a port */
};

/*
 * Returns the fastest rate that is not above the link's. Verbs have no code for "not known" (0), nor for less than one
 * lane of 2.5 Gbit/s: for both it returns one such lane, as Linux's own RoCE devices do.
 */
struct verb_rate verb_rate_of(uint32_t link_mbps);

#endif
