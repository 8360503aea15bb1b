/* cm.h - the connection manager of one lcore: listens, connects, accepts, disconnects (C-8) */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * As pure as lib/rc: no I/O, no clock, and randomness only from a key that it is given, so that a simulator can be its
 * host as well as an lcore (C-31). The host passes in datagrams, calls and time; what is to be done comes out as
 * actions, which the host carries out in order after each call:
 *   1. cm_bytes(), cm_init()
 *   2. cm_receive(); cm_timeout() when cm_deadline() has passed; and the calls of the user
 *   3. after each of these: while (cm_pop_action(cm, &action)) carry it out; an action that moves a QP is answered by
 *      cm_qp_moved() before the next one is popped
 * The user is the application that connects or listens. A connection stays with the manager that made it: the low
 * digits of its id, which all later messages carry, are those of the manager, so that any lcore can find it
 * (cm_owner()).
 */
#ifndef CM_CM_H
#define CM_CM_H

#include <string.h>

#include "cm/mad.h"
#include "share/share.h"

#define CM_NONE UINT32_MAX
/* private data of a REQ that are left to the user, behind the header of IP addressing */
#define CM_USER_PRIVATE_BYTES 56u
#define CM_ASKER_PRIVATE_BYTES 180u /* the same for a SIDR_REQ: private data that are left to the user */
#define CM_VENDOR_ID 0x75726Fu      /* our vendor id in ECE (C-32) */

/* ECE option bits. An option is used only if both sides set it, and both are this implementation. */
enum cm_ece {
	CM_ECE_UNDERSTOOD = 1 << 0,
	CM_ECE_ATOMIC_WRITE = 1 << 1,
	CM_ECE_FLUSH = 1 << 2,
	CM_ECE_KEEP = 1 << 3,      /* this end keeps requests that arrive before their turn (S-21) */
	CM_ECE_SACK = 1 << 4,      /* this end reports requests that arrived early with SACKs (S-22) */
	CM_ECE_SPREAD = 1 << 5,    /* the peer of this end may spread requests over several source ports (W-10) */
	CM_ECE_ANY_ORDER = 1 << 7, /* this end answers parts of a READ that are asked for in any order */
	/* 512 packets may be in flight with SACKs; an end with a larger window sets this bit, too */
	CM_ECE_WINDOW_512 = 1 << 8,
	CM_ECE_WINDOW_1024 = 1 << 9,
	CM_ECE_WINDOW_2048 = 1 << 10,
};

/* Reasons of the REJs that this manager sends by itself; cm_names_reason() knows all reasons. */
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

/* The path of datagrams of a connection. IPv4 addresses as ::ffff:a.b.c.d. */
struct cm_route {
	uint8_t source[16], dest[16];
	uint8_t dest_mac[6]; /* zeros: the host finds it */
	uint8_t traffic_class;
	uint8_t vlan_priority;
	uint8_t max_path_mtu; /* in a received message's route: code of the port's path MTU; 0: the manager's */
	uint16_t vlan_id;
	void *device; /* the host's handle */
};

/* Do both paths have the same addresses, VLAN and device, so that they lead to the same peer? */
static inline bool route_is_same(const struct cm_route *a, const struct cm_route *b)
{
	return memcmp(a->dest, b->dest, 16) == 0 && memcmp(a->source, b->source, 16) == 0 && a->vlan_id == b->vlan_id &&
	       a->device == b->device;
}

struct cm_private {
	const void *data;
	uint32_t bytes;
};

/* One side of a connection, as its messages describe it: what both sides have to agree on (F-6). */
struct cm_side {
	uint32_t qpn;
	uint32_t psn;                /* the first PSN that it will receive */
	uint8_t responder_resources; /* READs and atomics that this side answers at a time */
	uint8_t initiator_depth;     /* READs and atomics that this side has outstanding at a time */
	uint8_t retry_count;         /* in a REQ: for the QPs of both ends */
	uint8_t rnr_retry_count;     /* for the QP of the other side */
	bool flow_control, srq;
	uint8_t path_mtu;    /* code 1 ... 5 */
	uint8_t ack_timeout; /* code: the ACK timeout for this path */
	uint32_t ece;        /* enum cm_ece; of a peer: the options that both have set */
};

struct cm_config {
	uint32_t connections;  /* how many connections there can be, 1 ... 2^20 */
	uint32_t half_open;    /* how many connections may be passive and not established (C-22) */
	uint32_t refusals;     /* refusals that are kept for repeated REQs; at least 1 */
	uint32_t timewait_ids; /* room for ids in time-wait, of which none ends early */
	/* id_mask, a power of two - 1: the digits of an id that name its manager; id_low: this manager's digits */
	uint32_t id_mask, id_low;
	uint64_t ca_guid;
	uint8_t max_path_mtu;     /* code */
	uint8_t response_timeout; /* code; 0: 18, 1.07 s (C-10) */
	uint8_t packet_life;      /* code; 0: 14, 67 ms */
	uint8_t max_retries;      /* 1 ... 15; 0: 15 */
	uint64_t patience_ns;     /* how long a user who was asked to accept may take; 0: 60 s */
	uint8_t key[16];          /* random, secret */
	struct cm_listeners *listeners;
};

/*
 * Sets the bounds for a manager whose users have so many connections. Strangers cannot use up the room of those users
 * (C-22).
 */
void cm_config_fit(struct cm_config *config, uint32_t connections);

/* ---- listeners, shared by the managers of a host, which removes no listener while a manager looks one up ---- */

#define CM_LISTENERS 256u

/* The address family of requests that a listener at any address takes. */
enum cm_family { CM_ANY_FAMILY, CM_IPV4, CM_IPV6 };

/*
 * An address alone has the whole backlog, as users of librdmacm expect. So that other addresses can connect even then,
 * the pool that all addresses share has twice as many places.
 */
struct cm_listener {
	uint64_t service_id;
	uint8_t addr[16]; /* zeros: any */
	enum cm_family family;
	uint64_t context;
	uint32_t backlog;         /* how many requests of one address may wait for the user's answer */
	_Atomic uint32_t pending; /* requests that wait now */
	uint8_t path_mtu;         /* code of the largest path MTU; 0: the manager's */
	uint32_t datagram_qpn;    /* SIDR: QPN of the service's queue pair for datagrams; 0: no such service */
	uint32_t datagram_qkey;
	bool asks_user; /* SIDR: each question becomes a REQUEST event, as for a connection */
};

struct cm_listeners {
	struct cm_listener *_Atomic slots[CM_LISTENERS];
	uint8_t key[16];                       /* random, secret */
	_Atomic uint32_t waiting[SHARE_PEERS]; /* requests that wait now, by listener and address */
};

/* Finds the listener for an address, or else for any address. NULL: nobody listens. */
struct cm_listener *cm_listener_find(const struct cm_listeners *listeners, uint64_t service_id, const uint8_t addr[16]);

/* ---- actions ---- */

enum cm_action_kind {
	CM_SEND,  /* sends mad along route */
	CM_EVENT, /* tells the user */
	CM_MOVE   /* moves a QP to another state; cm_qp_moved() reports the result */
};

enum cm_event {
	CM_EVENT_REQUEST,      /* message: REQ or SIDR_REQ; connection: a new one; context: the listener's */
	CM_EVENT_RESPONSE,     /* message: REP; the user moves the QP himself, then calls cm_establish() */
	CM_EVENT_ESTABLISHED,  /* message: REP or RTU; NULL: a packet of the peer arrived before the RTU */
	CM_EVENT_REJECTED,     /* message: the REJ */
	CM_EVENT_UNREACHABLE,  /* status -ETIMEDOUT: no answer has arrived; another errno: the QP could not be moved */
	CM_EVENT_DISCONNECTED, /* message: DREQ or DREP, or NULL */
	/* message: LAP or APR; the alternate path is loaded on both sides, or status says why not */
	CM_EVENT_ALTERNATE,
	CM_EVENT_RESTED,   /* after DISCONNECTED, if the user wants to know: ids and QPN may be used again */
	CM_EVENT_RESOLVED, /* message: SIDR_REP; status -ECONNREFUSED: the service does not exist */
	CM_EVENTS
};

enum cm_move {
	CM_MOVE_RTS,       /* moves to RTS: active from RESET or INIT, by the data of cm_peer(); passive from RTR */
	CM_MOVE_ERROR,     /* posted requests are flushed */
	CM_MOVE_ALTERNATE, /* loads the path of cm_alternate(), and rearms */
};

struct cm_action {
	enum cm_action_kind kind;
	uint32_t connection; /* CM_NONE: it concerns no connection */
	uint64_t context;    /* the user's number */
	struct cm_route route;
	uint8_t mad[CM_MAD_BYTES];
	enum cm_event event;
	int status;                       /* event: 0 or a negative errno; for ALTERNATE the status of the APR */
	const struct cm_message *message; /* event: the message or NULL; valid until the next cm_receive() */
	enum cm_move move;
};

/* ---- calls ---- */

struct cm_connect {
	struct cm_route route;
	uint64_t service_id;
	uint16_t source_port;
	uint64_t context;
	struct cm_side side;
	uint8_t response_timeout, max_retries; /* 0: the manager's */
	bool user_moves;                       /* the user moves the QP himself, so there is no CM_MOVE action */
	bool tell_timewait;                    /* with an event RESTED */
	/* private data: at most CM_USER_PRIVATE_BYTES, or CM_ASKER_PRIVATE_BYTES */
	struct cm_private user;
	const struct cm_path *alternate; /* NULL: no alternate path */
};

/* What the REP tells about the alternate path of its REQ (C-19). */
enum cm_failover {
	CM_FAILOVER_ACCEPTED,    /* it was loaded; or the REQ names none, and a LAP may load one */
	CM_FAILOVER_UNSUPPORTED, /* the user moves the QP: no path is loaded for a REQ or LAP */
	CM_FAILOVER_REJECTED     /* it cannot be used */
};

struct cm_accept {
	uint64_t context;
	struct cm_side side; /* path_mtu and retry_count are taken from the REQ */
	uint32_t qkey;       /* service of datagrams: the Q_Key of the queue pair side.qpn */
	bool tell_timewait;  /* with an event RESTED */
	bool user_moves;     /* the user moves the QP himself, and has moved it to RTR or RTS */
	uint8_t failover;    /* enum cm_failover: the answer about the REQ's alternate path */
	struct cm_private user;
};

struct cm;

uint64_t cm_bytes(const struct cm_config *config);
/* memory has cm_bytes() zeros and is aligned to 64. */
struct cm *cm_init(void *memory, const struct cm_config *config);

/*
 * Which manager a message is for: the low digits of our id in the message; for a REQ a hash of the sender's address and
 * QPN. CM_NONE: any manager, as for a REJ whose sender does not know our id.
 */
uint32_t cm_owner(const uint8_t key[16], uint32_t mask, const uint8_t source[16], const uint8_t mad[CM_MAD_BYTES]);

/* Takes a datagram to QP 1 whose Q_Key and ICRC are right. It was sent from route->dest to route->source. */
void cm_receive(struct cm *cm, const struct cm_route *route, const uint8_t *mad, uint32_t bytes, uint64_t now_ns);

/* When cm_timeout() has to be called; UINT64_MAX: never. */
uint64_t cm_deadline(const struct cm *cm);
void cm_timeout(struct cm *cm, uint64_t now_ns);

/* Pops the oldest action. Returns false if there is none. */
bool cm_pop_action(struct cm *cm, struct cm_action *action);
/* Reports how a CM_MOVE went: 0 or a negative errno. */
void cm_qp_moved(struct cm *cm, uint32_t connection, enum cm_move move, int error, uint64_t now_ns);

/*
 * Reduces the READs and atomics of our side to what both sides can do: as requester to what the peer answers, and as
 * responder to what the peer asks (C-6).
 */
void cm_negotiate(struct cm_side *own, const struct cm_side *peer);

/* Returns 0 with the number in *connection; -ENOBUFS: no more connections; -EINVAL: the private data is too long. */
int cm_connect(struct cm *cm, const struct cm_connect *connect, uint64_t now_ns, uint32_t *connection);
/*
 * Asks a peer which queue pair for datagrams serves a service (C-18). Errors as cm_connect(). RESOLVED or UNREACHABLE
 * follows.
 */
int cm_resolve_service(struct cm *cm, const struct cm_connect *connect, uint64_t now_ns, uint32_t *connection);
/*
 * Accepts a REQUEST. The QP is in RTR already (C-9). For a service of datagrams the peer is told side.qpn and qkey, and
 * no further message follows. Returns 0; -EINVAL: the private data is too long; -ENOTCONN: the peer does not wait any
 * more.
 */
int cm_accept(struct cm *cm, uint32_t connection, const struct cm_accept *accept, uint64_t now_ns);
/* Does the connection wait for cm_accept() or cm_reject()? */
bool cm_is_asking(const struct cm *cm, uint32_t connection);
/*
 * Sets our side as cm_accept() would: cm_own() and cm_peer() then tell how to move the QP before cm_accept() is called.
 */
void cm_propose(struct cm *cm, uint32_t connection, const struct cm_side *side);
/* The listener is removed: its backlog counts no more. Requests that wait can still be accepted or rejected. */
void cm_forget_listener(struct cm *cm, const struct cm_listener *listener);
/*
 * The user has moved the QP to RTS himself: sends the RTU. Returns 0, or -ENOTCONN if the connection does not wait for
 * cm_establish().
 */
int cm_establish(struct cm *cm, uint32_t connection);
/* Rejects a REQUEST, or a RESPONSE. Returns 0, -EINVAL or -ENOTCONN. */
int cm_reject(struct cm *cm, uint32_t connection, uint16_t reason, const struct cm_private *user, uint64_t now_ns);
/* Ends a connection. Returns 0; -EINVAL; -ENOTCONN: the connection is not established, and not about to be. */
int cm_disconnect(struct cm *cm, uint32_t connection, const struct cm_private *user, uint64_t now_ns);
/*
 * Loads an alternate path on both sides (C-20). An event ALTERNATE tells the result; if the peer asks at the same time,
 * both sides may have loaded the path that the peer asked for. Returns 0; -ENOTCONN; -EALREADY: the last call is not
 * answered yet; -EOPNOTSUPP: the user moves the QP himself.
 */
int cm_load_alternate(struct cm *cm, uint32_t connection, const struct cm_path *path, uint64_t now_ns);
/* A passive QP has received its first packet before the RTU. */
void cm_packet_came(struct cm *cm, uint32_t connection, uint64_t now_ns);
/* The QP has migrated to this path, along which all later messages are sent (C-20). */
void cm_qp_migrated(struct cm *cm, uint32_t connection, const struct cm_route *route);
/* The QP has gone to ERR by itself. */
void cm_qp_died(struct cm *cm, uint32_t connection, uint64_t now_ns);
/*
 * The user forgets the connection, in any state (C-17). The peer is told once; the connection's number is not valid any
 * more.
 */
void cm_forget(struct cm *cm, uint32_t connection, uint64_t now_ns);

/* ---- reading the state ---- */

/* The peer's side, our own side, and the route; valid until cm_forget(). */
const struct cm_side *cm_peer(const struct cm *cm, uint32_t connection);
const struct cm_side *cm_own(const struct cm *cm, uint32_t connection);
const struct cm_route *cm_route_of(const struct cm *cm, uint32_t connection);
/* The alternate path that was loaded last, or is being loaded, as seen from our side. */
const struct cm_path *cm_alternate(const struct cm *cm, uint32_t connection);
/* Sets the user's context of a connection. Actions that were popped before keep the old context. */
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
uint64_t cm_count_rejects(const struct cm *cm, uint16_t reason); /* REJs sent */

struct cm_usage {
	uint32_t connections, half_open, timewait_ids, timers;
};

/* ids whose time-wait is over by now are not counted */
void cm_usage(struct cm *cm, struct cm_usage *usage, uint64_t now_ns);

#endif
