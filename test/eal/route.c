/* route.c - a peer in another subnet: frames go to the gateway's MAC, and nowhere without one */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "drivers/loop/loop.h"
#include "network.h"
#include "rule.h"
#include "start.h"
#include "wire/encap.h"
#include "wire/neighbour.h"

#define VLAN 100
#define PRIORITY 5

TestSuite(route, .init = test_eal_start, .timeout = 60);

static const uint8_t router_mac[6] = { 2, 0, 0, 0, 0, 0xFE };

/* A device on one end of a wire; the test is whatever is at the other. */
static struct stand {
	struct drivers_loop loop;
	struct uroce_engine *engine;
	struct uroce_device *device;
	struct uroce_pd *pd;
	struct uroce_cq *cq;
	struct uroce_qp *qp;
	struct uroce_path path;
} stand;

static void open_stand(const char *own, const char *gateway, const char *dest, struct uroce_vlan vlan)
{
	struct uroce_engine_config config = { .lcore_count = 1 };
	struct uroce_qp_init_attr init = { .max_send_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 };
	struct drivers_loop_config wires = { .queue_count = 1 };
	struct uroce_device_config device = { .addr_count = 1, .vlans = { vlan } };
	struct uroce_error error = { "" };
	unsigned bits;

	memset(&stand, 0, sizeof(stand));
	cr_assert_eq(drivers_loop_open(&wires, &stand.loop, &error), 0, "%s", error.text);
	cr_assert_eq(uroce_engine_create(&config, &stand.engine), 0);
	cr_assert_eq(uroce_addr_parse(own, &device.addrs[0], &bits), 0);
	device.prefix_bits[0] = (uint8_t)bits;
	if (gateway)
		device.gateways[0] = network_address(gateway);
	device.port_id = stand.loop.ports[0].port_id;
	device.pool = stand.loop.pool;
	cr_assert_eq(uroce_device_create(stand.engine, &device, &stand.device), 0);
	cr_assert_eq(uroce_pd_alloc(stand.device, &stand.pd), 0);
	cr_assert_eq(uroce_cq_create(stand.device, 16, &stand.cq), 0);
	init.send_cq = init.recv_cq = stand.cq;
	cr_assert_eq(uroce_qp_create(stand.pd, &init, &stand.qp), 0);
	stand.path = (struct uroce_path){ .source = device.addrs[0], .dest = network_address(dest) };
}

static void close_stand(void)
{
	cr_assert_eq(uroce_qp_destroy(stand.qp), 0);
	cr_assert_eq(uroce_cq_destroy(stand.cq), 0);
	cr_assert_eq(uroce_pd_dealloc(stand.pd), 0);
	cr_assert_eq(uroce_device_destroy(stand.device), 0);
	cr_assert_eq(uroce_engine_destroy(stand.engine), 0);
	cr_assert_eq(drivers_loop_close(&stand.loop), 0);
}

static int connect_stand(uint32_t *bad)
{
	struct uroce_qp_attr attr = { .dest_qp_num = 5, .timeout = 14, .retry_cnt = 7, .path = stand.path };

	return uroce_qp_connect(stand.qp, &attr, bad);
}

/* The next frame that the device sends, in bytes. */
static uint32_t next_frame(uint8_t *bytes, uint32_t room)
{
	struct rte_mbuf *frame;
	uint32_t length;

	for (int poll = 0; poll < 1000000; poll++) {
		uroce_lcore_poll(uroce_engine_lcore(stand.engine, 0));
		if (rte_eth_rx_burst(stand.loop.ports[1].port_id, 0, &frame, 1) == 0)
			continue;
		length = rte_pktmbuf_data_len(frame);
		cr_assert_leq(length, room);
		memcpy(bytes, rte_pktmbuf_mtod(frame, const void *), length);
		rte_pktmbuf_free(frame);
		return length;
	}
	cr_assert_fail("no frame came");
	return 0;
}

static void answer(const struct wire_neighbour *request)
{
	struct rte_mbuf *frame = rte_pktmbuf_alloc(stand.loop.pool);
	uint8_t bytes[WIRE_NEIGHBOUR_MAX_BYTES];
	uint32_t length = wire_neighbour_reply(router_mac, request->target, request, request->sender_mac, bytes);

	memcpy(rte_pktmbuf_append(frame, (uint16_t)length), bytes, length);
	cr_assert_eq(rte_eth_tx_burst(stand.loop.ports[1].port_id, 0, &frame, 1), 1);
}

static void expect_goes_over(const char *hop)
{
	struct uroce_send_wr wr = { .opcode = UROCE_WR_RDMA_WRITE };
	struct uroce_addr addr = network_address(hop);
	struct wire_neighbour request;
	struct wire_encap encap;
	uint8_t frame[2048];
	uint32_t bytes;

	cr_assert_eq(uroce_qp_post_send(stand.qp, &wr, NULL), 0);
	bytes = next_frame(frame, sizeof(frame));
	cr_assert(wire_neighbour_parse(frame, bytes, &request));
	cr_assert_eq(request.kind, WIRE_NEIGHBOUR_REQUEST);
	cr_expect_arr_eq(request.target, addr.bytes, 16, "the gateway is asked for, not the peer");
	answer(&request);
	do {
		bytes = next_frame(frame, sizeof(frame));
	} while (wire_encap_parse(frame, bytes, true, &encap) != WIRE_FRAME_ROCE);
	cr_expect_arr_eq(frame, router_mac, 6);
	cr_expect_arr_eq(encap.dest, stand.path.dest.bytes, 16, "but the packet is the peer's");
	cr_expect_eq(encap.vlan ? encap.vlan_tci : 0, request.vlan_tci);
}

Test(route, a_peer_in_another_subnet_is_reached_through_the_gateway)
{
	RULE("W-8");
	open_stand("10.0.0.1/24", "10.0.0.254", "192.0.2.7", (struct uroce_vlan){ 0 });
	cr_assert_eq(connect_stand(NULL), 0);
	expect_goes_over("10.0.0.254");
	close_stand();
	open_stand("2001:db8::1/64", "fe80::fe", "2001:db8:5::7", (struct uroce_vlan){ 0 });
	cr_assert_eq(connect_stand(NULL), 0);
	expect_goes_over("fe80::fe");
	close_stand();
}

Test(route, paths_use_the_vlan_of_their_address)
{
	struct uroce_qp_attr attr;
	struct uroce_device_info info;

	RULE("W-1");
	open_stand("10.0.0.1/24", "10.0.0.254", "192.0.2.7", (struct uroce_vlan){ .id = VLAN, .priority = PRIORITY });
	cr_assert_eq(connect_stand(NULL), 0);
	cr_assert_eq(uroce_qp_query(stand.qp, &attr), 0);
	cr_expect_eq(attr.path.vlan_id, VLAN);
	cr_expect_eq(attr.path.vlan_priority, PRIORITY);
	uroce_device_query(stand.device, &info);
	cr_expect_eq(info.vlans[0].id, VLAN);
	cr_expect_eq(info.prefix_bits[0], 24);
	expect_goes_over("10.0.0.254");
	close_stand();
}

Test(route, peer_without_a_gateway_is_unreachable_unless_router_is_named)
{
	uint32_t bad = 0;

	open_stand("10.0.0.1/24", NULL, "192.0.2.7", (struct uroce_vlan){ 0 });
	cr_expect_eq(connect_stand(&bad), -ENETUNREACH);
	cr_expect_eq(bad, UROCE_QP_PATH);
	cr_expect_not_null(strstr(uroce_last_error(),
				  "192.0.2.7 is outside the network of 10.0.0.1, which has no gateway"),
			   "%s", uroce_last_error());
	close_stand();
	open_stand("10.0.0.1/24", NULL, "192.0.2.7", (struct uroce_vlan){ 0 });
	memcpy(stand.path.dest_mac.bytes, router_mac, 6);
	cr_expect_eq(connect_stand(NULL), 0);
	close_stand();
}
