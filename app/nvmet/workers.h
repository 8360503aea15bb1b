/* workers.h - threads that read and write files where io_uring cannot be used */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_WORKERS_H
#define NVMET_WORKERS_H

#include <stdbool.h>

struct io_uring_sqe;
struct workers;

/* NULL: no memory, or no threads. */
struct workers *workers_open(void);
/* No job may be under way. */
void workers_close(struct workers *workers);
/* Called with the user data of an entry that has completed, and its result, as in a completion of io_uring. */
typedef void workers_completed(void *data, int result);
/* As ring_entry(), ring_poll(), ring_fd() and ring_wake(). */
struct io_uring_sqe *workers_entry(struct workers *workers);
bool workers_have_room(const struct workers *workers);
unsigned workers_poll(struct workers *workers, workers_completed *completed);
int workers_fd(const struct workers *workers);
void workers_wake(const struct workers *workers);

#endif
