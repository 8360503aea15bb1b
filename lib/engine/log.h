/* log.h - messages of the library: to the log callback, and as the last refusal */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_LOG_H
#define ENGINE_LOG_H

#include <uroce/log.h>

/* Gives a line to the callback; without a callback the call costs a load. No packet causes such a call. */
void engine_log(enum uroce_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Returns 0 if value is from least to most; else refuses it by its name and returns -EINVAL. */
int engine_check_range(const char *name, uint32_t value, uint32_t least, uint32_t most);

#define REFUSAL_BYTES 512u /* the same as in struct uroce_error */

/* Why a call has failed, as uroce_last_error() returns it. */
struct engine_refusal {
	char text[REFUSAL_BYTES];
	const char *often; /* a format: text is made from it and `value` when uroce_last_error() is called */
	uint32_t value;
};

/* Keeps the sentence for uroce_last_error() and logs it. Returns the error. */
int engine_refuse(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));
/*
 * For refusals that a program may meet often, as when it posts to a full queue: nothing is logged, and the sentence, a
 * constant with at most one %u, is made only when uroce_last_error() is called. Returns the error.
 */
int engine_refuse_often(int error, const char *format, uint32_t value);
/* Refuses because the kernel has given no random numbers. Returns -EIO. */
int engine_refuse_random(void);
/*
 * Get and set the calling thread's refusal. A thread that runs another thread's call passes its refusal on to that
 * thread.
 */
void engine_refusal_get(struct engine_refusal *refusal);
void engine_refusal_put(const struct engine_refusal *refusal);

#endif
