/* counts.c - the counters of a target and of each namespace, by name */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmet/counts.h"

#include <string.h>

static uint64_t polls_of(const struct server *server)
{
	uint64_t polls = 0;

	for (uint32_t i = 0; i < server->lane_count; i++)
		polls += atomic_load_explicit(&server->lanes[i].polls, memory_order_relaxed);
	return polls;
}

static void count_target(const struct server *server, struct counts *counts)
{
	const struct server_counts sum = server_counts(server), *own = &sum;
	const struct count rows[] = {
		{ "queues", server_queue_count(server) },
		{ "commands", own->commands },
		{ "errors", own->errors },
		{ "hosts_come", own->hosts_come },
		{ "hosts_gone", own->hosts_gone },
		{ "hosts_refused", own->hosts_refused },
		{ "queues_made", own->queues },
		{ "queues_refused", own->refused_queues },
		{ "queues_broken", own->broken_queues },
		{ "queues_stuck", own->stuck_queues },
		{ "queues_mute", own->mute_queues },
		{ "keep_alive_expired", own->expired },
		{ "waits_for_memory", own->waits_for_memory },
		{ "buffers_in_use", server_used_bytes(server) },
		{ "polls", polls_of(server) },
	};

	_Static_assert(sizeof(rows) / sizeof(rows[0]) <= COUNTS_MAX, "they fit");
	memcpy(counts->rows, rows, sizeof(rows));
	counts->count = sizeof(rows) / sizeof(rows[0]);
}

static void count_disk(const struct disk *disk, struct counts *counts)
{
	const struct nvmf_counts sum = nvmf_namespace_counts(&disk->namespace), *own = &sum;
	const struct count rows[] = {
		{ "reads", own->reads },
		{ "read_bytes", own->read_bytes },
		{ "writes", own->writes },
		{ "written_bytes", own->written_bytes },
		{ "flushes", own->flushes },
		{ "read_errors", own->read_errors },
		{ "write_errors", own->write_errors },
		{ "flush_errors", own->flush_errors },
		{ "under_way", nvmf_namespace_under_way(&disk->namespace) },
	};

	_Static_assert(sizeof(rows) / sizeof(rows[0]) <= COUNTS_MAX, "they fit");
	memcpy(counts->rows, rows, sizeof(rows));
	counts->count = sizeof(rows) / sizeof(rows[0]);
}

void counts_each(const struct server *server, const struct disks *disks, counts_show *show, void *argument)
{
	struct counts counts = { .disk = NULL };

	count_target(server, &counts);
	show(&counts, argument);
	for (counts.disk = disks->first; counts.disk; counts.disk = counts.disk->next) {
		count_disk(counts.disk, &counts);
		show(&counts, argument);
	}
}
