/* srq_race.c - one poster and two takers at once, under ThreadSanitizer: each entry is taken once, and whole */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A plain program, for Criterion cannot start under ThreadSanitizer. A race that it finds ends the program with a
 * status of its own. Covers M-4.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rc/srq.h"

#define ENTRIES 200000u
#define DEPTH 32u
#define PIECES 4u
#define TAKERS 2

struct taker {
	pthread_t thread;
	uint32_t taken, broken, disordered;
};

static struct rc_srq *srq;
static _Atomic uint32_t all_taken;
static _Atomic uint8_t seen[ENTRIES]; /* how often each was taken */

/* Mostly at once again, for the race's sake; but there may be fewer cores than threads. */
static void wait_a_little(uint32_t *idle)
{
	if (++*idle % 256 == 0)
		sched_yield();
}

static uint32_t word(uint32_t number, uint32_t piece)
{
	return (number + piece) * 0x9E3779B1u;
}

static int post(uint32_t number)
{
	struct uroce_sge sges[PIECES];
	struct uroce_recv_wr wr = { .wr_id = number, .sg_list = sges, .num_sge = number % (PIECES + 1) };

	for (uint32_t i = 0; i < PIECES; i++)
		sges[i] = (struct uroce_sge){ .addr = word(number, i), .length = i, .lkey = word(number, i) };
	return rc_srq_post(srq, &wr);
}

static int is_whole(const struct rc_recv_wqe *wqe)
{
	uint32_t number = (uint32_t)wqe->wr_id;

	if (wqe->wr_id >= ENTRIES || wqe->sge_count != number % (PIECES + 1))
		return 0;
	for (uint32_t i = 0; i < wqe->sge_count; i++) {
		if (wqe->sges[i].addr != word(number, i) || wqe->sges[i].lkey != word(number, i))
			return 0;
	}
	return 1;
}

static void *take_all(void *argument)
{
	static _Alignas(16) uint8_t rooms[TAKERS][sizeof(struct rc_recv_wqe) + PIECES * sizeof(struct uroce_sge)];
	static _Atomic uint32_t threads;
	struct rc_recv_wqe *wqe = (struct rc_recv_wqe *)(void *)rooms[threads++];
	struct taker *taker = argument;
	uint64_t last = 0;
	uint32_t idle = 0;

	while (all_taken < ENTRIES) {
		if (!rc_srq_pop(srq, wqe)) {
			wait_a_little(&idle);
			continue;
		}
		all_taken++;
		taker->taken++;
		if (!is_whole(wqe)) {
			taker->broken++;
			continue;
		}
		taker->disordered += taker->taken > 1 && wqe->wr_id <= last;
		last = wqe->wr_id;
		seen[wqe->wr_id]++;
	}
	return NULL;
}

static int report(int number, const char *what, uint32_t wrong)
{
	printf("%s %d - %s (%u not)\n", wrong ? "not ok" : "ok", number, what, wrong);
	return wrong != 0;
}

/* With an argument it only shows that it can start. */
int main(int argc, char **argv)
{
	struct taker takers[TAKERS] = { 0 };
	uint32_t times_wrong = 0, broken = 0, disordered = 0, idle = 0;
	void *memory;

	(void)argv;
	if (argc > 1)
		return 0;
	memory = aligned_alloc(64, rc_srq_bytes(DEPTH, PIECES));
	memset(memory, 0, rc_srq_bytes(DEPTH, PIECES));
	srq = rc_srq_init(memory, DEPTH, PIECES, NULL);
	for (int i = 0; i < TAKERS; i++)
		pthread_create(&takers[i].thread, NULL, take_all, &takers[i]);
	for (uint32_t posted = 0; posted < ENTRIES && all_taken < ENTRIES;) {
		if (post(posted) == 0)
			posted++;
		else
			wait_a_little(&idle);
	}
	for (int i = 0; i < TAKERS; i++) {
		pthread_join(takers[i].thread, NULL);
		broken += takers[i].broken;
		disordered += takers[i].disordered;
	}
	for (uint32_t i = 0; i < ENTRIES; i++)
		times_wrong += seen[i] != 1;
	printf("1..3\n");
	return report(1, "every entry is taken exactly once", times_wrong) | report(2, "every entry is whole", broken) |
	       report(3, "each taker sees the entries in the order of their posts", disordered);
}
