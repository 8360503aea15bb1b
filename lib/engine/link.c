/* link.c - the link of a port, told by its interrupt or found by looking */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Some drivers call back when the link changes; net_tap only notes it. With link interrupts on (as drivers/ethdev sets
 * them) what they note is a word in memory, so looking at it a thousand times a second costs nothing. A driver without
 * link interrupts would ask its device each time, and is left alone.
 */
#include <errno.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "engine/events.h"
#include "engine/link.h"
#include "engine/port.h"
#include "engine/unknown_senders.h"

#define LOOK_NS 1000000ull
#define TX_PATIENCE_NS 500000000ull /* half of what a request may fail later than its retries say */

static void look(struct uroce_device *device)
{
	struct rte_eth_link link;
	struct uroce_event event;
	bool down;

	/* Whoever else is looking sees the same, or is called again. */
	if (!rte_spinlock_trylock(&device->link_lock))
		return;
	if (rte_eth_link_get_nowait(device->port_id, &link) == 0) {
		down = link.link_status == RTE_ETH_LINK_DOWN;
		if (atomic_exchange(&device->link_down, down) != down) {
			event = (struct uroce_event){ .type = down ? UROCE_EVENT_PORT_ERR : UROCE_EVENT_PORT_ACTIVE };
			engine_device_raise(device, &event);
			atomic_fetch_add(&device->engine->broadcast_epoch, 1);
		}
	}
	rte_spinlock_unlock(&device->link_lock);
}

/* EAL's interrupt thread. */
static int on_change(uint16_t port_id, enum rte_eth_event_type type, void *argument, void *result)
{
	(void)port_id;
	(void)type;
	(void)result;
	look(argument);
	return 0;
}

void engine_link_watch(struct uroce_device *device)
{
	struct rte_eth_link link;
	struct rte_eth_dev_info info;

	rte_spinlock_init(&device->link_lock);
	/* A port that is down from the start is no news. */
	if (rte_eth_link_get_nowait(device->port_id, &link) == 0)
		atomic_store(&device->link_down, link.link_status == RTE_ETH_LINK_DOWN);
	device->link_is_noted = rte_eth_dev_info_get(device->port_id, &info) == 0 && info.dev_flags &&
				(*info.dev_flags & RTE_ETH_DEV_INTR_LSC);
	rte_eth_dev_callback_register(device->port_id, RTE_ETH_EVENT_INTR_LSC, on_change, device);
}

void engine_link_forget(struct uroce_device *device)
{
	/* -EAGAIN: it runs just now */
	while (rte_eth_dev_callback_unregister(device->port_id, RTE_ETH_EVENT_INTR_LSC, on_change, device) == -EAGAIN)
		rte_delay_us_sleep(100);
}

/*
 * A port that takes nothing is waited for, at no cost in retries: it may just be busy. Not so without a link: a memif
 * whose peer has gone takes nothing for ever. Nor for longer than TX_PATIENCE_NS with one, for a driver may not know
 * its link. What waited is lost then, and all that comes until the port takes a frame again: QPs go on or fail in their
 * time (T-4). Asking for the link is dear for some drivers, so only a port that is behind is asked. As with timers, the
 * port has had the whole of this poll to do better: a thread may have been away.
 */
static void look_at_waiting(struct engine_port *port, const struct uroce_lcore *lcore)
{
	struct rte_eth_link link;
	enum rc_counter reason;

	if (port->tx_frames >= port->goal_frames) {
		port->goal_frames = port_frames_out(port);
		port->goal_ns = lcore->now_ns;
		return;
	}
	if (port->pending_count == 0)
		return; /* dropped before */
	if (rte_eth_link_get_nowait(port->device->port_id, &link) == 0 && link.link_status == RTE_ETH_LINK_DOWN) {
		reason = CNT_PORT_LINK_DOWN;
		port->goal_ns = lcore->now_ns; /* one that comes up has all the patience */
	} else if (lcore->before_ns >= port->goal_ns + TX_PATIENCE_NS) {
		reason = CNT_PORT_STUCK;
	} else {
		return;
	}
	engine_port_drop(port, reason);
	port->goal_frames = port->tx_frames + 1;
}

void engine_link_poll(struct uroce_lcore *lcore)
{
	if (lcore->now_ns < lcore->link_ns)
		return;
	lcore->link_ns = lcore->now_ns + LOOK_NS;
	for (unsigned i = 0; i < lcore->port_count; i++) {
		struct engine_port *port = lcore->ports[i];

		if (port->queue == 0 && port->device->link_is_noted)
			look(port->device);
		look_at_waiting(port, lcore);
		engine_unknown_senders_look(port, lcore->now_ns);
	}
}
