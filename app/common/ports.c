/* ports.c - opens ports and makes devices of them */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/eal.h"
#include "common/ports.h"

#define MTU_MAX 4096u
#define MTU_MIN 256u
#define VLAN_MAX 4094u
#define VLAN_PRIORITY_MAX 7u

int app_address_parse(const char *text, struct uroce_addr *addr, unsigned *prefix_bits)
{
	*prefix_bits = 0;
	if (uroce_addr_parse(text, addr, prefix_bits) == 0)
		return APP_EXIT_OK;
	return app_complain(APP_EXIT_USAGE, "'%s' is no address: use 10.0.0.1/24 or fe80::1/64", text);
}

/* The number at the beginning of *text, which goes behind it; or one above most. */
static unsigned long take_number(const char **text, unsigned long most)
{
	char *end;
	unsigned long value = strtoul(*text, &end, 10);

	if (**text < '0' || **text > '9' || value > most)
		return most + 1;
	*text = end;
	return value;
}

int app_vlan_parse(const char *option, const char *text, struct app_vlan *vlan)
{
	const char *at = text;
	unsigned long id = take_number(&at, VLAN_MAX), priority = 0;

	if (id <= VLAN_MAX && *at == ':') {
		at++;
		priority = take_number(&at, VLAN_PRIORITY_MAX);
	}
	if (id > VLAN_MAX || priority > VLAN_PRIORITY_MAX || *at)
		return app_complain(
			APP_EXIT_USAGE,
			"%s %s: use a VLAN from 0 (none) to %u, and a priority from 0 to %u behind it, such "
			"as 100 or 100:3",
			option, text, VLAN_MAX, VLAN_PRIORITY_MAX);
	*vlan = (struct app_vlan){ .id = (uint16_t)id, .priority = (uint8_t)priority };
	return APP_EXIT_OK;
}

/* 0: the largest that the port passes. */
static int choose_mtu(const struct app_port_config *config, const struct drivers_ethdev *ethdev, uint32_t *mtu_bytes)
{
	uint32_t most = MTU_MAX;

	while (ethdev->mtu_bytes && most > MTU_MIN && most + UROCE_PACKET_BYTES > ethdev->mtu_bytes)
		most /= 2;
	if (ethdev->mtu_bytes && most + UROCE_PACKET_BYTES > ethdev->mtu_bytes)
		return app_complain(
			APP_EXIT_ENVIRONMENT,
			"%s passes IP packets of %u bytes, the smallest path MTU needs %u: raise the MTU of its "
			"interface (net_af_packet: framesz; net_memif: bsize)",
			ethdev->name, ethdev->mtu_bytes, MTU_MIN + UROCE_PACKET_BYTES);
	if (config->mtu_bytes > most)
		return app_complain(
			APP_EXIT_ENVIRONMENT,
			"a path MTU of %u does not pass %s, whose IP packets may have %u bytes: use -m %u, or "
			"raise the MTU of its interface (net_af_packet: framesz, too; net_memif: bsize)",
			config->mtu_bytes, ethdev->name, ethdev->mtu_bytes, most);
	*mtu_bytes = config->mtu_bytes ? config->mtu_bytes : most;
	return APP_EXIT_OK;
}

static int add_addresses(const struct app_port_config *config, struct uroce_device_config *device)
{
	unsigned prefix_bits;
	int code;

	for (unsigned i = 0; i < UROCE_ADDRS_MAX && config->addresses[i]; i++) {
		code = app_address_parse(config->addresses[i], &device->addrs[i], &prefix_bits);
		if (code)
			return code;
		device->prefix_bits[i] = (uint8_t)prefix_bits;
		device->addr_count++;
	}
	if (device->addr_count == 0)
		return app_complain(APP_EXIT_USAGE, "the port has no address: give one, such as 10.0.0.1/24");
	return APP_EXIT_OK;
}

static int create_device(const struct app_port_config *config, struct app_port *port)
{
	unsigned lcores = uroce_engine_lcore_count(config->engine);
	struct uroce_device_config device = {
		.port_id = port->ethdev.port_id,
		.queue_count = port->ethdev.queue_count,
		.first_lcore = config->first_lcore,
		.mac = config->mac,
		.rx_checksums_done = port->ethdev.rx_checksums_done,
		.pool = port->ethdev.pool,
	};
	int code = add_addresses(config, &device), error;

	if (code == APP_EXIT_OK)
		code = choose_mtu(config, &port->ethdev, &device.mtu_bytes);
	if (code)
		return code;
	if (port->ethdev.queue_count > lcores)
		return app_complain(APP_EXIT_ENVIRONMENT,
				    "port %s has %u queue pairs and %u lcores serve them, so frames would "
				    "be lost: use qpairs=%u",
				    port->ethdev.name, port->ethdev.queue_count, lcores, lcores);
	error = uroce_device_create(config->engine, &device, &port->device);
	if (error)
		return app_complain(APP_EXIT_INTERNAL, "port %s cannot become a device: %s", port->ethdev.name,
				    strerror(-error));
	port->addr = device.addrs[0];
	port->vlan = config->vlan;
	return APP_EXIT_OK;
}

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

/* The kernel's driver of a PCI device. false: there is no such device. */
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

/* Why EAL has no port of that name, and what to do; false: it is not known. */
static bool explain_absence(const char *device, const char *name, char *out, size_t out_bytes)
{
	const char *interface = strstr(device, "iface=");
	char path[128], driver[32];
	bool found;

	snprintf(path, sizeof(path), "/sys/class/net/%.*s", interface ? (int)strcspn(interface + 6, ",") : 0,
		 interface ? interface + 6 : "");
	if (strncmp(name, "net_af_packet", 13) == 0 && !have_capability(CAP_NET_RAW)) {
		snprintf(out, out_bytes,
			 "packet sockets are for root or who has CAP_NET_RAW: run it as root, or give the "
			 "program the right (setcap cap_net_raw+ep PROGRAM)");
	} else if (strncmp(name, "net_tap", 7) == 0 && !have_capability(CAP_NET_ADMIN)) {
		snprintf(out, out_bytes,
			 "tap interfaces are for root or who has CAP_NET_ADMIN: run it as root, or give the "
			 "program the right (setcap cap_net_admin+ep PROGRAM)");
	} else if (strncmp(name, "net_af_packet", 13) == 0 && interface && access(path, F_OK) != 0) {
		snprintf(out, out_bytes, "there is no interface %s: ip link lists them",
			 path + strlen("/sys/class/net/"));
	} else if (strncmp(name, "net_", 4) != 0 && strchr(name, ':')) {
		found = find_pci_driver(name, driver, sizeof(driver));
		if (found && strcmp(driver, "vfio-pci") == 0)
			return false;
		snprintf(out, out_bytes,
			 found ? "its kernel driver is %s: as root, bind it to vfio-pci (dpdk-devbind.py "
				 "--bind=vfio-pci %s)" :
				 "%s%s is no PCI device of this machine: lspci lists them",
			 found ? driver : "", name);
	} else {
		return false;
	}
	return true;
}

static int complain_about_port(const struct app_port_config *config, int code, const struct drivers_error *error)
{
	char name[DRIVERS_ETHDEV_NAME_BYTES], why[256];

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(config->device, ","), config->device);
	if (code != -ENODEV || !explain_absence(config->device, name, why, sizeof(why)))
		return app_complain(code == -EINVAL ? APP_EXIT_USAGE : APP_EXIT_ENVIRONMENT, "%s", error->text);
	app_eal_speak(false); /* DPDK says no more than that */
	return app_complain(APP_EXIT_ENVIRONMENT, "there is no port %s: %s", name, why);
}

int app_port_open(const struct app_port_config *config, struct app_port *port)
{
	char name[DRIVERS_ETHDEV_NAME_BYTES];
	struct drivers_ethdev_config ethdev = {
		.name = name,
		.queue_count = config->queue_count,
		.rx_desc = config->rx_desc,
		.tx_desc = config->tx_desc,
		.mbuf_count = config->mbuf_count,
		.mbuf_bytes = config->mbuf_bytes,
		.mac = config->mac,
	};
	struct drivers_error error;
	int code;

	memset(port, 0, sizeof(*port));
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(config->device, ","), config->device);
	code = drivers_ethdev_open(&ethdev, &port->ethdev, &error);
	if (code)
		return complain_about_port(config, code, &error);
	code = create_device(config, port);
	if (code)
		drivers_ethdev_close(&port->ethdev);
	return code;
}

static int loop_device(const struct app_port_config *config, uint16_t side, uint16_t lcore_offset,
		       struct app_loop *loop)
{
	static const char *const defaults[] = { "10.0.0.1/24", "10.0.0.2/24" };
	struct app_port_config one = *config;

	one.first_lcore = (uint16_t)(config->first_lcore + (side ? lcore_offset : 0));
	one.addresses[0] = config->addresses[0] ? config->addresses[side] : defaults[side];
	one.addresses[1] = NULL;
	one.mac = (struct uroce_mac){ 0 };
	loop->ports[side].ethdev = loop->loop.ports[side];
	loop->ports[side].in_loop = true;
	return create_device(&one, &loop->ports[side]);
}

int app_loop_open(const struct app_port_config *config, uint16_t second_lcore_offset, struct app_loop *loop)
{
	struct drivers_loop_config wires = {
		.name = config->loop_name,
		.queue_count = config->queue_count,
		.ring_entries = config->rx_desc,
		.mbuf_count = config->mbuf_count,
		.mbuf_bytes = config->mbuf_bytes,
	};
	struct drivers_error error;
	int code;

	memset(loop, 0, sizeof(*loop));
	code = drivers_loop_open(&wires, &loop->loop, &error);
	if (code)
		return app_complain(code == -EINVAL ? APP_EXIT_USAGE : APP_EXIT_ENVIRONMENT, "%s", error.text);
	code = loop_device(config, 0, second_lcore_offset, loop);
	if (code == APP_EXIT_OK)
		code = loop_device(config, 1, second_lcore_offset, loop);
	if (code)
		app_loop_close(loop);
	return code;
}

static void destroy_device(struct app_port *port)
{
	int error = port->device ? uroce_device_destroy(port->device) : 0;

	if (error)
		app_complain(APP_EXIT_INTERNAL, "the device of port %s is not destroyed: %s", port->ethdev.name,
			     strerror(-error));
	port->device = NULL;
}

/* Mbufs that are missing now have leaked: a bug that somebody should hear of. */
static void report_missing(unsigned missing)
{
	if (missing)
		app_complain(APP_EXIT_INTERNAL, "%u mbufs did not come back", missing);
}

void app_port_close(struct app_port *port)
{
	destroy_device(port);
	if (!port->in_loop)
		report_missing(drivers_ethdev_close(&port->ethdev));
}

void app_loop_close(struct app_loop *loop)
{
	destroy_device(&loop->ports[0]);
	destroy_device(&loop->ports[1]);
	report_missing(drivers_loop_close(&loop->loop));
}
