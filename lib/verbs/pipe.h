/* pipe.h - a pipe with one descriptor, from which libibverbs reads events as from the kernel's file */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VERBS_PIPE_H
#define VERBS_PIPE_H

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

/* Opens the file behind fd once more. Returns -1 after a failure, with errno set. */
static inline int pipe_reopen(int fd, int flags)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, flags | O_CLOEXEC);
}

/*
 * Opens a pipe for reading and writing: while the descriptor is open there is a writer, so it never ends. -1: errno is
 * set.
 */
static inline int pipe_open(void)
{
	int ends[2], fd;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return -1;
	fd = pipe_reopen(ends[0], O_RDWR);
	close(ends[0]);
	close(ends[1]);
	return fd;
}

/* Opens another descriptor for the pipe, which writes and never blocks. -1: errno is set. */
int verb_pipe_writer(int fd);

/*
 * Removes all unread entries that begin with value; an entry has entry_bytes, a multiple of 8. The others stay in their
 * order. An entry is lost if there is no room when it is put back, because another thread has written meanwhile.
 */
void verb_pipe_forget(int fd, int writer, uint64_t value, size_t entry_bytes);

#endif
