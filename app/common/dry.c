/* dry.c - checks for --dry-run: the refusals of a start, without its effects */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/dry.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/eal.h"

#define LOOP_ADDRESS "10.0.0.1/24" /* for loops, which have addresses by default */

/* EAL knows which virtual devices have a driver. It gets no device, little memory, and leaves no file. */
static int start_eal(struct uroce_error *error)
{
	static const char *const words[] = { "uroce", "--no-telemetry", "-m", "32" };
	const struct uroce_eal_config config = { .argc = 4, .argv = words };
	struct uroce_eal_info info;

	uroce_eal_query(&info);
	return info.core_count ? 0 : uroce_eal_start(&config, error);
}

int app_dry_port(const char *device, const struct uroce_port_config *given)
{
	struct uroce_port_config config = *given;
	struct uroce_error error;
	int code = strncmp(device, "net_", 4) == 0 ? start_eal(&error) : 0;

	if (strcmp(device, "loop") == 0 && config.addresses[0] == NULL)
		config.addresses[0] = LOOP_ADDRESS;
	if (code == 0)
		code = uroce_port_check(device, &config, &error);
	uroce_eal_stop();
	return code ? app_complain(app_exit_of(code), "%s", error.text) : APP_EXIT_OK;
}

int app_dry_write(const char *option, const char *path)
{
	struct stat status;
	char folder[PATH_MAX];

	if (path == NULL || *path == '\0' || strcmp(path, "-") == 0)
		return APP_EXIT_OK;
	snprintf(folder, sizeof(folder), "%s", path);
	if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
		errno = EISDIR;
	else if (access(path, W_OK) == 0 || (errno == ENOENT && access(dirname(folder), W_OK | X_OK) == 0))
		return APP_EXIT_OK;
	return app_refuse_path(option, path);
}
