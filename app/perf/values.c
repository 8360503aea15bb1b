/* values.c - the words for what the options of uroce-perf ask for */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "perf/values.h"

const char *const perf_mode_names[PERF_MODES] = { [PERF_BW] = "bw", [PERF_LAT] = "lat" };
