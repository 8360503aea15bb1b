/* eal.h - arguments and EAL, for every program with ports */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   1. app_eal_split(): splits arguments into EAL's and the program's, which option.h parses
 *   2. app_eal_start(): uroce_eal_start() with EAL's arguments
 *   3. app_port_open() (ports.h)
 *   4. uroce_eal_stop()
 * Each failure is one line on standard error: cause, value, what to do.
 */
#ifndef APP_COMMON_EAL_H
#define APP_COMMON_EAL_H

#include <uroce/port.h>

#include "common/exit.h"

/* argv in two parts, each with the program's name in front and NULL at the end. */
struct app_args {
	int eal_count, own_count;
	char **eal, **own;
};

/*
 * The first call of a program with ports; it calls app_begin(). If argv has a "--", the arguments before it are EAL's;
 * otherwise all arguments are the program's. Returns 0, or -1 if there is no memory.
 */
int app_eal_split(int argc, char **argv, struct app_args *args);

/*
 * Calls uroce_eal_start() with EAL's part; warnings of the library are printed from then on. Returns APP_EXIT_OK, or
 * the exit code after a complaint.
 */
int app_eal_start(const struct app_args *args, struct uroce_eal_config *config);

/* The exit code after a call has failed with this negative errno. */
int app_exit_of(int error);

/* The EAL lcore id of a worker, from 0. */
unsigned app_eal_worker(unsigned index);

/*
 * For a program with one port: if *device is NULL sets it to the first --vdev or -a among EAL's arguments, without
 * device arguments. Returns APP_EXIT_OK, or APP_EXIT_USAGE after a complaint that EAL was given no device.
 */
int app_eal_choose_device(const struct app_args *args, const char **device);

/* Why a call of the library failed: the sentence of its refusal if there is one, else the text of errno. */
const char *app_reason_of(int error);

/* Checks the result of a call of the library: returns APP_EXIT_OK for 0, else APP_EXIT_FAILURE after "what: why". */
int app_check(const char *what, int error);

/*
 * A peer cannot have the local address. what: the option or the side that names the peer. Returns APP_EXIT_OK, or
 * APP_EXIT_USAGE after a complaint.
 */
int app_check_peer(const char *what, const struct uroce_addr *own, const struct uroce_addr *peer);

/* The wait of a client for its server. */
struct app_wait {
	double began;      /* app_now_seconds() */
	double patience_s; /* 0: not known */
	bool reported;
};

/*
 * Called now and then while the client waits: after a second prints "waiting for ...; for another N s" on standard
 * error, once.
 */
void app_wait_report(struct app_wait *wait, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
