/* capture.h - the frames of uroce-testpmd's ports into a file, while it runs */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_TESTPMD_CAPTURE_H
#define APP_TESTPMD_CAPTURE_H

#include "testpmd/traffic.h"

/* dpdk-dumpcap may ask for copies of frames from now on, where EAL was told to let other processes in. */
void capture_serve_others(void);

/* All ports, of each frame at most so many bytes (0: all). Says what it does, or complains. One file at a time. */
void capture_begin(const struct traffic *traffic, const char *path, uint16_t frame_bytes);
/* Says what is in the file; that there is none, when loud. 0, or what to exit with: it is not complete. */
int capture_end(bool loud);

#endif
