/* alarm.h - strangers at a port: many frames that know no QPN, address or P_Key of ours */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_ALARM_H
#define ENGINE_ALARM_H

#include "engine/engine.h"

/* Now and then, on the lcore of the port. Raises the event with the ANOMALY_STRANGERS'th of a second (TC-G-3). */
void engine_alarm_look(struct engine_port *port, uint64_t now_ns);

#endif
