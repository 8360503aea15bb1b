/* script.c - runs scripts one after the other, each to its end whatever becomes of it */
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

#include "steps.h"

#define LINGER_MS 30    /* for what nobody waits for */
#define TIMEOUT_CODE 18 /* a second: an emulated peer may stall, and no resend of that shall be counted */
#define WORDS_MAX 512

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

double script_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* ---- the other side ---- */

int script_write_line(struct script *script, const char *line)
{
	if (send(script->fd, line, strlen(line), MSG_NOSIGNAL) == (ssize_t)strlen(line))
		return 0;
	return script_complain(script->side, "cannot write to the other side");
}

/* One line with its newline; the side works meanwhile. */
int script_read_line(struct script *script, char *line, double limit_ms)
{
	double end = script_now_ms() + limit_ms;
	size_t at = 0;

	while (script_now_ms() < end) {
		struct pollfd waiting = { .fd = script->fd, .events = POLLIN };

		script->side->poll();
		while (poll(&waiting, 1, 0) > 0) {
			if (at == LINE_BYTES - 1 || read(script->fd, line + at, 1) != 1)
				return script_complain(script->side, "the other side went away");
			line[++at] = '\0';
			if (line[at - 1] == '\n')
				return 0;
		}
	}
	return script_complain(script->side, "the other side said nothing for %.0f s", limit_ms / 1000);
}

int script_meet(struct script *script, double limit_ms)
{
	char line[LINE_BYTES] = "";

	if (script_write_line(script, "meet\n") || script_read_line(script, line, limit_ms))
		return 1;
	script->other_ended = strcmp(line, END_LINE) == 0;
	if (script->other_ended)
		return script_complain(script->side, "the other side has given up");
	return strcmp(line, "meet\n") == 0 ? 0 : script_complain(script->side, "wanted to meet, not \"%s\"", line);
}

static int write_own_end(struct script *script, const struct script_end *own)
{
	char line[LINE_BYTES], *at = line;

	at += sprintf(at, "%06x %06x %08x %016" PRIx64 " ", own->qpn, own->psn, own->rkey, own->address);
	for (int i = 0; i < 16; i++)
		at += sprintf(at, "%02x", own->gid[i]);
	strcpy(at, "\n");
	return script_write_line(script, line);
}

static int read_other_end(struct script *script, struct script_end *peer)
{
	char line[LINE_BYTES] = "", gid[33] = "";

	if (script_read_line(script, line, LIMIT_MS))
		return 1;
	if (sscanf(line, "%6x %6x %8x %16" SCNx64 " %32[0-9a-f]", &peer->qpn, &peer->psn, &peer->rkey, &peer->address,
		   gid) != 5 ||
	    strlen(gid) != 32)
		return script_complain(script->side, "this is no address: \"%s\"", line);
	for (int i = 0; i < 16; i++)
		sscanf(gid + 2 * i, "%2hhx", &peer->gid[i]);
	return 0;
}

/* ---- one script ---- */

static bool take_setting(struct script_settings *settings, const char *word)
{
	return sscanf(word, "timeout=%u", &settings->timeout) == 1 || sscanf(word, "retry=%u", &settings->retry) == 1 ||
	       sscanf(word, "rnr=%u", &settings->rnr) == 1 || sscanf(word, "mtu=%u", &settings->mtu) == 1 ||
	       sscanf(word, "family=%u", &settings->family) == 1 || sscanf(word, "srq=%u", &settings->srq) == 1 ||
	       sscanf(word, "vlan=%u", &settings->vlan) == 1 ||
	       (strcmp(word, "repair=off") == 0 && (settings->no_repair = true)) ||
	       (sscanf(word, "qps=%u", &settings->qps) == 1 && settings->qps >= 1 && settings->qps <= SCRIPT_QPS_MAX);
}

static int connect_all(struct script *script)
{
	const struct script_side *side = script->side;
	int error = side->create(&script->settings, script->own);

	if (error)
		return script_complain(side, "objects: %s", strerror(error));
	for (uint32_t q = 0; q < script->settings.qps; q++) {
		if (write_own_end(script, &script->own[q]))
			return 1;
	}
	for (uint32_t q = 0; q < script->settings.qps; q++) {
		if (read_other_end(script, &script->peer[q]))
			return 1;
	}
	error = side->connect(script->peer, &script->settings);
	return error ? script_complain(side, "the QPs do not connect: %s", strerror(error)) : 0;
}

static int run_words(struct script *script, char *words)
{
	char *list[WORDS_MAX], *word;
	uint32_t count = 0, first = 0;

	while ((word = strsep(&words, " \n")) != NULL && count < WORDS_MAX) {
		if (*word)
			list[count++] = word;
	}
	while (first < count && take_setting(&script->settings, list[first]))
		first++;
	/* Nobody sends before both are connected. */
	if (connect_all(script) || script_meet(script, LIMIT_MS))
		return 1;
	for (uint32_t i = first; i < count; i++) {
		if (script_step(script, list[i]))
			return script_complain(script->side, "that was step %u, %s", i - first + 1, list[i]);
	}
	return script_meet(script, LIMIT_MS);
}

/* Whatever happened, both sides end the script here. */
static int end_together(struct script *script)
{
	char line[LINE_BYTES];

	if (script_write_line(script, END_LINE))
		return 1;
	while (!script->other_ended) {
		if (script_read_line(script, line, 3 * LIMIT_MS))
			return 1;
		script->other_ended = strcmp(line, END_LINE) == 0;
	}
	return 0;
}

static int run_one(const struct script_side *side, int fd, uint32_t number, char *words)
{
	struct script script = {
		.side = side,
		.fd = fd,
		.settings = { .timeout = TIMEOUT_CODE, .retry = 7, .rnr = 7, .mtu = 1024, .family = 4, .qps = 1 },
	};
	int gone;

	printf(SCRIPT_HEADING "%u\n", number);
	script_reset_memory();
	if (run_words(&script, words) == 0)
		script_linger(&script, LINGER_MS);
	gone = end_together(&script);
	side->destroy();
	fflush(stdout);
	return gone;
}

/* ---- all of them ---- */

static int run_file(const struct script_side *side, int fd, FILE *file)
{
	static char own[LINE_BYTES], other[LINE_BYTES];
	struct script script = { .side = side, .fd = fd };
	uint32_t number = 0;

	while (fgets(own, sizeof(own), file) && fgets(other, sizeof(other), file)) {
		if (script_write_line(&script, other) || run_one(side, fd, ++number, own))
			return 1;
	}
	return script_write_line(&script, END_LINE);
}

static int run_told(const struct script_side *side, int fd)
{
	static char words[LINE_BYTES];
	struct script script = { .side = side, .fd = fd };
	uint32_t number = 0;

	while (script_read_line(&script, words, LIMIT_MS) == 0) {
		if (strcmp(words, END_LINE) == 0)
			return 0;
		if (run_one(side, fd, ++number, words))
			return 1;
	}
	return 1;
}

int script_run(const struct script_side *side, int fd, const char *file)
{
	FILE *scripts = file ? fopen(file, "r") : NULL;
	int exit_code;

	if (file && scripts == NULL)
		return script_complain(side, "cannot read %s", file);
	exit_code = scripts ? run_file(side, fd, scripts) : run_told(side, fd);
	if (scripts)
		fclose(scripts);
	return exit_code;
}
