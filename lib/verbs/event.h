/* event.h - asynchronous events: from the device to the contexts of the objects concerned */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VERBS_EVENT_H
#define VERBS_EVENT_H

#include "verbs/objects.h"

enum verb_kind { VERB_QP, VERB_CQ, VERB_SRQ };

/*
 * Returns a number that no object has had: an event names its object by this number, which is the object's context. A
 * pointer does not do, because an event that was raised before its object was destroyed may be read after another
 * object has got the same memory. Thread-safe.
 */
uint64_t verb_event_draw(void);

/*
 * verb_event_add(): from now on events of the object, which has its number, are written; verb_event_remove(): no more.
 * In between the object must not move.
 */
void verb_event_add(enum verb_kind kind, void *object);
void verb_event_remove(enum verb_kind kind, void *object);

/* Waits until all events of an object have been acknowledged, as ibv_destroy_qp() and the like promise. */
void verb_event_wait(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *completed, uint32_t told);

#endif
