/* recorder.c - a thread that finds failed QPs of recorded ports and writes their files */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/capture/recorder.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <uroce/device.h>
#include <uroce/inspect.h>

#include "drivers/capture/postmortem.h"
#include "drivers/capture/thread.h"

#define PORTS_MAX 32u
#define LOOK_US 10000u
#define FAILURES_MAX 256u
#define DIRECTORY_BYTES 512u

struct recorded_port {
	struct uroce_engine *engine; /* NULL: the entry is free */
	struct drivers_tap *tap;
	uint16_t port_id;
	struct uroce_device_info device; /* the device's addresses tell which QPs belong to this port */
	char name[DRIVERS_ETHDEV_NAME_BYTES];
	char directory[DIRECTORY_BYTES];
	uint32_t places[UROCE_LCORES_MAX]; /* for each lcore: number of its failures that have been handled */
};

/* Held while a recording begins or ends. Its owner may take the lock of the ports as well. */
static pthread_mutex_t life = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct recorded_port ports[PORTS_MAX];
static unsigned port_count;
static uint32_t failures;
static pthread_t thread;
static _Atomic bool ending;

static void record(const struct recorded_port *port, const struct uroce_qp_view *view)
{
	struct postmortem what = {
		.view = view,
		.tap = port->tap,
		.addresses = port->device.addrs,
		.address_count = port->device.addr_count,
		.port_name = port->name,
		.directory = port->directory,
	};

	if (failures == FAILURES_MAX)
		return;
	what.is_last = ++failures == FAILURES_MAX;
	postmortem_write(&what);
}

/* Handles the failures since the last call. If `wanted`, writes files about failures of the port's QPs. */
static void look(struct recorded_port *port, bool wanted)
{
	struct uroce_qp_view view;

	for (unsigned i = 0; i < uroce_engine_lcore_count(port->engine); i++) {
		while (uroce_inspect_failed(port->engine, i, &port->places[i], &view)) {
			if (wanted && view.port_id == port->port_id)
				record(port, &view);
			drivers_tap_recorded(port->tap, i, port->places[i]);
		}
	}
}

static void *watch(void *argument)
{
	while (!atomic_load(&ending)) {
		usleep(LOOK_US);
		pthread_mutex_lock(&lock);
		for (unsigned i = 0; i < PORTS_MAX; i++) {
			if (ports[i].engine)
				look(&ports[i], true);
		}
		pthread_mutex_unlock(&lock);
	}
	return argument;
}

static int refuse_directory(const char *directory, struct uroce_error *error)
{
	return drivers_error_set(error, -errno, "records cannot be written to %.200s: %s: use a writable directory",
				 directory, strerror(errno));
}

int drivers_recorder_check(const char *directory, struct uroce_error *error)
{
	char parent[PATH_MAX];
	struct stat status;

	snprintf(parent, sizeof(parent), "%s", directory);
	if (stat(directory, &status) != 0)
		return errno == ENOENT && access(dirname(parent), W_OK | X_OK) == 0 ?
			       0 :
			       refuse_directory(directory, error);
	errno = ENOTDIR;
	if (!S_ISDIR(status.st_mode) || access(directory, W_OK | X_OK) != 0)
		return refuse_directory(directory, error);
	return 0;
}

/*
 * Makes the directory if there is none. `resolved` gets its absolute name, because the program may change its
 * directory.
 */
static int check_directory(const char *directory, char resolved[PATH_MAX], struct uroce_error *error)
{
	if ((mkdir(directory, 0700) != 0 && errno != EEXIST) || realpath(directory, resolved) == NULL ||
	    access(resolved, W_OK | X_OK) != 0)
		return refuse_directory(directory, error);
	if (strlen(resolved) >= DIRECTORY_BYTES)
		return drivers_error_set(error, -ENAMETOOLONG,
					 "the path of the record directory has %zu bytes: use up to %u bytes",
					 strlen(resolved), DIRECTORY_BYTES - 1);
	return 0;
}

static struct recorded_port *free_place(void)
{
	for (unsigned i = 0; i < PORTS_MAX; i++) {
		if (ports[i].engine == NULL)
			return &ports[i];
	}
	return NULL;
}

/* With the lock held. */
static int add_port(struct uroce_engine *engine, struct uroce_device *device, const struct drivers_ethdev *ethdev,
		    struct drivers_tap *tap, const char *directory, struct uroce_error *error)
{
	struct recorded_port *port = free_place();

	if (port == NULL)
		return drivers_error_set(
			error, -ENOSPC,
			"%u ports are being recorded, the maximum: open further ports without a recorder", PORTS_MAX);
	if (port_count == 0) {
		atomic_store(&ending, false);
		if (capture_thread_create(&thread, watch, NULL) != 0)
			return drivers_error_set(
				error, -EAGAIN,
				"cannot create a thread for the recorder: end other threads, or raise ulimit -u");
	}
	*port = (struct recorded_port){ .engine = engine, .tap = tap, .port_id = ethdev->port_id };
	uroce_device_query(device, &port->device);
	strcpy(port->name, ethdev->name);
	strcpy(port->directory, directory);
	look(port, false); /* an earlier port may have had the same id */
	port_count++;
	return 0;
}

int drivers_recorder_start(struct uroce_engine *engine, struct uroce_device *device,
			   const struct drivers_ethdev *ethdev, struct drivers_tap *tap, const char *directory,
			   struct uroce_error *error)
{
	char resolved[PATH_MAX];
	int code = check_directory(directory, resolved, error);

	if (code)
		return code;
	if (drivers_tap_record(tap, engine) != 0)
		return drivers_error_set(error, -ENOMEM, "no memory for the records of port %s", ethdev->name);
	pthread_mutex_lock(&life);
	pthread_mutex_lock(&lock);
	code = add_port(engine, device, ethdev, tap, resolved, error);
	pthread_mutex_unlock(&lock);
	pthread_mutex_unlock(&life);
	return code;
}

void drivers_recorder_stop(const struct drivers_tap *tap)
{
	bool last = false;

	pthread_mutex_lock(&life);
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < PORTS_MAX; i++) {
		if (ports[i].engine == NULL || ports[i].tap != tap)
			continue;
		look(&ports[i], true);
		ports[i].engine = NULL;
		last = --port_count == 0;
	}
	pthread_mutex_unlock(&lock);
	if (last) {
		atomic_store(&ending, true);
		pthread_join(thread, NULL);
	}
	pthread_mutex_unlock(&life);
}
