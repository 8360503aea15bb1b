/* device_state.h - a port with addresses: what all lcores see of it */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_DEVICE_STATE_H
#define ENGINE_DEVICE_STATE_H

#include <stdatomic.h>

#include <rte_ring.h>
#include <rte_spinlock.h>

#include <uroce/uroce.h>

#include "engine/interface.h"
#include "engine/neigh.h"
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
	struct engine_slab slab; /* of QPs */
	struct rc_mr_table mrs;
	uint64_t mrs_bytes;
	uint32_t next_pd;
	uint32_t next_queue;      /* where the next QP goes */
	bool queues_are_wired;    /* constant; see struct engine_port_traits */
	_Atomic uint32_t users;   /* PDs, CQs, paths of QPs of other devices */
	rte_spinlock_t link_lock; /* held while the link is looked at and a change is told */
	_Atomic bool link_down;
	bool link_is_noted; /* by the driver, in memory: to look costs nothing */
	bool link_is_asked; /* now and then: of the driver, of the interface */
	struct engine_interface interface;
	struct rte_ring *events; /* of struct uroce_event */
	_Atomic int event_fd;    /* -1 until somebody asks for it */
	_Atomic uint64_t events_lost;
	char name[32];
};

#endif
