/* names.h - the words with which options name what the library numbers */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_NAMES_H
#define APP_NAMES_H

#include <uroce/device.h>
#include <uroce/qp.h>

extern const char *const app_idle_names[UROCE_IDLE_SLEEP + 1]; /* of enum uroce_idle */
/* Windows of SACKs by their number n: 128 << n packets; number 0: off. */
enum { APP_SACK_WINDOWS = 5 };
extern const char *const app_sack_windows[APP_SACK_WINDOWS];
extern const char *const app_cc_names[UROCE_CC_ALGORITHMS]; /* of enum uroce_cc */

#define APP_REJ_NOBODY_LISTENS 8u /* the value of uroce_cm_event.reason for invalid_service_id */

#endif
