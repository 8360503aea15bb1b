/* receive.h - from frames to QPs */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_RECEIVE_H
#define ENGINE_RECEIVE_H

#include "engine/engine.h"

/* What has come to a port, some bursts of it, and what other lcores have handed over. */
void engine_receive_port(struct uroce_lcore *lcore, struct engine_port *port);
void engine_receive_handed_over(struct uroce_lcore *lcore);

#endif
