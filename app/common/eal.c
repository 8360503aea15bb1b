/* eal.c - arguments in two halves, complaints in one line, and an end when interrupted */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/eal.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <uroce/log.h>

#define COMPLAINT_BYTES 4096u
#define GRACE_S 3u /* for what is done after an interruption */

static const char *program = "uroce";

static volatile sig_atomic_t interrupted;

int app_complain(int code, const char *format, ...)
{
	char line[COMPLAINT_BYTES];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	/* It may cite a file or a peer: no terminal shall obey those. */
	for (char *c = line; *c; c++) {
		if (iscntrl((unsigned char)*c))
			*c = '?';
	}
	fprintf(stderr, "%s: %s\n", program, line);
	return code;
}

static void end_interrupted(int number)
{
	static const char text[] = ": interrupted\n";

	(void)number;
	if (write(STDERR_FILENO, program, strlen(program)) < 0 || write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(APP_EXIT_INTERRUPTED);
	_exit(APP_EXIT_INTERRUPTED);
}

void app_end_when_interrupted(void)
{
	struct sigaction action = { .sa_handler = end_interrupted };

	setvbuf(stdout, NULL, _IOLBF, 0);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

static void note_interruption(int number)
{
	(void)number;
	if (interrupted)
		end_interrupted(number);
	interrupted = 1;
	alarm(GRACE_S);
}

void app_finish_when_interrupted(void)
{
	struct sigaction note = { .sa_handler = note_interruption }, end = { .sa_handler = end_interrupted };

	sigaction(SIGALRM, &end, NULL);
	sigaction(SIGINT, &note, NULL);
	sigaction(SIGTERM, &note, NULL);
}

bool app_is_interrupted(void)
{
	return interrupted;
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

/* Who closed a standard stream shall not find the next file that is opened under its number: writing to it fails. */
static void keep_standard_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != fd)
			return;
	}
}

/* Output that was lost is a failure, whatever the program has thought of itself. */
static void check_output(int status, void *unused)
{
	(void)unused;
	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return;
	app_complain(APP_EXIT_ENVIRONMENT, "the output cannot be written%s%s: write it elsewhere", errno ? ": " : "",
		     errno ? strerror(errno) : "");
	_exit(status ? status : APP_EXIT_ENVIRONMENT);
}

static const char *name_of_program(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int app_eal_split(int argc, char **argv, struct app_args *args)
{
	int divide = 0;

	keep_standard_streams();
	on_exit(check_output, NULL);
	if (argc > 0)
		program = name_of_program(argv[0]);
	for (int i = 1; i < argc && divide == 0; i++) {
		if (strcmp(argv[i], "--") == 0)
			divide = i;
	}
	args->eal = calloc((size_t)argc + 2, sizeof(char *));
	args->own = calloc((size_t)argc + 2, sizeof(char *));
	if (args->eal == NULL || args->own == NULL)
		return -1;
	args->eal[0] = args->own[0] = argc > 0 ? argv[0] : program_invocation_name;
	args->eal_count = args->own_count = 1;
	for (int i = 1; i < argc; i++) {
		if (i < divide)
			args->eal[args->eal_count++] = argv[i];
		else if (i > divide)
			args->own[args->own_count++] = argv[i];
	}
	return 0;
}

/* The value of option at args->eal[i], in the same word or the next, or NULL. */
static const char *value_at(const struct app_args *args, int i, const char *option)
{
	const char *word = args->eal[i];
	size_t bytes = strlen(option);

	if (strncmp(word, option, bytes) != 0)
		return NULL;
	if (word[bytes] == '\0')
		return i + 1 < args->eal_count ? args->eal[i + 1] : NULL;
	if (word[bytes] == '=')
		return word + bytes + 1;
	return option[1] == '-' ? NULL : word + bytes;
}

int app_eal_choose_device(const struct app_args *args, const char **device)
{
	static char first[64];

	static const char *const options[] = { "--vdev", "-a", "--allow" };

	for (int i = 1; i < args->eal_count && *device == NULL; i++) {
		for (unsigned o = 0; o < sizeof(options) / sizeof(options[0]) && *device == NULL; o++) {
			const char *value = value_at(args, i, options[o]);

			if (value) {
				snprintf(first, sizeof(first), "%.*s", (int)strcspn(value, ","), value);
				*device = first;
			}
		}
	}
	if (*device)
		return APP_EXIT_OK;
	return app_complain(APP_EXIT_USAGE, "no port: name one with -d, such as net_af_packet0,iface=eth0");
}

int app_exit_of(int error)
{
	return error == -EINVAL ? APP_EXIT_USAGE : APP_EXIT_ENVIRONMENT;
}

const char *app_reason_of(int error)
{
	bool refused = error == -EINVAL || error == -ENETUNREACH;

	return refused && uroce_refusal()[0] ? uroce_refusal() : strerror(-error);
}

int app_eal_start(const struct app_args *args, struct uroce_eal_config *config)
{
	struct uroce_error error;
	int code;

	config->argc = args->eal_count;
	config->argv = (const char *const *)args->eal;
	code = uroce_eal_start(config, &error);
	if (code)
		app_complain(app_exit_of(code), "%s%s", error.text,
			     code == -EINVAL && args->eal_count > 1 ? " (-h before -- lists EAL's options)" : "");
	return code ? app_exit_of(code) : APP_EXIT_OK;
}

unsigned app_eal_worker(unsigned index)
{
	struct uroce_eal_info info;

	uroce_eal_query(&info);
	return info.worker_ids[index];
}
