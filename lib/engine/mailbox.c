/* mailbox.c - control calls to an lcore */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include <rte_cycles.h>

#include "engine/clock.h"
#include "engine/lcore_state.h"
#include "engine/log.h"
#include "engine/mailbox.h"

#define CALL_LIMIT_NS 10000000000ull
#define LOOK_LIMIT_NS 1000000000ull
#define PAUSE_US 20u

enum call_state { CALL_WAITING, CALL_RUNNING, CALL_DONE, CALL_WITHDRAWN };

struct engine_call {
	engine_call_function *function;
	void *argument;
	int result;
	_Atomic int state;
	struct engine_refusal refusal; /* the owner's refusal, if the result is negative */
};

/*
 * Waits until the owner has run the call. If the caller gives up, the call stays in the ring, marked as withdrawn, and
 * the owner frees the call.
 */
static int wait_for(const struct uroce_lcore *lcore, struct engine_call *call, uint64_t limit_ns)
{
	uint64_t end = engine_now_ns() + limit_ns;
	int result;

	/* pairs with B1 in serve_one: the result is visible */
	while (atomic_load_explicit(&call->state, memory_order_acquire) != CALL_DONE) {
		int waiting = CALL_WAITING;

		if (engine_now_ns() > end && atomic_compare_exchange_strong(&call->state, &waiting, CALL_WITHDRAWN))
			return engine_refuse(-ETIMEDOUT, "lcore %u: it was not polled for %u s", lcore->index,
					     (unsigned)(limit_ns / 1000000000));
		rte_delay_us_sleep(PAUSE_US);
	}
	result = call->result;
	if (result < 0)
		engine_refusal_put(&call->refusal);
	free(call);
	return result;
}

static int send(struct uroce_lcore *lcore, engine_call_function *function, void *argument, uint64_t limit_ns)
{
	struct engine_call *call = calloc(1, sizeof(*call));

	if (call == NULL)
		return engine_refuse(-ENOMEM, "no memory for a call to lcore %u", lcore->index);
	call->function = function;
	call->argument = argument;
	if (rte_ring_enqueue(lcore->mailbox, call) != 0) {
		free(call);
		return engine_refuse(-EAGAIN,
				     "lcore %u: %u calls are already queued; retry after the lcore has been polled",
				     lcore->index, MAILBOX_CALLS);
	}
	lcore_wake(lcore);
	return wait_for(lcore, call, limit_ns);
}

int engine_mailbox_call(struct uroce_lcore *lcore, engine_call_function *function, void *argument)
{
	return !lcore_is_owned(lcore) || lcore_is_ours(lcore) ? function(argument) :
								send(lcore, function, argument, CALL_LIMIT_NS);
}

int engine_mailbox_look(struct uroce_lcore *lcore, engine_call_function *function, void *argument)
{
	return lcore_is_ours(lcore) ? function(argument) : send(lcore, function, argument, LOOK_LIMIT_NS);
}

static void serve_one(struct engine_call *call)
{
	struct engine_refusal own;
	int waiting = CALL_WAITING;

	if (!atomic_compare_exchange_strong(&call->state, &waiting, CALL_RUNNING)) {
		free(call); /* its caller has given up */
		return;
	}
	engine_refusal_get(&own);
	call->result = call->function(call->argument);
	engine_refusal_get(&call->refusal);
	engine_refusal_put(&own);
	/* B1: publishes the result; from here on the caller frees the call */
	atomic_store_explicit(&call->state, CALL_DONE, memory_order_release);
}

static __rte_noinline unsigned serve_all(struct uroce_lcore *lcore)
{
	void *call;
	unsigned count = 0;

	while (count < MAILBOX_CALLS && rte_ring_dequeue(lcore->mailbox, &call) == 0) {
		serve_one(call);
		count++;
	}
	return count;
}

unsigned engine_mailbox_serve(struct uroce_lcore *lcore)
{
	return rte_ring_empty(lcore->mailbox) ? 0 : serve_all(lcore);
}
