/* commands.c - the commands at the prompt: those that users of dpdk-testpmd expect, for RC traffic */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "testpmd/commands.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmdline_parse_num.h>
#include <rte_common.h>

#include "testpmd/capture.h"
#include "testpmd/help.h"
#include "testpmd/inject.h"
#include "testpmd/link.h"
#include "testpmd/meet.h"
#include "testpmd/paths.h"
#include "testpmd/show.h"

static struct traffic *the_traffic; /* rte_cmdline passes nothing to commands but the terminal */

static cmdline_fixed_string_t file_to_load; /* "": none */

void commands_use(struct traffic *traffic)
{
	the_traffic = traffic;
}

bool commands_file_to_load(cmdline_fixed_string_t path)
{
	memcpy(path, file_to_load, sizeof(file_to_load));
	file_to_load[0] = '\0';
	return path[0] != '\0';
}

/* What was typed. */
struct words {
	cmdline_fixed_string_t first, second, third, fourth;
	uint16_t number; /* N or PORT; 0: none was typed */
	uint32_t qp_num;
	bool has_n; /* N was typed */
};

/* Output of commands goes to standard output, like everything else that the program prints. */
static void start_command(const struct words *words)
{
	(void)words;
	traffic_start(the_traffic);
	printf("started\n");
}

static void stop_command(const struct words *words)
{
	(void)words;
	traffic_stop(the_traffic);
	printf("stopped\n");
	show_port_stats(the_traffic, SHOW_ALL);
}

/* Finds the port that is named, or SHOW_ALL. Returns false if there is no such port. */
static bool parse_port(const struct words *words, int *port)
{
	*port = words->has_n ? words->number : SHOW_ALL;
	if (*port == SHOW_ALL || words->number < the_traffic->port_count)
		return true;
	printf("port %u: use a port from 0 to %u, or all\n", words->number, the_traffic->port_count - 1);
	return false;
}

static void show_port_command(const struct words *words)
{
	int port;

	if (!parse_port(words, &port))
		return;
	if (strcmp(words->third, "info") == 0)
		show_port_info(the_traffic, port);
	else if (strcmp(words->third, "stats") == 0)
		show_port_stats(the_traffic, port);
	else
		show_port_xstats(the_traffic, port);
}

static void show_command(const struct words *words)
{
	static const struct {
		const char *word;
		void (*show)(struct traffic *traffic);
	} tables[] = {
		{ "qp", show_qps }, { "cm", show_cm },    { "lcore", show_lcores }, { "cq", show_cqs },
		{ "mr", show_mrs }, { "srq", show_srqs }, { "path", paths_show },
	};

	for (size_t i = 0; i < RTE_DIM(tables); i++) {
		if (strcmp(words->second, tables[i].word) == 0)
			tables[i].show(the_traffic);
	}
	if (strcmp(words->second, "inject") == 0)
		inject_show();
	else if (strcmp(words->second, "config") == 0)
		settings_print(the_traffic->settings);
}

static void port_command(const struct words *words)
{
	int port;

	if (!parse_port(words, &port))
		return;
	for (unsigned i = 0; i < the_traffic->port_count; i++) {
		if (port == SHOW_ALL || i == (unsigned)port)
			link_set(the_traffic, i, strcmp(words->second, "start") == 0);
	}
}

static unsigned port_of(const struct words *words)
{
	return words->number ? words->number : the_traffic->settings->tcp_port;
}

static void listen_command(const struct words *words)
{
	meet_listen(the_traffic, port_of(words));
}

static void connect_command(const struct words *words)
{
	if (meet_connect(the_traffic, words->second, port_of(words)) == 0)
		printf("connected to %s\n", words->second);
}

static void disconnect_command(const struct words *words)
{
	(void)words;
	traffic_stop(the_traffic);
	printf(meet_end() == 0 ? "disconnected\n" : "no peer is connected by address\n");
}

static void clear_command(const struct words *words)
{
	int port;

	if (!parse_port(words, &port))
		return;
	show_clear(the_traffic, port, strcmp(words->third, "xstats") == 0);
	printf("cleared\n");
}

static void quit_command(const struct words *words)
{
	(void)words;
	app_stop();
}

/* A depth must not exceed that of the existing queues. */
static void set_command(const struct words *words)
{
	struct settings changed = *the_traffic->settings;

	if (settings_change(&changed, words->second, words->third) != 0)
		return;
	if (changed.depth > the_traffic->depth) {
		app_complain(APP_EXIT_USAGE, "tx-depth %u: use 1 to %u, or restart with a larger --tx-depth",
			     changed.depth, the_traffic->depth);
		return;
	}
	if (strcmp(words->second, "size") == 0 && traffic_resize(the_traffic, changed.size) != 0)
		return;
	*the_traffic->settings = changed;
	settings_came_from_prompt(words->second);
	printf("%s is %s\n", words->second, words->third);
}

static uint16_t faulty_port(const struct words *words)
{
	return words->has_n ? words->number : INJECT_ALL;
}

static void inject_command(const struct words *words)
{
	if (inject_set(faulty_port(words), words->second, words->third) == 0)
		inject_show();
}

static void cut_command(const struct words *words)
{
	if (inject_cut(faulty_port(words), strcmp(words->second, "cut") == 0) == 0)
		inject_show();
}

static void inject_off_command(const struct words *words)
{
	(void)words;
	inject_none();
	inject_show();
}

static void capture_command(const struct words *words)
{
	if (!words->has_n && strcmp(words->second, "stop") == 0)
		capture_end(true);
	else if (words->has_n && words->number == 0)
		app_complain(APP_EXIT_USAGE, "bytes 0: use 1 to 65535, or omit it to capture whole frames");
	else
		capture_begin(the_traffic, words->second, words->number);
}

static void load_command(const struct words *words)
{
	snprintf(file_to_load, sizeof(file_to_load), "%s", words->second);
}

/* The file gives the same session: faults that were injected at the prompt are not settings. */
static void save_command(const struct words *words)
{
	if (settings_save(the_traffic->settings, words->third) == 0)
		printf("settings saved in %s; to use them, run uroce-testpmd --config %s\n", words->third,
		       words->third);
}

static void help_command(const struct words *words)
{
	help_print(words->second[0] ? words->second : NULL, stdout);
}

/*
 * A row for each command, as help shows it. A word in small letters is typed as it is; of several words with bars
 * between them one is typed; a word in capitals stands for a value.
 */
static const struct command {
	const char *text;
	void (*run)(const struct words *words);
	void (*run_for)(struct traffic *traffic, uint32_t qp_num); /* in the place of run, with QPN */
} commands[] = {
	{ "start", start_command },
	{ "stop", stop_command },
	{ "quit", quit_command },
	{ "help", help_command },
	{ "help SECTION", help_command },
	{ "show qp|cq|mr|srq|path|lcore|cm|inject|config", show_command },
	{ "show qp QPN", .run_for = show_qp },
	{ "why QPN", .run_for = show_why },
	{ "migrate QPN", .run_for = paths_migrate },
	{ "set size|tx-depth|burst|mix|stats-period|verbose VALUE", set_command },
	{ "inject loss|dup|reorder|corrupt P", inject_command },
	{ "inject loss|dup|reorder|corrupt P port N", inject_command },
	{ "inject cut|mend", cut_command },
	{ "inject cut|mend port N", cut_command },
	{ "inject off", inject_off_command },
	{ "capture FILE|stop", capture_command },
	{ "capture FILE bytes N", capture_command },
	{ "load FILE", load_command },
	{ "save config FILE", save_command },
	{ "show port info|stats|xstats all", show_port_command },
	{ "show port info|stats|xstats N", show_port_command },
	{ "show config fwd|rxtx|cores", show_command },
	{ "clear port stats|xstats all", clear_command },
	{ "clear port stats|xstats N", clear_command },
	{ "port stop|start all", port_command },
	{ "port stop|start N", port_command },
	{ "listen", listen_command },
	{ "listen PORT", listen_command },
	{ "connect ADDRESS", connect_command },
	{ "connect ADDRESS PORT", connect_command },
	{ "disconnect", disconnect_command },
};

#define WORDS_MAX 5u

static void run(void *parsed, struct cmdline *terminal, void *row)
{
	const struct command *command = row;
	struct words *words = parsed;
	const char *last = strrchr(command->text, ' ');

	(void)terminal;
	words->has_n = last && strcmp(last, " N") == 0;
	if (command->run)
		command->run(words);
	else
		command->run_for(the_traffic, words->qp_num);
}

/* A word of a command, as rte_cmdline has it. */
union token {
	struct cmdline_token_hdr begin;
	cmdline_parse_token_string_t string;
	cmdline_parse_token_num_t number;
};

/* word: such as "cut#mend" or "VALUE"; index: number of the word in its command. */
static union token token_of(const char *word, unsigned index)
{
	if (strcmp(word, "N") == 0 || strcmp(word, "PORT") == 0)
		return (union token){ .number = TOKEN_NUM_INITIALIZER(struct words, number, RTE_UINT16) };
	if (strcmp(word, "QPN") == 0)
		return (union token){ .number = TOKEN_NUM_INITIALIZER(struct words, qp_num, RTE_UINT32) };
	if (strcmp(word, "SECTION") == 0)
		word = HELP_SECTIONS;
	else if (isupper((unsigned char)*word))
		word = NULL; /* anything */
	return (union token){ .string = { { &cmdline_token_string_ops, index * sizeof(cmdline_fixed_string_t) },
					  { word } } };
}

/* Makes a command of rte_cmdline from a row; the command is never freed. NULL: no memory. */
static cmdline_parse_inst_t *instance_of(const struct command *command)
{
	union token *tokens = calloc(WORDS_MAX, sizeof(*tokens));
	cmdline_parse_inst_t *inst = calloc(1, sizeof(*inst) + (WORDS_MAX + 1) * sizeof(inst->tokens[0]));
	char *text = strdup(command->text), *rest, *word;

	if (tokens == NULL || inst == NULL || text == NULL)
		return NULL;
	for (char *bar = text; (bar = strchr(bar, '|')) != NULL;)
		*bar = '#';
	word = strtok_r(text, " ", &rest);
	for (unsigned i = 0; word; i++, word = strtok_r(NULL, " ", &rest)) {
		tokens[i] = token_of(word, i);
		inst->tokens[i] = &tokens[i].begin;
	}
	inst->f = run;
	inst->data = (void *)(uintptr_t)command;
	inst->help_str = command->text;
	return inst;
}

cmdline_parse_ctx_t *commands_all(void)
{
	static cmdline_parse_ctx_t all[RTE_DIM(commands) + 1];

	for (size_t i = 0; i < RTE_DIM(commands) && all[i] == NULL; i++)
		all[i] = instance_of(&commands[i]);
	return all;
}
