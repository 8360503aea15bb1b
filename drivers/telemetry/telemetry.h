/* telemetry.h - shows the engine of open ports by telemetry, without a call of the program */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DRIVERS_TELEMETRY_H
#define DRIVERS_TELEMETRY_H

#include <uroce/telemetry.h>

/*
 * drivers_telemetry_start() is called for each port that gets a device of the engine, drivers_telemetry_stop() when the
 * port has no such device any more. The last stop undoes what the first start did.
 */
void drivers_telemetry_start(struct uroce_engine *engine);
void drivers_telemetry_stop(const struct uroce_engine *engine);

#endif
