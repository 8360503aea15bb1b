/* settings.h - what uroce-testpmd is told: command line over file over default, each with where it came from */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_TESTPMD_SETTINGS_H
#define APP_TESTPMD_SETTINGS_H

#include <stdio.h>

#include "common/eal.h"
#include "testpmd/values.h"

/* Names of the operations as in --mix: "send", "send_imm", "write", ... */
extern const char *const settings_op_names[SETTINGS_OPS];

/* Reads argv and the file that --config names. 0 to go on, or 1 + what to exit with (said already). */
int settings_read(struct settings *settings, int argc, char **argv);

/* Changes one of size, depth, burst, mix, stats-period and verbose while it runs. 0, or what a complaint is worth. */
int settings_change(struct settings *settings, const char *name, const char *value);

/* What was changed so is taken. */
void settings_came_from_prompt(const char *name);

/* A line a setting: name, value, where it came from. */
void settings_print(const struct settings *settings, FILE *out);

#endif
