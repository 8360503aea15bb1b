/* crowd.h - hosts with a connection manager each, their users and the network between them, in virtual time */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who drives it decides what users do, when, and what becomes of each datagram; the crowd carries that out and judges.
 * A party is one user's view of one connection. Whatever is not as it should be is kept in `failure`, the first one.
 *   1. crowd_open(), crowd_start() for each host
 *   2. calls of users; crowd_step() at the time of crowd_next()
 *   3. when nothing is due any more: crowd_check_quiet(), and crowd_check_nothing_left() once all are forgotten
 */
#ifndef TEST_CROWD_H
#define TEST_CROWD_H

#include "cm/cm.h"

#define CROWD_HOSTS 3u
#define CROWD_PARTIES 256u
#define CROWD_CONNECTIONS 32u /* of a host, at most */
#define CROWD_WIRE 2048u
#define CROWD_PORTS 2u
#define CROWD_FIRST_PORT 7174u
#define CROWD_CONTEXT 1000000u /* and more: of a listener, not of a party */
#define CROWD_NONE UINT32_MAX
#define CROWD_KINDS (CM_KIND_LAST - CM_KIND_FIRST + 1)

enum crowd_stage {
	CROWD_ASKED,     /* passive: the user has to answer */
	CROWD_WAITING,   /* a REQ or REP is out */
	CROWD_RESPONDED, /* active: the user moves its QP, and has to say so */
	CROWD_ESTABLISHED,
	CROWD_ENDED, /* the user was told so, or has refused */
	CROWD_GONE   /* forgotten, or its host has crashed */
};

enum crowd_qp { CROWD_QP_NONE, CROWD_QP_RTR, CROWD_QP_RTS, CROWD_QP_ERR };

struct crowd_party {
	uint32_t host, life, connection;
	uint32_t request_from, request_id; /* whose REQ, and its id */
	uint32_t local_id;                 /* 0: nothing was sent yet */
	uint64_t ended_ns;                 /* at the earliest; 0: it has not */
	uint32_t qpn, psn;
	uint8_t stage, qp; /* enums */
	bool active, was_established;
	bool user_moves;           /* its QP itself; of a passive one the driver says so before crowd_accept() */
	bool closing;              /* the user has ended it */
	bool broken;               /* its QP could not be moved, or has died */
	uint32_t laps;             /* asked for and not answered */
	struct cm_path loaded;     /* by its QP, last */
	bool loaded_by_both;       /* the user was told so, and of nothing else since */
	uint64_t next_ns, dies_ns; /* the driver's */
};

struct crowd_datagram {
	uint64_t when_ns, order;
	uint32_t from, to;     /* hosts */
	struct cm_route route; /* as the receiver has it */
	uint8_t mad[CM_MAD_BYTES];
};

struct crowd_host {
	uint8_t addr[16];
	struct cm *cm; /* NULL: it is down */
	void *memory;
	struct cm_config config;
	struct cm_listeners listeners;
	struct cm_listener ports[CROWD_PORTS];
	uint32_t life, next_qpn;
	uint32_t party_of[CROWD_CONNECTIONS];                   /* CROWD_NONE */
	uint64_t sent[CROWD_KINDS], received[CROWD_KINDS], bad; /* since it started */
};

struct crowd {
	struct crowd_host hosts[CROWD_HOSTS];
	struct crowd_party parties[CROWD_PARTIES];
	uint32_t party_count;
	struct crowd_datagram wire[CROWD_WIRE];
	uint32_t wire_count;
	uint64_t now_ns, order, hash, datagrams, seed, ways;
	uint32_t established, lives;
	bool forged;      /* messages are not only those of the managers: who ended what cannot be told */
	bool few_ids;     /* those that have rested come again */
	bool lossless;    /* and nobody crashes: whoever waits in vain was not answered */
	uint64_t rest_ns; /* how long ids rest; 0: this is not looked at */
	bool trace;
	char failure[256];
	/* What becomes of a datagram: crowd_put() as often as it arrives. */
	void (*send)(struct crowd *crowd, struct crowd_datagram *datagram);
	/* How a QP moves: 0 or negative errno. */
	int (*move)(struct crowd *crowd, struct crowd_party *party, enum cm_move move);
	/* A party is new, or has got an event. No calls from here. */
	void (*notice)(struct crowd *crowd, struct crowd_party *party);
	void *driver;
};

void crowd_open(struct crowd *crowd, uint64_t seed);
void crowd_close(struct crowd *crowd);
void crowd_fail(struct crowd *crowd, const char *format, ...) __attribute__((format(printf, 2, 3)));
void crowd_say(struct crowd *crowd, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* config: all but listeners, GUID and key. Connections at most CROWD_CONNECTIONS. */
void crowd_start(struct crowd *crowd, uint32_t host, const struct cm_config *config);
/* Nothing of it is left but its address, GUID and what it has sent. */
void crowd_crash(struct crowd *crowd, uint32_t host);
void crowd_listen(struct crowd *crowd, uint32_t host, uint32_t port, uint32_t backlog);
void crowd_stop_listening(struct crowd *crowd, uint32_t host, uint32_t port);

/* Calls of users; each is judged. A party has to be of a host that is up and not gone. NULL: there is no room. */
struct crowd_party *crowd_connect(struct crowd *crowd, uint32_t host, uint32_t to, uint32_t port,
				  const struct cm_connect *wishes);
void crowd_accept(struct crowd *crowd, struct crowd_party *party, uint8_t ack_timeout);
void crowd_establish(struct crowd *crowd, struct crowd_party *party);
void crowd_reject(struct crowd *crowd, struct crowd_party *party);
void crowd_disconnect(struct crowd *crowd, struct crowd_party *party);
void crowd_forget(struct crowd *crowd, struct crowd_party *party);
void crowd_load_alternate(struct crowd *crowd, struct crowd_party *party);
/* A packet of an established party's QP. false: there is no QP that hears it. */
bool crowd_traffic(struct crowd *crowd, struct crowd_party *party);
void crowd_qp_died(struct crowd *crowd, struct crowd_party *party);

/* Puts a datagram on its way. */
void crowd_put(struct crowd *crowd, const struct crowd_datagram *datagram, uint64_t delay_ns);
/* When a datagram arrives or a manager's time has come; UINT64_MAX: never. */
uint64_t crowd_next(const struct crowd *crowd);
/* The one thing that is due next; time goes on to it. */
void crowd_step(struct crowd *crowd);

/* What the last call of a manager has caused is carried out. */
void crowd_drain(struct crowd *crowd, uint32_t host);
/* NULL: there have been too many. */
struct crowd_party *crowd_new_party(struct crowd *crowd, uint32_t host);
uint32_t crowd_number(const struct crowd *crowd, const struct crowd_party *party);
/* The other end: whose QP and starting PSN fit, in whatever state. NULL: there is none any more. */
struct crowd_party *crowd_partner(struct crowd *crowd, const struct crowd_party *party);

/* Nothing is due: each user knows how things stand, and both ends of a connection agree. */
void crowd_check_quiet(struct crowd *crowd);
/* All are gone, and time-wait is over. */
void crowd_check_nothing_left(struct crowd *crowd);

#endif
