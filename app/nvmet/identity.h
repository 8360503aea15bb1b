/* identity.h - keeps with a file which disk it is: its UUID, and the number by which hosts know it */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The identity is kept in an extended attribute of the file, user.uroce.disk, or, if the file system has none, in a
 * separate file PATH.uroce, which names the inode that it is about. So two files have the same identity only if
 * somebody has copied it, and a file that is served under another name or in another order is still the disk that hosts
 * know.
 */
#ifndef NVMET_IDENTITY_H
#define NVMET_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "nvmf/nvme.h"

#define IDENTITY_ATTRIBUTE "user.uroce.disk"

struct identity {
	uint8_t uuid[16];
	uint32_t nsid; /* the number that the disk had last, in the subsystem `nqn` */
	char nqn[NVME_NQN_BYTES];
};

/* Reads the identity. Returns false if none is kept with the file, or if it cannot be read. */
bool identity_read(const char *path, struct identity *identity);
/*
 * Writes the identity, which is on disk when the call returns. Returns 0, or a negative errno: nothing can be kept with
 * the file.
 */
int identity_write(const char *path, const struct identity *identity);

/* Makes a UUID that is always the same for this name. */
void identity_of_name(const char *name, uint8_t uuid[16]);
/* nqn.2026-01.uroce:UUID, unique to this machine. Returns 0, or -ENOENT: there is no /etc/machine-id. */
int identity_default_nqn(char nqn[NVME_NQN_BYTES]);

#endif
