/* connect.h - an lcore as host of a connection manager: datagrams of QP 1, time, QPs and events */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A connection lives where its QP lives. All of this runs on the owner; lib/api/cm.c travels there. An id is the user's
 * view of a connection: its events wait in it, so none is ever lost, and it waits in its channel at most once.
 */
#ifndef ENGINE_CONNECT_H
#define ENGINE_CONNECT_H

#include <string.h>
#include <sys/queue.h>

#include <uroce/cm.h>

#include "cm/cm.h"
#include "engine/engine.h"

#define CONNECT_EVENTS 8u /* that wait in an id; a power of two */

struct uroce_cm_channel {
	struct uroce_engine *engine;
	rte_spinlock_t lock; /* the queue of ids that have events */
	TAILQ_HEAD(, uroce_cm_id) queue;
	bool woken; /* the descriptor is written, or is about to be */
	int fd;
	_Atomic uint32_t ids;
};

/* What an id wants of a peer whose MAC is being asked for. */
enum connect_aim { CONNECT_CONNECT, CONNECT_ASK, CONNECT_ROUTE };

enum connect_qp_event { CONNECT_PACKET_CAME = 1, CONNECT_QP_DIED = 2 };

struct uroce_cm_id {
	struct uroce_cm_channel *_Atomic channel; /* lcores read that of a listener */
	uint64_t context;
	struct uroce_qp *qp;
	struct uroce_device *device; /* of a REQUEST, of the route, then of the QP */
	struct uroce_lcore *lcore;   /* NULL: it has no device yet */
	bool is_request;             /* its connection has begun at the peer */
	bool has_route;              /* request.route leads to its peer */
	bool user_moves;             /* a QP of his own; qp is NULL */
	bool has_psn;                /* drawn: */
	uint32_t psn;                /* where the peer begins to send to such a QP */

	bool datagrams; /* of the port space of UDP */

	/* its port; under the engine's lock */
	bool is_bound; /* nobody else has it; else the port that it connects from */
	uint16_t port;
	struct cm_listener listener; /* of a listener all; bound: service_id, and addr */
	LIST_ENTRY(uroce_cm_id) with_bound;
	bool listens;
	uint32_t slot; /* among the engine's */

	/* lcore only */
	uint32_t connection; /* CM_NONE: none */
	bool resolving;
	uint64_t resolve_until_ns, patience_ns;
	TAILQ_ENTRY(uroce_cm_id) with_resolving;
	uint32_t qp_events; /* enum connect_qp_event; 0: none */
	LIST_ENTRY(uroce_cm_id) with_qp_events;
	enum connect_aim aim;
	struct cm_connect request; /* while resolving */
	uint8_t request_private[CM_ASKER_PRIVATE_BYTES];
	struct cm_way alternate;
	struct uroce_qp_attr attr; /* what the QP is to be modified to; its path names the peer */

	/* under the channel's lock */
	bool queued;
	TAILQ_ENTRY(uroce_cm_id) in_queue;
	uint32_t event_head, event_tail;
	struct uroce_cm_event events[CONNECT_EVENTS];
};

/* Of an lcore, while its engine has channels. */
struct engine_connect {
	_Alignas(64) struct cm *cm;          /* lies behind it */
	uint64_t bytes;                      /* of both */
	uint32_t psn;                        /* of QP 1 */
	TAILQ_HEAD(, uroce_cm_id) resolving; /* in the order of their calls, in which their REQs leave */
	LIST_HEAD(, uroce_cm_id) with_qp_events;
	uint64_t resolve_ns;
	uint64_t sent;                   /* datagrams */
	uint64_t looked_ns, data_frames; /* when data was looked for, and how many frames there had been */
	bool data_flows;
	uint64_t spent_ns, req_spent_ns; /* what datagrams have cost, and REQs among them: see is_paid() */
	uint64_t unresolved;             /* datagrams that were not sent for want of a MAC or of room */
};

#define CONNECT_TO_RTR                                                                              \
	(UROCE_QP_STATE | UROCE_QP_PATH | UROCE_QP_PATH_MTU | UROCE_QP_DEST_QPN | UROCE_QP_RQ_PSN | \
	 UROCE_QP_MAX_DEST_RD_ATOMIC | UROCE_QP_MIN_RNR_TIMER | UROCE_QP_FLOW_CONTROL)
#define CONNECT_TO_RTS                                                                                          \
	(UROCE_QP_STATE | UROCE_QP_TIMEOUT | UROCE_QP_RETRY_CNT | UROCE_QP_RNR_RETRY | UROCE_QP_MAX_RD_ATOMIC | \
	 UROCE_QP_SQ_PSN | UROCE_QP_KEEPALIVE | UROCE_QP_READ_REPAIR)

/* Runs timeouts, looks at the paths that are being resolved, and takes the events of QPs. */
void engine_connect_poll(struct uroce_lcore *lcore);
/* Carries out what a call of the manager has caused. */
void engine_connect_run(struct uroce_lcore *lcore);
/*
 * A packet has overtaken the RTU, and the user answers it before the lcore has taken notice (C-9): the lcore does so
 * now. true: the QP can send.
 */
bool engine_connect_catch_up(struct uroce_qp *qp);
/* Something has happened to a QP; it is nothing to QPs without an id. */
void engine_connect_tell(struct uroce_qp *qp, enum connect_qp_event event);
/* The QP is destroyed: its connection ends. */
void engine_connect_forget_qp(struct uroce_qp *qp);
/* Resolves the way to the peer, then does what id->aim says: at once if it is known (C-29). */
void engine_connect_begin(struct uroce_cm_id *id);
/* It goes to another lcore while it resolves: not looked at here any more, and looked at there. */
void engine_connect_pause(struct uroce_cm_id *id);
void engine_connect_go_on(struct uroce_cm_id *id);
/* The id is destroyed: its connection ends, and no event of it comes any more. */
void engine_connect_forget(struct uroce_cm_id *id);
/* Completes id->attr with what the peer has said. */
void engine_connect_complete_attr(struct uroce_cm_id *id);
/* And moves the QP to RTR with it. 0 or negative errno. */
int engine_connect_to_rtr(struct uroce_cm_id *id);
/*
 * The path of an alternate way of the id's connection, on its owner. 0; -EADDRNOTAVAIL: it begins at none of our
 * addresses; -EEXIST: it is the one in use.
 */
int engine_connect_way_path(const struct uroce_cm_id *id, const struct cm_way *way, struct uroce_path *path);
/* Which device of the engine has an address, or NULL. */
struct uroce_device *engine_connect_device_of(const struct uroce_engine *engine, const struct uroce_addr *addr);

/* The way of datagrams as that of packets. */
static inline struct uroce_path connect_path(const struct cm_route *route)
{
	struct uroce_path path = {
		.traffic_class = route->traffic_class,
		.vlan_id = route->vlan_id,
		.vlan_priority = route->vlan_priority,
		.device = route->device,
	};

	memcpy(path.source.bytes, route->source, sizeof(path.source.bytes));
	memcpy(path.dest.bytes, route->dest, sizeof(path.dest.bytes));
	memcpy(path.dest_mac.bytes, route->dest_mac, sizeof(path.dest_mac.bytes));
	return path;
}

/* And back. */
static inline struct cm_route connect_route(const struct uroce_path *path)
{
	struct cm_route route = {
		.traffic_class = path->traffic_class,
		.vlan_id = path->vlan_id,
		.vlan_priority = path->vlan_priority,
		.device = path->device,
	};

	memcpy(route.source, path->source.bytes, sizeof(route.source));
	memcpy(route.dest, path->dest.bytes, sizeof(route.dest));
	return route;
}

#endif
