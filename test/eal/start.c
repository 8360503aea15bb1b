/* start.c - EAL for a test, and frames to send through ports */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_mbuf.h>

#include "start.h"

#define NUMBER_OFFSET 42
#define PATTERN_OFFSET 46

void test_eal_start(void)
{
	/* An EAL that starts looks at the telemetry of the others, which then start a thread with memory of its own. */
	char *arguments[] = { (char *)"eal",         (char *)"--no-huge",
			      (char *)"--no-shconf", (char *)"--no-telemetry",
			      (char *)"-m",          (char *)"64",
			      (char *)"--no-pci",    (char *)"-l",
			      (char *)"0",           NULL };

	cr_assert_geq(rte_eal_init(9, arguments), 0, "EAL does not start");
}

struct rte_mbuf *test_frame_create(struct rte_mempool *pool, uint32_t number, uint32_t bytes)
{
	struct rte_mbuf *frame = rte_pktmbuf_alloc(pool);
	uint8_t *data;

	cr_assert_not_null(frame, "the pool is empty");
	data = (uint8_t *)rte_pktmbuf_append(frame, (uint16_t)bytes);
	cr_assert_not_null(data);
	memset(data, 0, PATTERN_OFFSET);
	data[12] = 0x08; /* IPv4 */
	memcpy(data + NUMBER_OFFSET, &number, sizeof(number));
	for (uint32_t i = PATTERN_OFFSET; i < bytes; i++)
		data[i] = (uint8_t)((number >> 8 * (i % 4)) + i);
	return frame;
}

int64_t test_frame_number(const struct rte_mbuf *frame)
{
	const uint8_t *data = rte_pktmbuf_mtod(frame, const uint8_t *);
	static const uint8_t zeros[PATTERN_OFFSET];
	uint32_t number;

	memcpy(&number, data + NUMBER_OFFSET, sizeof(number));
	if (memcmp(data, zeros, 12) != 0 || data[12] != 0x08 || memcmp(data + 13, zeros, NUMBER_OFFSET - 13) != 0)
		return -1;
	for (uint32_t i = PATTERN_OFFSET; i < rte_pktmbuf_data_len(frame); i++) {
		if (data[i] != (uint8_t)((number >> 8 * (i % 4)) + i))
			return -1;
	}
	return number;
}
