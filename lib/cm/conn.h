/* conn.h - the structs of a connection and of the manager; for the files of lib/cm only */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CM_CONN_H
#define CM_CONN_H

#include <stdatomic.h>
#include <string.h>
#include <sys/queue.h>

#include "cm/cm.h"
#include "cm/deadlines.h"
#include "cm/refusal.h"
#include "cm/timewait.h"
#include "share/share.h"

#define CM_ACTIONS 16u /* more than one call can cause */
#define CM_LAPS 8u     /* LAPs of a peer that are remembered: more than can be on their way within a packet life time */

enum cm_state {
	CM_FREE,
	CM_REQ_SENT,  /* active: waits for a REP */
	CM_SIDR_SENT, /* asks for a service, without a connection: waits for a SIDR_REP */
	CM_SIDR_RCVD, /* was asked for a service: waits for the user's answer */
	CM_REP_RCVD,  /* active: the QP is being moved to RTS; a user who moves it himself may take time */
	CM_REQ_RCVD,  /* passive: waits for the user's answer */
	CM_REP_SENT,  /* passive: waits for an RTU */
	CM_RTU_RCVD,  /* passive: the QP is being moved to RTS */
	CM_ESTABLISHED,
	CM_DREQ_SENT,
	CM_CLOSED, /* rejected, failed or ended; the user has not forgotten it yet */
	CM_STATES
};

/* The alternate path, and the LAPs of both ends, by their transaction ids. */
struct cm_lap {
	struct cm_path path; /* the path that was loaded last, or is being loaded */
	/* our LAP */
	bool sent;               /* our LAP waits for its APR */
	bool yields;             /* our LAP yields to the peer's, which goes first */
	bool met;                /* a path of the peer's was loaded after our LAP was sent */
	struct cm_path asked;    /* the path that we last asked for */
	uint64_t transaction_id; /* that of our last LAP; 0: none yet */
	/* LAPs of the peer */
	uint64_t came;            /* the one that is being judged */
	uint64_t loaded;          /* the last one whose path was loaded */
	uint64_t judged[CM_LAPS]; /* those that were judged, as a ring */
	uint32_t judged_count;    /* how many were judged */
	/* the answer to the last one judged */
	uint8_t status;
	bool goes_first;
	uint64_t before; /* our last LAP at that time */

	uint8_t loading; /* enum cm_path_loading: whose path the QP is loading */
};

enum cm_path_loading { CM_PATH_NONE, CM_PATH_OURS, CM_PATH_PEERS };

/* Where the connection is between its first message and its end. */
struct cm_stage {
	uint8_t state; /* enum cm_state */
	bool passive;  /* it began with a request of the peer */
	bool replied;  /* a REP was sent */
};

/* The ids that messages carry. */
struct cm_ids {
	uint32_t local_id, remote_id;
	uint64_t transaction_id;
	uint64_t peer_guid;
};

/* Links in the chains of the table; next_id also in the free list. */
struct cm_links {
	uint32_t next_id, next_peer, next_qp;
	bool in_peers, in_qps;
};

/* The user's context and options. */
struct cm_user {
	bool known;         /* the user has not forgotten the connection */
	bool moves;         /* the user moves the QP himself */
	bool tell_timewait; /* the user wants to know when the time-wait has ended */
	uint64_t context;
};

/* The wait for an answer of the peer or of the user. */
struct cm_wait {
	uint8_t response_timeout, max_retries; /* for our messages: code of the response timeout, and number of tries */
	uint8_t tries_left;
	bool prolonged; /* an MRA has prolonged the wait after the last try */
	/* REQ_RCVD, REP_RCVD: end of the user's time; other states: end of the wait for the peer */
	uint64_t give_up_ns;
};

/* The places that a request takes until it is answered, and until it is established. */
struct cm_pending {
	bool half_open; /* passive, neither established nor ended: counted in cm->half_open */
	bool counted;   /* waits for the listener's user: counted by the listener and by its counter for the peer */
	uint16_t counter;
	struct cm_listener *listener;
};

struct cm_routes {
	struct cm_route request; /* route of the REQ, by which the peer is known */
	/* route of what is sent: the REQ's route, until the QP migrates or the peer sends from elsewhere */
	struct cm_route send;
};

struct cm_sides {
	struct cm_side own, peer;
};

struct cm_last {
	/* the last message sent that waits for an answer, or our answer to a message that the peer may repeat */
	uint8_t mad[CM_MAD_BYTES];
};

struct cm_end {
	uint16_t holder;            /* of the room for its time-wait: its peer's address, or CM_TIMEWAIT_OWN */
	bool told;                  /* the user knows that the connection has ended */
	bool evictable;             /* in cm->ending: the user has forgotten the connection */
	uint64_t timewait_until_ns; /* CLOSED: end of the time-wait of its ids */
	TAILQ_ENTRY(cm_conn) with_ending;
};

/*
 * Every file may read a part; only the file in its comment writes it. Other files report events to that file. `make
 * tidy` finds every other write (PARTS in test/tidy/writers), also one to a field beside the parts.
 */
struct cm_conn {
	struct cm_ids ids;         /* table.c */
	struct cm_links links;     /* table.c */
	struct cm_stage stage;     /* state.c */
	struct cm_user user;       /* user.c */
	struct cm_wait wait;       /* wait.c */
	struct cm_pending pending; /* listener.c */
	struct cm_routes routes;   /* routes.c */
	struct cm_sides sides;     /* sides.c */
	struct cm_lap lap;         /* alternate.c */
	struct cm_last last;       /* action.c */
	struct cm_end end;         /* close.c */
};

struct cm_table {
	uint8_t key[16];
	uint32_t conn_count, head_mask, free_conn, used;
	struct cm_conn *conns;
	uint32_t *by_id, *by_peer, *by_qp; /* heads of the chains */
	struct cm_deadlines timers;
	struct cm_timewait timewait;
	uint64_t drawn;
};

struct cm {
	struct cm_config config;
	struct cm_table table;
	struct share_peers half_open;
	struct cm_refusals refusals;
	/* connections that their users have forgotten and that wait for a DREP, oldest first */
	TAILQ_HEAD(, cm_conn) ending;
	struct cm_action actions[CM_ACTIONS];
	uint32_t action_head, action_tail;
	struct cm_message in;            /* the last message received, to which events point; for cm_receive() only */
	const struct cm_message *moving; /* message for which a QP is being moved; NULL: moved for a packet */
	uint64_t counters[CM_COUNTERS];
	uint64_t sent[CM_KIND_LAST - CM_KIND_FIRST + 1], received[CM_KIND_LAST - CM_KIND_FIRST + 1];
	uint64_t rejects[64];
};

/* ---- state.c ---- */

/* Moves the connection to a state that may follow its present state. */
void cm_state_enter(struct cm_conn *conn, enum cm_state state);

/* ---- table.c: ids, chains, timers ---- */

uint64_t cm_table_bytes(const struct cm_config *config);
/* Takes the table's memory from the front of *memory, and moves *memory behind it. */
void cm_table_init(struct cm_table *table, uint8_t **memory, const struct cm_config *config);

/* Returns random bits that nobody can predict (C-2). */
uint64_t cm_table_draw(struct cm_table *table);

/* Returns a connection with a new id, or NULL: there are no more. */
struct cm_conn *cm_table_alloc(struct cm_table *table, uint32_t id_mask, uint32_t id_low);
void cm_table_return(struct cm_table *table, struct cm_conn *conn);
uint32_t cm_table_index(const struct cm_table *table, const struct cm_conn *conn);
/* NULL: there is no such connection. */
struct cm_conn *cm_table_at(const struct cm_table *table, uint32_t index);
struct cm_conn *cm_table_by_id(const struct cm_table *table, uint32_t local_id);
/* The connection has a new transaction id. */
void cm_table_new_transaction(struct cm_table *table, struct cm_conn *conn);
/* Takes the peer's ids from its REQ, SIDR_REQ or REP. The connection is in no chain of peers or QPs yet. */
void cm_table_name_peer(struct cm_conn *conn, const struct cm_message *in);

/*
 * The chain of passive connections by the peer's address and id finds the connection of a repeated REQ. after: the
 * connection found before, or NULL.
 */
void cm_table_add_peer(struct cm_table *table, struct cm_conn *conn);
struct cm_conn *cm_table_by_peer(const struct cm_table *table, const uint8_t addr[16], uint32_t remote_id,
				 const struct cm_conn *after);
/* The chain by the GUID and QPN of the peer finds the old connection of a peer that has restarted (C-13). */
void cm_table_add_qp(struct cm_table *table, struct cm_conn *conn);
struct cm_conn *cm_table_by_qp(const struct cm_table *table, const uint8_t addr[16], uint64_t guid, uint32_t qpn,
			       const struct cm_conn *after);
/*
 * Finds the connection whose peer has the QPN and GUID of a REQ or REP, and the address of the route: another peer may
 * claim the same QPN and GUID. NULL: none.
 */
struct cm_conn *cm_find_by_qp(const struct cm *cm, const struct cm_route *route, const struct cm_message *in);
void cm_table_remove_qp(struct cm_table *table, struct cm_conn *conn);

/* CM_NEVER stops the timer. */
void cm_table_set_timer(struct cm_table *table, const struct cm_conn *conn, uint64_t deadline_ns);
/* Returns a connection whose timer has expired, or NULL. Leaves the timer as it is. */
struct cm_conn *cm_table_due(const struct cm_table *table, uint64_t now_ns);
uint64_t cm_table_deadline(const struct cm_table *table);

/* ---- config.c ---- */

/* Replaces times that are 0 by their defaults. */
void cm_config_complete(struct cm_config *config);

/* ---- listener.c ---- */

/* May one more request from this address wait for the listener's user (C-22)? */
bool cm_listener_has_room(const struct cm_listeners *listeners, const struct cm_listener *listener,
			  const uint8_t addr[16]);
/* The connection is half-open, and waits for the listener's user; then no more. */
void cm_begin_pending(struct cm *cm, struct cm_conn *conn, struct cm_listener *listener);
void cm_no_more_pending(struct cm *cm, struct cm_conn *conn);
void cm_no_more_half_open(struct cm *cm, struct cm_conn *conn);

/* ---- action.c: actions and messages ---- */

/* Adds an action, for the caller to fill in. There is always room, because no call causes more than CM_ACTIONS. */
struct cm_action *cm_add_action(struct cm *cm, enum cm_action_kind kind, const struct cm_conn *conn);
/* Begins a message of a connection to its peer, with both ids and the transaction id. The caller fills in the rest. */
struct cm_message cm_begin(const struct cm_conn *conn, enum cm_kind kind);
/* Does the user's private data fit into a message of this kind? */
bool cm_private_fits(enum cm_kind kind, const struct cm_private *user);
void cm_set_private(struct cm_message *message, const struct cm_private *user);
void cm_send(struct cm *cm, const struct cm_route *route, const struct cm_message *out);
/* Sends a message of the connection, and keeps its bytes, to be sent again. */
void cm_send_kept(struct cm *cm, struct cm_conn *conn, const struct cm_message *out);
/* Keeps the bytes of a message that is not sent yet. */
void cm_keep(struct cm_conn *conn, const struct cm_message *out);
void cm_send_again(struct cm *cm, const struct cm_route *route, const uint8_t *kept);

/* ---- user.c ---- */

/* Sets the user's context and options: at the beginning, and again when the user accepts. */
void cm_user_knows(struct cm_conn *conn, uint64_t context, bool moves, bool tell_timewait);
void cm_user_forgets(struct cm_conn *conn);
void cm_raise(struct cm *cm, struct cm_conn *conn, enum cm_event event, int status, const struct cm_message *message);
void cm_move(struct cm *cm, struct cm_conn *conn, enum cm_move move);
/* message: the reason for the move; NULL: a packet of the peer arrived. */
void cm_move_to_rts(struct cm *cm, struct cm_conn *conn, const struct cm_message *message);

/* ---- wait.c ---- */

uint64_t cm_code_ns(uint8_t code);
/* The longest ACK timeout, as a code, that a peer may ask of our QPs (C-22). */
uint8_t cm_ack_timeout(uint8_t code);
/* Sends an MRA: the peer, which waits for the answer to its REQ or REP, is to wait as long as our user may take. */
void cm_send_mra(struct cm *cm, const struct cm_conn *conn, enum cm_answered answered);
/* Sets the response timeout and the number of tries, as the REQ carries them. */
void cm_wait_agree(struct cm_conn *conn, uint8_t response_timeout, uint8_t max_retries);
/* A message was sent: waits for its answer, with all tries; for a passive connection no longer than CM_ANSWER_NS. */
void cm_await(struct cm *cm, struct cm_conn *conn, uint64_t now_ns);
/* Waits for the user, at most as long as its patience. */
void cm_await_user(struct cm *cm, struct cm_conn *conn, uint64_t now_ns);
/* No answer has arrived in time. Returns whether there is another try, for which the wait begins. */
bool cm_wait_take_try(struct cm *cm, struct cm_conn *conn, uint64_t now_ns);
/* An MRA prolongs the wait. */
void cm_wait_handle_mra(struct cm *cm, struct cm_conn *conn, const struct cm_message *in, uint64_t now_ns);

/* ---- routes.c ---- */

void cm_routes_begin(struct cm_conn *conn, const struct cm_route *route);
/*
 * Did the message arrive along a path of the connection? A peer whose QP has migrated sends along its new path (C-20).
 */
bool cm_came_from_peer(const struct cm_conn *conn, const struct cm_route *route);
/* The peer sends along this route: later messages to the peer use it, too. */
void cm_routes_follow(struct cm_conn *conn, const struct cm_route *route);

/* ---- sides.c ---- */

/* Sets our side for a REQ, which may be repeated with a smaller path MTU. */
void cm_sides_offer(struct cm_conn *conn, const struct cm_side *side);
void cm_sides_lower_mtu(struct cm_conn *conn, uint8_t mtu);
/* Sets our side, reduced to what both sides can do; acceptance also drops options that we did not set. */
void cm_sides_propose(struct cm_conn *conn, const struct cm_side *side);
void cm_sides_accept(struct cm_conn *conn, const struct cm_side *side);
/* Takes the peer's side from its REQ or REP. */
void cm_sides_take_req(struct cm_conn *conn, const struct cm_message *in);
void cm_sides_take_rep(struct cm_conn *conn, const struct cm_message *in);

/* Are the addresses in a REQ or SIDR_REQ to an IP service those of the datagram itself (U-3)? */
bool cm_ip_is_of(const struct cm_message *in, const struct cm_route *route);

/* ---- messages, timers and calls: active.c, passive.c, close.c, alternate.c, sidr.c ---- */

/*
 * Begins a connection with a REQ or SIDR_REQ. Returns 0; -EINVAL: private data too long; -ENOBUFS: no free connection.
 */
int cm_active_begin(struct cm *cm, const struct cm_connect *connect, enum cm_kind kind, uint64_t now_ns,
		    struct cm_conn **conn);
/* Writes the header of IP addressing, and the user's private data. */
void cm_active_set_private(struct cm_message *out, const struct cm_connect *connect);
void cm_active_handle_rep(struct cm *cm, struct cm_conn *conn, const struct cm_message *in, uint64_t now_ns);
void cm_active_handle_rej(struct cm *cm, struct cm_conn *conn, const struct cm_message *in, uint64_t now_ns);
void cm_active_moved(struct cm *cm, struct cm_conn *conn, int error, uint64_t now_ns);
/* The REP has arrived again while the user moves his QP: an MRA tells the peer to wait. */
void cm_active_remind(struct cm *cm, struct cm_conn *conn);
void cm_active_user_is_late(struct cm *cm, struct cm_conn *conn, uint64_t now_ns);
/* Is there room for one more half-open connection (C-22)? */
bool cm_passive_has_room(struct cm *cm, const struct cm_route *route, const struct cm_message *in, uint16_t source,
			 const struct cm_listener *listener);
/* Begins a half-open connection, which waits for the listener's user; the caller tells him. NULL: no room. */
struct cm_conn *cm_passive_begin(struct cm *cm, const struct cm_route *route, const struct cm_message *in,
				 uint16_t source, struct cm_listener *listener, uint64_t now_ns);
void cm_passive_handle_req(struct cm *cm, const struct cm_route *route, const struct cm_message *in, uint64_t now_ns);
/* The user's answer to a REQ. Returns 0 or -EINVAL. */
int cm_passive_accept(struct cm *cm, struct cm_conn *conn, const struct cm_accept *accept, uint64_t now_ns);
/* in: the RTU; NULL: a packet of the peer arrived before it. */
void cm_passive_handle_rtu(struct cm *cm, struct cm_conn *conn, const struct cm_message *in, uint64_t now_ns);
void cm_passive_handle_rej(struct cm *cm, struct cm_conn *conn, const struct cm_message *in, uint64_t now_ns);
void cm_passive_moved(struct cm *cm, struct cm_conn *conn, int error, uint64_t now_ns);
void cm_passive_user_is_late(struct cm *cm, struct cm_conn *conn, uint64_t now_ns);

void cm_close_handle_dreq(struct cm *cm, struct cm_conn *conn, const struct cm_message *in, uint64_t now_ns);
void cm_close_handle_drep(struct cm *cm, struct cm_conn *conn, const struct cm_message *in, uint64_t now_ns);
void cm_close_answer_dreq(struct cm *cm, const struct cm_route *route, const struct cm_message *in);
/* The peer has restarted: ends the old connection (C-13). */
void cm_close_stale(struct cm *cm, struct cm_conn *conn, uint64_t now_ns);
/* The connection waits for no further message, and the time-wait of its ids begins. */
void cm_close_finish(struct cm *cm, struct cm_conn *conn, uint64_t now_ns);
/*
 * Writes the answer to a REQ that belongs to a passive connection which has ended, or is about to. Returns false if
 * there is no answer.
 */
bool cm_close_refusal(const struct cm_conn *conn, uint8_t mad[CM_MAD_BYTES]);
/*
 * Returns a free connection, with room for its time-wait, which the holder must have. If there is none, evicts the
 * connection that its user has forgotten and that has waited longest for a DREP. NULL: all are in use.
 */
struct cm_conn *cm_close_make_room(struct cm *cm, uint16_t holder, uint64_t now_ns);
/* The QP of a passive connection cannot be moved to RTS. */
void cm_close_unmoved(struct cm *cm, struct cm_conn *conn, int error, uint64_t now_ns);
/* All tries were used up. */
void cm_close_give_up(struct cm *cm, struct cm_conn *conn, uint64_t now_ns);
/* Sends a REJ to the peer whose REQ or REP is given up. */
void cm_close_send_rej(struct cm *cm, struct cm_conn *conn, uint16_t reason, uint8_t answered,
		       const struct cm_private *user);

void cm_sidr_handle_request(struct cm *cm, const struct cm_route *route, const struct cm_message *in, uint64_t now_ns);
/* The user's answer to a question for a service; accept NULL: no. Returns 0 or -EINVAL. */
int cm_sidr_answer(struct cm *cm, struct cm_conn *conn, const struct cm_accept *accept, const struct cm_private *user,
		   uint64_t now_ns);
/* The user has not answered in time: the answer is no. */
void cm_sidr_user_is_late(struct cm *cm, struct cm_conn *conn, uint64_t now_ns);
void cm_sidr_handle_reply(struct cm *cm, const struct cm_route *route, const struct cm_message *in, uint64_t now_ns);

/* Stores a path that the peer has described, seen from our side. */
void cm_alternate_take_path(struct cm_conn *conn, const struct cm_path *path);
/* Our REQ names this path. */
void cm_alternate_offer(struct cm_conn *conn, const struct cm_path *path);
/* Our LAP waits no more for its APR: the connection ends. */
void cm_alternate_abandon(struct cm_conn *conn);
/*
 * Sends again the LAP that waits for its APR. A LAP that yields to the peer's is not sent again, but goes on waiting.
 */
void cm_alternate_try_again(struct cm *cm, const struct cm_conn *conn);
void cm_alternate_handle_lap(struct cm *cm, struct cm_conn *conn, const struct cm_message *in);
void cm_alternate_handle_apr(struct cm *cm, struct cm_conn *conn, const struct cm_message *in, uint64_t now_ns);
void cm_alternate_moved(struct cm *cm, struct cm_conn *conn, int error);
void cm_alternate_give_up(struct cm *cm, struct cm_conn *conn);

#endif
