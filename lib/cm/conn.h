/* conn.h - a connection, and the manager's own structures; for the files of lib/cm only */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CM_CONN_H
#define CM_CONN_H

#include <stdatomic.h>
#include <string.h>
#include <sys/queue.h>

#include "cm/cm.h"
#include "cm/deadlines.h"
#include "cm/quota.h"
#include "cm/refusal.h"
#include "cm/rest.h"

#define CM_ACTIONS 16u /* that one call can cause, and more */
#define CM_LAPS 8u     /* of a peer, that are known again: more than there are within the life of a packet */

enum cm_state {
	CM_FREE,
	CM_REQ_SENT,  /* active: waits for a REP */
	CM_SIDR_SENT, /* asks for a service, no connection: waits for a SIDR_REP */
	CM_SIDR_RCVD, /* is asked for one: the user thinks */
	CM_REP_RCVD,  /* active: the QP is on its way to RTS; its user may take his time for that */
	CM_REQ_RCVD,  /* passive: the user thinks */
	CM_REP_SENT,  /* passive: waits for an RTU */
	CM_RTU_RCVD,  /* passive: the QP is on its way to RTS */
	CM_ESTABLISHED,
	CM_DREQ_SENT,
	CM_CLOSED, /* rejected, failed or ended; the user still has it */
	CM_STATES
};

/* Alternate ways that both ends ask each other to load, written by alternate.c only. Their LAPs by transaction ids. */
struct cm_lap {
	/* ours */
	bool sent;               /* its APR is waited for */
	bool yields;             /* to the peer's, which goes first */
	bool met;                /* one of the peer was loaded since */
	struct cm_way way;       /* as asked for last */
	uint64_t transaction_id; /* the last one; 0: none yet */
	/* the peer's */
	uint64_t came;            /* is being judged */
	uint64_t loaded;          /* the last one that was loaded */
	uint64_t judged[CM_LAPS]; /* a ring */
	uint32_t judged_count;    /* all that were */
	/* the answer to the one judged last */
	uint8_t status;
	bool goes_first;
	uint64_t before; /* ours */

	uint8_t loading; /* enum cm_way_loading: whose the QP is about to load */
};

enum cm_way_loading { CM_WAY_NONE, CM_WAY_OURS, CM_WAY_PEERS };

struct cm_conn {
	uint32_t local_id, remote_id;
	uint32_t next_id, next_peer, next_end; /* in the chains of the tables; next_id also among the free */
	uint8_t state;                         /* enum cm_state */
	uint16_t source;                       /* which counters count its peer */
	bool passive, known_to_user, counted_by_listener;
	bool half_open;  /* passive, and was never established: it counts until its place is free */
	bool replied;    /* a REP was sent */
	bool ending;     /* its user has gone: it gives way */
	bool tell_rest;  /* the user wants to know when the ids have rested */
	bool user_moves; /* his QP himself */
	bool in_peers, in_ends;
	uint8_t tries_left;
	bool prolonged;                        /* the wait behind the last try, by an MRA */
	uint8_t response_timeout, max_retries; /* code, and count: for what we send */
	uint8_t peer_timeout;                  /* code: how long the peer waits for us */
	bool told_end;                         /* the user knows that it has ended */
	uint64_t give_up_ns; /* REQ_RCVD, REP_RCVD: the user's time is over; later: no answer is waited for any more */
	uint64_t rests_until_ns; /* CLOSED: its ids rest */
	uint64_t transaction_id;
	uint64_t peer_guid;
	uint64_t context;
	struct cm_listener *listener; /* there as long as counted_by_listener */
	TAILQ_ENTRY(cm_conn) with_ending;
	struct cm_route route;
	struct cm_end own, peer;
	struct cm_way alternate; /* loaded last, or to be loaded */
	struct cm_lap lap;
	uint8_t mad[CM_MAD_BYTES]; /* sent last and not answered, or the answer to what may come again */
};

struct cm_table {
	uint8_t key[16];
	uint32_t conn_count, head_mask, free_conn, used;
	struct cm_conn *conns;
	uint32_t *by_id, *by_peer, *by_end; /* heads of chains */
	struct cm_deadlines timers;
	struct cm_rests rests;
	uint64_t drawn;
};

struct cm {
	struct cm_config config;
	struct cm_table table;
	struct cm_quota half_open;
	struct cm_refusals refusals;
	TAILQ_HEAD(, cm_conn) ending; /* their users have gone, and they wait for a DREP: the longest first */
	struct cm_action actions[CM_ACTIONS];
	uint32_t action_head, action_tail;
	struct cm_message in;            /* what came */
	const struct cm_message *moving; /* the message that moves a QP just now; NULL: a packet does */
	struct cm_message out;           /* what is being put together */
	uint64_t counters[CM_COUNTERS];
	uint64_t sent[CM_KIND_LAST - CM_KIND_FIRST + 1], received[CM_KIND_LAST - CM_KIND_FIRST + 1];
	uint64_t rejects[64];
};

/* ---- table.c: ids, chains, timers ---- */

uint64_t cm_table_bytes(const struct cm_config *config);
/* Cuts what it needs off *memory. */
void cm_table_init(struct cm_table *table, uint8_t **memory, const struct cm_config *config);

/* Bits that nobody can foretell (C-2). */
uint64_t cm_table_draw(struct cm_table *table);

/* A connection with an id of its own, or NULL: there are no more. */
struct cm_conn *cm_table_take(struct cm_table *table, uint32_t id_mask, uint32_t id_low);
void cm_table_give_back(struct cm_table *table, struct cm_conn *conn);
uint32_t cm_table_index(const struct cm_table *table, const struct cm_conn *conn);
/* NULL: no such one. */
struct cm_conn *cm_table_at(const struct cm_table *table, uint32_t index);
struct cm_conn *cm_table_by_id(const struct cm_table *table, uint32_t local_id);

/* Passive ones, by the peer's address and id: the REQ that came again. after: the one found before, or NULL. */
void cm_table_add_peer(struct cm_table *table, struct cm_conn *conn);
struct cm_conn *cm_table_by_peer(const struct cm_table *table, const uint8_t addr[16], uint32_t remote_id,
				 const struct cm_conn *after);
/* By the GUID and QPN that the peer says it has, for a peer that begins anew has the same ones (C-13). */
void cm_table_add_end(struct cm_table *table, struct cm_conn *conn);
struct cm_conn *cm_table_by_end(const struct cm_table *table, uint64_t guid, uint32_t qpn, const struct cm_conn *after);
/* The connection of the QP whose QPN and GUID cm->in has: none of another peer that says so. NULL: there is none. */
struct cm_conn *cm_find_end(const struct cm *cm, const struct cm_route *route);
void cm_table_remove_end(struct cm_table *table, struct cm_conn *conn);

/* CM_NEVER stops it. */
void cm_table_set_timer(struct cm_table *table, const struct cm_conn *conn, uint64_t deadline_ns);
/* One whose time has come, or NULL. It stays in its place. */
struct cm_conn *cm_table_due(const struct cm_table *table, uint64_t now_ns);
uint64_t cm_table_deadline(const struct cm_table *table);

/* ---- config.c ---- */

/* Times that are 0 become what they are by default. */
void cm_config_complete(struct cm_config *config);

/* ---- listener.c ---- */

void cm_no_more_pending(struct cm_conn *conn);

/* ---- action.c: what leaves, and how long things take ---- */

/* An action to be filled. There is always room: no call causes more than CM_ACTIONS. */
struct cm_action *cm_add_action(struct cm *cm, enum cm_action_kind kind, const struct cm_conn *conn);
void cm_raise(struct cm *cm, struct cm_conn *conn, enum cm_event event, int status, const struct cm_message *message);
void cm_move(struct cm *cm, struct cm_conn *conn, enum cm_move move);
/* A message of a connection to its peer, both ids and the transaction id filled in. To be filled further, then sent. */
struct cm_message *cm_begin(struct cm *cm, const struct cm_conn *conn, enum cm_kind kind);
/* Private data of the user behind `at` bytes of ours. false: it is too long; nothing has happened. */
bool cm_private_fits(enum cm_kind kind, const struct cm_private *user);
void cm_set_private(struct cm_message *message, const struct cm_private *user);
/* Sends cm->out; kept != NULL: the bytes are kept there, to be sent again. */
void cm_send_out(struct cm *cm, const struct cm_route *route, uint8_t *kept);
void cm_send_again(struct cm *cm, const struct cm_route *route, const uint8_t *kept);
/* The peer waits for our user, as long as he may take; for the answer to its REQ or REP. */
void cm_send_mra(struct cm *cm, const struct cm_conn *conn, enum cm_answered answered);
uint64_t cm_code_ns(uint8_t code);
/* What a peer may ask a QP of ours to wait for an ACK (C-22). */
uint8_t cm_ack_timeout(uint8_t code);
/* What was sent waits for an answer, with all its tries; of a passive connection no longer than CM_ANSWER_NS. */
void cm_await(struct cm *cm, struct cm_conn *conn, uint64_t now_ns);
/* So long an answer is waited for: the peer's time and the way there and back. */
uint64_t cm_wait_ns(const struct cm *cm, const struct cm_conn *conn);
/* Then it is time to try again, or to give up. */
void cm_wait_until(struct cm *cm, const struct cm_conn *conn, uint64_t until_ns);
/* In half-open ones it counts no more. */
void cm_no_more_half_open(struct cm *cm, struct cm_conn *conn);
/* The addresses that a REQ or SIDR_REQ to a service of IP tells are those that it came from and to (U-3). */
bool cm_ip_is_of(const struct cm_message *in, const struct cm_route *route);

/* ---- what a message, a timer or a call does: active.c, passive.c, close.c, alternate.c ---- */

/* A connection that asks by a REQ or a SIDR_REQ. 0; -EINVAL: private data that are too long; -ENOBUFS: no more. */
int cm_active_begin(struct cm *cm, const struct cm_connect *connect, enum cm_kind kind, uint64_t now_ns,
		    struct cm_conn **conn);
/* The addresses of IP, and what the user adds. */
void cm_active_set_private(struct cm_message *out, const struct cm_connect *connect);
void cm_active_take_rep(struct cm *cm, struct cm_conn *conn, uint64_t now_ns);
void cm_active_take_rej(struct cm *cm, struct cm_conn *conn, uint64_t now_ns);
void cm_active_moved(struct cm *cm, struct cm_conn *conn, int error, uint64_t now_ns);
/* The REP has come again while the user moves his QP: the peer is told to wait. */
void cm_active_remind(struct cm *cm, struct cm_conn *conn);
void cm_active_user_is_late(struct cm *cm, struct cm_conn *conn, uint64_t now_ns);
/* There is room for one more half-open one (C-22). */
bool cm_passive_has_room(struct cm *cm, uint16_t source, const struct cm_listener *listener);
/* One of those begins: it waits for the user of the listener, who is not told yet. NULL: all places are in use. */
struct cm_conn *cm_passive_begin(struct cm *cm, const struct cm_route *route, uint16_t source,
				 struct cm_listener *listener, uint64_t now_ns);
void cm_passive_take_req(struct cm *cm, const struct cm_route *route, uint64_t now_ns);
/* What the user says to its REQ. 0 or -EINVAL. */
int cm_passive_accept(struct cm *cm, struct cm_conn *conn, const struct cm_accept *accept, uint64_t now_ns);
void cm_passive_take_rtu(struct cm *cm, struct cm_conn *conn, const struct cm_message *message, uint64_t now_ns);
void cm_passive_take_rej(struct cm *cm, struct cm_conn *conn, uint64_t now_ns);
void cm_passive_moved(struct cm *cm, struct cm_conn *conn, int error, uint64_t now_ns);
void cm_passive_user_is_late(struct cm *cm, struct cm_conn *conn, uint64_t now_ns);

void cm_close_take_dreq(struct cm *cm, struct cm_conn *conn, uint64_t now_ns);
void cm_close_take_drep(struct cm *cm, struct cm_conn *conn, uint64_t now_ns);
void cm_close_answer_dreq(struct cm *cm, const struct cm_route *route);
/* The peer has begun anew: ends what was (C-13). */
void cm_close_stale(struct cm *cm, struct cm_conn *conn, uint64_t now_ns);
/* No message is to be expected any more, and the ids rest. */
void cm_close_end(struct cm *cm, struct cm_conn *conn, uint64_t now_ns);
/* The answer to the REQ of a passive connection that is over, or about to be; false: nothing is to be said. */
bool cm_close_refusal(struct cm *cm, const struct cm_conn *conn, uint8_t mad[CM_MAD_BYTES]);
/*
 * A place for a connection. When there is none that one gives way whose user has gone, and that has waited longest for
 * a DREP. NULL: all are in use.
 */
struct cm_conn *cm_close_take_place(struct cm *cm, uint64_t now_ns);
/* All tries were in vain. */
void cm_close_give_up(struct cm *cm, struct cm_conn *conn, uint64_t now_ns);
/* To the peer of a REQ or REP that is given up. */
void cm_close_send_rej(struct cm *cm, struct cm_conn *conn, uint16_t reason, uint8_t answered,
		       const struct cm_private *user);

void cm_sidr_take_request(struct cm *cm, const struct cm_route *route, uint64_t now_ns);
/* What the user says to one that asks for a service; accept: NULL: no. 0 or -EINVAL. */
int cm_sidr_answer(struct cm *cm, struct cm_conn *conn, const struct cm_accept *accept, const struct cm_private *user,
		   uint64_t now_ns);
/* He has said nothing: the answer is no. */
void cm_sidr_user_is_late(struct cm *cm, struct cm_conn *conn, uint64_t now_ns);
void cm_sidr_take_reply(struct cm *cm, const struct cm_route *route, uint64_t now_ns);

/* What the peer tells as it sees it is kept as we see it. */
void cm_alternate_take_way(struct cm_conn *conn, const struct cm_way *way);
/* The LAP that waits for its APR; one that yields to the peer's just waits. */
void cm_alternate_try_again(struct cm *cm, const struct cm_conn *conn);
void cm_alternate_take_lap(struct cm *cm, struct cm_conn *conn);
void cm_alternate_take_apr(struct cm *cm, struct cm_conn *conn, uint64_t now_ns);
void cm_alternate_moved(struct cm *cm, struct cm_conn *conn, int error);
void cm_alternate_give_up(struct cm *cm, struct cm_conn *conn);

#endif
