/* plan.h - do the settings fit together, and what they say in full */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_PLAN_H
#define NVMET_PLAN_H

#include "nvmet/settings.h"

/* Gives each namespace its subsystem and its number. APP_EXIT_OK, or what to exit with after a complaint. */
int plan_check(struct settings *settings);
/* What would be served, if all stores can be opened; neither EAL nor a port is needed. APP_EXIT_OK, or a complaint. */
int plan_print(const struct settings *settings);

#endif
