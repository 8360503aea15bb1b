/* plan.h - checks whether the settings fit together, and prints them in full */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_PLAN_H
#define NVMET_PLAN_H

#include "nvmet/settings.h"

/* Gives each namespace its subsystem and its number. Returns APP_EXIT_OK, or the exit code after a complaint. */
int plan_check(struct settings *settings);
/* Tries whether the store can be opened, and makes no file. Returns APP_EXIT_OK, or the exit code after a complaint. */
int plan_try_store(const struct settings_disk *disk);
/*
 * Prints what would be served if all ports and stores can be opened. Returns APP_EXIT_OK, or the exit code after a
 * complaint.
 */
int plan_print(const struct settings *settings);

#endif
