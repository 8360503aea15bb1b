/* wire.c - fuzz target: two ends with work in both directions; the input loses, repeats, reorders and lets time pass */
/* SPDX-License-Identifier: BSD-3-Clause */
/* In the end all work is done once, in order, and right; and what both ends sent is judged as a trace. */
#include "work.h"

#define TRAIN 4 /* of eight pauses this one ends with all that a slow side had to say; of named inputs none does */

static void take_step(struct work *work, struct input *input)
{
	uint8_t what = input_byte(input), pause;
	enum side_name side = what & 1 ? B : A;

	switch (what >> 1 & 15) {
	case 0:
	case 1:
		work_post(work, side, input, false);
		break;
	case 2:
		work_receive(work, side);
		break;
	case 3:
	case 4:
	case 5:
		work_transmit(work, side, 1u + (what >> 5) * 4);
		break;
	case 6:
	case 7:
	case 8:
		work_deliver_train(work, side, 1u + (what >> 5) * 4);
		break;
	case 9:
	case 10:
		work_deliver(work, side, input_byte(input));
		break;
	case 11:
	case 12:
		work_drop(work, side, input_byte(input));
		break;
	case 13:
		work_double(work, side, input_byte(input));
		break;
	case 14:
		work_expire(work);
		break;
	case 15:
		pause = input_byte(input);
		work->pair->now_ns += pause * 10000u;
		if (pause % 8 == TRAIN)
			work_deliver_train(work, side, (what >> 5) * 16);
		break;
	}
	work->pair->now_ns += 1000;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct work work;
	struct input input = { data, data + size };

	if (size < 4 || size > 2048)
		return 0;
	work_open(&work, &input, false);
	while (!input_is_over(&input)) {
		take_step(&work, &input);
		work_look(&work);
	}
	work_settle(&work);
	work_check(&work);
	work_close(&work);
	return 0;
}
