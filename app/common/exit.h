/* exit.h - what every program does about its complaints and its end */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_COMMON_EXIT_H
#define APP_COMMON_EXIT_H

#include <stdbool.h>

/* What programs exit with. */
enum app_exit {
	APP_EXIT_OK,
	APP_EXIT_FAILURE, /* traffic or a check failed */
	APP_EXIT_USAGE,
	APP_EXIT_ENVIRONMENT, /* no port, no memory, no permission */
	APP_EXIT_INTERNAL,
	APP_EXIT_INTERRUPTED = 130 /* by SIGINT or SIGTERM, as shells count */
};

/*
 * The first call of a program: complaints begin with the name it was called by, and from now on it ends with status 3
 * instead of 0 when what it has printed could not be written.
 */
void app_begin(int argc, char *const *argv);

/* "PROGRAM: ..." and a newline on standard error; returns code. */
int app_complain(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

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

/* May the file be read? A folder may not, though it can be opened. false: errno says why. */
bool app_is_readable(const char *path);

#endif
