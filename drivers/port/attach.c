/* attach.c - finds or makes the device that a user names, and explains why there is none */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/port/attach.h"

#include <errno.h>
#include <linux/capability.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_eal.h>
#include <rte_ethdev.h>

#include "drivers/eal/eal.h"
#include "drivers/eal/log.h"

/* net_af_packet silently cuts frames that do not fit into its ring: this one has room for path MTU 4096. */
#define AF_PACKET_RING "framesz=4608,blocksz=36864,framecnt=512"
/* Buffers so large that a frame of path MTU 4096 takes one buffer, not three. */
#define MEMIF_BUFFER "bsize=8192"
#define GROUP_COMPLAINT "PACKET_FANOUT"
#define UNKNOWN_DRIVER "failed to parse device"
#define GROUP_PATIENCE_S 2u
#define GROUP_TRY_US 20000u
#define PCI_CHARS 12 /* "0000:01:00.0" */

static bool begins_with(const char *text, const char *beginning)
{
	return strncmp(text, beginning, strlen(beginning)) == 0;
}

/* Adds an argument, unless the user has given one. */
static void add_default(struct drivers_attachment *attachment, const char *driver, const char *const *topics,
			const char *argument)
{
	size_t at = strlen(attachment->arguments);

	if (!begins_with(attachment->name, driver))
		return;
	for (; *topics; topics++) {
		if (strstr(attachment->arguments, *topics))
			return;
	}
	snprintf(attachment->arguments + at, sizeof(attachment->arguments) - at, "%s%s", at ? "," : "", argument);
}

/* Splits text into name and arguments, and adds defaults for the driver. Returns false if text is too long. */
static bool understand(const char *text, struct drivers_attachment *attachment)
{
	static const char *const ring[] = { "framesz=", "blocksz=", "framecnt=", NULL };
	static const char *const buffer[] = { "bsize=", NULL };
	size_t name_bytes = strcspn(text, ",");
	const char *arguments = text[name_bytes] ? text + name_bytes + 1 : "";
	bool pci = drivers_eal_is_pci(text), interface;
	char name[DRIVERS_ETHDEV_NAME_BYTES / 2];

	if (name_bytes == 0 || name_bytes >= sizeof(name) || strlen(arguments) >= DRIVERS_ARGUMENTS_BYTES / 2)
		return false;
	snprintf(name, sizeof(name), "%.*s", (int)name_bytes, text);
	interface = !pci && !begins_with(name, "net_") && if_nametoindex(name) != 0;
	attachment->bus = pci ? "pci" : "vdev";
	attachment->made = false;
	snprintf(attachment->name, sizeof(attachment->name), "%s%s",
		 interface                     ? "net_af_packet_" :
		 pci && name_bytes < PCI_CHARS ? "0000:" :
						 "",
		 name);
	snprintf(attachment->arguments, sizeof(attachment->arguments), "%s%s%s%s", interface ? "iface=" : "",
		 interface ? name : "", interface && *arguments ? "," : "", arguments);
	add_default(attachment, "net_af_packet", ring, AF_PACKET_RING);
	add_default(attachment, "net_memif", buffer, MEMIF_BUFFER);
	return true;
}

/* ---- reasons ---- */

static bool have_capability(unsigned number)
{
	unsigned long long effective = 0;
	char line[128];
	FILE *file = fopen("/proc/self/status", "r");

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "CapEff: %llx", &effective) == 1)
			break;
	}
	if (file)
		fclose(file);
	return effective >> number & 1;
}

/* Finds the kernel's driver of a PCI device. Returns false if there is no such device. */
static bool find_pci_driver(const char *address, char *driver, size_t driver_bytes)
{
	char path[128], target[256];
	ssize_t bytes;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s%s", strlen(address) < 12 ? "0000:" : "", address);
	if (access(path, F_OK) != 0)
		return false;
	strcat(path, "/driver");
	bytes = readlink(path, target, sizeof(target) - 1);
	target[bytes > 0 ? bytes : 0] = '\0';
	snprintf(driver, driver_bytes, "%s", strrchr(target, '/') ? strrchr(target, '/') + 1 : "none");
	return true;
}

/* Explains why EAL has no such port, and what to do about it. Returns false if the reason is not known. */
static bool explain_absence(const struct drivers_attachment *attachment, char *out, size_t out_bytes)
{
	const char *name = attachment->name, *interface = strstr(attachment->arguments, "iface=");
	char given[IF_NAMESIZE] = "", driver[32];
	bool found;

	if (interface)
		snprintf(given, sizeof(given), "%.*s", (int)strcspn(interface + 6, ","), interface + 6);
	if (begins_with(name, "net_af_packet") && !have_capability(CAP_NET_RAW)) {
		snprintf(out, out_bytes,
			 "packet sockets require root or CAP_NET_RAW: run the program as root, or grant it the "
			 "capability (setcap cap_net_raw,cap_net_admin+ep PROGRAM)");
	} else if (begins_with(name, "net_tap") && !have_capability(CAP_NET_ADMIN)) {
		snprintf(out, out_bytes,
			 "tap interfaces require root or CAP_NET_ADMIN: run the program as root, or grant it the "
			 "capability (setcap cap_net_admin+ep PROGRAM)");
	} else if (begins_with(name, "net_af_packet") && interface && if_nametoindex(given) == 0) {
		snprintf(out, out_bytes, "there is no interface %s: \"ip link\" lists the interfaces", given);
	} else if (strcmp(attachment->bus, "pci") == 0) {
		found = find_pci_driver(name, driver, sizeof(driver));
		if (found && strcmp(driver, "vfio-pci") == 0 && rte_eal_has_pci())
			return false;
		if (found && strcmp(driver, "vfio-pci") == 0)
			snprintf(out, out_bytes,
				 "EAL was started with --no-pci: list the device in struct uroce_eal_config, or omit "
				 "--no-pci");
		else
			snprintf(out, out_bytes,
				 found ? "the device is bound to kernel driver %s: as root, bind the device to "
					 "vfio-pci (dpdk-devbind.py --bind=vfio-pci %s)" :
					 "this machine has no PCI device %s%s: lspci lists the devices",
				 found ? driver : "", name);
	} else if (!begins_with(name, "net_")) {
		snprintf(out, out_bytes,
			 "no interface has that name (ip link lists them), and no driver matches it: names of virtual "
			 "devices begin with net_");
	} else {
		return false;
	}
	return true;
}

static int refuse(const struct drivers_attachment *attachment, const char *complaints, struct uroce_error *error)
{
	char why[300];

	if (explain_absence(attachment, why, sizeof(why)))
		return drivers_error_set(error, -ENODEV, "there is no port %s: %s", attachment->name, why);
	/* The memory that a packet socket shares with the kernel is locked. */
	if (strstr(complaints, "mmap failed on AF_PACKET"))
		return drivers_error_set(error, -ENODEV,
					 "there is no port %s: the kernel refused to lock its memory; raise the limit "
					 "(ulimit -l unlimited, LimitMEMLOCK=infinity), or run the program as root",
					 attachment->name);
	if (strstr(complaints, GROUP_COMPLAINT))
		return drivers_error_set(error, -ENODEV,
					 "there is no port %s: another program's packet socket uses the fanout group "
					 "number that the DPDK driver chose for this process; start the program again",
					 attachment->name);
	if (strstr(complaints, UNKNOWN_DRIVER))
		return drivers_error_set(
			error, -ENODEV,
			"there is no port %s: DPDK has no driver for that name; use a virtual port such as "
			"net_af_packet0,iface=eth1, net_memif0,role=client, net_ring0 or net_tap0",
			attachment->name);
	return drivers_error_set(error, -ENODEV, "there is no port %s: its driver rejected the device (%s)",
				 attachment->name,
				 *complaints ? complaints :
				 drivers_log_is_left() ?
					       "DPDK's messages may show why" :
					       "the driver gave no reason; EAL's --log-level=8 may show the reason");
}

/* ---- attaching ---- */

/*
 * Lets EAL make the port. Returns true, or false with what DPDK complains about. The driver makes the number of the
 * fanout group from process id and interface index, so another process may have the number on another interface. A
 * process of uroce has it only while it opens its port (packet_socket.h): then the call tries again.
 */
static bool make_port(const struct drivers_attachment *attachment, const char **complaints)
{
	uint64_t end = rte_get_timer_cycles() + GROUP_PATIENCE_S * rte_get_timer_hz();
	char no_complaint[1] = "";
	uint16_t port_id;

	for (;;) {
		if (rte_eal_hotplug_add(attachment->bus, attachment->name, attachment->arguments) == 0 &&
		    rte_eth_dev_get_port_by_name(attachment->name, &port_id) == 0)
			return true;
		drivers_log_stop();
		*complaints = drivers_log_reasons(no_complaint);
		if (rte_get_timer_cycles() >= end || strstr(*complaints, GROUP_COMPLAINT) == NULL)
			return false;
		rte_delay_us_sleep(GROUP_TRY_US);
		drivers_log_start();
	}
}

/*
 * Was EAL given a device of this name with other arguments, without making a port of it? Our arguments would change it.
 */
static bool was_refused(const struct drivers_attachment *attachment, const char *text)
{
	const struct rte_devargs *given;

	RTE_EAL_DEVARGS_FOREACH(attachment->bus, given)
	{
		if (strcmp(given->name, attachment->name) == 0)
			return strchr(text, ',') == NULL &&
			       strcmp(given->args ? given->args : "", attachment->arguments) != 0;
	}
	return false;
}

/* Finds a device of this name that has a driver, or NULL. */
static struct rte_device *find_plugged(const struct drivers_attachment *attachment)
{
	struct rte_dev_iterator iterator;
	struct rte_device *device, *found = NULL;
	char bus[16];

	snprintf(bus, sizeof(bus), "bus=%s", attachment->bus);
	RTE_DEV_FOREACH(device, bus, &iterator)
	{
		if (rte_dev_is_probed(device) && strcmp(rte_dev_name(device), attachment->name) == 0)
			found = device;
	}
	return found;
}

/*
 * Plugs in again a device that was not made here: it stays plugged when its port is closed, and EAL makes no other port
 * of it until it has been unplugged. The device gets its old arguments, unless the user gives new ones. Returns whether
 * there is a port.
 */
static bool plug_again(const char *text, struct drivers_attachment *attachment)
{
	struct rte_device *device = find_plugged(attachment);
	const struct rte_devargs *had = device ? rte_dev_devargs(device) : NULL;
	uint16_t port_id;

	if (device == NULL)
		return false;
	if (had && had->args && strchr(text, ',') == NULL)
		snprintf(attachment->arguments, sizeof(attachment->arguments), "%s", had->args);
	return rte_eal_hotplug_remove(attachment->bus, attachment->name) == 0 &&
	       rte_eal_hotplug_add(attachment->bus, attachment->name, attachment->arguments) == 0 &&
	       rte_eth_dev_get_port_by_name(attachment->name, &port_id) == 0;
}

static int refuse_name(const char *text, struct uroce_error *error)
{
	return drivers_error_set(
		error, -EINVAL,
		"'%.100s' is not a port name: use a name such as net_memif0, 0000:01:00.0, eth0 or loop, of at most %d "
		"characters, with at most %d characters of arguments after the comma",
		text, DRIVERS_ETHDEV_NAME_BYTES / 2 - 1, DRIVERS_ARGUMENTS_BYTES / 2 - 1);
}

/* Has DPDK no driver for the name of a virtual device? Drivers are known once EAL runs. */
static bool has_no_driver(const char *name)
{
	struct rte_devargs parsed = { 0 };
	bool unknown;

	if (!drivers_eal_is_started())
		return false;
	drivers_log_start();
	unknown = rte_devargs_parse(&parsed, name) != 0;
	drivers_log_stop();
	rte_devargs_reset(&parsed);
	return unknown;
}

int drivers_attach_check(const char *text, struct drivers_attachment *attachment, struct uroce_error *error)
{
	char why[300], driver[32];

	if (!understand(text, attachment))
		return refuse_name(text, error);
	/* Some kernel drivers share their device with DPDK, so only its absence is certain. */
	if (strcmp(attachment->bus, "pci") == 0 && find_pci_driver(attachment->name, driver, sizeof(driver)))
		return 0;
	if (explain_absence(attachment, why, sizeof(why)))
		return drivers_error_set(error, -ENODEV, "there is no port %s: %s", attachment->name, why);
	return has_no_driver(attachment->name) ? refuse(attachment, UNKNOWN_DRIVER, error) : 0;
}

int drivers_attach(const char *text, struct drivers_attachment *attachment, struct uroce_error *error)
{
	const char *complaints;
	uint16_t port_id;

	if (!understand(text, attachment))
		return refuse_name(text, error);
	if (rte_eth_dev_get_port_by_name(attachment->name, &port_id) == 0)
		return 0;
	if (plug_again(text, attachment))
		return 0;
	if (was_refused(attachment, text))
		return refuse(attachment, drivers_eal_complaints(), error);
	attachment->made = make_port(attachment, &complaints);
	return attachment->made ? 0 : refuse(attachment, complaints, error);
}

void drivers_detach(const struct drivers_attachment *attachment)
{
	if (attachment->made)
		rte_eal_hotplug_remove(attachment->bus, attachment->name);
}
