/* eal.h - what every program with ports does about its arguments */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   1. app_eal_split(): EAL's arguments and the program's; parse the latter with option.h
 *   2. app_eal_start(): uroce_eal_start() with the former
 *   3. app_port_open() (ports.h)
 *   4. uroce_eal_stop()
 * All that fails is told in one line on standard error: cause, value, what to do.
 */
#ifndef APP_COMMON_EAL_H
#define APP_COMMON_EAL_H

#include <uroce/port.h>

#include "common/exit.h"

/* argv in two halves, each ended by NULL and with the program's name in front. */
struct app_args {
	int eal_count, own_count;
	char **eal, **own;
};

/*
 * The first call of a program with ports: calls app_begin(). Without "--" all arguments are the program's, with one
 * those before it are EAL's. 0, or -1: no memory.
 */
int app_eal_split(int argc, char **argv, struct app_args *args);

/* uroce_eal_start() with EAL's half. APP_EXIT_OK, or what to exit with; the reason has been printed. */
int app_eal_start(const struct app_args *args, struct uroce_eal_config *config);

/* What to exit with when a call has failed with this negative errno. */
int app_exit_of(int error);

/* The EAL lcore id of a worker, from 0. */
unsigned app_eal_worker(unsigned index);

/*
 * The port of a program that has one: *device, and where that is NULL the first --vdev or -a among EAL's arguments,
 * without the arguments of its own. APP_EXIT_OK, or APP_EXIT_USAGE with a complaint: there is none.
 */
int app_eal_choose_device(const struct app_args *args, const char **device);

/* Why a call of the library failed: its own sentence where it has refused what it was given, or errno's. */
const char *app_reason_of(int error);

/* What a call of the library has returned: APP_EXIT_OK for 0, or APP_EXIT_FAILURE after "what: why". */
int app_check(const char *what, int error);

#endif
