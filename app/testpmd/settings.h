/* settings.h - the settings of uroce-testpmd, with where each came from: command line before file before default */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_TESTPMD_SETTINGS_H
#define APP_TESTPMD_SETTINGS_H

#include <stdint.h>
#include <stdio.h>

#include <uroce/uroce.h>

#include "common/eal.h"

#define SETTINGS_PORTS 2
#define SETTINGS_TEXT_BYTES 256
#define SETTINGS_OPS UROCE_WR_OPCODES

struct settings_port {
	char device[SETTINGS_TEXT_BYTES];                                   /* empty: not given */
	char addresses[UROCE_ADDRS_MAX][64], gateways[UROCE_ADDRS_MAX][64]; /* an empty gateway: none */
	uint32_t address_count;
	struct uroce_vlan vlan; /* for all its addresses */
	uint32_t mtu;           /* 0: the device's default */
	uint32_t no_dad;        /* 0 or 1 */
};

struct settings {
	struct settings_port ports[SETTINGS_PORTS];
	uint32_t port_count; /* 0: two loop ports */
	uint32_t nb_cores, idle, cc, sack_window, limit_qps, limit_mrs;
	uint32_t paths, timeout, retry_cnt; /* of each queue pair */
	uint32_t size, qps, depth, burst, mtu, tcp_port;
	uint32_t rxq, txq, rxd, txd, mbuf_size, mbufs; /* 0: the ports' defaults */
	uint32_t pkey, rkey, cq_depth;
	uint32_t verbose;
	double stats_period_s, duration_s; /* 0: no lines; until it is stopped */
	double faults[4];                  /* probabilities of loss, dup, reorder and corrupt */
	uint32_t seed;
	uint32_t interactive, auto_start, target, both, srq, dry_run, no_dad, help; /* 0 or 1 */
	char mix[SETTINGS_TEXT_BYTES];
	char peer[SETTINGS_TEXT_BYTES];
	char cmdline_file[SETTINGS_TEXT_BYTES];
	char config[SETTINGS_TEXT_BYTES];
	char json[SETTINGS_TEXT_BYTES];   /* empty: no file is written */
	char record[SETTINGS_TEXT_BYTES]; /* empty: nothing is recorded */
	char eal_args[SETTINGS_TEXT_BYTES];
	uint32_t weights[SETTINGS_OPS]; /* from mix */
};

/* Names of the operations as in --mix: "send", "send_imm", "write", ... */
extern const char *const settings_op_names[SETTINGS_OPS];

#define SETTINGS_PKEY_FULL 0x8000u /* the P_Key of a full member; limited members receive from full members only */

/*
 * Are these two limited members of one partition, which receive from full members only? Keys of different partitions
 * are allowed: a tester may want to see them fail.
 */
static inline bool settings_pkeys_are_limited(uint32_t one, uint32_t other)
{
	return one == other && !(one & SETTINGS_PKEY_FULL);
}

/* Reads argv and the file that --config names. Returns 0 to go on, or 1 + the exit code. */
int settings_read(struct settings *settings, int argc, char **argv);

/*
 * Changes size, tx-depth, burst, mix, stats-period or verbose while the program runs. Returns 0, or the code of a
 * complaint.
 */
int settings_change(struct settings *settings, const char *name, const char *value);

/* Sets eal-args to EAL's part of the command line, as far as there is room. */
void settings_keep_eal_args(struct settings *settings, const struct app_args *args);

/* Records that the prompt has changed the setting. */
void settings_came_from_prompt(const char *name);

/*
 * Writes an INI file that gives the same session: the ports, and each setting that is not the default. Returns
 * APP_EXIT_OK, or APP_EXIT_ENVIRONMENT after a complaint.
 */
int settings_save(const struct settings *settings, const char *path);

/* Prints one line per setting: name, value, where it came from. */
void settings_print(const struct settings *settings);

/* Prints the lines of "help" about the setting that "set" can change, or about all of them (NULL). */
void settings_print_changes(FILE *out, unsigned indent, unsigned column, const char *name);

#endif
