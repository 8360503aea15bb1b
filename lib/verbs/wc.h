/* wc.h - converts completions of uroce to completions of verbs */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VERBS_WC_H
#define VERBS_WC_H

#include "verbs/objects.h"

/* libibverbs has no flag for solicited. */
static inline unsigned verb_wc_flags(const struct uroce_wc *ours)
{
	return ours->wc_flags & ~(unsigned)UROCE_WC_SOLICITED;
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
