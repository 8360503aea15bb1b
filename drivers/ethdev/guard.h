/* guard.h - bursts over shared memory that another thread may unmap meanwhile */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DRIVERS_GUARD_H
#define DRIVERS_GUARD_H

#include <stdint.h>

/*
 * From now on, if the driver unmaps memory that a burst of this started port is using, the fault ends the burst and not
 * the process: a receive burst then returns no frames, and a send burst counts all of its frames as sent. The mbufs of
 * such a burst are lost. After the port was stopped it uses its driver's own bursts again.
 *
 * This sets the process's handler of SIGSEGV, which hands every other fault to the handler that was there before.
 */
void drivers_guard_bursts(uint16_t port_id);

#endif
