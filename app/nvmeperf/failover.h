/* failover.h - cuts the first of two links between host and target in the middle of a case */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMEPERF_FAILOVER_H
#define NVMEPERF_FAILOVER_H

#include "common/ports.h"
#include "drivers/fault/fault.h"

struct failover {
	struct app_port ports[2];        /* the ports of the second link, the host's first */
	struct drivers_fault *faults[2]; /* the faults of the first link */
	struct uroce_path path;          /* alternate path of the host's queues */
	struct uroce_device *device;     /* the host's device */
	double after_s;
	uint64_t began_ns, cut_ns, resumed_ns;
	uint32_t migrations; /* migrations of the host's queues */
};

/* host, target: the ports of the first link. Returns APP_EXIT_OK, or the exit code. */
int failover_open(struct failover *failover, struct uroce_engine *engine, struct uroce_port *host,
		  struct uroce_port *target, double after_s);
/* To be called before the queues of a case are made: makes the first link work again. */
void failover_begin(struct failover *failover);
/* To be called often while the case is measured. done: a command has just completed. */
void failover_poll(struct failover *failover, uint64_t now_ns, bool done);
void failover_close(struct failover *failover);

#endif
