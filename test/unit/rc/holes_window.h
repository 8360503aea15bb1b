/* holes_window.h - a window of READs without a peer, whose responses come before their turn */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HOLES_WINDOW_H
#define HOLES_WINDOW_H

#include <criterion/criterion.h>
#include <string.h>

#include "rc/holes.h"
#include "rc/qp.h"

#define SLOTS 512u
#define SLOT_BYTES 128u
#define MTU 256u
#define FIRST 0xFFFFF0u /* PSNs wrap within the window */
#define TRIP_NS 10000ull
#define T0 1000000ull

static _Alignas(64) uint8_t slots[SLOTS * SLOT_BYTES];
static struct rc_board boards[3];
static struct rc_boards pool;
static struct rc_qp at;
static struct rc_qp *const qp = &at;

/* A QP with an empty window, and boards that another QP has left full of something. */
static inline void open_window(enum uroce_read_repair repair)
{
	memset(boards, 0x5A, sizeof(boards));
	boards_init(&pool, boards, 3);
	memset(slots, 0, sizeof(slots));
	memset(qp, 0, sizeof(*qp));
	qp->win.slots = slots;
	qp->win.slot_bytes = SLOT_BYTES;
	qp->win.mask = SLOTS - 1;
	qp->win.snd_una = qp->win.snd_nxt = qp->win.snd_max = psn_make(FIRST);
	rc_board_set_pool(qp, &pool);
	qp->read_repair = (uint8_t)repair;
	qp->mtu_bytes = MTU;
	qp->mtu_shift = 8;
	qp->rtt.srtt_ns = TRIP_NS;
}

static inline psn_t psn_of(uint32_t index)
{
	return psn_make(FIRST + index);
}

static inline uint32_t index_of(psn_t psn)
{
	return psn_distance(psn, psn_make(FIRST));
}

/* A request that has left, with one piece of memory. */
static inline struct rc_send_wqe *add(enum uroce_wr_opcode opcode, uint32_t packets, uint64_t addr)
{
	struct rc_send_wqe *wqe = sendwin_slot(&qp->win, qp->win.started);

	memset(wqe, 0, SLOT_BYTES);
	wqe->opcode = (uint8_t)opcode;
	wqe->needs = opcode == UROCE_WR_RDMA_READ ? NEEDS_RESPONSE : 0;
	wqe->first_psn = qp->win.snd_max;
	wqe->psn_count = packets;
	wqe->length_bytes = packets * MTU;
	wqe->sge_count = 1;
	wqe->sges[0] = (struct uroce_sge){ .addr = addr, .length = packets * MTU };
	qp->win.snd_nxt = qp->win.snd_max = psn_add(qp->win.snd_max, packets);
	qp->win.cursor = ++qp->win.started;
	qp->win.tail = qp->win.started;
	return wqe;
}

static inline void add_reads(uint32_t count, uint32_t packets)
{
	for (uint32_t i = 0; i < count; i++)
		add(UROCE_WR_RDMA_READ, packets, 0x10000 + (uint64_t)qp->win.started * 0x10000);
}

static inline bool may_take(uint32_t index)
{
	return rc_holes_may_take(qp, psn_of(index), rc_sendwin_owner(&qp->win, psn_of(index)));
}

/* The response comes, before its turn. */
static inline void take_at(uint32_t index, uint64_t now_ns)
{
	cr_assert(may_take(index), "%u", index);
	rc_holes_take(qp, psn_of(index), rc_sendwin_owner(&qp->win, psn_of(index)), now_ns);
}

#endif
