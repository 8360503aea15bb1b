/* script.h - a test's steps as words on the command line, the same for both sides of a connection */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs.c runs them over libibverbs, ours.c over uroce. Each word is a step:
 *   timeout=N retry=N rnr=N    attributes of the QP; before all steps
 *   meet                       wait until the other side comes to its next "meet"
 *   recv:BYTES                 post a receive
 *   send:BYTES  write:BYTES[:bad]  read:BYTES[:bad]     post a request; bad: with a wrong R_Key
 *   fadd:OFFSET:ADD  cswap:OFFSET:COMPARE:SWAP          the same, on the peer's memory at OFFSET
 *                              (a post that the side refuses prints so, and the script goes on)
 *   wait                       the next completion: prints "send SUCCESS", "recv SUCCESS len=64 bad=0" (wrong bytes)
 *   within:LOW:HIGH            milliseconds between the last post and the last completion
 *   event                      the next asynchronous event: prints its name
 *   counter:NAME               prints "NAME VALUE", counted from the start of the program
 *   until:NAME:N               wait until that counter has come to N
 *   set:WORD  word             write, print the first word of the memory that the peer reaches
 *   result                     print the first word of what a READ or atomic brought
 *   destroy                    destroy the QP
 * Behind the last step both sides meet once more. What completed or was raised without being waited for is printed
 * then, so that a test which compares all lines sees it. What tests compare begins with SCRIPT_MARK.
 */
#ifndef TEST_INTEROP_SCRIPT_H
#define TEST_INTEROP_SCRIPT_H

#include <stdbool.h>
#include <stdint.h>

#define SCRIPT_MARK "> "
#define SCRIPT_PATH_MTU 1024
#define SCRIPT_DEPTH 4 /* receives, requests, READs and atomics */

/* One region: what the peer reaches and receives fill, what is sent, what READs and atomics bring. */
#define SCRIPT_PART_BYTES 8192
#define SCRIPT_TARGET 0
#define SCRIPT_SOURCE SCRIPT_PART_BYTES
#define SCRIPT_LANDING (2 * SCRIPT_PART_BYTES)
#define SCRIPT_MEMORY_BYTES (3 * SCRIPT_PART_BYTES)
extern uint8_t script_memory[SCRIPT_MEMORY_BYTES];

/* What is posted; each is its own wr_id. */
enum script_work { SCRIPT_RECV, SCRIPT_SEND, SCRIPT_WRITE, SCRIPT_READ, SCRIPT_FADD, SCRIPT_CSWAP, SCRIPT_WORKS };

struct script_post {
	enum script_work work;
	void *local;
	uint32_t bytes;
	uint64_t remote;
	uint32_t rkey;
	uint64_t compare_add, swap;
};

struct script_done {
	uint64_t wr_id; /* enum script_work */
	const char *status;
	bool success;
	uint32_t bytes;   /* receives that succeeded */
	uint32_t retries; /* spent on an error, where the side tells */
};

/* How to reach one side. */
struct script_end {
	uint32_t qpn, psn, rkey;
	uint64_t address; /* of script_memory, as the rkey sees it */
	uint8_t gid[16];
};

struct script_settings {
	uint32_t timeout, retry, rnr;
};

/* What a side can do. Errors are errno numbers. */
struct script_side {
	const char *name;
	struct script_end own;
	void (*turn)(void); /* called while waiting: lets the side work, at most for a millisecond */
	int (*connect)(const struct script_end *peer, const struct script_settings *settings);
	int (*post)(const struct script_post *post);
	bool (*completion)(struct script_done *done);
	const char *(*event)(void); /* NULL: none */
	bool (*counter)(const char *name, uint64_t *value);
	void (*destroy)(void);
};

/* "name: ..." and a newline; returns 1. */
int script_complain(const struct script_side *side, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Exchanges addresses over fd, connects, runs the steps. What to exit with: 0, or 1 after a complaint. */
int script_run(const struct script_side *side, int fd, int count, char **words);

#endif
