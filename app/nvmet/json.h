/* json.h - what a target serves, to whom, and what it has counted, for programs */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_JSON_H
#define NVMET_JSON_H

#include <stdio.h>

#include "nvmet/disk.h"

/* One object, in lines. -1: no memory, and nothing was written. */
int json_write(struct server *server, const struct disks *disks, FILE *out);

#endif
