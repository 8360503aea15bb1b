/* exchange.c - the lines that two uroce-testpmd exchange */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/eal.h"
#include "common/pipe.h"
#include "common/tcp.h"
#include "testpmd/exchange.h"
#include "testpmd/quit.h"

#define PKEY_DEFAULT 0xFFFFu
#define VERSION_WORD "uroce-testpmd 1"
#define PATIENCE_SECONDS 10
#define LOOK_US 1000

int exchange_listen(unsigned port)
{
	int fd = app_tcp_listen(port);

	if (fd < 0)
		app_complain(APP_EXIT_ENVIRONMENT, "cannot listen on TCP port %u: %s; choose another with --tcp-port",
			     port, strerror(errno));
	return fd;
}

static bool quit_is_not_wanted(void *unused)
{
	(void)unused;
	return !quit_is_wanted();
}

int exchange_dial(const char *host, unsigned port)
{
	const char *why;
	bool unknown;
	int fd = app_tcp_dial(host, port, PATIENCE_SECONDS, quit_is_not_wanted, NULL, &why, &unknown);

	if (unknown)
		app_complain(APP_EXIT_ENVIRONMENT, "--peer %s: %s", host, why);
	else if (fd < 0 && quit_is_wanted())
		app_complain(APP_EXIT_INTERRUPTED, "interrupted");
	else if (fd < 0)
		app_complain(APP_EXIT_ENVIRONMENT, "--peer %s: no target listens on TCP port %u: %s", host, port, why);
	return fd;
}

static int send_text(const struct exchange_line *line, const char *text, size_t bytes)
{
	if (line->pipe)
		return app_pipe_send(line->pipe, text, bytes);
	while (bytes > 0) {
		ssize_t sent = send(line->fd, text, bytes, MSG_NOSIGNAL);

		if (sent <= 0)
			return app_complain(-1, "the peer's TCP connection broke: %s", strerror(errno));
		text += sent;
		bytes -= (size_t)sent;
	}
	return 0;
}

int exchange_refuse(const struct exchange_line *line, const char *reason)
{
	char text[192];

	return send_text(line, text, (size_t)snprintf(text, sizeof(text), "no %s\n", reason));
}

int exchange_send(const struct exchange_line *line, const struct exchange *ours)
{
	char address[64];
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	int error;

	if (out == NULL)
		return app_complain(-1, "no memory");
	fprintf(out, VERSION_WORD " %u %u %u %s %u %lu", ours->qps, ours->size, ours->mtu,
		uroce_addr_format(&ours->addr, address, sizeof(address)), ours->rkey, ours->va);
	/* A peer that has sent no window may be too old to read one. */
	if (ours->sack_window || ours->pkey != PKEY_DEFAULT)
		fprintf(out, " %u %u", ours->sack_window, ours->paths);
	if (ours->pkey != PKEY_DEFAULT)
		fprintf(out, " %u", ours->pkey);
	fprintf(out, "\n");
	for (uint32_t i = 0; i < ours->qps; i++)
		fprintf(out, "%u %u\n", ours->qpn[i], ours->psn[i]);
	fclose(out);
	error = send_text(line, text, bytes);
	free(text);
	return error;
}

/* Reads a byte. Returns false if none arrived in time, or if the connection has ended. */
static bool read_byte(const struct exchange_line *line, char *c, uint64_t *patience_us)
{
	while (true) {
		ssize_t got = line->pipe ? app_pipe_receive(line->pipe, c, 1) : recv(line->fd, c, 1, MSG_DONTWAIT);
		bool may_come = line->pipe ? got == -EAGAIN : got < 0 && errno == EAGAIN;

		if (got > 0)
			return true;
		if (!may_come || *patience_us < LOOK_US || quit_is_wanted())
			return false;
		usleep(LOOK_US);
		*patience_us -= LOOK_US;
	}
}

/* Reads one line, drops its newline, and leaves what follows unread. Returns false if no whole line arrived in time. */
static bool read_line(const struct exchange_line *line, char *text, size_t room, uint64_t *patience_us)
{
	size_t at = 0;
	char c;

	while (at + 1 < room && read_byte(line, &c, patience_us)) {
		if (c == '\n') {
			text[at] = '\0';
			return true;
		}
		text[at++] = c;
	}
	text[at] = '\0';
	return false;
}

int exchange_receive(const struct exchange_line *line, struct exchange *theirs)
{
	uint64_t patience_us = PATIENCE_SECONDS * 1000000ull; /* for the peer's lines together */
	char text[256], address[64];
	bool right;

	if (!read_line(line, text, sizeof(text), &patience_us))
		return quit_is_wanted() ?
			       app_complain(-1, "interrupted") :
			       app_complain(-1, "the peer left, or did not say in %d s who it is", PATIENCE_SECONDS);
	if (strncmp(text, "no ", 3) == 0)
		return app_complain(-1, "the target refused: %s", text + 3);
	theirs->pkey = PKEY_DEFAULT;
	/* A peer without SACKs sends no window, and an old peer no paths. The default P_Key is not sent. */
	right = sscanf(text, VERSION_WORD " %u %u %u %63s %u %lu %u %u %u", &theirs->qps, &theirs->size, &theirs->mtu,
		       address, &theirs->rkey, &theirs->va, &theirs->sack_window, &theirs->paths, &theirs->pkey) >= 6 &&
		uroce_addr_parse(address, &theirs->addr, NULL) == 0 && theirs->qps >= 1 &&
		theirs->qps <= EXCHANGE_QPS_MAX;
	for (uint32_t i = 0; right && i < theirs->qps; i++)
		right = read_line(line, text, sizeof(text), &patience_us) &&
			sscanf(text, "%u %u", &theirs->qpn[i], &theirs->psn[i]) == 2;
	if (!right)
		return app_complain(-1, "the peer is no uroce-testpmd of this version: \"%.60s\"", text);
	return 0;
}
