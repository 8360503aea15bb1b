/* eal.h - what opening a port needs to know about EAL */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DRIVERS_EAL_H
#define DRIVERS_EAL_H

#include <uroce/port.h>

/* Has EAL been started, by uroce_eal_start() or by the program itself? */
bool drivers_eal_is_started(void);

/* What DPDK complained about while uroce_eal_start() succeeded, in one line; "" for nothing. */
const char *drivers_eal_complaints(void);

/* Is `device` the address of a PCI device: "0000:01:00.0" or "01:00.0", perhaps with arguments behind a comma? */
bool drivers_eal_is_pci(const char *device);

#endif
