/* deaths.h - prints which queue pairs of uroce-testpmd have died, and why */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_TESTPMD_DEATHS_H
#define APP_TESTPMD_DEATHS_H

#include "testpmd/traffic.h"

/* Prints the queue pairs that have died since the last call. Returns how many are dead in all. */
uint32_t deaths_tell(struct traffic *traffic, FILE *out);

#endif
