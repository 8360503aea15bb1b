/* report.c - prints tables with perftest's columns */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "perf/beside.h"
#include "perf/report.h"

#define RULER "----------------------------------------------------------------------------------------------"

#define INTERRUPTIONS_A_S 20.0 /* more than these are not accidental */

static bool no_peak;
static enum perf_op last_op = PERF_OPS;
static enum perf_mode last_mode;

void perf_report_open(bool without_peak)
{
	no_peak = without_peak;
}

void perf_report_environment(const struct perf_environment *environment, const struct perf_options *options)
{
	printf("uroce-perf %s, DPDK %s, %s\n", environment->version, environment->dpdk, environment->cpu);
	for (uint32_t i = 0; i < environment->port_count; i++)
		printf(" port %s (%s), %s\n", environment->ports[i].name, environment->ports[i].driver,
		       environment->ports[i].address);
	printf(" lcores: %u, hugepages: %s, build: %s\n", environment->lcores, environment->hugepages ? "yes" : "no",
	       environment->build);
	if (options_have_faults(options))
		printf(" link: loss %g, dup %g, reorder %g, corrupt %g, seed %lu\n", options->faults.loss,
		       options->faults.duplicate, options->faults.reorder, options->faults.corrupt,
		       (unsigned long)options->faults.seed);
	for (uint32_t i = 0; i < environment->warning_count; i++)
		printf(" warning: %s\n", environment->warnings[i]);
}

static void print_side(const char *name, const struct perf_case *test, const struct perf_peer *peer)
{
	char text[64];

	printf(" %s address: QPN 0x%06x PSN 0x%06x RKey 0x%08x VAddr 0x%012lx %s", name, peer->qp_nums[0],
	       peer->psns[0], peer->rkey, (unsigned long)peer->target,
	       uroce_addr_format(&peer->addr, text, sizeof(text)));
	if (test->qps > 1)
		printf(" (and %u more)", test->qps - 1);
	putchar('\n');
}

static void print_bw_head(const struct perf_case *test)
{
	struct perf_layout layout;

	perf_case_lay_out(test, &layout);
	printf(" TX depth: %u, CQ moderation: %u", layout.depth, layout.interval);
	if (op_is_round_trip(&perf_ops[test->op]) || test->op == PERF_AWRITE)
		printf(", outstanding: %u", test->outs);
	if (test->paths)
		printf(", %u paths", test->paths);
	printf("%s%s%s%s%s%s%s%s\n", test->rate > 0 ? ", paced" : "", test->use_srq ? ", shared receives" : "",
	       test->both_ways ? ", both directions" : "", test->flow_control ? ", credits" : "",
	       test->ack_each ? ", one ACK per message" : "", test->no_read_repair ? ", no read repair" : "",
	       test->sack_window ? "" : ", no SACKs", test->verify ? ", every byte checked" : "");
}

void perf_report_connection(const struct perf_case *test, const struct perf_peer *local, const struct perf_peer *remote)
{
	if (test->op == last_op && test->mode == last_mode)
		return;
	last_op = test->op;
	last_mode = test->mode;
	printf(RULER "\n                    %s %s Test\n", perf_ops[test->op].title,
	       test->mode == PERF_BW ? "BW" : "Latency");
	printf(" Number of QPs: %u, MTU: %u[B], connection: RC, timeout code: %u\n", test->qps, test->mtu_bytes,
	       test->timeout);
	if (test->mode == PERF_BW)
		print_bw_head(test);
	else
		printf(" Inline up to: %u[B]%s%s%s\n", test->inline_bytes, test->use_srq ? ", shared receives" : "",
		       op_is_round_trip(&perf_ops[test->op]) ? ", time of a round trip" : ", half of a round trip",
		       test->verify ? ", every byte checked" : "");
	print_side(" local", test, local);
	print_side("remote", test, remote);
	printf(RULER "\n");
	if (test->mode == PERF_BW)
		printf(" %-10s %-14s %-17s %-20s %-13s %s\n", "#bytes", "#iterations", "BW peak[Gb/sec]",
		       "BW average[Gb/sec]", "MsgRate[Mpps]", "cycles/packet");
	else
		printf(" %-8s %-12s %-11s %-11s %-15s %-12s %-13s %-9s %-10s %-10s [usec]\n", "#bytes", "#iterations",
		       "t_min", "t_max", "t_typical", "t_avg", "t_stdev", "99%", "99.9%", "99.99%");
}

static void print_latency(const struct perf_result *result)
{
	const struct app_histogram *latency = result->latency;
	double scale = result->latency_scale_us;

	printf(" %-8u %-12lu %-11.3f %-11.3f %-15.3f %-12.3f %-13.3f %-9.3f %-10.3f %-10.3f\n", result->test.size_bytes,
	       (unsigned long)latency->count, (double)latency->min * scale, (double)latency->max * scale,
	       percentile_us(result, 0.5), app_histogram_mean(latency) * scale,
	       app_histogram_deviation(latency) * scale, percentile_us(result, 0.99), percentile_us(result, 0.999),
	       percentile_us(result, 0.9999));
}

void perf_report_histogram(const struct perf_result *result)
{
	const struct app_histogram *latency = result->latency;
	uint64_t seen = 0;

	printf("            %-12s %-12s %s\n", "up to [usec]", "#messages", "of all");
	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS && seen < latency->count; i++) {
		if (latency->buckets[i] == 0)
			continue;
		seen += latency->buckets[i];
		printf("            %-12.3f %-12lu %.4f %%\n",
		       (double)app_histogram_end_of(i) * result->latency_scale_us, (unsigned long)latency->buckets[i],
		       100 * (double)seen / (double)latency->count);
	}
	fflush(stdout);
}

void perf_report_progress(const struct perf_case *test, const struct perf_tally *last, uint64_t bytes)
{
	/* Progress goes to standard error, not between the rows of the table, which programs read. */
	fprintf(stderr, " %-10u ... %.3f Gb/s, %.6f M messages/s, %lu packets retransmitted, %lu probes\n",
		test->size_bytes, (double)bytes * 8 / last->seconds / 1e9, (double)last->messages / last->seconds / 1e6,
		(unsigned long)last->retransmits, (unsigned long)last->probes);
}

/* There is no peak if no window of 10 ms was measured, or if none is wanted. */
static void print_bandwidth(const struct perf_result *result)
{
	char peak[32] = "-";

	if (result->peak_gbit_per_s > 0 && !no_peak)
		snprintf(peak, sizeof(peak), "%.3f", result->peak_gbit_per_s);
	printf(" %-10u %-14lu %-17s %-20.3f %-13.6f %.0f\n", result->test.size_bytes,
	       (unsigned long)result->tally.messages, peak, result->gbit_per_s, result->messages_per_s / 1e6,
	       result->cycles_per_packet);
}

void perf_report_result(const struct perf_result *result, const struct perf_beside *beside)
{
	const struct perf_tally *tally = &result->tally;

	if (result->test.mode == PERF_LAT)
		print_latency(result);
	else
		print_bandwidth(result);
	if (beside)
		beside->print(result);
	if ((double)result->interruptions > INTERRUPTIONS_A_S * (tally->seconds + 0.1))
		printf("            warning: the lcore was preempted %lu times by other threads\n",
		       (unsigned long)result->interruptions);
	if (tally->retransmits)
		printf("            %lu packets were retransmitted after losses\n", (unsigned long)tally->retransmits);
	if (tally->probes)
		printf("            %lu packets were sent as probes because the peer was silent\n",
		       (unsigned long)tally->probes);
	if (tally->cnps)
		printf("            %lu congestion notifications arrived: switches marked packets\n",
		       (unsigned long)tally->cnps);
	if (result->failover.cut)
		printf("            the first link was cut: %lu and %lu PATH_MIG events at the two ends, after %.3f "
		       "and %.3f ms; messages completed again after %.3f ms\n",
		       (unsigned long)result->failover.migrations[0], (unsigned long)result->failover.migrations[1],
		       result->failover.path_mig_ms[0], result->failover.path_mig_ms[1], result->failover.resumed_ms);
	if (tally->rnr_naks)
		printf("            %lu RNR NAKs (receiver not ready), and %lu packets retransmitted after RNR NAKs\n",
		       (unsigned long)tally->rnr_naks, (unsigned long)tally->rnr_resent);
	if (tally->checked)
		printf("            %lu messages checked, %lu wrong bytes\n", (unsigned long)tally->checked,
		       (unsigned long)tally->bad_bytes);
	if (tally->errors)
		printf("            %lu errors\n", (unsigned long)tally->errors);
	fflush(stdout);
}

void perf_report_served(const struct perf_end *end)
{
	printf(" %u bytes: %lu received, %lu sent, %lu checked, %lu wrong bytes, %lu errors\n", end->test.size_bytes,
	       (unsigned long)end->tally.received, (unsigned long)(end->posted + end->replies),
	       (unsigned long)end->tally.checked, (unsigned long)end->tally.bad_bytes,
	       (unsigned long)end->tally.errors);
	fflush(stdout);
}

void perf_report_waiting(unsigned tcp_port)
{
	printf(" waiting for a client on TCP port %u\n", tcp_port);
	fflush(stdout);
}

void perf_report_waiting_by_address(unsigned port)
{
	printf(" waiting for a client on port %u of the local address\n", port);
	fflush(stdout);
}

void perf_report_drops(const struct app_port *port)
{
	struct drivers_ethdev_stats frames;
	struct uroce_stats stats;

	uroce_device_stats(port->device, &stats);
	for (uint32_t i = uroce_qp_counter_count(); i < stats.count; i++) {
		const char *name = uroce_counter_name(i);

		if (stats.values[i] && (strncmp(name, "drop_", 5) == 0 || strncmp(name, "tx_", 3) == 0 ||
					strcmp(name, "rx_icrc_encapsulated") == 0))
			printf(" port %s: %lu %s (%s)\n", port->ethdev->name, (unsigned long)stats.values[i],
			       uroce_counter_text(i), name);
	}
	if (drivers_ethdev_stats(port->ethdev, &frames) != 0)
		return;
	if (frames.rx_missed + frames.rx_errors + frames.rx_no_mbuf + frames.tx_errors)
		printf(" port %s: %lu received frames missed, %lu damaged, %lu dropped because no mbuf was free; %lu "
		       "frames not transmitted\n",
		       port->ethdev->name, (unsigned long)frames.rx_missed, (unsigned long)frames.rx_errors,
		       (unsigned long)frames.rx_no_mbuf, (unsigned long)frames.tx_errors);
}
