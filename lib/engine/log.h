/* log.h - the library's words to its user: to his callback, or kept for who asks why he was refused */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_LOG_H
#define ENGINE_LOG_H

#include <uroce/log.h>

/* Costs a load while there is no callback; else the callback runs. Never for a packet. */
void engine_log(enum uroce_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Is it from least to most? 0, or refused by its name: -EINVAL. */
int engine_check_range(const char *name, uint32_t value, uint32_t least, uint32_t most);

/* Keeps the sentence for uroce_refusal() and logs it. Returns -EINVAL. */
int engine_refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
