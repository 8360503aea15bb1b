/* flush.h - FLUSH at the responder: earlier WRITEs become visible, or leave the CPU's caches (S-20) */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RC_FLUSH_H
#define RC_FLUSH_H

#include <stdbool.h>

#include "rc/qp_state.h"

struct rc_replay_entry;

/*
 * Does the next part of the FLUSH in this entry, at most FLUSH_SLICE_BYTES, so that a peer that flushes gigabytes does
 * not hold up the lcore. Returns true if the FLUSH has ended; then *why says whether it succeeded.
 */
bool rc_flush_some(struct rc_qp *qp, struct rc_replay_entry *entry, enum rc_mr_verdict *why);

/* The access rights that a FETH needs; 0: no placement type is set. */
uint32_t rc_flush_rights(uint32_t feth);

#endif
