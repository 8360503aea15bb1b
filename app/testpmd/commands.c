/* commands.c - the commands at the prompt: those that users of dpdk-testpmd expect, for RC traffic */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "testpmd/commands.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmdline_parse_num.h>
#include <rte_common.h>

#include "common/option_help.h"
#include "testpmd/capture.h"
#include "testpmd/inject.h"
#include "testpmd/link.h"
#include "testpmd/meet.h"
#include "testpmd/paths.h"
#include "testpmd/show.h"

#define SECTIONS "traffic#show#faults#capture#peers#prompt" /* of help, as a token of rte_cmdline */
#define HELP_COLUMN 28u
#define WORDS_MAX 5u

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
	bool has_n; /* N was typed, or what else the brackets of a row have */
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

static void help_command(const struct words *words);

/*
 * A row for each command, in the order of help. A word in small letters is typed as it is; of several words with bars
 * between them one is typed; a word in capitals stands for a value. Words in brackets, at the end, may be left out. In
 * the help, a tab is a blank at which no line may end.
 */
static const struct command {
	const char *section, *text;
	const char *help; /* NULL: each setting has its own */
	void (*run)(const struct words *words);
	void (*run_for)(struct traffic *traffic, uint32_t qp_num); /* with QPN */
} commands[] = {
	{ "traffic", "start", "post requests on all queue pairs", start_command },
	{ "traffic", "stop", "stop posting, wait up to 2 s for outstanding requests, print statistics", stop_command },
	{ "traffic", "migrate QPN", "move a queue pair to its other path, between the ports' second addresses",
	  .run_for = paths_migrate },
	{ "traffic", "clear port stats|xstats all|N",
	  "count from here on, for all ports or port N (0 or 1); xstats: in the driver", clear_command },
	{ "traffic", "set size|tx-depth|burst|mix|stats-period|verbose VALUE", NULL, set_command },

	{ "show", "show port info|stats|xstats all|N",
	  "properties of all ports, or of port N (0 or 1); counters since the last clear, without zeros; all counters, "
	  "with those of the driver",
	  show_port_command },
	{ "show", "show qp [QPN]", "all queue pairs in a table; one of them in full", show_command, show_qp },
	{ "show", "show cq|mr|srq", "completion queues, memory regions, shared receive queues", show_command },
	{ "show", "show path", "the path of each queue pair, and its alternate path", show_command },
	{ "show", "show lcore", "load of the lcores since the last show lcore", show_command },
	{ "show", "show cm", "connections made by address: number and counters", show_command },
	{ "show", "show config [fwd|rxtx|cores]", "all settings and the source of each", show_command },
	{ "show", "why QPN", "why a queue pair is in ERR or makes no progress, and what to check",
	  .run_for = show_why },

	{ "faults", "inject loss|dup|reorder|corrupt P [port N]",
	  "lose, duplicate, delay or corrupt (one bit) received frames with probability P "
	  "(0\t...\t1, or 0%\t...\t100%; default 0); N is 0 or 1 (default: all ports)",
	  inject_command },
	{ "faults", "inject cut|mend [port N]", "drop all received frames (cable pulled); mend: end this",
	  cut_command },
	{ "faults", "inject off", "end all faults", inject_off_command },
	{ "faults", "port stop|start all|N",
	  "set the link of all ports, or of port N (0 or 1), down, and drop received frames; start: set the link up "
	  "again",
	  port_command },
	{ "faults", "show inject", "active faults and the number of frames they affected", show_command },

	{ "capture", "capture FILE [bytes N]",
	  "write the frames of all ports to a pcapng file, at most N bytes of each (1\t...\t65535; default: all bytes)",
	  capture_command },
	/* for rte_cmdline, "stop" is a FILE */
	{ "capture", "capture stop", "stop the capture and print the number of frames in the file" },

	{ "peers", "listen [PORT]",
	  "serve peers that connect by address, one at a time (1\t...\t65535; default: the value of --port, 18516)",
	  listen_command },
	{ "peers", "connect ADDRESS [PORT]", "connect queue pairs to a peer that listens; then \"start\"",
	  connect_command },
	{ "peers", "disconnect", "stop traffic, disconnect the peer; or stop listening", disconnect_command },

	{ "prompt", "save config FILE", "write all settings that differ from the defaults to an INI file for --config",
	  save_command },
	{ "prompt", "load FILE", "run the commands in a file; # begins a comment", load_command },
	{ "prompt", "help [SECTION]",
	  "all commands, or those of one section: traffic, show, faults, capture, peers or prompt", help_command },
	{ "prompt", "quit", "stop, print final statistics and end", quit_command },
};

/* ---- help ---- */

/* setting: the one that is meant with "set"; NULL: all. */
static void print_help(FILE *out, unsigned indent, const struct command *command, const char *setting)
{
	if (command->help)
		app_option_print_wrapped(out, (unsigned)fprintf(out, "%*s%s", (int)indent, "", command->text),
					 indent + HELP_COLUMN, command->help);
	else
		settings_print_changes(out, indent, indent + HELP_COLUMN, setting);
}

static void help_command(const struct words *words)
{
	for (size_t i = 0; i < RTE_DIM(commands); i++) {
		if (words->second[0] == '\0' || strcmp(words->second, commands[i].section) == 0)
			print_help(stdout, 0, &commands[i], NULL);
	}
}

/* Is the word one of the choices between bars, such as "loss|dup|reorder"? */
static bool is_among(const char *word, char *choices)
{
	const char *choice;

	while ((choice = strsep(&choices, "|")) != NULL && strcmp(choice, word) != 0)
		;
	return choice != NULL;
}

/* Returns how many of the first two words of a command were typed. */
static unsigned count_same(const char *typed, const char *text)
{
	char words[2][64] = { "" }, choices[2][64] = { "" };
	unsigned same = 0;

	sscanf(typed, "%63s %63s", words[0], words[1]);
	sscanf(text, "%63s %63s", choices[0], choices[1]);
	while (same < 2 && words[same][0] && is_among(words[same], choices[same]))
		same++;
	return same;
}

void commands_print_usage(const char *line, FILE *out)
{
	char setting[64] = "";
	unsigned most = 0;

	sscanf(line, "%*s %63s", setting);
	for (size_t i = 0; i < RTE_DIM(commands); i++)
		most = RTE_MAX(most, count_same(line, commands[i].text));
	for (size_t i = 0; i < RTE_DIM(commands); i++) {
		if (most && count_same(line, commands[i].text) == most)
			print_help(out, 2, &commands[i], most == 2 ? setting : NULL);
	}
}

/* ---- commands for rte_cmdline ---- */

/* A word of a command, as rte_cmdline has it. */
union token {
	struct cmdline_token_hdr begin;
	cmdline_parse_token_string_t string;
	cmdline_parse_token_num_t number;
};

/* A form of a row. */
struct form {
	const struct command *command;
	bool is_long;
	union token tokens[WORDS_MAX];
	cmdline_parse_inst_t inst; /* the last member: it ends in an array */
};

static void run(void *parsed, struct cmdline *terminal, void *data)
{
	const struct form *form = data;
	struct words *words = parsed;

	(void)terminal;
	words->has_n = form->is_long;
	if (form->command->run_for && (form->is_long || form->command->run == NULL))
		form->command->run_for(the_traffic, words->qp_num);
	else
		form->command->run(words);
}

/* word: such as "cut#mend" or "VALUE"; index: number of the word in its command. */
static union token token_of(const char *word, unsigned index)
{
	if (strcmp(word, "N") == 0 || strcmp(word, "PORT") == 0)
		return (union token){ .number = TOKEN_NUM_INITIALIZER(struct words, number, RTE_UINT16) };
	if (strcmp(word, "QPN") == 0)
		return (union token){ .number = TOKEN_NUM_INITIALIZER(struct words, qp_num, RTE_UINT32) };
	if (strcmp(word, "SECTION") == 0)
		word = SECTIONS;
	else if (isupper((unsigned char)*word))
		word = NULL; /* anything */
	return (union token){ .string = { { &cmdline_token_string_ops, index * sizeof(cmdline_fixed_string_t) },
					  { word } } };
}

/*
 * Makes a command of rte_cmdline, which is never freed. is_long: with the words in brackets, and with N of "all|N".
 * Returns NULL without memory.
 */
static cmdline_parse_inst_t *instance_of(const struct command *command, bool is_long)
{
	struct form *form = calloc(1, sizeof(*form) + (WORDS_MAX + 1) * sizeof(form->inst.tokens[0]));
	char *text = strdup(command->text), *rest, *word;

	if (form == NULL || text == NULL)
		return NULL;
	if (!is_long)
		text[strcspn(text, "[")] = '\0';
	for (char *bar = text; (bar = strchr(bar, '|')) != NULL;)
		*bar = '#';
	word = strtok_r(text, " []", &rest);
	for (unsigned i = 0; word; i++, word = strtok_r(NULL, " []", &rest)) {
		form->tokens[i] = token_of(strcmp(word, "all#N") != 0 ? word : is_long ? "N" : "all", i);
		form->inst.tokens[i] = &form->tokens[i].begin;
	}
	form->command = command;
	form->is_long = is_long;
	form->inst.f = run;
	form->inst.data = form;
	form->inst.help_str = command->text;
	return &form->inst;
}

cmdline_parse_ctx_t *commands_all(void)
{
	static cmdline_parse_ctx_t all[2 * RTE_DIM(commands) + 1];
	size_t count = 0;

	for (size_t i = 0; i < RTE_DIM(commands) && all[count] == NULL; i++) {
		const struct command *command = &commands[i];

		if (command->run || command->run_for)
			all[count++] = instance_of(command, false);
		if (strchr(command->text, '[') || strstr(command->text, "all|N"))
			all[count++] = instance_of(command, true);
	}
	return all;
}
