/* op.c - the model's rows of operations, and how it executes those that are answered */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/op.h"

#include <stdlib.h>

#include "sim/model.h"

static void execute_read(struct sim_world *world, struct sim_end *end, struct sim_message *message,
			 struct sim_verdict *verdict)
{
	struct sim_buffer source = one_piece(message->remote_at, message->bytes);

	(void)verdict;
	message->data = malloc(message->bytes ? message->bytes : 1);
	sim_memory_gather(world->memory, &source, 0, message->data, message->bytes);
	end->model.counts[CNT_RX_READ_REQUESTS]++;
}

/* Returns the word that an atomic changes, and that its answer brings. */
static uint64_t take_word(struct sim_world *world, struct sim_message *message)
{
	struct sim_buffer word = one_piece(message->remote_at, 8);

	/* Shared words that a forger may have reached are what they are. */
	if (sim_memory_compare(world->memory, message->remote_at, 8) == UINT64_MAX)
		sim_memory_accept(world->memory, &word, 0, 8);
	sim_memory_gather(world->memory, &word, 0, &message->original, 8);
	return message->original;
}

static void give_word(struct sim_world *world, const struct sim_message *message, uint64_t value,
		      struct sim_verdict *verdict)
{
	struct sim_buffer word = one_piece(message->remote_at, 8);

	sim_memory_expect(world->memory, &word, 0, &value, 8);
	verdict_touch(verdict, &word, 0, 8);
}

static void execute_compare_swap(struct sim_world *world, struct sim_end *end, struct sim_message *message,
				 struct sim_verdict *verdict)
{
	uint64_t value = take_word(world, message);

	give_word(world, message, value == message->compare_add ? message->swap : value, verdict);
	end->model.counts[CNT_RX_ATOMIC_REQUESTS]++;
}

static void execute_fetch_add(struct sim_world *world, struct sim_end *end, struct sim_message *message,
			      struct sim_verdict *verdict)
{
	give_word(world, message, take_word(world, message) + message->compare_add, verdict);
	end->model.counts[CNT_RX_ATOMIC_REQUESTS]++;
}

static void execute_atomic_write(struct sim_world *world, struct sim_end *end, struct sim_message *message,
				 struct sim_verdict *verdict)
{
	uint64_t value;

	sim_model_data(world, message, 0, &value, 8);
	give_word(world, message, value, verdict);
	end->model.counts[CNT_RX_ATOMIC_WRITE_REQUESTS]++;
}

static void execute_flush(struct sim_world *world, struct sim_end *end, struct sim_message *message,
			  struct sim_verdict *verdict)
{
	(void)world;
	(void)message;
	(void)verdict;
	end->model.counts[CNT_RX_FLUSH_REQUESTS]++;
}

/* clang-format off */
#define SEND .kind = WIRE_KIND_SEND, .receives = true, .payload = true
#define WRITE .kind = WIRE_KIND_WRITE, .payload = true
#define ATOMIC .kind = WIRE_KIND_ATOMIC, .answered = true, .answer = OP_ATOMIC_ACKNOWLEDGE, .eight = true, \
	.words = true, .lands = true

const struct sim_op sim_ops[UROCE_WR_OPCODES] = {
	[UROCE_WR_SEND] = { SEND },
	[UROCE_WR_SEND_WITH_IMM] = { SEND },
	[UROCE_WR_SEND_WITH_INV] = { SEND },
	[UROCE_WR_RDMA_WRITE] = { WRITE },
	[UROCE_WR_RDMA_WRITE_WITH_IMM] = { WRITE, .receives = true },
	[UROCE_WR_RDMA_READ] = { .kind = WIRE_KIND_READ_REQUEST, .answered = true, .lands = true,
		.execute = execute_read },
	[UROCE_WR_ATOMIC_CMP_AND_SWP] = { ATOMIC, .execute = execute_compare_swap },
	[UROCE_WR_ATOMIC_FETCH_AND_ADD] = { ATOMIC, .execute = execute_fetch_add },
	[UROCE_WR_ATOMIC_WRITE] = { .kind = WIRE_KIND_ATOMIC_WRITE, .answered = true, .eight = true, .payload = true,
		.execute = execute_atomic_write },
	[UROCE_WR_FLUSH] = { .kind = WIRE_KIND_FLUSH, .answered = true, .execute = execute_flush },
};
/* clang-format on */
