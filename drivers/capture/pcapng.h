/* pcapng.h - writes frames with comments into a pcapng file */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   1. drivers_pcapng_open()
 *   2. drivers_pcapng_add() for each frame
 *   3. drivers_pcapng_close()
 * DPDK's own rte_pcapng (22.11) gives no frame a comment, and keeps its clock in a place that lcores share unguarded.
 */
#ifndef DRIVERS_PCAPNG_H
#define DRIVERS_PCAPNG_H

#include <uroce/types.h>

struct drivers_pcapng;

struct drivers_pcapng_frame {
	uint32_t interface;               /* its place in the names given at open */
	uint64_t time_ns;                 /* since 1970 */
	const void *data;                 /* kept_bytes of it */
	uint32_t kept_bytes, frame_bytes; /* here, and on the wire */
	bool outbound;                    /* sent, not received */
	const char *comment;              /* NULL: none */
};

/* What a frame of so many bytes takes in a file, without a comment. */
static inline uint32_t pcapng_bytes(uint32_t kept_bytes)
{
	return 44 + ((kept_bytes + 3) & ~3u);
}

/*
 * A file that is readable by its owner only, opened by drivers_pcapng_open() or drivers_pcapng_open_new(): the one
 * overwrites an old file, and may be given a pipe that somebody reads; the other removes what has the name, so that it
 * follows no link of anybody. names: of the interfaces. snap_bytes: no frame
 * has more kept. comment: of the file, NULL: none. NULL when it cannot be written; *error tells.
 */
struct drivers_pcapng *drivers_pcapng_open(const char *path, const char *const *names, unsigned count,
					   uint32_t snap_bytes, const char *comment, struct uroce_error *error);
struct drivers_pcapng *drivers_pcapng_open_new(const char *path, const char *const *names, unsigned count,
					       uint32_t snap_bytes, const char *comment, struct uroce_error *error);
/* The descriptor of such a new file, to be written; -1: errno says why not. */
int drivers_pcapng_new_file(const char *path);
/* False: writing has failed, and this one is not in the file. */
bool drivers_pcapng_add(struct drivers_pcapng *file, const struct drivers_pcapng_frame *frame);
/* All is in the file that has been added. False: writing has failed, and errno says why. */
bool drivers_pcapng_flush(struct drivers_pcapng *file);
/* The same, and the file is closed. */
bool drivers_pcapng_close(struct drivers_pcapng *file);

#endif
