/* crossing.c - LAPs of both ends that cross: every order, loss and late copy of their messages, and how all end */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A tree of what may happen is searched whole: at each step one of the datagrams that are on their way arrives, arrives
 * and is still on its way, or is lost, a deadline passes, or the user of an end asks once more. When all that is
 * bounded is used up the rest arrives in order and time goes on. In the end each call of a user was answered once, and
 * what both QPs have loaded last is the same way.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "meet.h"
#include "rule.h"

#define WIRE 12u
#define S 1000000000ull

struct bounds {
	uint32_t losses, copies, deadlines, calls, steps;
};

struct datagram {
	uint8_t to;
	struct cm_route route;
	uint8_t mad[CM_MAD_BYTES];
};

struct end {
	uint32_t connection, asked, told, loads;
	int status; /* of the last event */
	struct cm_path loaded;
};

/* All that changes but the managers. */
struct state {
	struct bounds left;
	struct datagram wire[WIRE];
	uint32_t wire_count;
	struct end ends[2];
	uint64_t now_ns;
	char story[64]; /* what has happened, a letter a step */
};

static const struct cm_config config = { .connections = 2,
					 .half_open = 1,
					 .refusals = 1,
					 .timewait_ids = 4,
					 .max_retries = 15 };

static struct meet *meet;
static struct state state;
static uint64_t leaves, manager_bytes;
static bool refuses; /* the QPs of the passive end load nothing */

static struct cm *cm_of(uint32_t end)
{
	return meet->end[end].cm;
}

/* Both ways lead from A's addresses to B's, each told by its own end. */
static struct cm_path way_of(uint32_t end, uint32_t number)
{
	struct cm_path way = { .ack_timeout = 14 };

	way.local_gid[0] = (uint8_t)(1 + 100 * end);
	way.remote_gid[0] = (uint8_t)(1 + 100 * !end);
	way.local_gid[1] = way.remote_gid[1] = (uint8_t)(number + 10 * end);
	return way;
}

static void drain(uint32_t end)
{
	struct end *one = &state.ends[end];
	struct cm_action action;

	while (cm_pop_action(cm_of(end), &action)) {
		if (action.kind == CM_SEND) {
			struct datagram *datagram = &state.wire[state.wire_count++];

			cr_assert_leq(state.wire_count, WIRE, "%s", state.story);
			datagram->to = (uint8_t)!end;
			datagram->route = meet_back(&action.route);
			memcpy(datagram->mad, action.mad, CM_MAD_BYTES);
		} else if (action.kind == CM_EVENT) {
			cr_assert_eq(action.event, CM_EVENT_ALTERNATE, "%s", state.story);
			one->told++;
			one->status = action.status;
		} else {
			bool fails = refuses && end == MEET_B;

			cr_assert_eq(action.move, CM_MOVE_ALTERNATE, "%s", state.story);
			if (!fails)
				one->loaded = *cm_alternate(cm_of(end), one->connection);
			one->loads += !fails;
			cm_qp_moved(cm_of(end), action.connection, action.move, fails ? -EINVAL : 0, state.now_ns);
		}
	}
}

static bool ask(uint32_t end)
{
	struct end *one = &state.ends[end];
	struct cm_path way = way_of(end, one->asked);

	if (cm_load_alternate(cm_of(end), one->connection, &way, state.now_ns) != 0)
		return false;
	one->asked++;
	drain(end);
	return true;
}

static void arrive(uint32_t at, bool stays)
{
	struct datagram datagram = state.wire[at];

	if (!stays) {
		memmove(&state.wire[at], &state.wire[at + 1], (--state.wire_count - at) * sizeof(datagram));
	}
	cm_receive(cm_of(datagram.to), &datagram.route, datagram.mad, CM_MAD_BYTES, state.now_ns);
	drain(datagram.to);
}

/* The next one of an end, whose time then has come. false: it has none. */
static bool pass_deadline(uint32_t end)
{
	uint64_t deadline_ns = cm_deadline(cm_of(end));

	if (deadline_ns == UINT64_MAX)
		return false;
	state.now_ns = deadline_ns > state.now_ns ? deadline_ns : state.now_ns;
	cm_timeout(cm_of(end), state.now_ns);
	drain(end);
	return true;
}

static void note(char what, uint32_t which)
{
	size_t at = strlen(state.story);

	cr_assert_lt(at + 3, sizeof(state.story));
	state.story[at] = what;
	state.story[at + 1] = (char)('0' + which);
	state.story[at + 2] = ' ';
}

/* What A has loaded leads to where B's leads from. */
static bool agree(void)
{
	const struct cm_path *a = &state.ends[0].loaded, *b = &state.ends[1].loaded;

	return memcmp(a->local_gid, b->remote_gid, 16) == 0 && memcmp(a->remote_gid, b->local_gid, 16) == 0;
}

static void judge(void)
{
	leaves++;
	while (state.wire_count || pass_deadline(MEET_A) || pass_deadline(MEET_B)) {
		if (state.wire_count)
			arrive(0, false);
	}
	for (uint32_t i = 0; i < 2; i++) {
		/* Also of the peer's that was loaded while this one asked for nothing. */
		cr_assert_geq(state.ends[i].told, state.ends[i].asked, "%s: %c was not told", state.story, "AB"[i]);
		cr_assert(refuses || state.ends[i].status == 0, "%s: %c is told %d", state.story, "AB"[i],
			  state.ends[i].status);
		cr_assert_eq(cm_deadline(cm_of(i)), UINT64_MAX);
	}
	cr_assert(refuses || agree(), "%s: A has loaded %u.%u, B %u.%u", state.story, state.ends[0].loaded.local_gid[0],
		  state.ends[0].loaded.local_gid[1], state.ends[1].loaded.remote_gid[0],
		  state.ends[1].loaded.remote_gid[1]);
}

static void search(void);

static void go_on(const struct state *before, const uint8_t *managers)
{
	search();
	state = *before;
	for (uint32_t i = 0; i < 2; i++)
		memcpy(meet->end[i].memory, managers + i * manager_bytes, manager_bytes);
}

/* Something that happens to datagram `at`. */
static void try_datagram(uint32_t at, const struct state *before, const uint8_t *managers)
{
	note('a', at);
	arrive(at, false);
	go_on(before, managers);
	if (state.left.copies) {
		state.left.copies--;
		note('c', at);
		arrive(at, true);
		go_on(before, managers);
	}
	if (state.left.losses) {
		state.left.losses--;
		note('l', at);
		memmove(&state.wire[at], &state.wire[at + 1], (--state.wire_count - at) * sizeof(state.wire[0]));
		go_on(before, managers);
	}
}

static void search(void)
{
	struct state before = state;
	uint8_t *managers;

	if (state.left.steps == 0) {
		judge();
		return;
	}
	managers = malloc(2 * manager_bytes);
	for (uint32_t i = 0; i < 2; i++)
		memcpy(managers + i * manager_bytes, meet->end[i].memory, manager_bytes);
	before.left.steps--;
	state = before;
	for (uint32_t at = 0; at < before.wire_count; at++)
		try_datagram(at, &before, managers);
	for (uint32_t end = 0; end < 2; end++) {
		if (state.left.deadlines) {
			state.left.deadlines--;
			note('d', end);
			if (pass_deadline(end))
				go_on(&before, managers);
			state = before;
		}
		if (state.left.calls) {
			state.left.calls--;
			note('u', end);
			if (ask(end))
				go_on(&before, managers);
			state = before;
		}
	}
	judge();
	state = before;
	for (uint32_t i = 0; i < 2; i++)
		memcpy(meet->end[i].memory, managers + i * manager_bytes, manager_bytes);
	free(managers);
}

/* Both ends have asked, and nothing has arrived yet. */
static void search_all(const struct bounds *bounds)
{
	uint32_t a, b;

	meet = meet_open(&config);
	manager_bytes = cm_bytes(&config);
	meet_listen(meet, MEET_B, 7174, 8);
	meet_establish(meet, &a, &b);
	memset(&state, 0, sizeof(state));
	state.left = *bounds;
	state.now_ns = meet->now_ns;
	state.ends[0].connection = a;
	state.ends[1].connection = b;
	leaves = 0;
	cr_assert(ask(MEET_A) && ask(MEET_B));
	search();
	meet_close(meet);
}

Test(crossing, crossing_laps_end_with_the_same_path_despite_losses)
{
	static const struct bounds rows[] = {
		{ .steps = 7, .losses = 1, .deadlines = 1 },
		{ .steps = 6, .losses = 2, .deadlines = 2 },
		{ .steps = 6, .copies = 2, .deadlines = 1 },
		{ .steps = 6, .losses = 1, .copies = 1, .deadlines = 1 },
	};

	RULE("C-20");
	RULE("C-31");
	refuses = false;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		search_all(&rows[i]);
		cr_log_info("row %zu: %lu ends", i, leaves);
		cr_expect_gt(leaves, 1000, "row %zu: %lu", i, leaves);
	}
}

/* Users that ask again, as soon as they may. */
Test(crossing, repeated_laps_end_with_the_same_path)
{
	static const struct bounds rows[] = {
		{ .steps = 13, .calls = 4 },
		{ .steps = 8, .calls = 3, .losses = 1, .deadlines = 1 },
		{ .steps = 9, .calls = 3, .copies = 1 },
	};

	RULE("C-20");
	refuses = false;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		search_all(&rows[i]);
		cr_log_info("row %zu: %lu ends", i, leaves);
		cr_expect_gt(leaves, 1000, "row %zu: %lu", i, leaves);
	}
}

/* The passive end cannot load the path: both ends are notified, without sixteen retries. */
Test(crossing, failed_load_is_reported_to_both_ends_at_once)
{
	static const struct bounds bounds = { .steps = 7, .calls = 1, .losses = 1, .deadlines = 1 };

	RULE("C-20");
	refuses = true;
	search_all(&bounds);
	cr_expect_gt(leaves, 1000, "%lu", leaves);
}
