/* place.c - enters namespaces, and mounts the device node */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "run/run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/exit.h"

#define PATH_BYTES 512
#define ROOT "/dev/infiniband"
#define NODE ROOT "/" TREE_NODE

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), error = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		error = -errno;
	close(fd);
	return error;
}

/* Maps the user to himself, so that files that he writes belong to him. */
static int map_user(uid_t user, gid_t group)
{
	char text[64];
	int error = write_file("/proc/self/setgroups", "deny");

	if (error && error != -ENOENT)
		return error;
	snprintf(text, sizeof(text), "%u %u 1\n", user, user);
	error = write_file("/proc/self/uid_map", text);
	if (error)
		return error;
	snprintf(text, sizeof(text), "%u %u 1\n", group, group);
	return write_file("/proc/self/gid_map", text);
}

static int enter_namespaces(void)
{
	uid_t user = geteuid();
	gid_t group = getegid();
	int error;

	if (unshare(CLONE_NEWNS | (user == 0 ? 0 : CLONE_NEWUSER)) != 0)
		return app_complain(
			APP_EXIT_ENVIRONMENT,
			"cannot create a mount namespace (%s): start uroce-run as root, allow user namespaces "
			"(kernel.unprivileged_userns_clone=1), or start the container with --device /dev/null:" NODE,
			strerror(errno));
	error = user == 0 ? 0 : map_user(user, group);
	if (error)
		return app_complain(APP_EXIT_ENVIRONMENT,
				    "user %u cannot be mapped into the user namespace (%s): start uroce-run as root",
				    user, strerror(-error));
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return app_complain(APP_EXIT_ENVIRONMENT, "cannot make mounts private: %s", strerror(errno));
	return APP_EXIT_OK;
}

/* Bind-mounts the file or folder `from` on one that is made at `to`. */
static bool bind_entry(const char *from, const char *to)
{
	struct stat status;
	char target[PATH_BYTES];
	ssize_t length;

	if (lstat(from, &status) != 0)
		return true;
	if (S_ISLNK(status.st_mode)) {
		length = readlink(from, target, sizeof(target) - 1);
		if (length < 0)
			return false;
		target[length] = '\0';
		return symlink(target, to) == 0;
	}
	if (S_ISDIR(status.st_mode) ? mkdir(to, 0755) != 0 : mknod(to, S_IFREG | 0644, 0) != 0)
		return false;
	return mount(from, to, NULL, MS_BIND | MS_REC, NULL) == 0;
}

/* Copies /dev by bind mounts to a folder of our own, so that one more entry can be made there. */
static bool copy_dev(void)
{
	char from[PATH_BYTES], to[PATH_BYTES], root[] = "/tmp/uroce-dev-XXXXXX";
	struct dirent *entry;
	bool good = true;
	DIR *folder;

	if (mkdtemp(root) == NULL || mount("uroce", root, "tmpfs", MS_NOSUID, "mode=755") != 0)
		return false;
	folder = opendir("/dev");
	while (good && folder && (entry = readdir(folder)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		snprintf(from, sizeof(from), "/dev/%s", entry->d_name);
		snprintf(to, sizeof(to), "%s/%s", root, entry->d_name);
		good = bind_entry(from, to);
	}
	if (folder)
		closedir(folder);
	good = good && folder && mount(root, "/dev", NULL, MS_BIND | MS_REC, NULL) == 0;
	umount2(root, MNT_DETACH);
	rmdir(root);
	return good;
}

static int make_root(void)
{
	if (mkdir(ROOT, 0755) != 0 && errno != EEXIST && (!copy_dev() || mkdir(ROOT, 0755) != 0))
		return app_complain(APP_EXIT_ENVIRONMENT, "%s cannot be created (%s): start uroce-run as root", ROOT,
				    strerror(errno));
	if (mount("uroce", ROOT, "tmpfs", MS_NOSUID, "mode=755") != 0)
		return app_complain(APP_EXIT_ENVIRONMENT,
				    "cannot mount a private file system on %s (%s): start uroce-run as root", ROOT,
				    strerror(errno));
	return APP_EXIT_OK;
}

bool place_has_node(void)
{
	struct stat node, null;

	return stat(NODE, &node) == 0 && stat("/dev/null", &null) == 0 && S_ISCHR(node.st_mode) &&
	       node.st_rdev == null.st_rdev;
}

/* Makes the folder of this user for this address, so that later programs find the same one. */
static int make_folder(const char *address, char *root)
{
	struct stat status;

	snprintf(root, PLACE_BYTES, "/tmp/uroce-%u-%.*s", geteuid(), (int)strcspn(address, "/,"), address);
	if ((mkdir(root, 0755) != 0 && errno != EEXIST) || lstat(root, &status) != 0 || !S_ISDIR(status.st_mode) ||
	    status.st_uid != geteuid())
		return app_complain(APP_EXIT_ENVIRONMENT, "%s: cannot create this directory, owned by user %u", root,
				    geteuid());
	return APP_EXIT_OK;
}

int place_enter(const char *address, char *root)
{
	int code;

	if (place_has_node())
		return make_folder(address, root);
	code = enter_namespaces();
	if (code == APP_EXIT_OK)
		code = make_root();
	if (code != APP_EXIT_OK)
		return code;
	if (mknod(NODE, S_IFREG | 0600, 0) != 0 || mount("/dev/null", NODE, NULL, MS_BIND, NULL) != 0)
		return app_complain(APP_EXIT_ENVIRONMENT, "%s: %s", NODE, strerror(errno));
	snprintf(root, PLACE_BYTES, "%s", ROOT);
	return APP_EXIT_OK;
}
