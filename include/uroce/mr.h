/* mr.h - protection domains and memory regions */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_MR_H
#define UROCE_MR_H

#include <uroce/types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum uroce_access {
	UROCE_ACCESS_LOCAL_WRITE = 1 << 0,
	UROCE_ACCESS_REMOTE_WRITE = 1 << 1,
	UROCE_ACCESS_REMOTE_READ = 1 << 2,
	UROCE_ACCESS_REMOTE_ATOMIC = 1 << 3,
	UROCE_ACCESS_ZERO_BASED = 1 << 4 /* peers and SGEs address it from 0 */
};

/* 0; -ENOMEM. */
UROCE_API int uroce_pd_alloc(struct uroce_device *device, struct uroce_pd **pd);
/* 0; -EBUSY while a region or QP uses it. */
UROCE_API int uroce_pd_dealloc(struct uroce_pd *pd);

/*
 * Registers bytes at addr. Any mapped memory will do. 0; -EINVAL: NULL, 0 bytes, wrap, unknown access bits, or
 * remote write or atomic without local write; -ENOMEM: the device's table is full.
 */
UROCE_API int uroce_mr_reg(struct uroce_pd *pd, void *addr, size_t bytes, uint32_t access, struct uroce_mr **mr);
/* Returns when no lcore can touch the memory through this region any more. 0. */
UROCE_API int uroce_mr_dereg(struct uroce_mr *mr);
/* The key for both local and remote use. */
UROCE_API uint32_t uroce_mr_lkey(const struct uroce_mr *mr);
UROCE_API uint32_t uroce_mr_rkey(const struct uroce_mr *mr);

#ifdef __cplusplus
}
#endif
#endif
