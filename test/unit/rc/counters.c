/* counters.c - which counter of a port each kind of frame has */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "rc/counters.h"
#include "rule.h"

Test(counters, each_kind_of_dropped_frame_has_its_own_counter)
{
	static const struct {
		enum wire_frame kind;
		enum rc_counter counter;
	} rows[] = {
		{ WIRE_FRAME_ROCE, CNT_COUNTERS },
		{ WIRE_FRAME_ARP, CNT_PORT_NOT_ROCE },
		{ WIRE_FRAME_ICMP, CNT_PORT_NOT_ROCE },
		{ WIRE_FRAME_ICMP6, CNT_PORT_NOT_ROCE },
		{ WIRE_FRAME_OTHER, CNT_PORT_NOT_ROCE },
		{ WIRE_FRAME_FRAGMENT, CNT_PORT_FRAGMENT },
		{ WIRE_FRAME_IP_HEADER, CNT_PORT_IP_HEADER },
		{ WIRE_FRAME_UDP_CHECKSUM, CNT_PORT_UDP_CHECKSUM },
		{ WIRE_FRAME_TRUNCATED, CNT_PORT_TRUNCATED },
	};

	RULE("W-5");
	RULE("O-1");
	cr_assert_eq(sizeof(rows) / sizeof(rows[0]), WIRE_FRAME_TRUNCATED + 1, "a kind is missing");
	for (uint32_t i = 0; i <= WIRE_FRAME_TRUNCATED; i++) {
		cr_assert_eq(rows[i].kind, i);
		cr_assert_eq(rc_counters_of_frame(rows[i].kind), rows[i].counter, "frame of kind %u", i);
	}
}
