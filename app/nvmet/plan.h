/* plan.h - checks whether the settings fit together, and prints them in full */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_PLAN_H
#define NVMET_PLAN_H

#include "nvmet/settings.h"

/* Gives each namespace its subsystem and its number. Returns APP_EXIT_OK, or the exit code after a complaint. */
int plan_check(struct settings *settings);
/*
 * Prints what would be served if all stores can be opened; needs neither EAL nor a port. Returns APP_EXIT_OK, or the
 * exit code after a complaint.
 */
int plan_print(const struct settings *settings);

#endif
