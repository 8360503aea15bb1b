/* main.c - uroce-nvmetcli: sends a line to the control socket of a running uroce-nvmet, and prints the answer */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/exit.h"
#include "common/words.h"

#define PATIENCE_S 10

struct options {
	const char *path;
	bool dry;
};

static const struct options defaults = { .path = "/run/uroce-nvmet.sock" };

static const struct option_row rows[] = {
	{ WORD_OF(CONTROL), OPTION_AT(struct options, path) },
	{ WORD_OF(DRY_RUN), OPTION_AT(struct options, dry) },
};

static const struct option_set option_set = {
	.program = "uroce-nvmetcli",
	OPTION_ROWS(rows),
	OPTION_SPELLINGS,
	.usual = &defaults,
	.head = "uroce-nvmetcli [--control PATH] COMMAND [ARGUMENTS]\n"
		"Queries and controls a running uroce-nvmet; \"uroce-nvmetcli help\" lists the commands:\n"
		"show, controllers, stats, json, add, remove, resize, disconnect.\n\n",
	.tail = "\nExit: 0 done, 1 refused by the target, 2 usage, 3 no target listens on the control socket.\n",
};

/* Needs no target. */
static int print_help(void)
{
#define VERB(name, run, arguments, what, least, most) printf("%s %s\n    %s\n", name, arguments, what);
#include "nvmet/verbs.def"
#undef VERB
	return APP_EXIT_OK;
}

static int address_of(const char *path, struct sockaddr_un *out)
{
	*out = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof(out->sun_path))
		return app_complain(APP_EXIT_USAGE, "%s: %s", path, "the path is too long for a Unix socket");
	strcpy(out->sun_path, path);
	return APP_EXIT_OK;
}

/* Joins the words to the line that is sent. */
static int write_line(char **words, int count, char *line, size_t line_bytes)
{
	size_t bytes = 0;

	for (int i = 0; i < count; i++) {
		if (bytes + strlen(words[i]) + 2 > line_bytes || strpbrk(words[i], " \n"))
			return app_complain(APP_EXIT_USAGE, "%s: %s", words[i],
					    "the argument is too long, or contains a space");
		bytes += (size_t)sprintf(line + bytes, "%s%c", words[i], i + 1 < count ? ' ' : '\n');
	}
	return APP_EXIT_OK;
}

static int ask(const char *path, const struct sockaddr_un *address, const char *line, int *out)
{
	const struct timeval patience = { .tv_sec = PATIENCE_S };
	int peer = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (connect(peer, (const struct sockaddr *)address, sizeof(*address)) != 0)
		return app_complain(APP_EXIT_ENVIRONMENT, "%s: %s", path,
				    errno == ENOENT || errno == ECONNREFUSED ?
					    "no target listens on this socket: start uroce-nvmet, or check --control" :
					    strerror(errno));
	if (send(peer, line, strlen(line), MSG_NOSIGNAL) != (ssize_t)strlen(line))
		return app_complain(APP_EXIT_ENVIRONMENT, "%s: %s", path, strerror(errno));
	*out = peer;
	return APP_EXIT_OK;
}

/* Prints the answer without its last line, which tells success or error. */
static int print_answer(int peer, const char *path)
{
	FILE *in = fdopen(peer, "r");
	char line[4096];

	while (in && fgets(line, sizeof(line), in)) {
		if (strcmp(line, "ok\n") == 0)
			return APP_EXIT_OK;
		if (strncmp(line, "error: ", 7) == 0) {
			line[strcspn(line, "\n")] = '\0';
			return app_complain(APP_EXIT_FAILURE, "%s", line + 7);
		}
		fputs(line, stdout);
	}
	return app_complain(APP_EXIT_ENVIRONMENT, "%s: %s", path, "the target did not answer");
}

int main(int argc, char **argv)
{
	struct options options = defaults;
	struct sockaddr_un address;
	char line[2048];
	int code, peer = -1;

	app_begin(argc, argv);
	code = app_option_parse(&option_set, argc, argv, &options);
	if (code)
		return code - 1;
	if (optind == argc)
		return app_complain(APP_EXIT_USAGE, "the command is missing: use show, controllers, stats, json, "
						    "add, remove, "
						    "resize, disconnect or help");
	if (strcmp(argv[optind], "help") == 0 && !options.dry)
		return print_help();
	code = address_of(options.path, &address);
	if (code == APP_EXIT_OK)
		code = write_line(argv + optind, argc - optind, line, sizeof(line));
	if (code != APP_EXIT_OK)
		return code;
	if (options.dry) {
		printf("%s: %s", options.path, line);
		return APP_EXIT_OK;
	}
	code = ask(options.path, &address, line, &peer);
	return code == APP_EXIT_OK ? print_answer(peer, options.path) : code;
}
