/* help.c - the text of "help" */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "testpmd/help.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "testpmd/settings.h"

static const struct section {
	const char *name, *lines;
	void (*print_more)(FILE *out); /* prints further lines, made from a table; or NULL */
} sections[] = {
	{ "traffic",
	  "start                       post requests on all queue pairs\n"
	  "stop                        stop posting, wait up to 2 s for outstanding requests, print statistics\n"
	  "migrate QPN                 move a queue pair to its other path, between the ports' second addresses\n"
	  "clear port stats|xstats all|N\n"
	  "                            count from here on, for all ports or port N (0 or 1); xstats: in the driver\n",
	  settings_print_changes },
	{ "show",
	  "show port info|stats|xstats all|N\n"
	  "                            properties of all ports, or of port N (0 or 1); counters since the last "
	  "clear,\n"
	  "                            without zeros; all counters, with those of the driver\n"
	  "show qp [QPN]               all queue pairs in a table; one of them in full\n"
	  "show cq|mr|srq              completion queues, memory regions, shared receive queues\n"
	  "show path                   the path of each queue pair, and its alternate path\n"
	  "show lcore                  load of the lcores since the last show lcore\n"
	  "show cm                     connections made by address: number and counters\n"
	  "show config [fwd|rxtx|cores]\n"
	  "                            all settings and the source of each\n"
	  "why QPN                     why a queue pair is in ERR or makes no progress, and what to check\n",
	  NULL },
	{ "faults",
	  "inject loss|dup|reorder|corrupt P [port N]\n"
	  "                            lose, duplicate, delay or corrupt (one bit) received frames\n"
	  "                            with probability P (0 ... 1, or 0% ... 100%; default 0);\n"
	  "                            N is 0 or 1 (default: all ports)\n"
	  "inject cut|mend [port N]    drop all received frames (cable pulled); mend: end this\n"
	  "inject off                  end all faults\n"
	  "port stop|start all|N       set the link of all ports, or of port N (0 or 1), down, and drop received\n"
	  "                            frames; start: set the link up again\n"
	  "show inject                 active faults and the number of frames they affected\n",
	  NULL },
	{ "capture",
	  "capture FILE [bytes N]      write the frames of all ports to a pcapng file, at most N bytes of each\n"
	  "                            (1 ... 65535; default: all bytes)\n"
	  "capture stop                stop the capture and print the number of frames in the file\n",
	  NULL },
	{ "peers",
	  "listen [PORT]               serve peers that connect by address, one at a time\n"
	  "                            (1 ... 65535; default: the value of --port, 18516)\n"
	  "connect ADDRESS [PORT]      connect queue pairs to a peer that listens; then \"start\"\n"
	  "disconnect                  stop traffic, disconnect the peer; or stop listening\n",
	  NULL },
	{ "prompt",
	  "save config FILE            write all settings that differ from the defaults to an INI file for --config\n"
	  "load FILE                   run the commands in a file; # begins a comment\n"
	  "help [SECTION]              all commands, or those of one section: traffic, show, faults, capture,\n"
	  "                            peers or prompt\n"
	  "quit                        stop, print final statistics and end\n",
	  NULL },
};

#define SECTIONS (sizeof(sections) / sizeof(sections[0]))

static void print_section(const struct section *section, FILE *out)
{
	fprintf(out, "%s", section->lines);
	if (section->print_more)
		section->print_more(out);
}

void help_print(const char *name, FILE *out)
{
	for (size_t i = 0; i < SECTIONS; i++) {
		if (name == NULL || strcmp(name, sections[i].name) == 0)
			print_section(&sections[i], out);
	}
}

/* Finds the word at *text, which moves behind it and the blanks that follow. Returns its length. */
static size_t take_word(const char **text, const char **word)
{
	size_t bytes;

	*text += strspn(*text, " \t");
	*word = *text;
	bytes = strcspn(*text, " \t\n");
	*text += bytes;
	return bytes;
}

/* Is the word one of the choices, such as "loss|dup|reorder"? */
static bool is_among(const char *word, size_t bytes, const char *choices, size_t choices_bytes)
{
	const char *end = choices + choices_bytes;

	for (const char *at = choices; at < end;) {
		const char *bar = memchr(at, '|', (size_t)(end - at));
		size_t length = (size_t)((bar ? bar : end) - at);

		if (length == bytes && memcmp(at, word, bytes) == 0)
			return true;
		at += length + 1;
	}
	return false;
}

/* How many of the first two words of a help line were typed: 0, 1 or 2. */
static unsigned count_same(const char *typed, const char *help)
{
	const char *word, *choices;
	unsigned same = 0;

	while (same < 2) {
		size_t bytes = take_word(&typed, &word), choices_bytes = take_word(&help, &choices);

		if (bytes == 0 || !is_among(word, bytes, choices, choices_bytes))
			break;
		same++;
	}
	return same;
}

/*
 * Prints the commands that match in `wanted` words. Each is a line; a line that begins with a blank belongs to the one
 * before. Returns the largest number of words that match.
 */
static unsigned print_matching(const char *typed, const char *text, unsigned wanted, FILE *out)
{
	unsigned most = 0, same = 0;

	for (const char *end; *text; text = end) {
		end = strchr(text, '\n') + 1;
		if (*text != ' ')
			same = count_same(typed, text);
		most = same > most ? same : most;
		if (wanted && same >= wanted)
			fprintf(out, "  %.*s", (int)(end - text), text);
	}
	return most;
}

void help_print_usage(const char *line, FILE *out)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *all = open_memstream(&text, &bytes);
	unsigned most;

	if (all == NULL)
		return;
	help_print(NULL, all);
	fclose(all);
	most = print_matching(line, text, 0, out);
	if (most > 0)
		print_matching(line, text, most, out);
	free(text);
}
