/* prompt.c - lines that are typed or come from a file: each is run, or answered with what is wrong with it */
/* SPDX-License-Identifier: BSD-3-Clause */
#define ALLOW_EXPERIMENTAL_API /* rdline_new(), so that a wrong line is answered by run_typed() */

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include <cmdline.h>
#include <cmdline_parse.h>
#include <cmdline_rdline.h>

#include "testpmd/commands.h"
#include "testpmd/help.h"
#include "testpmd/prompt.h"
#include "testpmd/quit.h"
#include "testpmd/words.h"

#define COMMAND_BYTES 512 /* of a line in a file */
#define LOADS_MAX 8u
#define KEY_WAIT_MS 100
#define PROMPT "uroce> "

static bool load_failed; /* a file that another one loads ended at a wrong line */

/* Input and notices take turns at the terminal. */
static pthread_mutex_t terminal_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rdline *typed_at; /* NULL: nobody types at a terminal */

static const char *parse_error(int code, const char *line)
{
	const char *instead = words_of_command(line);

	return instead                         ? instead :
	       code == CMDLINE_PARSE_AMBIGUOUS ? "may be several commands" :
	       code == CMDLINE_PARSE_BAD_ARGS  ? "wrong arguments; \"help\" tells the right ones" :
						 "no such command; \"help\" lists them";
}

/* As much of a line as a complaint may show: it tells a terminal nothing. */
static const char *shown(const char *line)
{
	static char text[48];
	size_t at = 0;

	for (; at + 1 < sizeof(text) && line[at] && line[at] != '\n'; at++)
		text[at] = line[at] < ' ' || line[at] > '~' ? '?' : line[at];
	text[at] = '\0';
	return text;
}

/* 0 or more; or an error of cmdline_parse(), which wants a line of text with its end. */
static int run_line(struct cmdline *terminal, char *line, size_t bytes)
{
	char command[COMMAND_BYTES];

	if (memchr(line, '\0', bytes) || bytes + 2 > sizeof(command))
		return CMDLINE_PARSE_NOMATCH;
	line[strcspn(line, "\n")] = '\0';
	snprintf(command, sizeof(command), "%s\n", line);
	return cmdline_parse(terminal, command);
}

/* Line by line, so that a wrong one can be named. Nothing behind it is done. */
static int run_lines(struct cmdline *terminal, FILE *file, const char *path)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t bytes;
	unsigned number = 0;
	int code = 0;

	while (code >= 0 && !quit_is_wanted() && (bytes = getline(&line, &room, file)) >= 0) {
		number++;
		load_failed = false;
		code = run_line(terminal, line, (size_t)bytes);
		if (code >= 0 && load_failed)
			code = -1;
		else if (code < 0)
			app_complain(APP_EXIT_USAGE, "%s:%u: \"%s\": %s", path, number, shown(line),
				     parse_error(code, line));
	}
	free(line);
	return code < 0 ? APP_EXIT_USAGE : APP_EXIT_OK;
}

int prompt_run_file(struct traffic *traffic, const char *path)
{
	static unsigned loading; /* files that load each other */
	FILE *file = app_is_readable(path) ? fopen(path, "r") : NULL;
	struct cmdline *terminal;
	int code = APP_EXIT_INTERNAL;

	if (file && loading == LOADS_MAX) {
		fclose(file);
		return app_complain(APP_EXIT_USAGE, "%s: files load each other more than %u deep", path, LOADS_MAX);
	}
	if (file == NULL)
		return app_complain(APP_EXIT_ENVIRONMENT, "%s: %s", path, strerror(errno));
	commands_use(traffic);
	terminal = cmdline_new(commands_all, "", STDIN_FILENO, STDOUT_FILENO);
	if (terminal) {
		loading++;
		code = run_lines(terminal, file, path);
		loading--;
		cmdline_free(terminal);
	}
	fclose(file);
	load_failed |= code != APP_EXIT_OK;
	return code;
}

void prompt_notice(const char *text, FILE *where)
{
	pthread_mutex_lock(&terminal_lock);
	if (typed_at)
		fputs("\r\33[K", where);
	fputs(text, where);
	fflush(where);
	if (typed_at)
		rdline_char_in(typed_at, '\f'); /* what Ctrl-L does: the line is shown again */
	pthread_mutex_unlock(&terminal_lock);
}

/* Runs a line that was typed; one that is wrong is answered with the ways to write it. */
static void run_typed(struct rdline *line, const char *text, unsigned int bytes)
{
	char copy[COMMAND_BYTES];
	int code;

	if (bytes >= sizeof(copy))
		bytes = sizeof(copy) - 1;
	memcpy(copy, text, bytes);
	copy[bytes] = '\0';
	copy[strcspn(copy, "\n")] = '\0';
	code = run_line(rdline_get_opaque(line), copy, strlen(copy));
	if (code >= 0)
		return;
	app_complain(APP_EXIT_USAGE, "\"%s\": %s", shown(copy),
		     code == CMDLINE_PARSE_BAD_ARGS && !words_of_command(copy) ? "wrong arguments; use" :
										 parse_error(code, copy));
	if (code == CMDLINE_PARSE_BAD_ARGS && !words_of_command(copy))
		help_print_usage(copy, stdout);
}

static int complete_typed(struct rdline *line, const char *text, char *found, unsigned int room, int *state)
{
	return cmdline_complete(rdline_get_opaque(line), text, state, found, room);
}

/* false: it is time to end. */
static bool wait_for_key(void)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

	while (!quit_is_wanted()) {
		if (poll(&input, 1, KEY_WAIT_MS) > 0)
			return true;
	}
	return false;
}

/* What was typed, byte by byte; commands run in here. false: that was the end. */
static bool take_input(struct rdline *line)
{
	char byte;
	int code;

	if (!wait_for_key() || read(STDIN_FILENO, &byte, 1) <= 0)
		return false;
	pthread_mutex_lock(&terminal_lock);
	code = rdline_char_in(line, byte);
	if (code == RDLINE_RES_VALIDATED) {
		const char *typed = rdline_get_buffer(line);

		if (*typed && *typed != '\n')
			rdline_add_history(line, typed);
		if (!quit_is_wanted())
			rdline_newline(line, PROMPT);
	}
	fflush(stdout); /* a program that drives this one waits for the answer */
	pthread_mutex_unlock(&terminal_lock);
	return code >= 0;
}

/* Keys come one by one and are shown by the prompt; Ctrl-C goes on to end the program. false: it is no terminal. */
static bool take_terminal(struct termios *before)
{
	struct termios own;

	if (tcgetattr(STDIN_FILENO, before) != 0)
		return false;
	own = *before;
	own.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	return tcsetattr(STDIN_FILENO, TCSANOW, &own) == 0;
}

void prompt_interact(struct traffic *traffic)
{
	struct termios before;
	bool taken = take_terminal(&before);
	struct cmdline *terminal = cmdline_new(commands_all, "", STDIN_FILENO, STDOUT_FILENO);
	struct rdline *line = terminal ? rdline_new(cmdline_write_char, run_typed, complete_typed, terminal) : NULL;

	commands_use(traffic);
	if (line) {
		rdline_newline(line, PROMPT);
		typed_at = taken && isatty(STDOUT_FILENO) ? line : NULL;
		while (take_input(line))
			;
		pthread_mutex_lock(&terminal_lock);
		typed_at = NULL;
		pthread_mutex_unlock(&terminal_lock);
		rdline_free(line);
	}
	if (terminal)
		cmdline_free(terminal);
	if (taken)
		tcsetattr(STDIN_FILENO, TCSANOW, &before);
}
