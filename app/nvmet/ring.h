/* ring.h - reads and writes files with io_uring, submitted and reaped once in each poll */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_RING_H
#define NVMET_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nvmet/turn.h"

struct ring;
struct io_uring_sqe;

/* A submission. It completes with a number of bytes or a negative errno. */
struct ring_entry {
	void (*complete)(struct ring_entry *entry, int result);
};

/*
 * memory: the buffers of reads and writes, which are registered with the kernel if it allows that. Threads do the work
 * if io_uring cannot be used, or if `threads` is set. reason, of reason_bytes, says why there is no io_uring, or is
 * empty. Returns NULL if there is no memory.
 */
struct ring *ring_open(void *memory, size_t bytes, bool threads, char *reason, size_t reason_bytes);
void ring_close(struct ring *ring);
/*
 * Returns an entry to be filled in, which the next ring_poll() submits. Returns NULL if too many are under way; see
 * ring_await().
 */
struct io_uring_sqe *ring_entry(struct ring *ring, struct ring_entry *entry);
/*
 * Makes work wait: once an entry may be free ring_poll() calls the work's step, which takes an entry. Addresses take
 * turns.
 */
void ring_await(struct ring *ring, struct turn *turn, struct turn_work *work);
/* Does any work wait for an entry? Then a new request waits, too. */
bool ring_is_awaited(const struct ring *ring);
bool ring_has_fixed_memory(const struct ring *ring);
/*
 * Lets waiting work take entries, submits entries, and handles completions. Returns how many of all these there were.
 */
unsigned ring_poll(struct ring *ring);
/*
 * A descriptor that is readable when something has completed, until ring_poll() has handled it and ring_wake() was
 * called.
 */
int ring_fd(const struct ring *ring);
void ring_wake(const struct ring *ring);

#endif
