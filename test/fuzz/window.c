/* window.c - fuzz target: the send window and the replay cache as sequences of calls, next to plain lists */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "input.h"
#include "rc/replay.h"
#include "rc/sendwin.h"

#define DEPTH 16u
#define LIMIT 8u

/* A request of the window; places are PSNs that do not wrap. */
struct request {
	uint64_t first, count;
	bool needs_answer, started;
};

struct window {
	struct rc_sendwin win;
	struct request requests[4096];
	uint32_t posted, started, acked;
	uint64_t snd_una, next, limit;
};

static psn_t psn_of(uint64_t place)
{
	return psn_make((uint32_t)place);
}

static void check_window(const struct window *w)
{
	const struct rc_sendwin *win = &w->win;
	uint32_t owner = w->acked;

	MUST(win->acked == w->acked && win->started == w->started);
	MUST(psn_equal(win->snd_una, psn_of(w->snd_una)) && psn_equal(win->snd_nxt, psn_of(w->next)));
	MUST(psn_equal(win->snd_max, psn_of(w->limit)));
	MUST(sendwin_outstanding(win) == w->limit - w->snd_una);
	/* The cursor is at the request that owns what goes out next, or at the first that never went out. */
	while (owner < w->started && w->requests[owner].first + w->requests[owner].count <= w->next)
		owner++;
	MUST(win->cursor == owner);
	for (uint32_t i = w->acked; i < w->started; i++)
		MUST(psn_equal(sendwin_slot(win, i)->first_psn, psn_of(w->requests[i].first)));
}

static void post_and_start(struct window *w, struct input *input)
{
	uint8_t choice = input_byte(input);
	bool read = choice & 1;
	struct uroce_send_wr wr = { .wr_id = w->posted, .opcode = read ? UROCE_WR_RDMA_READ : UROCE_WR_RDMA_WRITE };
	uint32_t count = 1 + (choice >> 1) % 20;
	bool full = w->posted - w->win.head == DEPTH;

	if (w->posted == sizeof(w->requests) / sizeof(w->requests[0]))
		return;
	MUST((rc_sendwin_post(&w->win, &wr) == 0) == !full);
	if (full)
		return;
	w->requests[w->posted++] = (struct request){ .count = count, .needs_answer = read };
	sendwin_take_posted(&w->win);
	MUST(w->win.tail == w->posted);
}

/* Sends the next packet: of what is sent again, or of the next request. A READ is one packet. */
static void send_next(struct window *w)
{
	uint32_t owner = w->acked;
	struct request *request;
	uint64_t end;

	while (owner < w->started && w->requests[owner].first + w->requests[owner].count <= w->next)
		owner++;
	if (owner == w->started) {
		if (w->started == w->posted)
			return;
		w->requests[owner].first = w->limit;
		sendwin_number(&w->win, sendwin_slot(&w->win, w->win.started), (uint32_t)w->requests[owner].count);
		w->win.started++;
		w->started++;
	}
	request = &w->requests[owner];
	end = request->needs_answer ? request->first + request->count : w->next + 1;
	rc_sendwin_advance(&w->win, psn_of(end));
	w->next = end;
	if (w->limit < end)
		w->limit = end;
}

static void move_una(struct window *w, uint64_t snd_una)
{
	w->snd_una = snd_una;
	while (w->acked < w->started && w->requests[w->acked].first + w->requests[w->acked].count <= snd_una)
		w->acked++;
	if (w->next < snd_una)
		w->next = snd_una;
}

static void cover(struct window *w, uint64_t end)
{
	uint64_t snd_una = w->snd_una;

	for (uint32_t i = w->acked; i < w->started && snd_una < end && !w->requests[i].needs_answer; i++) {
		uint64_t last = w->requests[i].first + w->requests[i].count;

		snd_una = last < end ? last : end;
	}
	MUST(rc_sendwin_ack_through(&w->win, psn_of(end)) == (snd_una == end));
	move_una(w, snd_una);
}

static void report_one(struct window *w)
{
	if (w->win.head == w->win.acked)
		return;
	w->win.head++;
	atomic_store_explicit(&w->win.freed, w->win.head, memory_order_release);
}

static void run_window(struct input *input)
{
	static struct window w;
	static _Alignas(64) uint8_t slots[DEPTH * 1024];
	uint64_t start = input_byte(input) & 1 ? 0xFFFFF8 : 100;

	w.posted = w.started = w.acked = 0; /* the requests are written when they are posted */
	w.win = (struct rc_sendwin){ .slots = slots, .mask = DEPTH - 1, .depth = DEPTH, .sge_limit = 1 };
	w.win.slot_bytes = rc_sendwin_slot_bytes(1, 0);
	MUST(w.win.slot_bytes * DEPTH <= sizeof(slots));
	rc_sendwin_reset(&w.win, psn_of(start));
	w.snd_una = w.next = w.limit = start;
	while (!input_is_over(input)) {
		uint8_t what = input_byte(input);

		if (what < 64) {
			post_and_start(&w, input);
		} else if (what < 144) {
			send_next(&w);
		} else if (what < 192) {
			if (w.limit > w.snd_una)
				cover(&w, w.snd_una + 1 + input_byte(input) % (w.limit - w.snd_una));
		} else if (what < 224) {
			if (w.limit > w.snd_una && w.requests[w.acked].needs_answer) {
				sendwin_take_response(&w.win, sendwin_slot(&w.win, w.win.acked));
				move_una(&w, w.snd_una + 1);
			}
		} else if (what < 240) {
			MUST(rc_sendwin_go_to(&w.win, w.win.snd_una) == (w.limit > w.snd_una));
			w.next = w.snd_una;
		} else {
			report_one(&w);
		}
		check_window(&w);
	}
}

/* The replay cache: entries oldest first, and which of them stand in the queue. */
struct item {
	uint64_t first, count;
	bool queued, answered;
};

struct cache {
	struct rc_replay replay;
	struct item items[LIMIT];
	uint32_t used, depth;
	uint64_t epsn;
};

static uint32_t unfinished(const struct cache *c)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < c->used; i++)
		count += c->items[i].queued && !c->items[i].answered;
	return count;
}

static const struct item *head_of(const struct cache *c)
{
	for (uint32_t i = 0; i < c->used; i++) {
		if (c->items[i].queued)
			return &c->items[i];
	}
	return NULL;
}

static void check_found(const struct rc_replay_entry *entry, const struct item *item)
{
	MUST((entry != NULL) == (item != NULL));
	if (entry)
		MUST(psn_equal(entry->first_psn, psn_of(item->first)) && entry->psn_count == item->count &&
		     entry->queued == item->queued);
}

/* What every way to search finds at a place. */
static void check_place(const struct cache *c, uint64_t place)
{
	const struct item *exact = NULL, *owner = NULL, *after = NULL;

	for (uint32_t i = c->used; i-- > 0;) {
		const struct item *item = &c->items[i];

		if (item->first == place)
			exact = item;
		if (place >= item->first && place < item->first + item->count)
			owner = item;
		if (item->first > place)
			after = item;
	}
	check_found(rc_replay_find(&c->replay, psn_of(place)), exact);
	check_found(rc_replay_find_owner(&c->replay, psn_of(place)), owner);
	check_found(rc_replay_find_after(&c->replay, psn_of(place)), after);
}

static void drop_oldest(struct cache *c)
{
	memmove(&c->items[0], &c->items[1], --c->used * sizeof(c->items[0]));
}

static void insert(struct cache *c, struct input *input)
{
	uint8_t choice = input_byte(input);
	uint32_t count = choice < 250 ? 1u + choice % 9 : 1u << 21;
	struct rc_replay_entry *entry;

	if (unfinished(c) >= c->depth)
		return;
	c->epsn += choice & 64 ? choice : 0; /* SENDs in between */
	rc_replay_expire(&c->replay, psn_of(c->epsn));
	while (c->used && c->epsn - (c->items[0].first + c->items[0].count - 1) > PSN_WINDOW)
		drop_oldest(c);
	entry = rc_replay_insert(&c->replay, psn_of(c->epsn), count);
	while (c->used && c->epsn + count - (c->items[0].first + c->items[0].count - 1) > PSN_WINDOW)
		drop_oldest(c);
	while (c->used >= c->depth)
		drop_oldest(c);
	c->items[c->used++] = (struct item){ .first = c->epsn, .count = count, .queued = true };
	rc_replay_queue(&c->replay, entry, psn_of(c->epsn), count, 0);
	c->epsn += count;
	rc_replay_expire(&c->replay, psn_of(c->epsn));
	while (c->used && c->epsn - (c->items[0].first + c->items[0].count - 1) > PSN_WINDOW)
		drop_oldest(c);
}

static void repeat(struct cache *c, struct input *input)
{
	struct item *item;

	if (c->used == 0)
		return;
	item = &c->items[input_byte(input) % c->used];
	item->queued = true;
	rc_replay_queue(&c->replay, rc_replay_find(&c->replay, psn_of(item->first)), psn_of(item->first),
			(uint32_t)item->count, 0);
}

static void answer(struct cache *c)
{
	struct item *item = (struct item *)(uintptr_t)head_of(c);

	if (!item)
		return;
	rc_replay_pop(&c->replay);
	item->queued = false;
	item->answered = true;
}

static void set_depth(struct cache *c, uint32_t depth)
{
	uint32_t waiting = unfinished(c);

	rc_replay_set_depth(&c->replay, depth);
	c->depth = depth;
	while (c->used > depth && c->used > waiting)
		drop_oldest(c);
}

static void run_cache(struct input *input)
{
	static struct cache c;
	void *memory = aligned_alloc(16, rc_replay_bytes(LIMIT));

	c = (struct cache){ .depth = LIMIT, .epsn = input_byte(input) & 1 ? 0x1FFFFF8 : 0x1000064 };
	rc_replay_place(&c.replay, memory, LIMIT);
	rc_replay_reset(&c.replay, LIMIT);
	while (!input_is_over(input)) {
		uint8_t what = input_byte(input);

		if (what < 112)
			insert(&c, input);
		else if (what < 160)
			repeat(&c, input);
		else if (what < 224)
			answer(&c);
		else if (what < 240)
			set_depth(&c, 1 + (what & 7));
		MUST(c.replay.used == c.used && c.replay.unfinished == unfinished(&c));
		check_found(rc_replay_head(&c.replay), head_of(&c));
		for (uint32_t i = 0; i < c.used; i++)
			check_place(&c, c.items[i].first + what % c.items[i].count);
		check_place(&c, c.epsn - 1 - what); /* only what is behind ePSN is ever sought */
	}
	free(memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = { data, data + size };

	if (size > 4096)
		return 0;
	if (input_byte(&input) & 1)
		run_window(&input);
	else
		run_cache(&input);
	return 0;
}
