/* log.h - what the library says, to the callback of its user or when asked for the last refusal */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_LOG_H
#define ENGINE_LOG_H

#include <uroce/log.h>

/* Gives a line to the callback; it costs a load while there is none. It is never called for a packet. */
void engine_log(enum uroce_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* 0: the value is from least to most; else it is refused by its name: -EINVAL. */
int engine_check_range(const char *name, uint32_t value, uint32_t least, uint32_t most);

/* Keeps the sentence for uroce_refusal() and logs it. Returns -EINVAL. */
int engine_refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
