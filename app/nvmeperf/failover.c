/* failover.c - cuts the first of two links between host and target in the middle of a case */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmeperf/failover.h"

#include <string.h>

#include "common/eal.h"
#include "drivers/port/port.h"

static void cut(struct failover *failover, bool yes)
{
	for (unsigned i = 0; i < 2; i++)
		drivers_fault_cut(failover->faults[i], yes);
}

int failover_open(struct failover *failover, struct uroce_engine *engine, struct uroce_port *host,
		  struct uroce_port *target, double after_s)
{
	struct app_port_config config = { .port = { .engine = engine, .addresses = { "10.0.1.1/24", "10.0.1.2/24" } } };
	struct drivers_fault_config none = { 0 };
	struct uroce_error error;
	int code = app_loop_open(&config, 0, failover->ports);

	if (code)
		return code;
	for (unsigned i = 0; i < 2; i++) {
		if (drivers_fault_attach(drivers_port_ethdev(i ? target : host), &none, &failover->faults[i], &error) !=
		    0)
			return app_complain(APP_EXIT_ENVIRONMENT, "%s", error.text);
	}
	failover->device = host->device;
	failover->after_s = after_s;
	failover->path = (struct uroce_path){
		.device = failover->ports[0].device,
		.source = failover->ports[0].addr,
		.dest = failover->ports[1].addr,
		.hop_limit = 64,
	};
	return APP_EXIT_OK;
}

void failover_begin(struct failover *failover)
{
	struct uroce_event event;

	while (uroce_event_poll(failover->device, &event))
		; /* left from the case before */
	cut(failover, false);
	failover->began_ns = failover->cut_ns = failover->resumed_ns = 0;
	failover->migrations = 0;
}

void failover_poll(struct failover *failover, uint64_t now_ns, bool done)
{
	struct uroce_event event;

	if (failover->began_ns == 0)
		failover->began_ns = now_ns;
	while (uroce_event_poll(failover->device, &event))
		failover->migrations += event.type == UROCE_EVENT_PATH_MIG;
	if (failover->cut_ns == 0 && (double)(now_ns - failover->began_ns) >= failover->after_s * 1e9) {
		failover->cut_ns = now_ns;
		cut(failover, true);
	} else if (done && failover->migrations && failover->resumed_ns == 0) {
		failover->resumed_ns = now_ns;
	}
}

/* Frees late frames before their pool, while the first link is still open. */
void failover_close(struct failover *failover)
{
	if (failover->device == NULL)
		return;
	for (unsigned i = 0; i < 2; i++)
		drivers_fault_detach(failover->faults[i]);
	app_loop_close(failover->ports);
	memset(failover, 0, sizeof(*failover));
}
