/* log.h - what DPDK complains about during a call of ours, as a part of our own sentence */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Drivers grumble about what does not matter, and a refusal comes as several lines in which the reason has to be found.
 * So DPDK's log is taken between begin and end, only its errors kept, and those told when the call fails. One at a
 * time; the log of other threads is taken meanwhile, too.
 */
#ifndef DRIVERS_LOG_H
#define DRIVERS_LOG_H

#include <stdbool.h>
#include <stddef.h>

void drivers_log_begin(void);

/* From here on the log goes where it went before. */
void drivers_log_end(void);

/* What was kept since the last begin (and more: it is changed) in one line, without what says nothing or repeats. */
const char *drivers_log_reasons(char *more);

/* The user wants to see DPDK's log as it is: from now on it is not taken. */
void drivers_log_leave(void);
bool drivers_log_is_left(void);

#endif
