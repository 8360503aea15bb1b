/* engine.h - the struct of an engine: what its lcores and devices share */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An engine has lcores and devices. A device is a port, each of whose queues is served by one lcore. A QP belongs to
 * one lcore, and only that lcore touches its state; other threads reach the owner by the doorbell ring, the mailbox and
 * the hand-over ring.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

#include <rte_rcu_qsbr.h>

#include <uroce/uroce.h>

#include "cm/cm.h"
#include "config/limits.h"
#include "engine/lcore_state.h"
#include "engine/timewait.h"

#define ENGINE_UDS 64u

struct engine_qp_slot;
struct uroce_device;

struct uroce_engine {
	struct uroce_engine_config config; /* with defaults instead of zeros */
	unsigned lcore_count;
	struct uroce_lcore *lcores[LIMIT_LCORES];
	struct uroce_device *devices[ENGINE_DEVICES];
	/* lock of the tables of the engine and its devices; no thread holds it while a call waits for an lcore */
	pthread_mutex_t lock;
	bool running;
	_Atomic bool stop;
	struct rte_rcu_qsbr *qsbr; /* each lcore is one reader */
	/* counts events that concern QPs of every lcore: a CQ overflowed, a link changed */
	_Atomic uint32_t broadcast_epoch;

	/*
	 * QP table, from index to QP; an index ends with the digits of its lcore, and a QPN with the digits of its
	 * index
	 */
	uint32_t index_count; /* a power of two */
	uint32_t lcore_mask;
	struct engine_qp_slot *qps;
	_Atomic uint64_t *peers;   /* by index, as engine_steer_set_peers() writes it: whose frames a QP may get */
	_Atomic uint32_t qp_count; /* queue pairs that exist, those for datagrams included */
	struct engine_timewait timewait;

	/* connections, under the lock: listeners, ports, and the key that decides which lcore gets a REQ */
	struct cm_listeners listeners;
	LIST_HEAD(, uroce_cm_id) bound; /* ids that hold a port */
	uint8_t cm_key[16];
	uint32_t channels;

	/* queue pairs for datagrams, in no order; under the lock */
	struct uroce_ud *_Atomic uds[ENGINE_UDS];
	_Atomic uint32_t ud_count; /* number of entries in uds; while it is 0 nobody searches uds */
};

#endif
