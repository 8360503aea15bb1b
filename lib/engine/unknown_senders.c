/* unknown_senders.c - watching the counters of what a stranger has to guess (Y-3, C-24) */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/events.h"
#include "engine/unknown_senders.h"

void engine_unknown_senders_look(struct engine_port *port, uint64_t now_ns)
{
	const uint64_t *counters = port->counters;
	uint64_t strangers = counters[CNT_PORT_UNKNOWN_QPN] + counters[CNT_PORT_ADDRESS] + counters[CNT_PORT_VLAN] +
			     counters[CNT_PORT_PKEY] + counters[CNT_PORT_GSI_STRANGER];
	const struct uroce_event event = { .type = UROCE_EVENT_ANOMALY };

	if (now_ns - port->unknown_since_ns >= ANOMALY_NS) {
		port->unknown_since_ns = now_ns;
		port->unknown_counted = strangers;
		port->alarmed = false;
	}
	if (port->alarmed || strangers - port->unknown_counted < ANOMALY_UNKNOWN_SENDERS)
		return;
	port->alarmed = true;
	engine_device_raise(port->device, &event);
}
