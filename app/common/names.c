/* names.c - the words with which options name what the library numbers */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/names.h"

const char *const app_idle_names[] = {
	[UROCE_IDLE_POLL] = "poll",
	[UROCE_IDLE_YIELD] = "yield",
	[UROCE_IDLE_SLEEP] = "sleep",
};

const char *const app_sack_windows[] = { "off", "256", "512", "1024", "2048" };

const char *const app_cc_names[] = {
	[UROCE_CC_DEFAULT] = "default",
	[UROCE_CC_FIXED] = "fixed",
	[UROCE_CC_DCQCN] = "dcqcn",
	[UROCE_CC_DELAY] = "delay",
};
