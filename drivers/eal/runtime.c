/* runtime.c - removes the runtime folders of processes that have ended, and our own at the end */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/eal/runtime.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <rte_eal.h>

/* Removes a folder that has only files in it. What cannot be removed belongs to another user, and stays. */
static void remove_folder(const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *entry;
	char file[PATH_MAX];

	while (folder && (entry = readdir(folder)) != NULL) {
		if (snprintf(file, sizeof(file), "%s/%s", path, entry->d_name) < (int)sizeof(file))
			unlink(file);
	}
	if (folder)
		closedir(folder);
	rmdir(path);
}

/* Does a process listen at this telemetry socket? The process id in its name may be that of another container. */
static bool is_served(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool served;

	if (fd < 0 || snprintf(address.sun_path, sizeof(address.sun_path), "%s/dpdk_telemetry.v2", path) >=
			      (int)sizeof(address.sun_path))
		served = true;
	else
		served = connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 ||
			 (errno != ECONNREFUSED && errno != ENOENT);
	if (fd >= 0)
		close(fd);
	return served;
}

void drivers_runtime_sweep(void)
{
	char parent[PATH_MAX], path[PATH_MAX], *slash;
	struct dirent *entry;
	DIR *folder;

	snprintf(parent, sizeof(parent), "%s", rte_eal_get_runtime_dir());
	slash = strrchr(parent, '/');
	if (slash == NULL)
		return;
	*slash = '\0';
	folder = opendir(parent);
	while (folder && (entry = readdir(folder)) != NULL) {
		char *end = NULL;
		long pid;

		if (strncmp(entry->d_name, RUNTIME_PREFIX, strlen(RUNTIME_PREFIX)) != 0)
			continue;
		pid = strtol(entry->d_name + strlen(RUNTIME_PREFIX), &end, 10);
		if (*end || pid <= 0 || kill((pid_t)pid, 0) == 0 || errno != ESRCH)
			continue;
		if (snprintf(path, sizeof(path), "%s/%s", parent, entry->d_name) < (int)sizeof(path) &&
		    !is_served(path))
			remove_folder(path);
	}
	if (folder)
		closedir(folder);
}

void drivers_runtime_remove(void)
{
	remove_folder(rte_eal_get_runtime_dir());
}
