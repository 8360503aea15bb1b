/* identity.h - which disk a file is: its UUID, and the number under which hosts know it; both stay with the file */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * They are an extended attribute of the file, user.uroce.disk, or, where the file system has none, a file beside it,
 * PATH.uroce, which names the inode that it is about. So two files never have the same identity unless somebody copied
 * it, and one that is served under another name or in another order is still the disk that hosts know.
 */
#ifndef NVMET_IDENTITY_H
#define NVMET_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "nvmf/nvme.h"

#define IDENTITY_ATTRIBUTE "user.uroce.disk"

struct identity {
	uint8_t uuid[16];
	uint32_t nsid; /* the last one, of the subsystem `nqn` */
	char nqn[NVME_NQN_BYTES];
};

/* false: nothing is kept with it, or it cannot be read. */
bool identity_read(const char *path, struct identity *identity);
/* It lasts when this returns. 0; negative errno: nothing can be kept with the file. */
int identity_write(const char *path, const struct identity *identity);

/* A UUID that is always the same for this name. */
void identity_of_name(const char *name, uint8_t uuid[16]);
/* nqn.2026-01.uroce:UUID, which is this machine's own. 0; -ENOENT: it has no /etc/machine-id. */
int identity_default_nqn(char nqn[NVME_NQN_BYTES]);

#endif
