/* exit.c - error messages in one line, checks that output was written, and ends a program when interrupted */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/exit.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define GRACE_S 3u /* how long a program may run on after an interruption */

static const char *program = "uroce";

/* Threads and signal handlers set it. */
static atomic_bool interrupted;
static_assert(ATOMIC_BOOL_LOCK_FREE == 2, "signal handlers need an atomic without a lock");

static struct app_failure first_failure;
static _Atomic bool has_failed;

static void note_failure(const char *status, const char *sentence)
{
	static atomic_flag noted = ATOMIC_FLAG_INIT;

	if (atomic_flag_test_and_set(&noted))
		return;
	first_failure.status = status;
	snprintf(first_failure.sentence, sizeof(first_failure.sentence), "%s", sentence);
	clock_gettime(CLOCK_REALTIME, &first_failure.at);
	has_failed = true;
}

const struct app_failure *app_first_failure(void)
{
	return has_failed ? &first_failure : NULL;
}

static __attribute__((format(printf, 2, 0))) void print_line(char line[APP_COMPLAINT_BYTES], const char *format,
							     va_list arguments)
{
	vsnprintf(line, APP_COMPLAINT_BYTES, format, arguments);
	/* A message may quote a file or a peer, whose control characters must not reach the terminal. */
	for (char *c = line; *c; c++) {
		if (iscntrl((unsigned char)*c))
			*c = '?';
	}
	fprintf(stderr, "%s: %s\n", program, line);
}

void app_warn(const char *format, ...)
{
	char line[APP_COMPLAINT_BYTES];
	va_list arguments;

	va_start(arguments, format);
	print_line(line, format, arguments);
	va_end(arguments);
}

static __attribute__((format(printf, 3, 0))) int complain(const char *status, int code, const char *format,
							  va_list arguments)
{
	char line[APP_COMPLAINT_BYTES];

	print_line(line, format, arguments);
	if (code != APP_EXIT_INTERRUPTED)
		note_failure(status, line);
	return code;
}

int app_complain(int code, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	complain(NULL, code, format, arguments);
	va_end(arguments);
	return code;
}

int app_complain_of(const char *status, int code, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	complain(status, code, format, arguments);
	va_end(arguments);
	return code;
}

/* Writes the line once and whole, although two threads may each take a signal at the same time. */
static void end_interrupted(int number)
{
	static atomic_flag ends = ATOMIC_FLAG_INIT;
	static char text[] = ": interrupted\n";
	struct iovec parts[] = { { (char *)program, strlen(program) }, { text, sizeof(text) - 1 } };

	(void)number;
	if (atomic_flag_test_and_set(&ends))
		return;
	if (writev(STDERR_FILENO, parts, 2) < 0)
		_exit(APP_EXIT_INTERRUPTED);
	_exit(APP_EXIT_INTERRUPTED);
}

static void handle_signals(void (*handler)(int number))
{
	struct sigaction action = { .sa_handler = handler };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

void app_end_when_interrupted(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	handle_signals(end_interrupted);
}

static void note_interruption(int number)
{
	if (atomic_exchange(&interrupted, true))
		end_interrupted(number);
	alarm(GRACE_S);
}

void app_finish_when_interrupted(void)
{
	struct sigaction end = { .sa_handler = end_interrupted };

	sigaction(SIGALRM, &end, NULL);
	handle_signals(note_interruption);
}

void app_stop(void)
{
	atomic_store(&interrupted, true);
}

static void stop(int number)
{
	(void)number;
	app_stop();
}

void app_stop_when_interrupted(void)
{
	handle_signals(stop);
}

bool app_is_interrupted(void)
{
	return interrupted;
}

static const char *remedy_of(int error)
{
	switch (error) {
	case ENOENT:
		return "create the directory first, or use another path";
	case EISDIR:
		return "it is a directory: name a file in it";
	case EACCES:
	case EPERM:
	case EROFS:
		return "use a file in a writable directory";
	}
	return "name another file";
}

int app_refuse_path(const char *option, const char *path)
{
	return app_complain(APP_EXIT_ENVIRONMENT, "%s %s: %s; %s", option, path, strerror(errno), remedy_of(errno));
}

bool app_is_readable(const char *path)
{
	struct stat status;

	if (access(path, R_OK) != 0 || stat(path, &status) != 0)
		return false;
	if (S_ISDIR(status.st_mode))
		errno = EISDIR;
	return !S_ISDIR(status.st_mode);
}

/*
 * If the program was started with a closed standard stream, no file that it opens may get the number of that stream,
 * because writing to the stream has to fail.
 */
static void keep_standard_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != fd)
			return;
	}
}

/* Output that was lost makes the program fail, whatever its own result. */
static void check_output(int status, void *unused)
{
	(void)unused;
	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return;
	app_complain(APP_EXIT_ENVIRONMENT, "cannot write standard output%s%s: redirect the output to another file",
		     errno ? ": " : "", errno ? strerror(errno) : "");
	_exit(status ? status : APP_EXIT_ENVIRONMENT);
}

void app_begin(int argc, char *const *argv)
{
	keep_standard_streams();
	on_exit(check_output, NULL);
	if (argc > 0)
		program = basename(argv[0]);
}
