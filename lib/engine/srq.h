/* srq.h - the struct of a shared receive queue */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_SRQ_H
#define ENGINE_SRQ_H

#include <stdatomic.h>

#include "rc/srq.h"

struct uroce_pd;

struct uroce_srq {
	struct uroce_pd *pd;
	struct rc_srq *rc;
	uint64_t rc_bytes;
	_Atomic uint32_t users;
	uint64_t context; /* context that the application has set for events of the SRQ */
};

#endif
