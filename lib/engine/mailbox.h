/* mailbox.h - control calls that act on an lcore's own state travel to it as messages */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_MAILBOX_H
#define ENGINE_MAILBOX_H

struct uroce_engine;
struct uroce_lcore;

/* Runs on the owner; argument is the caller's. Returns 0 or negative errno. */
typedef int engine_call_function(void *argument);

/*
 * Runs function on the lcore's owner and returns what it returned. Acts at once when the caller is the owner or
 * nobody turns the lcore. -ETIMEDOUT: the owner did not poll for 10 s: the
 * call was withdrawn and will not happen; -EAGAIN: the mailbox is full.
 */
int engine_mailbox_call(struct uroce_lcore *lcore, engine_call_function *function, void *argument);

/*
 * The same for a thread that only looks, and may come at any time: while nobody turns the lcore another thread may be
 * at work on its QPs, so it does not act itself. -ETIMEDOUT after 1 s.
 */
int engine_mailbox_look(struct uroce_lcore *lcore, engine_call_function *function, void *argument);

/* Owner: runs what has arrived. Returns how many. */
unsigned engine_mailbox_serve(struct uroce_lcore *lcore);

/* Returns when each lcore has begun a turn since, or turns none: what they look up without a lock may go. */
void engine_wait_for_lcores(const struct uroce_engine *engine);

#endif
