/* calls.c - both ends of connections by address over a network of loop ports */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

#include <criterion/criterion.h>
#include <string.h>

#include "engine/clock.h"
#include "engine/connect.h"
#include "engine/engine.h"
#include "engine/gsi.h"
#include "engine/lcore_state.h"
#include "engine/port.h"
#include "rc/path.h"

struct uroce_qp_init_attr calls_qp_init(const struct network *network, int end)
{
	return (struct uroce_qp_init_attr){
		.send_cq = network->ends[end].cq,
		.recv_cq = network->ends[end].cq,
		.max_send_wr = 16,
		.max_recv_wr = 16,
		.max_send_sge = 1,
		.max_recv_sge = 1,
		.max_dest_rd_atomic = 8,
	};
}

void calls_open(struct network *network, unsigned lcores, struct uroce_cm_channel **channel)
{
	network_open(network, lcores);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(uroce_cq_create(network->ends[i].device, 65536, &network->ends[i].cq), 0);
	cr_assert_eq(uroce_cm_channel_create(network->engine, channel), 0);
}

static void expect_nothing_left(struct network *network)
{
	struct uroce_cm_usage usage = { 1, 1, 1, 1 };

	cr_assert_eq(uroce_cm_usage(network->engine, &usage), 0);
	cr_expect_eq(usage.connections, 0, "%u connections are left", usage.connections);
	cr_expect_eq(usage.half_open, 0);
	cr_expect_eq(usage.timers, 0);
}

struct uroce_cm_event calls_wait(struct uroce_cm_channel *channel, enum uroce_cm_event_type type)
{
	struct uroce_cm_event event;
	int error = uroce_cm_wait(channel, CALLS_PATIENCE_MS, &event);

	cr_assert_eq(error, 0, "%s does not come: %s", uroce_cm_event_name(type), strerror(-error));
	cr_assert_eq(event.type, type, "%s came, and not %s: %s", uroce_cm_event_name(event.type),
		     uroce_cm_event_name(type), strerror(-event.status));
	return event;
}

struct uroce_cm_id *calls_dial(struct network *network, struct uroce_cm_channel *channel, const char *dest,
			       const struct uroce_cm_options *options)
{
	struct uroce_qp_init_attr init = calls_qp_init(network, 0);
	struct uroce_addr addr = network_address(dest);
	struct uroce_cm_id *id;
	struct uroce_qp *qp;

	cr_assert_eq(uroce_cm_id_create(channel, 1, &id), 0);
	cr_assert_eq(uroce_cm_qp_create(id, network->ends[0].pd, &init, UROCE_ACCESS_REMOTE_WRITE, &qp), 0);
	cr_assert_eq(uroce_cm_connect(id, NULL, &addr, CALLS_PORT, options), 0);
	return id;
}

void calls_answer(struct network *network, struct uroce_cm_id *id, const struct uroce_cm_options *options)
{
	struct uroce_qp_init_attr init = calls_qp_init(network, 1);
	struct uroce_qp *qp;

	cr_assert_eq(uroce_cm_qp_create(id, network->ends[1].pd, &init, UROCE_ACCESS_REMOTE_WRITE, &qp), 0);
	cr_assert_eq(uroce_cm_accept(id, options), 0);
}

struct wire_packet calls_packet(const uint8_t *mad)
{
	return (struct wire_packet){
		.opcode = OP_UD_SEND_ONLY,
		.dest_qpn = CM_QPN,
		.pkey = 0xFFFF,
		.qkey = CM_QKEY,
		.source_qpn = CM_QPN,
		.payload_bytes = CM_MAD_BYTES,
		.payload = mad,
	};
}

void calls_give_packet(struct network *network, int end, const char *source, const struct wire_packet *packet)
{
	static const char *const own[2] = { "10.0.0.1", "10.0.0.2" };
	struct uroce_addr from = network_address(source), to = network_address(own[end]);
	struct uroce_lcore *lcore = network->engine->lcores[0];
	struct engine_port *port = engine_find_port(lcore, network->ends[end].device);
	struct rc_origin origin = { .source = from.bytes, .dest = to.bytes, .device = network->ends[end].device };
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(network->loop.pool);

	cr_assert_not_null(mbuf);
	network_poll(network);
	cr_assert_not(engine_gsi_receive(lcore, port, mbuf, packet, &origin));
	rte_pktmbuf_free(mbuf);
}

void calls_give(struct network *network, int end, const char *source, const uint8_t *mad)
{
	struct wire_packet packet = calls_packet(mad);

	calls_give_packet(network, end, source, &packet);
}

void calls_hang_up(struct uroce_cm_id *id)
{
	cr_assert_eq(uroce_cm_close(id), 0);
}

void calls_end(struct network *network)
{
	uint64_t began = engine_now_ns();
	struct uroce_cm_usage usage;

	while (uroce_cm_usage(network->engine, &usage) == 0 && usage.connections &&
	       engine_now_ns() - began < 30000000000ull)
		network_poll(network);
	expect_nothing_left(network);
}

void calls_close(struct network *network, struct uroce_cm_channel *channel, struct uroce_cm_id *listener)
{
	calls_end(network);
	if (listener)
		cr_assert_eq(uroce_cm_id_destroy(listener), 0);
	cr_assert_eq(uroce_cm_channel_destroy(channel), 0);
	network_close(network);
}

void calls_take_event(struct network *network, const struct uroce_cm_event *event, uint32_t *established,
		      uint32_t *ended)
{
	switch (event->type) {
	case UROCE_CM_CONNECT_REQUEST:
		calls_answer(network, event->id, NULL);
		break;
	case UROCE_CM_ESTABLISHED:
		++*established;
		break;
	case UROCE_CM_DISCONNECTED:
		++*ended;
		calls_hang_up(event->id);
		break;
	case UROCE_CM_REJECTED:
	case UROCE_CM_UNREACHABLE:
	case UROCE_CM_ALTERNATE:
	case UROCE_CM_UD_RESOLVED:
	case UROCE_CM_ROUTE_RESOLVED:
	case UROCE_CM_CONNECT_RESPONSE:
	case UROCE_CM_TIMEWAIT_EXIT:
	case UROCE_CM_EVENT_TYPES:
		cr_assert(false, "%s: %s, reason %u", uroce_cm_event_name(event->type), strerror(-event->status),
			  event->reason);
	}
}
