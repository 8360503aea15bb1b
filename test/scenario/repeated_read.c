/* repeated_read.c - a repeated READ while its answer is in flight (S-9) */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "packets.h"
#include "rule.h"

/* Of a READ whose answer is under way: from where that has come it begins again, and from further on it does not. */
Test(repeated_read, repeated_read_does_not_skip_unsent_responses)
{
	RULE("S-9");
	for (uint32_t from = 3; from < 5; from++) {
		struct pair *pair = pair_open(&(struct pair_options){ .mtu = 256 });

		pair_inject(pair, B, read_packet(pair, 0, 0, 6 * 256));
		pair_transmit_some(pair, B, 3);
		pair_forget(pair);
		pair_inject(pair, B, read_packet(pair, from, from * 256, (6 - from) * 256));
		pair_transmit(pair, B);
		expect_leaves(pair, B,
			      from == 3 ? "READ_RESPONSE_FIRST psn=3 credit=31 msn=1 bytes=256" :
					  "READ_RESPONSE_MIDDLE psn=3 bytes=256",
			      "READ_RESPONSE_MIDDLE psn=4 bytes=256",
			      "READ_RESPONSE_LAST psn=5 credit=31 msn=1 bytes=256");
		pair_close(pair);
	}
}

/* All responses have left once: only the requested part leaves. */
Test(repeated_read, part_replaces_a_repeated_answer)
{
	struct pair *pair = pair_open(&(struct pair_options){ .mtu = 256, .no_boards = true });

	RULE("S-9");
	pair_request(pair, read_packet(pair, 0, 0, 6 * 256));
	pair_inject(pair, B, read_packet(pair, 0, 0, 6 * 256));
	pair_transmit_some(pair, B, 2);
	pair_forget(pair);
	pair_inject(pair, B, read_packet(pair, 1, 256, 2 * 256));
	pair_transmit(pair, B);
	expect_leaves(pair, B, "READ_RESPONSE_FIRST psn=1 credit=31 msn=1 bytes=256",
		      "READ_RESPONSE_LAST psn=2 credit=31 msn=1 bytes=256");
	pair_close(pair);
}
