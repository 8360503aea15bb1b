/* link.c - watches ports: links, frames that they keep, unknown senders, conflicts of addresses, and their counters */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Some drivers call back when the link changes; net_tap only notes the change. With link interrupts on, as
 * drivers/ethdev sets them, the note is a word in memory, which costs nothing to read a thousand times a second. If
 * interrupts are off, or if the driver has none, the driver and the kernel's interface under the port are asked. With
 * some drivers each such question is expensive, but not at twenty times a second.
 */
#include <errno.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "engine/deliver.h"
#include "engine/link.h"
#include "engine/device_state.h"
#include "engine/engine.h"
#include "engine/evidence.h"
#include "engine/lcore_state.h"
#include "engine/log.h"
#include "engine/port.h"
#include "engine/port_state.h"

#define LOOK_NS 1000000ull
#define ASK_NS 50000000ull /* how often drivers and the kernel are asked; each question takes a few microseconds */
/* frames count as held once none has left for this long: more than pauses of a network, less than all retries */
#define HELD_NS 200000000ull
/* how long frames wait for a port; a request's failure may come late by twice this time */
#define TX_PATIENCE_NS 500000000ull

/*
 * If the driver cannot tell, the link counts as unchanged. A driver that does not note changes may report a link as up
 * while its interface is down.
 */
static bool link_is_down(const struct uroce_device *device, bool before)
{
	struct rte_eth_link link;

	if (rte_eth_link_get_nowait(device->port_id, &link) != 0)
		return before;
	return link.link_status == RTE_ETH_LINK_DOWN ||
	       (!device->link_is_noted && engine_interface_is_down(device->interface.index));
}

bool engine_link_is_down(const struct uroce_device *device)
{
	return link_is_down(device, atomic_load(&device->link_down));
}

bool uroce_port_link_is_up(uint16_t port_id)
{
	struct rte_eth_link link = { 0 };
	struct rte_eth_dev_info info;

	return rte_eth_link_get_nowait(port_id, &link) == 0 && link.link_status == RTE_ETH_LINK_UP &&
	       rte_eth_dev_info_get(port_id, &info) == 0 && !engine_interface_is_down(info.if_index);
}

static void look_at_link(struct uroce_device *device)
{
	struct uroce_event event;
	bool down;

	/*
	 * Another thread holds the lock, reads the same link and reports the change; otherwise the next call reports
	 * it.
	 */
	if (!rte_spinlock_trylock(&device->link_lock))
		return;
	down = link_is_down(device, atomic_load(&device->link_down));
	if (atomic_exchange(&device->link_down, down) != down) {
		atomic_fetch_add(&device->link_downs, down);
		event = (struct uroce_event){ .type = down ? UROCE_EVENT_PORT_ERR : UROCE_EVENT_PORT_ACTIVE };
		engine_deliver_event(device, &event);
		atomic_fetch_add(&device->engine->broadcast_epoch, 1);
	}
	rte_spinlock_unlock(&device->link_lock);
}

/* EAL's interrupt thread calls this. */
static int on_change(uint16_t port_id, enum rte_eth_event_type type, void *argument, void *result)
{
	(void)port_id;
	(void)type;
	(void)result;
	look_at_link(argument);
	return 0;
}

void engine_link_watch(struct uroce_device *device)
{
	struct rte_eth_dev_info info;
	struct rte_eth_conf conf;

	rte_spinlock_init(&device->link_lock);
	engine_interface_find(device->port_id, &device->interface);
	if (rte_eth_dev_info_get(device->port_id, &info) == 0 && info.dev_flags &&
	    (*info.dev_flags & RTE_ETH_DEV_INTR_LSC) && rte_eth_dev_conf_get(device->port_id, &conf) == 0)
		device->link_is_noted = conf.intr_conf.lsc;
	device->link_is_asked = !device->link_is_noted;
	/* A link that is down from the start raises no event. */
	atomic_store(&device->link_down, link_is_down(device, false));
	rte_eth_dev_callback_register(device->port_id, RTE_ETH_EVENT_INTR_LSC, on_change, device);
}

void engine_link_forget(struct uroce_device *device)
{
	/* -EAGAIN: the callback is running */
	while (rte_eth_dev_callback_unregister(device->port_id, RTE_ETH_EVENT_INTR_LSC, on_change, device) == -EAGAIN)
		rte_delay_us_sleep(100);
}

/*
 * Frames wait for a port that takes none, and cost no retries, because the port may just be busy. They do not wait for
 * a port without a link, since a memif whose peer has gone takes nothing for ever. Nor do they wait for any port longer
 * than TX_PATIENCE_NS, since a driver may not know its link. After that time they are dropped, and so is every frame
 * until the port takes a frame again, so that QPs go on or fail in time (T-4). Only a port that is behind is asked for
 * its link, because with some drivers that is expensive. Like timers, the wait is compared with the time at which the
 * poll before this one began: if the thread has not run for a while, this poll has offered the frames to the port once
 * more.
 */
static void look_at_waiting(struct engine_port *port, const struct uroce_lcore *lcore)
{
	enum rc_counter reason;

	if (port->tx_frames >= port->goal_frames) {
		port->goal_frames = port_frames_out(port);
		port->goal_ns = lcore->now_ns;
		return;
	}
	if (port->pending_count == 0)
		return; /* frames have been dropped */
	if (link_is_down(port->device, false)) {
		reason = CNT_PORT_LINK_DOWN;
		port->goal_ns = lcore->now_ns; /* after the link has come up, the port has all its time again */
	} else if (lcore->before_ns >= port->goal_ns + TX_PATIENCE_NS) {
		reason = CNT_PORT_STUCK;
	} else {
		return;
	}
	engine_port_drop(port, reason);
	port->goal_frames = port->tx_frames + 1;
}

/*
 * Some ports take frames and keep them: while there is no link, or while the kernel's queue behind them stands still.
 * The driver does not report that, and its ring need not fill up, because after a time-out a QP sends only a few
 * packets. The kernel counts more bytes for a frame than the frame has. So if the bytes that it holds grow by less than
 * the bytes that it was given, a frame has left. A link that is reported down sends nothing, unless frames arrive over
 * it: interfaces in operational state DORMANT are reported down and carry frames. Frames given to a port that lets
 * nothing go for HELD_NS are counted.
 */
static void look_at_held(struct engine_port *port, const struct uroce_lcore *lcore)
{
	uint64_t bytes = engine_interface_held_bytes(&port->device->interface, port->queue);
	bool down = atomic_load_explicit(&port->device->link_down, memory_order_relaxed);
	struct engine_held *held = &port->held;
	bool sends = down ? port->rx_frames != held->rx_frames :
			    bytes == 0 || bytes < held->bytes + (port->tx_bytes - held->given_bytes);

	if (held->since_ns == 0 || sends) {
		*held = (struct engine_held){ lcore->now_ns, bytes, port->tx_bytes, port->tx_frames, port->rx_frames };
	} else if (lcore->before_ns >= held->since_ns + HELD_NS) {
		port->counters[CNT_PORT_HELD] += port->tx_frames - held->frames;
		held->frames = port->tx_frames;
	}
}

/*
 * Frames of an unknown sender name no QPN, address or P_Key of ours (Y-3, C-24). The ANOMALY_UNKNOWN_SENDERS'th of them
 * within a second raises the event, once (TC-G-3).
 */
static void look_at_unknown_senders(struct engine_port *port, uint64_t now_ns)
{
	const uint64_t *counters = port->counters;
	uint64_t unknown = counters[CNT_PORT_UNKNOWN_QPN] + counters[CNT_PORT_ADDRESS] + counters[CNT_PORT_VLAN] +
			   counters[CNT_PORT_PKEY] + counters[CNT_PORT_GSI_STRANGER] +
			   counters[CNT_PORT_GSI_UNKNOWN_DREQ];
	const struct uroce_event event = { .type = UROCE_EVENT_ANOMALY };

	if (now_ns - port->unknown_since_ns >= ANOMALY_NS) {
		port->unknown_since_ns = now_ns;
		port->unknown_counted = unknown;
		port->unknown_told = false;
	}
	if (port->unknown_told || unknown - port->unknown_counted < ANOMALY_UNKNOWN_SENDERS)
		return;
	port->unknown_told = true;
	engine_deliver_event(port->device, &event);
}

/* Another station has an address of the port (W-8). The address was defended already; this is reported. */
static void look_at_conflict(struct engine_port *port)
{
	const struct uroce_event event = { .type = UROCE_EVENT_ADDRESS_CONFLICT };
	const struct engine_conflict *conflict = &port->conflict;
	const uint8_t *mac = conflict->holder.bytes;
	char text[64];

	if (!conflict->is_new)
		return;
	port->conflict.is_new = false;
	engine_log(UROCE_LOG_WARNING,
		   "port %u: address %s is also used by %02x:%02x:%02x:%02x:%02x:%02x: change the address of one of "
		   "the two stations",
		   port->device->port_id,
		   uroce_addr_format(&port->device->config.addrs[conflict->index], text, sizeof(text)), mac[0], mac[1],
		   mac[2], mac[3], mac[4], mac[5]);
	engine_deliver_event(port->device, &event);
}

void engine_link_poll(struct uroce_lcore *lcore)
{
	bool ask = lcore->now_ns >= lcore->ask_ns;

	if (lcore->now_ns < lcore->link_ns)
		return;
	lcore->link_ns = lcore->now_ns + LOOK_NS;
	if (ask)
		lcore->ask_ns = lcore->now_ns + ASK_NS;
	for (unsigned i = 0; i < lcore->port_count; i++) {
		struct engine_port *port = lcore->ports[i];
		const struct uroce_device *device = port->device;

		if (port->queue == 0 && (device->link_is_noted || (ask && device->link_is_asked)))
			look_at_link(port->device);
		if (ask && device->interface.index) {
			look_at_held(port, lcore);
			port->counters[CNT_PORT_RING_FULL] +=
				engine_interface_ring_drops(&device->interface, port->queue);
		}
		look_at_waiting(port, lcore);
		look_at_unknown_senders(port, lcore->now_ns);
		look_at_conflict(port);
		engine_evidence_keep(port, lcore->now_ns);
	}
}
