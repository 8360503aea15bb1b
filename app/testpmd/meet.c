/* meet.c - serves peers by address, and connects to one */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "common/eal.h"
#include "common/pipe.h"
#include "testpmd/meet.h"
#include "testpmd/quit.h"
#include "testpmd/show.h"
#include "testpmd/terms.h"

#define LOOK_US 50000
#define PATIENCE_S 10

static struct {
	struct traffic *traffic;
	_Atomic(struct app_pipe *) pipe;
	unsigned port;
	bool serves, begun; /* for the main thread only */
	_Atomic bool ending;
	pthread_t thread;
} meet;

static bool keep_waiting(void)
{
	return !atomic_load(&meet.ending);
}

static void tell_listening(unsigned port)
{
	printf("listening on port %u\n", port);
	fflush(stdout);
}

static bool nobody_quits(void)
{
	return !quit_is_wanted();
}

static struct app_pipe *open_pipe(const char *host, unsigned port)
{
	const struct app_pipe_config config = {
		.engine = meet.traffic->engine,
		.port = meet.traffic->ports[0].port,
		.host = host,
		.service = (uint16_t)port,
		.patience_s = PATIENCE_S,
	};
	int code;

	return app_pipe_open(&config, tell_listening, host ? nobody_quits : keep_waiting, &code);
}

/* Stays connected until the peer leaves, or this side does. */
static void stay(void)
{
	char byte;

	while (keep_waiting() && app_pipe_receive(meet.pipe, &byte, 1) == -EAGAIN)
		usleep(LOOK_US);
	if (keep_waiting()) {
		printf("the peer has left\n");
		show_port_stats(meet.traffic, SHOW_ALL);
		fflush(stdout);
	}
}

static void part(void)
{
	traffic_drop_flows(meet.traffic);
	app_pipe_close(meet.pipe);
	meet.pipe = NULL;
}

static void *serve(void *unused)
{
	(void)unused;
	while (keep_waiting()) {
		struct exchange_line line = { .fd = -1 };

		meet.pipe = line.pipe = open_pipe(NULL, meet.port);
		if (meet.pipe == NULL)
			break;
		if (terms_serve(meet.traffic, &line))
			stay();
		part();
	}
	return NULL;
}

static void *keep_company(void *unused)
{
	(void)unused;
	stay();
	part();
	return NULL;
}

static int begin(struct traffic *traffic, void *(*run)(void *))
{
	meet.traffic = traffic;
	if (pthread_create(&meet.thread, NULL, run, NULL) != 0)
		return app_complain(-1, "no thread for the peer: %s", strerror(errno));
	meet.begun = true;
	return 0;
}

/* May a peer be met now? If not, complains: there is a peer already, or the command line names one. */
static bool is_free(struct traffic *traffic)
{
	if (meet.begun && !meet.serves && meet.pipe == NULL)
		meet_end(); /* the peer has left */
	if (meet.begun)
		app_complain(APP_EXIT_FAILURE, "there is a peer, or one is waited for: disconnect first");
	else if (traffic->port_count != 1 || traffic->settings->target || traffic->settings->peer[0])
		app_complain(APP_EXIT_FAILURE, "the queue pairs are connected already: start with one port, without "
					       "--peer and --target");
	else
		return true;
	return false;
}

int meet_listen(struct traffic *traffic, unsigned port)
{
	if (!is_free(traffic))
		return -1;
	atomic_store(&meet.ending, false);
	meet.port = port;
	meet.serves = true;
	return begin(traffic, serve);
}

int meet_connect(struct traffic *traffic, const char *host, unsigned port)
{
	struct exchange_line line = { .fd = -1 };

	if (!is_free(traffic))
		return -1;
	atomic_store(&meet.ending, false);
	meet.traffic = traffic;
	meet.serves = false;
	meet.pipe = line.pipe = open_pipe(host, port);
	if (meet.pipe == NULL)
		return -1;
	if (terms_ask(traffic, &line) == 0 && begin(traffic, keep_company) == 0)
		return 0;
	part();
	return -1;
}

int meet_end(void)
{
	if (!meet.begun)
		return -1;
	atomic_store(&meet.ending, true);
	pthread_join(meet.thread, NULL);
	meet.begun = meet.serves = false;
	return 0;
}

bool meet_serves(void)
{
	return meet.serves;
}
