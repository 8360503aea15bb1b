/* meet.c - serves peers by address, and connects to one */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "common/eal.h"
#include "common/pipe.h"
#include "testpmd/meet.h"
#include "testpmd/show.h"
#include "testpmd/terms.h"

#define LOOK_US 50000
#define PATIENCE_S 20 /* a server notices within 5.3 s that its client was killed, and two may be killed in a row */

static struct {
	struct traffic *traffic;
	struct app_control control;
	_Atomic bool connected;
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
	return !app_is_interrupted();
}

/* Returns 0 or -1. */
static int connect_peer(const char *host, unsigned port)
{
	const struct app_pipe_config config = {
		.engine = meet.traffic->engine,
		.port = meet.traffic->ports[0].port,
		.host = host,
		.service = (uint16_t)port,
		.patience_s = PATIENCE_S,
	};
	int code = app_control_open_pipe(&meet.control, &terms_control, &config, tell_listening,
					 host ? nobody_quits : keep_waiting);

	atomic_store(&meet.connected, code == APP_EXIT_OK);
	return code == APP_EXIT_OK ? 0 : -1;
}

/* Stays connected until the peer leaves, or this side does. */
static void stay(void)
{
	while (keep_waiting() && !app_control_is_over(&meet.control))
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
	app_control_close(&meet.control);
	atomic_store(&meet.connected, false);
}

/* A server meets one peer after the other, a client has met one. */
static void *keep_company(void *unused)
{
	(void)unused;
	if (!meet.serves)
		stay();
	while (meet.serves && keep_waiting() && connect_peer(NULL, meet.port) == 0) {
		if (terms_serve(meet.traffic, &meet.control))
			stay();
		part();
	}
	if (!meet.serves)
		part();
	return NULL;
}

static int begin(void)
{
	if (pthread_create(&meet.thread, NULL, keep_company, NULL) != 0)
		return app_complain(-1, "cannot create a thread for the peer: %s", strerror(errno));
	meet.begun = true;
	return 0;
}

/* May a peer be met now? If not, complains: there is a peer already, or the command line names one. */
static bool is_free(struct traffic *traffic)
{
	if (meet.begun && !meet.serves && !atomic_load(&meet.connected))
		meet_end(); /* the peer has left */
	if (meet.begun)
		app_complain(APP_EXIT_FAILURE, "a peer is connected or expected: enter \"disconnect\" first");
	else if (traffic->port_count != 1 || traffic->settings->target || traffic->settings->peer[0])
		app_complain(APP_EXIT_FAILURE, "the queue pairs are already connected: restart uroce-testpmd with one "
					       "port, without --peer and --server");
	else
		return true;
	return false;
}

int meet_listen(struct traffic *traffic, unsigned port)
{
	if (!is_free(traffic))
		return -1;
	atomic_store(&meet.ending, false);
	meet.traffic = traffic;
	meet.port = port;
	meet.serves = true;
	return begin();
}

int meet_connect(struct traffic *traffic, const char *host, unsigned port)
{
	if (!is_free(traffic))
		return -1;
	atomic_store(&meet.ending, false);
	meet.traffic = traffic;
	meet.serves = false;
	if (connect_peer(host, port) != 0)
		return -1;
	if (terms_ask(traffic, &meet.control) == 0 && begin() == 0)
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
