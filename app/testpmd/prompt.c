/* prompt.c - commands: what dpdk-testpmd's users expect, for RC traffic */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <cmdline.h>
#include <cmdline_parse.h>
#include <cmdline_parse_num.h>
#include <cmdline_parse_string.h>
#include <cmdline_rdline.h>
#include <cmdline_socket.h>

#include "testpmd/meet.h"
#include "testpmd/prompt.h"
#include "testpmd/show.h"

static struct traffic *the_traffic; /* rte_cmdline gives commands no context but the terminal */
static bool quit_wanted;

struct words {
	cmdline_fixed_string_t first, second, third, fourth;
	uint16_t port; /* 0: that of the settings */
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
	show_port_stats(the_traffic, stdout);
}

static void show_port_command(void *parsed, struct cmdline *terminal, void *data)
{
	const struct words *words = parsed;

	(void)terminal;
	(void)data;
	if (strcmp(words->third, "info") == 0)
		show_port_info(the_traffic, stdout);
	else
		show_port_stats(the_traffic, stdout);
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

static void clear_command(void *parsed, struct cmdline *terminal, void *data)
{
	(void)parsed;
	(void)terminal;
	(void)data;
	show_clear(the_traffic);
	printf("cleared\n");
}

static void quit_command(void *parsed, struct cmdline *terminal, void *data)
{
	(void)parsed;
	(void)data;
	quit_wanted = true;
	cmdline_quit(terminal);
}

static void help_command(void *parsed, struct cmdline *terminal, void *data)
{
	(void)parsed;
	(void)terminal;
	(void)data;
	printf("start                       post requests\n"
	       "stop                        post no more, wait for what is outstanding, print statistics\n"
	       "show port info|stats all    the ports; their counters since the last clear\n"
	       "show qp                     the queue pairs\n"
	       "show cm                     connections by address, now and in all\n"
	       "listen [PORT]               serve peers that connect by address, one at a time\n"
	       "connect ADDRESS [PORT]      queue pairs to a peer that listens; then start\n"
	       "disconnect                  stop, and leave the peer, or serve none any more\n"
	       "show config                 all settings and where they come from\n"
	       "clear port stats all        count from here\n"
	       "help                        this text\n"
	       "quit                        end, with final statistics\n");
}

static cmdline_parse_token_string_t start_word = TOKEN_STRING_INITIALIZER(struct words, first, "start");
static cmdline_parse_token_string_t stop_word = TOKEN_STRING_INITIALIZER(struct words, first, "stop");
static cmdline_parse_token_string_t quit_word = TOKEN_STRING_INITIALIZER(struct words, first, "quit");
static cmdline_parse_token_string_t help_word = TOKEN_STRING_INITIALIZER(struct words, first, "help");
static cmdline_parse_token_string_t show_word = TOKEN_STRING_INITIALIZER(struct words, first, "show");
static cmdline_parse_token_string_t clear_word = TOKEN_STRING_INITIALIZER(struct words, first, "clear");
static cmdline_parse_token_string_t shown_word = TOKEN_STRING_INITIALIZER(struct words, second, "qp#cm#config");
static cmdline_parse_token_string_t port_word = TOKEN_STRING_INITIALIZER(struct words, second, "port");
static cmdline_parse_token_string_t what_word = TOKEN_STRING_INITIALIZER(struct words, third, "info#stats");
static cmdline_parse_token_string_t stats_word = TOKEN_STRING_INITIALIZER(struct words, third, "stats");
static cmdline_parse_token_string_t all_word = TOKEN_STRING_INITIALIZER(struct words, fourth, "all");

static cmdline_parse_token_string_t listen_word = TOKEN_STRING_INITIALIZER(struct words, first, "listen");
static cmdline_parse_token_string_t connect_word = TOKEN_STRING_INITIALIZER(struct words, first, "connect");
static cmdline_parse_token_string_t disconnect_word = TOKEN_STRING_INITIALIZER(struct words, first, "disconnect");
static cmdline_parse_token_string_t address_word = TOKEN_STRING_INITIALIZER(struct words, second, NULL);
static cmdline_parse_token_num_t port_number = TOKEN_NUM_INITIALIZER(struct words, port, RTE_UINT16);

#define COMMAND(name, function, help_text, ...)  \
	static cmdline_parse_inst_t name = {     \
		.f = function,                   \
		.help_str = help_text,           \
		.tokens = { __VA_ARGS__, NULL }, \
	}

COMMAND(start, start_command, "start", (void *)&start_word);
COMMAND(stop, stop_command, "stop", (void *)&stop_word);
COMMAND(quit, quit_command, "quit", (void *)&quit_word);
COMMAND(help, help_command, "help", (void *)&help_word);
COMMAND(show, show_command, "show qp|cm|config", (void *)&show_word, (void *)&shown_word);
COMMAND(show_port, show_port_command, "show port info|stats all", (void *)&show_word, (void *)&port_word,
	(void *)&what_word, (void *)&all_word);
COMMAND(clear, clear_command, "clear port stats all", (void *)&clear_word, (void *)&port_word, (void *)&stats_word,
	(void *)&all_word);

COMMAND(listen_at, listen_command, "listen PORT", (void *)&listen_word, (void *)&port_number);
COMMAND(listen_here, listen_command, "listen", (void *)&listen_word);
COMMAND(connect_port, connect_command, "connect ADDRESS PORT", (void *)&connect_word, (void *)&address_word,
	(void *)&port_number);
COMMAND(connect_address, connect_command, "connect ADDRESS", (void *)&connect_word, (void *)&address_word);
COMMAND(disconnect, disconnect_command, "disconnect", (void *)&disconnect_word);

static cmdline_parse_ctx_t commands[] = {
	(cmdline_parse_inst_t *)&start,
	(cmdline_parse_inst_t *)&stop,
	(cmdline_parse_inst_t *)&quit,
	(cmdline_parse_inst_t *)&help,
	(cmdline_parse_inst_t *)&show,
	(cmdline_parse_inst_t *)&show_port,
	(cmdline_parse_inst_t *)&clear,
	(cmdline_parse_inst_t *)&listen_here,
	(cmdline_parse_inst_t *)&listen_at,
	(cmdline_parse_inst_t *)&connect_address,
	(cmdline_parse_inst_t *)&connect_port,
	(cmdline_parse_inst_t *)&disconnect,
	NULL,
};

bool prompt_quit_wanted(void)
{
	return quit_wanted;
}

int prompt_run_file(struct traffic *traffic, const char *path)
{
	int fd = app_is_readable(path) ? open(path, O_RDONLY) : -1;
	struct cmdline *terminal;

	if (fd < 0) {
		app_complain(APP_EXIT_ENVIRONMENT, "--cmdline-file %s: %s", path, strerror(errno));
		return -1;
	}
	the_traffic = traffic;
	fflush(stdout);
	terminal = cmdline_new(commands, "", fd, STDOUT_FILENO);
	if (terminal) {
		setvbuf(stdout, NULL, _IOLBF, 0);
		cmdline_interact(terminal);
		cmdline_free(terminal);
	}
	close(fd);
	return terminal ? 0 : -1;
}

void prompt_interact(struct traffic *traffic)
{
	struct cmdline *terminal;

	the_traffic = traffic;
	setvbuf(stdout, NULL, _IOLBF, 0);
	terminal = cmdline_stdin_new(commands, "uroce> ");
	if (terminal == NULL)
		return;
	cmdline_interact(terminal);
	cmdline_stdin_exit(terminal);
}
