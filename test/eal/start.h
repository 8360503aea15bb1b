/* start.h - EAL for a test, and frames to send through ports */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_EAL_START_H
#define TEST_EAL_START_H

#include <stdint.h>

struct rte_mbuf;
struct rte_mempool;

/* .init of a suite: EAL without hugepages, PCI or shared configuration. */
void test_eal_start(void);

/* An mbuf with an IPv4 frame of that many bytes (at least 46) that carries number and a pattern made from it. */
struct rte_mbuf *test_frame_create(struct rte_mempool *pool, uint32_t number, uint32_t bytes);

/* The number of a frame, or -1 if any byte is not what test_frame_create() wrote. */
int64_t test_frame_number(const struct rte_mbuf *frame);

#endif
