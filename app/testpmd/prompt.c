/* prompt.c - runs lines that are typed or come from a file, or says what is wrong with them */
/* SPDX-License-Identifier: BSD-3-Clause */
#define ALLOW_EXPERIMENTAL_API /* for rdline_new(), so that run_typed() can answer a wrong line */

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
#include "testpmd/prompt.h"
#include "testpmd/words.h"

#define COMMAND_BYTES 512 /* longest line of a file */
#define LOADS_MAX 8u
#define KEY_WAIT_MS 100
#define PROMPT "uroce> "

/* Held while a thread writes to the terminal, for input or for a notice. */
static pthread_mutex_t terminal_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rdline *typed_at; /* NULL: there is no terminal */

static const char *parse_error(int code, const char *line)
{
	const char *instead = words_of_command(line);

	return instead                         ? instead :
	       code == CMDLINE_PARSE_AMBIGUOUS ? "ambiguous command; \"help\" lists the commands" :
	       code == CMDLINE_PARSE_BAD_ARGS  ? "wrong arguments; see \"help\"" :
						 "no such command; \"help\" lists the commands";
}

/* As much of a line as an error message may show, without control characters. */
static const char *shown(const char *line)
{
	static char text[48];
	size_t at = 0;

	for (; at + 1 < sizeof(text) && line[at] && line[at] != '\n'; at++)
		text[at] = line[at] < ' ' || line[at] > '~' ? '?' : line[at];
	text[at] = '\0';
	return text;
}

/* Returns 0 or more; or an error of cmdline_parse(), which needs the newline at the end. */
static int run_line(struct cmdline *terminal, char *line, size_t bytes)
{
	char command[COMMAND_BYTES];

	if (memchr(line, '\0', bytes) || bytes + 2 > sizeof(command))
		return CMDLINE_PARSE_NOMATCH;
	line[strcspn(line, "\n")] = '\0';
	snprintf(command, sizeof(command), "%s\n", line);
	return cmdline_parse(terminal, command);
}

/*
 * Runs the lines of a file one by one, so that a wrong one can be named. A wrong line ends its file, and the files that
 * have loaded it. depth: the number of these. Returns APP_EXIT_OK, or the exit code after a complaint.
 */
static int run_lines(struct cmdline *terminal, const char *path, unsigned depth)
{
	FILE *lines = app_is_readable(path) ? fopen(path, "r") : NULL;
	cmdline_fixed_string_t load;
	char *line = NULL;
	size_t room = 0;
	ssize_t bytes;
	int code = APP_EXIT_OK;

	if (lines == NULL)
		return app_complain(APP_EXIT_ENVIRONMENT, "%s: %s", path, strerror(errno));
	if (depth == LOADS_MAX)
		code = app_complain(APP_EXIT_USAGE, "%s: files load each other more than %u levels deep", path,
				    LOADS_MAX);
	for (unsigned number = 1; code == APP_EXIT_OK && !app_is_interrupted(); number++) {
		bytes = getline(&line, &room, lines);
		if (bytes < 0)
			break;
		code = run_line(terminal, line, (size_t)bytes);
		if (code < 0)
			code = app_complain(APP_EXIT_USAGE, "%s:%u: \"%s\": %s", path, number, shown(line),
					    parse_error(code, line));
		else if (commands_file_to_load(load) && run_lines(terminal, load, depth + 1) != APP_EXIT_OK)
			code = APP_EXIT_USAGE;
		else
			code = APP_EXIT_OK;
	}
	free(line);
	fclose(lines);
	return code;
}

int prompt_run_file(struct traffic *traffic, const char *path)
{
	struct cmdline *terminal = cmdline_new(commands_all(), "", STDIN_FILENO, STDOUT_FILENO);
	int code;

	if (terminal == NULL)
		return APP_EXIT_INTERNAL;
	commands_use(traffic);
	code = run_lines(terminal, path, 0);
	cmdline_free(terminal);
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
		rdline_char_in(typed_at, '\f'); /* as Ctrl-L: shows the line again */
	pthread_mutex_unlock(&terminal_lock);
}

/* Runs a typed line, and the file that it loads; if it is wrong, prints how such commands are written. */
static void run_typed(struct rdline *line, const char *text, unsigned int bytes)
{
	struct cmdline *terminal = rdline_get_opaque(line);
	cmdline_fixed_string_t load;
	char copy[COMMAND_BYTES];
	int code;

	if (bytes >= sizeof(copy))
		bytes = sizeof(copy) - 1;
	memcpy(copy, text, bytes);
	copy[bytes] = '\0';
	copy[strcspn(copy, "\n")] = '\0';
	code = run_line(terminal, copy, strlen(copy));
	if (code >= 0) {
		if (commands_file_to_load(load))
			run_lines(terminal, load, 0);
		return;
	}
	app_complain(APP_EXIT_USAGE, "\"%s\": %s", shown(copy),
		     code == CMDLINE_PARSE_BAD_ARGS && !words_of_command(copy) ? "wrong arguments; use" :
										 parse_error(code, copy));
	if (code == CMDLINE_PARSE_BAD_ARGS && !words_of_command(copy))
		commands_print_usage(copy, stdout);
}

static int complete_typed(struct rdline *line, const char *text, char *found, unsigned int room, int *state)
{
	return cmdline_complete(rdline_get_opaque(line), text, state, found, room);
}

/* false: the program is to end. */
static bool wait_for_key(void)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

	while (!app_is_interrupted()) {
		if (poll(&input, 1, KEY_WAIT_MS) > 0)
			return true;
	}
	return false;
}

/* Takes input byte by byte, and runs commands. Returns false at the end of the input. */
static bool handle_input(struct rdline *line)
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
		if (!app_is_interrupted())
			rdline_newline(line, PROMPT);
	}
	fflush(stdout); /* a program that reads our output may wait for the answer */
	pthread_mutex_unlock(&terminal_lock);
	return code >= 0;
}

/*
 * Sets the terminal so that keys arrive one by one and the prompt echoes them; Ctrl-C still ends the program. Returns
 * false if it is no terminal.
 */
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
	struct cmdline *terminal = cmdline_new(commands_all(), "", STDIN_FILENO, STDOUT_FILENO);
	struct rdline *line = terminal ? rdline_new(cmdline_write_char, run_typed, complete_typed, terminal) : NULL;

	commands_use(traffic);
	if (line) {
		rdline_newline(line, PROMPT);
		typed_at = taken && isatty(STDOUT_FILENO) ? line : NULL;
		while (handle_input(line))
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
