/* pipe.c - writing to the pipe of events, and taking back what was not read */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs/pipe.h"

#include <sys/ioctl.h>

#define WORDS 512

int verb_pipe_writer(int fd)
{
	return pipe_reopen(fd, O_WRONLY | O_NONBLOCK);
}

/* Reads each entry once. An entry to be kept is written again, behind the entries that are still to be read. */
void verb_pipe_forget(int fd, int writer, uint64_t value, size_t entry_bytes)
{
	int reader = pipe_reopen(fd, O_RDONLY | O_NONBLOCK), left = 0;
	uint64_t entries[WORDS];

	if (reader < 0)
		return;
	if (ioctl(reader, FIONREAD, &left) != 0)
		left = 0;
	while (left >= (int)entry_bytes) {
		size_t wanted = (size_t)left < sizeof(entries) ? (size_t)left : sizeof(entries);
		ssize_t got = read(reader, entries, wanted / entry_bytes * entry_bytes);

		if (got <= 0)
			break; /* the program has read them meanwhile */
		left -= (int)got;
		for (size_t at = 0; at < (size_t)got; at += entry_bytes) {
			const uint64_t *entry = &entries[at / sizeof(*entries)];

			if (entry[0] != value && write(writer, entry, entry_bytes) < 0)
				break;
		}
	}
	close(reader);
}
