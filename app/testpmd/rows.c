/* rows.c - one row a setting: its option, its place in the file, its range, its default, its help */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "common/names.h"
#include "common/option_help.h"
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
		return app_complain(APP_EXIT_USAGE, "%s %s: a port has up to %d addresses", name, text,
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
		return app_complain(APP_EXIT_USAGE, "%s %s: put it after its ip", name, text);
	strcpy(port->gateways[port->address_count - 1], text);
	return APP_EXIT_OK;
}

#define PORT_AT(member) OPTION_AT(struct settings_port, member)
#define WHOLE_PORT 0, sizeof(struct settings_port)

/* clang-format off */
static const struct option_row port_rows[] = {
	{ WORD_OF(DEVICE), PORT_AT(device), .section = "" },
	{ WORD_OF(IP), WHOLE_PORT, .parse = parse_address, .more = "repeatable", .section = "" },
	{ WORD_OF(GATEWAY), WHOLE_PORT, .parse = parse_gateway, .more = "of the ip before it", .section = "" },
	{ WORD_OF(VLAN), PORT_AT(vlan), .parse = app_vlan_expect, .section = "" },
	{ WORD_OF(MTU), PORT_AT(mtu), .usual = "packets that pass", .more = "largest of the port", .section = "" },
	{ WORD_OF(NO_DAD), PORT_AT(no_dad), .section = "" },
};
/* clang-format on */

static const struct settings_port port_defaults;
const struct option_set rows_port_set = {
	.program = "uroce-testpmd",
	OPTION_ROWS(port_rows),
	.usual = &port_defaults,
};

static int parse_device(const char *name, const char *text, void *place)
{
	struct settings *settings = place;

	if (settings->port_count == SETTINGS_PORTS)
		return app_complain(APP_EXIT_USAGE, "%s %s: give up to two ports", name, text);
	return app_option_parse_value(&port_rows[0], name, text, &settings->ports[settings->port_count++]);
}

/* Sets a value of the last port. */
static int parse_of_port(const char *name, const char *text, void *place)
{
	struct settings *settings = place;

	if (settings->port_count == 0)
		return app_complain(APP_EXIT_USAGE, "%s %s: put this option after the --device that it applies to",
				    name, text);
	return app_option_parse_value(&port_rows[app_option_find(&rows_port_set, name + strlen("--"))], name, text,
				      &settings->ports[settings->port_count - 1]);
}

/* ---- other settings ---- */

#define AT(member) OPTION_AT(struct settings, member)
#define WHOLE 0, sizeof(struct settings)
#define IN(in_section) .section = in_section

/* clang-format off */
static const struct option_row table[] = {
	{ WORD_OF(DEVICE), WHOLE, .parse = parse_device, .more = "twice for two ports" },
	{ WORD_OF(IP), WHOLE, .parse = parse_of_port, .more = "of the last --device; repeatable" },
	{ WORD_OF(GATEWAY), WHOLE, .parse = parse_of_port, .usual = "none" },
	{ WORD_OF(VLAN), WHOLE, .parse = parse_of_port, .more = "of the last --device", .usual = "none" },
	APP_NO_DAD_ROW(struct settings),
	{ WORD_OF(PEER), AT(peer), IN("traffic"), .more = "a uroce-testpmd with --server" },
	{ WORD_OF(SERVER), AT(target), IN("traffic"), .more = "one client at a time" },
	{ WORD_OF(PORT), AT(tcp_port), IN("traffic"), .more = "TCP" },
	{ WORD_OF(INTERACTIVE), AT(interactive) },
	{ WORD_OF(AUTO_START), AT(auto_start) },
	{ WORD_OF(CMDLINE_FILE), AT(cmdline_file) },
	{ WORD_OF(CONFIG), AT(config),
	  .more = "sections [port.N], [lcores], [limits], [traffic], [faults] and [eal]" },
	{ WORD_OF(DURATION), AT(duration_s), IN("traffic"), .usual = "until ctrl-C",
	  .more = "starts traffic immediately; the program ends after this time" },
	{ WORD_OF(STATS_PERIOD), AT(stats_period_s), IN("traffic") },
	{ WORD_OF(VERBOSE), AT(verbose), IN("traffic") },
	{ WORD_OF(NB_CORES), AT(nb_cores), IN("lcores"), .more = "that poll the ports" },
	{ WORD_OF(RXQ), AT(rxq), IN("lcores") },
	{ WORD_OF(TXQ), AT(txq), IN("lcores") },
	{ WORD_OF(RXD), AT(rxd), IN("lcores") },
	{ WORD_OF(TXD), AT(txd), IN("lcores") },
	{ WORD_OF(MBUF_SIZE), AT(mbuf_size), IN("lcores") },
	{ WORD_OF(MBUFS), AT(mbufs), IN("lcores") },
	{ WORD_OF(IDLE), AT(idle), IN("lcores") },
	{ WORD_OF(MIX), AT(mix), IN("traffic"),
	  .more = "send, send_imm, send_inv, write, write_imm, awrite, flush, read, fadd, cswap" },
	{ WORD_OF(SIZE), AT(size), .high = 1 << 20, .low = 1, IN("traffic"), .more = "atomics have 8" },
	{ WORD_OF(QPS), AT(qps), .low = 1, .high = 1024, IN("traffic"), .more = "that send requests" },
	{ WORD_OF(TX_DEPTH), AT(depth), .low = 1, .high = 4096, IN("traffic") },
	{ WORD_OF(BURST), AT(burst), IN("traffic") },
	{ WORD_OF(BIDIRECTIONAL), AT(both), IN("traffic") },
	{ WORD_OF(USE_SRQ), AT(srq), IN("traffic") },
	{ WORD_OF(MTU), AT(mtu), IN("traffic") },
	{ WORD_OF(CC), AT(cc), IN("traffic") },
	{ WORD_OF(SACK_WINDOW), AT(sack_window), IN("traffic"), .more = "both ends use the smaller window" },
	{ WORD_OF(PATHS), AT(paths), IN("traffic"), .more = "requires ports with one queue" },
	{ WORD_OF(TIMEOUT), AT(timeout), IN("traffic") },
	{ WORD_OF(RETRY_CNT), AT(retry_cnt), IN("traffic") },
	{ WORD_OF(LOSS), AT(faults[0]), IN("faults") },
	{ WORD_OF(DUP), AT(faults[1]), IN("faults") },
	{ WORD_OF(REORDER), AT(faults[2]), IN("faults") },
	{ WORD_OF(CORRUPT), AT(faults[3]), IN("faults") },
	{ WORD_OF(PKEY), AT(pkey), IN("traffic"), .more = "frames of other partitions are dropped" },
	{ WORD_OF(RKEY), AT(rkey), IN("faults") },
	{ WORD_OF(CQ_DEPTH), AT(cq_depth), IN("faults") },
	{ WORD_OF(SEED), AT(seed), .low = 0, .high = UINT32_MAX, IN("faults") },
	{ WORD_OF(JSON), AT(json), .more = "the final statistics" },
	{ WORD_OF(RECORD), AT(record) },
	{ WORD_OF(LIMIT_QPS), AT(limit_qps), IN("limits") },
	{ WORD_OF(LIMIT_MRS), AT(limit_mrs), .low = 1, .high = (1 << 20) - KEYS_PORT_MRS, IN("limits") },
	{ WORD_OF(EAL_ARGS), AT(eal_args), IN("eal") },
	{ WORD_OF(DRY_RUN), AT(dry_run) },
	{ WORD_OF(HELP_SETTINGS), AT(help) },
};
/* clang-format on */

static enum option_origin origins[sizeof(table) / sizeof(table[0])];

const struct option_set rows_set = {
	.program = "uroce-testpmd",
	OPTION_ROWS(table),
	OPTION_SPELLINGS,
	.usual = &rows_defaults,
	.origins = origins,
	.head = "uroce-testpmd [EAL options] -- [options]\n"
		"Sends RDMA requests over RoCEv2 continuously, from one port to another or to a peer, or serves a "
		"peer.\nWithout --device it uses two looped ports in this process.\n\n",
	.tail = "\nCtrl-C stops the traffic, prints final statistics and ends as \"quit\" does.\n"
		"Exit: 0 ok, 1 traffic failed, 2 usage, 3 environment (also: no server at --peer), 4 internal,\n"
		"130 interrupted while waiting for --peer.\n",
};

static void print_keys(const struct option_set *set, const char *section)
{
	for (size_t i = 0; i < set->count; i++) {
		const struct option_row *row = &set->rows[i];
		char value[OPTION_VALUE_BYTES], range[OPTION_VALUE_BYTES], help[512];
		const char *usual = row->usual ? row->usual : app_option_format(row, set->usual, value);

		if (row->section == NULL)
			continue;
		app_option_format_range(row, range, sizeof(range));
		app_option_format_help(row, help, sizeof(help));
		printf("[%s] %s: %s: %s: %s\n", *row->section ? row->section : section, row->word->name, range,
		       *usual ? usual : "none", help);
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
		const struct option_word *word = row->word;
		bool bounded = strcmp(word->name, "size") == 0 || strcmp(word->name, "tx-depth") == 0;

		if (rows_can_change(row))
			app_option_print_help(&rows_set, row, out,
					      (unsigned)fprintf(out, "set %s %s", word->name, word->value),
					      COMMAND_COLUMN, bounded ? "; at most the value at program start" : "");
	}
}
