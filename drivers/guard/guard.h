/* guard.h - faults of memory that another thread may unmap end a burst or a queue pair, and not the process */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two kinds of memory may disappear while an lcore uses it: that of a memif, whose driver unmaps it when its peer dies,
 * and that of the application (uroce_guard_install() in uroce/port.h). Both need one handler of SIGSEGV and SIGBUS,
 * which hands every other fault to the handler that was there before.
 */
#ifndef DRIVERS_GUARD_H
#define DRIVERS_GUARD_H

#include <signal.h>
#include <stdint.h>

#include <uroce/port.h>

/*
 * From now on, if the driver unmaps memory that a burst of this started port is using, the fault ends the burst and not
 * the process: a receive burst then returns no frames, and a send burst counts all of its frames as sent. The mbufs of
 * such a burst are lost. After the port was stopped it uses its driver's own bursts again.
 */
void drivers_guard_bursts(uint16_t port_id);

/*
 * Defined by the library that uroce-run preloads (lib/verbs/chain.c); NULL in other programs. Installs a handler, and
 * from then on keeps what the program installs for this signal in *chained, which has the program's present handler
 * when the call returns. chained NULL: the handler is installed, and the program's calls take effect again. Returns 0
 * or -1 with errno, as sigaction().
 */
extern int uroce_chain_signal(int number, const struct sigaction *handler, struct sigaction *chained)
	__attribute__((weak));

#endif
