/* telemetry.h - shows the engine of open ports by telemetry, without a call of the program */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DRIVERS_TELEMETRY_H
#define DRIVERS_TELEMETRY_H

#include <uroce/telemetry.h>

/*
 * begin: a port has got a device of the engine. end: it has none any more; the last end stops what the first begin
 * started.
 */
void drivers_telemetry_start(struct uroce_engine *engine);
void drivers_telemetry_stop(const struct uroce_engine *engine);

#endif
