/* failover.h - a second link between the host and its target, and the first one cut in the middle of a case */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMEPERF_FAILOVER_H
#define NVMEPERF_FAILOVER_H

#include "common/ports.h"
#include "drivers/fault/fault.h"

struct failover {
	struct app_port ports[2];        /* of the second link: the host's end first */
	struct drivers_fault *faults[2]; /* of the first one */
	struct uroce_path path;          /* the alternate one of the host's queues */
	struct uroce_device *device;     /* the host's */
	double after_s;
	uint64_t began_ns, cut_ns, resumed_ns;
	uint32_t migrations; /* of the host's queues */
};

/* first: the ports of the first link, the host's first. APP_EXIT_OK, or what to exit with. */
int failover_open(struct failover *failover, struct uroce_engine *engine, struct uroce_port *const first[2],
		  double after_s);
/* Before the queues of a case: the first link is whole. */
void failover_begin(struct failover *failover);
/* While it is measured, whenever something may have happened; done: whether a command has just ended. */
void failover_poll(struct failover *failover, uint64_t now_ns, bool done);
void failover_close(struct failover *failover);

#endif
