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
#include "common/option.h"
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
		return app_complain(APP_EXIT_USAGE, "%s %s: at most %zu characters", where, text, bytes - 1);
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
		return store_refuse(error, "%.64s...: at most %zu characters", text, sizeof(disk->path) - 1);
	if (sized && (disk->bytes == 0 || disk->bytes > STORE_BYTES_MAX))
		return store_refuse(error, "%s: use a size such as 64k, 16M or 1G, from 512 to %lu", text,
				    STORE_BYTES_MAX);
	if (disk->kind != STORE_FILE && disk->bytes == 0)
		return store_refuse(error, "%s: say how large, such as %s:1G", text,
				    disk->kind == STORE_NULL ? "null" : "memory");
	if (disk->kind == STORE_FILE && strchr(disk->path, '/') == NULL)
		return store_refuse(
			error, "%s: use memory:SIZE, null:SIZE, or a path with a / in it, such as ./disk.img:1G", text);
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
		return app_complain(APP_EXIT_USAGE, "%s: %lu bytes are less than a block of %u: use a larger size",
				    where, disk->bytes, disk->block_bytes);
	if (disk->bytes % disk->block_bytes)
		return app_complain(APP_EXIT_USAGE, "%s: %lu bytes are no whole blocks of %u: use %lu or %lu", where,
				    disk->bytes, disk->block_bytes, disk->bytes / disk->block_bytes * disk->block_bytes,
				    (disk->bytes / disk->block_bytes + 1) * disk->block_bytes);
	if (disk->kind == STORE_MEMORY && disk->bytes > there)
		return app_complain(APP_EXIT_ENVIRONMENT,
				    "%s: %lu bytes of memory are more than the %lu that there are: use less, or a file",
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
			return app_complain(APP_EXIT_USAGE, "%s: at most %u hosts", where, NVMF_HOSTS_MAX);
		code = parse_nqn(where, word, subsystem->hosts[subsystem->host_count++]);
	}
	return code;
}

static int add_disk(const char *option, const char *text, void *place)
{
	struct settings *settings = place;
	struct settings_disk *disk = &settings->disks[settings->disk_count];

	if (settings->disk_count == SETTINGS_DISKS_MAX)
		return app_complain(APP_EXIT_USAGE, "%s %s: at most %u namespaces", option, text, SETTINGS_DISKS_MAX);
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

static int parse_device(const char *option, const char *text, void *place)
{
	struct settings *settings = place;

	if (settings->port_count == SERVER_PORTS_MAX)
		return app_complain(APP_EXIT_USAGE, "%s %s: at most %u ports", option, text, SERVER_PORTS_MAX);
	if (settings->port_count != 1 || settings->ports[0].device[0])
		settings->port_count++;
	return parse_text(option, text, last_port(settings)->device, SETTINGS_TEXT_BYTES);
}

static int parse_ip(const char *option, const char *text, void *place)
{
	struct settings_port *port = last_port(place);

	if (port->ip[0])
		return app_complain(APP_EXIT_USAGE, "%s %s: port %s has %s: name the next port before, with --device",
				    option, text, port->device, port->ip);
	return parse_text(option, text, port->ip, SETTINGS_TEXT_BYTES);
}

static int parse_gateway(const char *option, const char *text, void *place)
{
	return parse_text(option, text, last_port(place)->gateway, SETTINGS_TEXT_BYTES);
}

static int parse_uuid_of_last(const char *option, const char *text, void *place)
{
	struct settings *settings = place;

	if (settings->disk_count == 0)
		return app_complain(APP_EXIT_USAGE, "%s %s: of which disk? name it before, with --file", option, text);
	return parse_uuid(option, text, settings->disks[settings->disk_count - 1].uuid);
}

#define AT(member) OPTION_AT(struct settings, member)
#define WHOLE 0, sizeof(struct settings)
#define TARGET(by_key) .section = "target", .key = by_key

static struct settings usual; /* the defaults; static and not const, because it is large and mostly zeros */

/* clang-format off */
static const struct option_row rows[] = {
	{ "device", 'd', OPTION_OTHER, WHOLE, .parse = parse_device, .value = "DEV",
	  .usual = "the first that was given to EAL",
	  .help = "port: eth1 or net_af_packet0,iface=eth1, net_memif0,..., a PCI address, or one given to EAL; "
		  "once for "
		  "each port" },
	{ "ip", 0, OPTION_OTHER, WHOLE, .parse = parse_ip, .value = "ADDR/LEN",
	  .help = "our address on the last --device, IPv4 or IPv6" },
	{ "gateway", 0, OPTION_OTHER, WHOLE, .parse = parse_gateway, .value = "ADDR", .usual = "none",
	  .help = "router of that address for hosts outside of LEN" },
	{ "no-dad", 0, OPTION_FLAG, AT(no_dad), TARGET("no-dad"), .help =
	  "addresses are used at once: the network is not asked first (0.45 s) whether another station has them" },
	{ "port", 'p', OPTION_NUMBER, AT(service), 1, 65535, "N", "where hosts connect", TARGET("service") },
	{ "file", 0, OPTION_OTHER, WHOLE, .parse = add_disk, .value = "PATH[:SIZE]",
	  .help = "a namespace in a file or on a block device; SIZE makes one that is empty or not there" },
	{ "memory", 0, OPTION_OTHER, WHOLE, .parse = add_disk, .value = "SIZE",
	  .help = "a namespace in memory: 512, 64k, 16M, 1G" },
	{ "store", 's', OPTION_OTHER, WHOLE, .parse = add_disk, .value = "WHERE",
	  .help = "a namespace: memory:SIZE, null:SIZE (keeps nothing), PATH[:SIZE]; each one is another "
		  "namespace of the "
		  "same subsystem" },
	{ "block", 0, OPTION_OTHER, AT(all.block_bytes), .parse = settings_block_parse, .value = "N", .usual = "512",
	  .help = "bytes of a block of the namespaces: 512, 4096" },
	{ "buffered", 0, OPTION_FLAG, AT(all.buffered), .help = "files go through the page cache; default: O_DIRECT" },
	{ "threads", 0, OPTION_FLAG, AT(threads), .help = "threads read and write files, not io_uring" },
	{ "read-only", 0, OPTION_FLAG, AT(all.read_only), .help = "nothing is written" },
	{ "uuid", 0, OPTION_OTHER, WHOLE, .parse = parse_uuid_of_last, .value = "UUID",
	  .help = "which disk the last --file is: of a device, always the same; files keep it themselves" },
	{ "nqn", 0, OPTION_OTHER, AT(subsystems[0].nqn), .parse = parse_nqn, .value = "NQN",
	  .help = "name of the subsystem", .usual = "nqn.2026-01.uroce:UUID, of this machine" },
	{ "host-nqn", 0, OPTION_OTHER, AT(subsystems[0]), .parse = parse_hosts, .value = "NQN", .usual = "any",
	  .help = "a host that may connect; several times for several" },
	{ "config", 0, OPTION_TEXT, AT(config), .value = "FILE", .usual = "",
	  .help = "all that, and several subsystems, in an INI file: [target], [port.N], [subsystem.N], "
		  "[namespace.N]" },
	{ "control", 0, OPTION_TEXT, AT(control), .value = "PATH",
	  .help = "socket for uroce-nvmetcli, which asks and tells the target while it runs" },
	{ "record", 0, OPTION_TEXT, AT(record), .value = "DIR", TARGET("record"),
	  .help = "a connection that fails leaves its last frames there, and why" },
	{ "idle", 0, OPTION_NAME, AT(idle), 0, 2, "HOW", .names = app_idle_names, TARGET("idle"), .help =
	  "with nothing to do: poll on, for a core of its own; yield the core to others; sleep until something comes" },
	{ "nb-cores", 0, OPTION_NUMBER, AT(nb_cores), 1, LANES_MAX, "N", TARGET("nb-cores"),
	  .help = "lcores that serve hosts: each has its connections, and a queue of each port" },
	{ "dry-run", 0, OPTION_FLAG, AT(dry_run), .help = "print what would be served, and end" },

	/* only in a file */
	{ NULL, 0, OPTION_NUMBER, AT(queue_depth), 2, 1024, TARGET("queue-depth") },
	{ NULL, 0, OPTION_NUMBER, AT(io_queues), 1, 128, TARGET("io-queues") },
	{ NULL, 0, OPTION_OTHER, AT(in_capsule_bytes), .parse = parse_in_capsule, TARGET("in-capsule") },
	{ NULL, 0, OPTION_OTHER, AT(max_data_bytes), .parse = parse_max_data, TARGET("max-data") },
	{ NULL, 0, OPTION_SIZE, AT(pool_bytes), 4 << 20, 1ull << 40, TARGET("pool") },
};
/* clang-format on */

static enum option_origin origins[sizeof(rows) / sizeof(rows[0])];

static const struct option_set option_set = {
	.program = "uroce-nvmet",
	OPTION_ROWS(rows),
	.usual = &usual,
	.origins = origins,
	.head = "uroce-nvmet [EAL options] -- [options]\n"
		"An NVMe over RDMA target: hosts that speak NVMe over RoCEv2, Linux among them, mount what it serves."
		"\n\n",
	.tail = "\nIt prints the lines to type on a Linux host. SIGTERM and ctrl-C tell the hosts and end it.\n"
		"Exit: 0 ended, 2 usage, 3 environment (no port, no file, no memory), 4 internal.\n",
};

/* ---- the file ---- */

#define PORT_AT(member) OPTION_AT(struct settings_port, member)
#define SUBSYSTEM_AT(member) OPTION_AT(struct settings_subsystem, member)
#define DISK_AT(member) OPTION_AT(struct settings_disk, member)

/* clang-format off */
static const struct option_row port_rows[] = {
	{ NULL, 0, OPTION_TEXT, PORT_AT(device), .key = "device" },
	{ NULL, 0, OPTION_TEXT, PORT_AT(ip), .key = "ip" },
	{ NULL, 0, OPTION_TEXT, PORT_AT(gateway), .key = "gateway" },
};
static const struct option_row subsystem_rows[] = {
	{ NULL, 0, OPTION_OTHER, SUBSYSTEM_AT(nqn), .parse = parse_nqn, .key = "nqn" },
	{ NULL, 0, OPTION_TEXT, SUBSYSTEM_AT(serial), .key = "serial" },
	{ NULL, 0, OPTION_TEXT, SUBSYSTEM_AT(model), .key = "model" },
	{ NULL, 0, OPTION_OTHER, 0, sizeof(struct settings_subsystem), .parse = parse_hosts, .key = "hosts" },
};
static const struct option_row disk_rows[] = {
	{ NULL, 0, OPTION_OTHER, DISK_AT(subsystem), .parse = parse_nqn, .key = "subsystem" },
	{ NULL, 0, OPTION_NUMBER, DISK_AT(nsid), 1, NVMF_NAMESPACES_MAX, .key = "nsid" },
	{ NULL, 0, OPTION_OTHER, 0, sizeof(struct settings_disk), .parse = settings_disk_parse, .key = "store" },
	{ NULL, 0, OPTION_OTHER, DISK_AT(block_bytes), .parse = settings_block_parse, .key = "block" },
	{ NULL, 0, OPTION_OTHER, DISK_AT(uuid), .parse = parse_uuid, .key = "uuid" },
	{ NULL, 0, OPTION_FLAG, DISK_AT(buffered), .key = "buffered" },
	{ NULL, 0, OPTION_FLAG, DISK_AT(read_only), .key = "read-only" },
};
/* clang-format on */

static const struct option_set port_set = { OPTION_ROWS(port_rows) }, subsystem_set = { OPTION_ROWS(subsystem_rows) },
			       disk_set = { OPTION_ROWS(disk_rows) };

struct file {
	struct settings *settings;
	bool has_ports; /* the command line has named ports */
};

static int read_key(void *argument, const char *where, const char *section, const char *key, const char *value)
{
	struct settings *settings = ((struct file *)argument)->settings;

	if (strncmp(section, "port.", 5) == 0)
		return app_option_parse_key(&port_set, section, key, where, value,
					    &settings->ports[settings->port_count - 1]);
	if (strncmp(section, "subsystem.", 10) == 0)
		return app_option_parse_key(&subsystem_set, section, key, where, value,
					    &settings->subsystems[settings->subsystem_count - 1]);
	if (strncmp(section, "namespace.", 10) == 0)
		return app_option_parse_key(&disk_set, section, key, where, value,
					    &settings->disks[settings->disk_count - 1]);
	return app_option_parse_key(&option_set, section, key, where, value, settings);
}

/* Makes room for what a section describes. */
static int begin_section(void *argument, const char *where, const char *section)
{
	struct file *file = argument;
	struct settings *settings = file->settings;
	const struct {
		const char *prefix;
		uint32_t *count, most;
	} kinds[] = {
		{ "port.", &settings->port_count, SERVER_PORTS_MAX },
		{ "subsystem.", &settings->subsystem_count, NVMF_SUBSYSTEMS_MAX },
		{ "namespace.", &settings->disk_count, SETTINGS_DISKS_MAX },
	};
	size_t kind = 0;

	if (strcmp(section, "target") == 0)
		return APP_EXIT_OK;
	while (kind < 3 && strncmp(section, kinds[kind].prefix, strlen(kinds[kind].prefix)) != 0)
		kind++;
	if (kind == 3)
		return app_complain(APP_EXIT_USAGE,
				    "%s: no such section; [target], [port.N], [subsystem.N] and [namespace.N] are",
				    where);
	if (kind == 0 && file->has_ports)
		return app_complain(APP_EXIT_USAGE,
				    "%s: the command line has ports, too: leave out the one or the other", where);
	if (*kinds[kind].count == kinds[kind].most)
		return app_complain(APP_EXIT_USAGE, "%s: at most %u of them", where, kinds[kind].most);
	++*kinds[kind].count;
	if (kind == 0)
		return parse_text(where, where, settings->ports[settings->port_count - 1].where, SETTINGS_WHERE_BYTES);
	if (kind == 1)
		return parse_text(where, where, settings->subsystems[settings->subsystem_count - 1].where,
				  SETTINGS_WHERE_BYTES);
	settings->disks[settings->disk_count - 1].block_bytes = 512;
	return parse_text(where, where, settings->disks[settings->disk_count - 1].where, SETTINGS_WHERE_BYTES);
}

static int complete(struct settings *settings)
{
	static const char *const no_config[] = { "file", "memory",    "store", "block",   "buffered",
						 "uuid", "read-only", "nqn",   "host-nqn" };
	struct file file = { settings, settings->port_count > 0 };
	const struct app_ini_reader reader = { begin_section, read_key, NULL, &file };
	int code = APP_EXIT_OK;

	for (size_t i = 0; settings->config[0] && i < sizeof(no_config) / sizeof(no_config[0]); i++) {
		if (app_option_is_given(&option_set, no_config[i]))
			return app_complain(APP_EXIT_USAGE, "--config %s: what is served is said there: leave out --%s",
					    settings->config, no_config[i]);
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
			return app_complain(APP_EXIT_USAGE, "--nqn is missing, the name of the subsystem: there is no "
							    "/etc/machine-id to make one of that no other machine has");
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
		return 1 + app_complain(APP_EXIT_USAGE, "\"%s\": every word is an option here", argv[optind]);
	code = complete(settings);
	return code ? 1 + code : 0;
}
