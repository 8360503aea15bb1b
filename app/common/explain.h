/* explain.h - why a request has failed */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_COMMON_EXPLAIN_H
#define APP_COMMON_EXPLAIN_H

#include <stddef.h>

#include <uroce/uroce.h>

/*
 * As uroce_wc_explain(). But for a request that was only flushed it explains why the queue pair failed, because the
 * completion with the reason may arrive later, or in another queue. UROCE_EXPLAIN_BYTES suffice for out. Returns out.
 */
char *app_explain(struct uroce_qp *qp, const struct uroce_wc *wc, char *out, size_t out_bytes);
/* The status of a failed completion; of a flushed request the status with which its queue pair failed. */
enum uroce_wc_status app_explain_status(struct uroce_qp *qp, const struct uroce_wc *wc);

#endif
