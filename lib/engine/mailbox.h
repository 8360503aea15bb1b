/* mailbox.h - control calls, each of which runs on the lcore that owns the object it changes */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_MAILBOX_H
#define ENGINE_MAILBOX_H

struct uroce_lcore;

/* Runs on the owner, with the argument of the caller. Returns 0 or a negative errno. */
typedef int engine_call_function(void *argument);

/*
 * Runs function on the lcore's owner and returns what it returned. If the calling thread is the owner, or if there is
 * no owner, the function runs at once. Returns -ETIMEDOUT if the owner did not poll for 10 s: then the call was
 * withdrawn; -EAGAIN: the mailbox is full; -ENOMEM.
 */
int engine_mailbox_call(struct uroce_lcore *lcore, engine_call_function *function, void *argument);

/*
 * engine_mailbox_call() for a call that only reads, from any thread. If nobody polls the lcore the call does not run on
 * the calling thread, because another thread may be at work on the lcore's QPs. Returns -ETIMEDOUT after 1 s.
 */
int engine_mailbox_look(struct uroce_lcore *lcore, engine_call_function *function, void *argument);

/* For the owner: runs the calls that have arrived, and returns how many. */
unsigned engine_mailbox_serve(struct uroce_lcore *lcore);

#endif
