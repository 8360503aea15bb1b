/* paths.c - the alternate paths of queue pairs between ports with two addresses each */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "testpmd/paths.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_MS 1000

/* Finds the other address of a port. Returns false if the port has only one. */
static bool other_address(const struct traffic *traffic, unsigned port, const struct uroce_addr *used,
			  struct uroce_addr *other)
{
	struct uroce_device_info info;

	uroce_device_query(traffic->ports[port].port->device, &info);
	for (uint32_t i = 0; i < info.addr_count; i++) {
		if (memcmp(&info.addrs[i], used, sizeof(*used)) == 0)
			continue;
		*other = info.addrs[i];
		return true;
	}
	return false;
}

/*
 * Loads an alternate path of the queue pair: the path between the addresses that it does not use now. Returns 0, also
 * if the ports have only one address; or the refusal.
 */
static int load(const struct traffic *traffic, const struct flow *flow)
{
	struct uroce_qp_attr attr, alternate = {
		.alt_pkey = 0xFFFF,
		.path_mig_state = UROCE_PATH_REARM,
	};
	int error = uroce_qp_query(flow->qp, &attr);

	if (error || !other_address(traffic, flow->port, &attr.path.source, &alternate.alt_path.source) ||
	    !other_address(traffic, !flow->port, &attr.path.dest, &alternate.alt_path.dest))
		return error;
	alternate.alt_timeout = attr.timeout;
	return uroce_qp_modify(flow->qp, &alternate, UROCE_QP_ALT_PATH | UROCE_QP_PATH_MIG_STATE, NULL);
}

/* The two ends of a queue pair are neighbours in the array of flows. */
static const struct flow *peer_of(const struct traffic *traffic, const struct flow *flow)
{
	return &traffic->flows[(flow - traffic->flows) ^ 1];
}

/*
 * Both ends have loaded an alternate path. Each learns from the other's packets that the other end has loaded it, too.
 */
static bool wait_until_armed(const struct traffic *traffic, const struct flow *flow)
{
	struct uroce_qp_attr attr;

	for (unsigned ms = 0; ms < PATIENCE_MS; ms++) {
		if (uroce_qp_query(flow->qp, &attr) != 0)
			return false;
		if (attr.path_mig_state == UROCE_PATH_ARMED)
			return true;
		if (attr.path_mig_state == UROCE_PATH_MIGRATED) {
			load(traffic, flow);
			load(traffic, peer_of(traffic, flow));
		}
		usleep(1000);
	}
	return false;
}

static void migrate(struct traffic *traffic, uint32_t qp_num)
{
	const struct uroce_qp_attr migrate = { .path_mig_state = UROCE_PATH_MIGRATED };
	const struct flow *flow = traffic_find(traffic, qp_num);
	struct uroce_addr other;
	struct uroce_qp_attr attr;
	char source[64], dest[64];

	if (flow == NULL)
		app_complain(APP_EXIT_USAGE, "QP 0x%06x does not exist; \"show qp\" lists the QPs", qp_num);
	else if (traffic->port_count != 2 || !other_address(traffic, 0, &traffic->ports[0].port->addr, &other) ||
		 !other_address(traffic, 1, &traffic->ports[1].port->addr, &other))
		app_complain(APP_EXIT_USAGE, "QP 0x%06x has no alternate path: give each of two ports a second --ip",
			     qp_num);
	else if (!wait_until_armed(traffic, flow))
		app_complain(
			APP_EXIT_FAILURE,
			"QP 0x%06x: the alternate path is not armed yet: enter \"start\" to exchange messages first",
			qp_num);
	else if (uroce_qp_modify(flow->qp, &migrate, UROCE_QP_PATH_MIG_STATE, NULL) != 0 ||
		 uroce_qp_query(flow->qp, &attr) != 0)
		app_complain(APP_EXIT_FAILURE, "QP 0x%06x cannot migrate: it is in ERR, or has just migrated", qp_num);
	else
		printf("QP 0x%06x now uses %s to %s\n", qp_num,
		       uroce_addr_format(&attr.path.source, source, sizeof(source)),
		       uroce_addr_format(&attr.path.dest, dest, sizeof(dest)));
}

void paths_migrate(struct traffic *traffic, uint32_t qp_num)
{
	pthread_mutex_lock(&traffic->flows_lock);
	migrate(traffic, qp_num);
	pthread_mutex_unlock(&traffic->flows_lock);
}

void paths_show(struct traffic *traffic)
{
	uint32_t count;

	pthread_mutex_lock(&traffic->flows_lock);
	count = atomic_load(&traffic->flow_count);
	printf("%-10s %-5s %-16s %-16s %-5s %-6s %-9s %s\n", "QPN", "port", "from", "to", "MTU", "class", "migration",
	       "alternate");
	for (uint32_t i = 0; i < count; i++) {
		const struct flow *flow = &traffic->flows[i];
		struct uroce_qp_attr attr;
		char source[64], dest[64];

		if (uroce_qp_query(flow->qp, &attr) != 0)
			continue;
		printf("0x%06x   %-5u %-16s %-16s %-5u %-6u %-9s ", uroce_qp_num(flow->qp), flow->port,
		       uroce_addr_format(&attr.path.source, source, sizeof(source)),
		       uroce_addr_format(&attr.path.dest, dest, sizeof(dest)), attr.path_mtu, attr.path.traffic_class,
		       uroce_path_mig_state_name(attr.path_mig_state));
		if (attr.path_mig_state == UROCE_PATH_MIGRATED)
			printf("none\n");
		else
			printf("%s -> %s\n", uroce_addr_format(&attr.alt_path.source, source, sizeof(source)),
			       uroce_addr_format(&attr.alt_path.dest, dest, sizeof(dest)));
	}
	pthread_mutex_unlock(&traffic->flows_lock);
	if (count == 0)
		printf("none\n");
}
