/* settings.c - a row for each setting, and their values from the command line, a file and the prompt */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/eal.h"
#include "common/ini.h"
#include "common/names.h"
#include "common/number.h"
#include "common/option.h"
#include "common/option_help.h"
#include "common/ports.h"
#include "testpmd/keys.h"
#include "testpmd/settings.h"

static const char *const origin_names[] = { [OPTION_DEFAULT] = "default",
					    [OPTION_FROM_FILE] = "file",
					    [OPTION_FROM_LINE] = "command line",
					    [OPTION_FROM_PROMPT] = "prompt" };

/* The operations that a mix can have; the others are NULL. */
const char *const settings_op_names[SETTINGS_OPS] = {
	[UROCE_WR_SEND] = "send",
	[UROCE_WR_SEND_WITH_IMM] = "send_imm",
	[UROCE_WR_SEND_WITH_INV] = "send_inv",
	[UROCE_WR_RDMA_WRITE] = "write",
	[UROCE_WR_RDMA_WRITE_WITH_IMM] = "write_imm",
	[UROCE_WR_RDMA_READ] = "read",
	[UROCE_WR_ATOMIC_CMP_AND_SWP] = "cswap",
	[UROCE_WR_ATOMIC_FETCH_AND_ADD] = "fadd",
	[UROCE_WR_ATOMIC_WRITE] = "awrite",
	[UROCE_WR_FLUSH] = "flush",
};

/* ---- rows ---- */

static const struct settings defaults = {
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

/* Keys of [port.N]. */
static const struct option_set port_set = {
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
	return app_option_parse_value(&port_rows[app_option_find(&port_set, name + strlen("--"))], name, text,
				      &settings->ports[settings->port_count - 1]);
}

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

static const struct option_set option_set = {
	.program = "uroce-testpmd",
	OPTION_ROWS(table),
	OPTION_SPELLINGS,
	.usual = &defaults,
	.origins = origins,
	.head = "uroce-testpmd [EAL options] -- [options]\n"
		"Sends RDMA requests over RoCEv2 continuously, from one port to another or to a peer, or serves a "
		"peer.\nWithout --device it uses two looped ports in this process.\n\n",
	.tail = "\nCtrl-C stops the traffic, prints final statistics and ends as \"quit\" does.\n"
		"Exit: 0 ok, 1 traffic failed, 2 usage, 3 environment (also: no server at --peer), 4 internal,\n"
		"130 interrupted while waiting for --peer.\n",
};

/* ---- names ---- */

/*
 * The name of a setting as the user gave it: "--mtu", "FILE: [traffic] mtu". Valid until two more names are asked for.
 */
static const char *name_of(const struct settings *settings, const char *option)
{
	static char names[2][SETTINGS_TEXT_BYTES + 80];
	static unsigned turn;
	char *name = names[turn++ % 2];
	size_t i = app_option_find(&option_set, option);

	if (option_set.origins[i] == OPTION_FROM_FILE)
		snprintf(name, sizeof(names[0]), "%s: [%s] %s", settings->config, option_set.rows[i].section, option);
	else
		snprintf(name, sizeof(names[0]), "--%s", option);
	return name;
}

/* ---- the file ---- */

struct file {
	struct settings *settings;
	bool ports_wanted; /* false: the command line has named the ports */
};

/* The number of a port's section, or -1. */
static int port_of_section(const char *section)
{
	unsigned number;

	return sscanf(section, "port.%u", &number) == 1 ? (int)number : -1;
}

static int begin_section(void *argument, const char *where, const char *section)
{
	struct file *file = argument;
	int number = port_of_section(section);

	if (number >= SETTINGS_PORTS)
		return app_complain(APP_EXIT_USAGE, "%s: unknown port; use port.0 or port.1", where);
	if (number >= 0 && file->ports_wanted && (uint32_t)number + 1 > file->settings->port_count)
		file->settings->port_count = (uint32_t)number + 1;
	return APP_EXIT_OK;
}

static int parse_key(void *argument, const char *where, const char *section, const char *key, const char *value)
{
	struct file *file = argument;
	int number = port_of_section(section);

	if (number < 0)
		return app_option_parse_key(&option_set, section, key, where, value, file->settings);
	return file->ports_wanted ?
		       app_option_parse_key(&port_set, section, key, where, value, &file->settings->ports[number]) :
		       APP_EXIT_OK;
}

/* Only addresses of a port may repeat a key. */
static bool may_repeat(const char *section, const char *key)
{
	return port_of_section(section) >= 0 && (strcmp(key, "ip") == 0 || strcmp(key, "gateway") == 0);
}

static int read_file(struct settings *settings)
{
	struct file file = { settings, settings->port_count == 0 };
	const struct app_ini_reader reader = { begin_section, parse_key, may_repeat, &file };

	return app_ini_read(settings->config, &reader);
}

/* ---- checks ---- */

static int refuse_mix(const struct settings *settings, const char *part, const char *wanted)
{
	return app_complain(APP_EXIT_USAGE, "%s %s: use %s", name_of(settings, "mix"), part, wanted);
}

static int read_mix(struct settings *settings)
{
	char copy[SETTINGS_TEXT_BYTES], *rest = copy, *part;
	uint64_t sum = 0;

	strcpy(copy, settings->mix);
	memset(settings->weights, 0, sizeof(settings->weights));
	while ((part = strsep(&rest, ",")) != NULL) {
		char *name = part, *number;
		char shown[SETTINGS_TEXT_BYTES];
		uint64_t weight = 1;
		uint32_t op = 0;

		strcpy(shown, part);
		number = strchr(part, ':');
		if (number)
			*number++ = '\0';
		while (op < SETTINGS_OPS && (settings_op_names[op] == NULL || strcmp(settings_op_names[op], name) != 0))
			op++;
		if (op == SETTINGS_OPS || (number && !app_number_parse(number, 0, 1000000, &weight)))
			return refuse_mix(settings, shown,
					  "NAME:WEIGHT, where NAME is send, send_imm, send_inv, write, write_imm, "
					  "awrite, flush, read, fadd or cswap");
		settings->weights[op] += (uint32_t)weight;
		sum += weight;
	}
	return sum ? 0 : refuse_mix(settings, settings->mix, "at least one operation with a weight above 0");
}

static int check_together(const struct settings *settings)
{
	if (settings->rxq != settings->txq && settings->rxq && settings->txq)
		return app_complain(
			APP_EXIT_USAGE,
			"%s %u and %s %u must be equal: each lcore serves one receive and one transmit queue",
			name_of(settings, "rxq"), settings->rxq, name_of(settings, "txq"), settings->txq);
	if (settings->target && settings->peer[0])
		return app_complain(APP_EXIT_USAGE, "%s and %s cannot be combined: remove one",
				    name_of(settings, "server"), name_of(settings, "peer"));
	if ((settings->target || settings->peer[0]) && settings->port_count != 1)
		return app_complain(APP_EXIT_USAGE,
				    "%s requires a port: --device DEV --ip ADDR/LEN, or [port.0] in a file",
				    name_of(settings, settings->target ? "server" : "peer"));
	if (settings->paths == 2 || settings->paths == 3)
		return app_complain(APP_EXIT_USAGE, "%s %u: use 1 (a single path) or 4 to 64",
				    name_of(settings, "paths"), settings->paths);
	if (settings->paths > 1 && settings->sack_window == 0)
		return app_complain(APP_EXIT_USAGE, "%s %u: multipath requires SACKs: remove %s off",
				    name_of(settings, "paths"), settings->paths, name_of(settings, "sack-window"));
	for (uint32_t i = 0; i < settings->port_count; i++) {
		if (settings->ports[i].device[0] == '\0')
			return app_complain(APP_EXIT_USAGE,
					    "port %u has no device: give --device DEV, or device= in %s%s[port.%u]", i,
					    settings->config, settings->config[0] ? ": " : "", i);
		if (settings->ports[i].address_count == 0)
			return app_complain(APP_EXIT_USAGE,
					    "port %u has no address: give --ip ADDR/LEN, or ip= in %s%s[port.%u]", i,
					    settings->config, settings->config[0] ? ": " : "", i);
	}
	if (settings->port_count == 1 && !settings->target && !settings->peer[0] && !settings->interactive &&
	    !settings->cmdline_file[0])
		return app_complain(APP_EXIT_USAGE, "with one port, add --peer HOST or --server, or run the command "
						    "\"listen\" or \"connect\"; otherwise add a second port");
	if (settings->cmdline_file[0] && !app_is_readable(settings->cmdline_file))
		return app_complain(APP_EXIT_ENVIRONMENT, "%s %s: %s", name_of(settings, "cmdline-file"),
				    settings->cmdline_file, strerror(errno));
	if (settings->port_count != 1 && settings_pkeys_are_limited(settings->pkey, settings->pkey))
		return app_complain(APP_EXIT_USAGE,
				    "%s 0x%04x: both ports would be limited partition members, which receive from full "
				    "members only: use 0x%04x",
				    name_of(settings, "pkey"), settings->pkey, settings->pkey | SETTINGS_PKEY_FULL);
	if (settings->limit_qps < 2 * settings->qps)
		return app_complain(APP_EXIT_USAGE, "%s %u: must not exceed half of %s %u", name_of(settings, "qps"),
				    settings->qps, name_of(settings, "limit-qps"), settings->limit_qps);
	return 0;
}

/* Prints one line per key that a file may have: "[traffic] size: 1 ... 1048576: 4096: bytes of a message". */
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

/* ---- the command line ---- */

int settings_read(struct settings *settings, int argc, char **argv)
{
	int error;

	*settings = defaults;
	error = app_option_parse(&option_set, argc, argv, settings);
	if (error)
		return error;
	if (settings->help) {
		print_keys(&port_set, "port.N");
		print_keys(&option_set, NULL);
		return 1 + APP_EXIT_OK;
	}
	if (optind < argc)
		error = app_complain(APP_EXIT_USAGE, "\"%s\": not an option; --help lists the options", argv[optind]);
	if (error == 0 && settings->config[0])
		error = read_file(settings);
	if (error == 0)
		error = read_mix(settings);
	if (error == 0)
		error = check_together(settings);
	return error ? 1 + error : 0;
}

void settings_keep_eal_args(struct settings *settings, const struct app_args *args)
{
	size_t bytes = 0;

	for (int i = 1; i < args->eal_count && bytes < sizeof(settings->eal_args); i++)
		bytes += (size_t)snprintf(settings->eal_args + bytes, sizeof(settings->eal_args) - bytes, "%s%s",
					  i > 1 ? " " : "", args->eal[i]);
	option_set.origins[app_option_find(&option_set, "eal-args")] = OPTION_FROM_LINE;
}

void settings_came_from_prompt(const char *name)
{
	option_set.origins[app_option_find(&option_set, name)] = OPTION_FROM_PROMPT;
}

int settings_change(struct settings *settings, const char *name, const char *value)
{
	struct settings changed = *settings;
	int error = app_option_parse_value(&option_set.rows[app_option_find(&option_set, name)], name, value, &changed);

	if (error == 0)
		error = read_mix(&changed);
	if (error == 0)
		*settings = changed;
	return error;
}

/* Rows with a parser are about ports. */
static bool is_setting(const struct option_row *row)
{
	return row->parse == NULL && row->offset != offsetof(struct settings, help);
}

static void write_port(const struct settings *settings, uint32_t index, FILE *out)
{
	const struct settings_port *port = &settings->ports[index];

	fprintf(out, "[port.%u]\ndevice=%s\n", index, port->device);
	for (uint32_t i = 0; i < port->address_count; i++) {
		fprintf(out, "ip=%s\n", port->addresses[i]);
		if (port->gateways[i][0])
			fprintf(out, "gateway=%s\n", port->gateways[i]);
	}
	if (port->vlan.id || port->vlan.priority)
		fprintf(out, "vlan=%u:%u\n", port->vlan.id, port->vlan.priority);
	if (port->mtu)
		fprintf(out, "mtu=%u\n", port->mtu);
	if (port->no_dad || settings->no_dad)
		fprintf(out, "no-dad=1\n");
	fprintf(out, "\n");
}

static void write_section(const struct settings *settings, const char *section, FILE *out)
{
	bool begun = false;

	for (size_t i = 0; i < option_set.count; i++) {
		const struct option_row *row = &option_set.rows[i];
		char value[OPTION_VALUE_BYTES], usual[OPTION_VALUE_BYTES];
		const char *text = app_option_format(row, settings, value);

		if (row->section == NULL || strcmp(row->section, section) != 0 ||
		    strcmp(text, app_option_format(row, &defaults, usual)) == 0)
			continue;
		fprintf(out, "%s%s%s%s=%s\n", begun ? "" : "[", begun ? "" : section, begun ? "" : "]\n",
			row->word->name, text);
		begun = true;
	}
	if (begun)
		fprintf(out, "\n");
}

int settings_save(const struct settings *settings, const char *path)
{
	static const char *const sections[] = { "lcores", "limits", "traffic", "faults", "eal" };
	FILE *out = fopen(path, "w");

	if (out == NULL)
		return app_complain(APP_EXIT_ENVIRONMENT, "%s: cannot be written: %s", path, strerror(errno));
	fprintf(out, "; settings of uroce-testpmd that differ from the defaults; use: uroce-testpmd --config %s\n\n",
		path);
	for (uint32_t i = 0; i < settings->port_count; i++)
		write_port(settings, i, out);
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
		write_section(settings, sections[i], out);
	if (fclose(out) != 0)
		return app_complain(APP_EXIT_ENVIRONMENT, "%s: cannot be written: %s", path, strerror(errno));
	return APP_EXIT_OK;
}

void settings_print(const struct settings *settings)
{
	for (uint32_t i = 0; i < settings->port_count; i++) {
		printf("  port %u           %s", i, settings->ports[i].device);
		for (uint32_t a = 0; a < settings->ports[i].address_count; a++) {
			const char *gateway = settings->ports[i].gateways[a];

			printf(" %s%s%s", settings->ports[i].addresses[a], *gateway ? " by gateway " : "", gateway);
		}
		if (settings->ports[i].vlan.id || settings->ports[i].vlan.priority)
			printf(" VLAN %u, priority %u", settings->ports[i].vlan.id, settings->ports[i].vlan.priority);
		printf("\n");
	}
	if (settings->port_count == 0)
		printf("  ports            two, looped in this process\n");
	for (size_t i = 0; i < option_set.count; i++) {
		const struct option_row *row = &option_set.rows[i];
		char value[OPTION_VALUE_BYTES];

		if (is_setting(row))
			printf("  %-16s %-28s (%s)\n", row->word->name, app_option_format(row, settings, value),
			       origin_names[option_set.origins[i]]);
	}
}

/* Can "set" change it? */
static bool can_change(const struct option_row *row)
{
	static const char *const names[] = { "size", "tx-depth", "burst", "mix", "stats-period", "verbose" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (row == &table[app_option_find(&option_set, names[i])])
			return true;
	}
	return false;
}

void settings_print_changes(FILE *out, unsigned indent, unsigned column, const char *name)
{
	for (size_t i = 0; i < option_set.count; i++) {
		const struct option_row *row = &table[i];
		const struct option_word *word = row->word;
		bool bounded = strcmp(word->name, "size") == 0 || strcmp(word->name, "tx-depth") == 0;

		if (can_change(row) && (name == NULL || strcmp(word->name, name) == 0))
			app_option_print_help(&option_set, row, out,
					      (unsigned)fprintf(out, "%*sset %s %s", (int)indent, "", word->name,
								word->value),
					      column, bounded ? "; at most the value at program start" : "");
	}
}
