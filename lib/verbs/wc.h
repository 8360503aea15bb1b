/* wc.h - converts completions of uroce to completions of verbs */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VERBS_WC_H
#define VERBS_WC_H

#include <arpa/inet.h>

#include "verbs/objects.h"

static inline enum ibv_wc_opcode verb_wc_opcode(const struct uroce_wc *ours)
{
	return ours->opcode == UROCE_WC_ATOMIC_WRITE ? IBV_WC_ATOMIC_WRITE : (enum ibv_wc_opcode)ours->opcode;
}

static inline unsigned verb_wc_flags(const struct uroce_wc *ours)
{
	return (ours->wc_flags & UROCE_WC_WITH_IMM ? IBV_WC_WITH_IMM : 0) |
	       (ours->wc_flags & UROCE_WC_WITH_INV ? IBV_WC_WITH_INV : 0) |
	       (ours->wc_flags & UROCE_WC_GRH ? IBV_WC_GRH : 0);
}

/* Immediate data in network byte order, or the invalidated key, in the field that both share. */
static inline uint32_t verb_wc_imm(const struct uroce_wc *ours)
{
	return ours->wc_flags & UROCE_WC_WITH_INV ? ours->invalidated_rkey : htonl(ours->imm);
}

/* Current programs learn from this which header is in front of a datagram: 8, plus 2 for IPv4 or 1 for IPv6. */
static inline uint8_t verb_wc_sl(const struct uroce_wc *ours)
{
	return ours->wc_flags & UROCE_WC_GRH ? (uint8_t)(8 | (ours->ip_version == 4 ? 2 : 1)) : 0;
}

/* With UROCE_EXPLAIN=1: explains a failed completion on standard error. */
void verb_wc_explain(const struct uroce_wc *ours);

static inline void verb_wc_tell(const struct uroce_wc *ours)
{
	if (ours->status != UROCE_WC_SUCCESS && ours->status != UROCE_WC_WR_FLUSH_ERR && verb_explains)
		verb_wc_explain(ours);
}

#endif
