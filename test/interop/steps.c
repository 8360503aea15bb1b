/* steps.c - what each word of a script does */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pump.h"
#include "steps.h"

#define NUMBERS_MAX 3
#define WRONG_KEY 0x5A /* in the tag, so that the index is one that exists */
#define GUARD_BYTES 64 /* behind what is checked */
#define UNTOUCHED 0xEE

uint8_t script_memory[SCRIPT_MEMORY_BYTES] __attribute__((aligned(4096)));

/* A word in parts: "name:7:bad", "name:counter:3". */
struct step {
	const struct step_kind *kind;
	char text[40];
	uint64_t numbers[NUMBERS_MAX];
};

struct step_kind {
	const char *name;
	int (*run)(struct script *script, const struct step *step);
	enum script_work work;
};

/* How a work is named, and how its completion is. */
static const struct {
	const char *name, *opcode;
} works[SCRIPT_WORKS] = {
	[SCRIPT_RECV] = { "recv", "RECV" },         [SCRIPT_SEND] = { "send", "SEND" },
	[SCRIPT_SENDIMM] = { "sendimm", "SEND" },   [SCRIPT_SENDINV] = { "sendinv", "SEND" },
	[SCRIPT_WRITE] = { "write", "RDMA_WRITE" }, [SCRIPT_WRITEIMM] = { "writeimm", "RDMA_WRITE" },
	[SCRIPT_READ] = { "read", "RDMA_READ" },    [SCRIPT_FADD] = { "fadd", "FETCH_ADD" },
	[SCRIPT_CSWAP] = { "cswap", "COMP_SWAP" },  [SCRIPT_AWRITE] = { "awrite", "ATOMIC_WRITE" },
	[SCRIPT_FLUSH] = { "flush", "FLUSH" },      [SCRIPT_BIND] = { "bind", "BIND_MW" },
	[SCRIPT_INV] = { "inv", "LOCAL_INV" },
};

uint8_t *script_part(uint32_t part)
{
	return script_memory + part;
}

static enum script_work work_of(const char *name)
{
	uint32_t work = 0;

	while (work < SCRIPT_WORKS && strcmp(name, works[work].name) != 0)
		work++;
	return (enum script_work)work;
}

static uint64_t *word_at(uint32_t offset)
{
	return (uint64_t *)(script_memory + offset);
}

/* ---- the pattern ---- */

static bool source_is_there;

static void fill(uint8_t *memory, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++)
		memory[i] = (uint8_t)(i * 7 + i / 256 + i / 65536 * 37 + 1);
}

void script_reset_memory(void)
{
	memset(script_part(SCRIPT_TARGET), UNTOUCHED, PATTERN_BYTES);
	memset(script_part(SCRIPT_LANDING), UNTOUCHED, PATTERN_BYTES);
	memset(script_part(SCRIPT_INBOX), UNTOUCHED, PATTERN_BYTES);
	if (!source_is_there)
		fill(script_part(SCRIPT_SOURCE), PATTERN_BYTES);
	source_is_there = true;
}

/* How many of the bytes are not the pattern, and of those behind are not as they were. */
static uint32_t count_bad(uint32_t part, uint32_t bytes)
{
	const uint8_t *memory = script_part(part), *source = script_part(SCRIPT_SOURCE);
	uint32_t bad = 0;

	for (uint32_t i = 0; memcmp(memory, source, bytes) != 0 && i < bytes; i++)
		bad += memory[i] != source[i];
	for (uint32_t i = bytes; i < bytes + GUARD_BYTES; i++)
		bad += memory[i] != UNTOUCHED;
	return bad;
}

/* ---- requests ---- */

static void *local_of(enum script_work work)
{
	switch (work) {
	case SCRIPT_RECV:
		return script_part(SCRIPT_INBOX);
	case SCRIPT_READ:
	case SCRIPT_FADD:
	case SCRIPT_CSWAP:
		return script_part(SCRIPT_LANDING);
	case SCRIPT_BIND:
		return script_part(SCRIPT_TARGET);
	default:
		return script_part(SCRIPT_SOURCE);
	}
}

static int post_from(struct script *script, const struct step *step, void *local)
{
	enum script_work work = step->kind->work;
	bool atomic = work == SCRIPT_FADD || work == SCRIPT_CSWAP;
	const struct script_end *peer = &script->peer[script->qp];
	uint32_t rkey = script->window_key ? script->window_key : peer->rkey;
	struct script_post post = {
		.wr_id = work,
		.work = work,
		.qp = script->qp,
		.local = local,
		.bytes = atomic ? sizeof(uint64_t) : (uint32_t)step->numbers[0],
		.remote = peer->address + SCRIPT_TARGET + (atomic ? step->numbers[0] : step->numbers[1]),
		.rkey = rkey ^ (strcmp(step->text, "bad") == 0 ? WRONG_KEY : 0),
		.fence = script->fence,
		.bad_lkey = script->bad_lkey,
		.compare_add = step->numbers[1],
		.swap = step->numbers[2],
	};
	int error;

	if (work == SCRIPT_BIND)
		post.local = script_part(SCRIPT_TARGET) + step->numbers[1];
	error = script->side->post(&post);
	script->fence = script->bad_lkey = false;
	script->posted_ms = script_now_ms();
	if (error)
		printf(SCRIPT_MARK "%s refused: %s\n", step->kind->name, strerror(error));
	return 0;
}

static int post(struct script *script, const struct step *step)
{
	return post_from(script, step, local_of(step->kind->work));
}

static int forward(struct script *script, const struct step *step)
{
	return post_from(script, step, script_part(SCRIPT_LANDING));
}

static int fence(struct script *script, const struct step *step)
{
	(void)step;
	script->fence = true;
	return 0;
}

static int bad_lkey(struct script *script, const struct step *step)
{
	(void)step;
	script->bad_lkey = true;
	return 0;
}

static int on(struct script *script, const struct step *step)
{
	if (step->numbers[0] >= script->settings.qps)
		return script_complain(script->side, "there are %u QPs", script->settings.qps);
	script->qp = (uint32_t)step->numbers[0];
	return 0;
}

static int give(struct script *script, const struct step *step)
{
	char line[LINE_BYTES];

	(void)step;
	snprintf(line, sizeof(line), "key %08x\n", script->side->window_key());
	return script_write_line(script, line);
}

static int take(struct script *script, const struct step *step)
{
	char line[LINE_BYTES] = "";

	(void)step;
	if (script_read_line(script, line, LIMIT_MS))
		return 1;
	if (sscanf(line, "key %8x", &script->window_key) == 1)
		return 0;
	script->other_ended = strcmp(line, END_LINE) == 0;
	return script_complain(script->side, "wanted a key, not \"%s\"", line);
}

/* ---- completions and events ---- */

static void print_received(const struct script *script, const struct script_done *done)
{
	bool written = strcmp(done->opcode, "RECV_RDMA_WITH_IMM") == 0;

	if (written)
		printf(" %s", done->opcode);
	printf(" len=%u bad=%u", done->bytes, count_bad(written ? SCRIPT_TARGET : SCRIPT_INBOX, done->bytes));
	if (done->has_imm)
		printf(" imm=0x%x", done->imm);
	if (done->has_invalidated)
		printf(" invalidated=%s", done->invalidated == script->side->window_key() ? "window" : "other");
}

static void print_done(const struct script *script, const struct script_done *done)
{
	enum script_work work = (enum script_work)(done->wr_id & 0xFF);

	printf(SCRIPT_MARK "%s %s", works[work].name, done->status);
	if (script->settings.qps > 1)
		printf(" qp=%u", done->qp);
	if (done->retries)
		printf(" retries=%u", done->retries);
	if (done->success && work == SCRIPT_RECV)
		print_received(script, done);
	else if (done->success && strcmp(done->opcode, works[work].opcode) != 0)
		printf(" as %s", done->opcode);
	if (done->success && work == SCRIPT_READ)
		printf(" len=%u", done->bytes);
	printf("\n");
}

static int wait_done(struct script *script, const struct step *step)
{
	double end = script_now_ms() + LIMIT_MS;
	struct script_done done;

	(void)step;
	while (!script->side->completion(&done)) {
		if (script_now_ms() > end)
			return script_complain(script->side, "nothing completes");
		script->side->poll();
	}
	script->done_ms = script_now_ms();
	print_done(script, &done);
	return 0;
}

static int within(struct script *script, const struct step *step)
{
	double took = script->done_ms - script->posted_ms;

	if (took >= (double)step->numbers[0] && took <= (double)step->numbers[1])
		return 0;
	return script_complain(script->side, "it took %.0f ms, not %lu to %lu", took, (unsigned long)step->numbers[0],
			       (unsigned long)step->numbers[1]);
}

static int wait_event(struct script *script, const struct step *step)
{
	double end = script_now_ms() + LIMIT_MS;
	const char *event;

	(void)step;
	while ((event = script->side->event()) == NULL) {
		if (script_now_ms() > end)
			return script_complain(script->side, "no event comes");
		script->side->poll();
	}
	printf(SCRIPT_MARK "event %s\n", event);
	return 0;
}

void script_linger(struct script *script, double ms)
{
	double end = script_now_ms() + ms;
	struct script_done done;
	const char *event;

	while (script_now_ms() < end) {
		script->side->poll();
		while (script->side->completion(&done))
			print_done(script, &done);
		event = script->side->event();
		if (event)
			printf(SCRIPT_MARK "event %s\n", event);
	}
}

static int linger(struct script *script, const struct step *step)
{
	script_linger(script, (double)step->numbers[0]);
	return 0;
}

static int modify(struct script *script, const struct step *step)
{
	int error = script->side->modify(script->qp, step->text);

	return error ? script_complain(script->side, "modify to %s: %s", step->text, strerror(error)) : 0;
}

/* ---- counters and memory ---- */

static int read_counter(struct script *script, const struct step *step, uint64_t *value)
{
	if (script->side->counter(step->text, value))
		return 0;
	return script_complain(script->side, "there is no counter %s", step->text);
}

static int print_counter(struct script *script, const struct step *step)
{
	uint64_t value;

	if (read_counter(script, step, &value))
		return 1;
	printf("%s%s %" PRIu64 "\n", strcmp(step->kind->name, "info") == 0 ? SCRIPT_REMARK : SCRIPT_MARK, step->text,
	       value);
	return 0;
}

static int until(struct script *script, const struct step *step)
{
	double end = script_now_ms() + LIMIT_MS;
	uint64_t value;

	while (read_counter(script, step, &value) == 0) {
		if (value >= step->numbers[0])
			return 0;
		if (script_now_ms() > end)
			return script_complain(script->side, "%s stays %" PRIu64, step->text, value);
		script->side->poll();
	}
	return 1;
}

static int set_word(struct script *script, const struct step *step)
{
	(void)script;
	*word_at(SCRIPT_TARGET) = step->numbers[0];
	return 0;
}

static int print_word(struct script *script, const struct step *step)
{
	(void)script;
	(void)step;
	printf(SCRIPT_MARK "word 0x%" PRIx64 "\n", *word_at(SCRIPT_TARGET));
	return 0;
}

static int print_result(struct script *script, const struct step *step)
{
	(void)script;
	(void)step;
	printf(SCRIPT_MARK "result 0x%" PRIx64 "\n", *word_at(SCRIPT_LANDING));
	return 0;
}

static int offer(struct script *script, const struct step *step)
{
	(void)script;
	fill(script_part(SCRIPT_TARGET), (uint32_t)step->numbers[0]);
	return 0;
}

static int check(struct script *script, const struct step *step)
{
	uint32_t part = strcmp(step->text, "target") == 0 ? SCRIPT_TARGET : SCRIPT_LANDING;

	(void)script;
	printf(SCRIPT_MARK "%s bad=%u\n", step->text, count_bad(part, (uint32_t)step->numbers[0]));
	return 0;
}

/* ---- the rest ---- */

static int meet(struct script *script, const struct step *step)
{
	(void)step;
	return script_meet(script, LIMIT_MS);
}

static int destroy(struct script *script, const struct step *step)
{
	(void)step;
	script->side->destroy_qps();
	return 0;
}

static int stream(struct script *script, const struct step *step)
{
	enum script_work work = work_of(step->text);
	uint32_t bytes = (uint32_t)step->numbers[0], count = (uint32_t)step->numbers[1];

	source_is_there = false; /* it will be spoilt */
	return strcmp(step->kind->name, "pump") == 0 ? pump_run(script, work, bytes, count) :
						       pump_sink(script, work, bytes, count);
}

/* clang-format off */
static const struct step_kind kinds[] = {
	{ "recv", post, SCRIPT_RECV },
	{ "send", post, SCRIPT_SEND },
	{ "sendimm", post, SCRIPT_SENDIMM },
	{ "sendinv", post, SCRIPT_SENDINV },
	{ "write", post, SCRIPT_WRITE },
	{ "writeimm", post, SCRIPT_WRITEIMM },
	{ "read", post, SCRIPT_READ },
	{ "fadd", post, SCRIPT_FADD },
	{ "cswap", post, SCRIPT_CSWAP },
	{ "awrite", post, SCRIPT_AWRITE },
	{ "flush", post, SCRIPT_FLUSH },
	{ "bind", post, SCRIPT_BIND },
	{ "inv", post, SCRIPT_INV },
	{ "forward", forward, SCRIPT_SEND },
	{ .name = "fence", .run = fence },
	{ .name = "badlkey", .run = bad_lkey },
	{ .name = "on", .run = on },
	{ .name = "give", .run = give },
	{ .name = "take", .run = take },
	{ .name = "meet", .run = meet },
	{ .name = "wait", .run = wait_done },
	{ .name = "within", .run = within },
	{ .name = "event", .run = wait_event },
	{ .name = "state", .run = modify },
	{ .name = "linger", .run = linger },
	{ .name = "counter", .run = print_counter },
	{ .name = "info", .run = print_counter },
	{ .name = "until", .run = until },
	{ .name = "set", .run = set_word },
	{ .name = "word", .run = print_word },
	{ .name = "result", .run = print_result },
	{ .name = "offer", .run = offer },
	{ .name = "check", .run = check },
	{ .name = "destroy", .run = destroy },
	{ .name = "pump", .run = stream },
	{ .name = "sink", .run = stream },
};
/* clang-format on */

static bool parse(const char *word, struct step *step)
{
	char copy[LINE_BYTES], *rest = copy, *name, *part, *end;
	uint32_t count = 0;

	memset(step, 0, sizeof(*step));
	snprintf(copy, sizeof(copy), "%s", word);
	name = strsep(&rest, ":");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(name, kinds[i].name) == 0)
			step->kind = &kinds[i];
	}
	while ((part = strsep(&rest, ":")) != NULL) {
		uint64_t number = strtoull(part, &end, 0);

		if (*end || end == part)
			snprintf(step->text, sizeof(step->text), "%s", part);
		else if (count < NUMBERS_MAX)
			step->numbers[count++] = number;
	}
	return step->kind != NULL;
}

int script_step(struct script *script, const char *word)
{
	struct step step;

	if (!parse(word, &step))
		return script_complain(script->side, "what is \"%s\"?", word);
	return step.kind->run(script, &step);
}
