/* counters.c - names and sentences of the counters, and the counter for each kind of frame that a port drops */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/counters.h"

const struct rc_counter_row rc_counters[CNT_COUNTERS] = {
#define COUNTER(symbol, label, text) [CNT_##symbol] = { .name = label, .sentence = text },
#define PORT(symbol, label, text) [CNT_PORT_##symbol] = { .name = label, .sentence = text },
#include "rc/counters.def"
#undef PORT
#undef COUNTER
};

enum rc_counter rc_counters_of_frame(enum wire_frame kind)
{
	switch (kind) {
	case WIRE_FRAME_ROCE:
		return CNT_COUNTERS;
	case WIRE_FRAME_FRAGMENT:
		return CNT_PORT_FRAGMENT;
	case WIRE_FRAME_IP_HEADER:
		return CNT_PORT_IP_HEADER;
	case WIRE_FRAME_UDP_CHECKSUM:
		return CNT_PORT_UDP_CHECKSUM;
	case WIRE_FRAME_TRUNCATED:
		return CNT_PORT_TRUNCATED;
	case WIRE_FRAME_ARP:
	case WIRE_FRAME_ICMP:
	case WIRE_FRAME_ICMP6:
	case WIRE_FRAME_OTHER:
		break;
	}
	return CNT_PORT_NOT_ROCE;
}
