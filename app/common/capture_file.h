/* capture_file.h - reads the frames of a pcap or pcapng file one by one */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Classic pcap of either byte order, with microseconds or nanoseconds, and pcapng with sections, interfaces, and
 * enhanced, simple and old packet blocks. Only Ethernet frames are given: packets of interfaces with another link type
 * are passed over and counted; a file that has no others is refused. Nothing in the file is trusted.
 *   1. capture_file_open()
 *   2. capture_file_next() until it does not return 1
 *   3. capture_file_close()
 * After a failure capture_file_error() returns one line with cause, value and what to do.
 */
#ifndef APP_CAPTURE_FILE_H
#define APP_CAPTURE_FILE_H

#include <stdint.h>

#define CAPTURE_FRAME_MAX_BYTES (256u * 1024)

struct capture_file;

/* A frame of the file; bytes are valid until the next call. */
struct capture_frame {
	const uint8_t *data;
	uint32_t bytes;          /* in the file */
	uint32_t original_bytes; /* bytes on the wire: more than `bytes` if the capture has cut the frame */
	uint64_t number;         /* from 1, counted with the packets that are passed over */
	uint64_t time_ns;        /* ns since 1970, or since a start that the writer chose; 0: the block has no time */
};

/*
 * Opens the file and reads its header; if that fails capture_file_error() says why. Returns NULL if there is no memory.
 */
struct capture_file *capture_file_open(const char *path);

/* Returns 1 if *frame is the next frame, 0 at the end of the file, -1 after a failure: see capture_file_error(). */
int capture_file_next(struct capture_file *file, struct capture_frame *frame);

/* Packets of a link type other than Ethernet, which were passed over. */
struct capture_passed {
	uint32_t link;
	uint64_t packets;
};

/* Returns so many link types, the first one in the file first. */
uint32_t capture_file_passed(const struct capture_file *file, const struct capture_passed **passed);

/* NULL when nothing has failed. */
const char *capture_file_error(const struct capture_file *file);

void capture_file_close(struct capture_file *file);

#endif
