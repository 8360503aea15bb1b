/* show.c - prints tables about ports, queue pairs, the queues and regions that those share, and counters */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "common/clock.h"
#include "common/names.h"
#include "testpmd/show.h"

static struct uroce_stats cleared[SETTINGS_PORTS]; /* counters at the last clear */
static struct uroce_stats shown[SETTINGS_PORTS];   /* counters when statistics were last shown, and when that was */
static double shown_at[SETTINGS_PORTS];

static void show_link(const struct drivers_ethdev *port)
{
	double gbit_per_s = 0;
	bool up = drivers_ethdev_link_is_up(port, 0, &gbit_per_s);

	printf("  link %s", up ? "up" : "down");
	if (up && gbit_per_s > 0)
		printf(", %g Gbit/s", gbit_per_s);
	printf("; %u receive and %u transmit descriptors per queue; %u mbufs of %u bytes%s\n", port->rx_desc,
	       port->tx_desc, port->pool->size, rte_pktmbuf_data_room_size(port->pool) - RTE_PKTMBUF_HEADROOM,
	       port->frames_in_pieces ? ", a long frame uses several mbufs" : "");
}

static unsigned first_of(int port)
{
	return port == SHOW_ALL ? 0 : (unsigned)port;
}

static unsigned end_of(const struct traffic *traffic, int port)
{
	return port == SHOW_ALL ? traffic->port_count : (unsigned)port + 1;
}

void show_port_info(const struct traffic *traffic, int port)
{
	for (unsigned i = first_of(port); i < end_of(traffic, port); i++) {
		const struct app_port *one = traffic->ports[i].port;
		struct uroce_device_info info;
		char text[64];

		uroce_device_query(one->device, &info);
		printf("port %u: %s (driver %s), MAC %02x:%02x:%02x:%02x:%02x:%02x, %u queues, path MTU up to %u\n", i,
		       one->ethdev->name, one->ethdev->driver, info.mac.bytes[0], info.mac.bytes[1], info.mac.bytes[2],
		       info.mac.bytes[3], info.mac.bytes[4], info.mac.bytes[5], one->ethdev->queue_count,
		       info.mtu_bytes);
		show_link(one->ethdev);
		for (uint32_t a = 0; a < info.addr_count; a++) {
			printf("  %s/%u", uroce_addr_format(&info.addrs[a], text, sizeof(text)), info.prefix_bits[a]);
			if (memcmp(&info.gateways[a], &(struct uroce_addr){ 0 }, sizeof(struct uroce_addr)) != 0)
				printf(", gateway %s", uroce_addr_format(&info.gateways[a], text, sizeof(text)));
			if (info.vlans[a].id || info.vlans[a].priority)
				printf(", VLAN %u, priority %u", info.vlans[a].id, info.vlans[a].priority);
			printf("\n");
		}
	}
}

/* How many received frames a port has dropped for any reason. */
static uint64_t dropped(const struct uroce_stats *stats)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < stats->count; i++) {
		if (strncmp(uroce_counter_name(i), "drop_", 5) == 0)
			sum += stats->values[i];
	}
	return sum;
}

/* Prints frames and bits a second since statistics were last shown; the first time nothing. */
static void show_throughput(const struct uroce_stats *now, const struct uroce_stats *before, double seconds)
{
	if (before->count == 0 || seconds <= 0)
		return;
	printf("  since the last show, %.1f s: received %.0f frames/s %.3f Gbit/s, sent %.0f frames/s %.3f Gbit/s\n",
	       seconds, (double)(now->rx_frames - before->rx_frames) / seconds,
	       (double)(now->rx_bytes - before->rx_bytes) * 8e-9 / seconds,
	       (double)(now->tx_frames - before->tx_frames) / seconds,
	       (double)(now->tx_bytes - before->tx_bytes) * 8e-9 / seconds);
}

void show_port_stats(const struct traffic *traffic, int port)
{
	for (unsigned i = first_of(port); i < end_of(traffic, port); i++) {
		const struct uroce_stats *base = &cleared[i];
		double time = app_now_seconds();
		struct uroce_stats now;

		uroce_device_stats(traffic->ports[i].port->device, &now);
		printf("port %u: received %lu frames %lu bytes, sent %lu frames %lu bytes, dropped %lu frames\n", i,
		       now.rx_frames - base->rx_frames, now.rx_bytes - base->rx_bytes, now.tx_frames - base->tx_frames,
		       now.tx_bytes - base->tx_bytes, dropped(&now) - dropped(base));
		show_throughput(&now, &shown[i], time - shown_at[i]);
		shown[i] = now;
		shown_at[i] = time;
		for (uint32_t c = 0; c < now.count; c++) {
			if (now.values[c] != base->values[c])
				printf("  %-32s %12lu  %s\n", uroce_counter_name(c), now.values[c] - base->values[c],
				       uroce_counter_text(c));
		}
	}
}

/* Prints the driver's own counters. */
static void show_driver_xstats(uint16_t port_id)
{
	int count = rte_eth_xstats_get(port_id, NULL, 0);
	struct rte_eth_xstat_name *names = calloc((size_t)RTE_MAX(count, 1), sizeof(*names));
	struct rte_eth_xstat *values = calloc((size_t)RTE_MAX(count, 1), sizeof(*values));

	if (names && values && count > 0 && rte_eth_xstats_get_names(port_id, names, (unsigned)count) == count &&
	    rte_eth_xstats_get(port_id, values, (unsigned)count) == count) {
		for (int i = 0; i < count; i++)
			printf("  %-32s %12lu\n", names[values[i].id].name, values[i].value);
	}
	free(names);
	free(values);
}

void show_port_xstats(const struct traffic *traffic, int port)
{
	for (unsigned i = first_of(port); i < end_of(traffic, port); i++) {
		struct uroce_stats now;

		uroce_device_stats(traffic->ports[i].port->device, &now);
		printf("port %u:\n", i);
		for (uint32_t c = 0; c < now.count; c++)
			printf("  %-32s %12lu\n", uroce_counter_name(c), now.values[c] - cleared[i].values[c]);
		show_driver_xstats(traffic->ports[i].port->ethdev->port_id);
	}
}

void show_clear(const struct traffic *traffic, int port, bool drivers)
{
	for (unsigned i = first_of(port); i < end_of(traffic, port); i++) {
		uroce_device_stats(traffic->ports[i].port->device, &cleared[i]);
		if (drivers)
			rte_eth_xstats_reset(traffic->ports[i].port->ethdev->port_id);
	}
}

void show_qps(struct traffic *traffic)
{
	uint32_t count;

	pthread_mutex_lock(&traffic->flows_lock);
	count = atomic_load(&traffic->flow_count);
	printf("%-10s %-5s %-6s %-6s %-10s %14s %16s\n", "QPN", "port", "role", "state", "peer", "messages", "bytes");
	for (uint32_t i = 0; i < count; i++) {
		struct flow *flow = &traffic->flows[i];
		struct uroce_qp_attr attr;

		if (uroce_qp_query(flow->qp, &attr) != 0)
			continue;
		printf("0x%06x   %-5u %-6s %-6s 0x%06x   %14lu %16lu\n", uroce_qp_num(flow->qp), flow->port,
		       flow->asks && flow->serves ? "both" :
		       flow->asks                 ? "sends" :
						    "serves",
		       uroce_qp_state_name(attr.qp_state), attr.dest_qp_num, atomic_load(&flow->messages),
		       atomic_load(&flow->bytes));
	}
	pthread_mutex_unlock(&traffic->flows_lock);
	if (count == 0)
		printf("none\n");
}

static uint32_t count_qps(const struct traffic *traffic, unsigned port, unsigned worker)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < atomic_load(&traffic->flow_count); i++)
		count += traffic->flows[i].port == port && traffic->flows[i].worker == worker;
	return count;
}

void show_cqs(struct traffic *traffic)
{
	printf("%-5s %-6s %-12s %s\n", "port", "lcore", "queue pairs", "room");
	for (unsigned p = 0; p < traffic->port_count; p++) {
		for (unsigned w = 0; w < traffic->worker_count; w++) {
			if (traffic->workers[w].cqs[p])
				printf("%-5u %-6u %-12u %u\n", p, w, count_qps(traffic, p, w), traffic->cq_depth);
		}
	}
}

void show_mrs(struct traffic *traffic)
{
	printf("%-5s %-18s %-14s %-12s %s\n", "port", "address", "bytes", "key", "peers may");
	for (unsigned p = 0; p < traffic->port_count; p++) {
		const struct traffic_port *port = &traffic->ports[p];

		printf("%-5u %-18p %-14lu 0x%08x   read, write, atomics, flush\n", p, (void *)port->memory,
		       traffic->memory_bytes, uroce_mr_rkey(port->objects.mr));
	}
}

void show_srqs(struct traffic *traffic)
{
	printf("%-5s %-9s %s\n", "port", "receives", "room");
	for (unsigned p = 0; p < traffic->port_count; p++) {
		struct uroce_srq_attr attr;

		if (traffic->ports[p].srq == NULL)
			continue;
		uroce_srq_query(traffic->ports[p].srq, &attr);
		printf("%-5u %-9u %u\n", p, attr.count, attr.max_wr);
	}
	if (!traffic->settings->srq)
		printf("no shared receive queues: --use-srq creates one per port\n");
}

static void tell_no_view(uint32_t qp_num, int error)
{
	printf("QP 0x%06x: %s\n", qp_num,
	       error == -ENOENT ? "this QP does not exist; \"show qp\" lists the QPs" : "its lcore does not poll");
}

static bool look_at_qp(struct traffic *traffic, uint32_t qp_num, struct uroce_qp_view *view)
{
	int error = uroce_inspect_qp(traffic->engine, qp_num, view);

	if (error)
		tell_no_view(qp_num, error);
	return error == 0;
}

void show_qp(struct traffic *traffic, uint32_t qp_num)
{
	struct uroce_qp_view view;
	char source[64], dest[64];

	if (!look_at_qp(traffic, qp_num, &view))
		return;
	printf("QP 0x%06x: %s, lcore %u, port %u\n", view.qp_num, uroce_qp_state_name(view.attr.qp_state), view.lcore,
	       view.port_id);
	printf("  peer QP 0x%06x at %s, local address %s, path MTU %u\n", view.attr.dest_qp_num,
	       uroce_addr_format(&view.attr.path.dest, dest, sizeof(dest)),
	       uroce_addr_format(&view.attr.path.source, source, sizeof(source)), view.attr.path_mtu);
	printf("  %u requests and %u receives posted; PSN acked %u, sent %u, expected %u\n", view.sends, view.receives,
	       view.acked_psn, view.sent_psn, view.expected_psn);
	printf("  timeout %u, retry_cnt %u, rnr_retry %u, round trip %.1f us\n", view.attr.timeout, view.attr.retry_cnt,
	       view.attr.rnr_retry, (double)view.round_trip_ns / 1e3);
	printf("  congestion control %s, ", app_cc_names[view.attr.cc]);
	if (view.attr.rate_mbps)
		printf("at most %u Mbit/s\n", view.attr.rate_mbps);
	else
		printf("no limit\n");
	if (view.attr.paths)
		printf("  SACK window %u packets, over %u paths\n", view.attr.sack_window, view.attr.paths);
	else if (view.attr.sack_window)
		printf("  SACK window %u packets\n", view.attr.sack_window);
	else
		printf("  no SACKs\n");
	for (uint32_t i = 0; i < view.stats.count; i++) {
		if (view.stats.values[i])
			printf("  %-32s %12lu  %s\n", uroce_counter_name(i), view.stats.values[i],
			       uroce_counter_text(i));
	}
}

void show_why(struct traffic *traffic, uint32_t qp_num)
{
	char text[UROCE_WHY_BYTES];
	int error = uroce_qp_why(traffic->engine, qp_num, text, sizeof(text));

	if (error)
		tell_no_view(qp_num, error);
	else
		printf("%s\n", text);
}

void show_lcores(struct traffic *traffic)
{
	static struct uroce_lcore_view before[TRAFFIC_WORKERS];

	for (unsigned i = 0; i < traffic->worker_count; i++) {
		struct uroce_lcore_view now;
		uint64_t span;

		if (uroce_inspect_lcore(traffic->engine, i, &now) != 0) {
			printf("lcore %u does not poll\n", i);
			continue;
		}
		span = now.since_ns - before[i].since_ns;
		printf("lcore %u: %.1f %% busy, %.1f %% waiting for a core, %u queue pairs\n", i,
		       span ? 100 * (double)(now.busy_ns - before[i].busy_ns) / (double)span : 0,
		       span ? 100 * (double)(now.starved_ns - before[i].starved_ns) / (double)span : 0, now.qps);
		before[i] = now;
	}
}

void show_cm(struct traffic *traffic)
{
	unsigned count = uroce_cm_counter_count();
	uint64_t *values = calloc(count, sizeof(*values));
	struct uroce_cm_usage usage;

	if (values && uroce_cm_usage(traffic->engine, &usage) == 0 && uroce_cm_counters(traffic->engine, values) == 0) {
		printf("%u connections, %u half open, %u in time-wait, %u timers\n", usage.connections, usage.half_open,
		       usage.timewait_ids, usage.timers);
		for (unsigned i = 0; i < count; i++) {
			if (values[i])
				printf("  %-32s %12lu\n", uroce_cm_counter_name(i), values[i]);
		}
	} else {
		printf("an lcore does not respond\n");
	}
	free(values);
}

/* Sums of counters over all ports, chosen by how their names begin or end. */
struct sums {
	uint64_t sent_again, probes, dropped, served, rx_bytes, tx_bytes;
	uint64_t messages, bytes; /* sums over completed requests */
	bool asks;                /* some queue pair here sends requests */
};

static bool ends_with(const char *name, const char *end)
{
	size_t bytes = strlen(name), end_bytes = strlen(end);

	return bytes >= end_bytes && strcmp(name + bytes - end_bytes, end) == 0;
}

static void add_port(struct sums *sums, const struct traffic_port *port)
{
	struct uroce_stats stats;

	uroce_device_stats(port->port->device, &stats);
	sums->rx_bytes += stats.rx_bytes;
	sums->tx_bytes += stats.tx_bytes;
	sums->dropped += dropped(&stats);
	for (uint32_t i = 0; i < stats.count; i++) {
		const char *name = uroce_counter_name(i);

		if (strcmp(name, "retransmitted_packets") == 0)
			sums->sent_again += stats.values[i];
		else if (strcmp(name, "early_probes") == 0)
			sums->probes += stats.values[i];
		else if (strncmp(name, "rx_", 3) == 0 && ends_with(name, "_requests"))
			sums->served += stats.values[i];
	}
}

static struct sums add_up(const struct traffic *traffic)
{
	struct sums sums = { 0 };

	for (unsigned i = 0; i < traffic->port_count; i++)
		add_port(&sums, &traffic->ports[i]);
	for (uint32_t i = 0; i < atomic_load(&traffic->flow_count); i++) {
		const struct flow *flow = &traffic->flows[i];

		if (!flow->asks)
			continue;
		sums.asks = true;
		sums.messages += atomic_load(&flow->messages);
		sums.bytes += atomic_load(&flow->bytes);
	}
	return sums;
}

void show_rate(const struct traffic *traffic, FILE *out)
{
	static struct sums before;
	static double before_seconds;
	struct sums now = add_up(traffic);
	double at = app_now_seconds(), seconds = at - before_seconds;

	if (out && now.asks && now.messages >= before.messages)
		fprintf(out,
			"%12.0f messages/s %9.3f Gbit/s %9lu resent %6lu probes %6lu dropped "
			"%14lu messages in all\n",
			(double)(now.messages - before.messages) / seconds,
			(double)(now.bytes - before.bytes) * 8e-9 / seconds, now.sent_again - before.sent_again,
			now.probes - before.probes, now.dropped - before.dropped, now.messages);
	else if (out && !now.asks)
		fprintf(out,
			"%12.0f requests/s served, received %9.3f Gbit/s, sent %9.3f Gbit/s, %6lu dropped, %14lu "
			"requests in all\n",
			(double)(now.served - before.served) / seconds,
			(double)(now.rx_bytes - before.rx_bytes) * 8e-9 / seconds,
			(double)(now.tx_bytes - before.tx_bytes) * 8e-9 / seconds, now.dropped - before.dropped,
			now.served);
	before = now;
	before_seconds = at;
}
