/* life.c - fuzz target: the same with wrong keys, states changed by software, sides that fail: nothing is left over */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "work.h"

static bool legal_change(uint8_t from, uint8_t to)
{
	bool works = from == UROCE_QPS_RTS || from == UROCE_QPS_SQD;

	return to == UROCE_QPS_ERR || (works && (to == UROCE_QPS_RTS || to == UROCE_QPS_SQD));
}

static void change_state(struct work *work, enum side_name side, uint8_t choice)
{
	static const uint8_t states[] = { UROCE_QPS_SQD, UROCE_QPS_RTS, UROCE_QPS_SQD, UROCE_QPS_ERR };
	struct rc_qp *qp = work->pair->side[side].qp;
	struct uroce_qp_attr attr = { .qp_state = states[choice & 3] };
	uint8_t before = qp->state;
	uint32_t bad;
	int error;

	if (attr.qp_state == UROCE_QPS_ERR && choice < 192) /* not too often: it ends everything */
		return;
	error = rc_qp_modify(qp, &attr, UROCE_QP_STATE, &bad);
	MUST(error != 0 || legal_change(before, (uint8_t)attr.qp_state));
	MUST(error == 0 || qp->state == before);
}

/* Sides that are drained or stopped go on, so that their work can end. */
static void resume(struct work *work)
{
	for (int i = 0; i < 2; i++) {
		struct uroce_qp_attr attr = { .qp_state = UROCE_QPS_RTS };
		uint32_t bad;

		if (work->pair->side[i].qp->state == UROCE_QPS_SQD)
			MUST(rc_qp_modify(work->pair->side[i].qp, &attr, UROCE_QP_STATE, &bad) == 0);
	}
}

static void take_step(struct work *work, struct input *input)
{
	uint8_t what = input_byte(input);
	enum side_name side = what & 1 ? B : A;

	switch (what >> 1 & 15) {
	case 0:
	case 1:
		work_post(work, side, input, false);
		break;
	case 2:
		work_post(work, side, input, (what & 0xE0) == 0xE0);
		break;
	case 3:
		work_receive(work, side);
		break;
	case 4:
	case 5:
	case 6:
		work_transmit(work, side, 1u + (what >> 5) * 4);
		break;
	case 7:
	case 8:
	case 9:
		work_deliver_train(work, side, 1u + (what >> 5) * 4);
		break;
	case 10:
		work_deliver(work, side, input_byte(input));
		break;
	case 11:
		work_drop(work, side, input_byte(input));
		break;
	case 12:
		work_double(work, side, input_byte(input));
		break;
	case 13:
		work_expire(work);
		break;
	case 14:
		change_state(work, side, input_byte(input));
		break;
	case 15: /* a region of the peer's goes away, or what it had to say comes late and in a train */
		if ((what & 0xE0) == 0xE0)
			rc_mr_remove(&work->pair->side[side].mrs, work->pair->side[side].key);
		work->pair->now_ns += (what >> 5) * 300000u;
		work_deliver_train(work, side, (what >> 5) * 16);
		break;
	}
	work->pair->now_ns += 1000;
}

/* A QP that failed by itself tells so once (V-1). */
static void check_events(const struct work *work)
{
	for (int i = 0; i < 2; i++) {
		const struct side *side = &work->pair->side[i];
		uint32_t fatal = 0;

		for (uint32_t j = 0; j < side->event_count && j < 64; j++)
			fatal += strcmp(side->events[j], "QP_FATAL") == 0 ||
				 strcmp(side->events[j], "QP_REQ_ERR") == 0 ||
				 strcmp(side->events[j], "QP_ACCESS_ERR") == 0;
		MUST(fatal <= 1 && (fatal == 0 || side->qp->state == UROCE_QPS_ERR));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct work work;
	struct input input = { data, data + size };

	if (size < 4 || size > 2048)
		return 0;
	work_open(&work, &input, true);
	while (!input_is_over(&input)) {
		take_step(&work, &input);
		work_look(&work);
	}
	resume(&work);
	work_settle(&work);
	/* The peer of a side that has failed retries in vain, and then fails as well. */
	work_check(&work);
	check_events(&work);
	work_close(&work);
	return 0;
}
