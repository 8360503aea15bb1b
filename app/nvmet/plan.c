/* plan.c - checks whether the settings fit together, and prints them in full */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmet/plan.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "common/dry.h"
#include "common/eal.h"
#include "nvmet/file.h"
#include "nvmet/identity.h"

/* ---- checking ---- */

static int check_ports(const struct settings *settings)
{
	struct uroce_addr addr;

	if (settings->port_count == 0 && settings->config[0])
		return app_complain(
			APP_EXIT_USAGE,
			"%s: no port given: add a section [port.0] with device= and ip=, or give --device and --ip",
			settings->config);
	if (settings->port_count == 0)
		return app_complain(APP_EXIT_USAGE, "--ip ADDR/LEN is missing: give the local address of the port");
	for (uint32_t i = 0; i < settings->port_count; i++) {
		const struct settings_port *port = &settings->ports[i];

		if (port->ip[0] == '\0' && port->where[0])
			return app_complain(APP_EXIT_USAGE,
					    "%s: ip=ADDR/LEN is missing: give the local address of the port",
					    port->where);
		if (port->ip[0] == '\0')
			return app_complain(APP_EXIT_USAGE, "port %s has no address: give --ip ADDR/LEN", port->device);
		if (uroce_addr_parse(port->ip, &addr, NULL) != 0)
			return app_complain(APP_EXIT_USAGE, "%s %s: use an address such as 10.0.0.1/24 or fe80::1/64",
					    port->where[0] ? port->where : "--ip", port->ip);
	}
	return APP_EXIT_OK;
}

static int check_subsystems(const struct settings *settings)
{
	for (uint32_t i = 0; i < settings->subsystem_count; i++) {
		const struct settings_subsystem *subsystem = &settings->subsystems[i];

		if (subsystem->nqn[0] == '\0')
			return app_complain(APP_EXIT_USAGE, "%s: nqn= is missing: give the name of the subsystem",
					    subsystem->where);
		if (strcmp(subsystem->nqn, NVME_DISCOVERY_NQN) == 0)
			return app_complain(APP_EXIT_USAGE,
					    "%s %s: this NQN is reserved for discovery: use another NQN",
					    subsystem->where[0] ? subsystem->where : "--nqn", subsystem->nqn);
		for (uint32_t k = 0; k < i; k++) {
			if (strcmp(settings->subsystems[k].nqn, subsystem->nqn) == 0)
				return app_complain(APP_EXIT_USAGE, "%s: nqn %s is already used: use another name",
						    subsystem->where, subsystem->nqn);
		}
	}
	return APP_EXIT_OK;
}

static int find_subsystem(const struct settings *settings, struct settings_disk *disk)
{
	uint32_t i = 0;

	if (disk->subsystem[0] == '\0' && settings->subsystem_count != 1)
		return app_complain(APP_EXIT_USAGE,
				    "%s: subsystem= is missing: set it to the nqn of one of the %u subsystems",
				    disk->where, settings->subsystem_count);
	if (disk->subsystem[0] == '\0')
		strcpy(disk->subsystem, settings->subsystems[0].nqn);
	while (i < settings->subsystem_count && strcmp(settings->subsystems[i].nqn, disk->subsystem) != 0)
		i++;
	if (i == settings->subsystem_count)
		return app_complain(APP_EXIT_USAGE, "%s: subsystem %s does not exist: use an nqn such as %s",
				    disk->where, disk->subsystem, settings->subsystems[0].nqn);
	return APP_EXIT_OK;
}

/* Finds another namespace of this subsystem with this number, or NULL. */
static const struct settings_disk *find_nsid(const struct settings *settings, const struct settings_disk *disk,
					     uint32_t nsid)
{
	for (uint32_t i = 0; i < settings->disk_count; i++) {
		const struct settings_disk *other = &settings->disks[i];

		if (other != disk && other->nsid == nsid && strcmp(other->subsystem, disk->subsystem) == 0)
			return other;
	}
	return NULL;
}

static int check_names(const struct settings *settings, const struct settings_disk *disk)
{
	const struct settings_disk *twin = disk->nsid ? find_nsid(settings, disk, disk->nsid) : NULL;

	if (twin && twin < disk)
		return app_complain(APP_EXIT_USAGE, "%s: nsid %u is already used in %s: use another nsid", disk->where,
				    disk->nsid, disk->subsystem);
	for (const struct settings_disk *other = settings->disks; disk->uuid[0] && other < disk; other++) {
		if (strcasecmp(other->uuid, disk->uuid) == 0)
			return app_complain(APP_EXIT_USAGE, "%s: uuid %s is already used: use another UUID",
					    disk->where, disk->uuid);
	}
	return APP_EXIT_OK;
}

/* Only one namespace may have a file, whatever names lead to it. */
static int check_file(const struct settings *settings, const struct settings_disk *disk)
{
	struct stat own, other;

	if (disk->kind != STORE_FILE || stat(disk->path, &own) != 0)
		return APP_EXIT_OK;
	for (const struct settings_disk *before = settings->disks; before < disk; before++) {
		if (before->kind == STORE_FILE && stat(before->path, &other) == 0 && own.st_dev == other.st_dev &&
		    own.st_ino == other.st_ino)
			return app_complain(
				APP_EXIT_USAGE,
				"%s%s%s is the same file as %s, which another namespace uses: use another file",
				disk->where, disk->where[0] ? ": " : "", disk->path, before->path);
	}
	return APP_EXIT_OK;
}

/* A file that was served before keeps the number by which hosts know it. */
static void number_as_before(const struct settings *settings, struct settings_disk *disk)
{
	struct identity kept;

	if (disk->nsid == 0 && disk->kind == STORE_FILE && identity_read(disk->path, &kept) && kept.nsid >= 1 &&
	    kept.nsid <= NVMF_NAMESPACES_MAX && strcmp(kept.nqn, disk->subsystem) == 0 &&
	    find_nsid(settings, disk, kept.nsid) == NULL)
		disk->nsid = kept.nsid;
}

/* Gives a namespace without a number the first number that no other namespace of its subsystem has. */
static int number(const struct settings *settings, struct settings_disk *disk)
{
	uint32_t nsid = 1;

	while (disk->nsid == 0 && nsid <= NVMF_NAMESPACES_MAX && find_nsid(settings, disk, nsid))
		nsid++;
	if (nsid > NVMF_NAMESPACES_MAX)
		return app_complain(APP_EXIT_USAGE,
				    "%s: subsystem %s already has %u namespaces, the maximum: remove a namespace",
				    disk->where, disk->subsystem, NVMF_NAMESPACES_MAX);
	disk->nsid = disk->nsid ? disk->nsid : nsid;
	return APP_EXIT_OK;
}

static int check_disks(struct settings *settings)
{
	int code = APP_EXIT_OK;

	if (settings->disk_count == 0 && settings->config[0])
		return app_complain(
			APP_EXIT_USAGE,
			"%s: no namespace to serve: add a section [namespace.0] with store=", settings->config);
	if (settings->disk_count == 0)
		return app_complain(APP_EXIT_USAGE,
				    "no namespace to serve: add --memory SIZE, --file PATH, or --config FILE");
	for (uint32_t i = 0; i < settings->disk_count && code == APP_EXIT_OK; i++) {
		struct settings_disk *disk = &settings->disks[i];

		if (disk->kind == STORE_NULL && disk->bytes == 0)
			return app_complain(APP_EXIT_USAGE,
					    "%s: store= is missing: use memory:SIZE, null:SIZE, or a path",
					    disk->where);
		code = settings_disk_check(disk->where, disk);
		if (code == APP_EXIT_OK)
			code = find_subsystem(settings, disk);
	}
	for (uint32_t i = 0; i < settings->disk_count && code == APP_EXIT_OK; i++)
		code = check_names(settings, &settings->disks[i]);
	for (uint32_t i = 0; i < settings->disk_count && code == APP_EXIT_OK; i++)
		code = check_file(settings, &settings->disks[i]);
	for (uint32_t i = 0; i < settings->disk_count && code == APP_EXIT_OK; i++)
		number_as_before(settings, &settings->disks[i]);
	for (uint32_t i = 0; i < settings->disk_count && code == APP_EXIT_OK; i++)
		code = number(settings, &settings->disks[i]);
	return code;
}

int plan_check(struct settings *settings)
{
	int code = check_subsystems(settings);

	if (code == APP_EXIT_OK)
		code = check_disks(settings);
	return code ? code : check_ports(settings);
}

/* ---- printing ---- */

int plan_try_store(const struct settings_disk *disk)
{
	const struct store_config config = settings_store(disk);
	char error[STORE_ERROR_BYTES];

	if (disk->kind == STORE_FILE && file_try(&config, error) != 0)
		return app_complain(APP_EXIT_ENVIRONMENT, "%s", error);
	return APP_EXIT_OK;
}

static int try_port(const struct settings *settings, const struct settings_port *port)
{
	const struct uroce_port_config config = {
		.addresses = { port->ip },
		.gateways = { port->gateway[0] ? port->gateway : NULL },
		.vlans = { port->vlan },
		.record_path = settings->record[0] ? settings->record : NULL,
	};

	return app_dry_port(port->device, &config);
}

/* Returns APP_EXIT_OK if ports, control socket and stores can be opened, else the exit code after a complaint. */
static int try_all(const struct settings *settings)
{
	int code = APP_EXIT_OK;

	for (uint32_t i = 0; i < settings->port_count && code == APP_EXIT_OK; i++)
		code = try_port(settings, &settings->ports[i]);
	for (uint32_t i = 0; i < settings->disk_count && code == APP_EXIT_OK; i++)
		code = plan_try_store(&settings->disks[i]);
	return code ? code : app_dry_write("--control", settings->control);
}

int plan_print(const struct settings *settings)
{
	int code = try_all(settings);

	if (code)
		return code;
	for (uint32_t i = 0; i < settings->port_count; i++)
		printf("port %s, address %s, service %u\n", settings->ports[i].device, settings->ports[i].ip,
		       settings->service);
	for (uint32_t i = 0; i < settings->subsystem_count; i++)
		printf("subsystem %s, %u hosts%s\n", settings->subsystems[i].nqn, settings->subsystems[i].host_count,
		       settings->subsystems[i].host_count ? "" : " (any may connect)");
	for (uint32_t i = 0; i < settings->disk_count; i++) {
		const struct settings_disk *disk = &settings->disks[i];

		printf("namespace %u of %s: %s", disk->nsid, disk->subsystem, store_kind_name(disk->kind));
		if (disk->kind == STORE_FILE)
			printf(" %s", disk->path);
		if (disk->bytes)
			printf(", %lu bytes", disk->bytes);
		printf(" in blocks of %u%s\n", disk->block_bytes, disk->read_only ? ", read only" : "");
	}
	return APP_EXIT_OK;
}
