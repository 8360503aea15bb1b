/* mr_race.c - a window bound by two lcores while others look, under ThreadSanitizer: what is read belongs together */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A plain program, for Criterion cannot start under ThreadSanitizer. A race that it finds ends the program with a
 * status of its own. Covers M-3. Even tags are bound to one half of the memory, odd ones to the other: nobody may ever
 * see the key of one half with the range of the other.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#include "rc/mr.h"

#define BINDS 50000u
#define HALF 4096u
#define LOOKERS 2

struct looker {
	pthread_t thread;
	uint32_t opened, wrong;
};

static _Alignas(8) uint8_t memory[2 * HALF];
static struct rc_mr_entry entries[4];
static struct rc_mr_table table;
static uint32_t regions[2];
static _Atomic uint32_t newest;
static _Atomic uint32_t binders_done;

static void *bind_half(void *argument)
{
	uint32_t half = argument != NULL, body = newest & ~0xFFu;

	for (uint32_t done = 0; done < BINDS;) {
		const struct rc_mr_bind bind = {
			.va = (uintptr_t)memory + half * HALF,
			.bytes = HALF,
			.region_key = regions[half],
			.access = UROCE_ACCESS_REMOTE_READ,
			.key = body | ((2 * done + half) & 0xFF),
		};

		if (rc_mr_bind(&table, 1, 7, &bind)) {
			newest = bind.key;
			done++;
		} else {
			sched_yield(); /* there may be fewer cores than threads */
		}
	}
	binders_done++;
	return NULL;
}

static void *look(void *argument)
{
	struct looker *looker = argument;

	while (binders_done < 2) {
		uint32_t key = newest, half = key & 1;
		uint8_t *at = memory + half * HALF, *other = memory + !half * HALF, *host = NULL;
		enum rc_mr_verdict verdict =
			rc_mr_check(&table, key, 1, 7, (uintptr_t)at, HALF, UROCE_ACCESS_REMOTE_READ, &host);

		looker->opened += verdict == MR_OK;
		looker->wrong += verdict == MR_OK ? host != at : verdict != MR_BAD_KEY;
		verdict = rc_mr_check(&table, key, 1, 7, (uintptr_t)other, 8, UROCE_ACCESS_REMOTE_READ, &host);
		looker->wrong += verdict != MR_BAD_RANGE && verdict != MR_BAD_KEY;
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
	const struct rc_permute24 space = { .secret = { 1, 2, 3, 4 } };
	struct looker lookers[LOOKERS] = { 0 };
	pthread_t binders[2];
	uint32_t wrong = 0, window;
	int error, failed;

	(void)argv;
	if (argc > 1)
		return 0;
	rc_mr_table_init(&table, entries, 4, &space);
	for (uint32_t i = 0; i < 2; i++)
		regions[i] = rc_mr_insert(&table, 1, memory + i * HALF, HALF, UROCE_ACCESS_MW_BIND, &error);
	newest = window = rc_mr_insert_window(&table, 1, MR_WINDOW_1);
	for (uint32_t i = 0; i < LOOKERS; i++)
		pthread_create(&lookers[i].thread, NULL, look, &lookers[i]);
	for (uint32_t i = 0; i < 2; i++)
		pthread_create(&binders[i], NULL, bind_half, i ? &binders : NULL);
	for (uint32_t i = 0; i < 2; i++)
		pthread_join(binders[i], NULL);
	for (uint32_t i = 0; i < LOOKERS; i++) {
		pthread_join(lookers[i].thread, NULL);
		wrong += lookers[i].wrong;
	}
	printf("1..2\n");
	failed = report(1, "a key never opens the range of another", wrong);
	/* Each bind has counted itself in and its forerunner out: the window's last region is busy, then none. */
	wrong = (rc_mr_remove(&table, regions[0]) == 0) + (rc_mr_remove(&table, regions[1]) == 0) != 1;
	rc_mr_remove_window(&table, window);
	wrong += rc_mr_remove(&table, regions[0]) == 0 ? 0 : rc_mr_remove(&table, regions[1]) != 0;
	return failed | report(2, "regions know how many windows are bound to them", wrong);
}
