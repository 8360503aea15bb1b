/* prompt.c - commands: what dpdk-testpmd's users expect, for RC traffic */
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
#include <cmdline_parse_num.h>
#include <cmdline_parse_string.h>
#include <cmdline_rdline.h>

#include "testpmd/capture.h"
#include "testpmd/help.h"
#include "testpmd/inject.h"
#include "testpmd/meet.h"
#include "testpmd/objects.h"
#include "testpmd/paths.h"
#include "testpmd/prompt.h"
#include "testpmd/quit.h"
#include "testpmd/show.h"
#include "testpmd/words.h"

#define COMMAND_BYTES 512 /* of a line in a file */
#define LOADS_MAX 8u
#define KEY_WAIT_MS 100
#define PROMPT "uroce> "

static struct traffic *the_traffic; /* rte_cmdline gives commands no context but the terminal */
static bool load_failed;            /* a file that another one loads ended at a wrong line */

/* Input and notices take turns at the terminal. */
static pthread_mutex_t terminal_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rdline *typed_at; /* NULL: nobody types at a terminal */

struct words {
	cmdline_fixed_string_t first, second, third, fourth;
	uint16_t port;  /* 0: that of the settings */
	uint16_t bytes; /* of a frame */
	uint32_t qp_num;
};

/* The commands' output goes to the standard output, like everything else that the program prints. */
static void start_command(void *parsed, struct cmdline *terminal, void *data)
{
	(void)parsed;
	(void)terminal;
	(void)data;
	traffic_start(the_traffic);
	printf("started\n");
}

static void stop_command(void *parsed, struct cmdline *terminal, void *data)
{
	(void)parsed;
	(void)terminal;
	(void)data;
	traffic_stop(the_traffic);
	printf("stopped\n");
	show_port_stats(the_traffic, SHOW_ALL, stdout);
}

/* The port that is named, or SHOW_ALL. false: there is none of that number. */
static bool take_port(const struct words *words, const void *named, int *port)
{
	*port = named ? words->port : SHOW_ALL;
	if (named == NULL || words->port < the_traffic->port_count)
		return true;
	printf("port %u: there are 0 ... %u, or all\n", words->port, the_traffic->port_count - 1);
	return false;
}

static void show_port_command(void *parsed, struct cmdline *terminal, void *named)
{
	const struct words *words = parsed;
	int port;

	(void)terminal;
	if (!take_port(words, named, &port))
		return;
	if (strcmp(words->third, "info") == 0)
		show_port_info(the_traffic, port, stdout);
	else if (strcmp(words->third, "stats") == 0)
		show_port_stats(the_traffic, port, stdout);
	else
		show_port_xstats(the_traffic, port, stdout);
}

static void show_command(void *parsed, struct cmdline *terminal, void *data)
{
	const struct words *words = parsed;

	(void)terminal;
	(void)data;
	if (strcmp(words->second, "qp") == 0)
		show_qps(the_traffic, stdout);
	else if (strcmp(words->second, "cm") == 0)
		show_cm(the_traffic, stdout);
	else if (strcmp(words->second, "lcore") == 0)
		show_lcores(the_traffic, stdout);
	else if (strcmp(words->second, "inject") == 0)
		inject_show(stdout);
	else if (strcmp(words->second, "cq") == 0)
		objects_show_cqs(the_traffic, stdout);
	else if (strcmp(words->second, "mr") == 0)
		objects_show_mrs(the_traffic, stdout);
	else if (strcmp(words->second, "srq") == 0)
		objects_show_srqs(the_traffic, stdout);
	else if (strcmp(words->second, "path") == 0)
		paths_show(the_traffic, stdout);
	else
		settings_print(the_traffic->settings, stdout);
}

static unsigned port_of(const struct words *words)
{
	return words->port ? words->port : the_traffic->settings->tcp_port;
}

static void listen_command(void *parsed, struct cmdline *terminal, void *data)
{
	(void)terminal;
	(void)data;
	meet_listen(the_traffic, port_of(parsed));
}

static void connect_command(void *parsed, struct cmdline *terminal, void *data)
{
	const struct words *words = parsed;

	(void)terminal;
	(void)data;
	if (meet_connect(the_traffic, words->second, port_of(words)) == 0)
		printf("connected to %s\n", words->second);
}

static void disconnect_command(void *parsed, struct cmdline *terminal, void *data)
{
	(void)parsed;
	(void)terminal;
	(void)data;
	traffic_stop(the_traffic);
	printf(meet_end() == 0 ? "disconnected\n" : "there is no peer by address\n");
}

static void clear_command(void *parsed, struct cmdline *terminal, void *named)
{
	const struct words *words = parsed;
	int port;

	(void)terminal;
	if (!take_port(words, named, &port))
		return;
	show_clear(the_traffic, port, strcmp(words->third, "xstats") == 0);
	printf("cleared\n");
}

static void quit_command(void *parsed, struct cmdline *terminal, void *data)
{
	(void)parsed;
	(void)data;
	(void)terminal;
	quit_soon();
}

static void show_qp_command(void *parsed, struct cmdline *terminal, void *data)
{
	const struct words *words = parsed;

	(void)terminal;
	(void)data;
	show_qp(the_traffic, words->qp_num, stdout);
}

static void why_command(void *parsed, struct cmdline *terminal, void *data)
{
	const struct words *words = parsed;

	(void)terminal;
	(void)data;
	show_why(the_traffic, words->qp_num, stdout);
}

static void migrate_command(void *parsed, struct cmdline *terminal, void *data)
{
	const struct words *words = parsed;

	(void)terminal;
	(void)data;
	paths_migrate(the_traffic, words->qp_num);
}

/* A depth has to fit the queues that were made. */
static void set_command(void *parsed, struct cmdline *terminal, void *data)
{
	const struct words *words = parsed;
	struct settings changed = *the_traffic->settings;

	(void)terminal;
	(void)data;
	if (settings_change(&changed, words->second, words->third) != 0)
		return;
	if (changed.depth > the_traffic->depth) {
		app_complain(APP_EXIT_USAGE,
			     "depth %u: the queues have room for 1 to %u: start with a larger --tx-depth",
			     changed.depth, the_traffic->depth);
		return;
	}
	if (strcmp(words->second, "size") == 0 && traffic_resize(the_traffic, changed.size) != 0)
		return;
	*the_traffic->settings = changed;
	settings_came_from_prompt(words->second);
	printf("%s is %s\n", words->second, words->third);
}

/* "inject loss 1%", "inject cut", and both with "port 1" behind; data: a port is named. */
static void inject_command(void *parsed, struct cmdline *terminal, void *data)
{
	const struct words *words = parsed;
	uint16_t port = data ? words->port : INJECT_ALL;

	(void)terminal;
	if (inject_set(port, words->second, words->third) == 0)
		inject_show(stdout);
}

static void cut_command(void *parsed, struct cmdline *terminal, void *data)
{
	const struct words *words = parsed;

	(void)terminal;
	if (inject_cut(data ? words->port : INJECT_ALL, strcmp(words->second, "cut") == 0) == 0)
		inject_show(stdout);
}

static void inject_off_command(void *parsed, struct cmdline *terminal, void *data)
{
	(void)parsed;
	(void)terminal;
	(void)data;
	inject_none();
	inject_show(stdout);
}

/* "capture stop", "capture FILE", or with "bytes N" behind; data: they are named. */
static void capture_command(void *parsed, struct cmdline *terminal, void *data)
{
	const struct words *words = parsed;

	(void)terminal;
	if (!data && strcmp(words->second, "stop") == 0)
		capture_end(true);
	else if (data && words->bytes == 0)
		app_complain(APP_EXIT_USAGE, "bytes 0: use 1 to 65535, or leave it out for all of each frame");
	else
		capture_begin(the_traffic, words->second, data ? words->bytes : 0);
}

static void load_command(void *parsed, struct cmdline *terminal, void *data)
{
	const struct words *words = parsed;

	(void)terminal;
	(void)data;
	load_failed |= prompt_run_file(the_traffic, words->second) != APP_EXIT_OK;
}

/* data: a section is named. */
static void help_command(void *parsed, struct cmdline *terminal, void *data)
{
	const struct words *words = parsed;

	(void)terminal;
	help_print(data ? words->second : NULL, stdout);
}

static cmdline_parse_token_string_t start_word = TOKEN_STRING_INITIALIZER(struct words, first, "start");
static cmdline_parse_token_string_t stop_word = TOKEN_STRING_INITIALIZER(struct words, first, "stop");
static cmdline_parse_token_string_t quit_word = TOKEN_STRING_INITIALIZER(struct words, first, "quit");
static cmdline_parse_token_string_t help_word = TOKEN_STRING_INITIALIZER(struct words, first, "help");
static cmdline_parse_token_string_t show_word = TOKEN_STRING_INITIALIZER(struct words, first, "show");
static cmdline_parse_token_string_t clear_word = TOKEN_STRING_INITIALIZER(struct words, first, "clear");
static cmdline_parse_token_string_t shown_word =
	TOKEN_STRING_INITIALIZER(struct words, second, "qp#cq#mr#srq#path#lcore#cm#inject#config");
static cmdline_parse_token_string_t port_word = TOKEN_STRING_INITIALIZER(struct words, second, "port");
static cmdline_parse_token_string_t what_word = TOKEN_STRING_INITIALIZER(struct words, third, "info#stats#xstats");
static cmdline_parse_token_string_t stats_word = TOKEN_STRING_INITIALIZER(struct words, third, "stats#xstats");
static cmdline_parse_token_string_t sides_word = TOKEN_STRING_INITIALIZER(struct words, third, "fwd#rxtx#cores");
static cmdline_parse_token_string_t config_word = TOKEN_STRING_INITIALIZER(struct words, second, "config");
static cmdline_parse_token_string_t all_word = TOKEN_STRING_INITIALIZER(struct words, fourth, "all");

static cmdline_parse_token_string_t listen_word = TOKEN_STRING_INITIALIZER(struct words, first, "listen");
static cmdline_parse_token_string_t connect_word = TOKEN_STRING_INITIALIZER(struct words, first, "connect");
static cmdline_parse_token_string_t disconnect_word = TOKEN_STRING_INITIALIZER(struct words, first, "disconnect");
static cmdline_parse_token_string_t address_word = TOKEN_STRING_INITIALIZER(struct words, second, NULL);
static cmdline_parse_token_num_t port_number = TOKEN_NUM_INITIALIZER(struct words, port, RTE_UINT16);

static cmdline_parse_token_string_t qp_word = TOKEN_STRING_INITIALIZER(struct words, second, "qp");
static cmdline_parse_token_num_t qp_number = TOKEN_NUM_INITIALIZER(struct words, qp_num, RTE_UINT32);
static cmdline_parse_token_string_t why_word = TOKEN_STRING_INITIALIZER(struct words, first, "why");
static cmdline_parse_token_string_t migrate_word = TOKEN_STRING_INITIALIZER(struct words, first, "migrate");
static cmdline_parse_token_string_t set_word = TOKEN_STRING_INITIALIZER(struct words, first, "set");
static cmdline_parse_token_string_t setting_word =
	TOKEN_STRING_INITIALIZER(struct words, second, "size#depth#burst#mix#stats-period");
static cmdline_parse_token_string_t value_word = TOKEN_STRING_INITIALIZER(struct words, third, NULL);
static cmdline_parse_token_string_t inject_word = TOKEN_STRING_INITIALIZER(struct words, first, "inject");
static cmdline_parse_token_string_t fault_word =
	TOKEN_STRING_INITIALIZER(struct words, second, "loss#dup#reorder#corrupt");
static cmdline_parse_token_string_t cut_word = TOKEN_STRING_INITIALIZER(struct words, second, "cut#mend");
static cmdline_parse_token_string_t off_word = TOKEN_STRING_INITIALIZER(struct words, second, "off");
static cmdline_parse_token_string_t probability_word = TOKEN_STRING_INITIALIZER(struct words, third, NULL);
static cmdline_parse_token_string_t of_port_word = TOKEN_STRING_INITIALIZER(struct words, fourth, "port");
static cmdline_parse_token_string_t capture_word = TOKEN_STRING_INITIALIZER(struct words, first, "capture");
static cmdline_parse_token_string_t bytes_word = TOKEN_STRING_INITIALIZER(struct words, third, "bytes");
static cmdline_parse_token_num_t bytes_number = TOKEN_NUM_INITIALIZER(struct words, bytes, RTE_UINT16);
static cmdline_parse_token_string_t load_word = TOKEN_STRING_INITIALIZER(struct words, first, "load");
static cmdline_parse_token_string_t file_word = TOKEN_STRING_INITIALIZER(struct words, second, NULL);
static cmdline_parse_token_string_t section_word = TOKEN_STRING_INITIALIZER(struct words, second, HELP_SECTIONS);

#define COMMAND(name, function, help_text, ...) COMMAND_WITH(name, function, NULL, help_text, __VA_ARGS__)
#define NAMED ((void *)(uintptr_t)1) /* data of a command: what may be named is */
#define COMMAND_WITH(name, function, what, help_text, ...) \
	static cmdline_parse_inst_t name = {               \
		.f = function,                             \
		.data = what,                              \
		.help_str = help_text,                     \
		.tokens = { __VA_ARGS__, NULL },           \
	}

COMMAND(start, start_command, "start", (void *)&start_word);
COMMAND(stop, stop_command, "stop", (void *)&stop_word);
COMMAND(quit, quit_command, "quit", (void *)&quit_word);
COMMAND(help, help_command, "help", (void *)&help_word);
COMMAND_WITH(help_section, help_command, NAMED, "help SECTION", (void *)&help_word, (void *)&section_word);
COMMAND(show, show_command, "show qp|cq|mr|srq|path|lcore|cm|inject|config", (void *)&show_word, (void *)&shown_word);
COMMAND(show_port, show_port_command, "show port info|stats|xstats all", (void *)&show_word, (void *)&port_word,
	(void *)&what_word, (void *)&all_word);
COMMAND_WITH(show_port_one, show_port_command, NAMED, "show port info|stats|xstats N", (void *)&show_word,
	     (void *)&port_word, (void *)&what_word, (void *)&port_number);
COMMAND(show_sides, show_command, "show config fwd|rxtx|cores", (void *)&show_word, (void *)&config_word,
	(void *)&sides_word);
COMMAND(clear, clear_command, "clear port stats|xstats all", (void *)&clear_word, (void *)&port_word,
	(void *)&stats_word, (void *)&all_word);
COMMAND_WITH(clear_one, clear_command, NAMED, "clear port stats|xstats N", (void *)&clear_word, (void *)&port_word,
	     (void *)&stats_word, (void *)&port_number);

COMMAND(listen_at, listen_command, "listen PORT", (void *)&listen_word, (void *)&port_number);
COMMAND(listen_here, listen_command, "listen", (void *)&listen_word);
COMMAND(connect_port, connect_command, "connect ADDRESS PORT", (void *)&connect_word, (void *)&address_word,
	(void *)&port_number);
COMMAND(connect_address, connect_command, "connect ADDRESS", (void *)&connect_word, (void *)&address_word);
COMMAND(disconnect, disconnect_command, "disconnect", (void *)&disconnect_word);

COMMAND(show_one, show_qp_command, "show qp QPN", (void *)&show_word, (void *)&qp_word, (void *)&qp_number);
COMMAND(why, why_command, "why QPN", (void *)&why_word, (void *)&qp_number);
COMMAND(migrate, migrate_command, "migrate QPN", (void *)&migrate_word, (void *)&qp_number);
COMMAND(set, set_command, "set size|depth|burst|mix|stats-period VALUE", (void *)&set_word, (void *)&setting_word,
	(void *)&value_word);
COMMAND(inject_fault, inject_command, "inject loss|dup|reorder|corrupt P", (void *)&inject_word, (void *)&fault_word,
	(void *)&probability_word);
COMMAND_WITH(inject_fault_port, inject_command, NAMED, "inject loss|dup|reorder|corrupt P port N", (void *)&inject_word,
	     (void *)&fault_word, (void *)&probability_word, (void *)&of_port_word, (void *)&port_number);
COMMAND(inject_cable, cut_command, "inject cut|mend", (void *)&inject_word, (void *)&cut_word);
COMMAND_WITH(inject_cable_port, cut_command, NAMED, "inject cut|mend port N", (void *)&inject_word, (void *)&cut_word,
	     (void *)&of_port_word, (void *)&port_number);
COMMAND(inject_off, inject_off_command, "inject off", (void *)&inject_word, (void *)&off_word);
COMMAND(capture_file, capture_command, "capture FILE|stop", (void *)&capture_word, (void *)&file_word);
COMMAND_WITH(capture_file_bytes, capture_command, NAMED, "capture FILE bytes N", (void *)&capture_word,
	     (void *)&file_word, (void *)&bytes_word, (void *)&bytes_number);
COMMAND(load, load_command, "load FILE", (void *)&load_word, (void *)&file_word);

static cmdline_parse_ctx_t commands[] = {
	(cmdline_parse_inst_t *)&start,
	(cmdline_parse_inst_t *)&stop,
	(cmdline_parse_inst_t *)&quit,
	(cmdline_parse_inst_t *)&help,
	(cmdline_parse_inst_t *)&help_section,
	(cmdline_parse_inst_t *)&show,
	(cmdline_parse_inst_t *)&show_one,
	(cmdline_parse_inst_t *)&why,
	(cmdline_parse_inst_t *)&migrate,
	(cmdline_parse_inst_t *)&set,
	(cmdline_parse_inst_t *)&inject_fault,
	(cmdline_parse_inst_t *)&inject_fault_port,
	(cmdline_parse_inst_t *)&inject_cable,
	(cmdline_parse_inst_t *)&inject_cable_port,
	(cmdline_parse_inst_t *)&inject_off,
	(cmdline_parse_inst_t *)&capture_file,
	(cmdline_parse_inst_t *)&capture_file_bytes,
	(cmdline_parse_inst_t *)&load,
	(cmdline_parse_inst_t *)&show_port,
	(cmdline_parse_inst_t *)&show_port_one,
	(cmdline_parse_inst_t *)&show_sides,
	(cmdline_parse_inst_t *)&clear,
	(cmdline_parse_inst_t *)&clear_one,
	(cmdline_parse_inst_t *)&listen_here,
	(cmdline_parse_inst_t *)&listen_at,
	(cmdline_parse_inst_t *)&connect_address,
	(cmdline_parse_inst_t *)&connect_port,
	(cmdline_parse_inst_t *)&disconnect,
	NULL,
};

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
	the_traffic = traffic;
	terminal = cmdline_new(commands, "", STDIN_FILENO, STDOUT_FILENO);
	if (terminal) {
		loading++;
		code = run_lines(terminal, file, path);
		loading--;
		cmdline_free(terminal);
	}
	fclose(file);
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
	struct cmdline *terminal = cmdline_new(commands, "", STDIN_FILENO, STDOUT_FILENO);
	struct rdline *line = terminal ? rdline_new(cmdline_write_char, run_typed, complete_typed, terminal) : NULL;

	the_traffic = traffic;
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
