/* link.h - takes the links of uroce-testpmd's ports down and up, and prints their changes */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_TESTPMD_LINK_H
#define APP_TESTPMD_LINK_H

#include "testpmd/traffic.h"

/*
 * up false: the driver takes the link of a port down, and the port loses all received frames; up true ends both. If the
 * driver cannot do that, complains and changes nothing.
 */
void link_set(const struct traffic *traffic, unsigned port, bool up);

/* Prints the ports whose link has gone down or come up since the last call, for whatever reason. */
void link_tell(const struct traffic *traffic, FILE *out);

#endif
