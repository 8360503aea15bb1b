/* file.h - a store whose blocks are in a file or on a block device */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_FILE_H
#define NVMET_FILE_H

#include "nvmet/store.h"

/* Returns 0, or -1: error says why. */
int file_open(struct store *store, char error[STORE_ERROR_BYTES]);
/* Could the store be opened? Creates nothing, and changes nothing. Returns 0, or -1: error says why not. */
int file_try(const struct store_config *config, char error[STORE_ERROR_BYTES]);

#endif
