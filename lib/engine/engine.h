/* engine.h - what all lcores and devices of an engine share */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An engine has lcores and devices. A device is a port; queue i of it is served by one lcore. A QP belongs to one
 * lcore, which alone touches its state; others reach it by the doorbell ring, the mailbox and the hand-over ring.
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
#include "engine/rest.h"

#define ENGINE_UDS 64u

struct engine_qp_slot;
struct uroce_device;

struct uroce_engine {
	struct uroce_engine_config config; /* with the defaults for what was 0 */
	unsigned lcore_count;
	struct uroce_lcore *lcores[LIMIT_LCORES];
	struct uroce_device *devices[ENGINE_DEVICES];
	pthread_mutex_t lock; /* tables of the engine and its devices; never held while a call waits for an lcore */
	bool running;
	_Atomic bool stop;
	struct rte_rcu_qsbr *qsbr;        /* one reader an lcore */
	_Atomic uint32_t broadcast_epoch; /* counts what concerns QPs of every lcore: a CQ overflowed, a link changed */

	/* QP table: index -> QP; the low digits of an index are its lcore, and those of a QPN its index */
	uint32_t index_count; /* a power of two */
	uint32_t lcore_mask;
	struct engine_qp_slot *qps;
	struct engine_rest rest;

	/* connections, under the lock: listeners, ports, and the key by which the lcore of a REQ is found */
	struct cm_listeners listeners;
	LIST_HEAD(, uroce_cm_id) bound; /* all that have a port */
	uint8_t cm_key[16];
	uint32_t channels;

	/* queue pairs for datagrams, in no order; under the lock */
	struct uroce_ud *_Atomic uds[ENGINE_UDS];
	_Atomic uint32_t ud_count; /* 0: none; nobody looks */
};

#endif
