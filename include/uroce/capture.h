/* capture.h - captures the frames of ports into a pcapng file; in the archive of port.h */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tshark, Wireshark and uroce-decode read the file. A received frame is captured after the faults that a program may
 * inject at the port; a frame to be sent is captured when it is offered to the driver. Traffic never waits for the
 * file: a frame that comes while the file is written too slowly is left out and counted. For the last frames of a queue
 * pair that fails see record_path in port.h.
 *
 * Threads: any thread may call, one at a time.
 */
#ifndef UROCE_CAPTURE_H
#define UROCE_CAPTURE_H

#include <uroce/port.h>

#ifdef __cplusplus
extern "C" {
#endif

#define UROCE_CAPTURE_PORTS_MAX 8

struct uroce_capture;

struct uroce_capture_counts {
	uint64_t frames; /* frames in the file */
	uint64_t bytes;  /* bytes of the file */
	uint64_t lost;   /* frames missing from the file */
};

/*
 * Writes the frames of these ports to the file at path, until the capture is stopped or the disk is full. At most
 * frame_bytes bytes of each frame are written; 0 means whole frames. Only the owner can read the file, because it
 * contains what your peers send. Lcores may poll meanwhile. Returns 0; -EBUSY: one of the ports is already being
 * captured; -EINVAL: no port, or too many; -ENOMEM; -ENOTSUP; -EAGAIN: no thread could be made; or the negative errno
 * with which the file could not be written.
 */
UROCE_API int uroce_capture_start(struct uroce_port *const *ports, unsigned port_count, const char *path,
				  uint32_t frame_bytes, struct uroce_capture **capture, struct uroce_error *error);
/*
 * Ends the capture and writes the frames that are still to be written; call it before one of its ports is closed.
 * counts may be NULL. Returns 0; the reason why the file is not complete, such as a full disk; or -ETIMEDOUT: an lcore
 * has held a frame for a second. Then the file is finished, too, but the ports can neither be captured again nor
 * closed.
 */
UROCE_API int uroce_capture_stop(struct uroce_capture *capture, struct uroce_capture_counts *counts,
				 struct uroce_error *error);

#ifdef __cplusplus
}
#endif
#endif
