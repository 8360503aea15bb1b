/* refused_flood.c - a flood of refused connection requests next to an honest host and our own connections */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "calls.h"
#include "cm/cm.h"
#include "cm/ip.h"
#include "cm/service.h"
#include "rule.h"
#include "start.h"

#define STRANGERS 1000u
#define TURN 50u /* after so many an honest host connects */

TestSuite(refused_flood, .init = test_eal_start, .timeout = 60);

/* What a stranger asks for, with the longest times that there are. */
static void build_request(uint32_t number, const char *source, uint8_t mad[CM_MAD_BYTES])
{
	struct uroce_addr from = network_address(source), to = network_address("10.0.0.2");
	struct cm_ip ip = { .ip_version = 4, .source_port = 5000 };
	struct cm_message req = {
		.kind = CM_REQ,
		.transaction_id = number,
		.local_id = number,
		.service_id = cm_service_id(CM_SPACE_TCP, CALLS_PORT),
		.ca_guid = 7,
		.qpn = 1000 + number,
		.remote_response_timeout = 31,
		.local_response_timeout = 31,
		.max_cm_retries = 15,
		.path_mtu = 3,
		.pkey = 0xFFFF,
		.primary = { .ack_timeout = 31 },
		.private_bytes = CM_IP_BYTES,
	};

	memcpy(req.primary.local_gid, from.bytes, 16);
	memcpy(req.primary.remote_gid, to.bytes, 16);
	memcpy(ip.source + 12, from.bytes + 12, 4);
	memcpy(ip.dest + 12, to.bytes + 12, 4);
	cm_ip_build(&ip, req.private_data);
	cm_mad_build(&req, mad);
}

/* As a storage target does with a greeting that it does not like. */
static void refuse_stranger(struct network *network, struct uroce_cm_channel *channel, uint32_t number)
{
	struct uroce_cm_event event;
	uint8_t mad[CM_MAD_BYTES];
	char source[16];

	snprintf(source, sizeof(source), "10.9.%u.%u", number >> 8, number & 0xFF);
	build_request(number, source, mad);
	calls_give(network, 1, source, mad);
	event = calls_wait(channel, UROCE_CM_CONNECT_REQUEST);
	cr_assert_eq(uroce_cm_reject(event.id, "no", 2), 0);
	cr_assert_eq(uroce_cm_id_destroy(event.id), 0);
}

/* From one of our devices to the other: we are the honest host, and those who connect beside all that. */
static void connect_once(struct network *network, struct uroce_cm_channel *channel)
{
	struct uroce_cm_id *client = calls_dial(network, channel, "10.0.0.2", NULL);
	struct uroce_cm_event event;
	uint32_t established = 0, ended = 0;

	while (established < 2) {
		cr_assert_eq(uroce_cm_wait(channel, CALLS_PATIENCE_MS, &event), 0);
		calls_take_event(network, &event, &established, &ended);
	}
	cr_assert_eq(uroce_cm_disconnect(client), 0);
	while (ended < 2) {
		cr_assert_eq(uroce_cm_wait(channel, CALLS_PATIENCE_MS, &event), 0);
		calls_take_event(network, &event, &established, &ended);
	}
}

Test(refused_flood, flood_of_refused_requests_starves_no_connection)
{
	static struct network network;
	struct uroce_cm_channel *channel;
	struct uroce_cm_id *listener;
	struct uroce_cm_usage usage;

	RULE("C-22");
	RULE("U-5");
	network_max_qps = 16;
	calls_open(&network, 1, &channel);
	cr_assert_eq(uroce_cm_listen(channel, NULL, CALLS_PORT, 8, 0, &listener), 0);
	for (uint32_t i = 1; i <= STRANGERS; i++) {
		refuse_stranger(&network, channel, i);
		if (i % TURN == 0)
			connect_once(&network, channel);
	}
	cr_assert_eq(uroce_cm_usage(network.engine, &usage), 0);
	cr_expect_eq(usage.half_open, 0);
	calls_close(&network, channel, listener);
	network_max_qps = 0;
}
