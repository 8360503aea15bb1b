/* link.h - the links of the ports of uroce-testpmd, taken down and up, and what happens to them */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_TESTPMD_LINK_H
#define APP_TESTPMD_LINK_H

#include "testpmd/traffic.h"

/*
 * The driver takes the link of a port down, and no frame comes in any more; or both end. Complains when the driver
 * cannot, and changes nothing then.
 */
void link_set(const struct traffic *traffic, unsigned port, bool up);

/* The ports whose link has come or gone since the last call, whoever did it. */
void link_tell(const struct traffic *traffic, FILE *out);

#endif
