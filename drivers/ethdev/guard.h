/* guard.h - bursts over shared memory that another thread may unmap meanwhile */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DRIVERS_GUARD_H
#define DRIVERS_GUARD_H

#include <stdint.h>

/*
 * From now on a burst of this started port ends, instead of the process, when the driver has unmapped what the burst
 * reads or writes: a receive burst then brings nothing, and a send burst has sent everything. Such a burst loses its
 * mbufs. A stopped port has its driver's bursts again.
 *
 * This sets the process's handler of SIGSEGV, which hands every other fault to the handler that was there before.
 */
void drivers_guard_bursts(uint16_t port_id);

#endif
