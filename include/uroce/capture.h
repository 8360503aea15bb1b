/* capture.h - the frames of ports, as they come and go, into a pcapng file; in the archive of port.h */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tshark and Wireshark read it, and uroce-decode. What a port receives is seen behind faults that our own programs put
 * on it; what it sends, when it is offered to the driver. A file that is written too slowly loses frames, and they are
 * counted; the traffic does not wait. For the last frames of a queue pair that fails see record_path in port.h.
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
	uint64_t frames; /* in the file */
	uint64_t bytes;  /* of it */
	uint64_t lost;   /* frames that it lacks */
};

/*
 * Writes the frames of these ports to path from now on, of each at most frame_bytes (0: all of it), until it is ended
 * or the disk is full. The file is readable by its owner only: it has what your peers send. Lcores may poll. 0; -EBUSY:
 * a port is being captured; -EINVAL: no port, or too many; -ENOMEM; -ENOTSUP; or why the file cannot be written.
 */
UROCE_API int uroce_capture_start(struct uroce_port *const *ports, unsigned port_count, const char *path,
				  uint32_t frame_bytes, struct uroce_capture **capture, struct uroce_error *error);
/*
 * Ends it, before a port of it is closed, when what was kept has been written. counts may be NULL. 0; why the file is
 * not complete: the disk is full; or -ETIMEDOUT: an lcore has stood still for a second, and the ports stay captured.
 */
UROCE_API int uroce_capture_stop(struct uroce_capture *capture, struct uroce_capture_counts *counts,
				 struct uroce_error *error);

#ifdef __cplusplus
}
#endif
#endif
