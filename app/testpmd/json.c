/* json.c - writes the final statistics of uroce-testpmd as JSON */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "testpmd/json.h"

static json_t *describe_port(const struct traffic_port *port)
{
	struct uroce_stats stats;
	json_t *counters = json_object();

	uroce_device_stats(port->port->device, &stats);
	for (uint32_t i = 0; i < stats.count; i++)
		json_object_set_new(counters, uroce_counter_name(i), json_integer((json_int_t)stats.values[i]));
	return json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:o}", "name", port->port->ethdev->name, "driver",
			 port->port->ethdev->driver, "rx_frames", (json_int_t)stats.rx_frames, "rx_bytes",
			 (json_int_t)stats.rx_bytes, "tx_frames", (json_int_t)stats.tx_frames, "tx_bytes",
			 (json_int_t)stats.tx_bytes, "counters", counters);
}

static json_t *describe_flow(struct flow *flow)
{
	struct uroce_qp_attr attr;
	char why[UROCE_EXPLAIN_BYTES];
	bool dead = atomic_load(&flow->dead);

	if (uroce_qp_query(flow->qp, &attr) != 0)
		return NULL;
	return json_pack("{s:i, s:i, s:s, s:i, s:b, s:b, s:I, s:I, s:s*}", "qp_num", (int)uroce_qp_num(flow->qp),
			 "port", (int)flow->port, "state", uroce_qp_state_name(attr.qp_state), "peer",
			 (int)attr.dest_qp_num, "sends", (int)flow->asks, "serves", (int)flow->serves, "messages",
			 (json_int_t)atomic_load(&flow->messages), "bytes", (json_int_t)atomic_load(&flow->bytes),
			 "error", dead ? uroce_wc_explain(&flow->error, why, sizeof(why)) : NULL);
}

int json_close(struct app_json *json, struct traffic *traffic)
{
	json_t *ports = json_array(), *qps = json_array(), *root;
	int code;

	for (unsigned i = 0; i < traffic->port_count; i++)
		json_array_append_new(ports, describe_port(&traffic->ports[i]));
	pthread_mutex_lock(&traffic->flows_lock);
	for (uint32_t i = 0; i < atomic_load(&traffic->flow_count); i++)
		json_array_append_new(qps, describe_flow(&traffic->flows[i]));
	pthread_mutex_unlock(&traffic->flows_lock);
	root = json_pack("{s:s, s:o, s:o}", "version", uroce_version(), "ports", ports, "qps", qps);
	code = app_json_close(json, root);
	json_decref(root);
	return code;
}
