/* journal.c - lines about events of a running target, no more of them than a person can read */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmet/journal.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

#define LINES_A_SECOND 20u
#define SECOND_NS 1000000000ull

static void tell(struct journal *journal, uint64_t now_ns, const char *format, va_list arguments)
{
	if (now_ns / SECOND_NS > journal->second) {
		if (journal->left_out)
			printf("%u more events were suppressed\n", journal->left_out);
		*journal = (struct journal){ .second = now_ns / SECOND_NS };
	}
	if (journal->lines == LINES_A_SECOND) {
		journal->left_out++;
		return;
	}
	journal->lines++;
	vprintf(format, arguments);
	putchar('\n');
}

void journal_tell(struct journal *journal, uint64_t now_ns, const char *format, ...)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	va_list arguments;

	if (journal->silent)
		return;
	pthread_mutex_lock(&lock);
	va_start(arguments, format);
	tell(journal, now_ns, format, arguments);
	va_end(arguments);
	pthread_mutex_unlock(&lock);
}

const char *journal_name(const char *name, char *out, size_t bytes)
{
	size_t i = 0;

	for (; i + 1 < bytes && name[i]; i++)
		out[i] = (char)(name[i] > ' ' && name[i] < 0x7F && name[i] != '"' && name[i] != '\\' ? name[i] : '?');
	out[i] = '\0';
	return out;
}
