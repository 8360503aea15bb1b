/* script.h - a test's steps as words, the same for both sides of a connection */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs.c runs them over libibverbs, ours.c over uroce. Many scripts run one after the other in one process at each
 * end: ours reads a file with two lines for each script, its own words and the other side's, which it tells over TCP.
 * Before each script both print SCRIPT_HEADING and its number. QPs, CQ and windows are new in each.
 *
 * Settings, before all steps:
 *   timeout=N retry=N rnr=N    attributes of the QPs
 *   mtu=N family=4|6 vlan=1    path MTU (1024), which addresses are used (4), and whether those of the VLAN
 *   qps=N srq=1                so many QPs instead of one; they share a receive queue
 *   repair=off                 responses that come before their turn are dropped: uroce only
 * Each other word is a step:
 *   meet                       wait until the other side comes to its next "meet"
 *   on:QP                      the steps from here on are for this QP, not for QP 0
 *   recv:BYTES                 post a receive
 *   send:BYTES  sendimm:BYTES  sendinv:BYTES            post a request; immediate data is SCRIPT_IMM
 *   write:BYTES[:OFFSET][:bad]  writeimm:BYTES  read:BYTES[:OFFSET][:bad]     bad: with a wrong R_Key
 *   fadd:OFFSET:ADD  cswap:OFFSET:COMPARE:SWAP          the same, on the peer's memory at OFFSET
 *                              (a post that the side refuses prints so, and the script goes on)
 *   awrite:8  flush:BYTES      ATOMIC WRITE, FLUSH: uroce only
 *   forward:BYTES              a SEND of what a READ brought
 *   fence  badlkey             the next request waits for READs and atomics; has a local key that is wrong
 *   bind:BYTES[:OFFSET]  inv   bind a type 2 window to the memory that the peer reaches; make it invalid
 *   give  take                 tell the peer the key of the window; hear it and use it from here on
 *   wait                       the next completion: prints "send SUCCESS", "recv SUCCESS len=64 bad=0" (wrong bytes)
 *   within:LOW:HIGH            milliseconds between the last post and the last completion
 *   event                      the next asynchronous event: prints its name
 *   state:NAME                 modify the QP: SQD, RTS, ERR
 *   linger:MS                  prints what completes or is raised meanwhile
 *   counter:NAME               prints "NAME VALUE", counted from the start of the script
 *   info:NAME                  the same as a remark, which is compared with nothing
 *   until:NAME:N               wait until that counter has come to N
 *   set:WORD  word             write, print the first word of the memory that the peer reaches
 *   result                     print the first word of what a READ or atomic brought
 *   offer:BYTES                fill the memory that the peer reaches with the pattern
 *   check:target|landing:BYTES compare the memory that the peer reaches, what a READ brought, with the pattern, and
 *                              look whether the bytes behind are untouched; prints "target bad=0"
 *   destroy                    destroy the QPs
 *   pump:WORK:BYTES:COUNT  sink:WORK:BYTES:COUNT        the stream of pump.h and its other end
 * Behind the last step both sides meet once more. What completed or was raised without being waited for is printed
 * then, so that a test which compares all lines sees it. What tests compare begins with SCRIPT_MARK.
 */
#ifndef TEST_INTEROP_SCRIPT_H
#define TEST_INTEROP_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCRIPT_MARK "> "
#define SCRIPT_REMARK "# "
#define SCRIPT_HEADING "= "
#define SCRIPT_IMM 0x12345678
#define SCRIPT_QPS_MAX 16
#define SCRIPT_SENDS 16 /* requests of a QP */
#define SCRIPT_RECVS 64 /* receives of a QP */
#define SCRIPT_READS 8  /* READs and atomics of a QP */
#define SCRIPT_CQ_DEPTH (SCRIPT_QPS_MAX * (SCRIPT_SENDS + SCRIPT_RECVS))

/* One region: what the peer reaches, what is sent, what READs and atomics bring, what receives fill. */
#define SCRIPT_PART_BYTES (8 << 20)
#define SCRIPT_TARGET 0
#define SCRIPT_SOURCE SCRIPT_PART_BYTES
#define SCRIPT_LANDING (2 * SCRIPT_PART_BYTES)
#define SCRIPT_INBOX (3 * SCRIPT_PART_BYTES)
#define SCRIPT_MEMORY_BYTES (4 * SCRIPT_PART_BYTES)
extern uint8_t script_memory[SCRIPT_MEMORY_BYTES];

/* What is posted. */
enum script_work {
	SCRIPT_RECV,
	SCRIPT_SEND,
	SCRIPT_SENDIMM,
	SCRIPT_SENDINV,
	SCRIPT_WRITE,
	SCRIPT_WRITEIMM,
	SCRIPT_READ,
	SCRIPT_FADD,
	SCRIPT_CSWAP,
	SCRIPT_AWRITE,
	SCRIPT_FLUSH,
	SCRIPT_BIND,
	SCRIPT_INV,
	SCRIPT_WORKS
};

struct script_post {
	uint64_t wr_id; /* enum script_work in the low byte */
	enum script_work work;
	uint32_t qp; /* index */
	void *local; /* bind: the range */
	uint32_t bytes;
	uint64_t remote;
	uint32_t rkey; /* the one to make invalid, too */
	bool fence, bad_lkey;
	uint64_t compare_add, swap;
};

struct script_done {
	uint64_t wr_id;
	uint32_t qp; /* index */
	const char *status;
	bool success;
	uint32_t retries; /* spent on an error, where the side tells */
	/* with success */
	const char *opcode; /* the names of uroce */
	uint32_t bytes;     /* receives and READs */
	bool has_imm, has_invalidated;
	uint32_t imm, invalidated;
};

/* How to reach one QP. */
struct script_end {
	uint32_t qpn, psn, rkey;
	uint64_t address; /* of script_memory, as the rkey sees it */
	uint8_t gid[16];
};

struct script_settings {
	uint32_t timeout, retry, rnr, mtu, family, vlan, qps, srq;
	bool no_repair;
};

/* What a side can do. Errors are errno numbers. */
struct script_side {
	const char *name;
	void (*poll)(void); /* called while waiting: lets the side work, at most for a millisecond */
	int (*create)(const struct script_settings *settings, struct script_end *own); /* CQ, SRQ, QPs */
	int (*connect)(const struct script_end *peer, const struct script_settings *settings);
	int (*post)(const struct script_post *post);
	bool (*completion)(struct script_done *done);
	const char *(*event)(void); /* NULL: none */
	bool (*counter)(const char *name, uint64_t *value);
	int (*modify)(uint32_t qp, const char *state);
	uint32_t (*window_key)(void);
	void (*destroy_qps)(void); /* may be called again */
	void (*destroy)(void);     /* all that create made */
};

/* "name: ..." and a newline; returns 1. */
int script_complain(const struct script_side *side, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Runs the scripts of a file, or those that the other side tells when it is NULL, over fd. What to exit with: 0 when
 * all were run, whatever they printed, or 1 after a complaint.
 */
int script_run(const struct script_side *side, int fd, const char *file);

#endif
