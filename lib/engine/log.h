/* log.h - what the library says, to the callback of its user or when asked for the last refusal */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_LOG_H
#define ENGINE_LOG_H

#include <uroce/log.h>

/* Gives a line to the callback; it costs a load while there is none. It is never called for a packet. */
void engine_log(enum uroce_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* 0: the value is from least to most; else it is refused by its name: -EINVAL. */
int engine_check_range(const char *name, uint32_t value, uint32_t least, uint32_t most);

#define REFUSAL_BYTES 512u /* as struct uroce_error */

/* Why a call has failed, for uroce_refusal(). */
struct engine_refusal {
	char text[REFUSAL_BYTES];
	const char *often; /* text is to be made of this and value, when somebody asks for it */
	uint32_t value;
};

/* Keeps the sentence for uroce_refusal() and logs it. Returns the error. */
int engine_refuse(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));
/*
 * The same for what a program may try again at once, as posting to a queue that is full: nothing is logged, and the
 * sentence, a constant with at most one %u in it, is only made when it is asked for. Returns the error.
 */
int engine_refuse_often(int error, const char *format, uint32_t value);
/* The kernel has given no random numbers. Returns -EIO. */
int engine_refuse_random(void);
/* The calling thread's, and putting it back: a thread that runs the call of another one gives it what it has said. */
void engine_refusal_get(struct engine_refusal *refusal);
void engine_refusal_put(const struct engine_refusal *refusal);

#endif
