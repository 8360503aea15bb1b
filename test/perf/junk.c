/* junk.c - makes junk frames, and measures windows with junk in turn with windows without */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_random.h>

#include "junk.h"
#include "raw_frame.h"
#include "window.h"

#define BURST 32u
#define POLL_FRAMES 128u /* frames that an lcore takes from a port in a poll */
#define STRANGERS 1024u
#define DRAIN_POLLS 1000u
#define QPN_AT 5u      /* offset in the BTH */
#define JUNK_BYTES 60u /* the shortest Ethernet frame; the port adds 4 bytes of checksum */

/* Size of a MAD, and offsets in it of what differs between requests to connect. */
#define MAD_BYTES 256u
#define QKEY 0x80010000u
enum { TRANSACTION_AT = 8, LOCAL_ID_AT = 24, SERVICE_AT = 32, QPN_AT_MAD = 56, GIDS_AT = 80, PRIVATE_AT = 164 };
enum { SERVED_PORT = 7, UNSERVED_PORT = 9 };

struct junk {
	enum perf_junk kind;
	struct perf_end *ends, *from, *to;
	struct perf_raw_frame shape;
	struct wire_packet request; /* the packet of frames with a MAD */
	const char *counter;
	uint32_t qpns[STRANGERS];
	uint8_t mad[MAD_BYTES];
	struct uroce_cm_channel *channel; /* channel of a listener, so that requests to connect are judged */
	struct uroce_cm_id *listener;
	uint64_t sent;
	uint64_t base_frames, base_sent; /* frames received and junk sent when a window began */
};

/* ---- junk frames ---- */

static bool is_known(const struct perf_end *ends, uint32_t qpn)
{
	for (unsigned side = 0; side < 2; side++) {
		for (uint32_t i = 0; i < ends[side].test.qps; i++) {
			if (uroce_qp_num(ends[side].flows[i].qp) == qpn)
				return true;
		}
	}
	return false;
}

static void choose_qpns(struct junk *junk)
{
	for (uint32_t i = 0; i < STRANGERS; i++) {
		do {
			junk->qpns[i] = (uint32_t)rte_rand_max(0xFFFFFF - 2) + 2;
		} while (is_known(junk->ends, junk->qpns[i]));
	}
}

static bool is_request(const struct junk *junk)
{
	return junk->kind >= PERF_JUNK_REQ_UNSERVED;
}

/* A valid request to connect: RC, path MTU 1024, from the port's address to the other's. */
static void make_mad(struct junk *junk)
{
	static const uint8_t fields[][2] = { { 0, 1 },
					     { 1, 7 },
					     { 2, 2 },
					     { 3, 3 },
					     { 17, 0x10 },
					     { 37, 1 },
					     { 38, 6 },
					     { 59, 4 },
					     { 63, 4 },
					     { 67, 18 << 3 },
					     { 71, 18 << 3 | 7 },
					     { 72, 0xFF },
					     { 73, 0xFF },
					     { 74, 3 << 4 | 7 },
					     { 75, 15 << 4 },
					     { 117, 64 },
					     { PRIVATE_AT + 1, 4 << 4 } };
	const uint8_t *from = junk->from->port->addr.bytes, *to = junk->to->port->addr.bytes;
	uint32_t skip = 12; /* an IPv4 address takes the last four bytes */

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		junk->mad[fields[i][0]] = fields[i][1];
	if (junk->kind == PERF_JUNK_REQ_BAD)
		junk->mad[1] = 1;
	junk->mad[SERVICE_AT + 7] = junk->kind == PERF_JUNK_REQ_OPEN ? SERVED_PORT : UNSERVED_PORT;
	memcpy(junk->mad + GIDS_AT, from, 16);
	memcpy(junk->mad + GIDS_AT + 16, to, 16);
	if (!encap_addr_is_ipv4(to)) {
		junk->mad[PRIVATE_AT + 1] = 6 << 4;
		skip = 0;
	}
	memcpy(junk->mad + PRIVATE_AT + 4 + skip, from + skip, 16 - skip);
	memcpy(junk->mad + PRIVATE_AT + 20 + skip, to + skip, 16 - skip);
}

static int open_channel(struct junk *junk)
{
	int error = uroce_cm_channel_create(junk->to->engine, &junk->channel);

	return error ? error : uroce_cm_listen(junk->channel, NULL, SERVED_PORT, 65536, 0, &junk->listener);
}

/* Requests that still wait get no answer. */
static void close_channel(struct junk *junk)
{
	struct uroce_cm_event event;

	while (junk->channel && uroce_cm_next(junk->channel, &event) == 0)
		uroce_cm_id_destroy(event.id);
	if (junk->listener)
		uroce_cm_id_destroy(junk->listener);
	if (junk->channel)
		uroce_cm_channel_destroy(junk->channel);
}

static void make_shape(struct junk *junk)
{
	struct uroce_device_info from, to;
	struct wire_encap encap = { .hop_limit = 64, .source_port = 0xC000, .dest_port = WIRE_UDP_PORT };
	const struct wire_packet packet = {
		.opcode = OP_SEND_ONLY,
		.pkey = 0xFFFF,
		.dest_qpn = uroce_qp_num(junk->to->flows[0].qp),
	};

	uroce_device_query(junk->from->port->device, &from);
	uroce_device_query(junk->to->port->device, &to);
	memcpy(encap.source_mac, from.mac.bytes, sizeof(encap.source_mac));
	memcpy(encap.dest_mac, to.mac.bytes, sizeof(encap.dest_mac));
	memcpy(encap.source, junk->from->port->addr.bytes, sizeof(encap.source));
	memcpy(encap.dest, junk->to->port->addr.bytes, sizeof(encap.dest));
	encap.ipv6 = !encap_addr_is_ipv4(encap.dest);
	junk->request = (struct wire_packet){
		.opcode = OP_UD_SEND_ONLY,
		.pkey = 0xFFFF,
		.dest_qpn = 1,
		.qkey = QKEY,
		.source_qpn = 1,
		.payload = junk->mad,
		.payload_bytes = MAD_BYTES,
	};
	perf_raw_frame_make(&packet, &encap, &junk->shape);
	make_mad(junk);
}

static void fill(struct junk *junk, struct rte_mbuf *mbuf, uint64_t number)
{
	uint8_t *frame = rte_pktmbuf_mtod(mbuf, uint8_t *), *icrc = frame + junk->shape.frame_bytes - WIRE_ICRC_BYTES;
	uint32_t psn = (uint32_t)number & 0xFFFFFF;

	if (is_request(junk)) {
		store_be64(junk->mad + TRANSACTION_AT, number + 1);
		store_be32(junk->mad + LOCAL_ID_AT, (uint32_t)number + 1);
		store_be24(junk->mad + QPN_AT_MAD, (uint32_t)(number % 0xFFFFF0) + 2);
		junk->request.psn = psn;
		mbuf->data_len = (uint16_t)wire_frame_build(&junk->shape.template, &junk->request, frame);
		mbuf->pkt_len = mbuf->data_len;
	} else if (junk->kind == PERF_JUNK_ICRC) {
		shape_fill(&junk->shape, mbuf, psn, NULL, true);
		store_le32(icrc, ~load_le32(icrc));
	} else {
		shape_fill(&junk->shape, mbuf, psn, frame, false);
		store_be24(frame + junk->shape.bth_offset + QPN_AT, junk->qpns[number % STRANGERS]);
	}
	if (mbuf->pkt_len < JUNK_BYTES)
		mbuf->pkt_len = mbuf->data_len = JUNK_BYTES;
}

static void send_junk(struct junk *junk, uint64_t count)
{
	const struct drivers_ethdev *port = junk->from->port->ethdev;
	struct rte_mbuf *burst[BURST];

	while (count) {
		uint16_t wanted = (uint16_t)RTE_MIN(count, (uint64_t)BURST), sent;

		if (rte_pktmbuf_alloc_bulk(port->pool, burst, wanted) != 0)
			return;
		for (uint16_t i = 0; i < wanted; i++)
			fill(junk, burst[i], junk->sent + i);
		sent = rte_eth_tx_burst(port->port_id, 0, burst, wanted);
		rte_pktmbuf_free_bulk(&burst[sent], wanted - sent);
		junk->sent += sent;
		if (sent < wanted)
			return;
		count -= wanted;
	}
}

/* ---- windows ---- */

static uint64_t frames_received(const struct junk *junk)
{
	struct drivers_ethdev_stats stats;

	return drivers_ethdev_stats(junk->to->port->ethdev, &stats) == 0 ? stats.rx_frames : 0;
}

/* Sends junk until there is as much of it as of good frames. Returns the cycles this took, which do not count. */
static uint64_t send_beside(void *argument)
{
	struct junk *junk = argument;
	uint64_t began = rte_rdtsc();
	uint64_t all = frames_received(junk) - junk->base_frames, bad = junk->sent - junk->base_sent;

	if (all > 2 * bad)
		send_junk(junk, RTE_MIN(all - 2 * bad, (uint64_t)POLL_FRAMES));
	return rte_rdtsc() - began;
}

static double run_beside(struct junk *junk, uint64_t cycles)
{
	junk->base_frames = frames_received(junk);
	junk->base_sent = junk->sent;
	return perf_window_run_beside(junk->ends, cycles, send_beside, junk);
}

/* Junk frames refused in a second of the lcore's time. */
static double run_alone(struct junk *junk, uint64_t cycles)
{
	uint64_t first = rte_rdtsc(), before = junk->sent, spent = 0, began;

	do {
		send_junk(junk, POLL_FRAMES);
		began = rte_rdtsc();
		uroce_lcore_poll(junk->to->lcore);
		spent += rte_rdtsc() - began;
	} while (rte_rdtsc() - first < cycles);
	return (double)(junk->sent - before) * (double)rte_get_tsc_hz() / (double)spent;
}

static void measure(struct junk *junk, struct perf_junk_result *result)
{
	double refused[WINDOW_PAIRS], shares[WINDOW_PAIRS];
	uint64_t cycles = perf_window_cycles(junk->ends[0].test.seconds);
	uint32_t count = 0;

	perf_window_run(junk->ends, cycles / 8);
	junk->ends[0].tally.messages = junk->ends[0].tally.cycles = junk->ends[0].tally.frames = 0;
	for (; count < WINDOW_PAIRS && perf_window_goes_on(junk->ends); count += perf_window_goes_on(junk->ends)) {
		struct perf_tally alone;
		double rate = perf_window_run(junk->ends, cycles);

		alone = junk->ends[0].tally;
		shares[count] = run_beside(junk, cycles) / rate;
		refused[count] = run_alone(junk, cycles);
		if (!window_failed(junk->ends))
			junk->ends[0].tally = alone;
	}
	if (window_failed(junk->ends) || count == 0)
		return;
	*result = (struct perf_junk_result){
		.measured = true,
		.refused_per_s = perf_window_spread(refused, count).median,
		.share = perf_window_spread(shares, count),
	};
}

/* Number of junk frames that were judged and refused, by the counters meant for this kind of junk. */
static uint64_t count_refused(const struct junk *junk)
{
	if (is_request(junk))
		return perf_end_counter(junk->to, "rx_gsi") + perf_end_counter(junk->to, "drop_gsi_budget");
	return perf_end_counter(junk->to, junk->counter);
}

int perf_junk_run(struct perf_end *ends, enum perf_junk kind, struct perf_junk_result *result)
{
	bool fetches = perf_ops[ends[0].test.op].fetches;
	struct junk *junk = calloc(1, sizeof(*junk));
	uint64_t before;
	int error = 0;

	memset(result, 0, sizeof(*result));
	if (junk == NULL)
		return -ENOMEM;
	junk->kind = kind;
	junk->ends = ends;
	junk->from = &ends[fetches];
	junk->to = &ends[!fetches];
	junk->counter = kind == PERF_JUNK_ICRC ? "rx_icrc_encapsulated" : "drop_unknown_qpn";
	choose_qpns(junk);
	make_shape(junk);
	if (is_request(junk))
		error = open_channel(junk);
	/* Waits for answers to junk of the last case, which went in the other direction. */
	for (uint32_t i = 0; i < DRAIN_POLLS; i++) {
		uroce_lcore_poll(junk->to->lcore);
		uroce_lcore_poll(junk->from->lcore);
	}
	before = count_refused(junk);
	if (error == 0)
		measure(junk, result);
	if (error == 0 && count_refused(junk) - before != junk->sent)
		error = -EIO;
	close_channel(junk);
	free(junk);
	return error;
}
