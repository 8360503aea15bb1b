/* mailbox.h - control calls that act on an lcore's own state travel to it as messages */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_MAILBOX_H
#define ENGINE_MAILBOX_H

struct uroce_lcore;

/* Runs on the owner; argument is the caller's. Returns 0 or negative errno. */
typedef int engine_call_function(void *argument);

/*
 * Runs function on the lcore's owner and returns what it returned; on the calling thread, at once, when that is the
 * owner or there is none. -ETIMEDOUT: the owner did not poll for 10 s, and the call was withdrawn; -EAGAIN: the mailbox
 * is full; -ENOMEM.
 */
int engine_mailbox_call(struct uroce_lcore *lcore, engine_call_function *function, void *argument);

/*
 * The same for a thread that only looks, at any time: it does not act itself while nobody polls the lcore, for another
 * thread may be at work on the lcore's QPs. -ETIMEDOUT after 1 s.
 */
int engine_mailbox_look(struct uroce_lcore *lcore, engine_call_function *function, void *argument);

/* The owner calls it: runs the calls that have arrived, and returns how many. */
unsigned engine_mailbox_serve(struct uroce_lcore *lcore);

#endif
