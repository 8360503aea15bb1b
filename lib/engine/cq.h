/* cq.h - a completion queue: a ring that lcores write and the application reads */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_CQ_H
#define ENGINE_CQ_H

#include <assert.h>
#include <stdatomic.h>

#include <rte_ring.h>
#include <rte_ring_elem.h>

#include <uroce/uroce.h>

#define CQ_PIECE_BYTES 16u /* the piece size that rte_ring copies fastest */
#define CQ_PIECES ((uint32_t)sizeof(struct uroce_wc) / CQ_PIECE_BYTES)

static_assert(CQ_PIECES * CQ_PIECE_BYTES == sizeof(struct uroce_wc) && (CQ_PIECES & (CQ_PIECES - 1)) == 0,
	      "struct uroce_wc must consist of a power-of-two number of ring elements");

struct uroce_device;

enum engine_cq_armed { CQ_NOT_ARMED, CQ_ARMED_SOLICITED, CQ_ARMED_ANY };

struct uroce_cq {
	struct uroce_device *device;
	struct rte_ring *_Atomic ring; /* entries are struct uroce_wc, as CQ_PIECES pieces each */
	/* after a resize: the old ring, until the application has emptied that; else NULL */
	struct rte_ring *before;
	_Atomic uint32_t users;
	_Atomic bool overflowed;
	_Atomic int fd;         /* -1 until the application asks for it */
	_Atomic uint32_t armed; /* enum engine_cq_armed */
	bool fd_is_callers;
	uint64_t wake_value; /* the number that a wake-up writes to fd */
	uint64_t context;    /* context that the application has set for events of the CQ */
};

#endif
