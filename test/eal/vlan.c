/* vlan.c - two devices whose paths are of a VLAN: what is on the wire, who hears whom */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "network.h"
#include "rule.h"
#include "start.h"
#include "wire/encap.h"

#define BYTES 100001u
#define UNTAGGED 0xF000u /* as a priority tag it would have bits that nobody sets */

TestSuite(vlan, .init = test_eal_start, .timeout = 60);

/* ---- what a port receives ---- */

static struct seen {
	uint32_t roce, neighbours;
	uint32_t other_tags; /* frames that have not the wanted tag; of neighbours the VLAN counts: who answers about an
			      * address repeats the tag of the question */
	uint16_t wanted_tci; /* UNTAGGED: none */
} seen[2];

static uint16_t look(uint16_t port, uint16_t queue, struct rte_mbuf **burst, uint16_t count, uint16_t max,
		     void *argument)
{
	struct seen *at = argument;

	(void)port, (void)queue, (void)max;
	for (uint16_t i = 0; i < count; i++) {
		struct wire_encap encap;
		enum wire_frame kind = wire_encap_parse(rte_pktmbuf_mtod(burst[i], const uint8_t *),
							rte_pktmbuf_data_len(burst[i]), true, &encap);

		at->roce += kind == WIRE_FRAME_ROCE;
		at->neighbours += kind == WIRE_FRAME_ARP || kind == WIRE_FRAME_ICMP6;
		if (kind == WIRE_FRAME_ROCE)
			at->other_tags += (encap.vlan ? encap.vlan_tci : UNTAGGED) != at->wanted_tci;
		else
			at->other_tags += ((encap.vlan_tci ^ at->wanted_tci) & WIRE_VLAN_ID) != 0;
	}
	return count;
}

/* Each end sends with the tag that the other one's port is to see. */
static void open_vlans(struct network *network, bool ipv6, const uint16_t vlan_ids[2], const uint8_t priorities[2])
{
	network_open(network, 1);
	for (int i = 0; i < 2; i++)
		network_create_qp(network, i, 64, -1);
	for (int i = 0; i < 2; i++) {
		uint16_t tci = (uint16_t)(priorities[!i] << 13 | vlan_ids[!i]);

		seen[i] = (struct seen){ .wanted_tci = tci ? tci : UNTAGGED };
		cr_assert_not_null(rte_eth_add_rx_callback(network->loop.ports[i].port_id, 0, look, &seen[i]));
		network->vlan_ids[i] = vlan_ids[i];
		network->vlan_priorities[i] = priorities[i];
	}
	network_connect(network, ipv6);
}

static void transfer(struct network *network)
{
	cr_assert_eq(network_post(network, UROCE_WR_RDMA_WRITE, BYTES), 0);
	cr_assert_eq(network_wait(network, 0).status, UROCE_WC_SUCCESS);
	cr_assert_arr_eq(network->ends[1].buffer, network->ends[0].buffer, BYTES);
	memset(network->ends[1].buffer, 0x42, BYTES);
	cr_assert_eq(network_post(network, UROCE_WR_RDMA_READ, BYTES), 0);
	cr_assert_eq(network_wait(network, 0).status, UROCE_WC_SUCCESS);
	cr_assert_arr_eq(network->ends[0].buffer, network->ends[1].buffer, BYTES);
}

/* Requests, answers, ACKs and the questions for addresses: all of them carry the tag, and the priority of who sends. */
Test(vlan, every_frame_of_a_path_carries_its_tag)
{
	static const struct {
		uint16_t vlan_ids[2];
		uint8_t priorities[2];
	} rows[] = {
		{ { 100, 100 }, { 0, 0 } },   { { 100, 100 }, { 3, 5 } }, { { 1, 1 }, { 7, 0 } },
		{ { 4094, 4094 }, { 7, 7 } }, { { 0, 0 }, { 0, 0 } },     { { 0, 0 }, { 6, 0 } }, /* a priority alone */
	};

	RULE("W-1");
	RULE("W-8");
	for (uint32_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
		static struct network network;

		open_vlans(&network, i % 2, rows[i / 2].vlan_ids, rows[i / 2].priorities);
		transfer(&network);
		for (int end = 0; end < 2; end++) {
			cr_expect_gt(seen[end].roce, 10, "row %u", i);
			cr_expect_gt(seen[end].neighbours, 0, "row %u", i);
			cr_expect_eq(seen[end].other_tags, 0, "row %u, end %d", i, end);
			cr_expect_eq(network_counter(&network, end, "drop_vlan"), 0);
		}
		cr_expect_eq(network_counter(&network, 0, "retransmitted_packets"), 0);
		network_close(&network);
	}
}

/* Frames of another VLAN are not received, and each is counted as such. */
Test(vlan, a_frame_of_another_vlan_is_dropped_and_counted)
{
	static const uint16_t rows[][2] = { { 100, 200 }, { 100, 0 }, { 0, 100 } };
	static const uint8_t none[2];

	RULE("W-1");
	RULE("W-5");
	for (uint32_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
		static struct network network;

		open_vlans(&network, i % 2, rows[i / 2], none);
		cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 8), 0);
		cr_expect_eq(network_wait(&network, 0).status, UROCE_WC_RETRY_EXC_ERR, "row %u", i);
		cr_expect_geq(network_counter(&network, 1, "drop_vlan"), 4, "row %u", i);
		cr_expect_eq(network_counter(&network, 1, "drop_address"), 0, "row %u", i);
		cr_expect_eq(network_counter(&network, 1, "rx_write_requests"), 0, "row %u", i);
		network_event(&network, 0, UROCE_EVENT_QP_FATAL);
		network_close(&network);
	}
}

/* There is no VLAN 4095, and a priority has three bits. */
Test(vlan, a_path_of_an_impossible_vlan_is_refused)
{
	static struct network network;
	struct uroce_qp_attr attr = {
		.dest_qp_num = 5,
		.path = { .source = network_address("10.0.0.1"), .dest = network_address("10.0.0.2") },
	};

	network_open(&network, 1);
	network_create_qp(&network, 0, 64, -1);
	for (int i = 0; i < 3; i++) {
		uint32_t bad = 0;
		int error;

		attr.path.vlan_id = (uint16_t[]){ 4095, 5, 4094 }[i];
		attr.path.vlan_priority = (uint8_t[]){ 0, 8, 7 }[i];
		error = uroce_qp_connect(network.ends[0].qp, &attr, &bad);
		cr_expect_eq(error, i == 2 ? 0 : -EINVAL, "%d: %d %s", i, error, uroce_qp_attr_name(bad));
		cr_expect_eq(bad, i == 2 ? 0 : UROCE_QP_PATH);
		if (error == 0)
			continue;
		attr.qp_state = UROCE_QPS_RESET;
		cr_assert_eq(uroce_qp_modify(network.ends[0].qp, &attr, UROCE_QP_STATE, NULL), 0);
	}
	cr_assert_eq(uroce_qp_query(network.ends[0].qp, &attr), 0);
	cr_expect_eq(attr.path.vlan_id, 4094);
	cr_expect_eq(attr.path.vlan_priority, 7);
	network_close(&network);
}
