/* telemetry.h - an engine on DPDK's telemetry socket, in the archive of port.h */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The socket is EAL's: RUNTIME_DIR/FILE_PREFIX/dpdk_telemetry.v2, where dpdk-telemetry.py and uroce-top find it. "/"
 * there lists the commands; those of uroce begin with /uroce/. uroce_port_open() shows the engine of its ports by
 * itself.
 *
 * Threads: any thread may call, one at a time.
 */
#ifndef UROCE_TELEMETRY_H
#define UROCE_TELEMETRY_H

#include <uroce/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * From now on the commands tell about this engine, or with NULL about no engine. The call with NULL waits for commands
 * under way, and must come before the engine is destroyed. Returns 0; -EBUSY: the commands tell about another engine;
 * or an error of DPDK, if it takes no commands. DPDK cannot remove commands, so they stay, and answer that there is no
 * engine.
 */
UROCE_API int uroce_telemetry_show(struct uroce_engine *engine);

#ifdef __cplusplus
}
#endif
#endif
