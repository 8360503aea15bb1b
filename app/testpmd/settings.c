/* settings.c - reads the rows of settings from the command line, a file and the prompt */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_cfgfile.h>

#include "common/number.h"
#include "common/option.h"
#include "common/ports.h"
#include "testpmd/rows.h"
#include "testpmd/words.h"

enum origin { FROM_DEFAULT, FROM_FILE, FROM_LINE, FROM_PROMPT };

static const char *const origin_names[] = { "default", "file", "command line", "prompt" };

/* Those that a mix can have; the others are NULL. */
const char *const settings_op_names[SETTINGS_OPS] = {
	[UROCE_WR_SEND] = "send",
	[UROCE_WR_SEND_WITH_IMM] = "send_imm",
	[UROCE_WR_RDMA_WRITE] = "write",
	[UROCE_WR_RDMA_WRITE_WITH_IMM] = "write_imm",
	[UROCE_WR_RDMA_READ] = "read",
	[UROCE_WR_ATOMIC_CMP_AND_SWP] = "cswap",
	[UROCE_WR_ATOMIC_FETCH_AND_ADD] = "fadd",
	[UROCE_WR_ATOMIC_WRITE] = "awrite",
	[UROCE_WR_FLUSH] = "flush",
};

#define LETTER_DEVICE 'd'
#define LETTER_IP 301
#define LETTER_KEYS 302
#define LETTER_GATEWAY 303
#define LETTER_VLAN 304

static enum origin origins[ROWS];

static int refuse(const char *where, const char *name, const char *value, const char *wanted)
{
	return app_complain(APP_EXIT_USAGE, "%s%s \"%s\": must be %s", where, name, value, wanted);
}

/* What the user calls it, where it was given. */
static const char *name_at(const struct row *row, const char *where)
{
	return strcmp(where, "--") == 0 || row->key == NULL ? row->option : row->key;
}

/* The same of a setting that has been taken: "--mtu" or "FILE: [traffic] mtu"; good until two more were asked for. */
static const char *name_of(const struct settings *settings, size_t offset)
{
	static char names[2][SETTINGS_TEXT_BYTES + 80];
	static unsigned turn;
	char *name = names[turn++ % 2];
	size_t i = 0;

	while (rows[i].offset != offset)
		i++;
	if (origins[i] == FROM_FILE)
		snprintf(name, sizeof(names[0]), "%s: [%s] %s", settings->config, rows[i].section, rows[i].key);
	else
		snprintf(name, sizeof(names[0]), "--%s", rows[i].option);
	return name;
}

/* 0, or the exit code after a complaint. where: "--" or "FILE: [section] ". */
static int set_value(struct settings *settings, const struct row *row, const char *text, const char *where)
{
	void *place = (char *)settings + row->offset;
	const char *name = name_at(row, where);
	char range[64];
	uint64_t number;

	switch (row->kind) {
	case TEXT:
		if (strlen(text) >= SETTINGS_TEXT_BYTES)
			return refuse(where, name, text, "shorter than 256 characters");
		strcpy(place, text);
		return 0;
	case IDLE:
		for (uint32_t i = 0; i < 3; i++) {
			if (strcmp(text, rows_idle_names[i]) == 0) {
				*(uint32_t *)place = i;
				return 0;
			}
		}
		return refuse(where, name, text, "poll, yield or sleep");
	case PROBABILITY:
		return app_probability_parse(text, place) ? 0 : refuse(where, name, text, "0 ... 1, or 0% ... 100%");
	case SIZE:
	case FLAG:
	case NUMBER:
		snprintf(range, sizeof(range), "a %s from %lu to %lu",
			 row->kind == SIZE ? "size such as 512 or 64k," : "number", row->low, row->high);
		if (!(row->kind == SIZE ? app_size_parse : app_number_parse)(text, row->low, row->high, &number))
			return refuse(where, name, text, range);
		*(uint32_t *)place = (uint32_t)number;
		return 0;
	}
	return APP_EXIT_INTERNAL;
}

static int add_address(struct settings_port *port, const char *text, const char *where)
{
	struct uroce_addr addr;
	unsigned prefix;

	if (uroce_addr_parse(text, &addr, &prefix) != 0 || strlen(text) >= sizeof(port->addresses[0]))
		return refuse(where, "ip", text, "an address such as 10.0.0.1/24 or fe80::1/64");
	if (port->address_count == UROCE_ADDRS_MAX)
		return app_complain(APP_EXIT_USAGE, "%sip %s: a port has at most %d addresses", where, text,
				    UROCE_ADDRS_MAX);
	strcpy(port->addresses[port->address_count++], text);
	return 0;
}

static int add_gateway(struct settings_port *port, const char *text, const char *where)
{
	struct uroce_addr addr;

	if (uroce_addr_parse(text, &addr, NULL) != 0 || strlen(text) >= sizeof(port->gateways[0]))
		return refuse(where, "gateway", text, "an address such as 10.0.0.254 or fe80::fe");
	if (port->address_count == 0)
		return app_complain(APP_EXIT_USAGE, "%sgateway %s: comes after the ip that it belongs to", where, text);
	strcpy(port->gateways[port->address_count - 1], text);
	return 0;
}

static int set_vlan(struct settings_port *port, const char *text, const char *where)
{
	char name[SETTINGS_TEXT_BYTES + 96];

	snprintf(name, sizeof(name), "%svlan", where);
	return app_vlan_parse(name, text, &port->vlan);
}

/* ---- the file ---- */

static int read_port_entry(struct settings_port *port, const struct rte_cfgfile_entry *entry, const char *where)
{
	static const struct row mtu_row = {
		.option = "mtu", .kind = NUMBER, .low = 256, .high = 4096, .offset = AT(mtu)
	};
	struct settings scratch;
	int error;

	if (strcmp(entry->name, "ip") == 0)
		return add_address(port, entry->value, where);
	if (strcmp(entry->name, "device") == 0) {
		snprintf(port->device, sizeof(port->device), "%s", entry->value);
		return 0;
	}
	if (strcmp(entry->name, "gateway") == 0)
		return add_gateway(port, entry->value, where);
	if (strcmp(entry->name, "vlan") == 0)
		return set_vlan(port, entry->value, where);
	if (strcmp(entry->name, "mtu") != 0)
		return app_complain(APP_EXIT_USAGE, "%s%s: no such key; device, ip, gateway, vlan and mtu are", where,
				    entry->name);
	error = set_value(&scratch, &mtu_row, entry->value, where);
	if (error == 0)
		port->mtu = scratch.mtu;
	return error;
}

static int read_entry(struct settings *settings, const char *section, const struct rte_cfgfile_entry *entry,
		      const char *where)
{
	for (size_t i = 0; i < ROWS; i++) {
		if (rows[i].section == NULL || strcmp(rows[i].section, section) || strcmp(rows[i].key, entry->name))
			continue;
		if (origins[i] == FROM_LINE)
			return 0; /* the command line wins */
		origins[i] = FROM_FILE;
		return set_value(settings, &rows[i], entry->value, where);
	}
	return app_complain(APP_EXIT_USAGE, "%s%s: no such key", where, entry->name);
}

/* The second one would win, or nobody would look at it. Only a port may have several addresses. */
static int refuse_twins(const struct rte_cfgfile_entry *entries, int count, bool is_port, const char *where)
{
	for (int i = 1; i < count; i++) {
		for (int before = 0; before < i; before++) {
			if (strcmp(entries[i].name, entries[before].name) == 0 &&
			    !(is_port &&
			      (strcmp(entries[i].name, "ip") == 0 || strcmp(entries[i].name, "gateway") == 0)))
				return app_complain(APP_EXIT_USAGE, "%s%s is there twice (%s, %s): remove one", where,
						    entries[i].name, entries[before].value, entries[i].value);
		}
	}
	return 0;
}

static int read_section(struct settings *settings, struct rte_cfgfile *file, const char *section, bool ports_wanted)
{
	struct rte_cfgfile_entry entries[32];
	int count = rte_cfgfile_section_entries(file, section, entries, 32);
	char where[SETTINGS_TEXT_BYTES + 80];
	unsigned number = 0;
	bool is_port = sscanf(section, "port.%u", &number) == 1;
	int error = 0;

	snprintf(where, sizeof(where), "%s: [%s] ", settings->config, section);
	if (is_port && number >= SETTINGS_PORTS)
		return app_complain(APP_EXIT_USAGE, "%sports are port.0 and port.1", where);
	error = refuse_twins(entries, count, is_port, where);
	for (int i = 0; i < count && error == 0; i++) {
		if (!is_port)
			error = read_entry(settings, section, &entries[i], where);
		else if (ports_wanted)
			error = read_port_entry(&settings->ports[number], &entries[i], where);
	}
	if (is_port && ports_wanted && number + 1 > settings->port_count)
		settings->port_count = number + 1;
	return error;
}

static int read_file(struct settings *settings)
{
	char names[16][CFG_NAME_LEN];
	char *sections[16];
	struct rte_cfgfile *file;
	bool ports_wanted = settings->port_count == 0; /* else the command line has named them */
	int count, error = 0;

	if (!app_is_readable(settings->config))
		return app_complain(APP_EXIT_ENVIRONMENT, "--config %s: %s", settings->config, strerror(errno));
	file = rte_cfgfile_load(settings->config, 0);
	if (file == NULL)
		return app_complain(APP_EXIT_USAGE, "--config %s: not an INI file: [section], then key=value lines",
				    settings->config);
	for (int i = 0; i < 16; i++)
		sections[i] = names[i];
	count = rte_cfgfile_sections(file, sections, 16);
	for (int i = 1; i < count && error == 0; i++) {
		for (int before = 0; before < i && error == 0; before++) {
			if (strcmp(names[i], names[before]) == 0)
				error = app_complain(APP_EXIT_USAGE, "%s: [%s] is there twice: put its keys together",
						     settings->config, names[i]);
		}
	}
	for (int i = 0; i < count && error == 0; i++)
		error = read_section(settings, file, sections[i], ports_wanted);
	rte_cfgfile_close(file);
	return error;
}

/* ---- what fits together ---- */

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
		if (strcmp(name, "send_inv") == 0)
			return refuse("", name_of(settings, AT(mix)), shown,
				      "without send_inv: a peer binds a memory window for each of them, which "
				      "uroce-perf --op send_inv arranges");
		if (op == SETTINGS_OPS || (number && !app_number_parse(number, 0, 1000000, &weight)))
			return refuse(
				"", name_of(settings, AT(mix)), shown,
				"NAME:WEIGHT of send, send_imm, write, write_imm, awrite, flush, read, fadd, cswap");
		settings->weights[op] += (uint32_t)weight;
		sum += weight;
	}
	return sum ? 0 : refuse("", name_of(settings, AT(mix)), settings->mix, "something with a weight above 0");
}

static int check_together(const struct settings *settings)
{
	if (settings->mtu & (settings->mtu - 1))
		return app_complain(APP_EXIT_USAGE, "%s %u: must be 256, 512, 1024, 2048 or 4096",
				    name_of(settings, AT(mtu)), settings->mtu);
	if (settings->rxq != settings->txq && settings->rxq && settings->txq)
		return app_complain(APP_EXIT_USAGE, "%s %u and %s %u: an lcore serves one of each: give both the same",
				    name_of(settings, AT(rxq)), settings->rxq, name_of(settings, AT(txq)),
				    settings->txq);
	if (settings->target && settings->peer[0])
		return app_complain(APP_EXIT_USAGE, "%s and %s: one process is one of them",
				    name_of(settings, AT(target)), name_of(settings, AT(peer)));
	if ((settings->target || settings->peer[0]) && settings->port_count != 1)
		return app_complain(APP_EXIT_USAGE,
				    "%s needs one port: --device DEV --ip ADDR/LEN, or [port.0] in a file",
				    name_of(settings, settings->target ? AT(target) : AT(peer)));
	for (uint32_t i = 0; i < settings->port_count; i++) {
		if (settings->ports[i].device[0] == '\0' || settings->ports[i].address_count == 0)
			return app_complain(APP_EXIT_USAGE, "port %u needs a device and an address", i);
	}
	if (settings->port_count == 1 && !settings->target && !settings->peer[0] && !settings->interactive &&
	    !settings->cmdline_file[0])
		return app_complain(APP_EXIT_USAGE,
				    "one port needs --peer HOST or --target, or commands that listen or "
				    "connect; or name a second one");
	if (settings->limit_qps < 2 * settings->qps)
		return app_complain(APP_EXIT_USAGE, "%s %u: at most half of %s %u", name_of(settings, AT(qps)),
				    settings->qps, name_of(settings, AT(limit_qps)), settings->limit_qps);
	return 0;
}

/* ---- the command line ---- */

/* Of the last port. */
static int take_port_letter(struct settings *settings, int letter, const char *text)
{
	const char *name = letter == LETTER_IP ? "ip" : letter == LETTER_VLAN ? "vlan" : "gateway";
	struct settings_port *port;

	if (letter == LETTER_DEVICE) {
		if (settings->port_count == SETTINGS_PORTS)
			return app_complain(APP_EXIT_USAGE, "--device %s: two ports at most", text);
		snprintf(settings->ports[settings->port_count++].device, SETTINGS_TEXT_BYTES, "%s", text);
		return 0;
	}
	if (settings->port_count == 0)
		return app_complain(APP_EXIT_USAGE, "--%s %s: comes after the --device that it belongs to", name, text);
	port = &settings->ports[settings->port_count - 1];
	return letter == LETTER_IP   ? add_address(port, text, "--") :
	       letter == LETTER_VLAN ? set_vlan(port, text, "--") :
				       add_gateway(port, text, "--");
}

static int take_letter(struct settings *settings, int letter, const char *text)
{
	if (letter == LETTER_DEVICE || letter == LETTER_IP || letter == LETTER_VLAN || letter == LETTER_GATEWAY)
		return take_port_letter(settings, letter, text);
	for (size_t i = 0; i < ROWS; i++) {
		if (rows[i].letter == letter) {
			origins[i] = FROM_LINE;
			return set_value(settings, &rows[i], rows[i].kind == FLAG ? "1" : text, "--");
		}
	}
	return APP_EXIT_USAGE; /* app_option_next() has complained */
}

/* The rows as getopt_long wants them; short holds the letters. */
static void make_options(struct option *options, char *letters)
{
	size_t n = 0;

	*letters++ = ':';
	for (size_t i = 0; i < ROWS; i++) {
		bool argument = rows[i].kind != FLAG;

		options[n++] = (struct option){ rows[i].option, argument ? required_argument : no_argument, NULL,
						rows[i].letter };
		if (rows[i].letter < 256) {
			*letters++ = (char)rows[i].letter;
			if (argument)
				*letters++ = ':';
		}
	}
	strcpy(letters, "d:hV");
	options[n++] = (struct option){ "device", required_argument, NULL, LETTER_DEVICE };
	options[n++] = (struct option){ "ip", required_argument, NULL, LETTER_IP };
	options[n++] = (struct option){ "vlan", required_argument, NULL, LETTER_VLAN };
	options[n++] = (struct option){ "gateway", required_argument, NULL, LETTER_GATEWAY };
	options[n++] = (struct option){ "help-settings", no_argument, NULL, LETTER_KEYS };
	options[n++] = (struct option){ "help", no_argument, NULL, 'h' };
	options[n++] = (struct option){ "version", no_argument, NULL, 'V' };
	options[n] = (struct option){ NULL, 0, NULL, 0 };
}

int settings_read(struct settings *settings, int argc, char **argv)
{
	struct option options[ROWS + 8];
	char letters[3 * ROWS];
	int letter, error = 0;

	*settings = rows_defaults;
	make_options(options, letters);
	for (int i = 1; i < argc; i++) {
		const char *why = words_of_option(argv[i]);

		if (why)
			return 1 + app_complain(APP_EXIT_USAGE, "%s is testpmd's of DPDK: %s", argv[i], why);
	}
	while (error == 0 && (letter = app_option_next(argc, argv, letters, options)) != -1) {
		if (letter == 'h' || letter == 'V' || letter == LETTER_KEYS) {
			if (letter == 'h')
				rows_print_help();
			else if (letter == LETTER_KEYS)
				rows_print_keys();
			else
				printf("uroce-testpmd %s\n", uroce_version());
			return 1 + APP_EXIT_OK;
		}
		error = take_letter(settings, letter, optarg);
	}
	if (error == 0 && optind < argc)
		error = app_complain(APP_EXIT_USAGE, "\"%s\": not an option; --help lists them", argv[optind]);
	if (error == 0 && settings->config[0])
		error = read_file(settings);
	if (error == 0)
		error = read_mix(settings);
	if (error == 0)
		error = check_together(settings);
	return error ? 1 + error : 0;
}

/* By the name of the option or of the key. */
static size_t find_row(const char *name)
{
	size_t i = 0;

	while (strcmp(rows[i].option, name) != 0 && (rows[i].key == NULL || strcmp(rows[i].key, name) != 0))
		i++;
	return i;
}

void settings_came_from_prompt(const char *name)
{
	origins[find_row(name)] = FROM_PROMPT;
}

int settings_change(struct settings *settings, const char *name, const char *value)
{
	struct settings changed = *settings;
	size_t i = find_row(name);
	int error;

	error = set_value(&changed, &rows[i], value, "");
	if (error == 0 && rows[i].offset == AT(mix))
		error = read_mix(&changed);
	if (error)
		return error;
	*settings = changed;
	return 0;
}

void settings_print(const struct settings *settings, FILE *out)
{
	for (uint32_t i = 0; i < settings->port_count; i++) {
		fprintf(out, "  port %u           %s", i, settings->ports[i].device);
		for (uint32_t a = 0; a < settings->ports[i].address_count; a++) {
			const char *gateway = settings->ports[i].gateways[a];

			fprintf(out, " %s%s%s", settings->ports[i].addresses[a], *gateway ? " by gateway " : "",
				gateway);
		}
		if (settings->ports[i].vlan.id || settings->ports[i].vlan.priority)
			fprintf(out, " VLAN %u, priority %u", settings->ports[i].vlan.id,
				settings->ports[i].vlan.priority);
		fprintf(out, "\n");
	}
	if (settings->port_count == 0)
		fprintf(out, "  ports            two, looped in this process\n");
	for (size_t i = 0; i < ROWS; i++) {
		char value[ROWS_VALUE_BYTES];

		fprintf(out, "  %-16s %-28s (%s)\n", rows[i].option, rows_format(&rows[i], settings, value),
			origin_names[origins[i]]);
	}
}
