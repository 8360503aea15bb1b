/* pair.h - two QPs of the core and a wire between them, in virtual time: for unit tests and scenarios */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every packet is built to bytes and parsed again on its way. What each side sends is kept as one line of text,
 * what completes as another:
 *   struct pair *pair = pair_open(&(struct pair_options){ .mtu = 1024 });
 *   pair_write(pair, 3000, UROCE_SEND_SIGNALED);
 *   pair_run(pair);
 *   expect_sent(pair, A, "WRITE_FIRST psn=0 ...");
 */
#ifndef TEST_PAIR_H
#define TEST_PAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "rc/board.h"
#include "rc/outbox.h"
#include "rc/qp.h"
#include "rc/srq.h"

enum side_name { A, B };

#define PAIR_LINE_BYTES 160
#ifndef PAIR_SMALL
#define PAIR_IS_SMALL 0
#define PAIR_LINES 4096
#define PAIR_TEXTS PAIR_LINES
#define PAIR_IN_FLIGHT 8192
#define PAIR_MEMORY_BYTES (4u << 20)
#else /* for very many short runs: no lines of text, and the memory of one pair is that of the next */
#define PAIR_IS_SMALL 1
#define PAIR_LINES 64
#define PAIR_TEXTS 1
#define PAIR_IN_FLIGHT 512
#define PAIR_MEMORY_BYTES (64u << 10)
#endif

struct pair_options {
	uint32_t mtu;                /* 0: 1024 */
	uint32_t psn_a, psn_b;       /* start PSN of each side's requests */
	uint32_t depth;              /* queues; 0: 64 */
	uint32_t receives;           /* posted on B at the start, 64 KiB each, from its memory's second half */
	uint32_t inline_bytes;       /* of a request; 0: 128 */
	uint8_t rd_atomic;           /* 0: 4; 255: really 0 */
	uint8_t timeout;             /* code; 0: 14 */
	uint8_t retry_cnt;           /* 0: 7; 255: really 0 */
	uint8_t rnr_retry;           /* 0: 7; 255: really 0 */
	uint8_t rnr_timer;           /* 0: 12 */
	bool no_boards;              /* nothing is placed before its turn, nor answered in front of others */
	uint32_t access;             /* of B's QP and A's; 0: everything remote */
	uint32_t mr_access;          /* of the regions; 0: everything */
	struct rc_srq *srq_b;        /* B takes its receives from it; NULL: from a queue of its own */
	uint32_t memory_a, memory_b; /* bytes of each side; 0: PAIR_MEMORY_BYTES */
};

/* A packet on the wire. */
struct flight {
	struct uroce_path path; /* the sender's when it left */
	uint16_t source_port;
	uint8_t *frame;  /* malloced to its exact length */
	uint8_t *bytes;  /* in it, from the BTH on */
	uint32_t length; /* of those */
	bool damaged;    /* its ICRC will be wrong; who does not check ICRCs never sees it */
};

struct side {
	struct rc_qp *qp;
	bool checked;          /* the ICRC of what comes is known to be right, as with check_icrc_first */
	struct rc_boards pool; /* for what it misses, and for what its peer does, of responses and of requests */
	struct rc_board boards[10];
	struct rc_mr_table mrs;
	struct rc_mr_entry entries[16];
	uint8_t *memory; /* registered as `key` */
	uint32_t memory_bytes;
	uint32_t key;
	uint32_t sent_count, done_count, event_count;
	uint64_t silent_us; /* of the last event */
	uint32_t wire_head, wire_tail;
	uint32_t packets;             /* ever sent: the number that `drop` sees, from 0 */
	bool failed[2];               /* SQ, RQ: an error has completed */
	uint64_t drops[CNT_COUNTERS]; /* packets that were not admitted, by reason */
	/* From here on only what was counted above means something. */
	char sent[PAIR_TEXTS][PAIR_LINE_BYTES];
	char done[PAIR_TEXTS][PAIR_LINE_BYTES];
	struct uroce_wc wcs[PAIR_LINES]; /* the completion behind each line of done */
	char events[64][PAIR_LINE_BYTES];
	uint32_t done_at_event[64];         /* completions that came before it (V-1) */
	struct flight wire[PAIR_IN_FLIGHT]; /* from this side, oldest first */
};

struct pair {
	struct side side[2];
	uint64_t now_ns;
	uint64_t step_ns; /* time that one poll takes */
	/* Decides the fate of a packet before it is put on the wire: how many copies arrive (0: lost). NULL: 1. */
	int (*copies)(struct pair *pair, enum side_name from, uint32_t number, const struct wire_packet *packet);
	/* Sees every packet that side `at` sends or is handed. NULL: nobody does. */
	void (*tap)(struct pair *pair, enum side_name at, enum side_name from, const struct wire_packet *packet);
	void *user;
	uint16_t source_port;                 /* of the packet whose fate is decided */
	bool shows_migreq;                    /* lines tell MigReq; otherwise it is left out */
	uint32_t crowd;                       /* completions of other QPs that lie in the outbox of each call */
	bool inject_damage;                   /* pair_inject() spoils the ICRC */
	uint16_t inject_port;                 /* the source port of pair_inject(); 0: the peer's usual one */
	const struct uroce_path *inject_path; /* where pair_inject() says it comes from; NULL: the peer's path */
	struct rc_outbox out;
};

struct pair *pair_open(const struct pair_options *options);
/* What the first 64 KiB of a side's memory hold at first. */
const uint8_t *pair_pattern(enum side_name side);
void pair_close(struct pair *pair);

/* A side whose QP was changed sends to the other one again. */
void pair_aim(struct pair *pair, enum side_name side);

/* Posts on A; data from A's memory at 0, remote address B's memory at 0. Returns the post's result. */
int pair_post(struct pair *pair, enum side_name side, struct uroce_send_wr wr, uint64_t offset, uint32_t bytes);
int pair_send(struct pair *pair, uint64_t wr_id, uint32_t bytes);
int pair_write(struct pair *pair, uint64_t wr_id, uint32_t bytes);
int pair_read(struct pair *pair, uint64_t wr_id, uint32_t bytes);
int pair_fetch_add(struct pair *pair, uint64_t wr_id, uint64_t add);
int pair_recv(struct pair *pair, enum side_name side, uint64_t wr_id, uint64_t offset, uint32_t bytes);

/* Lets one side send what it has to send now; or at most so many packets of it, true: there is more. */
void pair_transmit(struct pair *pair, enum side_name side);
bool pair_transmit_some(struct pair *pair, enum side_name side, uint32_t packets);
/* Delivers everything on the wire towards a side. */
void pair_deliver(struct pair *pair, enum side_name to);
/* Another of the same, of its own memory. */
struct flight pair_copy_flight(const struct flight *flight);
/* Hands a side one made-up packet, by way of its bytes. */
void pair_inject(struct pair *pair, enum side_name to, struct wire_packet packet);
/* The same, and lets it answer: B as responder, A as requester. See packets.h. */
void pair_request(struct pair *pair, struct wire_packet packet);
void pair_respond(struct pair *pair, struct wire_packet packet);
/* From now on nothing that either side sends arrives; and again it does. */
void pair_cut(struct pair *pair);
void pair_mend(struct pair *pair);
/* Another region in a side's memory, on protection domain pd. Returns its key. */
uint32_t pair_region(struct pair *pair, enum side_name side, uint32_t pd, uint64_t offset, uint64_t bytes,
		     uint32_t access);
/* Polls until both sides are quiet; timers do not fire. */
void pair_run(struct pair *pair);
/* Moves time to the next deadline, fires it, then pair_run(). false: there is no deadline. */
bool pair_fire(struct pair *pair);
/* Moves time there, and fires the deadlines of one QP that have passed by then. */
static inline void pair_timeout_at(struct pair *pair, struct rc_qp *qp, uint64_t when_ns)
{
	pair->now_ns = when_ns;
	rc_qp_timeout(qp, when_ns);
}
/* pair_run() and pair_fire() until nothing is due any more or limit_ns of virtual time are over. true: quiet. */
bool pair_settle(struct pair *pair, uint64_t limit_ns);

/* Forgets the lines so far. */
void pair_forget(struct pair *pair);
/* A WRITE of A is acknowledged so long after it left, which is A's round trip from now on; then all is forgotten. */
void pair_measure(struct pair *pair, uint64_t round_trip_ns);
/* The same where B is cut off: the test answers for it, and a time near the timeout may not be measured. */
void pair_measure_alone(struct pair *pair, uint64_t round_trip_ns);

/* A side's memory. */
void pair_fill(struct pair *pair, enum side_name side, uint64_t offset, uint8_t value, uint32_t bytes);
uint64_t pair_word(const struct pair *pair, enum side_name side, uint64_t offset);
void pair_set_word(struct pair *pair, enum side_name side, uint64_t offset, uint64_t word);

/* One packet or completion as a line; statuses and events have their public names. */
void pair_print_line(const struct pair *pair, enum side_name from, const struct wire_packet *packet, char *line);
void pair_print_completion(const struct uroce_wc *wc, char *line);

/* Text for an assert: one of eight buffers in turn. */
__attribute__((format(printf, 1, 2))) const char *pair_text(const char *format, ...);

/*
 * Asserts. Lines as wire_print_packet() writes them, but without " qp=0x......", with va as offset into the peer's
 * memory and without its rkey; completions as "wr=1 READ SUCCESS len=64", the length only where it is defined.
 */
void expect_sent(struct pair *pair, enum side_name side, uint32_t index, const char *line);
void expect_sent_count(struct pair *pair, enum side_name side, uint32_t count);
void expect_done(struct pair *pair, enum side_name side, uint32_t index, const char *line);
void expect_done_count(struct pair *pair, enum side_name side, uint32_t count);
void expect_event(struct pair *pair, enum side_name side, uint32_t index, const char *line);

/*
 * Exactly these lines, none or more, since the last such assert on this side and kind (or pair_forget()):
 *   expect_leaves(pair, B, "ACK psn=0 credit=31 msn=1");
 */
#define PAIR_LIST(...) ((const char *const[]){ NULL, ##__VA_ARGS__, NULL })
#define PAIR_WHERE2(file, line) file ":" #line
#define PAIR_WHERE1(file, line) PAIR_WHERE2(file, line)
#define PAIR_WHERE PAIR_WHERE1(__FILE__, __LINE__)
#define expect_leaves(pair, side, ...) pair_expect_leaves(pair, side, PAIR_LIST(__VA_ARGS__), PAIR_WHERE)
#define expect_completes(pair, side, ...) pair_expect_completes(pair, side, PAIR_LIST(__VA_ARGS__), PAIR_WHERE)
#define expect_events(pair, side, ...) pair_expect_events(pair, side, PAIR_LIST(__VA_ARGS__), PAIR_WHERE)
#define expect_counts(pair, side, counter, count) pair_expect_counts(pair, side, counter, count, PAIR_WHERE)

void pair_expect_leaves(struct pair *pair, enum side_name side, const char *const *lines, const char *where);
void pair_expect_completes(struct pair *pair, enum side_name side, const char *const *lines, const char *where);
void pair_expect_events(struct pair *pair, enum side_name side, const char *const *lines, const char *where);
void pair_expect_counts(struct pair *pair, enum side_name side, enum rc_counter counter, uint64_t count,
			const char *where);

#endif
