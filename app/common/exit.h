/* exit.h - error messages and exit codes, for every program */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_COMMON_EXIT_H
#define APP_COMMON_EXIT_H

#include <stdbool.h>
#include <time.h>

#define APP_COMPLAINT_BYTES 4096u

/* Exit codes of programs. */
enum app_exit {
	APP_EXIT_OK,
	APP_EXIT_FAILURE, /* traffic or a check failed */
	APP_EXIT_USAGE,
	APP_EXIT_ENVIRONMENT, /* no port, no memory, no permission */
	APP_EXIT_INTERNAL,
	APP_EXIT_INTERRUPTED = 130 /* the program was ended by SIGINT or SIGTERM; shells report 130, too */
};

/*
 * The first call of a program. Error messages begin with the name in argv[0], and if output could not be written the
 * program ends with status 3 instead of 0.
 */
void app_begin(int argc, char *const *argv);

/* Prints "PROGRAM: ..." on standard error; returns code. */
int app_complain(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same about a completion, whose status has this name. */
int app_complain_of(const char *status, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Prints "PROGRAM: ..." about something that is no failure of the program. */
void app_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The first complaint of the program, other than "interrupted": the cause of what follows. */
struct app_failure {
	const char *status; /* of the completion; NULL: it is about no completion */
	char sentence[APP_COMPLAINT_BYTES];
	struct timespec at; /* CLOCK_REALTIME */
};

/* NULL: there was none. */
const struct app_failure *app_first_failure(void);

/*
 * From now on SIGINT and SIGTERM end the program at once, whatever it or a driver is doing: "interrupted", exit 130.
 * What was printed is written out. This is for programs that have nothing to finish, and also works for a program that
 * was started in the background.
 */
void app_end_when_interrupted(void);

/*
 * From now on the first SIGINT or SIGTERM only makes app_is_interrupted() true, so that the program can write what it
 * has measured. A second signal ends the program at once; a timer ends it if it runs on for some seconds.
 */
void app_finish_when_interrupted(void);

/* From now on SIGINT and SIGTERM only make app_is_interrupted() true; no timer ends the program. */
void app_stop_when_interrupted(void);

/* Makes app_is_interrupted() true. For any thread, and for signal handlers. */
void app_stop(void);

/* For any thread. Waiting code must ask again and again, since a signal may come just before a wait begins. */
bool app_is_interrupted(void);

/* Complains that the file of an option cannot be written, for the reason in errno. Returns APP_EXIT_ENVIRONMENT. */
int app_refuse_path(const char *option, const char *path);

/* Can the file be read? A directory cannot, although it can be opened. false: errno says why. */
bool app_is_readable(const char *path);

#endif
