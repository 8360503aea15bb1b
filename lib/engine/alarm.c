/* alarm.c - watching the counters of what a stranger has to guess (Y-3, C-24) */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/alarm.h"
#include "engine/events.h"

void engine_alarm_look(struct engine_port *port, uint64_t now_ns)
{
	const uint64_t *counters = port->counters;
	uint64_t strangers = counters[CNT_PORT_UNKNOWN_QPN] + counters[CNT_PORT_ADDRESS] + counters[CNT_PORT_VLAN] +
			     counters[CNT_PORT_PKEY] + counters[CNT_PORT_GSI_STRANGER];
	const struct uroce_event event = { .type = UROCE_EVENT_ANOMALY };

	if (now_ns - port->alarm_since_ns >= ANOMALY_NS) {
		port->alarm_since_ns = now_ns;
		port->alarm_strangers = strangers;
		port->alarmed = false;
	}
	if (port->alarmed || strangers - port->alarm_strangers < ANOMALY_STRANGERS)
		return;
	port->alarmed = true;
	engine_device_raise(port->device, &event);
}
