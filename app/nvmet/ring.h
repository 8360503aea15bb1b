/* ring.h - how a target reads and writes files: an io_uring that is submitted to once a poll and reaped in the poll */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_RING_H
#define NVMET_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nvmet/entry.h"

struct ring;
struct io_uring_sqe;

/*
 * memory: what reads and writes move, registered with the kernel if it takes it. Where io_uring cannot be used, or with
 * `threads`, threads do its work. NULL: no memory. reason, of reason_bytes, says why there is no io_uring, or is empty.
 */
struct ring *ring_open(void *memory, size_t bytes, bool threads, char *reason, size_t reason_bytes);
void ring_close(struct ring *ring);
/* An entry to be filled, that leaves with the next ring_poll(). NULL: too many are under way; then ask again later. */
struct io_uring_sqe *ring_entry(struct ring *ring, struct ring_entry *entry);
bool ring_has_fixed_memory(const struct ring *ring);
/* Returns how many completed. */
unsigned ring_poll(struct ring *ring);
/* Readable when something has completed, until ring_poll() has taken it and ring_wake() was called. */
int ring_fd(const struct ring *ring);
void ring_wake(const struct ring *ring);

#endif
