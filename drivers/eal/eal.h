/* eal.h - what opening a port wants to know about EAL */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DRIVERS_EAL_H
#define DRIVERS_EAL_H

#include <uroce/port.h>

/* By uroce_eal_start() or by the program itself. */
bool drivers_eal_is_started(void);

/* What DPDK complained about while uroce_eal_start() succeeded, in one line; "" for nothing. */
const char *drivers_eal_complaints(void);

/* "0000:01:00.0" and "01:00.0", with or without arguments behind a comma. */
bool drivers_eal_is_pci(const char *device);

#endif
