/* recorder.h - writes files about queue pairs that fail: their last frames, and the story of the failure */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For QP 0x000102 of process 77 the files are DIRECTORY/uroce-77-qp000102.pcapng and .txt; they tell of the QP's newest
 * failure. A process writes files about at most 256 failures, so that a disk is not filled; the last text says so. Not
 * a share (share.h): a file is never given back, and the first failures are kept whoever has failed.
 */
#ifndef DRIVERS_RECORDER_H
#define DRIVERS_RECORDER_H

#include "drivers/capture/tap.h"

/*
 * From now on a thread records failures of the port's QPs, about 10 ms after they happen. Makes the directory if there
 * is none. Returns 0, -ENOMEM, -EAGAIN if no thread can be made, -ENOSPC if there are too many ports, or the negative
 * errno of a directory that cannot be written.
 */
int drivers_recorder_start(struct uroce_engine *engine, struct uroce_device *device, const struct drivers_ethdev *port,
			   struct drivers_tap *tap, const char *directory, struct uroce_error *error);
/* Checks whether records could be written there, and makes nothing. Returns 0 or a negative errno. */
int drivers_recorder_check(const char *directory, struct uroce_error *error);
/* Writes the failures so far and ends the recording. Engine and tap must still exist. */
void drivers_recorder_stop(const struct drivers_tap *tap);

#endif
