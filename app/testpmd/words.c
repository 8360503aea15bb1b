/* words.c - a row for each word of DPDK's testpmd that users try here: the sentence that is told instead */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "testpmd/words.h"

#include <stddef.h>
#include <string.h>

#define FORWARDS "frames are not forwarded but made by queue pairs: --mix says of which operations"
#define PORTS_WORK "ports are open from the start to the end; port stop and port start take their links down and up"

struct row {
	const char *word, *why;
};

static const struct row options[] = {
	{ "forward-mode", FORWARDS },
	{ "tx-first", "start, or --auto-start, posts requests at once; there is no first burst" },
	{ "portmask", "--device names each port that is used" },
	{ "portlist", "--device names each port that is used" },
	{ "max-pkt-len", "--mtu is the path MTU, and frames are as long as that needs" },
	{ "mbcache", "the cache of an mbuf pool has the size that its lcores need" },
	{ "coremask", "--nb-cores says how many lcores poll, EAL's -l which ones there are" },
	{ "nb-ports", "--device names each port that is used" },
	{ "eth-peer", "MAC addresses are asked for by ARP and neighbour discovery" },
	{ "rss-udp", "a queue pair's number says which lcore has it: frames of others are handed on" },
	{ "txonly-multi-flow", "--qps says how many queue pairs send" },
	{ "disable-crc-strip", "what a port strips off is not looked at" },
	{ "disable-rss", "with one lcore (--nb-cores 1) there is one queue" },
};

static const struct row commands[] = {
	{ "clear port info", "clear port stats|xstats all|N counts from here on" },
	{ "port close", PORTS_WORK },
	{ "port reset", PORTS_WORK },
	{ "set fwd", FORWARDS },
	{ "set nbcore", "--nb-cores says at the start how many lcores poll" },
	{ "set portlist", "--device names each port that is used" },
	{ "set verbose", "0 ... 3: none, completions of receives, of requests, of both; frames go to capture FILE" },
	{ "set txpkts", "set size says how long messages are" },
	{ "tx_first", "start posts requests at once; there is no first burst" },
	{ "start tx_first", "start posts requests at once; there is no first burst" },
	{ "show fwd", "show port stats all, and show qp" },
	{ "set promisc",
	  "a port takes what is sent to its MAC address; capture shows the rest only where a port has it" },
};

/* The first row whose word the text begins with. */
static const char *find(const struct row *rows, size_t count, const char *text, const char *ends)
{
	for (size_t i = 0; i < count; i++) {
		size_t bytes = strlen(rows[i].word);

		if (strncmp(text, rows[i].word, bytes) == 0 && strchr(ends, text[bytes]))
			return rows[i].why;
	}
	return NULL;
}

const char *words_of_option(const char *argument)
{
	if (strncmp(argument, "--", 2) != 0)
		return NULL;
	return find(options, sizeof(options) / sizeof(options[0]), argument + 2, "=");
}

const char *words_of_command(const char *line)
{
	return find(commands, sizeof(commands) / sizeof(commands[0]), line + strspn(line, " \t"), " \t\n");
}
