/* tree.c - writes the tree that libibverbs searches */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "run/run.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_BYTES 512

/* Makes the parent folders of a file. */
static int make_folders(char *path)
{
	for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		if (mkdir(path, 0755) != 0 && errno != EEXIST)
			return -errno;
		*at = '/';
	}
	return 0;
}

/* name is relative to root. */
__attribute__((format(printf, 3, 4))) static int put(const char *root, const char *name, const char *format, ...)
{
	char path[PATH_BYTES];
	va_list arguments;
	FILE *file;
	int error;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	error = make_folders(path);
	if (error)
		return error;
	file = fopen(path, "w");
	if (file == NULL)
		return -errno;
	va_start(arguments, format);
	vfprintf(file, format, arguments);
	va_end(arguments);
	return fclose(file) == 0 ? 0 : -errno;
}

static int put_gid(const char *root, const struct tree_port *port, unsigned index)
{
	const uint8_t *b = port->addrs[index].bytes;
	char name[PATH_BYTES];
	int error;

	snprintf(name, sizeof(name), "class/infiniband/" TREE_DEVICE "/ports/1/gids/%u", index);
	error = put(root, name, "%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x\n", b[0], b[1],
		    b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
	snprintf(name, sizeof(name), "class/infiniband/" TREE_DEVICE "/ports/1/gid_attrs/types/%u", index);
	if (error == 0)
		error = put(root, name, "RoCE v2\n");
	snprintf(name, sizeof(name), "class/infiniband/" TREE_DEVICE "/ports/1/gid_attrs/ndevs/%u", index);
	if (error == 0 && port->interface)
		error = put(root, name, "%s\n", port->interface);
	return error;
}

int tree_write(const char *root, const struct tree_port *port)
{
	static const struct {
		const char *name, *text;
	} files[] = {
		{ "class/infiniband_verbs/abi_version", "6\n" },
		{ "class/infiniband_verbs/" TREE_NODE "/ibdev", TREE_DEVICE "\n" },
		/* the device numbers of /dev/null, which is mounted as the device node */
		{ "class/infiniband_verbs/" TREE_NODE "/dev", "1:3\n" },
		{ "class/infiniband_verbs/" TREE_NODE "/abi_version", "1\n" },
		{ "class/infiniband/" TREE_DEVICE "/node_type", "1: CA\n" },
		{ "class/infiniband/" TREE_DEVICE "/ports/1/pkeys/0", "0xffff\n" },
		{ "class/infiniband/" TREE_DEVICE "/ports/1/state", "4: ACTIVE\n" },
		{ "class/infiniband/" TREE_DEVICE "/ports/1/link_layer", "Ethernet\n" },
		{ "class/infiniband/" TREE_DEVICE "/device/numa_node", "-1\n" },
	};
	const uint8_t *b = port->addrs[0].bytes;
	int error = put(root, "class/infiniband/" TREE_DEVICE "/node_guid", "02%02x:%02xff:fe%02x:%02x%02x\n", b[11],
			b[12], b[13], b[14], b[15]);

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && error == 0; i++)
		error = put(root, files[i].name, "%s", files[i].text);
	for (unsigned i = 0; i < port->addr_count && error == 0; i++)
		error = put_gid(root, port, i);
	return error;
}
