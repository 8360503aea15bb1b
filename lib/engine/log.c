/* log.c - the log callback of the process, and the last refusal of each thread */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static struct {
	pthread_mutex_t lock; /* the lock keeps callback and context together and unchanged while the callback runs */
	_Atomic bool wanted;
	uroce_log_callback *callback;
	void *context;
} listener = { .lock = PTHREAD_MUTEX_INITIALIZER };

static _Thread_local struct engine_refusal last;

void uroce_log_set(uroce_log_callback *callback, void *context)
{
	pthread_mutex_lock(&listener.lock);
	listener.callback = callback;
	listener.context = context;
	atomic_store(&listener.wanted, callback != NULL);
	pthread_mutex_unlock(&listener.lock);
}

static void tell(enum uroce_log_level level, const char *text)
{
	pthread_mutex_lock(&listener.lock);
	if (listener.callback)
		listener.callback(listener.context, level, text);
	pthread_mutex_unlock(&listener.lock);
}

void engine_log(enum uroce_log_level level, const char *format, ...)
{
	char text[REFUSAL_BYTES];
	va_list arguments;

	if (!atomic_load_explicit(&listener.wanted, memory_order_relaxed))
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	tell(level, text);
}

int engine_refuse(int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(last.text, sizeof(last.text), format, arguments);
	va_end(arguments);
	last.often = NULL;
	engine_log(UROCE_LOG_INFO, "refused: %s", last.text);
	return error;
}

int engine_refuse_often(int error, const char *format, uint32_t value)
{
	last.often = format;
	last.value = value;
	return error;
}

int engine_refuse_random(void)
{
	return engine_refuse(-EIO, "the kernel returns no random numbers: %s", strerror(errno));
}

void engine_refusal_get(struct engine_refusal *refusal)
{
	*refusal = last;
}

void engine_refusal_put(const struct engine_refusal *refusal)
{
	last = *refusal;
}

int engine_check_range(const char *name, uint32_t value, uint32_t least, uint32_t most)
{
	if (value >= least && value <= most)
		return 0;
	return engine_refuse(-EINVAL, "%s %u: %u ... %u", name, value, least, most);
}

const char *uroce_last_error(void)
{
	if (last.often) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(last.text, sizeof(last.text), last.often, last.value);
#pragma GCC diagnostic pop
		last.often = NULL;
	}
	return last.text;
}
