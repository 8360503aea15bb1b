/* recorder.h - what a queue pair that failed leaves behind: its last frames and its story, as files */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files of QP 0x000102 of process 77: DIRECTORY/uroce-77-qp000102.pcapng and .txt, the newest failure of it. A process
 * writes those of 256 failures and no more, so that a disk is not filled; the last story says so.
 */
#ifndef DRIVERS_RECORDER_H
#define DRIVERS_RECORDER_H

#include "drivers/capture/tap.h"

/*
 * From now on the failures of the port's QPs are recorded by a thread, some 10 ms after them. Makes the directory if
 * there is none. 0; why it cannot be written; -ENOMEM; -EAGAIN: no thread; -ENOSPC: of too many ports.
 */
int drivers_recorder_begin(struct uroce_engine *engine, struct uroce_device *device, const struct drivers_ethdev *port,
			   struct drivers_tap *tap, const char *directory, struct uroce_error *error);
/* What failed until now is written. The engine is there, and the tap. */
void drivers_recorder_end(const struct drivers_tap *tap);

#endif
