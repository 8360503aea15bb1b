/* explain.c - why a request has failed */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/explain.h"

#include <uroce/inspect.h>

char *app_explain(struct uroce_qp *qp, const struct uroce_wc *wc, char *out, size_t out_bytes)
{
	struct uroce_qp_view view = { .qp_num = wc->qp_num, .attr.qp_state = UROCE_QPS_ERR };

	if (wc->status == UROCE_WC_WR_FLUSH_ERR && uroce_qp_last_error(qp, &view.error) == 0 &&
	    view.error.status != UROCE_WC_SUCCESS)
		return uroce_qp_explain(&view, out, out_bytes);
	return uroce_wc_explain(wc, out, out_bytes);
}
