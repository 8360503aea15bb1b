/* pd.h - a protection domain, its memory regions and windows */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_PD_H
#define ENGINE_PD_H

#include <stdatomic.h>

#include <uroce/uroce.h>

struct uroce_device;

struct uroce_pd {
	struct uroce_device *device;
	uint32_t id; /* not 0 */
	_Atomic uint32_t users;
};

struct uroce_mr {
	struct uroce_pd *pd;
	uint32_t key;
};

struct uroce_mw {
	struct uroce_pd *pd;
	enum uroce_mw_type type;
	_Atomic uint32_t key; /* key of the last bind that was posted */
};

#endif
