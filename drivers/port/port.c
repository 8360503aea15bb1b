/* port.c - opens a port by its name and makes a device of it; closes it */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/port/port.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>

#include <uroce/log.h>

#include "drivers/capture/recorder.h"
#include "drivers/capture/tap.h"
#include "drivers/eal/eal.h"
#include "drivers/eal/log.h"
#include "drivers/loop/loop.h"
#include "drivers/port/addresses.h"
#include "drivers/port/attach.h"
#include "drivers/telemetry/telemetry.h"

#define MTU_MAX 4096u
#define MTU_MIN 256u
#define LOOPS_MAX 128u
#define NIC_LINK_MS 5000u
#define LOOP_NAME_BYTES 24

/* The two ends of a wire, each of which may be closed alone. */
struct wire {
	struct drivers_loop loop;
	unsigned opened; /* how many ends have been opened */
	unsigned open;
};

struct open_port {
	struct uroce_port public; /* first: the user's pointer points to it */
	struct drivers_ethdev ethdev;
	struct drivers_attachment attachment;
	struct drivers_addresses addresses;
	struct wire *wire;           /* NULL: the port is no end of a loop */
	struct uroce_engine *engine; /* NULL: there is no device of it */
	struct drivers_tap *tap;     /* NULL: no tap was wanted yet */
	bool captured;               /* a capture has taken the tap */
	bool recorded;               /* failed QPs leave their last frames */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct wire *wires[LOOPS_MAX];

static struct open_port *open_port(const struct uroce_port *port)
{
	return (struct open_port *)(uintptr_t)port;
}

const struct drivers_ethdev *drivers_port_ethdev(const struct uroce_port *port)
{
	return &open_port(port)->ethdev;
}

/* ---- taps ---- */

static int make_tap(struct open_port *port, struct uroce_error *error)
{
	return port->tap ? 0 : drivers_tap_attach(&port->ethdev, &port->tap, error);
}

int drivers_port_take_tap(struct uroce_port *public, struct drivers_tap **tap, struct uroce_error *error)
{
	struct open_port *port = open_port(public);
	int code;

	pthread_mutex_lock(&lock);
	if (port->captured)
		code = drivers_error_set(error, -EBUSY, "port %s is being captured: stop the capture first",
					 public->name);
	else
		code = make_tap(port, error);
	if (code == 0)
		port->captured = true;
	*tap = port->tap;
	pthread_mutex_unlock(&lock);
	return code;
}

void drivers_port_release_tap(struct uroce_port *public)
{
	pthread_mutex_lock(&lock);
	open_port(public)->captured = false;
	pthread_mutex_unlock(&lock);
}

/* Begins to record the last frames of QPs of this port that fail. */
static int begin_record(const struct uroce_port_config *config, struct open_port *port, struct uroce_error *error)
{
	int code = make_tap(port, error);

	if (code == 0)
		code = drivers_recorder_start(config->engine, port->public.device, &port->ethdev, port->tap,
					      config->record_path, error);
	port->recorded = code == 0;
	return code;
}

static void end_sight(struct open_port *port)
{
	if (port->recorded)
		drivers_recorder_stop(port->tap);
	drivers_tap_detach(port->tap);
}

/* ---- the device ---- */

/* 0 stands for the largest MTU that the port passes. */
static int check_mtu(uint32_t mtu_bytes, struct uroce_error *error)
{
	if (mtu_bytes == 0 || (mtu_bytes >= MTU_MIN && mtu_bytes <= MTU_MAX && (mtu_bytes & (mtu_bytes - 1)) == 0))
		return 0;
	return drivers_error_set(error, -EINVAL, "path MTU %u is invalid: use 256, 512, 1024, 2048 or 4096", mtu_bytes);
}

static int choose_mtu(const struct uroce_port_config *config, const struct drivers_ethdev *ethdev, uint32_t *mtu_bytes,
		      struct uroce_error *error)
{
	uint32_t wanted = config->mtu_bytes, most = MTU_MAX;
	int code = check_mtu(wanted, error);

	if (code)
		return code;
	while (ethdev->mtu_bytes && most > MTU_MIN && most + UROCE_PACKET_BYTES > ethdev->mtu_bytes)
		most /= 2;
	if (ethdev->mtu_bytes && most + UROCE_PACKET_BYTES > ethdev->mtu_bytes)
		return drivers_error_set(
			error, -EMSGSIZE,
			"%s supports IP packets of up to %u bytes, but the smallest path MTU requires %u: raise the "
			"MTU of its interface (net_af_packet: framesz; net_memif: bsize)",
			ethdev->name, ethdev->mtu_bytes, MTU_MIN + UROCE_PACKET_BYTES);
	if (wanted > most)
		return drivers_error_set(
			error, -EMSGSIZE,
			"path MTU %u is too large for %s, which supports IP packets of up to %u bytes: use %u, or "
			"raise the MTU of its interface (net_af_packet: also framesz; net_memif: bsize)",
			wanted, ethdev->name, ethdev->mtu_bytes, most);
	*mtu_bytes = wanted ? wanted : most;
	return 0;
}

static int add_addresses(const struct uroce_port_config *config, struct uroce_device_config *device,
			 struct uroce_error *error)
{
	const char *why;
	unsigned prefix_bits;

	for (unsigned i = 0; i < UROCE_ADDRS_MAX && config->addresses[i]; i++) {
		prefix_bits = 0;
		if (uroce_addr_parse(config->addresses[i], &device->addrs[i], &prefix_bits) != 0)
			return drivers_error_set(error, -EINVAL,
						 "'%s' is not an address: use a form such as 10.0.0.1/24 or fe80::1/64",
						 config->addresses[i]);
		why = uroce_addr_unusable(&device->addrs[i], prefix_bits);
		if (why)
			return drivers_error_set(error, -EINVAL, "%s is %s: use a host address, such as 10.0.0.1/24",
						 config->addresses[i], why);
		device->prefix_bits[i] = (uint8_t)prefix_bits;
		device->vlans[i] = config->vlans[i];
		if (config->gateways[i] && uroce_addr_parse(config->gateways[i], &device->gateways[i], NULL) != 0)
			return drivers_error_set(
				error, -EINVAL,
				"gateway '%s' is outside the network of address %s: use an address of that network",
				config->gateways[i], config->addresses[i]);
		device->addr_count++;
	}
	if (device->addr_count == 0)
		return drivers_error_set(error, -EINVAL,
					 "the port has no address: add an address, such as 10.0.0.1/24");
	return 0;
}

/* The link of a NIC needs a moment after the start. */
static unsigned link_patience_ms(const struct open_port *port)
{
	return port->attachment.bus && strcmp(port->attachment.bus, "pci") == 0 ? NIC_LINK_MS : 0;
}

static int check_queues(const char *name, unsigned queue_count, const struct uroce_engine *engine,
			struct uroce_error *error)
{
	unsigned lcores = uroce_engine_lcore_count(engine);

	if (queue_count <= lcores)
		return 0;
	return drivers_error_set(
		error, -ENOSPC,
		"port %s has %u rx/tx queue pairs but only %u lcores serve it, so frames would be lost: use qpairs=%u",
		name, queue_count, lcores, lcores);
}

static int create_device(const struct uroce_port_config *config, struct open_port *port, struct uroce_error *error)
{
	const struct drivers_ethdev *ethdev = &port->ethdev;
	struct uroce_device_config device = {
		.port_id = ethdev->port_id,
		.queue_count = ethdev->queue_count,
		.first_lcore = config->first_lcore,
		.mac = config->mac,
		.mtu_bytes = port->public.mtu_bytes,
		.rx_checksums_done = ethdev->rx_checksums_done,
		.pool = ethdev->pool,
	};
	int code = add_addresses(config, &device, error);

	if (code == 0)
		code = check_queues(ethdev->name, ethdev->queue_count, config->engine, error);
	if (code)
		return code;
	code = drivers_addresses_take(ethdev, &device, !config->no_dad, link_patience_ms(port), &port->addresses,
				      error);
	if (code)
		return code;
	code = uroce_device_create(config->engine, &device, &port->public.device);
	if (code)
		return drivers_error_set(error, code, "cannot create a RoCE device on port %s: %s", ethdev->name,
					 code == -EINVAL ? uroce_last_error() : rte_strerror(-code));
	return 0;
}

static int finish(const struct uroce_port_config *config, struct open_port *port, struct uroce_error *error)
{
	struct uroce_port *public = &port->public;
	const struct drivers_ethdev *ethdev = &port->ethdev;
	int code = choose_mtu(config, ethdev, &public->mtu_bytes, error);

	if (code == 0 && config->engine)
		code = create_device(config, port, error);
	if (code == 0 && config->engine && config->record_path)
		code = begin_record(config, port, error);
	if (code && port->public.device)
		uroce_device_destroy(port->public.device);
	if (code == 0 && config->engine)
		drivers_telemetry_start(config->engine);
	port->engine = config->engine;
	public->name = ethdev->name;
	public->driver = ethdev->driver;
	public->port_id = ethdev->port_id;
	public->queue_count = ethdev->queue_count;
	public->packet_bytes = ethdev->mtu_bytes;
	public->rx_checksums_done = ethdev->rx_checksums_done;
	public->pool = ethdev->pool;
	return code;
}

/* One queue pair per lcore that can serve it, unless the caller wants another number. */
static uint16_t queue_count(const struct uroce_port_config *config)
{
	if (config->queue_count || config->engine == NULL)
		return config->queue_count;
	return (uint16_t)RTE_MIN(uroce_engine_lcore_count(config->engine), DRIVERS_ETHDEV_QUEUES_MAX);
}

/* ---- loops ---- */

static struct drivers_loop_config loop_config(const struct uroce_port_config *config)
{
	return (struct drivers_loop_config){
		.queue_count = queue_count(config),
		.ring_entries = config->rx_desc,
		.mbuf_count = config->mbuf_count,
		.mbuf_bytes = config->mbuf_bytes,
	};
}

static int check_loop(const struct uroce_port_config *config, struct uroce_error *error)
{
	const struct drivers_loop_config loop = loop_config(config);
	int code = drivers_loop_check(&loop, error);

	return code || config->engine == NULL ? code : check_queues("loop", loop.queue_count, config->engine, error);
}

/* Finds a wire with an end that was not opened yet, or an empty entry for a new wire; NULL: there is none. */
static struct wire **find_wire(unsigned *index)
{
	struct wire **free_place = NULL;

	for (unsigned i = LOOPS_MAX; i-- > 0;) {
		if (wires[i] == NULL) {
			free_place = &wires[i];
			*index = i;
		} else if (wires[i]->opened == 1) {
			return &wires[i];
		}
	}
	return free_place;
}

/* NULL: the wire was refused, and *code says why. */
static struct wire *create_wire(const struct uroce_port_config *config, unsigned index, int *code,
				struct uroce_error *error)
{
	char name[LOOP_NAME_BYTES];
	struct drivers_loop_config loop = loop_config(config);
	struct wire *wire = calloc(1, sizeof(*wire));

	if (wire == NULL) {
		*code = drivers_error_set(error, -ENOMEM, "no memory for a loop");
		return NULL;
	}
	snprintf(name, sizeof(name), "uroce_loop%u", index % LOOPS_MAX);
	if (index)
		loop.name = name;
	*code = drivers_loop_open(&loop, &wire->loop, error);
	if (*code == 0)
		return wire;
	free(wire);
	return NULL;
}

/*
 * Closes one end of a wire, and lets nobody open the other end any more. Once both ends are closed, returns how many
 * mbufs are missing.
 */
static unsigned close_end(struct wire *wire)
{
	unsigned missing;

	wire->opened = 2;
	if (--wire->open > 0)
		return 0;
	missing = drivers_loop_close(&wire->loop);
	for (unsigned i = 0; i < LOOPS_MAX; i++) {
		if (wires[i] == wire)
			wires[i] = NULL;
	}
	free(wire);
	return missing;
}

static int open_end(const struct uroce_port_config *config, struct open_port *port, struct uroce_error *error)
{
	unsigned index = 0;
	struct wire **slot = find_wire(&index), *wire;
	int code = 0;

	if (slot == NULL)
		return drivers_error_set(error, -ENOSPC, "%u loops are open, the maximum: close one first", LOOPS_MAX);
	wire = *slot ? *slot : create_wire(config, index, &code, error);
	if (wire == NULL)
		return code;
	*slot = wire;
	if (config->queue_count && config->queue_count != wire->loop.queue_count)
		return drivers_error_set(
			error, -EINVAL,
			"the other end of the loop has %u rx/tx queue pairs, not %u: give both ends the same number",
			wire->loop.queue_count, config->queue_count);
	port->wire = wire;
	port->ethdev = wire->loop.ports[wire->opened++];
	wire->open++;
	return 0;
}

/* ---- other ports ---- */

static int open_named(const char *name, const struct uroce_port_config *config, struct open_port *port,
		      struct uroce_error *error)
{
	struct drivers_ethdev_config ethdev = {
		.name = port->attachment.name,
		.queue_count = queue_count(config),
		.rx_desc = config->rx_desc,
		.tx_desc = config->tx_desc,
		.mbuf_count = config->mbuf_count,
		.mbuf_bytes = config->mbuf_bytes,
		.mac = config->mac,
		.rx_interrupts = config->engine && uroce_engine_idle(config->engine) == UROCE_IDLE_SLEEP,
	};
	int code = drivers_attach(name, &port->attachment, error);

	if (code)
		return code;
	code = drivers_ethdev_open(&ethdev, &port->ethdev, error);
	if (code)
		drivers_detach(&port->attachment);
	return code;
}

static unsigned close_below(struct open_port *port)
{
	unsigned missing;

	drivers_addresses_release(&port->addresses);
	if (port->wire)
		return close_end(port->wire);
	missing = drivers_ethdev_close(&port->ethdev);
	drivers_detach(&port->attachment);
	return missing;
}

/* ---- checking ---- */

int uroce_port_check(const char *name, const struct uroce_port_config *config, struct uroce_error *error)
{
	struct uroce_device_config device = { 0 };
	struct drivers_attachment attachment;
	bool loop = strcmp(name, "loop") == 0;
	int code = loop ? 0 : drivers_attach_check(name, &attachment, error);

	if (code == 0 && loop)
		code = check_loop(config, error);
	if (code == 0)
		code = check_mtu(config->mtu_bytes, error);
	if (code == 0)
		code = add_addresses(config, &device, error);
	if (code == 0 && !loop)
		code = drivers_addresses_check(attachment.name, &device, error);
	if (code == 0 && config->record_path)
		code = drivers_recorder_check(config->record_path, error);
	return code;
}

/* ---- opening and closing ---- */

int uroce_port_open(const char *name, const struct uroce_port_config *config, struct uroce_port **result,
		    struct uroce_error *error)
{
	struct open_port *port;
	int code;

	*result = NULL;
	if (!drivers_eal_is_started())
		return drivers_error_set(error, -EPERM, "EAL has not been started: call uroce_eal_start() first");
	port = calloc(1, sizeof(*port));
	if (port == NULL)
		return drivers_error_set(error, -ENOMEM, "no memory for port %.40s", name);
	pthread_mutex_lock(&lock);
	drivers_log_start();
	code = strcmp(name, "loop") == 0 ? open_end(config, port, error) : open_named(name, config, port, error);
	if (code == 0) {
		code = finish(config, port, error);
		if (code) {
			end_sight(port);
			close_below(port);
		}
	}
	drivers_log_stop();
	pthread_mutex_unlock(&lock);
	if (code) {
		free(port);
		return code;
	}
	*result = &port->public;
	return 0;
}

int uroce_port_close(struct uroce_port *public)
{
	struct open_port *port = open_port(public);
	unsigned missing;
	int code = port->captured ? -EBUSY : public->device ? uroce_device_destroy(public->device) : 0;

	if (code)
		return code;
	end_sight(port);
	if (port->engine)
		drivers_telemetry_stop(port->engine);
	pthread_mutex_lock(&lock);
	drivers_log_start(); /* drivers' complaints are not shown: nobody can act on them now */
	missing = close_below(port);
	drivers_log_stop();
	pthread_mutex_unlock(&lock);
	free(port);
	return (int)missing;
}
