/* telemetry.h - what a target has counted, on DPDK's telemetry socket: /uroce/nvmet */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_TELEMETRY_H
#define NVMET_TELEMETRY_H

#include "nvmet/disk.h"

/* From now on it is answered, as long as telemetry_poll() is called now and then; till telemetry_close(). */
void telemetry_open(void);
void telemetry_poll(const struct server *server, const struct disks *disks);
void telemetry_close(void);

#endif
