/* rows.c - the options of uroce-perf, a row each: perftest's letters where the notion is the same */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "perf/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/eal.h"
#include "common/names.h"
#include "common/number.h"

#define QPS_MAX 131072
#define A_DAY_S 86400

const struct perf_options perf_defaults = {
	.test = {
		.qps = 1,
		.depth = 128,
		.outs = 16,
		.inline_bytes = UINT32_MAX,
		.timeout = 17,
		.sack_window = 1,
		.retries = 7,
		.rnr_timer = 12,
	},
	.faults.seed = 1,
	.core_count = 1,
	.rate_units = 'g',
	.tcp_port = 18515,
};

static int parse_sizes(const char *name, const char *text, void *place)
{
	char *copy = strdup(text), *rest = copy, *word;
	int code = copy ? APP_EXIT_OK : APP_EXIT_INTERNAL;
	struct perf_options *options = place;

	options->named_sizes = true;
	options->size_count = 0;
	while (code == APP_EXIT_OK && (word = strsep(&rest, ",")) != NULL) {
		if (options->size_count == PERF_SIZES_MAX)
			code = app_complain(APP_EXIT_USAGE, "%s: at most %d sizes", name, PERF_SIZES_MAX);
		else
			code = app_size_expect32(name, word, 1, PERF_SIZE_MAX, &options->sizes[options->size_count++]);
	}
	free(copy);
	return code;
}

static int parse_all_sizes(const char *name, const char *text, void *place)
{
	struct perf_options *options = place;

	(void)name;
	(void)text;
	options->all_sizes = true;
	if (options->named_sizes)
		return APP_EXIT_OK;
	options->size_count = 0;
	for (uint32_t size = 1; size <= 1u << 20; size *= 2)
		options->sizes[options->size_count++] = size;
	return APP_EXIT_OK;
}

static int parse_address(const char *name, const char *text, void *place)
{
	const char **addresses = place;
	struct uroce_addr addr;

	if (uroce_addr_parse(text, &addr, NULL) != 0)
		return app_complain(APP_EXIT_USAGE, "%s %s: use an address such as 10.0.0.1/24 or fd00::1/64", name,
				    text);
	if (addresses[0] && addresses[1])
		return app_complain(APP_EXIT_USAGE, "%s %s: two addresses are enough, one for each end", name, text);
	addresses[addresses[0] ? 1 : 0] = text;
	return APP_EXIT_OK;
}

static int parse_icrc(const char *name, const char *text, void *place)
{
	int error = uroce_icrc_choose(text);

	(void)place;
	if (error == -ENOTSUP)
		return app_complain(APP_EXIT_ENVIRONMENT, "%s %s: this CPU has not the instructions: use %s", name,
				    text, uroce_icrc());
	if (error)
		return app_complain(APP_EXIT_USAGE, "%s %s: use vpclmul, vpclmul256, pclmul or isal", name, text);
	return APP_EXIT_OK;
}

static int parse_atomic(const char *name, const char *text, void *ops)
{
	if (strcmp(text, "CMP_AND_SWAP") != 0 && strcmp(text, "FETCH_AND_ADD") != 0)
		return app_complain(APP_EXIT_USAGE, "%s %s: use CMP_AND_SWAP or FETCH_AND_ADD", name, text);
	((bool *)ops)[text[0] == 'C' ? PERF_CSWAP : PERF_FADD] = true;
	return APP_EXIT_OK;
}

static int parse_units(const char *name, const char *text, void *units)
{
	if (text[0] == '\0' || text[1] != '\0' || strchr("gMp", text[0]) == NULL)
		return app_complain(APP_EXIT_USAGE, "%s %s: use g (Gbit/s), M (MiB/s) or p (messages/s)", name, text);
	*(char *)units = text[0];
	return APP_EXIT_OK;
}

static int parse_service(const char *name, const char *text, void *place)
{
	(void)place;
	return strcmp(text, "RC") == 0 ? APP_EXIT_OK :
					 app_complain(APP_EXIT_USAGE, "%s %s: connections are RC", name, text);
}

/* Accepts options that ask for what is always done, and changes nothing. */
static int parse_nothing(const char *name, const char *text, void *place)
{
	(void)name;
	(void)text;
	(void)place;
	return APP_EXIT_OK;
}

static int parse_endless(const char *name, const char *text, void *seconds)
{
	(void)name;
	(void)text;
	*(double *)seconds = A_DAY_S;
	return APP_EXIT_OK;
}

/* --out_json is a row because getopt would take it for the beginning of --out_json_file. */
static int refuse_out_json(const char *name, const char *text, void *place)
{
	(void)text;
	(void)place;
	return app_complain(APP_EXIT_USAGE, "%s: --json FILE, or --json - for the standard output", name);
}

#define AT(member) OPTION_AT(struct perf_options, member)
#define CASE(member) AT(test.member)
#define WHOLE 0, sizeof(struct perf_options)
#define TITLE(text)                                \
	{                                          \
		.kind = OPTION_TITLE, .help = text \
	}

#define INSTEAD(short_name, long_name, why)                        \
	{                                                          \
		long_name, short_name, OPTION_INSTEAD, .help = why \
	}

/* clang-format off */
static const struct option_row rows[] = {
	TITLE("What to measure"),
	{ "op", 0, OPTION_NAMES, AT(ops), 0, PERF_OPS - 1, "OP", .names = perf_op_names, .usual = "all",
	  .help = "send, send_imm, send_inv, write, write_imm, awrite, flush, read, fadd, cswap; repeatable. send_inv: "
		  "each SEND makes a memory window of the peer invalid, which is bound again; awrite: ATOMIC WRITEs; "
		  "flush: each message is a WRITE and a FLUSH of its bytes, to where they are visible and persistent" },
	{ "mode", 0, OPTION_NAMES, AT(modes), 0, PERF_MODES - 1, "MODE", .names = perf_mode_names,
	  .help = "bw or lat", .usual = "both" },
	{ "size", 's', OPTION_OTHER, WHOLE, .parse = parse_sizes, .value = "N[,N...]", .help = "bytes a message, 1 "
		  "... 1G",
	  .usual = "64k for bw, 64 for lat; awrite, fadd, cswap: 8" },
	{ "all", 'a', OPTION_OTHER, WHOLE, .parse = parse_all_sizes, .help = "sizes 1, 2, 4 ... 1048576" },
	{ "mtu", 'm', OPTION_MTU, CASE(mtu_bytes), .value = "N", .help = "path MTU",
	  .usual = "4096 on loop, 1024 elsewhere" },
	{ "qps", 'q', OPTION_NUMBER, CASE(qps), 1, QPS_MAX, "N", "queue pairs; lat uses one" },
	{ "idle", 0, OPTION_NUMBER, CASE(idle), 0, QPS_MAX, "N", "connected queue pairs besides, with nothing to do" },
	{ "tx-depth", 't', OPTION_NUMBER, CASE(depth), 1, 32768, "N", "requests outstanding a QP" },
	{ "rx-depth", 'r', OPTION_NUMBER, CASE(rx_depth), 1, 32768, "N", "receives posted a QP",
	  .usual = "twice the tx depth, at most 512" },
	{ "outs", 'o', OPTION_NUMBER, CASE(outs), 1, 128, "N", "READs and atomics outstanding a QP" },
	{ "cq-mod", 'Q', OPTION_NUMBER, CASE(cq_mod), 1, 32768, "N",
	  "ask for a completion every N requests, at most the tx depth", .usual = "16, or depth / 4" },
	{ "inline", 'I', OPTION_SIZE, CASE(inline_bytes), 0, 512, "N", "data up to N bytes goes inline",
	  .usual = "0 for bw, 220 for lat" },
	{ "qp-timeout", 'u', OPTION_NUMBER, CASE(timeout), 0, 31, "N", "ACK timer 4.096 us * 2^N; 0 = off" },
	{ "retry-cnt", 0, OPTION_NUMBER, CASE(retries), 0, 7, "N", "retransmissions before a request fails" },
	{ "rnr-timer", 0, OPTION_NUMBER, CASE(rnr_timer), 0, 31, "N",
	  "what an RNR NAK asks to wait: a code, 12 = 0.64 ms, 1 = 0.01 ms" },
	{ "flow-control", 0, OPTION_FLAG, CASE(flow_control),
	  .help = "end-to-end credits: SENDs wait for receives instead of being refused (RNR)" },
	{ "ack-each", 0, OPTION_FLAG, CASE(ack_each),
	  .help = "this side ACKs each message that asks for it, not all of a burst at once" },
	{ "no-read-repair", 0, OPTION_FLAG, CASE(no_read_repair),
	  .help = "what comes before its turn of a READ is dropped, and all from what is missing on asked for again" },
	{ "cc", 0, OPTION_NAME, CASE(cc), UROCE_CC_DEFAULT, UROCE_CC_ALGORITHMS - 1, "NAME", .names = app_cc_names,
	  .help = "congestion control of both ends: dcqcn sends ECN-capable packets, and slows down when it is told "
		  "that switches mark them; delay slows down when round trips take longer; fixed does neither; "
		  "default: dcqcn where the link tells its rate" },
	{ "sack-window", 0, OPTION_NAME, CASE(sack_window), 0, APP_SACK_WINDOWS - 1, "N", .names = app_sack_windows,
	  .help = "both ends keep what comes behind a lost packet, so that only that is sent again (SACKs), and have "
		  "so many packets in flight; off: everything from it on is sent again" },
	{ "paths", 0, OPTION_NUMBER, CASE(paths), 4, 64, "N",
	  "both ends spread their requests over N UDP source ports, so that they take several ways through switches; "
	  "with SACKs only",
	  .usual = "" },
	{ "rx-rate", 0, OPTION_NUMBER, CASE(rx_rate), 1, 1000000000, "N",
	  "a slow receiver: it posts at most N receives a second", .usual = "" },
	{ "use-srq", 0, OPTION_FLAG, CASE(use_srq),
	  .help = "the queue pairs of an end share one queue of receives; -r is its size, at most 32768 (default: what "
		  "they would have had of their own)" },
	{ "rate_limit", 0, OPTION_REAL, AT(rate_limit), .least = 1e-6, .most = 1e9, .value = "X", .usual = "none",
	  .help = "bw: an end posts at most X Gbit/s of payload, on all queue pairs together" },
	{ "rate_units", 0, OPTION_OTHER, AT(rate_units), .parse = parse_units, .value = "U",
	  .help = "of X: g (Gbit/s), M (MiB/s) or p (messages a second)", .usual = "g" },
	{ "burst_size", 0, OPTION_NUMBER, CASE(burst), 1, 1u << 20, "N", "messages that may leave at once",
	  .usual = "those of 10 ms" },
	{ "duration", 'D', OPTION_REAL, CASE(seconds), .least = 0.01, .most = A_DAY_S, .value = "S",
	  .help = "seconds a case", .usual = "0.6" },
	{ "iters", 'n', OPTION_NUMBER, CASE(iterations), 1, 1000000000000, "N", "messages a QP instead", .usual = "" },
	{ "bidirectional", 'b', OPTION_FLAG, CASE(both_ways), .help = "both ends send (bw)" },
	{ "verify", 0, OPTION_FLAG, CASE(verify), .help = "fill and check every payload byte and every counter" },
	{ "limit_bw", 'w', OPTION_REAL, AT(least_gbit), .least = 1e-6, .most = 1e6, .value = "X", .usual = "",
	  .help = "bw: a case with less than X Gbit/s has failed" },
	{ "limit_msgrate", 'y', OPTION_REAL, AT(least_mpps), .least = 1e-6, .most = 1e6, .value = "X", .usual = "",
	  .help = "bw: a case with less than X million messages a second has failed" },
	{ "report-histogram", 'H', OPTION_FLAG, AT(histogram),
	  .help = "lat: prints how many messages took how long, too" },
	{ "icrc", 0, OPTION_OTHER, WHOLE, .parse = parse_icrc, .value = "NAME", .usual = "the best",
	  .help = "what copies payloads with their ICRC: vpclmul, vpclmul256, pclmul or isal" },

	TITLE("Where"),
	{ "nb-cores", 0, OPTION_NUMBER, AT(core_count), 1, 2, "N", "1: one core does both ends; 2: one each" },
	{ "server", 0, OPTION_FLAG, AT(server), .help = "wait for a client; HOST: where the server waits" },
	{ "port", 'p', OPTION_NUMBER, AT(tcp_port), 1, 65535, "N", "TCP port for the parameters" },
	{ "rdma_cm", 'R', OPTION_FLAG, AT(by_address),
	  .help = "no TCP: the parameters go over a connection by address; HOST is the server's --ip" },
	{ "device", 'd', OPTION_WORD, AT(device), .value = "DEV",
	  .help = "a virtual device (net_af_packet0,iface=eth0), a PCI address, or one given to EAL (default with "
		  "--server "
		  "or HOST: the first that was given to EAL); both ends here: loop (default), or "
		  "memif[,rsize=N][,bsize=N]: through shared memory", .usual = "" },
	{ "failover", 0, OPTION_REAL, AT(failover_s), .least = 0.001, .most = A_DAY_S, .value = "S", .usual = "",
	  .help = "on loop: a second link is the alternate path of each QP, and S seconds into a case the first one is "
		  "cut" },
	{ "connections", 0, OPTION_NUMBER, AT(connections), 1, 65536, "N", .usual = "", .help =
	  "instead of traffic: N connections by address under way at a time, made and taken down for -D seconds; with "
	  "--server and HOST, whose RoCE address it is, over port -p" },
	{ "ip", 0, OPTION_OTHER, AT(addresses), .parse = parse_address, .value = "ADDR/LEN",
	  .help = "own address; both ends here: two, one for each", .usual = "10.0.0.1/24 and 10.0.0.2/24" },
	APP_VLAN_ROW(struct perf_options),
	APP_NO_DAD_ROW(struct perf_options),
	{ "gateway", 0, OPTION_WORD, AT(gateway), .value = "ADDR",
	  .help = "with --server or HOST: router for a peer outside the network of --ip" },

	TITLE("Faults of the link, on what this process receives"),
	{ "loss", 0, OPTION_REAL, AT(faults.loss), .most = 1, .value = "P",
	  .help = "probability that a frame is lost" },
	{ "dup", 0, OPTION_REAL, AT(faults.duplicate), .most = 1, .value = "P", .help = "that it comes twice" },
	{ "reorder", 0, OPTION_REAL, AT(faults.reorder), .most = 1, .value = "P",
	  .help = "that it comes behind later ones" },
	{ "corrupt", 0, OPTION_REAL, AT(faults.corrupt), .most = 1, .value = "P",
	  .help = "that one of its bits is flipped" },
	{ "seed", 0, OPTION_NUMBER, AT(faults.seed), 0, UINT64_MAX, "N", "repeats their sequence" },

	TITLE("What is left behind"),
	{ "record", 0, OPTION_WORD, AT(record_path), .value = "DIR",
	  .help = "a queue pair that fails leaves its last frames there, and why" },
	{ "json", 0, OPTION_WORD, AT(json_path), .value = "FILE",
	  .help = "writes the results there, too; - is standard output" },
	{ "report", 0, OPTION_WORD, AT(page_path), .value = "FILE.html",
	  .help = "uroce-report makes a page of them there: tables, plots and what they mean; it needs nothing else" },
	{ "dry-run", 0, OPTION_FLAG, AT(dry_run),
	  .help = "print the cases that would be measured, where and for how long, and end" },

	/* perftest's options: supported, or refused with the option to use instead */
	{ "atomic_type", 'A', OPTION_OTHER, AT(ops), .parse = parse_atomic, .value = "TYPE" },
	{ "connection", 'c', OPTION_OTHER, WHOLE, .parse = parse_service, .value = "RC" },
	{ "tos", 'T', OPTION_NUMBER, CASE(traffic_class), 0, 255, "TOS" },
	{ "tclass", 'T', OPTION_SAME },
	{ "CPU-freq", 'F', OPTION_OTHER, WHOLE, .parse = parse_nothing }, /* the CPU's frequency is never looked at */
	{ "noPeak", 'N', OPTION_FLAG, AT(no_peak) },
	{ "run_infinitely", 0, OPTION_OTHER, CASE(seconds), .parse = parse_endless },
	{ "report_gbits", 0, OPTION_OTHER, WHOLE, .parse = parse_nothing }, /* rates are always in Gbit/s */
	{ "out_json", 0, OPTION_OTHER, WHOLE, .parse = refuse_out_json },
	{ "out_json_file", 0, OPTION_WORD, AT(json_path), .value = "FILE" },
	{ "inline_size", 'I', OPTION_SAME },
	{ "ib-dev", 'd', OPTION_SAME },
	{ "qp", 'q', OPTION_SAME },
	INSTEAD('x', "gid-index", "a port has one GID for each address: --ip says which address is used"),
	INSTEAD('i', "ib-port", "a device has one port: -d names it"),
	INSTEAD('e', "events", "uroce-perf polls for completions; examples/echo.c shows how to sleep until one comes"),
	INSTEAD('X', "vector", "uroce-perf polls for completions, so there are no interrupts to place"),
	INSTEAD('S', "sl", "service levels are InfiniBand's; RoCE has the priority of a VLAN tag: --vlan ID:PRIO"),
	INSTEAD('l', "post_list",
		"uroce-perf always posts requests in lists; -Q says how many requests a list has at least"),
	INSTEAD(0, "recv_post_list", "receives are posted as they complete"),
	INSTEAD('U', "report-unsorted", "single results are not kept; -H prints how many messages took how long"),
	INSTEAD('C', "report-cycles", "latency is in microseconds; --json FILE has cycles_per_packet"),
	INSTEAD('W', "report-counters",
		"losses and probes are printed with each result; --verify compares every counter"),
	INSTEAD('z', "com_rdma_cm", "-R connects by address, without TCP"),
	INSTEAD('B', NULL, "the addresses of the two ends are --ip and HOST"),
	INSTEAD('g', "mcg", "there is no multicast"),
	INSTEAD('M', "MGID", "there is no multicast"),
	INSTEAD('O', "dualport", "a run uses one port; run a second uroce-perf for the other port"),
	INSTEAD(0, "report-both", "-b reports both directions together"),
	INSTEAD(0, "report-per-port", "a run uses one port, so there is nothing to tell apart"),
	INSTEAD('L', "hop_limit", "packets leave with a hop limit of 64"),
	INSTEAD('f', "margin", "each case has a warm-up that does not count"),
	INSTEAD(0, "perform_warm_up", "each case has a warm-up that does not count"),
	INSTEAD(0, "rate_limit_type",
		"uroce-perf keeps the rate of --rate_limit by its own clock, as perftest's type SW does"),
	INSTEAD(0, "typical_pkt_size",
		"--rate_limit counts payload; --burst_size says how many messages may leave at once"),
	INSTEAD(0, "output", "--json FILE has all results"),
	INSTEAD(0, "ipv6", "the address of --ip says whether it is IPv4 or IPv6"),
	INSTEAD(0, "ipv6-addr", "the address of --ip says whether it is IPv4 or IPv6"),
	INSTEAD(0, "bind_source_ip", "the addresses of the two ends are --ip and HOST"),
	INSTEAD(0, "source_ip", "the addresses of the two ends are --ip and HOST"),
	INSTEAD(0, "force-link", "every port is an Ethernet port"),
	INSTEAD(0, "pkey_index", "there is one P_Key, FFFFh"),
	INSTEAD(0, "dlid", "RoCE has no LIDs: the peer is found by its address"),
	INSTEAD(0, "reversed", "start the end that is to send as the client: the one with HOST"),
	INSTEAD(0, "latency_gap", "lat sends the next message as soon as the answer to the one before has come"),
	INSTEAD(0, "wait_destroy", "queue pairs are destroyed at once"),
	INSTEAD(0, "inline_recv", "received data always goes to the receive's own memory"),
	INSTEAD(0, "mr_per_qp", "all queue pairs of an end use one memory region"),
	INSTEAD(0, "use_old_post_send", "there is one way to post a request"),
	INSTEAD(0, "cpu_util", "an lcore that polls is always busy; uroce-top says how much of that was work"),
	INSTEAD(0, "use_hugepages", "hugepages are used when enough of them are free"),
	INSTEAD(0, "disable_pcie_relaxed", "data is copied by the CPU, not by a device over PCIe"),
	INSTEAD(0, "mmap", "messages lie in the program's own memory"),
	INSTEAD(0, "mmap-offset", "messages lie in the program's own memory"),
	INSTEAD(0, "use_rocm", "messages lie in the memory of the host"),
	INSTEAD(0, "flow_label", "packets of IPv6 leave with flow label 0, and so with one way through the network"),
	INSTEAD(0, "no_enhanced_reorder",
		"packets leave in order, and one that comes out of order is asked for again"),
	INSTEAD(0, "use_cuda", "messages lie in the memory of the host"),
	INSTEAD(0, "odp", "no memory is pinned, so there is nothing to page on demand"),
	INSTEAD(0, "log_dci_streams", "connections are RC"),
	INSTEAD(0, "log_active_dci_streams", "connections are RC"),
	INSTEAD(0, "aes_block_size", "RoCE does not encrypt"),
	INSTEAD(0, "retry_count", "use --retry-cnt N"),
	INSTEAD(0, "dont_xchg_versions", "both ends have to be uroce-perf of one version"),
};
/* clang-format on */

const struct option_set perf_option_set = {
	.program = "uroce-perf",
	OPTION_ROWS(rows),
	.usual = &perf_defaults,
	.by_letter = true,
	.head = "uroce-perf [EAL options] -- [options]             both ends in this process, over loop ports\n"
		"uroce-perf [EAL options] -- --server --ip A/LEN [options]\n"
		"uroce-perf [EAL options] -- --ip A/LEN [options] HOST\n"
		"Measures bandwidth and latency of RDMA operations. Without -- all arguments are the program's.\n",
	.tail = "\nAlso of perftest, with its meaning: -A TYPE, -c RC, -F, -N, -T TOS, --run_infinitely, "
		"--report_gbits,\n"
		"--out_json_file FILE. Bandwidth is in Gbit/s always, as with --report_gbits: that of links is, "
		"too. Of\n"
		"its other options uroce-perf says why it has none, or what to use instead.\n"
		"Its tools have an exchange of their own, so uroce-perf has to run at both ends.\n\n"
		"What takes longer than a second prints a line each second.\n"
		"Exit: 0 all went well, 1 a completion failed, a byte was wrong, or -w or -y was not reached, 2 "
		"usage,\n"
		"3 environment (also: nobody listens at HOST), 4 internal, 130 interrupted (ctrl-C; the results so far "
		"have\nbeen printed).\n",
};
