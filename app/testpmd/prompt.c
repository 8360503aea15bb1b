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
#include "testpmd/help.h"
#include "testpmd/prompt.h"
#include "testpmd/quit.h"
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

/* The files whose lines are being run: each but the first was loaded by a line of the one before it. */
struct loaded {
	struct file {
		FILE *lines;
		char path[SETTINGS_TEXT_BYTES];
		unsigned number; /* of the line that runs */
	} files[LOADS_MAX];
	unsigned count;
};

/* Returns APP_EXIT_OK, or the exit code after a complaint. */
static int begin_file(struct loaded *loaded, const char *path)
{
	FILE *lines = app_is_readable(path) ? fopen(path, "r") : NULL;
	struct file *file = &loaded->files[loaded->count];

	if (lines == NULL)
		return app_complain(APP_EXIT_ENVIRONMENT, "%s: %s", path, strerror(errno));
	if (loaded->count == LOADS_MAX) {
		fclose(lines);
		return app_complain(APP_EXIT_USAGE, "%s: files load each other more than %u levels deep", path,
				    LOADS_MAX);
	}
	file->lines = lines;
	file->number = 0;
	snprintf(file->path, sizeof(file->path), "%s", path);
	loaded->count++;
	return APP_EXIT_OK;
}

static void end_file(struct loaded *loaded)
{
	fclose(loaded->files[--loaded->count].lines);
}

/* Runs a line of the last file, and begins the file that it loads. Returns APP_EXIT_OK, or the code of a complaint. */
static int run_line_of(struct loaded *loaded, struct cmdline *terminal, char *line, size_t bytes)
{
	struct file *file = &loaded->files[loaded->count - 1];
	const char *path;
	int code;

	file->number++;
	code = run_line(terminal, line, bytes);
	if (code < 0)
		return app_complain(APP_EXIT_USAGE, "%s:%u: \"%s\": %s", file->path, file->number, shown(line),
				    parse_error(code, line));
	path = commands_file_to_load();
	return path ? begin_file(loaded, path) : APP_EXIT_OK;
}

/*
 * Runs lines one by one, so that a wrong one can be named. A wrong line ends its file, and the files that have loaded
 * it.
 */
static int run_lines(struct loaded *loaded, struct cmdline *terminal)
{
	char *line = NULL;
	size_t room = 0;
	int code = APP_EXIT_OK;

	while (code == APP_EXIT_OK && !quit_is_wanted() && loaded->count) {
		ssize_t bytes = getline(&line, &room, loaded->files[loaded->count - 1].lines);

		if (bytes < 0)
			end_file(loaded);
		else
			code = run_line_of(loaded, terminal, line, (size_t)bytes);
	}
	free(line);
	return code == APP_EXIT_OK ? APP_EXIT_OK : APP_EXIT_USAGE;
}

static int run_file(const char *path)
{
	struct loaded loaded = { .count = 0 };
	int code = begin_file(&loaded, path);
	struct cmdline *terminal;

	if (code != APP_EXIT_OK)
		return code;
	terminal = cmdline_new(commands_all(), "", STDIN_FILENO, STDOUT_FILENO);
	code = terminal ? run_lines(&loaded, terminal) : APP_EXIT_INTERNAL;
	if (terminal)
		cmdline_free(terminal);
	while (loaded.count)
		end_file(&loaded);
	return code;
}

int prompt_run_file(struct traffic *traffic, const char *path)
{
	commands_use(traffic);
	return run_file(path);
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
	char copy[COMMAND_BYTES];
	const char *path;
	int code;

	if (bytes >= sizeof(copy))
		bytes = sizeof(copy) - 1;
	memcpy(copy, text, bytes);
	copy[bytes] = '\0';
	copy[strcspn(copy, "\n")] = '\0';
	code = run_line(rdline_get_opaque(line), copy, strlen(copy));
	if (code >= 0) {
		path = commands_file_to_load();
		if (path)
			run_file(path);
		return;
	}
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

/* false: the program is to end. */
static bool wait_for_key(void)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

	while (!quit_is_wanted()) {
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
		if (!quit_is_wanted())
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
