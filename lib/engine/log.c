/* log.c - one callback a process, one refusal a thread */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

#define TEXT_BYTES 192u

static struct {
	pthread_mutex_t lock; /* callback and context belong together, and stay while the callback runs */
	_Atomic bool wanted;
	uroce_log_callback *callback;
	void *context;
} listener = { .lock = PTHREAD_MUTEX_INITIALIZER };

static _Thread_local char refusal[TEXT_BYTES];

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
	char text[TEXT_BYTES];
	va_list arguments;

	if (!atomic_load_explicit(&listener.wanted, memory_order_relaxed))
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	tell(level, text);
}

int engine_refuse(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(refusal, sizeof(refusal), format, arguments);
	va_end(arguments);
	engine_log(UROCE_LOG_WARNING, "refused: %s", refusal);
	return -EINVAL;
}

int engine_check_range(const char *name, uint32_t value, uint32_t least, uint32_t most)
{
	if (value >= least && value <= most)
		return 0;
	return engine_refuse("%s %u: %u ... %u", name, value, least, most);
}

const char *uroce_refusal(void)
{
	return refusal;
}
