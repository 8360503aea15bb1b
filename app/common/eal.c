/* eal.c - splits arguments into EAL's and the program's, and starts EAL */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/eal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uroce/log.h>

#include "common/clock.h"

#define WAIT_NOTICE_S 1.0

int app_eal_split(int argc, char **argv, struct app_args *args)
{
	int divide = 0;

	app_begin(argc, argv);
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

/* The value of the option, from args->eal[i] or the next argument; NULL: args->eal[i] is not this option. */
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
	return app_complain(APP_EXIT_USAGE, "no port given: select a port with -d, such as net_af_packet0,iface=eth0");
}

int app_exit_of(int error)
{
	return error == -EINVAL ? APP_EXIT_USAGE : APP_EXIT_ENVIRONMENT;
}

const char *app_reason_of(int error)
{
	bool refused = error == -EINVAL || error == -ENETUNREACH;

	return refused && uroce_last_error()[0] ? uroce_last_error() : strerror(-error);
}

int app_check(const char *what, int error)
{
	return error ? app_complain(APP_EXIT_FAILURE, "%s: %s", what, app_reason_of(error)) : APP_EXIT_OK;
}

int app_check_peer(const char *what, const struct uroce_addr *own, const struct uroce_addr *peer)
{
	char text[64];

	if (memcmp(own, peer, sizeof(*own)) != 0)
		return APP_EXIT_OK;
	return app_complain(APP_EXIT_USAGE,
			    "%s: the peer's address %s is also the local address: give each end its own address", what,
			    uroce_addr_format(peer, text, sizeof(text)));
}

/* Warnings concern the machine or the network, so every program prints them. */
static void show_warning(void *context, enum uroce_log_level level, const char *text)
{
	(void)context;
	if (level == UROCE_LOG_WARNING)
		app_warn("%s", text);
}

int app_eal_start(const struct app_args *args, struct uroce_eal_config *config)
{
	struct uroce_error error;
	int code;

	config->argc = args->eal_count;
	config->argv = (const char *const *)args->eal;
	code = uroce_eal_start(config, &error);
	if (code == 0) {
		uroce_guard_install();
		uroce_log_set(show_warning, NULL);
	}
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

void app_wait_report(struct app_wait *wait, const char *format, ...)
{
	double waited_s = app_now_seconds() - wait->began;
	va_list arguments;

	if (wait->reported || waited_s < WAIT_NOTICE_S)
		return;
	wait->reported = true;
	fprintf(stderr, "waiting for ");
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	if (wait->patience_s > waited_s)
		fprintf(stderr, "; for another %.0f s", wait->patience_s - waited_s);
	fprintf(stderr, "\n");
}
