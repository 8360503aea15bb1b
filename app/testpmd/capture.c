/* capture.c - one capture of all ports at a time */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "testpmd/capture.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_pdump.h>

#include <uroce/capture.h>

static struct uroce_capture *running;
static char running_path[SETTINGS_TEXT_BYTES];

void capture_serve_others(void)
{
	char socket[PATH_MAX];

	/*
	 * The socket exists if EAL shares its configuration with other processes; without a socket there are no other
	 * processes to serve.
	 */
	if (snprintf(socket, sizeof(socket), "%s/mp_socket", rte_eal_get_runtime_dir()) < (int)sizeof(socket) &&
	    access(socket, F_OK) == 0 && rte_pdump_init() != 0)
		app_complain(APP_EXIT_ENVIRONMENT, "dpdk-dumpcap cannot capture frames: %s", rte_strerror(rte_errno));
}

void capture_begin(const struct traffic *traffic, const char *path, uint16_t frame_bytes)
{
	struct uroce_port *ports[SETTINGS_PORTS];
	struct uroce_error error;

	if (running) {
		app_complain(APP_EXIT_USAGE, "a capture to %s is active: enter \"capture stop\" first", running_path);
		return;
	}
	for (unsigned i = 0; i < traffic->port_count; i++)
		ports[i] = traffic->ports[i].port->port;
	if (uroce_capture_start(ports, traffic->port_count, path, frame_bytes, &running, &error) != 0) {
		app_complain(APP_EXIT_ENVIRONMENT, "%s", error.text);
		return;
	}
	snprintf(running_path, sizeof(running_path), "%s", path);
	printf("frames of %u ports are written to %s until \"capture stop\"\n", traffic->port_count, path);
}

int capture_end(bool loud)
{
	struct uroce_capture_counts counts;
	struct uroce_error error;
	int code = APP_EXIT_OK;

	if (running == NULL) {
		if (loud)
			printf("nothing is being captured\n");
		return code;
	}
	if (uroce_capture_stop(running, &counts, &error) != 0)
		code = app_complain(APP_EXIT_ENVIRONMENT, "%s: %s", running_path, error.text);
	printf("%s contains %lu frames, %lu bytes; %lu frames were lost because writing the file was too slow\n",
	       running_path, counts.frames, counts.bytes, counts.lost);
	running = NULL;
	return code;
}
