/* loss_waiting.h - a QP that waits for answers to four WRITEs, without a peer */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UNIT_RC_LOSS_WAITING_H
#define TEST_UNIT_RC_LOSS_WAITING_H

#include <string.h>

#include "rc/cc.h"
#include "rc/loss.h"
#include "rc/qp.h"
#include "rc/spread.h"

#define SLOTS 8u
#define SLOT_BYTES 128u
#define FIRST 0xFFFFFEu
#define TIMEOUT_NS 67108864ull
#define T0 1000000ull

static _Alignas(64) uint8_t slots[SLOTS * SLOT_BYTES];
static struct rc_board boards[2];
static struct rc_boards pool;
static struct rc_qp at;
static struct rc_qp *const qp = &at;

static psn_t psn_of(uint32_t index)
{
	return psn_make(FIRST + index);
}

/* Four WRITEs of a packet each have left, and nothing has come. */
static void open_waiting(void)
{
	memset(qp, 0, sizeof(*qp));
	memset(slots, 0, sizeof(slots));
	boards_init(&pool, boards, 2);
	rc_board_set_pool(qp, &pool);
	qp->state = UROCE_QPS_RTS;
	qp->win.slots = slots;
	qp->win.slot_bytes = SLOT_BYTES;
	qp->win.mask = SLOTS - 1;
	qp->win.snd_una = psn_of(0);
	for (uint32_t i = 0; i < 4; i++) {
		struct rc_send_wqe *wqe = sendwin_slot(&qp->win, i);

		wqe->opcode = UROCE_WR_RDMA_WRITE;
		wqe->first_psn = psn_of(i);
		wqe->psn_count = 1;
	}
	qp->win.started = qp->win.tail = qp->win.cursor = 4;
	qp->win.snd_nxt = qp->win.snd_max = psn_of(4);
	qp->loss.timeout_ns = TIMEOUT_NS;
	qp->loss.retry_cnt = qp->loss.rnr_retry = 7;
	rc_loss_reset(qp);
	ask_set_probes(qp, true);
	rc_cc_reset(qp);
}

#endif
