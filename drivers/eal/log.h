/* log.h - keeps what DPDK complains about during a call, so that our error message can quote it */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Drivers complain about unimportant things, too, and a refusal comes as several lines, one of which has the reason. So
 * between start and stop DPDK's log is diverted, and only its errors are kept, to be told if the call fails. One call
 * at a time; messages of other threads are diverted meanwhile, too.
 */
#ifndef DRIVERS_LOG_H
#define DRIVERS_LOG_H

#include <stdbool.h>
#include <stddef.h>

void drivers_log_start(void);

/* Ends the diversion. */
void drivers_log_stop(void);

/*
 * Returns one line with the errors kept since the last start, and those in `more`, which is overwritten. Repetitions
 * and phrases that say nothing are left out.
 */
const char *drivers_log_reasons(char *more);

/* The user wants to see DPDK's log as it is, so the log is not diverted any more. */
void drivers_log_leave(void);
bool drivers_log_is_left(void);

#endif
