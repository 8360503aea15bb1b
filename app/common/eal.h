/* eal.h - what every program does about its arguments, its complaints and its end */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   1. app_eal_split(): EAL's arguments and the program's; parse the latter (getopt_long on own_count, own)
 *   2. app_eal_start(): uroce_eal_start() with the former
 *   3. app_port_open() (ports.h)
 *   4. uroce_eal_stop()
 * All that fails is told in one line on standard error: cause, value, what to do.
 */
#ifndef APP_COMMON_EAL_H
#define APP_COMMON_EAL_H

#include <stdbool.h>

#include <uroce/port.h>

/* What programs exit with. */
enum app_exit {
	APP_EXIT_OK,
	APP_EXIT_FAILURE, /* traffic or a check failed */
	APP_EXIT_USAGE,
	APP_EXIT_ENVIRONMENT, /* no port, no memory, no permission */
	APP_EXIT_INTERNAL,
	APP_EXIT_INTERRUPTED = 130 /* by SIGINT or SIGTERM, as shells count */
};

/* argv in two halves, each ended by NULL and with the program's name in front. */
struct app_args {
	int eal_count, own_count;
	char **eal, **own;
};

/*
 * The first call of a program: from now on it ends with status 3 instead of 0 when what it has printed could not be
 * written. Without "--" all arguments are the program's, with one those before it are EAL's. 0, or -1: no memory.
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

/*
 * From now on SIGINT and SIGTERM end the program at once, whatever it or a driver is at: "interrupted", exit 130.
 * What was printed is not lost. For a program that has nothing to finish; also when it was started in the background.
 */
void app_end_when_interrupted(void);

/*
 * From now on the first SIGINT or SIGTERM only makes app_is_interrupted() true, so that what was measured can be
 * written. The program ends as above when another one comes, or when it has not ended by itself within seconds.
 */
void app_finish_when_interrupted(void);
bool app_is_interrupted(void);

/* "PROGRAM: ..." and a newline on standard error; returns code. */
int app_complain(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Why a call of the library failed: its own sentence where it has refused what it was given, or errno's. */
const char *app_reason_of(int error);

/* May the file be read? A folder may not, though it can be opened. false: errno says why. */
bool app_is_readable(const char *path);

#endif
