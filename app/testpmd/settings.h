/* settings.h - the settings of uroce-testpmd, with where each came from: command line before file before default */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_TESTPMD_SETTINGS_H
#define APP_TESTPMD_SETTINGS_H

#include "common/eal.h"
#include "testpmd/values.h"

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

#endif
