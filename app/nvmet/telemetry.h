/* telemetry.h - the counters of a target on DPDK's telemetry socket: /uroce/nvmet */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_TELEMETRY_H
#define NVMET_TELEMETRY_H

#include "nvmet/disk.h"

/*
 * Between telemetry_open() and telemetry_close() the command is answered, while telemetry_poll() is called now and
 * then.
 */
void telemetry_open(void);
void telemetry_poll(const struct server *server, const struct disks *disks);
void telemetry_close(void);

#endif
