/* idle.c - gives the core away while a target has no work, and takes it back when work comes */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sleeping and waking take longer than a fast host needs for its next command, so the target goes on polling for
 * PATIENCE_NS. The kernel's count of involuntary switches tells whether other threads need the core, such as the kernel
 * thread that carries the frames: a thread with a core of its own is hardly ever switched away. A thread that is
 * switched away more often gives the core away after each poll without work.
 */
#include "nvmet/idle.h"

#include <sched.h>
#include <sys/resource.h>

#include "nvmet/ring.h"

#define PATIENCE_NS 100000u
#define LOOK_NS 100000000ull
#define LOSSES 5 /* so many involuntary switches between two looks show that other threads need the core */
#define SHARED_NS 1000000000ull
#define NAP_MIN_NS 20000u
#define NAP_MAX_NS 10000000u
/*
 * A sleep lasts a NAP_PART-th of the time since the last work, so that it delays new work by only a small part of the
 * time for which the target had no work.
 */
#define NAP_PART 8

static void look_for_others(struct idle *idle, uint64_t now_ns)
{
	struct rusage usage;

	if (now_ns - idle->looked_ns < LOOK_NS || getrusage(RUSAGE_THREAD, &usage) != 0)
		return;
	if (usage.ru_nivcsw - idle->lost >= LOSSES)
		idle->shared_until_ns = now_ns + SHARED_NS;
	idle->looked_ns = now_ns;
	idle->lost = usage.ru_nivcsw;
}

static uint64_t nap_of(uint64_t quiet_ns)
{
	uint64_t nap_ns = quiet_ns / NAP_PART;

	return nap_ns < NAP_MIN_NS ? NAP_MIN_NS : nap_ns > NAP_MAX_NS ? NAP_MAX_NS : nap_ns;
}

static void sleep_for(const struct lane *lane, uint64_t most_ns)
{
	int fd = ring_fd(lane->ring);

	uroce_lcore_wait(lane->lcore, &fd, 1, most_ns);
	ring_wake(lane->ring);
}

void idle_rest(struct idle *idle, const struct lane *lane, bool worked, uint64_t most_ns)
{
	uint64_t now_ns = lane->now_ns, quiet_ns;
	bool patient, wakes;

	if (idle->how == UROCE_IDLE_POLL)
		return;
	look_for_others(idle, now_ns);
	if (worked)
		idle->worked_ns = now_ns;
	quiet_ns = now_ns - idle->worked_ns;
	patient = quiet_ns < PATIENCE_NS;
	if (worked || (patient && now_ns >= idle->shared_until_ns))
		return;
	/* Neither a frame for another lane nor a message of another lane wakes this thread. */
	wakes = lane->server->lane_count == 1 && uroce_lcore_wakes(lane->lcore);
	if (idle->how == UROCE_IDLE_YIELD || (patient && !wakes))
		sched_yield();
	else
		sleep_for(lane, wakes ? most_ns : nap_of(quiet_ns));
}
