/* paths.h - the two paths of a queue pair between ports of two addresses each */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_TESTPMD_PATHS_H
#define APP_TESTPMD_PATHS_H

#include "testpmd/traffic.h"

/*
 * The queue pair migrates to its other path, the second addresses of both ports; its peer follows, and both may come
 * back. Prints which path is used then, or complains. An alternate path is loaded only here: with one loaded a queue
 * pair whose peer has gone would try both.
 */
void paths_migrate(struct traffic *traffic, uint32_t qp_num);

void paths_show(struct traffic *traffic);

#endif
