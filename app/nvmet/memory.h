/* memory.h - a store in memory */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_MEMORY_H
#define NVMET_MEMORY_H

#include "nvmet/store.h"

/* Returns 0, or -1: error says why. */
int memory_open(struct store *store, char error[STORE_ERROR_BYTES]);

#endif
