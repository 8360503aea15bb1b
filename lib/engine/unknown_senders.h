/* unknown_senders.h - strangers at a port: many frames that know no QPN, address or P_Key of ours */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_UNKNOWN_SENDERS_H
#define ENGINE_UNKNOWN_SENDERS_H

#include "engine/engine.h"

/* Now and then, on the lcore of the port. Raises the event with the ANOMALY_UNKNOWN_SENDERS'th of a second (TC-G-3). */
void engine_unknown_senders_look(struct engine_port *port, uint64_t now_ns);

#endif
