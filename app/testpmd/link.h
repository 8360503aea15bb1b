/* link.h - takes the links of uroce-testpmd's ports down and up, and prints their changes */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_TESTPMD_LINK_H
#define APP_TESTPMD_LINK_H

#include "testpmd/traffic.h"

/*
 * down: the driver takes the link of a port down, and all received frames are lost; up: ends both. If the driver cannot
 * it complains, and nothing has changed.
 */
void link_set(const struct traffic *traffic, unsigned port, bool up);

/* Prints the ports whose link has gone down or come up since the last call, for whatever reason. */
void link_tell(const struct traffic *traffic, FILE *out);

#endif
