/* runtime.h - the folder of this process among EAL's runtime folders, in which its telemetry socket is */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DRIVERS_RUNTIME_H
#define DRIVERS_RUNTIME_H

#define RUNTIME_PREFIX "uroce-" /* beginning of the folder's name and of the file prefix; the process id follows */

/* Removes the folders of processes that ended without removing them. EAL has been started. */
void drivers_runtime_sweep(void);

/* Removes our own folder. Only if EAL was started with RUNTIME_PREFIX. */
void drivers_runtime_remove(void);

#endif
