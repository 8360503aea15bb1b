/* source_address.c - the default source address of a connection */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "calls.h"
#include "rule.h"
#include "start.h"

#define VLAN 100u

TestSuite(source_address, .init = test_eal_start, .timeout = 60);

/* A second pair of ports, whose devices have one address of each kind; in this order, so that the first never fits. */
static void open_devices(struct network *network, struct drivers_loop *loop, struct uroce_device *devices[2])
{
	static const char *const texts[2][4] = {
		{ "10.9.0.9", "10.9.100.9", "fe80::9", "fd00::9" },
		{ "10.9.0.2", "10.9.100.2", "fe80::2:2", "fd00::2" },
	};
	struct drivers_loop_config config = {
		.name = "second", .queue_count = 1, .ring_entries = 256, .mbuf_count = 2047
	};
	struct uroce_error error;

	cr_assert_eq(drivers_loop_open(&config, loop, &error), 0, "%s", error.text);
	for (int i = 0; i < 2; i++) {
		struct uroce_device_config device = {
			.port_id = loop->ports[i].port_id,
			.pool = loop->pool,
			.addr_count = 4,
			.prefix_bits = { 24, 24, 64, 64 },
			.vlans = { [1] = { .id = VLAN } },
		};

		for (int k = 0; k < 4; k++)
			device.addrs[k] = network_address(texts[i][k]);
		cr_assert_eq(uroce_device_create(network->engine, &device, &devices[i]), 0);
	}
}

/* Connects from the first device to an address of the second one; the address that it came from. */
static struct uroce_addr connect_from(struct network *network, struct uroce_cm_channel *channel, struct uroce_pd *pd,
				      const char *dest)
{
	struct uroce_qp_init_attr init = calls_qp_init(network, 0);
	struct uroce_addr addr = network_address(dest);
	struct uroce_cm_event event;
	struct uroce_cm_id *id;
	struct uroce_qp *qp;

	cr_assert_eq(uroce_cm_id_create(channel, 1, &id), 0);
	cr_assert_eq(uroce_cm_qp_create(id, pd, &init, 0, &qp), 0);
	cr_assert_eq(uroce_cm_connect(id, NULL, &addr, CALLS_PORT, NULL), 0, "to %s", dest);
	event = calls_wait(channel, UROCE_CM_CONNECT_REQUEST);
	cr_assert_eq(uroce_cm_reject(event.id, NULL, 0), 0);
	calls_hang_up(event.id);
	calls_wait(channel, UROCE_CM_REJECTED);
	calls_hang_up(id);
	return event.peer;
}

Test(source_address, matching_source_address_is_chosen)
{
	static const char *const rows[][2] = {
		{ "10.9.0.2", "10.9.0.9" },
		{ "10.9.100.2", "10.9.100.9" },
		{ "fe80::2:2", "fe80::9" },
		{ "fd00::2", "fd00::9" },
	};
	static struct network network;
	struct uroce_addr far = network_address("10.8.0.2");
	struct uroce_cm_id *listener, *id;
	struct uroce_device *devices[2];
	struct uroce_cm_channel *channel;
	struct uroce_qp_init_attr init;
	struct drivers_loop loop;
	struct uroce_pd *pd;
	struct uroce_qp *qp;
	struct uroce_cq *cq;

	RULE("C-27");
	calls_open(&network, 1, &channel);
	open_devices(&network, &loop, devices);
	cr_assert_eq(uroce_cm_listen(channel, NULL, CALLS_PORT, 8, 0, &listener), 0);
	cr_assert_eq(uroce_pd_alloc(devices[0], &pd), 0);
	cq = network.ends[0].cq;
	cr_assert_eq(uroce_cq_create(devices[0], 16, &network.ends[0].cq), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct uroce_addr from = connect_from(&network, channel, pd, rows[i][0]);

		cr_expect_arr_eq(from.bytes, network_address(rows[i][1]).bytes, 16, "to %s", rows[i][0]);
	}
	init = calls_qp_init(&network, 0);
	cr_assert_eq(uroce_cm_id_create(channel, 1, &id), 0);
	cr_assert_eq(uroce_cm_qp_create(id, pd, &init, 0, &qp), 0);
	cr_expect_eq(uroce_cm_connect(id, NULL, &far, CALLS_PORT, NULL), -ENETUNREACH);
	cr_expect_not_null(strstr(uroce_last_error(), " has no address of that family"), "%s", uroce_last_error());
	calls_hang_up(id);
	cr_assert_eq(uroce_cq_destroy(network.ends[0].cq), 0);
	network.ends[0].cq = cq;
	cr_assert_eq(uroce_pd_dealloc(pd), 0);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(uroce_device_destroy(devices[i]), 0);
	cr_assert_eq(drivers_loop_close(&loop), 0);
	calls_close(&network, channel, listener);
}
