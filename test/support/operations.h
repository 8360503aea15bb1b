/* operations.h - the operations of send requests, one after the other */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_OPERATIONS_H
#define TEST_OPERATIONS_H

#include <stdint.h>

#include <uroce/wr.h>

/* The numbers of enum uroce_wr_opcode have gaps. A seed draws an index here, so this order decides what it means. */
static const uint8_t operations[] = {
	UROCE_WR_SEND,
	UROCE_WR_SEND_WITH_IMM,
	UROCE_WR_SEND_WITH_INV,
	UROCE_WR_RDMA_WRITE,
	UROCE_WR_RDMA_WRITE_WITH_IMM,
	UROCE_WR_RDMA_READ,
	UROCE_WR_ATOMIC_CMP_AND_SWP,
	UROCE_WR_ATOMIC_FETCH_AND_ADD,
	UROCE_WR_ATOMIC_WRITE,
	UROCE_WR_FLUSH,
	UROCE_WR_LOCAL_INV,
	UROCE_WR_BIND_MW,
};

#define OPERATIONS (sizeof(operations) / sizeof(operations[0]))

#endif
