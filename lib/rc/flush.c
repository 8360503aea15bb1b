/* flush.c - writing cache lines back */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/flush.h"

#include <stdatomic.h>
#ifdef __aarch64__
#include <sys/auxv.h>
#endif

#define FLUSH_SLICE_BYTES 16384u
#define LINE_BYTES 64u

uint32_t rc_flush_rights(uint32_t feth)
{
	return (feth & UROCE_FLUSH_GLOBAL ? UROCE_ACCESS_FLUSH_GLOBAL : 0) |
	       (feth & UROCE_FLUSH_PERSISTENT ? UROCE_ACCESS_FLUSH_PERSISTENT : 0);
}

/* Writes back each cache line that has a byte of the range; when it returns the stores have reached memory. */
#ifdef __SSE2__

static void write_back(const uint8_t *host, uint64_t bytes)
{
	const uint8_t *end = host + bytes;

	for (host -= (uintptr_t)host % LINE_BYTES; host < end; host += LINE_BYTES)
		__builtin_ia32_clflush(host);
	atomic_thread_fence(memory_order_seq_cst);
}

#elif defined(__aarch64__)

/*
 * Writes back to the point of persistence (DC CVAP) if the kernel says that the CPU has one, otherwise to the point of
 * coherency (DC CVAC), as Linux itself does for persistent memory. Linux lets programs execute both, and read the
 * length of a line. DC CVAP is written as a number because assemblers know its name only with other options.
 */
static void write_back(const uint8_t *host, uint64_t bytes)
{
	bool has_point_of_persistence = getauxval(AT_HWCAP) & HWCAP_DCPOP;
	const uint8_t *end = host + bytes;
	uint64_t cache_type, line_bytes;

	__asm__("mrs %0, ctr_el0" : "=r"(cache_type));
	line_bytes = 4u << (cache_type >> 16 & 15);
	for (host -= (uintptr_t)host % line_bytes; host < end; host += line_bytes) {
		if (has_point_of_persistence)
			__asm__ volatile("sys #3, c7, c12, #1, %0" : : "r"(host) : "memory");
		else
			__asm__ volatile("dc cvac, %0" : : "r"(host) : "memory");
	}
	__asm__ volatile("dsb sy" : : : "memory");
}

#else
#error "no instruction to write back a cache line is known for this CPU type"
#endif

bool rc_flush_some(struct rc_qp *qp, struct rc_replay_entry *entry, enum rc_mr_verdict *why)
{
	uint32_t rights = rc_flush_rights(entry->flush);
	uint64_t va = entry->va, bytes = entry->length_bytes, slice;
	uint8_t *host = NULL;

	*why = MR_OK;
	if (entry->flush & FETH_WHOLE_REGION)
		*why = rc_mr_extent(qp->mrs, entry->rkey, qp->pd, qp->qpn, rights, &va, &bytes);
	else if (bytes > 0)
		*why = qp_check_memory(qp, entry->rkey, va, bytes, rights, &host);
	if (*why != MR_OK)
		return true;
	/*
	 * On a coherent machine other CPUs see the stores of this lcore in order, so visibility takes no more than a
	 * fence.
	 */
	atomic_thread_fence(memory_order_seq_cst);
	if (!(entry->flush & UROCE_FLUSH_PERSISTENT))
		return true;
	if (entry->original >= bytes)
		return true; /* there is nothing to flush, or the memory window has become smaller meanwhile */
	slice = bytes - entry->original < FLUSH_SLICE_BYTES ? bytes - entry->original : FLUSH_SLICE_BYTES;
	if (qp_check_memory(qp, entry->rkey, va + entry->original, slice, rights, &host) == MR_OK)
		write_back(host, slice);
	entry->original += slice;
	return entry->original >= bytes;
}
