/* host_config.h - how a host connects: where, as whom, with how many queues of what depth */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMEPERF_HOST_CONFIG_H
#define NVMEPERF_HOST_CONFIG_H

#include <uroce/uroce.h>

struct host_config {
	struct uroce_engine *engine;
	struct uroce_device *device;
	struct uroce_cm_channel *channel;
	struct uroce_addr target;
	uint16_t service;
	const char *nqn, *host_nqn;
	uint32_t nsid, queues, depth; /* queues: number of I/O queues; depth: commands that each may have */
	uint32_t data_bytes;          /* the most that a command has */
	uint32_t keep_alive_ms;
	uint32_t in_capsule_bytes;          /* writes up to this size carry their data in the capsule; 0: none */
	uint8_t timeout, retry_cnt;         /* ACK timeout code and retransmissions of each QP; 0: the CM's default */
	const struct uroce_path *alternate; /* alternate path of each queue; NULL: none */
	void (*poll)(void *argument);
	void *argument;
};

#endif
