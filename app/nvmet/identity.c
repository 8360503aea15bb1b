/* identity.c - keeps with a file which disk it is: its UUID, and the number by which hosts know it */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmet/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <uuid/uuid.h>

#define MACHINE_ID "/etc/machine-id"
#define TEXT_BYTES 512u
#define UUID_TEXT_BYTES 37u

/* ---- the identity as text: UUID NSID NQN; in a separate file INODE follows ---- */

static bool parse(const char *text, struct identity *identity, uint64_t *inode)
{
	char uuid[UUID_TEXT_BYTES], nqn[NVME_NQN_BYTES] = "";

	*inode = 0;
	if (sscanf(text, "%36s %u %223s %lu", uuid, &identity->nsid, nqn, inode) < 3 ||
	    uuid_parse(uuid, identity->uuid) != 0)
		return false;
	strcpy(identity->nqn, nqn);
	return true;
}

static int format(const struct identity *identity, char text[TEXT_BYTES])
{
	char uuid[UUID_TEXT_BYTES];

	uuid_unparse_lower(identity->uuid, uuid);
	return snprintf(text, TEXT_BYTES, "%s %u %s", uuid, identity->nsid, identity->nqn);
}

/* ---- in a separate file ---- */

/* Makes the path of the separate file. Returns false if there is no such path. */
static bool beside(const char *path, const char *suffix, char out[PATH_MAX + 16])
{
	char real[PATH_MAX];

	return realpath(path, real) && snprintf(out, PATH_MAX + 16, "%s%s", real, suffix) > 0;
}

static bool read_beside(const char *path, char text[TEXT_BYTES])
{
	char name[PATH_MAX + 16];
	FILE *file = beside(path, ".uroce", name) ? fopen(name, "re") : NULL;
	bool read = file && fgets(text, TEXT_BYTES, file);

	if (file)
		fclose(file);
	return read;
}

static int sync_path(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC), error = fd < 0 || fsync(fd) != 0 ? errno : 0;

	if (fd >= 0)
		close(fd);
	return -error;
}

static int sync_folder(const char *path)
{
	char folder[PATH_MAX + 16];
	char *slash;

	snprintf(folder, sizeof(folder), "%s", path);
	slash = strrchr(folder, '/');
	if (slash == NULL)
		return 0;
	slash[slash == folder] = '\0';
	return sync_path(folder, O_RDONLY | O_DIRECTORY);
}

/* Writes the whole file or nothing. */
static int write_beside(const char *path, const char *text, uint64_t inode)
{
	char name[PATH_MAX + 16], part[PATH_MAX + 16];
	FILE *file;
	bool written;

	if (!beside(path, ".uroce", name) || !beside(path, ".uroce.part", part))
		return -errno;
	file = fopen(part, "we");
	if (file == NULL)
		return -errno;
	written = fprintf(file, "%s %lu\n", text, inode) > 0 && fflush(file) == 0 && fsync(fileno(file)) == 0;
	if (fclose(file) != 0 || !written || rename(part, name) != 0) {
		unlink(part);
		return -EIO;
	}
	return sync_folder(name);
}

/* ---- where the identity is kept: in an attribute of the file, else in a separate file ---- */

bool identity_read(const char *path, struct identity *identity)
{
	char text[TEXT_BYTES] = "";
	ssize_t bytes = getxattr(path, IDENTITY_ATTRIBUTE, text, sizeof(text) - 1);
	struct stat status;
	uint64_t inode;

	memset(identity, 0, sizeof(*identity));
	if (bytes > 0) {
		text[bytes] = '\0';
		return parse(text, identity, &inode);
	}
	return stat(path, &status) == 0 && read_beside(path, text) && parse(text, identity, &inode) &&
	       inode == status.st_ino;
}

int identity_write(const char *path, const struct identity *identity)
{
	char text[TEXT_BYTES];
	int length = format(identity, text);
	struct stat status;

	if (setxattr(path, IDENTITY_ATTRIBUTE, text, (size_t)length, 0) == 0)
		return sync_path(path, O_RDONLY);
	if (stat(path, &status) != 0)
		return -errno;
	return write_beside(path, text, status.st_ino);
}

void identity_of_name(const char *name, uint8_t uuid[16])
{
	static const uuid_t family = { 0x75, 0x72, 0x6F, 0x63, 0x65, 0x6E, 0x4D, 0x65,
				       0x80, 0x74, 0x61, 0x72, 0x67, 0x65, 0x74, 0x73 };

	uuid_generate_sha1(uuid, family, name, strlen(name));
}

/* A hash of the machine's id, because the id itself is confidential. */
int identity_default_nqn(char nqn[NVME_NQN_BYTES])
{
	FILE *file = fopen(MACHINE_ID, "re");
	char id[64] = "", text[UUID_TEXT_BYTES];
	uuid_t uuid;

	if (file) {
		if (fgets(id, sizeof(id), file) == NULL)
			id[0] = '\0';
		fclose(file);
	}
	id[strspn(id, "0123456789abcdef")] = '\0';
	if (strlen(id) != 32)
		return -ENOENT;
	identity_of_name(id, uuid);
	uuid_unparse_lower(uuid, text);
	snprintf(nqn, NVME_NQN_BYTES, "nqn.2026-01.uroce:%s", text);
	return 0;
}
