/* telemetry.h - the engine of open ports is shown, without a word of the program */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DRIVERS_TELEMETRY_H
#define DRIVERS_TELEMETRY_H

#include <uroce/telemetry.h>

/* A port has a device of the engine; or no more: the last one ends what was begun for the first. */
void drivers_telemetry_begin(struct uroce_engine *engine);
void drivers_telemetry_end(const struct uroce_engine *engine);

#endif
