/* mr.h - protection domains, memory regions, memory windows */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads: any thread may call at any time, also while lcores poll; calls about one region or window one at a time.
 * Only uroce_mw_bind() posts, so it is for the thread that posts to the QP. Calls that remove or change a region wait
 * until no lcore uses it any more, at most for the end of one poll, and never return -ETIMEDOUT.
 */
#ifndef UROCE_MR_H
#define UROCE_MR_H

#include <uroce/wr.h>

#ifdef __cplusplus
extern "C" {
#endif

enum uroce_access {
	UROCE_ACCESS_LOCAL_WRITE = 1 << 0,
	UROCE_ACCESS_REMOTE_WRITE = 1 << 1,
	UROCE_ACCESS_REMOTE_READ = 1 << 2,
	UROCE_ACCESS_REMOTE_ATOMIC = 1 << 3,
	UROCE_ACCESS_MW_BIND = 1 << 4,         /* windows may be bound to it */
	UROCE_ACCESS_ZERO_BASED = 1 << 5,      /* peers and SGEs address it from 0 */
	UROCE_ACCESS_FLUSH_GLOBAL = 1 << 8,    /* peers may FLUSH for visibility */
	UROCE_ACCESS_FLUSH_PERSISTENT = 1 << 9 /* peers may FLUSH into memory that lasts */
};

/* Allocates a protection domain of the device. Returns 0; -ENOMEM. */
UROCE_API int uroce_pd_alloc(struct uroce_device *device, struct uroce_pd **pd);
/* Returns 0; -EBUSY while a region, window or queue of the PD exists. */
UROCE_API int uroce_pd_dealloc(struct uroce_pd *pd);

/*
 * Registers bytes at addr. Memory of any kind can be registered, and no page is populated, written or pinned. Returns
 * 0; -EINVAL: NULL, 0 bytes, wrap, unknown access bits, remote write or atomic without local write, or remote atomic to
 * a zero-based region whose addr is no multiple of 8; -EFAULT: a part is not mapped, not readable, or read-only
 * although access has a right to write; -ENOMEM: no memory, or the device's table is full.
 */
UROCE_API int uroce_mr_reg(struct uroce_pd *pd, void *addr, size_t bytes, uint32_t access, struct uroce_mr **mr);
/*
 * Registers memory as uroce_mr_reg() does, but SGEs and peers address it from va on, whatever addr is. With remote
 * atomics addr and va must have the same remainder modulo 8, else -EINVAL. With UROCE_ACCESS_ZERO_BASED va has to be 0.
 */
UROCE_API int uroce_mr_reg_at(struct uroce_pd *pd, void *addr, size_t bytes, uint64_t va, uint32_t access,
			      struct uroce_mr **mr);
/*
 * Changes a region to what uroce_mr_reg_at() would make of these values, but keeps the keys. A request under way that
 * uses the region fails, or uses the old or the new region. pd: a PD of the same device. Returns 0; or -EINVAL,
 * -EFAULT, -EBUSY (a window is bound to the region), and then nothing has changed.
 */
UROCE_API int uroce_mr_rereg(struct uroce_mr *mr, struct uroce_pd *pd, void *addr, size_t bytes, uint64_t va,
			     uint32_t access);
/*
 * Memory that is unmapped, protected or truncated while it is registered makes copies of the stack fault. With
 * uroce_guard_install() (port.h) such a fault fails the QP with a protection error of its side, and
 * UROCE_CAUSE_UNMAPPED. A program that handles SIGSEGV and SIGBUS itself may call this instead, from its handler, with
 * si_addr. It does not return if the thread was copying from or to registered memory at that address; otherwise it does
 * nothing. The handler needs SA_NODEFER. Async-signal-safe.
 */
UROCE_API void uroce_memory_fault(const void *address);
/* When the call returns no lcore can use the region any more. Returns 0; -EBUSY: a window is bound to the region. */
UROCE_API int uroce_mr_dereg(struct uroce_mr *mr);
/* Returns the region's key for SGEs. */
UROCE_API uint32_t uroce_mr_lkey(const struct uroce_mr *mr);
/* Returns the region's key for peers, which is the same. */
UROCE_API uint32_t uroce_mr_rkey(const struct uroce_mr *mr);

/*
 * A window opens a part of a region to a peer under a key of its own, without a control call for each change.
 * Type 1: bound by uroce_mw_bind(), good for all QPs of the domain; each bind gives the window a new key. Type 2: bound
 * by UROCE_WR_BIND_MW to a key that the application chooses (uroce_mw_next_rkey()), good for the QP that bound it; made
 * invalid by UROCE_WR_LOCAL_INV or by a peer's SEND with invalidate, and bound again then. A bind fails with
 * MW_BIND_ERR when
 *   - window or region are of another domain than the QP
 *   - the region is without UROCE_ACCESS_MW_BIND, without local write for remote write or atomic, or without the flush
 *     rights asked for
 *   - a right is asked for that is not for peers, or a zero-based window of type 1
 *   - the range is not inside the region
 *   - peers may do atomics, and the address that they name and that of the memory differ modulo 8
 *   - a type 2 window is bound already, is to have its last key again, or is to open zero bytes
 * A BIND_MW whose key is not of its window is not even posted (-EINVAL).
 */
enum uroce_mw_type { UROCE_MW_TYPE_1 = 1, UROCE_MW_TYPE_2 = 2 };

/*
 * Returns 0; -EINVAL: there is no such type; -ENOMEM: the device's table is full. The window has a key but is not
 * bound.
 */
UROCE_API int uroce_mw_alloc(struct uroce_pd *pd, enum uroce_mw_type type, struct uroce_mw **mw);
/* Unbinds the window first. When the call returns no lcore can touch memory through the window any more. Returns 0. */
UROCE_API int uroce_mw_dealloc(struct uroce_mw *mw);
/* Returns the key of the last bind posted; before the first bind a key that is not valid. */
UROCE_API uint32_t uroce_mw_rkey(const struct uroce_mw *mw);
/* Returns the key for the next bind of a type 2 window: its last key with the tag, the low 8 bits, advanced. */
UROCE_API uint32_t uroce_mw_next_rkey(const struct uroce_mw *mw);
/*
 * Type 1: posts a bind to qp's send queue, as a request with wr_id and send_flags. uroce_mw_rkey() returns the new key
 * at once; it is valid once the bind has completed. Zero bytes unbind. Errors as uroce_qp_post_send().
 */
UROCE_API int uroce_mw_bind(struct uroce_qp *qp, struct uroce_mw *mw, const struct uroce_mw_bind *bind, uint64_t wr_id,
			    uint32_t send_flags);

#ifdef __cplusplus
}
#endif
#endif
