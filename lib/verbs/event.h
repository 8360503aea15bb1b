/* event.h - asynchronous events: from the device to the contexts of the objects that they are of */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VERBS_EVENT_H
#define VERBS_EVENT_H

#include "verbs/objects.h"

enum verb_kind { VERB_QP, VERB_CQ, VERB_SRQ };

/* Its events are told from now on; no more. Between the two the object stays where it is. */
void verb_event_add(enum verb_kind kind, void *object);
void verb_event_remove(enum verb_kind kind, void *object);

/* Waits until what was told of an object that goes has been acknowledged, as ibv_destroy_qp() and the like promise. */
void verb_event_wait(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *completed, uint32_t told);

/* ---- pipes, out of which libibverbs reads events ---- */

/* Another descriptor of one (pipe.h), which writes and never blocks. -1, with errno. */
int verb_pipe_writer(int fd);
/* Takes out of it what nobody has read yet and begins with value; entries have so many bytes, at most 16. */
void verb_pipe_forget(int fd, int writer, uint64_t value, size_t entry_bytes);

#endif
