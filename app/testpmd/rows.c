/* rows.c - one row a setting: its option, its place in the file, its range, its default, its help */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "common/names.h"
#include "common/ports.h"
#include "testpmd/keys.h"
#include "testpmd/rows.h"

#define COMMAND_COLUMN 28u

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
	.sack_window = 1,
	.paths = 1,
	.timeout = 17,
	.retry_cnt = 7,
	.tcp_port = 18516,
	.mix = "write:1,read:1,send:1,fadd:1",
};

/* ---- ports ---- */

static int parse_address(const char *name, const char *text, void *place)
{
	struct settings_port *port = place;
	struct uroce_addr addr;
	unsigned prefix;

	if (uroce_addr_parse(text, &addr, &prefix) != 0 || strlen(text) >= sizeof(port->addresses[0]))
		return app_complain(APP_EXIT_USAGE, "%s %s: must be an address such as 10.0.0.1/24 or fe80::1/64", name,
				    text);
	if (port->address_count == UROCE_ADDRS_MAX)
		return app_complain(APP_EXIT_USAGE, "%s %s: a port has at most %d addresses", name, text,
				    UROCE_ADDRS_MAX);
	strcpy(port->addresses[port->address_count++], text);
	return APP_EXIT_OK;
}

static int parse_gateway(const char *name, const char *text, void *place)
{
	struct settings_port *port = place;
	struct uroce_addr addr;

	if (uroce_addr_parse(text, &addr, NULL) != 0 || strlen(text) >= sizeof(port->gateways[0]))
		return app_complain(APP_EXIT_USAGE, "%s %s: must be an address such as 10.0.0.254 or fe80::fe", name,
				    text);
	if (port->address_count == 0)
		return app_complain(APP_EXIT_USAGE, "%s %s: comes after the ip that it belongs to", name, text);
	strcpy(port->gateways[port->address_count - 1], text);
	return APP_EXIT_OK;
}

#define PORT_AT(member) OPTION_AT(struct settings_port, member)
#define WHOLE_PORT 0, sizeof(struct settings_port)

/* clang-format off */
static const struct option_row port_rows[] = {
	{ NULL, 0, OPTION_TEXT, PORT_AT(device), .key = "device", .help = "a port, as --device" },
	{ NULL, 0, OPTION_OTHER, WHOLE_PORT, .parse = parse_address, .key = "ip",
	  .help = "an address of the port, as --ip; repeatable" },
	{ NULL, 0, OPTION_OTHER, WHOLE_PORT, .parse = parse_gateway, .key = "gateway",
	  .help = "router of the ip before it for peers outside its network, as --gateway" },
	{ NULL, 0, OPTION_OTHER, PORT_AT(vlan), .parse = app_vlan_expect, .key = "vlan",
	  .help = "VLAN of its frames, as --vlan" },
	{ NULL, 0, OPTION_NUMBER, PORT_AT(mtu), 256, 4096, .key = "mtu", .usual = "what passes",
	  .help = "the largest path MTU of the port" },
	{ NULL, 0, OPTION_FLAG, PORT_AT(no_dad), .key = "no-dad",
	  .help = "its addresses are used at once, as with --no-dad" },
};
/* clang-format on */

static const struct settings_port port_defaults;
const struct option_set rows_port_set = {
	OPTION_ROWS(port_rows),
	.usual = &port_defaults,
};

static int parse_device(const char *name, const char *text, void *place)
{
	struct settings *settings = place;

	if (settings->port_count == SETTINGS_PORTS)
		return app_complain(APP_EXIT_USAGE, "%s %s: two ports at most", name, text);
	return app_option_parse_value(&port_rows[0], name, text, &settings->ports[settings->port_count++]);
}

/* Sets a value of the last port. */
static int parse_of_port(const char *name, const char *text, void *place)
{
	struct settings *settings = place;

	if (settings->port_count == 0)
		return app_complain(APP_EXIT_USAGE, "%s %s: comes after the --device that it belongs to", name, text);
	return app_option_parse_value(&port_rows[app_option_find(&rows_port_set, name + strlen("--"))], name, text,
				      &settings->ports[settings->port_count - 1]);
}

/* ---- other settings ---- */

#define AT(member) OPTION_AT(struct settings, member)
#define WHOLE 0, sizeof(struct settings)
#define INSTEAD(of, why)                           \
	{                                          \
		of, 0, OPTION_INSTEAD, .help = why \
	}
#define IN(in_section, by_key) .section = in_section, .key = by_key

/* clang-format off */
static const struct option_row table[] = {
	{ "device", 'd', OPTION_OTHER, WHOLE, .parse = parse_device, .value = "DEV",
	  .help = "a port: eth0, net_af_packet0,iface=eth0, a PCI address, or one given to EAL; twice for two ports" },
	{ "ip", 0, OPTION_OTHER, WHOLE, .parse = parse_of_port, .value = "ADDR/LEN",
	  .help = "an address of the last --device, IPv4 or IPv6; repeatable" },
	{ "gateway", 0, OPTION_OTHER, WHOLE, .parse = parse_of_port, .value = "ADDR", .usual = "none",
	  .help = "router of the last --ip for peers outside its network" },
	{ "vlan", 0, OPTION_OTHER, WHOLE, .parse = parse_of_port, .value = "ID[:PRIO]", .usual = "none",
	  .help = "VLAN of the frames of the last --device: 1 ... 4094, or 0 for a tag with a priority alone; "
		  "priority 0 ... 7" },
	APP_NO_DAD_ROW(struct settings),
	{ "interactive", 'i', OPTION_FLAG, AT(interactive),
	  .help = "show a prompt; \"help\" there lists its commands" },
	{ "auto-start", 'a', OPTION_FLAG, AT(auto_start), .help = "start the traffic at once, even with -i" },
	{ "cmdline-file", 0, OPTION_TEXT, AT(cmdline_file), .value = "FILE",
	  .help = "run the commands in FILE first" },
	{ "config", 0, OPTION_TEXT, AT(config), .value = "FILE",
	  .help = "read settings from an INI file: sections [port.N], [lcores], [limits], [traffic], [faults] "
		  "and [eal]" },
	{ "stats-period", 0, OPTION_NUMBER, AT(stats_period), 0, 86400, "S", IN("traffic", "stats-period"),
	  .help = "print a line of statistics every S seconds; 0: never" },
	{ "verbose", 0, OPTION_NUMBER, AT(verbose), 0, 3, "N", IN("traffic", "verbose"),
	  .help = "print each completion: 1: of receives, 2: of requests, 3: of both, 0: of none" },
	{ "nb-cores", 0, OPTION_NUMBER, AT(nb_cores), 1, 16, "N", IN("lcores", "count"),
	  .help = "lcores that poll the ports" },
	{ "rxq", 0, OPTION_NUMBER, AT(rxq), 0, 16, "N", IN("lcores", "rxq"),
	  .help = "receive queues of a port; 0: one for each lcore that polls it" },
	{ "txq", 0, OPTION_NUMBER, AT(txq), 0, 16, "N", IN("lcores", "txq"),
	  .help = "send queues of a port; 0: as many as --rxq" },
	{ "rxd", 0, OPTION_NUMBER, AT(rxd), 0, 32768, "N", IN("lcores", "rxd"),
	  .help = "descriptors of a receive queue; 0: 1024" },
	{ "txd", 0, OPTION_NUMBER, AT(txd), 0, 32768, "N", IN("lcores", "txd"),
	  .help = "descriptors of a send queue; 0: 1024" },
	{ "mbuf-size", 0, OPTION_SIZE, AT(mbuf_size), 0, 16384, "N", IN("lcores", "mbuf-size"),
	  .help = "bytes of a frame that one mbuf holds; 0: a whole frame of path MTU 4096" },
	{ "total-num-mbufs", 0, OPTION_NUMBER, AT(mbufs), 0, 1 << 24, "N", IN("lcores", "mbufs"),
	  .help = "mbufs of each port; 0: as many as its queues need" },
	{ "idle", 0, OPTION_NAME, AT(idle), 0, 2, "HOW", .names = app_idle_names, IN("lcores", "idle"),
	  .help = "what an lcore does that finds nothing to do: poll, yield or sleep" },
	{ "mix", 0, OPTION_TEXT, AT(mix), .value = "OP:W[,...]", IN("traffic", "mix"),
	  .help = "operations, and how often each one is chosen: send, send_imm, send_inv, write, write_imm, "
		  "awrite, flush, read, fadd and cswap with weights of 0 ... 1000000" },
	{ "size", 's', OPTION_SIZE, AT(size), 1, 1 << 20, "N", IN("traffic", "size"),
	  .help = "bytes of a message; those of atomics are always 8" },
	{ "qps", 'q', OPTION_NUMBER, AT(qps), 1, 1024, "N", IN("traffic", "qps"),
	  .help = "queue pairs that send requests" },
	{ "tx-depth", 't', OPTION_NUMBER, AT(depth), 1, 4096, "N", IN("traffic", "depth"),
	  .help = "requests that a queue pair has outstanding" },
	{ "burst", 0, OPTION_NUMBER, AT(burst), 1, 4096, "N", IN("traffic", "burst"),
	  .help = "requests that a queue pair posts before the next one has its turn" },
	{ "both", 0, OPTION_FLAG, AT(both), IN("traffic", "both"),
	  .help = "both ends send requests, not only the first" },
	{ "srq", 0, OPTION_FLAG, AT(srq), IN("traffic", "srq"),
	  .help = "all queue pairs of a port take their receives from one shared queue" },
	{ "mtu", 'm', OPTION_MTU, AT(mtu), .value = "N", IN("traffic", "mtu"), .help = "path MTU" },
	{ "cc", 0, OPTION_NAME, AT(cc), UROCE_CC_DEFAULT, UROCE_CC_ALGORITHMS - 1, "NAME", .names = app_cc_names,
	  IN("traffic", "cc"),
	  .help = "congestion control of the queue pairs: dcqcn slows down when switches mark packets, delay when "
		  "round trips take longer, fixed does neither; `default` is dcqcn where the link tells its rate" },
	{ "sack-window", 0, OPTION_NAME, AT(sack_window), 0, APP_SACK_WINDOWS - 1, "N", .names = app_sack_windows,
	  IN("traffic", "sack-window"),
	  .help = "both ends keep what comes behind a lost packet, so that only that is sent again (SACKs), and have "
		  "so many packets in flight, or as many as the peer; off: everything from it on is sent again" },
	{ "paths", 0, OPTION_NUMBER, AT(paths), 1, 64, "N", IN("traffic", "paths"),
	  .help = "both ends spread their requests over N UDP source ports, 4 or more, so that they take several ways "
		  "through switches; needs SACKs, and ports with one queue" },
	{ "timeout", 0, OPTION_NUMBER, AT(timeout), 0, 31, "N", IN("traffic", "timeout"),
	  .help = "ACK timeout of the queue pairs, 4.096 us * 2^N; 0 = off" },
	{ "retry-cnt", 0, OPTION_NUMBER, AT(retry_cnt), 0, 7, "N", IN("traffic", "retry-cnt"),
	  .help = "retransmissions before a request fails" },
	{ "peer", 0, OPTION_TEXT, AT(peer), .value = "HOST", IN("traffic", "peer"),
	  .help = "send the traffic to the uroce-testpmd that runs with --target on HOST" },
	{ "target", 0, OPTION_FLAG, AT(target), IN("traffic", "target"),
	  .help = "serve the requests of a peer, one peer at a time" },
	{ "tcp-port", 'p', OPTION_NUMBER, AT(tcp_port), 1, 65535, "N", IN("traffic", "tcp-port"),
	  .help = "TCP port where a target listens and --peer connects" },
	{ "loss", 0, OPTION_PROBABILITY, AT(faults[0]), .value = "P", IN("faults", "loss"),
	  .help = "probability that a received frame is lost" },
	{ "dup", 0, OPTION_PROBABILITY, AT(faults[1]), .value = "P", IN("faults", "dup"),
	  .help = "probability that a frame is received twice" },
	{ "reorder", 0, OPTION_PROBABILITY, AT(faults[2]), .value = "P", IN("faults", "reorder"),
	  .help = "probability that a frame is received behind later ones" },
	{ "corrupt", 0, OPTION_PROBABILITY, AT(faults[3]), .value = "P", IN("faults", "corrupt"),
	  .help = "probability that a frame is received with a flipped bit" },
	{ "pkey", 0, OPTION_NUMBER, AT(pkey), 1, UINT16_MAX, "N", IN("traffic", "pkey"),
	  .help = "partition key of the queue pairs; a peer of another partition is not heard" },
	{ "rkey", 0, OPTION_NUMBER, AT(rkey), 0, UINT32_MAX, "N", IN("faults", "rkey"),
	  .help = "key that requests name in the place of the peer's; 0: the peer's" },
	{ "cq-depth", 0, OPTION_NUMBER, AT(cq_depth), 0, 1 << 20, "N", IN("faults", "cq-depth"),
	  .help = "entries of a completion queue; 0: as many as requests and receives can be under way" },
	{ "seed", 0, OPTION_NUMBER, AT(seed), 0, UINT32_MAX, "N", IN("faults", "seed"),
	  .help = "the same seed chooses the same frames for these faults" },
	{ "json", 0, OPTION_TEXT, AT(json), .value = "FILE",
	  .help = "write the final statistics to FILE, as JSON" },
	{ "record", 0, OPTION_TEXT, AT(record), .value = "DIR",
	  .help = "queue pairs that fail leave their last frames in the directory DIR" },
	{ "limit-qps", 0, OPTION_NUMBER, AT(limit_qps), 1, 1 << 20, "N", IN("limits", "qps"),
	  .help = "queue pairs that may exist" },
	{ "limit-mrs", 0, OPTION_NUMBER, AT(limit_mrs), 1, (1 << 20) - KEYS_PORT_MRS, "N", IN("limits", "mrs"),
	  .help = "memory regions that may exist" },
	{ "eal-args", 0, OPTION_TEXT, AT(eal_args), .value = "TEXT", IN("eal", "args"),
	  .help = "EAL options, used when none stand before \"--\"" },
	{ "dry-run", 0, OPTION_FLAG, AT(dry_run), .help = "print all settings and the plan, and end" },
	{ "help-settings", 0, OPTION_FLAG, AT(help), .help = "list the keys that a file of --config may have" },

	/* words of DPDK's testpmd that are refused */
	INSTEAD("forward-mode", ROWS_NO_FORWARDS),
	INSTEAD("tx-first", "start, or --auto-start, posts requests at once; there is no first burst"),
	INSTEAD("portmask", "--device names each port that is used"),
	INSTEAD("portlist", "--device names each port that is used"),
	INSTEAD("max-pkt-len", "--mtu is the path MTU, and frames are as long as that needs"),
	INSTEAD("mbcache", "the cache of an mbuf pool has the size that its lcores need"),
	INSTEAD("coremask", "--nb-cores says how many lcores poll, EAL's -l which ones there are"),
	INSTEAD("nb-ports", "--device names each port that is used"),
	INSTEAD("eth-peer", "MAC addresses are asked for by ARP and neighbour discovery"),
	INSTEAD("rss-udp", "a queue pair's number says which lcore has it: frames of others are handed on"),
	INSTEAD("txonly-multi-flow", "--qps says how many queue pairs send"),
	INSTEAD("disable-crc-strip", "what a port strips off is not looked at"),
	INSTEAD("disable-rss", "with one lcore (--nb-cores 1) there is one queue"),
};
/* clang-format on */

static enum option_origin origins[sizeof(table) / sizeof(table[0])];

const struct option_set rows_set = {
	.program = "uroce-testpmd",
	OPTION_ROWS(table),
	.usual = &rows_defaults,
	.origins = origins,
	.head = "uroce-testpmd [EAL options] -- [options]\n"
		"Sends RDMA requests over RoCEv2 without end, from one port to another or to a peer; or serves a "
		"peer.\nWithout --device it makes two ports that are looped in this process.\n\n",
	.tail = "\nCtrl-C stops the traffic, prints final statistics and ends as \"quit\" does.\n"
		"Exit: 0 ok, 1 traffic failed, 2 usage, 3 environment (also: nobody listens at --peer), 4 internal,\n"
		"130 interrupted while --peer was waited for.\n",
};

static void print_keys(const struct option_set *set, const char *section)
{
	for (size_t i = 0; i < set->count; i++) {
		const struct option_row *row = &set->rows[i];
		char value[OPTION_VALUE_BYTES], range[64];
		const char *usual = row->usual ? row->usual : app_option_format(row, set->usual, value);

		if (row->key == NULL)
			continue;
		app_option_format_range(row, range, sizeof(range));
		printf("[%s] %s: %s: %s: %s\n", row->section ? row->section : section, row->key, range,
		       *usual ? usual : "none", row->help);
	}
}

void rows_print_keys(void)
{
	print_keys(&rows_port_set, "port.N");
	print_keys(&rows_set, NULL);
}

bool rows_can_change(const struct option_row *row)
{
	static const char *const names[] = { "size", "tx-depth", "burst", "mix", "stats-period", "verbose" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (row == &table[app_option_find(&rows_set, names[i])])
			return true;
	}
	return false;
}

void rows_print_changes(FILE *out)
{
	for (size_t i = 0; i < rows_set.count; i++) {
		const struct option_row *row = &table[i];
		bool bounded = strcmp(row->name, "size") == 0 || strcmp(row->name, "tx-depth") == 0;

		if (rows_can_change(row))
			app_option_print_help(&rows_set, row, out,
					      (unsigned)fprintf(out, "set %s %s", row->key, row->value), COMMAND_COLUMN,
					      bounded ? "; at most what it was at the start" : "");
	}
}
