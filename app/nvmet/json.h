/* json.h - what a target serves, its hosts and its counters, as JSON */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_JSON_H
#define NVMET_JSON_H

#include <stdio.h>

#include "nvmet/disk.h"

/* Writes one object in several lines. -1: no memory, and nothing was written. */
int json_write(struct server *server, const struct disks *disks, FILE *out);

#endif
