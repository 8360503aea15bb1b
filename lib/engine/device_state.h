/* device_state.h - the struct of a device, as all lcores see it */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_DEVICE_STATE_H
#define ENGINE_DEVICE_STATE_H

#include <stdatomic.h>

#include <rte_ring.h>
#include <rte_spinlock.h>

#include <uroce/uroce.h>

#include "config/limits.h"
#include "engine/interface.h"
#include "engine/neigh.h"
#include "engine/pings.h"
#include "engine/slab.h"
#include "rc/mr.h"

#define EVENT_RING 1024u

struct uroce_engine;

struct uroce_device {
	struct uroce_engine *engine;
	struct uroce_device_config config;
	uint16_t port_id;
	int numa_node;
	struct uroce_mac mac;
	struct engine_neigh neigh;
	struct engine_pings pings;
	rte_spinlock_t defence_lock;
	uint64_t defended_ns[LIMIT_PORT_ADDRS]; /* when each address was last defended; under defence_lock */
	struct engine_slab slab;                /* memory of its QPs */
	struct rc_mr_table mrs;
	uint64_t mrs_bytes;
	uint32_t next_pd;
	uint32_t next_queue;      /* the queue of the next QP */
	bool queues_are_wired;    /* does not change: see struct engine_port_traits */
	_Atomic uint32_t users;   /* PDs, CQs, and QPs of other devices whose paths lead through this port */
	rte_spinlock_t link_lock; /* held while the link is read and a change of the link is reported */
	_Atomic bool link_down;
	_Atomic uint32_t link_downs; /* how often the link has gone down */
	bool link_is_noted;          /* the driver keeps the link state in memory: reading it costs nothing */
	bool link_is_asked;          /* the driver or the kernel's interface is asked for the link state now and then */
	struct engine_interface interface;
	struct rte_ring *events; /* entries are struct uroce_event */
	_Atomic int event_fd;    /* -1 until the application asks for it */
	_Atomic uint64_t events_lost;
	char name[32];
};

/*
 * Does a QP of the device receive packets of several UDP source ports on one queue (W-10)? A NIC chooses a queue by
 * that port, and packets on different queues overtake each other on their way to the QP's lcore.
 */
static inline bool device_takes_several_paths(const struct uroce_device *device)
{
	return device->config.queue_count < 2 || device->queues_are_wired;
}

#endif
