/* start.c - how our side of a case begins: EAL, one port, what the case does, and the end */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "start.h"

#include <stdio.h>

#include "common/eal.h"

int start(int argc, char **argv, int least_words, const char *usage, start_run *run)
{
	const char *device = NULL;
	struct app_args args;
	struct uroce_eal_config config = { .main_is_busy = true };
	int exit_code;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (app_eal_split(argc, argv, &args) != 0)
		return APP_EXIT_INTERNAL;
	if (args.own_count <= least_words)
		return app_complain(APP_EXIT_USAGE, "usage: %s", usage);
	exit_code = app_eal_choose_device(&args, &device);
	if (exit_code != APP_EXIT_OK)
		return exit_code;
	exit_code = app_eal_start(&args, &config);
	if (exit_code != APP_EXIT_OK)
		return exit_code;
	exit_code = run(device, args.own + 1);
	uroce_eal_stop();
	return exit_code;
}
