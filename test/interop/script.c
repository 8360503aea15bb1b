/* script.c - reads the words of a script and runs them */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "script.h"

#define LIMIT_MS 20000 /* that anything is waited for */
#define LINGER_MS 50   /* for what nobody waits for */
#define LINE_BYTES 160
#define TIMEOUT_CODE 18 /* a second: an emulated peer may stall, and no resend of that shall be counted */
#define NUMBERS_MAX 3
#define WRONG_KEY 0x5A /* in the tag, so that the index is one that exists */

uint8_t script_memory[SCRIPT_MEMORY_BYTES] __attribute__((aligned(4096)));

struct script {
	const struct script_side *side;
	int fd;
	struct script_end peer;
	double posted_ms, done_ms;
};

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

static const char *const works[SCRIPT_WORKS] = { "recv", "send", "write", "read", "fadd", "cswap" };

int script_complain(const struct script_side *side, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fflush(stdout);
	fprintf(stderr, "%s: ", side->name);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	return 1;
}

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static uint64_t *word_at(uint32_t offset)
{
	return (uint64_t *)(script_memory + offset);
}

static uint8_t pattern_byte(uint32_t offset)
{
	return (uint8_t)(offset * 7 + offset / 256 + 1);
}

/* ---- the other side ---- */

static int write_line(struct script *script, const char *line)
{
	if (send(script->fd, line, strlen(line), MSG_NOSIGNAL) == (ssize_t)strlen(line))
		return 0;
	return script_complain(script->side, "cannot write to the other side");
}

/* One line with its newline; the side works meanwhile. */
static int read_line(struct script *script, char *line)
{
	double end = now_ms() + LIMIT_MS;
	size_t at = 0;

	while (now_ms() < end) {
		struct pollfd waiting = { .fd = script->fd, .events = POLLIN };

		script->side->turn();
		if (poll(&waiting, 1, 0) <= 0)
			continue;
		if (at == LINE_BYTES - 1 || read(script->fd, line + at, 1) != 1)
			return script_complain(script->side, "the other side went away");
		line[++at] = '\0';
		if (line[at - 1] == '\n')
			return 0;
	}
	return script_complain(script->side, "the other side said nothing for %d s", LIMIT_MS / 1000);
}

static int meet(struct script *script)
{
	char line[LINE_BYTES] = "";

	if (write_line(script, "meet\n") || read_line(script, line))
		return 1;
	return strcmp(line, "meet\n") == 0 ? 0 : script_complain(script->side, "wanted to meet, not \"%s\"", line);
}

static int write_own_end(struct script *script)
{
	const struct script_end *own = &script->side->own;
	char line[LINE_BYTES], *at = line;

	at += sprintf(at, "%06x %06x %08x %016" PRIx64 " ", own->qpn, own->psn, own->rkey, own->address);
	for (int i = 0; i < 16; i++)
		at += sprintf(at, "%02x", own->gid[i]);
	strcpy(at, "\n");
	return write_line(script, line);
}

static int read_other_end(struct script *script)
{
	struct script_end *peer = &script->peer;
	char line[LINE_BYTES] = "", gid[33] = "";

	if (read_line(script, line))
		return 1;
	if (sscanf(line, "%6x %6x %8x %16" SCNx64 " %32[0-9a-f]", &peer->qpn, &peer->psn, &peer->rkey, &peer->address,
		   gid) != 5 ||
	    strlen(gid) != 32)
		return script_complain(script->side, "this is no address: \"%s\"", line);
	for (int i = 0; i < 16; i++)
		sscanf(gid + 2 * i, "%2hhx", &peer->gid[i]);
	return 0;
}

/* ---- the steps ---- */

static int post(struct script *script, const struct step *step)
{
	enum script_work work = step->kind->work;
	bool atomic = work == SCRIPT_FADD || work == SCRIPT_CSWAP;
	bool lands = atomic || work == SCRIPT_READ;
	struct script_post post = {
		.work = work,
		.local = script_memory + (lands               ? SCRIPT_LANDING :
					  work == SCRIPT_RECV ? SCRIPT_TARGET :
								SCRIPT_SOURCE),
		.bytes = atomic ? sizeof(uint64_t) : (uint32_t)step->numbers[0],
		.remote = script->peer.address + SCRIPT_TARGET + (atomic ? step->numbers[0] : 0),
		.rkey = script->peer.rkey ^ (strcmp(step->text, "bad") == 0 ? WRONG_KEY : 0),
		.compare_add = step->numbers[1],
		.swap = step->numbers[2],
	};
	int error = script->side->post(&post);

	script->posted_ms = now_ms();
	if (error)
		printf(SCRIPT_MARK "%s refused: %s\n", step->kind->name, strerror(error));
	return 0;
}

static void print_done(const struct script_done *done)
{
	uint32_t bad = 0;

	printf(SCRIPT_MARK "%s %s", works[done->wr_id], done->status);
	if (done->retries)
		printf(" retries=%u", done->retries);
	if (done->success && done->wr_id == SCRIPT_RECV) {
		for (uint32_t i = 0; i < done->bytes; i++)
			bad += script_memory[SCRIPT_TARGET + i] != pattern_byte(i);
		printf(" len=%u bad=%u", done->bytes, bad);
	}
	printf("\n");
}

static int wait_done(struct script *script, const struct step *step)
{
	double end = now_ms() + LIMIT_MS;
	struct script_done done;

	(void)step;
	while (!script->side->completion(&done)) {
		if (now_ms() > end)
			return script_complain(script->side, "nothing completes");
		script->side->turn();
	}
	script->done_ms = now_ms();
	print_done(&done);
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
	double end = now_ms() + LIMIT_MS;
	const char *event;

	(void)step;
	while ((event = script->side->event()) == NULL) {
		if (now_ms() > end)
			return script_complain(script->side, "no event comes");
		script->side->turn();
	}
	printf(SCRIPT_MARK "event %s\n", event);
	return 0;
}

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
	printf(SCRIPT_MARK "%s %" PRIu64 "\n", step->text, value);
	return 0;
}

static int until(struct script *script, const struct step *step)
{
	double end = now_ms() + LIMIT_MS;
	uint64_t value;

	while (read_counter(script, step, &value) == 0) {
		if (value >= step->numbers[0])
			return 0;
		if (now_ms() > end)
			return script_complain(script->side, "%s stays %" PRIu64, step->text, value);
		script->side->turn();
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

static int step_meet(struct script *script, const struct step *step)
{
	(void)step;
	return meet(script);
}

static int destroy(struct script *script, const struct step *step)
{
	(void)step;
	script->side->destroy();
	return 0;
}

/* clang-format off */
static const struct step_kind kinds[] = {
	{ "recv", post, SCRIPT_RECV },
	{ "send", post, SCRIPT_SEND },
	{ "write", post, SCRIPT_WRITE },
	{ "read", post, SCRIPT_READ },
	{ "fadd", post, SCRIPT_FADD },
	{ "cswap", post, SCRIPT_CSWAP },
	{ .name = "meet", .run = step_meet },
	{ .name = "wait", .run = wait_done },
	{ .name = "within", .run = within },
	{ .name = "event", .run = wait_event },
	{ .name = "counter", .run = print_counter },
	{ .name = "until", .run = until },
	{ .name = "set", .run = set_word },
	{ .name = "word", .run = print_word },
	{ .name = "result", .run = print_result },
	{ .name = "destroy", .run = destroy },
};
/* clang-format on */

/* ---- from words to steps ---- */

static bool parse_step(const char *word, struct step *step)
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

static bool take_setting(struct script_settings *settings, const char *word)
{
	return sscanf(word, "timeout=%u", &settings->timeout) == 1 || sscanf(word, "retry=%u", &settings->retry) == 1 ||
	       sscanf(word, "rnr=%u", &settings->rnr) == 1;
}

static int run_steps(struct script *script, int count, char **words)
{
	struct step step;

	for (int i = 0; i < count; i++) {
		if (!parse_step(words[i], &step))
			return script_complain(script->side, "what is \"%s\"?", words[i]);
		if (step.kind->run(script, &step)) {
			script_complain(script->side, "that was step %d, %s", i + 1, words[i]);
			return 1;
		}
	}
	return 0;
}

/* What the script did not wait for. */
static void print_rest(struct script *script)
{
	double end = now_ms() + LINGER_MS;
	struct script_done done;
	const char *event;

	while (now_ms() < end) {
		script->side->turn();
		if (script->side->completion(&done))
			print_done(&done);
		event = script->side->event();
		if (event)
			printf(SCRIPT_MARK "event %s\n", event);
	}
}

int script_run(const struct script_side *side, int fd, int count, char **words)
{
	struct script_settings settings = { .timeout = TIMEOUT_CODE, .retry = 7, .rnr = 7 };
	struct script script = { .side = side, .fd = fd };
	int error, first = 0;

	for (uint32_t i = 0; i < SCRIPT_PART_BYTES; i++)
		script_memory[SCRIPT_SOURCE + i] = pattern_byte(i);
	while (first < count && take_setting(&settings, words[first]))
		first++;
	if (write_own_end(&script) || read_other_end(&script))
		return 1;
	error = side->connect(&script.peer, &settings);
	if (error)
		return script_complain(side, "the QP does not connect: %s", strerror(error));
	/* Nobody sends before both are connected. */
	if (meet(&script) || run_steps(&script, count - first, words + first) || meet(&script))
		return 1;
	print_rest(&script);
	return 0;
}
