/* kind.h - opens a store of any kind */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_KIND_H
#define NVMET_KIND_H

#include "nvmet/store.h"

/* Opens a store, which so many lcores will use. Returns NULL if it cannot be opened; error says why. */
struct store *store_open(const struct store_config *config, uint32_t lcores, char error[STORE_ERROR_BYTES]);

#endif
