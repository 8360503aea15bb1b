/* transfer.c - every operation, every path MTU: what leaves and what completes when nothing goes wrong */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "pair.h"
#include "rule.h"

Test(transfer, a_send_of_one_packet_is_acknowledged_and_received)
{
	struct pair *pair = pair_open(&(struct pair_options){ .receives = 1 });

	RULE("Q-7");
	cr_assert_eq(pair_send(pair, 1, 64), 0);
	pair_run(pair);
	expect_sent(pair, A, 0, "SEND_ONLY psn=0 ackreq bytes=64");
	expect_sent(pair, B, 0, "ACK psn=0 credit=31 msn=1");
	expect_done(pair, A, 0, "wr=1 SEND SUCCESS");
	expect_done(pair, B, 0, "wr=1000 RECV SUCCESS len=64");
	cr_assert_arr_eq(pair->side[B].memory + PAIR_MEMORY_BYTES / 2, pair->side[A].memory, 64);
	pair_close(pair);
}

Test(transfer, every_operation_at_every_mtu_and_size_moves_the_right_bytes)
{
	static const uint32_t mtus[] = { 256, 512, 1024, 2048, 4096 };
	static const uint32_t sizes[] = { 0, 1, 3, 255, 256, 257, 1023, 1024, 1025, 4095, 4096, 4097, 8192, 65536 };

	for (size_t m = 0; m < sizeof(mtus) / sizeof(mtus[0]); m++) {
		for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
			struct pair *pair =
				pair_open(&(struct pair_options){ .mtu = mtus[m], .receives = 1, .psn_a = 0xFFFFFE });
			uint8_t *a = pair->side[A].memory, *b = pair->side[B].memory;

			cr_assert_eq(pair_send(pair, 1, sizes[s]), 0);
			cr_assert_eq(pair_write(pair, 2, sizes[s]), 0);
			pair_run(pair);
			expect_done_count(pair, A, 2);
			expect_done_count(pair, B, 1);
			cr_assert(memcmp(a, b, sizes[s]) == 0, "write mtu %u size %u", mtus[m], sizes[s]);
			cr_assert(memcmp(a, b + PAIR_MEMORY_BYTES / 2, sizes[s]) == 0, "send mtu %u size %u", mtus[m],
				  sizes[s]);
			memset(b, 0x5A, sizes[s]);
			cr_assert_eq(pair_read(pair, 3, sizes[s]), 0);
			pair_run(pair);
			expect_done_count(pair, A, 3);
			cr_assert(memcmp(a, b, sizes[s]) == 0, "read mtu %u size %u", mtus[m], sizes[s]);
			pair_close(pair);
		}
	}
}
