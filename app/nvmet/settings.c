/* settings.c - reads what the target serves and where, from the command line or an INI file */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmet/settings.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "common/ini.h"
#include "common/names.h"
#include "common/number.h"
#include "common/words.h"
#include "nvmet/identity.h"

#define IN_CAPSULE_BYTES 4096u
#define STORE_BYTES_MAX ((uint64_t)INT64_MAX)

/* ---- values ---- */

static int parse_in_capsule(const char *where, const char *text, void *bytes)
{
	uint64_t value;

	if (!app_size_parse(text, 0, 16384, &value) || value % 16)
		return app_complain(APP_EXIT_USAGE, "%s %s: use a multiple of 16 from 0 to 16384", where, text);
	*(uint32_t *)bytes = (uint32_t)value;
	return APP_EXIT_OK;
}

static int parse_max_data(const char *where, const char *text, void *bytes)
{
	uint64_t value;

	if (!app_size_parse(text, 4096, 1 << 20, &value) || (value & (value - 1)))
		return app_complain(APP_EXIT_USAGE, "%s %s: use 4k, 8k, 16k, 32k, 64k, 128k, 256k, 512k or 1M", where,
				    text);
	*(uint32_t *)bytes = (uint32_t)value;
	return APP_EXIT_OK;
}

static int parse_text(const char *where, const char *text, char *out, size_t bytes)
{
	if (strlen(text) >= bytes)
		return app_complain(APP_EXIT_USAGE, "%s %s: use up to %zu characters", where, text, bytes - 1);
	strcpy(out, text);
	return APP_EXIT_OK;
}

int settings_block_parse(const char *where, const char *text, void *bytes)
{
	uint64_t value;

	if (!app_size_parse(text, 512, 4096, &value) || (value != 512 && value != 4096))
		return app_complain(APP_EXIT_USAGE, "%s %s: use 512 or 4096", where, text);
	*(uint32_t *)bytes = (uint32_t)value;
	return APP_EXIT_OK;
}

static int parse_nqn(const char *where, const char *text, void *out)
{
	if (strlen(text) >= SETTINGS_TEXT_BYTES || !nvmf_nqn_is_valid(text))
		return app_complain(APP_EXIT_USAGE,
				    "%s %s: use a name such as nqn.2026-01.org.example:disk1, at most %u characters",
				    where, text, NVME_NQN_MAX);
	strcpy(out, text);
	return APP_EXIT_OK;
}

static int parse_uuid(const char *where, const char *text, void *out)
{
	uuid_t uuid;

	if (uuid_parse(text, uuid) != 0)
		return app_complain(APP_EXIT_USAGE, "%s %s: use one such as 3f1b5f9c-8b5d-4b86-a2ea-3c0c7e1f6d55",
				    where, text);
	strcpy(out, text);
	return APP_EXIT_OK;
}

int settings_disk_text(const char *text, struct settings_disk *disk, char error[STORE_ERROR_BYTES])
{
	const char *colon = strrchr(text, ':');
	bool sized = colon && app_size_parse(colon + 1, 0, UINT64_MAX, &disk->bytes);

	if (!sized)
		disk->bytes = 0;
	disk->kind = STORE_FILE;
	snprintf(disk->path, sizeof(disk->path), "%.*s", (int)(sized ? (size_t)(colon - text) : strlen(text)), text);
	if (strcmp(disk->path, "memory") == 0 || strcmp(disk->path, "null") == 0)
		disk->kind = disk->path[0] == 'm' ? STORE_MEMORY : STORE_NULL;
	if (strlen(text) >= sizeof(disk->path))
		return store_refuse(error, "%.64s...: use up to %zu characters", text, sizeof(disk->path) - 1);
	if (sized && (disk->bytes == 0 || disk->bytes > STORE_BYTES_MAX))
		return store_refuse(error, "%s: use a size such as 64k, 16M or 1G, from 512 to %lu bytes", text,
				    STORE_BYTES_MAX);
	if (disk->kind != STORE_FILE && disk->bytes == 0)
		return store_refuse(error, "%s: the size is missing: use a form such as %s:1G", text,
				    disk->kind == STORE_NULL ? "null" : "memory");
	if (disk->kind == STORE_FILE && strchr(disk->path, '/') == NULL)
		return store_refuse(
			error, "%s: use memory:SIZE, null:SIZE, or a path that contains a /, such as ./disk.img:1G",
			text);
	return 0;
}

int settings_disk_parse(const char *option, const char *text, void *disk)
{
	char error[STORE_ERROR_BYTES];

	return settings_disk_text(text, disk, error) == 0 ? APP_EXIT_OK :
							    app_complain(APP_EXIT_USAGE, "%s %s", option, error);
}

struct store_config settings_store(const struct settings_disk *disk)
{
	return (struct store_config){
		.kind = disk->kind,
		.path = disk->path,
		.bytes = disk->bytes,
		.block_bytes = disk->block_bytes,
		.buffered = disk->buffered,
		.read_only = disk->read_only,
	};
}

int settings_disk_check(const char *where, const struct settings_disk *disk)
{
	uint64_t there = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);

	if (disk->bytes && disk->bytes < disk->block_bytes)
		return app_complain(APP_EXIT_USAGE,
				    "%s: %lu bytes are less than one block of %u bytes: use a larger size", where,
				    disk->bytes, disk->block_bytes);
	if (disk->bytes % disk->block_bytes)
		return app_complain(APP_EXIT_USAGE,
				    "%s: %lu bytes is not a multiple of the block size, %u: use %lu or %lu", where,
				    disk->bytes, disk->block_bytes, disk->bytes / disk->block_bytes * disk->block_bytes,
				    (disk->bytes / disk->block_bytes + 1) * disk->block_bytes);
	if (disk->kind == STORE_MEMORY && disk->bytes > there)
		return app_complain(
			APP_EXIT_ENVIRONMENT,
			"%s: %lu bytes exceed the memory of this machine, %lu bytes: use a smaller size, or a file",
			where, disk->bytes, there);
	return APP_EXIT_OK;
}

/* ---- the command line ---- */

static int parse_hosts(const char *where, const char *text, void *place)
{
	struct settings_subsystem *subsystem = place;
	char copy[1024], *rest = copy, *word;
	int code = parse_text(where, text, copy, sizeof(copy));

	while (code == APP_EXIT_OK && (word = strsep(&rest, " ,")) != NULL) {
		if (*word == '\0')
			continue;
		if (subsystem->host_count == NVMF_HOSTS_MAX)
			return app_complain(APP_EXIT_USAGE, "%s: give up to %u hosts", where, NVMF_HOSTS_MAX);
		code = parse_nqn(where, word, subsystem->hosts[subsystem->host_count++]);
	}
	return code;
}

static int add_disk(const char *option, const char *text, void *place)
{
	struct settings *settings = place;
	struct settings_disk *disk = &settings->disks[settings->disk_count];

	if (settings->disk_count == SETTINGS_DISKS_MAX)
		return app_complain(APP_EXIT_USAGE, "%s %s: give up to %u namespaces", option, text,
				    SETTINGS_DISKS_MAX);
	settings->disk_count++;
	snprintf(disk->where, sizeof(disk->where), "%s %.*s", option, (int)SETTINGS_TEXT_BYTES, text);
	if (strcmp(option, "--memory") != 0)
		return settings_disk_parse(option, text, disk);
	disk->kind = STORE_MEMORY;
	return app_size_expect(option, text, 512, STORE_BYTES_MAX, &disk->bytes);
}

/*
 * An address or a gateway belongs to the device named before it. If no device was named before, it belongs to the next
 * one or, if none is named at all, to the first device that EAL was given.
 */
static struct settings_port *last_port(struct settings *settings)
{
	if (settings->port_count == 0)
		settings->port_count = 1;
	return &settings->ports[settings->port_count - 1];
}

static const struct option_set port_set;

static int parse_of_port(const char *option, const char *text, void *place)
{
	return app_option_parse_value(&port_set.rows[app_option_find(&port_set, option + strlen("--"))], option, text,
				      last_port(place));
}

static int parse_device(const char *option, const char *text, void *place)
{
	struct settings *settings = place;

	if (settings->port_count == SERVER_PORTS_MAX)
		return app_complain(APP_EXIT_USAGE, "%s %s: give up to %u ports", option, text, SERVER_PORTS_MAX);
	if (settings->port_count != 1 || settings->ports[0].device[0])
		settings->port_count++;
	return parse_of_port(option, text, place);
}

static int parse_ip(const char *option, const char *text, void *place)
{
	struct settings_port *port = last_port(place);

	if (port->ip[0])
		return app_complain(APP_EXIT_USAGE,
				    "%s %s: port %s already has the address %s: put the --device of the next port "
				    "before this option",
				    option, text, port->device, port->ip);
	return parse_of_port(option, text, place);
}

static int parse_uuid_of_last(const char *option, const char *text, void *place)
{
	struct settings *settings = place;

	if (settings->disk_count == 0)
		return app_complain(APP_EXIT_USAGE, "%s %s: no --file precedes this option: put the --file before it",
				    option, text);
	return parse_uuid(option, text, settings->disks[settings->disk_count - 1].uuid);
}

#define AT(member) OPTION_AT(struct settings, member)
#define WHOLE 0, sizeof(struct settings)
#define TARGET .section = "target"

/*
 * The defaults; the settings of the command line alone; those that the target started with. Static and not const,
 * because they are large and mostly zeros.
 */
static struct settings usual, line, started;

/* clang-format off */
static const struct option_row rows[] = {
	{ WORD_OF(DEVICE), WHOLE, .parse = parse_device, .usual = "the first port given to EAL",
	  .more = "once for each port" },
	{ WORD_OF(IP), WHOLE, .parse = parse_ip, .more = "of the last --device" },
	{ WORD_OF(GATEWAY), WHOLE, .parse = parse_of_port, .usual = "none" },
	{ WORD_OF(VLAN), WHOLE, .parse = parse_of_port, .more = "of the last --device", .usual = "none" },
	{ WORD_OF(NO_DAD), AT(no_dad), TARGET },
	{ WORD_OF(PORT), AT(service), TARGET, .more = "of NVMe over RDMA" },
	{ WORD_OF(FILE), WHOLE, .parse = add_disk },
	{ WORD_OF(MEMORY), WHOLE, .parse = add_disk, .usual = "" },
	{ WORD_OF(STORE), WHOLE, .parse = add_disk, .more = "each --store adds a namespace to the subsystem" },
	{ WORD_OF(BLOCK), AT(all.block_bytes), .parse = settings_block_parse, .usual = "512" },
	{ WORD_OF(BUFFERED), AT(all.buffered) },
	{ WORD_OF(THREADS), AT(threads) },
	{ WORD_OF(READ_ONLY), AT(all.read_only) },
	{ WORD_OF(UUID), WHOLE, .parse = parse_uuid_of_last,
	  .more = "applies to the last --file; a block device requires the same UUID at every start, a file stores its "
		  "UUID" },
	{ WORD_OF(NQN), AT(subsystems[0].nqn), .parse = parse_nqn, .usual = "nqn.2026-01.uroce:UUID of this machine" },
	{ WORD_OF(HOST_NQN), AT(subsystems[0]), .parse = parse_hosts, .usual = "any" },
	{ WORD_OF(CONFIG), AT(config), .usual = "",
	  .more = "sections [target], [port.N], [subsystem.N] and [namespace.N]; SIGHUP reloads hosts and namespaces" },
	{ WORD_OF(CONTROL), AT(control) },
	{ WORD_OF(RECORD), AT(record), TARGET },
	{ WORD_OF(IDLE), AT(idle), TARGET },
	{ WORD_OF(NB_CORES), AT(nb_cores), .low = 1, .high = LANES_MAX, TARGET,
	  .more = "each lcore serves its own connections and one queue of each port" },
	{ WORD_OF(DRY_RUN), AT(dry_run) },

	/* only in a file */
	{ WORD_OF(QUEUE_DEPTH), AT(queue_depth), TARGET, .only_in_file = true, .usual = "128" },
	{ WORD_OF(IO_QUEUES), AT(io_queues), TARGET, .only_in_file = true, .usual = "128" },
	{ WORD_OF(IN_CAPSULE), AT(in_capsule_bytes), .parse = parse_in_capsule, TARGET, .only_in_file = true },
	{ WORD_OF(MAX_DATA), AT(max_data_bytes), .parse = parse_max_data, TARGET, .only_in_file = true },
	{ WORD_OF(POOL), AT(pool_bytes), TARGET, .only_in_file = true },
};
/* clang-format on */

static enum option_origin origins[sizeof(rows) / sizeof(rows[0])];

static const struct option_set option_set = {
	.program = "uroce-nvmet",
	OPTION_ROWS(rows),
	OPTION_SPELLINGS,
	.usual = &usual,
	.origins = origins,
	.head = "uroce-nvmet [EAL options] -- [options]\n"
		"NVMe over RDMA target for hosts that use NVMe over RoCEv2, such as Linux.\n"
		"\n",
	.tail = "\nPrints the commands for a Linux host. SIGTERM and ctrl-C disconnect all hosts and end the program.\n"
		"Exit: 0 ended, 2 usage, 3 environment (no port, no file, no memory), 4 internal.\n",
};

/* ---- the file ---- */

#define PORT_AT(member) OPTION_AT(struct settings_port, member)
#define SUBSYSTEM_AT(member) OPTION_AT(struct settings_subsystem, member)
#define DISK_AT(member) OPTION_AT(struct settings_disk, member)

/* clang-format off */
static const struct option_row port_rows[] = {
	{ WORD_OF(DEVICE), PORT_AT(device), .section = "" },
	{ WORD_OF(IP), PORT_AT(ip), .section = "" },
	{ WORD_OF(GATEWAY), PORT_AT(gateway), .section = "" },
	{ WORD_OF(VLAN), PORT_AT(vlan), .parse = app_vlan_expect, .section = "" },
};
static const struct option_row subsystem_rows[] = {
	{ WORD_OF(NQN), SUBSYSTEM_AT(nqn), .parse = parse_nqn, .section = "" },
	{ WORD_OF(SERIAL), SUBSYSTEM_AT(serial), .section = "" },
	{ WORD_OF(MODEL), SUBSYSTEM_AT(model), .section = "" },
	{ WORD_OF(HOST_NQN), 0, sizeof(struct settings_subsystem), .parse = parse_hosts, .section = "" },
};
static const struct option_row disk_rows[] = {
	{ WORD_OF(SUBSYSTEM), DISK_AT(subsystem), .parse = parse_nqn, .section = "" },
	{ WORD_OF(NSID), DISK_AT(nsid), .low = 1, .high = NVMF_NAMESPACES_MAX, .section = "" },
	{ WORD_OF(STORE), 0, sizeof(struct settings_disk), .parse = settings_disk_parse, .section = "" },
	{ WORD_OF(BLOCK), DISK_AT(block_bytes), .parse = settings_block_parse, .section = "" },
	{ WORD_OF(UUID), DISK_AT(uuid), .parse = parse_uuid, .section = "" },
	{ WORD_OF(BUFFERED), DISK_AT(buffered), .section = "" },
	{ WORD_OF(READ_ONLY), DISK_AT(read_only), .section = "" },
};
/* clang-format on */

#define FILE_SET(rows)                                                        \
	{                                                                     \
		.program = "uroce-nvmet", OPTION_ROWS(rows), OPTION_SPELLINGS \
	}

static const struct option_set port_set = FILE_SET(port_rows), subsystem_set = FILE_SET(subsystem_rows),
			       disk_set = FILE_SET(disk_rows);

/* What the keys of the section that is being read fill in. */
struct file {
	struct settings *settings;
	const struct option_set *set;
	void *place;
};

static int read_key(void *argument, const char *where, const char *section, const char *key, const char *value)
{
	const struct file *file = argument;

	return app_option_parse_key(file->set, section, key, where, value, file->place);
}

/* Chooses what the section fills in. Each element of the arrays begins with its `where`. */
static int begin_section(void *argument, const char *where, const char *section)
{
	struct file *file = argument;
	struct settings *all = file->settings;
	const struct {
		const char *prefix;
		const struct option_set *set;
		uint32_t *count, most;
		void *array;
		size_t bytes;
	} kinds[] = {
		{ "port.", &port_set, &all->port_count, SERVER_PORTS_MAX, all->ports, sizeof(all->ports[0]) },
		{ "subsystem.", &subsystem_set, &all->subsystem_count, NVMF_SUBSYSTEMS_MAX, all->subsystems,
		  sizeof(all->subsystems[0]) },
		{ "namespace.", &disk_set, &all->disk_count, SETTINGS_DISKS_MAX, all->disks, sizeof(all->disks[0]) },
	}, *kind = kinds;

	file->set = &option_set;
	file->place = all;
	if (strcmp(section, "target") == 0)
		return APP_EXIT_OK;
	while (kind < kinds + 3 && strncmp(section, kind->prefix, strlen(kind->prefix)) != 0)
		kind++;
	if (kind == kinds + 3)
		return app_complain(APP_EXIT_USAGE,
				    "%s: unknown section; use [target], [port.N], [subsystem.N] or [namespace.N]",
				    where);
	if (kind->set == &port_set && line.port_count)
		return app_complain(
			APP_EXIT_USAGE,
			"%s: ports are given both in the file and on the command line: use only one of the two", where);
	if (*kind->count == kind->most)
		return app_complain(APP_EXIT_USAGE, "%s: at most %u of them", where, kind->most);
	file->set = kind->set;
	file->place = (char *)kind->array + (*kind->count)++ * kind->bytes;
	if (kind->set == &disk_set)
		((struct settings_disk *)file->place)->block_bytes = 512;
	return parse_text(where, where, file->place, SETTINGS_WHERE_BYTES);
}

static int complete(struct settings *settings)
{
	static const char *const no_config[] = { "file", "memory",    "store", "block",   "buffered",
						 "uuid", "read-only", "nqn",   "host-nqn" };
	struct file file = { .settings = settings };
	const struct app_ini_reader reader = { begin_section, read_key, NULL, &file };
	int code = APP_EXIT_OK;

	for (size_t i = 0; settings->config[0] && i < sizeof(no_config) / sizeof(no_config[0]); i++) {
		if (app_option_is_given(&option_set, no_config[i]))
			return app_complain(APP_EXIT_USAGE, "--%s cannot be combined with --config %s: remove --%s",
					    no_config[i], settings->config, no_config[i]);
	}
	for (uint32_t i = 0; i < settings->disk_count; i++) {
		settings->disks[i].block_bytes = settings->all.block_bytes;
		settings->disks[i].buffered = settings->all.buffered;
		settings->disks[i].read_only = settings->all.read_only;
	}
	if (settings->config[0])
		code = app_ini_read(settings->config, &reader);
	if (settings->subsystem_count == 0) {
		settings->subsystem_count = 1;
		if (settings->subsystems[0].nqn[0] == '\0' && identity_default_nqn(settings->subsystems[0].nqn) != 0)
			return app_complain(APP_EXIT_USAGE, "--nqn is missing, and no default NQN can be derived, "
							    "because /etc/machine-id does not exist: add --nqn NQN");
	}
	return code;
}

int settings_read(struct settings *settings, int argc, char **argv)
{
	int code;

	usual.service = SETTINGS_SERVICE;
	usual.idle = UROCE_IDLE_SLEEP;
	usual.nb_cores = 1;
	usual.in_capsule_bytes = IN_CAPSULE_BYTES;
	usual.pool_bytes = SETTINGS_POOL_BYTES;
	usual.all.block_bytes = 512;
	*settings = usual;
	code = app_option_parse(&option_set, argc, argv, settings);
	if (code)
		return code;
	if (optind < argc)
		return 1 + app_complain(APP_EXIT_USAGE, "\"%s\": unexpected argument: only options are allowed",
					argv[optind]);
	line = *settings;
	code = complete(settings);
	started = *settings;
	return code ? 1 + code : 0;
}

/* ---- the file, read again ---- */

int settings_reread(struct settings *new)
{
	*new = line;
	return complete(new);
}

/* The value as text, or "the default" for a value that only a default has. */
static const char *format_value(const struct option_row *row, const void *settings, char text[OPTION_VALUE_BYTES])
{
	struct option_row plain = *row;
	const char *value;

	plain.parse = NULL;
	value = app_option_format(&plain, settings, text);
	return *value == '\0' || (strcmp(value, "0") == 0 && app_option_low(row) > 0) ? "the default" : value;
}

/*
 * where: "FILE: [section]". section: the rows that are compared, except hosts, which need no restart. old, new:
 * settings with the set's rows.
 */
static void report_changes(const struct option_set *set, const char *section, const char *where, const void *old,
			   const void *new)
{
	char before[OPTION_VALUE_BYTES], now[OPTION_VALUE_BYTES];

	for (size_t i = 0; i < set->count; i++) {
		const struct option_row *row = &set->rows[i];

		if (row->section == NULL || strcmp(row->section, section) != 0 || row->parse == parse_hosts ||
		    memcmp((const char *)old + row->offset, (const char *)new + row->offset, row->bytes) == 0)
			continue;
		if (row->parse == app_vlan_expect)
			printf("reload: %s %s changed: restart the target to apply the change\n", where,
			       row->word->name);
		else
			printf("reload: %s %s is now %s instead of %s: restart the target to apply the change\n", where,
			       row->word->name, format_value(row, new, now), format_value(row, old, before));
	}
}

static const struct settings_subsystem *find_subsystem(const struct settings *settings, const char *nqn)
{
	for (uint32_t i = 0; i < settings->subsystem_count; i++) {
		if (strcmp(settings->subsystems[i].nqn, nqn) == 0)
			return &settings->subsystems[i];
	}
	return NULL;
}

void settings_report_restart(const struct settings *new)
{
	char where[SETTINGS_WHERE_BYTES];

	snprintf(where, sizeof(where), "%s: [target]", new->config);
	report_changes(&option_set, "target", where, &started, new);
	if (new->port_count != started.port_count)
		printf("reload: %s: now %u ports instead of %u: restart the target to apply the change\n", new->config,
		       new->port_count, started.port_count);
	for (uint32_t i = 0; i < new->port_count &&i < started.port_count; i++)
		report_changes(&port_set, "", new->ports[i].where, &started.ports[i], &new->ports[i]);
	for (uint32_t i = 0; i < started.subsystem_count; i++) {
		const struct settings_subsystem *old = &started.subsystems[i], *now = find_subsystem(new, old->nqn);

		if (now)
			report_changes(&subsystem_set, "", now->where, old, now);
		else
			printf("reload: subsystem %s is not in the file: restart the target to remove it\n", old->nqn);
	}
}
