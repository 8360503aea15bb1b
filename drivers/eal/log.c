/* log.c - keeps DPDK's errors for a while */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/eal/log.h"

#include <stdio.h>
#include <string.h>

#include <rte_log.h>

#define MESSAGES_BYTES 4096u
#define REASONS_BYTES 400u

static struct {
	char messages[MESSAGES_BYTES]; /* the oldest ones */
	size_t messages_bytes;
	FILE *stream, *before;
	bool left;
} state;

static ssize_t keep_message(void *cookie, const char *text, size_t bytes)
{
	size_t room = sizeof(state.messages) - 1 - state.messages_bytes;

	(void)cookie;
	if (rte_log_cur_msg_loglevel() <= (int)RTE_LOG_ERR) {
		room = bytes < room ? bytes : room;
		memcpy(state.messages + state.messages_bytes, text, room);
		state.messages_bytes += room;
	}
	return (ssize_t)bytes;
}

void drivers_log_start(void)
{
	state.messages_bytes = 0;
	if (state.left)
		return;
	state.before = rte_log_get_stream();
	state.stream = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = keep_message });
	if (state.stream)
		rte_openlog_stream(state.stream);
}

void drivers_log_stop(void)
{
	if (state.stream == NULL)
		return;
	fflush(state.stream);
	rte_openlog_stream(state.before);
	fclose(state.stream);
	state.stream = NULL;
}

static bool tells_nothing(const char *line)
{
	return strstr(line, "Invalid 'command line' arguments") || strstr(line, "FATAL") || *line == '\0' ||
	       strstr(line, "cannot attach the device") || strstr(line, "failed to initialize") ||
	       strstr(line, "Failed to attach device on primary") || strstr(line, "mp action callback");
}

const char *drivers_log_reasons(char *more)
{
	static char text[REASONS_BYTES];
	char *lists[2] = { more, state.messages }, *rest = NULL;
	size_t at = 0;

	text[0] = '\0';
	state.messages[state.messages_bytes] = '\0';
	for (unsigned i = 0; i < 2; i++) {
		for (char *line = strtok_r(lists[i], "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
			const char *option = strstr(line, ": unrecognized option");

			line = option ? (char *)(uintptr_t)option + 2 : line;
			line += strncmp(line, "EAL: ", 5) == 0 ? 5 : 0;
			if (tells_nothing(line) || strstr(text, line) || at + strlen(line) + 3 > sizeof(text))
				continue;
			at += (size_t)sprintf(text + at, "%s%s", at ? "; " : "", line);
		}
	}
	return text;
}

void drivers_log_leave(void)
{
	state.left = true;
}

bool drivers_log_is_left(void)
{
	return state.left;
}
