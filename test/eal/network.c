/* network.c - two devices on loop ports, and a QP on each */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

#include "network.h"
#include "wire/frame.h"

#define POLLS_MAX 2000000u
#define REMOTE_ACCESS                                                                        \
	(UROCE_ACCESS_REMOTE_READ | UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_ATOMIC | \
	 UROCE_ACCESS_FLUSH_GLOBAL | UROCE_ACCESS_FLUSH_PERSISTENT)
#define ALL_ACCESS (REMOTE_ACCESS | UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_MW_BIND)

void network_fill_frame(struct rte_mbuf *mbuf, const struct wire_frame_template *template,
			const struct wire_packet *packet)
{
	mbuf->data_len = (uint16_t)wire_frame_build(template, packet, rte_pktmbuf_mtod(mbuf, uint8_t *));
	mbuf->pkt_len = mbuf->data_len;
}

struct uroce_addr network_address(const char *text)
{
	struct uroce_addr addr;

	cr_assert_eq(uroce_addr_parse(text, &addr, NULL), 0);
	return addr;
}

static const char *address_of(int end, bool ipv6)
{
	static const char *const texts[2][2] = { { "10.0.0.1", "fe80::1" }, { "10.0.0.2", "fe80::2" } };

	return texts[end][ipv6];
}

bool network_checks_first, network_acks_each;
uint32_t network_max_qps;
uint16_t network_sack_window;
const unsigned *network_lcore_ids;
uint32_t network_mtu_bytes;

void network_open(struct network *network, unsigned lcores)
{
	network_open_on(network, lcores, NULL);
}

void network_open_end(struct network *network, int index, unsigned lcores, uint16_t port_id, struct rte_mempool *pool)
{
	struct end *end = &network->ends[index];
	struct uroce_device_config device = {
		.port_id = port_id,
		.queue_count = (uint16_t)lcores,
		.pool = pool,
		.addr_count = 2,
		.addrs = { network_address(address_of(index, false)), network_address(address_of(index, true)) },
		.mtu_bytes = network_mtu_bytes,
	};

	cr_assert_eq(uroce_device_create(network->engine, &device, &end->device), 0);
	cr_assert_eq(uroce_pd_alloc(end->device, &end->pd), 0);
	end->buffer = malloc(NETWORK_BUFFER_BYTES);
	for (uint32_t b = 0; b < NETWORK_BUFFER_BYTES; b++)
		end->buffer[b] = (uint8_t)(b * 13 + (b >> 9) + (uint32_t)index);
	cr_assert_eq(uroce_mr_reg(end->pd, end->buffer, NETWORK_BUFFER_BYTES, ALL_ACCESS, &end->mr), 0);
}

void network_open_on(struct network *network, unsigned lcores, struct rte_mempool *const pools[2])
{
	struct uroce_engine_config config = {
		.lcore_ids = network_lcore_ids,
		.lcore_count = lcores,
		.max_qps = network_max_qps,
		.check_icrc_first = network_checks_first,
		.ack_each = network_acks_each,
	};
	struct drivers_loop_config loop = { .queue_count = (uint16_t)lcores };
	struct uroce_error error = { "" };

	memset(network, 0, sizeof(*network));
	network->timeout = 8;
	cr_assert_eq(drivers_loop_open(&loop, &network->loop, &error), 0, "%s", error.text);
	network->pool_free = rte_mempool_avail_count(network->loop.pool);
	cr_assert_eq(uroce_engine_create(&config, &network->engine), 0);
	for (int i = 0; i < 2; i++)
		network_open_end(network, i, lcores, network->loop.ports[i].port_id,
				 pools ? pools[i] : network->loop.pool);
}

void network_create_qp(struct network *network, int index, uint32_t cq_depth, int lcore)
{
	struct end *end = &network->ends[index];
	struct uroce_qp_init_attr init = {
		.max_send_wr = 64,
		.max_recv_wr = 64,
		.max_send_sge = 2,
		.max_recv_sge = 2,
		.max_dest_rd_atomic = 8,
		.qp_context = 77,
		.lcore = lcore < 0 ? NULL : uroce_engine_lcore(network->engine, (unsigned)lcore),
	};

	if (end->cq == NULL)
		cr_assert_eq(uroce_cq_create(end->device, cq_depth, &end->cq), 0);
	init.send_cq = init.recv_cq = end->cq;
	cr_assert_eq(uroce_qp_create(end->pd, &init, &end->qp), 0);
	cr_assert_eq(uroce_qp_query(end->qp, &end->attr), 0);
}

void network_connect(struct network *network, bool ipv6)
{
	for (int i = 0; i < 2; i++) {
		struct uroce_qp_attr attr = {
			.access_flags = REMOTE_ACCESS,
			.dest_qp_num = uroce_qp_num(network->ends[!i].qp),
			.rq_psn = network->ends[!i].attr.sq_psn,
			.sack_window = network_sack_window,
			.max_rd_atomic = 8,
			.max_dest_rd_atomic = 8,
			.timeout = network->timeout,
			.retry_cnt = 3,
			.rnr_retry = 7,
			.min_rnr_timer = 1,
			.cc = network->cc,
			.path = { .source = network_address(address_of(i, ipv6)),
				  .dest = network_address(address_of(!i, ipv6)),
				  .traffic_class = network->traffic_class,
				  .vlan_id = network->vlan_ids[i],
				  .vlan_priority = network->vlan_priorities[i] },
		};
		uint32_t bad = 0;

		cr_assert_eq(uroce_qp_connect(network->ends[i].qp, &attr, &bad), 0, "%s: %s", uroce_qp_attr_name(bad),
			     uroce_last_error());
	}
}

void network_open_connected(struct network *network, unsigned lcores, uint32_t depth)
{
	network_open(network, lcores);
	network_create_qp(network, 0, depth, -1);
	network_create_qp(network, 1, depth, -1);
	network_connect(network, false);
}

void network_open_sized(struct network *network, uint32_t max_qps)
{
	network_max_qps = max_qps;
	network_open(network, 1);
	cr_assert_eq(uroce_cq_create(network->ends[0].device, 16, &network->ends[0].cq), 0);
}

void network_open_ends(struct network *network)
{
	network_open(network, 1);
	network_create_qp(network, 0, 64, -1);
	network_create_qp(network, 1, 64, -1);
}

const char *const network_second_link[2] = { "10.0.1.1", "10.0.1.2" };

struct uroce_qp_attr network_alternate(struct uroce_device *device, int end)
{
	return (struct uroce_qp_attr){
		.alt_path = { .source = network_address(network_second_link[end]),
			      .dest = network_address(network_second_link[!end]),
			      .device = device },
		.alt_pkey = 0xFFFF,
		.alt_timeout = 10,
		.path_mig_state = UROCE_PATH_REARM,
	};
}

uint64_t network_frames_sent(struct network *network, int end)
{
	struct uroce_stats stats;

	uroce_device_stats(network->ends[end].device, &stats);
	return stats.tx_frames;
}

void *network_poll_until_stopped(void *argument)
{
	struct network *network = argument;

	while (!network->stop)
		network_poll(network);
	return NULL;
}

void network_poll(struct network *network)
{
	for (unsigned i = 0; i < uroce_engine_lcore_count(network->engine); i++)
		uroce_lcore_poll(uroce_engine_lcore(network->engine, i));
}

/* Polls until a completion comes. */
struct uroce_wc network_wait(struct network *network, int end)
{
	struct uroce_wc wc = { .wr_id = 0 };

	for (uint32_t i = 0; i < POLLS_MAX; i++) {
		network_poll(network);
		if (uroce_cq_poll(network->ends[end].cq, 1, &wc) == 1)
			return wc;
	}
	cr_assert(false, "no completion came");
	return wc;
}

int network_post(struct network *network, enum uroce_wr_opcode opcode, uint32_t bytes)
{
	struct uroce_sge sge = {
		.addr = (uintptr_t)network->ends[0].buffer,
		.length = bytes,
		.lkey = uroce_mr_lkey(network->ends[0].mr),
	};
	struct uroce_send_wr wr = {
		.wr_id = 5,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = UROCE_SEND_SIGNALED,
		.remote_addr = (uintptr_t)network->ends[1].buffer,
		.rkey = uroce_mr_rkey(network->ends[1].mr),
		.compare_add = 3,
	};

	return uroce_qp_post_send(network->ends[0].qp, &wr, NULL);
}

uint64_t network_counter(struct network *network, int end, const char *name)
{
	struct uroce_stats stats;

	uroce_device_stats(network->ends[end].device, &stats);
	cr_assert_geq(uroce_counter_find(name), 0);
	return stats.values[uroce_counter_find(name)];
}

struct uroce_event network_event(struct network *network, int end, uint32_t type)
{
	struct uroce_event event = { .type = UROCE_EVENT_TYPES };

	for (uint32_t i = 0; i < POLLS_MAX; i++) {
		if (uroce_event_poll(network->ends[end].device, &event)) {
			cr_assert_eq(event.type, type, "%s came, not %s", uroce_event_name(event.type),
				     uroce_event_name(type));
			return event;
		}
		network_poll(network);
	}
	cr_assert(false, "no event %s came", uroce_event_name(type));
	return event;
}

static void close_objects(struct end *end)
{
	if (end->qp) {
		cr_assert_eq(uroce_cq_destroy(end->cq), -EBUSY);
		cr_assert_eq(uroce_qp_destroy(end->qp), 0);
	}
	if (end->cq)
		cr_assert_eq(uroce_cq_destroy(end->cq), 0);
	cr_assert_eq(uroce_pd_dealloc(end->pd), -EBUSY);
	cr_assert_eq(uroce_mr_dereg(end->mr), 0);
	cr_assert_eq(uroce_pd_dealloc(end->pd), 0);
}

void network_close_end(struct network *network, int index)
{
	struct end *end = &network->ends[index];

	close_objects(end);
	cr_assert_eq(uroce_device_destroy(end->device), 0);
	free(end->buffer);
	end->device = NULL;
}

void network_close_ends(struct network *network)
{
	for (int i = 0; i < 2; i++) {
		if (network->ends[i].device)
			close_objects(&network->ends[i]);
	}
	/* frames still on the wire come in and are dropped */
	for (int i = 0; i < 100; i++)
		network_poll(network);
	for (int i = 0; i < 2; i++) {
		if (network->ends[i].device == NULL)
			continue;
		cr_assert_eq(uroce_device_destroy(network->ends[i].device), 0);
		free(network->ends[i].buffer);
	}
	cr_assert_eq(uroce_engine_destroy(network->engine), 0);
}

void network_close(struct network *network)
{
	network_close_ends(network);
	cr_assert_eq(rte_mempool_avail_count(network->loop.pool), network->pool_free, "mbufs are missing");
	cr_assert_eq(drivers_loop_close(&network->loop), 0);
}
