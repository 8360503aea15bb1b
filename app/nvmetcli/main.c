/* main.c - uroce-nvmetcli: asks and tells a running uroce-nvmet */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <uroce/types.h>

#define DEFAULT_PATH "/run/uroce-nvmet.sock"
#define PATIENCE_S 10

enum { OK, FAILED, USAGE, ENVIRONMENT };

enum { OPTION_DRY_RUN = 256 };

static const char help_text[] =
	"uroce-nvmetcli [-s SOCKET] COMMAND [ARGUMENTS]\n"
	"Asks and tells a running uroce-nvmet; \"uroce-nvmetcli help\" has it list its commands:\n"
	"show, controllers, stats, json, add, remove, resize, disconnect.\n"
	"\n"
	"  -s, --socket PATH  the target's --control (default " DEFAULT_PATH ")\n"
	"  --dry-run          print what would be asked and where, and end\n"
	"  -h, --help  -V, --version\n"
	"\n"
	"Exit: 0 done, 1 the target refused, 2 usage, 3 no target listens there.\n";

static int complain(int code, const char *path, const char *what)
{
	fprintf(stderr, "uroce-nvmetcli: %s: %s\n", path, what);
	return code;
}

static int address_of(const char *path, struct sockaddr_un *out)
{
	*out = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof(out->sun_path))
		return complain(USAGE, path, "is too long for a socket");
	strcpy(out->sun_path, path);
	return OK;
}

/* What the target is told: the words in one line. */
static int write_line(char **words, int count, char *line, size_t line_bytes)
{
	size_t bytes = 0;

	for (int i = 0; i < count; i++) {
		if (bytes + strlen(words[i]) + 2 > line_bytes || strpbrk(words[i], " \n"))
			return complain(USAGE, words[i], "is too long, or has a space in it");
		bytes += (size_t)sprintf(line + bytes, "%s%c", words[i], i + 1 < count ? ' ' : '\n');
	}
	return OK;
}

static int ask(const char *path, const struct sockaddr_un *address, const char *line, int *out)
{
	const struct timeval patience = { .tv_sec = PATIENCE_S };
	int peer = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (connect(peer, (const struct sockaddr *)address, sizeof(*address)) != 0)
		return complain(ENVIRONMENT, path,
				errno == ENOENT || errno == ECONNREFUSED ? "no target listens there; is it running?" :
									   strerror(errno));
	if (send(peer, line, strlen(line), MSG_NOSIGNAL) != (ssize_t)strlen(line))
		return complain(ENVIRONMENT, path, strerror(errno));
	*out = peer;
	return OK;
}

/* Prints all but the last line, which says how it went. */
static int print_answer(int peer, const char *path)
{
	FILE *in = fdopen(peer, "r");
	char line[4096];

	while (in && fgets(line, sizeof(line), in)) {
		if (strcmp(line, "ok\n") == 0)
			return OK;
		if (strncmp(line, "error: ", 7) == 0) {
			fprintf(stderr, "uroce-nvmetcli: %s", line + 7);
			return FAILED;
		}
		fputs(line, stdout);
	}
	return complain(ENVIRONMENT, path, "the target did not answer");
}

int main(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "socket", required_argument, NULL, 's' },
		{ "dry-run", no_argument, NULL, OPTION_DRY_RUN },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	const char *path = DEFAULT_PATH;
	struct sockaddr_un address;
	char line[2048];
	bool dry = false;
	int letter, code, peer = -1;

	opterr = 0;
	while ((letter = getopt_long(argc, argv, "s:hV", long_options, NULL)) != -1) {
		if (letter == 's') {
			path = optarg;
		} else if (letter == OPTION_DRY_RUN) {
			dry = true;
		} else if (letter == 'h') {
			fputs(help_text, stdout);
			return OK;
		} else if (letter == 'V') {
			printf("uroce-nvmetcli %d.%d.%d\n", UROCE_VERSION_MAJOR, UROCE_VERSION_MINOR,
			       UROCE_VERSION_PATCH);
			return OK;
		} else {
			return complain(USAGE, argv[optind - 1],
					"no such option, or its value is missing; --help lists them");
		}
	}
	if (optind == argc)
		return complain(USAGE, "which command",
				"show, controllers, stats, json, add, remove, resize, disconnect or help");
	code = address_of(path, &address);
	if (code == OK)
		code = write_line(argv + optind, argc - optind, line, sizeof(line));
	if (code != OK)
		return code;
	if (dry) {
		printf("%s is asked: %s", path, line);
		return OK;
	}
	code = ask(path, &address, line, &peer);
	return code == OK ? print_answer(peer, path) : code;
}
