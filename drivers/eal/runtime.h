/* runtime.h - the folder of this process among EAL's, in which its telemetry socket is */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DRIVERS_RUNTIME_H
#define DRIVERS_RUNTIME_H

#define RUNTIME_PREFIX "uroce-" /* of its name, and of the file prefix; the process id follows */

/* Removes those of processes that ended without a word. EAL has been started. */
void drivers_runtime_sweep(void);

/* Removes our own: no file is left behind. Only when EAL was started with RUNTIME_PREFIX. */
void drivers_runtime_remove(void);

#endif
