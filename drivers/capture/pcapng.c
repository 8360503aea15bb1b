/* pcapng.c - writes the blocks of a pcapng file: header, interfaces, frames with time, direction and comment */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/capture/pcapng.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drivers/ethdev/ethdev.h"

#define LINKTYPE_ETHERNET 1u
#define COMMENT_MAX_BYTES 4096u

enum block_type { BLOCK_SECTION = 0x0A0D0D0A, BLOCK_INTERFACE = 1, BLOCK_FRAME = 6 };

enum option_code {
	OPTION_END = 0,
	OPTION_COMMENT = 1,
	OPTION_PROGRAM = 4,    /* of a section */
	OPTION_NAME = 2,       /* of an interface */
	OPTION_RESOLUTION = 9, /* of an interface: 10^-n s */
	OPTION_FLAGS = 2       /* of a frame */
};

enum frame_flags { FLAG_INBOUND = 1, FLAG_OUTBOUND = 2 };

struct drivers_pcapng {
	FILE *stream;
	int error; /* errno of the first failure; 0: none */
};

/* The format allows the byte order of the machine. */
static void put(struct drivers_pcapng *file, const void *bytes, size_t count)
{
	if (file->error)
		return; /* nothing is written after a failed write, since a gap would make the rest unreadable */
	if (fwrite(bytes, 1, count, file->stream) != count)
		file->error = errno ? errno : EIO;
}

static void put_padded(struct drivers_pcapng *file, const void *bytes, uint32_t count)
{
	static const uint8_t zeros[3];

	put(file, bytes, count);
	put(file, zeros, -count & 3);
}

static void put32(struct drivers_pcapng *file, uint32_t value)
{
	put(file, &value, sizeof(value));
}

/* Bytes of an option; an empty one, like an empty comment, is left out. */
static uint32_t option_bytes(uint32_t bytes)
{
	return bytes ? 4 + ((bytes + 3) & ~3u) : 0;
}

static void put_option(struct drivers_pcapng *file, enum option_code code, const void *value, uint32_t bytes)
{
	uint16_t head[2] = { (uint16_t)code, (uint16_t)bytes };

	if (bytes == 0)
		return;
	put(file, head, sizeof(head));
	put_padded(file, value, bytes);
}

static uint32_t text_bytes(const char *text)
{
	size_t bytes = text ? strlen(text) : 0;

	return bytes < COMMENT_MAX_BYTES ? (uint32_t)bytes : COMMENT_MAX_BYTES;
}

static void put_section(struct drivers_pcapng *file, const char *comment)
{
	static const uint32_t order = 0x1A2B3C4D;
	static const uint16_t version[2] = { 1, 0 };
	static const int64_t length_unknown = -1;
	char program[64];
	uint32_t bytes;

	snprintf(program, sizeof(program), "uroce %s", uroce_version());
	bytes = 28 + option_bytes(text_bytes(comment)) + option_bytes(text_bytes(program)) + 4;
	put32(file, BLOCK_SECTION);
	put32(file, bytes);
	put(file, &order, sizeof(order));
	put(file, version, sizeof(version));
	put(file, &length_unknown, sizeof(length_unknown));
	put_option(file, OPTION_COMMENT, comment, text_bytes(comment));
	put_option(file, OPTION_PROGRAM, program, text_bytes(program));
	put32(file, OPTION_END);
	put32(file, bytes);
}

static void put_interface(struct drivers_pcapng *file, const char *name, uint32_t snap_bytes)
{
	static const uint8_t nanoseconds = 9;
	uint32_t bytes = 20 + option_bytes(text_bytes(name)) + option_bytes(1) + 4;

	put32(file, BLOCK_INTERFACE);
	put32(file, bytes);
	put32(file, LINKTYPE_ETHERNET);
	put32(file, snap_bytes);
	put_option(file, OPTION_NAME, name, text_bytes(name));
	put_option(file, OPTION_RESOLUTION, &nanoseconds, 1);
	put32(file, OPTION_END);
	put32(file, bytes);
}

/* Opens an existing file. A pipe without a reader fails at once. */
static int open_old(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0600);
	struct stat status;

	if (fd < 0 || fcntl(fd, F_SETFL, 0) != 0 || fstat(fd, &status) != 0 ||
	    (S_ISREG(status.st_mode) && fchmod(fd, 0600) != 0)) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	return fd;
}

int drivers_pcapng_new_file(const char *path)
{
	unlink(path);
	return open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

/* Begins a file on fd. NULL, with a sentence, if fd is invalid. */
static struct drivers_pcapng *begin(int fd, const char *path, const char *const *names, unsigned count,
				    uint32_t snap_bytes, const char *comment, struct uroce_error *error)
{
	struct drivers_pcapng *file = fd < 0 ? NULL : calloc(1, sizeof(*file));

	if (file)
		file->stream = fdopen(fd, "w");
	if (file == NULL || file->stream == NULL) {
		int why = errno;

		drivers_error_set(error, -why, "%s cannot be written: %s: use a file in a writable directory", path,
				  strerror(why));
		if (fd >= 0)
			close(fd);
		free(file);
		errno = why;
		return NULL;
	}
	put_section(file, comment);
	for (unsigned i = 0; i < count; i++)
		put_interface(file, names[i], snap_bytes);
	return file;
}

struct drivers_pcapng *drivers_pcapng_open(const char *path, const char *const *names, unsigned count,
					   uint32_t snap_bytes, const char *comment, struct uroce_error *error)
{
	return begin(open_old(path), path, names, count, snap_bytes, comment, error);
}

struct drivers_pcapng *drivers_pcapng_open_new(const char *path, const char *const *names, unsigned count,
					       uint32_t snap_bytes, const char *comment, struct uroce_error *error)
{
	return begin(drivers_pcapng_new_file(path), path, names, count, snap_bytes, comment, error);
}

bool drivers_pcapng_add(struct drivers_pcapng *file, const struct drivers_pcapng_frame *frame)
{
	uint32_t flags = frame->outbound ? FLAG_OUTBOUND : FLAG_INBOUND;
	uint32_t bytes = pcapng_bytes(frame->kept_bytes) + option_bytes(text_bytes(frame->comment));

	put32(file, BLOCK_FRAME);
	put32(file, bytes);
	put32(file, frame->interface);
	put32(file, (uint32_t)(frame->time_ns >> 32));
	put32(file, (uint32_t)frame->time_ns);
	put32(file, frame->kept_bytes);
	put32(file, frame->frame_bytes);
	put_padded(file, frame->data, frame->kept_bytes);
	put_option(file, OPTION_COMMENT, frame->comment, text_bytes(frame->comment));
	put_option(file, OPTION_FLAGS, &flags, sizeof(flags));
	put32(file, OPTION_END);
	put32(file, bytes);
	return file->error == 0;
}

bool drivers_pcapng_flush(struct drivers_pcapng *file)
{
	if (fflush(file->stream) != 0 && file->error == 0)
		file->error = errno;
	errno = file->error;
	return file->error == 0;
}

bool drivers_pcapng_close(struct drivers_pcapng *file)
{
	int error;

	drivers_pcapng_flush(file);
	if (fclose(file->stream) != 0 && file->error == 0)
		file->error = errno;
	error = file->error;
	free(file);
	errno = error;
	return error == 0;
}
