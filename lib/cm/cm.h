/* cm.h - the connection manager of one lcore: who wants to connect, who has, who has gone (C-8) */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * As pure as lib/rc: no I/O, no clock, no randomness but a key that it is given, so that a simulator can be its host as
 * well as an lcore (C-31). A host gives it datagrams, calls and time; what is to be done comes out as actions, in
 * order, which the host carries out after each call:
 *   1. cm_bytes(), cm_init()
 *   2. cm_receive(), cm_timeout() when cm_deadline() has passed, and the calls of the user
 *   3. after each of these: while (cm_take(cm, &action)) carry it out; an action that moves a QP is answered by
 *      cm_qp_moved() before the next one is taken
 * A connection belongs to the manager that made it: the low digits of its id, which all later messages carry, are those
 * of the manager, so that any lcore can tell whose a message is (cm_owner()).
 */
#ifndef CM_CM_H
#define CM_CM_H

#include <string.h>

#include "cm/mad.h"

#define CM_NONE UINT32_MAX
#define CM_USER_PRIVATE_BYTES 56u   /* that a REQ leaves to the user behind the header of IP addressing */
#define CM_ASKER_PRIVATE_BYTES 180u /* the same of a SIDR_REQ */
#define CM_VENDOR_ID 0x75726Fu      /* ours in ECE (C-32) */

/* ECE option bits. Only what both sides have set is used, and only between two of us. */
enum cm_ece {
	CM_ECE_UNDERSTOOD = 1 << 0,
	CM_ECE_ATOMIC_WRITE = 1 << 1,
	CM_ECE_FLUSH = 1 << 2,
	CM_ECE_ANY_ORDER = 1 << 7, /* answers the parts of a READ in whatever order they are asked for */
};

/* Reasons of a REJ that this manager gives by itself; cm_names_reason() knows all. */
enum cm_reason {
	CM_REJ_NO_QP = 1,
	CM_REJ_NO_RESOURCES = 3,
	CM_REJ_TIMEOUT = 4,
	CM_REJ_UNSUPPORTED = 5,
	CM_REJ_INVALID_SERVICE_ID = 8,
	CM_REJ_INVALID_TRANSPORT = 9,
	CM_REJ_STALE = 10,
	CM_REJ_INVALID_GID = 12,
	CM_REJ_INVALID_MTU = 26,
	CM_REJ_CONSUMER = 28,
	CM_REJ_CLASS_VERSION = 31
};

/* Where datagrams of a connection go and come from. IPv4 as ::ffff:a.b.c.d. */
struct cm_route {
	uint8_t source[16], dest[16];
	uint8_t dest_mac[6]; /* zeros: the host finds it */
	uint8_t traffic_class;
	uint8_t vlan_priority;
	uint8_t max_path_mtu; /* of what has come: code, of the port; 0: the manager's */
	uint16_t vlan_id;
	void *device; /* the host's */
};

/* The same addresses, VLAN and device: who knows that of a peer knows whether it is that peer. */
static inline bool route_is_same(const struct cm_route *a, const struct cm_route *b)
{
	return memcmp(a->dest, b->dest, 16) == 0 && memcmp(a->source, b->source, 16) == 0 && a->vlan_id == b->vlan_id &&
	       a->device == b->device;
}

struct cm_private {
	const void *data;
	uint32_t bytes;
};

/* One end, as its message tells it. */
struct cm_end {
	uint32_t qpn;
	uint32_t psn;                /* at which the other has to begin to send */
	uint8_t responder_resources; /* READs and atomics that it answers at a time */
	uint8_t initiator_depth;     /* that it has outstanding */
	uint8_t retry_count;         /* REQ: for the sends of both */
	uint8_t rnr_retry_count;     /* for the sends of the other */
	bool flow_control, srq;
	uint8_t path_mtu;    /* code 1 ... 5 */
	uint8_t ack_timeout; /* code, of the way */
	uint32_t ece;        /* enum cm_ece; of the peer: what both have set */
};

struct cm_config {
	uint32_t connections;            /* places, 1 ... 2^20 */
	uint32_t half_open, of_one_peer; /* of these for passive ones that were never established, at most (C-22) */
	uint32_t refusals;               /* answers that are given again when the REQ comes again; 1 ... */
	uint32_t rests;                  /* ids in time-wait, at most: then the oldest one's is over */
	uint32_t id_mask, id_low;        /* a power of two - 1, and the digits of this manager's ids under it */
	uint64_t ca_guid;
	uint8_t max_path_mtu;     /* code */
	uint8_t response_timeout; /* code; 0: 18, 1.07 s (C-10) */
	uint8_t packet_life;      /* code; 0: 14, 67 ms */
	uint8_t max_retries;      /* 1 ... 15; 0: 15 */
	uint64_t patience_ns;     /* of a peer with our user, who has been asked to accept; 0: 60 s */
	uint8_t key[16];          /* random, secret */
	struct cm_listeners *listeners;
};

/* The bounds of a manager whose users have so many connections: strangers can take none of their places (C-22). */
void cm_config_fit(struct cm_config *config, uint32_t connections);

/* ---- listeners: shared by the managers of a host; none is removed while one is looked up ---- */

#define CM_LISTENERS 256u

struct cm_listener {
	uint64_t service_id;
	uint8_t addr[16]; /* zeros: any */
	uint64_t context;
	uint32_t backlog;          /* requests that nobody has accepted or rejected yet, at most */
	_Atomic uint32_t pending;  /* of these */
	_Atomic uint32_t overflow; /* requests that were dropped for it */
	uint8_t path_mtu;          /* code, the largest; 0: the manager's */
	uint32_t datagram_qpn;     /* SIDR: the queue pair that serves it; 0: it is no service of datagrams */
	uint32_t datagram_qkey;
	bool asks_user; /* SIDR: each asker is a REQUEST, as of a connection */
};

struct cm_listeners {
	struct cm_listener *_Atomic slots[CM_LISTENERS];
};

/* Of the address itself before any. NULL: nobody listens. */
struct cm_listener *cm_listener_find(const struct cm_listeners *listeners, uint64_t service_id, const uint8_t addr[16]);

/* ---- what comes out ---- */

enum cm_action_kind {
	CM_SEND,  /* mad to route */
	CM_EVENT, /* for the user */
	CM_MOVE   /* a QP changes its state, and cm_qp_moved() tells how that went */
};

enum cm_event {
	CM_EVENT_REQUEST,      /* message: the REQ or SIDR_REQ; connection: new, context: the listener's */
	CM_EVENT_RESPONSE,     /* message: REP; the user moves his QP and calls cm_establish() */
	CM_EVENT_ESTABLISHED,  /* message: REP or RTU; NULL when the first packet told it */
	CM_EVENT_REJECTED,     /* message: the REJ */
	CM_EVENT_UNREACHABLE,  /* no answer (status -ETIMEDOUT), or the QP could not be moved (its errno) */
	CM_EVENT_DISCONNECTED, /* message: DREQ or DREP, or NULL */
	CM_EVENT_ALTERNATE,    /* LAP or APR: the alternate way is loaded on both sides, or status tells why not */
	CM_EVENT_RESTED,       /* after DISCONNECTED, if the user has said so: ids and QPN may be used again */
	CM_EVENT_RESOLVED,     /* SIDR_REP: message; status -ECONNREFUSED: there is no such service */
	CM_EVENTS
};

enum cm_move {
	CM_MOVE_RTS,       /* active: all the way from RESET or INIT with cm_peer(); passive: from RTR */
	CM_MOVE_ERROR,     /* what is posted is flushed */
	CM_MOVE_ALTERNATE, /* loads cm_alternate() and rearms */
};

struct cm_action {
	enum cm_action_kind kind;
	uint32_t connection; /* CM_NONE: of none */
	uint64_t context;    /* what the user gave */
	struct cm_route route;
	uint8_t mad[CM_MAD_BYTES];
	enum cm_event event;
	int status;                       /* of an event; 0 or negative errno; ALTERNATE: status of the APR */
	const struct cm_message *message; /* of an event, or NULL; until the next cm_receive() */
	enum cm_move move;
};

/* ---- calls ---- */

struct cm_connect {
	struct cm_route route;
	uint64_t service_id;
	uint16_t source_port;
	uint64_t context;
	struct cm_end end;
	uint8_t response_timeout, max_retries; /* 0: the manager's */
	bool user_moves;                       /* his QP himself: no CM_MOVE comes out */
	bool tell_rest;                        /* by RESTED */
	struct cm_private user;                /* up to CM_USER_PRIVATE_BYTES, or _ASKER_ */
	const struct cm_way *alternate;        /* NULL: none */
};

struct cm_accept {
	uint64_t context;
	struct cm_end end; /* path_mtu and retry_count are the REQ's */
	uint32_t qkey;     /* of a service of datagrams: of end.qpn */
	bool tell_rest;    /* by RESTED */
	bool user_moves;   /* his QP himself, and it is in RTR or RTS already */
	uint8_t failover;  /* 0: the alternate way of the REQ was loaded; 1: not supported; 2: rejected */
	struct cm_private user;
};

struct cm;

uint64_t cm_bytes(const struct cm_config *config);
/* memory is zeroed, of cm_bytes(), aligned to 64. */
struct cm *cm_init(void *memory, const struct cm_config *config);

/*
 * Whose message it is: the low digits of the id of ours that it carries; of a REQ, a hash of its sender's address and
 * QPN. CM_NONE: any manager's may be, as of a REJ whose sender does not know our id.
 */
uint32_t cm_owner(const uint8_t key[16], uint32_t mask, const uint8_t source[16], const uint8_t mad[CM_MAD_BYTES]);

/* A datagram to QP 1 whose Q_Key and ICRC are right, from route->dest to route->source. */
void cm_receive(struct cm *cm, const struct cm_route *route, const uint8_t *mad, uint32_t bytes, uint64_t now_ns);

/* When time has something to do; UINT64_MAX: never. */
uint64_t cm_deadline(const struct cm *cm);
void cm_timeout(struct cm *cm, uint64_t now_ns);

/* The next thing to do. false: nothing. */
bool cm_take(struct cm *cm, struct cm_action *action);
/* error: 0 or the negative errno of an action CM_MOVE. */
void cm_qp_moved(struct cm *cm, uint32_t connection, enum cm_move move, int error, uint64_t now_ns);

/* READs and atomics that both can: the smaller of what one asks for and the other answers (C-6). */
void cm_negotiate(struct cm_end *own, const struct cm_end *peer);

/* 0 and *connection; -ENOBUFS: there are no more; -EINVAL: private data too long. */
int cm_connect(struct cm *cm, const struct cm_connect *connect, uint64_t now_ns, uint32_t *connection);
/* Asks which queue pair for datagrams has a service (C-18). Errors as cm_connect(); RESOLVED or UNREACHABLE follows. */
int cm_resolve_service(struct cm *cm, const struct cm_connect *connect, uint64_t now_ns, uint32_t *connection);
/*
 * The QP is in RTR already (C-9); of a service of datagrams end.qpn and qkey are told, and that is the end. 0; -EINVAL:
 * private data too long; -ENOTCONN: nobody waits any more.
 */
int cm_accept(struct cm *cm, uint32_t connection, const struct cm_accept *accept, uint64_t now_ns);
/* Does it wait for cm_accept() or cm_reject()? */
bool cm_is_asking(const struct cm *cm, uint32_t connection);
/* What cm_accept() would make of our end: cm_own() and cm_peer() tell it, so that the QP can be moved before. */
void cm_propose(struct cm *cm, uint32_t connection, const struct cm_end *end);
/* A listener goes: nobody counts what waits for it any more. Those who wait go on waiting for their own answer. */
void cm_forget_listener(struct cm *cm, const struct cm_listener *listener);
/* The QP of a user who moves it himself is in RTS: the RTU leaves. 0; -ENOTCONN: no RESPONSE waits for it any more. */
int cm_establish(struct cm *cm, uint32_t connection);
/* A REQUEST, or a RESPONSE. 0; -EINVAL; -ENOTCONN. */
int cm_reject(struct cm *cm, uint32_t connection, uint16_t reason, const struct cm_private *user, uint64_t now_ns);
/* 0; -EINVAL; -ENOTCONN: there is nothing to end. */
int cm_disconnect(struct cm *cm, uint32_t connection, const struct cm_private *user, uint64_t now_ns);
/*
 * Loads an alternate way on both sides (C-20). ALTERNATE answers it; when the peer has asked at the same time, it may
 * be the peer's that both have loaded. 0; -ENOTCONN; -EALREADY: the last call is not answered yet; -EOPNOTSUPP: the
 * user moves his QP himself.
 */
int cm_load_alternate(struct cm *cm, uint32_t connection, const struct cm_way *way, uint64_t now_ns);
/* The first packet has come on a passive QP before the RTU. */
void cm_packet_came(struct cm *cm, uint32_t connection, uint64_t now_ns);
/* The QP has died by itself. */
void cm_qp_died(struct cm *cm, uint32_t connection, uint64_t now_ns);
/* The user has no more use for it: in any state (C-17). The peer is told once; the number is not valid any more. */
void cm_forget(struct cm *cm, uint32_t connection, uint64_t now_ns);

/* ---- looks ---- */

/* Peer and route; until the connection is forgotten. */
const struct cm_end *cm_peer(const struct cm *cm, uint32_t connection);
const struct cm_end *cm_own(const struct cm *cm, uint32_t connection);
const struct cm_route *cm_route_of(const struct cm *cm, uint32_t connection);
/* The alternate way that a REQ, or a LAP of either side, has told last, as we see it. */
const struct cm_way *cm_alternate(const struct cm *cm, uint32_t connection);
/* Actions that have come out already keep the old one. */
void cm_set_context(struct cm *cm, uint32_t connection, uint64_t context);

enum cm_counter {
#define CM_COUNTER(symbol, name, sentence) CM_CNT_##symbol,
#include "cm/counters.def"
#undef CM_COUNTER
	CM_COUNTERS
};

struct cm_counter_row {
	const char *name, *sentence;
};

extern const struct cm_counter_row cm_counter_rows[CM_COUNTERS];
extern const char *const cm_state_names[];

uint64_t cm_count(const struct cm *cm, enum cm_counter counter);
uint64_t cm_count_sent(const struct cm *cm, enum cm_kind kind);
uint64_t cm_count_received(const struct cm *cm, enum cm_kind kind);
uint64_t cm_count_rejects(const struct cm *cm, uint16_t reason); /* given */

struct cm_usage {
	uint32_t connections, half_open, rests, timers;
};

/* Ids whose rest is over by now do not count. */
void cm_usage(struct cm *cm, struct cm_usage *usage, uint64_t now_ns);

#endif
