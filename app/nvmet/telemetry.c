/* telemetry.c - the counters of a target on DPDK's telemetry socket: /uroce/nvmet */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DPDK runs the command on a thread of its own, but the counters belong to the thread that polls. So the command asks
 * the polling thread for a copy of them, which that thread fills in its next telemetry_poll(); the command waits for
 * that, but not for long.
 */
#include "nvmet/telemetry.h"

#include <pthread.h>
#include <rte_telemetry.h>
#include <rte_version.h>
#include <stdio.h>
#include <time.h>

#include "nvmet/counts.h"

#define PATIENCE_MS 1000
#define DISKS_MAX 64u /* how many disks an answer has room for */

#if RTE_VERSION < RTE_VERSION_NUM(23, 3, 0, 0)
#define rte_tel_data_add_dict_uint rte_tel_data_add_dict_u64
#endif

/* A copy of counters, whose disk may be gone when they are shown. */
struct told {
	struct counts counts;
	char name[16]; /* a namespace's index in the list */
	char nqn[NVME_NQN_BYTES];
	uint32_t nsid;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t filled;
	bool open, wanted;
	struct told told[1 + DISKS_MAX]; /* the target comes first */
	uint32_t count;
} all = { .lock = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER };

static void add_counts(struct rte_tel_data *data, const struct counts *counts)
{
	for (uint32_t i = 0; i < counts->count; i++)
		rte_tel_data_add_dict_uint(data, counts->rows[i].name, counts->rows[i].value);
}

/* With the lock held: puts the copy into the answer. */
static void put_answer(struct rte_tel_data *data)
{
	add_counts(data, &all.told[0].counts);
	for (uint32_t i = 1; i < all.count; i++) {
		struct rte_tel_data *row = rte_tel_data_alloc();

		if (row == NULL)
			return;
		rte_tel_data_start_dict(row);
		rte_tel_data_add_dict_string(row, "subsystem", all.told[i].nqn);
		rte_tel_data_add_dict_uint(row, "nsid", all.told[i].nsid);
		add_counts(row, &all.told[i].counts);
		if (rte_tel_data_add_dict_container(data, all.told[i].name, row, 0) != 0)
			rte_tel_data_free(row);
	}
}

static int serve(const char *command, const char *parameters, struct rte_tel_data *data)
{
	struct timespec until;
	int error = 0;

	(void)command;
	(void)parameters;
	rte_tel_data_start_dict(data);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE_MS / 1000;
	pthread_mutex_lock(&all.lock);
	all.wanted = all.open;
	while (all.wanted && error == 0)
		error = pthread_cond_timedwait(&all.filled, &all.lock, &until);
	if (all.open && error == 0)
		put_answer(data);
	pthread_mutex_unlock(&all.lock);
	return 0;
}

void telemetry_open(void)
{
	static bool registered;

	pthread_mutex_lock(&all.lock);
	all.open = true;
	pthread_mutex_unlock(&all.lock);
	if (!registered)
		rte_telemetry_register_cmd("/uroce/nvmet", serve,
					   "Counters of the target and of each namespace. No parameters");
	registered = true;
}

static void keep(const struct counts *counts, void *argument)
{
	struct told *told = &all.told[all.count];

	(void)argument;
	if (all.count > DISKS_MAX)
		return;
	told->counts = *counts;
	if (counts->disk) {
		told->nsid = counts->disk->namespace.nsid;
		snprintf(told->nqn, sizeof(told->nqn), "%s", counts->disk->subsystem->nqn);
		snprintf(told->name, sizeof(told->name), "namespace_%u", all.count - 1);
	}
	all.count++;
}

void telemetry_poll(const struct server *server, const struct disks *disks)
{
	pthread_mutex_lock(&all.lock);
	if (all.wanted) {
		all.count = 0;
		counts_each(server, disks, keep, NULL);
		all.wanted = false;
		pthread_cond_broadcast(&all.filled);
	}
	pthread_mutex_unlock(&all.lock);
}

void telemetry_close(void)
{
	pthread_mutex_lock(&all.lock);
	all.open = all.wanted = false;
	pthread_cond_broadcast(&all.filled);
	pthread_mutex_unlock(&all.lock);
}
