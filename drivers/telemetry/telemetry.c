/* telemetry.c - answers commands on DPDK's telemetry socket with views of an engine */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/telemetry/telemetry.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_telemetry.h>

#include <uroce/cm.h>
#include <uroce/inspect.h>
#include <uroce/mr.h>
#include <uroce/wr.h>

#include "drivers/eal/release.h"

#define PAGE_QPS 256u /* queue pairs in one answer */
#define PAGE_MRS 64   /* regions in one answer */
#define PORTS_MAX 16u
#define TEXT_BYTES 64u

/* DPDK runs commands on threads of its own, one for each client. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct uroce_engine *shown;
static unsigned
	ports; /* open ports that have the engine shown; 0: it is shown only because the program has asked for it */

/* Answers a command about this engine and number. Returns 0 or a negative errno. */
typedef int answer_function(struct uroce_engine *engine, uint32_t number, struct rte_tel_data *answer);

/* ---- parts of answers ---- */

static void add_text(struct rte_tel_data *dict, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void add_text(struct rte_tel_data *dict, const char *name, const char *format, ...)
{
	char text[RTE_TEL_MAX_STRING_LEN];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	rte_tel_data_add_dict_string(dict, name, text);
}

static void add_address(struct rte_tel_data *dict, const char *name, const struct uroce_addr *address)
{
	char text[TEXT_BYTES];

	rte_tel_data_add_dict_string(dict, name, uroce_addr_format(address, text, sizeof(text)));
}

static void add_counters(struct rte_tel_data *dict, const struct uroce_stats *stats)
{
	for (uint32_t i = 0; i < stats->count; i++)
		rte_tel_data_add_dict_uint(dict, uroce_counter_name(i), stats->values[i]);
}

/* ---- the engine ---- */

static int tell_info(struct uroce_engine *engine, uint32_t number, struct rte_tel_data *answer)
{
	uint32_t qp_nums[PAGE_QPS], next = 0, qps = 0, found;
	uint16_t port_ids[PORTS_MAX];

	(void)number;
	do {
		found = uroce_inspect_qps(engine, &next, qp_nums, PAGE_QPS);
		qps += found;
	} while (found == PAGE_QPS);
	rte_tel_data_start_dict(answer);
	rte_tel_data_add_dict_string(answer, "version", uroce_version());
	rte_tel_data_add_dict_string(answer, "program", program_invocation_short_name);
	rte_tel_data_add_dict_uint(answer, "pid", (uint64_t)getpid());
	rte_tel_data_add_dict_string(answer, "icrc", uroce_icrc());
	rte_tel_data_add_dict_uint(answer, "lcores", uroce_engine_lcore_count(engine));
	rte_tel_data_add_dict_uint(answer, "ports", uroce_inspect_ports(engine, port_ids, PORTS_MAX));
	rte_tel_data_add_dict_uint(answer, "qps", qps);
	return 0;
}

static int tell_counter_texts(struct uroce_engine *engine, uint32_t number, struct rte_tel_data *answer)
{
	(void)engine;
	(void)number;
	rte_tel_data_start_dict(answer);
	for (uint32_t i = 0; i < uroce_counter_count(); i++)
		rte_tel_data_add_dict_string(answer, uroce_counter_name(i), uroce_counter_text(i));
	return 0;
}

static int tell_lcore(struct uroce_engine *engine, uint32_t number, struct rte_tel_data *answer)
{
	struct uroce_lcore_view view;
	int error = uroce_inspect_lcore(engine, number, &view);

	if (error)
		return error;
	rte_tel_data_start_dict(answer);
	rte_tel_data_add_dict_uint(answer, "lcore", number);
	if (view.lcore_id != UINT32_MAX)
		rte_tel_data_add_dict_uint(answer, "lcore_id", view.lcore_id);
	rte_tel_data_add_dict_uint(answer, "since_ns", view.since_ns);
	rte_tel_data_add_dict_uint(answer, "busy_ns", view.busy_ns);
	rte_tel_data_add_dict_uint(answer, "starved_ns", view.starved_ns);
	rte_tel_data_add_dict_uint(answer, "away_count", view.away_count);
	rte_tel_data_add_dict_uint(answer, "away_ns", view.away_ns);
	rte_tel_data_add_dict_uint(answer, "qps", view.qps);
	return 0;
}

static int tell_connections(struct uroce_engine *engine, uint32_t number, struct rte_tel_data *answer)
{
	uint64_t *values = calloc(uroce_cm_counter_count(), sizeof(*values));
	struct uroce_cm_usage usage;
	int error = values ? uroce_cm_usage(engine, &usage) : -ENOMEM;

	(void)number;
	if (error == 0)
		error = uroce_cm_counters(engine, values);
	if (error == 0) {
		rte_tel_data_start_dict(answer);
		rte_tel_data_add_dict_uint(answer, "connections", usage.connections);
		rte_tel_data_add_dict_uint(answer, "half_open", usage.half_open);
		for (unsigned i = 0; i < uroce_cm_counter_count(); i++)
			rte_tel_data_add_dict_uint(answer, uroce_cm_counter_name(i), values[i]);
	}
	free(values);
	return error;
}

/* ---- ports ---- */

static int tell_ports(struct uroce_engine *engine, uint32_t number, struct rte_tel_data *answer)
{
	uint16_t port_ids[PORTS_MAX];
	uint32_t count = uroce_inspect_ports(engine, port_ids, PORTS_MAX);

	(void)number;
	rte_tel_data_start_array(answer, RTE_TEL_UINT_VAL);
	for (uint32_t i = 0; i < count; i++)
		rte_tel_data_add_array_uint(answer, port_ids[i]);
	return 0;
}

/* Adds each address as text: "10.0.0.1/24 gateway 10.0.0.254 vlan 100". */
static void add_addresses(struct rte_tel_data *answer, const struct uroce_device_info *info)
{
	static const struct uroce_addr none;
	struct rte_tel_data *list = rte_tel_data_alloc();

	if (list == NULL)
		return;
	rte_tel_data_start_array(list, RTE_TEL_STRING_VAL);
	for (uint32_t i = 0; i < info->addr_count; i++) {
		char text[RTE_TEL_MAX_STRING_LEN], own[TEXT_BYTES], gateway[TEXT_BYTES];
		int at = snprintf(text, sizeof(text), "%s/%u", uroce_addr_format(&info->addrs[i], own, sizeof(own)),
				  info->prefix_bits[i]);

		if (memcmp(&info->gateways[i], &none, sizeof(none)) != 0)
			at += snprintf(text + at, sizeof(text) - (size_t)at, " gateway %s",
				       uroce_addr_format(&info->gateways[i], gateway, sizeof(gateway)));
		if (info->vlans[i].id)
			snprintf(text + at, sizeof(text) - (size_t)at, " vlan %u", info->vlans[i].id);
		rte_tel_data_add_array_string(list, text);
	}
	rte_tel_data_add_dict_container(answer, "addresses", list, 0);
}

static int tell_port(struct uroce_engine *engine, uint32_t number, struct rte_tel_data *answer)
{
	struct uroce_port_view view;
	const struct uroce_device_info *info = &view.info;
	const uint8_t *mac = info->mac.bytes;
	int error = number > UINT16_MAX ? -ENOENT : uroce_inspect_port(engine, (uint16_t)number, &view);

	if (error)
		return error;
	rte_tel_data_start_dict(answer);
	rte_tel_data_add_dict_uint(answer, "port", number);
	rte_tel_data_add_dict_string(answer, "name", view.name);
	rte_tel_data_add_dict_string(answer, "link", view.link_up ? "up" : "down");
	rte_tel_data_add_dict_string(answer, "interface", info->interface);
	rte_tel_data_add_dict_uint(answer, "link_mbps", info->link_mbps);
	add_text(answer, "mac", "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
	add_addresses(answer, info);
	rte_tel_data_add_dict_uint(answer, "max_path_mtu", info->mtu_bytes);
	rte_tel_data_add_dict_uint(answer, "port_mtu", info->port_mtu_bytes);
	rte_tel_data_add_dict_uint(answer, "queues", view.queue_count);
	rte_tel_data_add_dict_uint(answer, "first_lcore", view.first_lcore);
	rte_tel_data_add_dict_uint(answer, "qps", view.qps);
	rte_tel_data_add_dict_uint(answer, "max_qps", info->max_qps);
	rte_tel_data_add_dict_uint(answer, "regions", view.regions);
	rte_tel_data_add_dict_uint(answer, "max_regions", info->max_mrs);
	rte_tel_data_add_dict_uint(answer, "max_sge", info->max_sge);
	rte_tel_data_add_dict_uint(answer, "max_inline_bytes", info->max_inline_bytes);
	rte_tel_data_add_dict_uint(answer, "max_rd_atomic", info->max_rd_atomic);
	rte_tel_data_add_dict_uint(answer, "max_queue_depth", info->max_queue_depth);
	rte_tel_data_add_dict_uint(answer, "max_cq_depth", info->max_cq_depth);
	return 0;
}

static int tell_port_counters(struct uroce_engine *engine, uint32_t number, struct rte_tel_data *answer)
{
	struct uroce_port_view view;
	int error = number > UINT16_MAX ? -ENOENT : uroce_inspect_port(engine, (uint16_t)number, &view);

	if (error)
		return error;
	rte_tel_data_start_dict(answer);
	rte_tel_data_add_dict_uint(answer, "rx_frames", view.stats.rx_frames);
	rte_tel_data_add_dict_uint(answer, "tx_frames", view.stats.tx_frames);
	rte_tel_data_add_dict_uint(answer, "rx_bytes", view.stats.rx_bytes);
	rte_tel_data_add_dict_uint(answer, "tx_bytes", view.stats.tx_bytes);
	add_counters(answer, &view.stats);
	return 0;
}

static void tell_mr(const struct uroce_mr_view *view, struct rte_tel_data *list)
{
	char text[160];

	snprintf(text, sizeof(text), "%s 0x%" PRIx64 " bytes %" PRIu64 " domain %u%s%s%s%s%s",
		 view->is_window ? "window" : "region", view->addr, view->bytes, view->domain,
		 view->access & UROCE_ACCESS_LOCAL_WRITE ? " local_write" : "",
		 view->access & UROCE_ACCESS_REMOTE_READ ? " remote_read" : "",
		 view->access & UROCE_ACCESS_REMOTE_WRITE ? " remote_write" : "",
		 view->access & UROCE_ACCESS_REMOTE_ATOMIC ? " remote_atomic" : "", view->windows ? " windows" : "");
	rte_tel_data_add_array_string(list, text);
}

/* Tells the first page of regions, and how many there are. */
static int tell_mrs(struct uroce_engine *engine, uint32_t number, struct rte_tel_data *answer)
{
	struct uroce_mr_view views[PAGE_MRS];
	uint32_t next = 0, all = 0;
	struct rte_tel_data *list = rte_tel_data_alloc();
	int found;

	if (list == NULL)
		return -ENOMEM;
	rte_tel_data_start_array(list, RTE_TEL_STRING_VAL);
	do {
		found = number > UINT16_MAX ? -ENOENT :
					      uroce_inspect_mrs(engine, (uint16_t)number, &next, views, PAGE_MRS);
		if (found < 0) {
			rte_tel_data_free(list);
			return found;
		}
		for (int i = 0; all == 0 && i < found; i++)
			tell_mr(&views[i], list);
		all += (uint32_t)found;
	} while (found == PAGE_MRS);
	rte_tel_data_start_dict(answer);
	rte_tel_data_add_dict_container(answer, "regions", list, 0);
	rte_tel_data_add_dict_uint(answer, "all", all);
	return 0;
}

/* ---- queue pairs ---- */

/* Tells a page of QPs; "next" is the number with which the next page is asked for, or 0 on the last page. */
static int tell_qps(struct uroce_engine *engine, uint32_t number, struct rte_tel_data *answer)
{
	uint32_t qp_nums[PAGE_QPS], next = number, found = uroce_inspect_qps(engine, &next, qp_nums, PAGE_QPS);
	struct rte_tel_data *list = rte_tel_data_alloc();

	if (list == NULL)
		return -ENOMEM;
	rte_tel_data_start_array(list, RTE_TEL_UINT_VAL);
	for (uint32_t i = 0; i < found; i++)
		rte_tel_data_add_array_uint(list, qp_nums[i]);
	rte_tel_data_start_dict(answer);
	rte_tel_data_add_dict_container(answer, "qps", list, 0);
	rte_tel_data_add_dict_uint(answer, "next", found == PAGE_QPS ? next : 0);
	return 0;
}

static int tell_qp(struct uroce_engine *engine, uint32_t number, struct rte_tel_data *answer)
{
	struct uroce_qp_view view;
	const struct uroce_qp_attr *attr = &view.attr;
	int error = uroce_inspect_qp(engine, number, &view);

	if (error)
		return error;
	rte_tel_data_start_dict(answer);
	rte_tel_data_add_dict_uint(answer, "qpn", view.qp_num);
	rte_tel_data_add_dict_string(answer, "state", uroce_qp_state_name(attr->qp_state));
	rte_tel_data_add_dict_uint(answer, "lcore", view.lcore);
	rte_tel_data_add_dict_uint(answer, "port", view.port_id);
	rte_tel_data_add_dict_uint(answer, "peer_qpn", attr->dest_qp_num);
	add_address(answer, "source", &attr->path.source);
	add_address(answer, "dest", &attr->path.dest);
	rte_tel_data_add_dict_string(answer, "path_state", uroce_path_mig_state_name(attr->path_mig_state));
	rte_tel_data_add_dict_uint(answer, "mtu", attr->path_mtu);
	rte_tel_data_add_dict_uint(answer, "sends", view.sends);
	rte_tel_data_add_dict_uint(answer, "receives", view.receives);
	rte_tel_data_add_dict_uint(answer, "acked_psn", view.acked_psn);
	rte_tel_data_add_dict_uint(answer, "sent_psn", view.sent_psn);
	rte_tel_data_add_dict_uint(answer, "expected_psn", view.expected_psn);
	rte_tel_data_add_dict_uint(answer, "round_trip_ns", view.round_trip_ns);
	rte_tel_data_add_dict_uint(answer, "peer_away_ns", view.peer_away_ns);
	rte_tel_data_add_dict_uint(answer, "peer_away_age_ns", view.peer_away_age_ns);
	rte_tel_data_add_dict_uint(answer, "timeout", attr->timeout);
	rte_tel_data_add_dict_uint(answer, "retry_cnt", attr->retry_cnt);
	rte_tel_data_add_dict_uint(answer, "rnr_retry", attr->rnr_retry);
	rte_tel_data_add_dict_uint(answer, "max_rd_atomic", attr->max_rd_atomic);
	rte_tel_data_add_dict_string(answer, "error", uroce_wc_status_name(view.error.status));
	return 0;
}

static int tell_qp_counters(struct uroce_engine *engine, uint32_t number, struct rte_tel_data *answer)
{
	struct uroce_qp_view view;
	int error = uroce_inspect_qp(engine, number, &view);

	if (error)
		return error;
	rte_tel_data_start_dict(answer);
	add_counters(answer, &view.stats);
	return 0;
}

static int tell_why(struct uroce_engine *engine, uint32_t number, struct rte_tel_data *answer)
{
	char text[UROCE_WHY_BYTES];
	int error = uroce_qp_why(engine, number, text, sizeof(text));

	return error ? error : rte_tel_data_string(answer, text);
}

/* ---- commands ---- */

static const struct command {
	const char *name, *help;
	answer_function *function;
	bool takes_number, needs_number;
} commands[] = {
	{ "/uroce/info", "The engine: version, lcores, ports, queue pairs. No parameters", tell_info, false, false },
	{ "/uroce/lcore/info", "Load of an lcore. Parameters: lcore index within the engine, from 0", tell_lcore, true,
	  true },
	{ "/uroce/port/list", "Ports with a RoCE device. No parameters", tell_ports, false, false },
	{ "/uroce/port/info", "A port: addresses, limits, link. Parameters: port", tell_port, true, true },
	{ "/uroce/counters", "Frames and counters of a port. Parameters: port", tell_port_counters, true, true },
	{ "/uroce/counters/help", "Descriptions of the counters. No parameters", tell_counter_texts, false, false },
	{ "/uroce/mr/list", "Memory regions and bound windows of a port. Parameters: port", tell_mrs, true, true },
	{ "/uroce/qp/list",
	  "Queue pairs, one page. Parameters: `next` of the previous page, omitted for the first page", tell_qps, true,
	  false },
	{ "/uroce/qp/info", "A queue pair: state, path, window. Parameters: QPN", tell_qp, true, true },
	{ "/uroce/qp/stats", "Counters of a queue pair. Parameters: QPN", tell_qp_counters, true, true },
	{ "/uroce/qp/why", "Diagnosis of a queue pair that is in ERR or makes no progress. Parameters: QPN", tell_why,
	  true, true },
	{ "/uroce/cm", "Connection manager: number of connections, and counters. No parameters", tell_connections,
	  false, false },
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

/* Parses the number behind a command. Returns false if it is no number or too large, or if the command takes none. */
static bool parse_number(const struct command *command, const char *text, uint32_t *number)
{
	char *end = NULL;
	unsigned long value;

	*number = 0;
	if (text == NULL || *text == '\0')
		return !command->needs_number;
	if (!command->takes_number || *text == '-')
		return false;
	errno = 0;
	value = strtoul(text, &end, 0);
	*number = (uint32_t)value;
	return errno == 0 && *end == '\0' && value <= UINT32_MAX;
}

/* There is always an answer: without one the client would see just null. */
static int serve(const char *name, const char *parameters, struct rte_tel_data *answer)
{
	const struct command *command = commands;
	char text[160];
	uint32_t number;
	int error;

	while (strcmp(command->name, name) != 0)
		command++;
	if (!parse_number(command, parameters, &number)) {
		snprintf(text, sizeof(text), "%s,%s: %s", name, parameters ? parameters : "", command->help);
		return rte_tel_data_string(answer, text);
	}
	pthread_mutex_lock(&lock);
	error = shown ? command->function(shown, number, answer) : -ENODEV;
	pthread_mutex_unlock(&lock);
	if (error == 0)
		return 0;
	snprintf(text, sizeof(text), "%s,%s: %s", name, parameters ? parameters : "",
		 error == -ENODEV    ? "the process has no engine" :
		 error == -ENOENT    ? "no object with this number exists" :
		 error == -ETIMEDOUT ? "its lcore does not poll" :
				       strerror(-error));
	return rte_tel_data_string(answer, text);
}

static int register_commands(void)
{
	static bool registered;
	int error = 0;

	for (size_t i = 0; !registered && error == 0 && i < COMMANDS; i++)
		error = rte_telemetry_register_cmd(commands[i].name, serve, commands[i].help);
	registered |= error == 0;
	return error;
}

int uroce_telemetry_show(struct uroce_engine *engine)
{
	int error = 0;

	pthread_mutex_lock(&lock);
	if (engine && shown && shown != engine)
		error = -EBUSY;
	else if (engine)
		error = register_commands();
	if (error == 0) {
		shown = engine;
		ports = 0;
	}
	pthread_mutex_unlock(&lock);
	return error;
}

void drivers_telemetry_start(struct uroce_engine *engine)
{
	pthread_mutex_lock(&lock);
	if ((shown == NULL && register_commands() == 0) || (shown == engine && ports)) {
		shown = engine;
		ports++;
	}
	pthread_mutex_unlock(&lock);
}

void drivers_telemetry_stop(const struct uroce_engine *engine)
{
	pthread_mutex_lock(&lock);
	if (shown == engine && ports && --ports == 0)
		shown = NULL;
	pthread_mutex_unlock(&lock);
}
