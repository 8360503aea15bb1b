/* values.c - the words for what the options of uroce-perf ask for */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "perf/values.h"

const char *const perf_mode_names[PERF_MODES] = { [PERF_BW] = "bw", [PERF_LAT] = "lat" };
const char *const perf_junk_names[PERF_JUNKS] = {
	[PERF_JUNK_QPN] = "qpn",           [PERF_JUNK_ICRC] = "icrc",       [PERF_JUNK_REQ_UNSERVED] = "req-unserved",
	[PERF_JUNK_REQ_OPEN] = "req-open", [PERF_JUNK_REQ_BAD] = "req-bad",
};
