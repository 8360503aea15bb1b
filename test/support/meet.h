/* meet.h - two connection managers, the network between them and their users, in virtual time */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   1. meet_open()
 *   2. calls of cm.h on meet->end[A].cm, each followed by meet_run() or meet_step()
 *   3. look at what was noted: "A REQ", "B event REQUEST"
 * meet_run() carries datagrams until none is on its way; meet_wait() lets time go on to the next deadline first.
 */
#ifndef TEST_MEET_H
#define TEST_MEET_H

#include "cm/cm.h"

#define MEET_WIRE 4096u
#define MEET_NOTES 16384u
#define MEET_EVENTS 64u

enum meet_name { MEET_A, MEET_B };

struct meet;

struct meet_datagram {
	struct cm_route route; /* as the sender has it */
	uint8_t mad[CM_MAD_BYTES];
};

struct meet_event {
	enum cm_event event;
	int status;
	uint32_t connection;
	uint64_t context;
	struct cm_message message;
	bool has_message;
};

struct meet_end {
	struct cm *cm;
	void *memory;
	struct cm_listeners listeners;
	struct meet_datagram wire[MEET_WIRE]; /* sent, and not carried yet */
	uint32_t head, tail;
	struct meet_event events[MEET_EVENTS];
	uint32_t event_count; /* all that were; the newest MEET_EVENTS are kept */
	int move_error;       /* what the next moves of QPs end with */
	uint32_t moves;
};

struct meet {
	struct meet_end end[2];
	uint64_t now_ns;
	uint64_t sent;          /* datagrams, by both */
	char notes[MEET_NOTES]; /* one line per message, event and move */
	/* How often a datagram arrives: 0, 1, 2. NULL: once. */
	int (*fate)(struct meet *meet, enum meet_name from, const struct cm_message *message);
	void *user;
};

/* For `fate`: nothing arrives, or everything but LAPs. */
int meet_lose_all(struct meet *meet, enum meet_name from, const struct cm_message *message);
int meet_lose_laps(struct meet *meet, enum meet_name from, const struct cm_message *message);

/* config: NULL, or what is not zero in it counts. */
struct meet *meet_open(const struct cm_config *config);
void meet_close(struct meet *meet);
/* An end begins anew: nothing is left of it but its address. */
void meet_restart(struct meet *meet, enum meet_name name, const struct cm_config *config);

/* Carries out what the last call caused: datagrams go onto the wire, events and moves are noted. */
void meet_drain(struct meet *meet, enum meet_name name);
/* Delivers the oldest datagram of an end. false: there is none. */
bool meet_carry(struct meet *meet, enum meet_name from);
/* The oldest datagram of an end, taken off the wire; and its route as its receiver has it. */
struct cm_message meet_take(struct meet *meet, enum meet_name from, struct cm_route *route);
/* The same way, as its other end has it. */
struct cm_route meet_back(const struct cm_route *route);
/* A message that comes to an end over a route as it has it. */
void meet_give(struct meet *meet, enum meet_name to, const struct cm_message *message, const struct cm_route *route);
/* Carries until nothing is on its way. */
void meet_run(struct meet *meet);
/* Time goes on to the next deadline, which is dealt with; then as meet_run(). false: there is none before until_ns. */
bool meet_wait(struct meet *meet, uint64_t until_ns);
/* As long as there is a deadline before then. */
void meet_settle(struct meet *meet, uint64_t until_ns);

/* What was noted since the last call. */
const char *meet_notes(struct meet *meet);
void meet_forget_notes(struct meet *meet);
/* In a test of Criterion: just this was noted since the last call. */
#define meet_expect(meet, line)                                                                                     \
	do {                                                                                                        \
		const char *meet_noted_ = meet_notes(meet), *meet_line_ = (line);                                   \
		cr_assert_str_eq(meet_noted_, meet_line_, "\n  is:     %s\n  should: %s", meet_noted_, meet_line_); \
	} while (0)

struct cm_listener *meet_listen(struct meet *meet, enum meet_name name, uint16_t port, uint32_t backlog);
/* A asks B's port; the id of the connection. Defaults that fit; qpn is its QP. */
uint32_t meet_connect(struct meet *meet, uint16_t port, uint32_t qpn);
struct cm_connect meet_request(uint16_t port, uint32_t qpn);
/* B says yes to what has come last. */
int meet_accept(struct meet *meet, uint32_t connection, uint32_t qpn);
/* Both established. */
void meet_establish(struct meet *meet, uint32_t *a, uint32_t *b);
const struct meet_event *meet_last(const struct meet *meet, enum meet_name name);

#endif
