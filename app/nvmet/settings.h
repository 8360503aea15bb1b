/* settings.h - what the target serves and where, from the command line or an INI file */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_SETTINGS_H
#define NVMET_SETTINGS_H

#include "common/eal.h"
#include "nvmet/server.h"

#define SETTINGS_TEXT_BYTES 256u
#define SETTINGS_SERVICE 4420u            /* the port number of NVMe over Fabrics */
#define SETTINGS_POOL_BYTES (64ull << 20) /* memory for commands, unless another size is given */
#define SETTINGS_WHERE_BYTES 512u
#define SETTINGS_DISKS_MAX 256u

struct settings_port {
	/* origin, for complaints: "FILE: [section]", or the option; empty: several options */
	char where[SETTINGS_WHERE_BYTES];
	char device[SETTINGS_TEXT_BYTES], ip[SETTINGS_TEXT_BYTES], gateway[SETTINGS_TEXT_BYTES];
	struct uroce_vlan vlan;
};

struct settings_subsystem {
	char where[SETTINGS_WHERE_BYTES];
	char nqn[SETTINGS_TEXT_BYTES], serial[21], model[41];
	char hosts[NVMF_HOSTS_MAX][SETTINGS_TEXT_BYTES];
	uint32_t host_count;
};

struct settings_disk {
	char where[SETTINGS_WHERE_BYTES];
	char subsystem[SETTINGS_TEXT_BYTES]; /* the subsystem's NQN */
	uint32_t nsid;
	enum store_kind kind;
	char path[SETTINGS_TEXT_BYTES];
	uint64_t bytes;
	uint32_t block_bytes;
	bool buffered, read_only;
	char uuid[SETTINGS_TEXT_BYTES]; /* empty: the UUID kept with the file, or a new one */
};

struct settings {
	char config[SETTINGS_TEXT_BYTES], control[SETTINGS_TEXT_BYTES], record[SETTINGS_TEXT_BYTES];
	struct settings_port ports[SERVER_PORTS_MAX];
	struct settings_subsystem subsystems[NVMF_SUBSYSTEMS_MAX];
	struct settings_disk disks[SETTINGS_DISKS_MAX];
	uint32_t port_count, subsystem_count, disk_count;
	struct settings_disk all; /* what the command line says for all disks */
	uint32_t service, queue_depth, io_queues, in_capsule_bytes, max_data_bytes;
	uint64_t pool_bytes;
	uint32_t nb_cores; /* lcores that serve hosts */
	enum uroce_idle idle;
	bool dry_run, threads, no_dad;
};

/* Returns 0 to go on, with plan_check() (plan.h); or 1 + the exit code. */
int settings_read(struct settings *settings, int argc, char **argv);

/* Reads the file of --config again, as at the start. Returns APP_EXIT_OK, or the exit code after a complaint. */
int settings_reread(struct settings *new);
/* Prints a line for each value of *new that differs from the start and is applied only at a restart. */
void settings_report_restart(const struct settings *new);

/* For rows: reads 512 or 4096 into 32 bits. Returns APP_EXIT_OK, or complains. */
int settings_block_parse(const char *where, const char *text, void *bytes);
/*
 * Reads "memory:SIZE", "null:SIZE", "/path" or "/path:SIZE" into kind, path and bytes of a struct settings_disk.
 * Returns APP_EXIT_OK, or complains.
 */
int settings_disk_parse(const char *option, const char *text, void *disk);
/* As settings_disk_parse(), but writes the reason to error instead of printing it. Returns 0 or -1. */
int settings_disk_text(const char *text, struct settings_disk *disk, char error[STORE_ERROR_BYTES]);
/* Returns the store that the settings ask for; its path points into *disk. */
struct store_config settings_store(const struct settings_disk *disk);
/* Checks that size and block size go together, and that the machine has enough memory. */
int settings_disk_check(const char *where, const struct settings_disk *disk);

#endif
