/* rows.c - one row a setting: its option, its place in the file, its range, its default, what it does */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <string.h>

#include "testpmd/rows.h"

#define WIDTH 110u
#define OPTION_COLUMN 29u
#define COMMAND_COLUMN 28u
#define TEXT_BYTES 1024

const char *const rows_idle_names[3] = { "poll", "yield", "sleep" };

const struct settings rows_defaults = {
	.nb_cores = 1,
	.idle = UROCE_IDLE_YIELD,
	.limit_qps = 4096,
	.limit_mrs = 4096,
	.size = 4096,
	.qps = 4,
	.depth = 32,
	.pkey = 0xFFFF,
	.burst = 4096,
	.mtu = 1024,
	.tcp_port = 18516,
	.mix = "write:1,read:1,send:1,fadd:1",
};

static const struct row table[] = {
	{ "interactive", 'i', NULL, NULL, FLAG, 0, 1, AT(interactive), NULL,
	  "show a prompt; \"help\" there lists its commands" },
	{ "auto-start", 'a', NULL, NULL, FLAG, 0, 1, AT(auto_start), NULL, "start the traffic at once, even with -i" },
	{ "cmdline-file", 256, NULL, NULL, TEXT, 0, 0, AT(cmdline_file), "FILE", "run the commands in FILE first" },
	{ "config", 257, NULL, NULL, TEXT, 0, 0, AT(config), "FILE",
	  "read settings from an INI file: sections [port.N], [lcores], [limits], [traffic], [faults] and [eal]" },
	{ "stats-period", 258, "traffic", "stats-period", NUMBER, 0, 86400, AT(stats_period), "S",
	  "print a line of statistics every S seconds; 0: never" },
	{ "verbose", 290, "traffic", "verbose", NUMBER, 0, 3, AT(verbose), "N",
	  "print each completion: 1: of receives, 2: of requests, 3: of both, 0: of none" },
	{ "nb-cores", 259, "lcores", "count", NUMBER, 1, 16, AT(nb_cores), "N", "lcores that poll the ports" },
	{ "rxq", 274, "lcores", "rxq", NUMBER, 0, 16, AT(rxq), "N",
	  "receive queues of a port; 0: one for each lcore that polls it" },
	{ "txq", 275, "lcores", "txq", NUMBER, 0, 16, AT(txq), "N", "send queues of a port; 0: as many as --rxq" },
	{ "rxd", 276, "lcores", "rxd", NUMBER, 0, 32768, AT(rxd), "N", "descriptors of a receive queue; 0: 1024" },
	{ "txd", 277, "lcores", "txd", NUMBER, 0, 32768, AT(txd), "N", "descriptors of a send queue; 0: 1024" },
	{ "mbuf-size", 278, "lcores", "mbuf-size", SIZE, 0, 16384, AT(mbuf_size), "N",
	  "bytes of a frame that one mbuf holds; 0: a whole frame of path MTU 4096" },
	{ "total-num-mbufs", 279, "lcores", "mbufs", NUMBER, 0, 1 << 24, AT(mbufs), "N",
	  "mbufs of each port; 0: as many as its queues need" },
	{ "idle", 260, "lcores", "idle", IDLE, 0, 0, AT(idle), "HOW",
	  "what an lcore does that finds nothing to do: poll, yield or sleep" },
	{ "mix", 261, "traffic", "mix", TEXT, 0, 0, AT(mix), "OP:W[,...]",
	  "operations, and how often each one is chosen: send, send_imm, write, write_imm, awrite, flush, read, fadd "
	  "and cswap with weights of 0 ... 1000000" },
	{ "size", 's', "traffic", "size", SIZE, 1, 1 << 20, AT(size), "N",
	  "bytes of a message; those of atomics are always 8" },
	{ "qps", 'q', "traffic", "qps", NUMBER, 1, 1024, AT(qps), "N", "queue pairs that send requests" },
	{ "tx-depth", 't', "traffic", "depth", NUMBER, 1, 4096, AT(depth), "N",
	  "requests that a queue pair has outstanding" },
	{ "burst", 280, "traffic", "burst", NUMBER, 1, 4096, AT(burst), "N",
	  "requests that a queue pair posts before the next one has its turn" },
	{ "both", 281, "traffic", "both", FLAG, 0, 1, AT(both), NULL, "both ends send requests, not only the first" },
	{ "srq", 282, "traffic", "srq", FLAG, 0, 1, AT(srq), NULL,
	  "all queue pairs of a port take their receives from one shared queue" },
	{ "mtu", 'm', "traffic", "mtu", NUMBER, 256, 4096, AT(mtu), "N", "path MTU: 256, 512, 1024, 2048 or 4096" },
	{ "peer", 262, "traffic", "peer", TEXT, 0, 0, AT(peer), "HOST",
	  "send the traffic to the uroce-testpmd that runs with --target on HOST" },
	{ "target", 263, "traffic", "target", FLAG, 0, 1, AT(target), NULL,
	  "serve the requests of a peer, one peer at a time" },
	{ "tcp-port", 'p', "traffic", "tcp-port", NUMBER, 1, 65535, AT(tcp_port), "N",
	  "TCP port where a target listens and --peer connects" },
	{ "loss", 268, "faults", "loss", PROBABILITY, 0, 0, AT(faults[0]), "P",
	  "probability that a received frame is lost" },
	{ "dup", 269, "faults", "dup", PROBABILITY, 0, 0, AT(faults[1]), "P",
	  "probability that a frame is received twice" },
	{ "reorder", 270, "faults", "reorder", PROBABILITY, 0, 0, AT(faults[2]), "P",
	  "probability that a frame is received behind later ones" },
	{ "corrupt", 271, "faults", "corrupt", PROBABILITY, 0, 0, AT(faults[3]), "P",
	  "probability that a frame is received with a flipped bit" },
	{ "pkey", 310, "traffic", "pkey", NUMBER, 1, UINT16_MAX, AT(pkey), "N",
	  "partition key of the queue pairs; a peer of another partition is not heard" },
	{ "rkey", 311, "faults", "rkey", NUMBER, 0, UINT32_MAX, AT(rkey), "N",
	  "key that requests name in the place of the peer's; 0: the peer's" },
	{ "cq-depth", 312, "faults", "cq-depth", NUMBER, 0, 1 << 20, AT(cq_depth), "N",
	  "entries of a completion queue; 0: as many as requests and receives can be under way" },
	{ "seed", 272, "faults", "seed", NUMBER, 0, UINT32_MAX, AT(seed), "N",
	  "the same seed chooses the same frames for these faults" },
	{ "json", 283, NULL, NULL, TEXT, 0, 0, AT(json), "FILE", "write the final statistics to FILE, as JSON" },
	{ "record", 273, NULL, NULL, TEXT, 0, 0, AT(record), "DIR",
	  "queue pairs that fail leave their last frames in the directory DIR" },
	{ "limit-qps", 264, "limits", "qps", NUMBER, 1, 1 << 20, AT(limit_qps), "N", "queue pairs that may exist" },
	{ "limit-mrs", 265, "limits", "mrs", NUMBER, 1, 1 << 20, AT(limit_mrs), "N", "memory regions that may exist" },
	{ "eal-args", 266, "eal", "args", TEXT, 0, 0, AT(eal_args), "TEXT",
	  "EAL options, used when none stand before \"--\"" },
	{ "dry-run", 267, NULL, NULL, FLAG, 0, 1, AT(dry_run), NULL, "print all settings and the plan, and end" },
};

static_assert(sizeof(table) / sizeof(table[0]) == ROWS, "ROWS says how many there are");
const struct row *const rows = table;

const char *rows_format(const struct row *row, const struct settings *settings, char *text)
{
	const void *place = (const char *)settings + row->offset;

	switch (row->kind) {
	case TEXT:
		return place;
	case IDLE:
		return rows_idle_names[*(const uint32_t *)place];
	case PROBABILITY:
		snprintf(text, ROWS_VALUE_BYTES, "%g", *(const double *)place);
		break;
	case NUMBER:
	case SIZE:
	case FLAG:
		snprintf(text, ROWS_VALUE_BYTES, "%u", *(const uint32_t *)place);
		break;
	}
	return text;
}

static const char *default_of(const struct row *row, char *text)
{
	const char *value = rows_format(row, &rows_defaults, text);

	return *value ? value : "none";
}

/* "1 ... 4096", or what else a value may be. */
static void format_range(const struct row *row, char *text, size_t room)
{
	if (row->kind == NUMBER || row->kind == SIZE || row->kind == FLAG)
		snprintf(text, room, "%lu ... %lu", row->low, row->high);
	else
		snprintf(text, room, row->kind == PROBABILITY ? "0 ... 1, or 0%% ... 100%%" : "text");
}

/* What it does, its range where the words do not tell it, and its default. A tab is a blank that is no line's end. */
static void format_help(const struct row *row, char *text, size_t room)
{
	char value[ROWS_VALUE_BYTES], range[64];
	int bytes = snprintf(text, room, "%s ", row->help);

	if (row->kind == FLAG)
		return;
	format_range(row, range, sizeof(range));
	if (row->kind == TEXT || row->kind == IDLE || row->offset == AT(mtu))
		snprintf(text + bytes, room - (size_t)bytes, "(default %s)", default_of(row, value));
	else
		snprintf(text + bytes, room - (size_t)bytes, "(%s; default %s)", range, default_of(row, value));
	for (char *c = text + bytes; *c; c++)
		*c = *c == ' ' ? '\t' : *c;
}

/* Words behind what the line has already; lines that follow begin at the column. */
static void print_wrapped(FILE *out, unsigned at, unsigned column, const char *text)
{
	const char *pad = "";

	for (; at < column; at++)
		fputc(' ', out);
	while (*text) {
		unsigned bytes = (unsigned)strcspn(text, " ");

		if (at > column && at + 1 + bytes > WIDTH) {
			fprintf(out, "\n%*s", (int)column, "");
			at = column;
			pad = "";
		}
		at += (unsigned)fprintf(out, "%s", pad);
		for (unsigned i = 0; i < bytes; i++, at++)
			fputc(text[i] == '\t' ? ' ' : text[i], out);
		pad = " ";
		text += bytes + (text[bytes] == ' ');
	}
	fputc('\n', out);
}

static void print_option(const struct row *row)
{
	char letter[8] = "    ", text[TEXT_BYTES];
	int at;

	if (row->letter < 256)
		snprintf(letter, sizeof(letter), "-%c, ", row->letter);
	format_help(row, text, sizeof(text));
	at = printf("  %s--%s%s%s", letter, row->option, row->value ? " " : "", row->value ? row->value : "");
	print_wrapped(stdout, (unsigned)at, OPTION_COLUMN, text);
}

void rows_print_help(void)
{
	printf("uroce-testpmd [EAL options] -- [options]\n"
	       "Sends RDMA requests over RoCEv2 without end, from one port to another or to a peer; or serves a peer.\n"
	       "Without --device it makes two ports that are looped in this process.\n\n"
	       "  -d, --device DEV           a port: eth0, net_af_packet0,iface=eth0, a PCI address, or one given to\n"
	       "                             EAL; twice for two ports\n"
	       "      --ip ADDR/LEN          an address of the last --device, IPv4 or IPv6; repeatable\n"
	       "      --gateway ADDR         router of the last --ip for peers outside its network (default none)\n"
	       "      --vlan ID[:PRIO]       VLAN of the frames of the last --device: 1 ... 4094, or 0 for a tag\n"
	       "                             with a priority alone; priority 0 ... 7 (default none)\n");
	for (size_t i = 0; i < ROWS; i++)
		print_option(&rows[i]);
	printf("      --help-settings        list the keys that a file of --config may have\n"
	       "  -h, --help                 this text\n  -V, --version\n\n"
	       "Ctrl-C stops the traffic, prints final statistics and ends as \"quit\" does.\n"
	       "Exit: 0 ok, 1 traffic failed, 2 usage, 3 environment (also: nobody listens at --peer), 4 internal,\n"
	       "130 interrupted while --peer was waited for.\n");
}

void rows_print_keys(void)
{
	printf("[port.N] device: text: none: a port, as --device\n"
	       "[port.N] ip: text: none: an address of the port, as --ip; repeatable\n"
	       "[port.N] gateway: text: none: router of the ip before it for peers outside its network, as --gateway\n"
	       "[port.N] vlan: text: none: VLAN of its frames, as --vlan\n"
	       "[port.N] mtu: 256 ... 4096: what passes: the largest path MTU of the port\n");
	for (size_t i = 0; i < ROWS; i++) {
		char value[ROWS_VALUE_BYTES], range[64];

		if (rows[i].section == NULL)
			continue;
		format_range(&rows[i], range, sizeof(range));
		printf("[%s] %s: %s: %s: %s\n", rows[i].section, rows[i].key, range, default_of(&rows[i], value),
		       rows[i].help);
	}
}

bool rows_can_change(const struct row *row)
{
	static const size_t offsets[] = { AT(size), AT(depth), AT(burst), AT(mix), AT(stats_period), AT(verbose) };

	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		if (row->offset == offsets[i])
			return true;
	}
	return false;
}

void rows_print_changes(FILE *out)
{
	for (size_t i = 0; i < ROWS; i++) {
		char text[TEXT_BYTES];
		int at;

		if (!rows_can_change(&rows[i]))
			continue;
		format_help(&rows[i], text, sizeof(text) - 64);
		if (rows[i].offset == AT(size) || rows[i].offset == AT(depth))
			strcat(text, "; at most what it was at the start");
		at = fprintf(out, "set %s %s", rows[i].key, rows[i].value);
		print_wrapped(out, (unsigned)at, COMMAND_COLUMN, text);
	}
}
