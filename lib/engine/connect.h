/* connect.h - an lcore as host of a connection manager: its datagrams of QP 1, its time, its QPs and its events */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A connection belongs to the lcore of its QP, and all functions here run on that lcore; calls of lib/api/cm.c are sent
 * there. An id is the application's view of a connection. Its events wait in the id, so no event is lost for want of
 * memory, and the id is in the queue of its channel at most once.
 */
#ifndef ENGINE_CONNECT_H
#define ENGINE_CONNECT_H

#include <string.h>
#include <sys/queue.h>

#include <uroce/cm.h>

#include "cm/cm.h"
#include "engine/engine.h"

#define CONNECT_EVENTS 8u /* how many events wait in an id; a power of two */

struct uroce_cm_channel {
	struct uroce_engine *engine;
	rte_spinlock_t lock; /* the queue of ids that have events */
	TAILQ_HEAD(, uroce_cm_id) queue;
	bool woken; /* the channel's descriptor has been written to, or is about to be */
	int fd;
	_Atomic uint32_t ids;
};

/* What an id does once the MAC of its peer is known. */
enum connect_aim { CONNECT_CONNECT, CONNECT_ASK, CONNECT_ROUTE };

enum connect_qp_event { CONNECT_PACKET_CAME = 1, CONNECT_QP_DIED = 2, CONNECT_QP_MIGRATED = 4 };

struct uroce_cm_id {
	struct uroce_cm_channel *_Atomic channel; /* lcores read the channel of a listener */
	uint64_t context;
	struct uroce_qp *qp;
	/* the device that the REQ came to; later the device of the route, and at last that of the QP */
	struct uroce_device *device;
	struct uroce_lcore *lcore; /* NULL: the id has no device yet */
	bool is_request;           /* the peer began the connection */
	bool has_route;            /* request.route leads to the peer */
	bool user_moves;           /* the application makes the QP and moves it; qp is NULL */
	bool has_psn;              /* psn has been drawn */
	uint32_t psn;              /* for a QP that the application moves: the first PSN that it receives */

	bool datagrams; /* in the port space of UDP */

	/* the port number that the id holds; under the engine's lock */
	bool is_bound;    /* no other id may have the port; false: the id and perhaps others connect from it */
	bool reuses_port; /* unless both have this, and none of them listens */
	uint16_t port;
	/* all fields are valid while the id listens; service_id, addr and family while the id is only bound */
	struct cm_listener listener;
	LIST_ENTRY(uroce_cm_id) with_bound;
	bool listens;
	uint32_t slot; /* index in the engine's table of ids */

	/* lcore only */
	uint32_t connection; /* the manager's number of the connection; CM_NONE: none */
	bool resolving;
	uint64_t resolve_until_ns, patience_ns;
	TAILQ_ENTRY(uroce_cm_id) with_resolving;
	uint32_t qp_events; /* enum connect_qp_event; 0: none */
	LIST_ENTRY(uroce_cm_id) with_qp_events;
	enum connect_aim aim;
	struct cm_connect request; /* while the path is being resolved */
	uint8_t request_private[CM_ASKER_PRIVATE_BYTES];
	struct cm_path alternate;
	struct uroce_qp_attr attr; /* attributes that the QP will get; their path leads to the peer */

	/* under the channel's lock */
	bool queued;
	TAILQ_ENTRY(uroce_cm_id) in_queue;
	uint32_t event_head, event_tail;
	struct uroce_cm_event events[CONNECT_EVENTS];
};

/* The connection manager of an lcore, while the engine has channels. */
struct engine_connect {
	_Alignas(64) struct cm *cm; /* the manager, which lies behind this struct in the same block */
	uint64_t bytes;             /* size of the whole block */
	uint32_t psn;               /* next PSN of QP 1 */
	/* ids whose path is being resolved, in the order of their calls */
	TAILQ_HEAD(, uroce_cm_id) resolving;
	LIST_HEAD(, uroce_cm_id) with_qp_events;
	uint64_t resolve_ns;
	uint64_t sent;                   /* datagrams sent */
	uint64_t looked_ns, data_frames; /* when the flow of data was last measured, and the frame count at that time */
	bool data_flows;
	/* up to when datagrams have used up their time, and up to when REQs have: see is_paid() */
	uint64_t spent_ns, req_spent_ns;
	uint64_t unresolved; /* datagrams dropped because a MAC or room was missing */
};

#define CONNECT_TO_RTR                                                                                \
	(UROCE_QP_STATE | UROCE_QP_PATH | UROCE_QP_PATH_MTU | UROCE_QP_DEST_QPN | UROCE_QP_RQ_PSN |   \
	 UROCE_QP_MAX_DEST_RD_ATOMIC | UROCE_QP_MIN_RNR_TIMER | UROCE_QP_FLOW_CONTROL | UROCE_QP_CC | \
	 UROCE_QP_SACK_WINDOW | UROCE_QP_PATHS | UROCE_QP_SQ_PSN)
#define CONNECT_TO_RTS                                                                                          \
	(UROCE_QP_STATE | UROCE_QP_TIMEOUT | UROCE_QP_RETRY_CNT | UROCE_QP_RNR_RETRY | UROCE_QP_MAX_RD_ATOMIC | \
	 UROCE_QP_SQ_PSN | UROCE_QP_KEEPALIVE | UROCE_QP_READ_REPAIR)

/* Runs time-outs, checks the ids whose path is being resolved, and handles events of QPs. */
void engine_connect_poll(struct uroce_lcore *lcore);
/* Carries out the actions that a call of the manager has left. */
void engine_connect_run(struct uroce_lcore *lcore);
/*
 * The peer's packet has come before the RTU, and the application answers before the lcore has noticed the packet (C-9):
 * the lcore notices it now. Returns true if the QP can send.
 */
bool engine_connect_catch_up(struct uroce_qp *qp);
/* An event has happened to a QP. If the QP has no id the event is ignored. */
void engine_connect_tell(struct uroce_qp *qp, enum connect_qp_event event);
/* The QP is about to be destroyed: its connection ends. */
void engine_connect_forget_qp(struct uroce_qp *qp);
/* Resolves the path to the peer, then does what id->aim says; at once if the MAC is known (C-29). */
void engine_connect_begin(struct uroce_cm_id *id);
/*
 * The id moves to another lcore while its path is being resolved: this lcore stops resolving, and the other lcore goes
 * on.
 */
void engine_connect_pause(struct uroce_cm_id *id);
void engine_connect_go_on(struct uroce_cm_id *id);
/* The id is about to be destroyed: its connection ends, and it gets no further events. */
void engine_connect_forget(struct uroce_cm_id *id);
/* Completes id->attr with the values in the peer's message. */
void engine_connect_complete_attr(struct uroce_cm_id *id);
/*
 * Accepts a request: completes id->attr and moves the QP to RTR, with the alternate path of the REQ if that can be
 * used. Returns what the REP tells about this path (enum cm_failover). *error: 0, or a negative errno if the QP was not
 * moved.
 */
uint8_t engine_connect_accept_to_rtr(struct uroce_cm_id *id, int *error);
/*
 * Turns the alternate path of the id's connection into *path; runs on the owner. Returns 0; -EADDRNOTAVAIL: the path
 * does not begin at an address of ours; -EAFNOSUPPORT: its addresses are of two families; -EHOSTUNREACH: it leads over
 * a router, which forwards no packet with its hop limit; -EEXIST: the path is in use already.
 */
int engine_connect_alternate_path(const struct uroce_cm_id *id, const struct cm_path *alternate,
				  struct uroce_path *path);
/* Returns the device of the engine that has this address, or NULL. */
struct uroce_device *engine_connect_device_of(const struct uroce_engine *engine, const struct uroce_addr *addr);

/* false: a REQ without an alternate path. */
static inline bool connect_path_is_named(const struct cm_path *path)
{
	static const uint8_t none[16];

	return memcmp(path->remote_gid, none, sizeof(none)) != 0;
}

/* The path for datagrams along a route. */
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

/* The route that follows a path. */
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
