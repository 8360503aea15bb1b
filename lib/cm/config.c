/* config.c - the bounds and times of a manager: defaults, and bounds that fit a number of connections */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/limits.h"

#include "cm/conn.h"

#define RESPONSE_TIMEOUT_DEFAULT 18u
#define PACKET_LIFE_DEFAULT 14u
#define MAX_RETRIES_DEFAULT 15u
#define PATIENCE_DEFAULT_NS 60000000000ull

static uint32_t at_most(uint32_t number, uint32_t limit)
{
	return number < limit ? number : limit;
}

/* Half-open connections get room of their own, beside that of the users' connections. */
void cm_config_fit(struct cm_config *config, uint32_t connections)
{
	config->half_open = at_most(CM_HALF_OPEN, connections);
	config->connections = connections + config->half_open;
	config->refusals = at_most(CM_REFUSALS, connections);
	config->timewait_ids = config->connections * CM_TIMEWAITS_PER_CONNECTION;
}

void cm_config_complete(struct cm_config *config)
{
	if (config->response_timeout == 0)
		config->response_timeout = RESPONSE_TIMEOUT_DEFAULT;
	if (config->packet_life == 0)
		config->packet_life = PACKET_LIFE_DEFAULT;
	if (config->max_retries == 0)
		config->max_retries = MAX_RETRIES_DEFAULT;
	if (config->patience_ns == 0)
		config->patience_ns = PATIENCE_DEFAULT_NS;
}
