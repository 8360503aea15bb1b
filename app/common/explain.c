/* explain.c - why a request has failed */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/explain.h"

#include <stdbool.h>

#include <uroce/inspect.h>

/* The failure of the QP that flushed this request. Returns false if the request was not flushed. */
static bool flushed_by(struct uroce_qp *qp, const struct uroce_wc *wc, struct uroce_qp_error *error)
{
	return wc->status == UROCE_WC_WR_FLUSH_ERR && uroce_qp_last_error(qp, error) == 0 &&
	       error->status != UROCE_WC_SUCCESS;
}

enum uroce_wc_status app_explain_status(struct uroce_qp *qp, const struct uroce_wc *wc)
{
	struct uroce_qp_error error;

	return flushed_by(qp, wc, &error) ? error.status : wc->status;
}

char *app_explain(struct uroce_qp *qp, const struct uroce_wc *wc, char *out, size_t out_bytes)
{
	struct uroce_qp_view view = { .qp_num = wc->qp_num, .attr.qp_state = UROCE_QPS_ERR };

	if (flushed_by(qp, wc, &view.error))
		return uroce_qp_explain(&view, out, out_bytes);
	return uroce_wc_explain(wc, out, out_bytes);
}
