/* verbose.c - a ring through which lcores pass completions to the thread that prints them */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "testpmd/verbose.h"

#include <arpa/inet.h>
#include <stdatomic.h>

#include <rte_ring.h>
#include <rte_ring_elem.h>

#include "common/eal.h"

#define ROOM 1024u

static struct rte_ring *noted;
static _Atomic uint64_t lost;

int verbose_open(void)
{
	noted = rte_ring_create_elem("uroce_testpmd_verbose", sizeof(struct uroce_wc), ROOM, SOCKET_ID_ANY,
				     RING_F_SC_DEQ);
	return noted ? APP_EXIT_OK :
		       app_complain(APP_EXIT_ENVIRONMENT, "no memory for the queue of completions to print");
}

void verbose_close(void)
{
	rte_ring_free(noted);
	noted = NULL;
}

void verbose_note(uint32_t level, const struct uroce_wc *wc)
{
	uint32_t kind = wc->opcode & UROCE_WC_RECV ? VERBOSE_RECEIVES : VERBOSE_REQUESTS;

	if ((level & kind) && rte_ring_mp_enqueue_elem(noted, (void *)(uintptr_t)wc, sizeof(*wc)) != 0)
		atomic_fetch_add_explicit(&lost, 1, memory_order_relaxed);
}

static void tell_one(const struct uroce_wc *wc, FILE *out)
{
	fprintf(out, "QP 0x%06x: %s %s", wc->qp_num, uroce_wc_opcode_name(wc->opcode),
		uroce_wc_status_name(wc->status));
	if (wc->status == UROCE_WC_SUCCESS && (wc->opcode & UROCE_WC_RECV || wc->opcode == UROCE_WC_RDMA_READ))
		fprintf(out, ", %u bytes", wc->byte_len);
	if (wc->status == UROCE_WC_SUCCESS && wc->opcode & UROCE_WC_RECV)
		fprintf(out, " from QP 0x%06x", wc->src_qp);
	if (wc->status == UROCE_WC_SUCCESS && wc->wc_flags & UROCE_WC_WITH_IMM)
		fprintf(out, ", immediate 0x%08x", ntohl(wc->imm_data));
	if (wc->status == UROCE_WC_SUCCESS && wc->wc_flags & UROCE_WC_WITH_INV)
		fprintf(out, ", key 0x%08x is invalid now", wc->invalidated_rkey);
	fprintf(out, "\n");
}

void verbose_tell(FILE *out)
{
	uint64_t missing = atomic_exchange_explicit(&lost, 0, memory_order_relaxed);
	struct uroce_wc wc;

	for (unsigned i = 0; i < ROOM && rte_ring_sc_dequeue_elem(noted, &wc, sizeof(wc)) == 0; i++)
		tell_one(&wc, out);
	if (missing)
		fprintf(out, "and %lu more completions that were not recorded\n", (unsigned long)missing);
}
