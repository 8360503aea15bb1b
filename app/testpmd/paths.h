/* paths.h - the two paths of a queue pair between ports of two addresses each */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_TESTPMD_PATHS_H
#define APP_TESTPMD_PATHS_H

#include "testpmd/traffic.h"

/*
 * Migrates the queue pair to its other path, between the second addresses of both ports; the peer follows. Another call
 * migrates both back. Prints which path is used then, or complains. An alternate path is loaded only here, because a
 * queue pair that has one tries both paths when its peer has gone.
 */
void paths_migrate(struct traffic *traffic, uint32_t qp_num);

void paths_show(struct traffic *traffic);

#endif
