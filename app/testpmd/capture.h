/* capture.h - captures the frames of uroce-testpmd's ports into a file while it runs */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_TESTPMD_CAPTURE_H
#define APP_TESTPMD_CAPTURE_H

#include "testpmd/traffic.h"

/* From now on dpdk-dumpcap can ask for copies of frames, if EAL was told to let other processes in. */
void capture_serve_others(void);

/*
 * Begins to capture all ports, of each frame at most so many bytes (0: all). Prints what it does, or complains. One
 * file at a time.
 */
void capture_begin(const struct traffic *traffic, const char *path, uint16_t frame_bytes);
/*
 * Ends the capture and prints what is in the file; `loud`: also if there is no capture. Returns 0, or the exit code:
 * the file is not complete.
 */
int capture_end(bool loud);

#endif
