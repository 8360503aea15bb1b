/* pcapng.h - writes frames with comments into a pcapng file */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   1. drivers_pcapng_open()
 *   2. drivers_pcapng_add() for each frame
 *   3. drivers_pcapng_close()
 * DPDK's own rte_pcapng (22.11) gives frames no comments, and lcores share its clock without protection.
 */
#ifndef DRIVERS_PCAPNG_H
#define DRIVERS_PCAPNG_H

#include <uroce/types.h>

struct drivers_pcapng;

struct drivers_pcapng_frame {
	uint32_t interface;               /* index in the names given at open */
	uint64_t time_ns;                 /* since 1970 */
	const void *data;                 /* the first kept_bytes of the frame */
	uint32_t kept_bytes, frame_bytes; /* bytes at `data`, and bytes of the whole frame */
	bool outbound;                    /* sent, not received */
	const char *comment;              /* NULL: none */
};

/* How many bytes a frame takes in the file, without a comment. */
static inline uint32_t pcapng_bytes(uint32_t kept_bytes)
{
	return 44 + ((kept_bytes + 3) & ~3u);
}

/*
 * Open a file that only its owner can read. drivers_pcapng_open() overwrites an existing file, and may be given a pipe
 * that has a reader; drivers_pcapng_open_new() first removes a file or link of the same name, so that it follows no
 * other user's link. names: of the interfaces. snap_bytes: the most that is kept of a frame. comment: of the file;
 * NULL: none. NULL if the file cannot be written; *error says why.
 */
struct drivers_pcapng *drivers_pcapng_open(const char *path, const char *const *names, unsigned count,
					   uint32_t snap_bytes, const char *comment, struct uroce_error *error);
struct drivers_pcapng *drivers_pcapng_open_new(const char *path, const char *const *names, unsigned count,
					       uint32_t snap_bytes, const char *comment, struct uroce_error *error);
/* Makes a new file as drivers_pcapng_open_new() does, and returns its descriptor; -1: errno says why there is none. */
int drivers_pcapng_new_file(const char *path);
/* Returns false if writing has failed, now or before; then the frame is not in the file. */
bool drivers_pcapng_add(struct drivers_pcapng *file, const struct drivers_pcapng_frame *frame);
/* Writes out all frames added so far. Returns false if writing has failed; errno says why. */
bool drivers_pcapng_flush(struct drivers_pcapng *file);
/* The same, and closes the file. */
bool drivers_pcapng_close(struct drivers_pcapng *file);

#endif
