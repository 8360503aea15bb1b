/* options.h - the command line of uroce-nvme-perf */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMEPERF_OPTIONS_H
#define NVMEPERF_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "nvmet/settings.h"

#define OPTIONS_LIST_MAX 16u
#define OPTIONS_RWS 6u

extern const char *const options_rw_names[OPTIONS_RWS];

struct options {
	const char *connect, *nqn, *device, *ip, *gateway, *store, *record, *json;
	uint32_t service, nsid, queues, read_percent, block_bytes;
	uint32_t sizes[OPTIONS_LIST_MAX], size_count, depths[OPTIONS_LIST_MAX], depth_count;
	bool rws[OPTIONS_RWS];
	bool verify, bare, dry_run, no_dad;
	uint32_t in_capsule_bytes;
	uint32_t port_queues; /* queues of a port, and lcores; one thread polls all of them */
	uint64_t cycles;
	struct uroce_vlan vlan;
	uint32_t timeout, retry_cnt; /* of each queue's QP */
	double think_s;
	double seconds, failover_s; /* failover_s 0: the link is not cut */
	struct settings_disk disk;  /* the disk of our own target, if connect is not given */
};

/* For --dry-run: prints the target and the cases. */
void options_print_plan(const struct options *options);

/* Returns 0 to go on, or 1 + the exit code. */
int options_parse(struct options *options, int argc, char **argv);

#endif
