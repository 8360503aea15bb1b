/* commands.c - the commands at the prompt: those that users of dpdk-testpmd expect, for RC traffic */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "testpmd/commands.h"

#include <stdio.h>
#include <string.h>

#include <cmdline_parse_num.h>
#include <cmdline_parse_string.h>

#include "testpmd/capture.h"
#include "testpmd/help.h"
#include "testpmd/inject.h"
#include "testpmd/link.h"
#include "testpmd/meet.h"
#include "testpmd/objects.h"
#include "testpmd/paths.h"
#include "testpmd/quit.h"
#include "testpmd/show.h"

static struct traffic *the_traffic; /* rte_cmdline passes nothing to commands but the terminal */

static cmdline_fixed_string_t file_to_load; /* "": none */

void commands_use(struct traffic *traffic)
{
	the_traffic = traffic;
}

const char *commands_file_to_load(void)
{
	static cmdline_fixed_string_t path;

	if (file_to_load[0] == '\0')
		return NULL;
	snprintf(path, sizeof(path), "%s", file_to_load);
	file_to_load[0] = '\0';
	return path;
}

struct words {
	cmdline_fixed_string_t first, second, third, fourth;
	uint16_t port;  /* 0: the port of the settings */
	uint16_t bytes; /* bytes to keep of each frame */
	uint32_t qp_num;
};

/* Output of commands goes to standard output, like everything else that the program prints. */
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

/* Finds the port that is named, or SHOW_ALL. false: there is no such port. */
static bool parse_port(const struct words *words, const void *named, int *port)
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
	if (!parse_port(words, named, &port))
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

static void port_command(void *parsed, struct cmdline *terminal, void *named)
{
	const struct words *words = parsed;
	int port;

	(void)terminal;
	if (!parse_port(words, named, &port))
		return;
	for (unsigned i = 0; i < the_traffic->port_count; i++) {
		if (port == SHOW_ALL || i == (unsigned)port)
			link_set(the_traffic, i, strcmp(words->second, "start") == 0);
	}
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
	if (!parse_port(words, named, &port))
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

/* A depth must not exceed that of the existing queues. */
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

/* "inject loss 1%" and "inject cut", also with "port 1" behind; data: whether a port is named. */
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

/* "capture stop" and "capture FILE", also with "bytes N" behind; data: which of these are named. */
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
	snprintf(file_to_load, sizeof(file_to_load), "%s", words->second);
}

/* data: whether a section is named. */
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

static cmdline_parse_token_string_t a_port_word = TOKEN_STRING_INITIALIZER(struct words, first, "port");
static cmdline_parse_token_string_t running_word = TOKEN_STRING_INITIALIZER(struct words, second, "stop#start");
static cmdline_parse_token_string_t all_ports_word = TOKEN_STRING_INITIALIZER(struct words, third, "all");

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
	TOKEN_STRING_INITIALIZER(struct words, second, "size#depth#burst#mix#stats-period#verbose");
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
#define NAMED ((void *)(uintptr_t)1) /* data of a command in which the optional word is there */
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

COMMAND(port, port_command, "port stop|start all", (void *)&a_port_word, (void *)&running_word,
	(void *)&all_ports_word);
COMMAND_WITH(port_one, port_command, NAMED, "port stop|start N", (void *)&a_port_word, (void *)&running_word,
	     (void *)&port_number);

COMMAND(listen_at, listen_command, "listen PORT", (void *)&listen_word, (void *)&port_number);
COMMAND(listen_here, listen_command, "listen", (void *)&listen_word);
COMMAND(connect_port, connect_command, "connect ADDRESS PORT", (void *)&connect_word, (void *)&address_word,
	(void *)&port_number);
COMMAND(connect_address, connect_command, "connect ADDRESS", (void *)&connect_word, (void *)&address_word);
COMMAND(disconnect, disconnect_command, "disconnect", (void *)&disconnect_word);

COMMAND(show_one, show_qp_command, "show qp QPN", (void *)&show_word, (void *)&qp_word, (void *)&qp_number);
COMMAND(why, why_command, "why QPN", (void *)&why_word, (void *)&qp_number);
COMMAND(migrate, migrate_command, "migrate QPN", (void *)&migrate_word, (void *)&qp_number);
COMMAND(set, set_command, "set size|depth|burst|mix|stats-period|verbose VALUE", (void *)&set_word,
	(void *)&setting_word, (void *)&value_word);
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

cmdline_parse_ctx_t commands_all[] = {
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
	(cmdline_parse_inst_t *)&port,
	(cmdline_parse_inst_t *)&port_one,
	(cmdline_parse_inst_t *)&listen_here,
	(cmdline_parse_inst_t *)&listen_at,
	(cmdline_parse_inst_t *)&connect_address,
	(cmdline_parse_inst_t *)&connect_port,
	(cmdline_parse_inst_t *)&disconnect,
	NULL,
};
