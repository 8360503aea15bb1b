/* words.c - a row for each word of DPDK's testpmd that users try here: the sentence that is told instead */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "testpmd/words.h"

#include <stddef.h>
#include <string.h>

#define PORTS_WORK "ports stay open; use port stop and port start to set their links down and up"

static const struct {
	const char *word, *why;
} commands[] = {
	{ "clear port info", "clear port stats|xstats all|N resets the counters" },
	{ "port close", PORTS_WORK },
	{ "port reset", PORTS_WORK },
	{ "set fwd", "frames are not forwarded: queue pairs generate traffic (see --mix)" },
	{ "set nbcore", "the number of lcores is set at the start, with --nb-cores" },
	{ "set portlist", "give each port with --device" },
	{ "set verbose",
	  "use 0 (print no completions), 1 (receives), 2 (requests) or 3 (all); capture FILE records frames" },
	{ "set txpkts", "use the command \"set size N\"" },
	{ "tx_first", "use \"start\": there is no first burst before the traffic" },
	{ "start tx_first", "use \"start\": there is no first burst before the traffic" },
	{ "show fwd", "use show port stats all, and show qp" },
	{ "set promisc", "a port receives frames to its own MAC address; a capture shows other frames only if the port "
			 "receives them" },
};

/* The first row whose word the line begins with. */
const char *words_of_command(const char *line)
{
	const char *text = line + strspn(line, " \t");

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		size_t bytes = strlen(commands[i].word);

		if (strncmp(text, commands[i].word, bytes) == 0 && strchr(" \t\n", text[bytes]))
			return commands[i].why;
	}
	return NULL;
}
