/* modify.c - changes the attributes of a QP: checks ports and addresses, then lets the owner change it */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/modify.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/random.h>

#include "engine/clock.h"
#include "engine/device_state.h"
#include "engine/lcore_state.h"
#include "engine/log.h"
#include "engine/mailbox.h"
#include "engine/qp.h"
#include "engine/resolve.h"
#include "engine/route.h"
#include "engine/run_queue.h"
#include "engine/steer.h"
#include "engine/trace_points.h"
#include "rc/codes.h"

uint64_t engine_modify_time_wait_ns(const struct uroce_qp *qp)
{
	uint64_t first = rc_codes_timeout_ns(qp_core(qp)->timeout),
		 second = rc_codes_timeout_ns(qp_core(qp)->alternate.timeout);

	return steer_time_wait(4 * (first > second ? first : second));
}

void engine_modify_hold_devices(struct uroce_qp *qp, struct uroce_device *first, struct uroce_device *second)
{
	struct uroce_device *new[2] = { first, second };

	for (int i = 0; i < 2; i++) {
		if (new[i])
			atomic_fetch_add(&new[i]->users, 1);
		if (qp->held[i])
			atomic_fetch_sub(&qp->held[i]->users, 1);
		qp->held[i] = new[i];
	}
}

struct modification {
	struct uroce_qp *qp;
	struct uroce_qp_attr attr;
	uint32_t mask;
	uint32_t bad_mask;
};

/*
 * Checks a path. The port has a queue on the QP's lcore and takes the path MTU; the source is one of the port's
 * addresses, since frames to other addresses do not arrive here; and the peer can be reached, or the MAC of a router is
 * given. A path that cannot work is refused now, not when it is needed. Returns 0, -EINVAL or -ENETUNREACH.
 */
static int check_path(struct modification *modification, const struct uroce_path *path, uint32_t mtu_bytes)
{
	static const struct uroce_mac none;
	const struct uroce_device_config *config = &path->device->config;
	uint16_t port_id = path->device->port_id;
	const char *name = uroce_qp_attr_name(modification->bad_mask);
	char source[INET6_ADDRSTRLEN], dest[INET6_ADDRSTRLEN];

	uroce_addr_format(&path->source, source, sizeof(source));
	uroce_addr_format(&path->dest, dest, sizeof(dest));
	if (!engine_find_port(modification->qp->owner, path->device))
		return engine_refuse(-EINVAL, "%s: port %u has no queue on the queue pair's lcore", name, port_id);
	if (config->mtu_bytes < mtu_bytes)
		return engine_refuse(-EINVAL, "%s: path MTU %u: port %u supports up to %u; use a smaller path MTU",
				     name, mtu_bytes, port_id, config->mtu_bytes);
	if (engine_route_find(config, path->source.bytes) < 0)
		return engine_refuse(-EINVAL, "%s: source %s is not an address of port %u", name, source, port_id);
	if (!engine_route_begins_here(config, path))
		return engine_refuse(-EINVAL,
				     "%s: from %s to %s with VLAN %u, priority %u: the addresses must both be IPv4 or "
				     "both IPv6, the VLAN 0 to 4094, and the priority 0 to 7",
				     name, source, dest, path->vlan_id, path->vlan_priority);
	if (memcmp(&path->dest_mac, &none, sizeof(none)) != 0 || engine_route_next_hop(config, path))
		return 0;
	return engine_refuse(-ENETUNREACH, "%s: %s is outside the network of %s, which has no gateway", name, dest,
			     source);
}

/* Checks what only the engine can check. */
static int check_paths(const struct uroce_qp *qp, struct modification *modification)
{
	const struct uroce_qp_attr *attr = &modification->attr;
	uint32_t mtu_bytes = modification->mask & UROCE_QP_PATH_MTU ? attr->path_mtu : qp_core(qp)->mtu_bytes;
	int error = 0;

	if (modification->mask & UROCE_QP_PATH) {
		modification->bad_mask = UROCE_QP_PATH;
		error = check_path(modification, &attr->path, mtu_bytes);
	}
	if (error == 0 && (modification->mask & UROCE_QP_ALT_PATH)) {
		modification->bad_mask = UROCE_QP_ALT_PATH;
		error = check_path(modification, &attr->alt_path, mtu_bytes);
	}
	if (error == 0)
		modification->bad_mask = 0;
	return error;
}

static int check_spread(const struct uroce_qp *qp, struct modification *modification)
{
	const struct uroce_device *device = qp->device;

	if (!(modification->mask & UROCE_QP_PATHS) || modification->attr.paths < 2 ||
	    device_takes_several_paths(device))
		return 0;
	modification->bad_mask = UROCE_QP_PATHS;
	return engine_refuse(-EINVAL,
			     "PATHS: port %u has %u queues and selects a queue by UDP source port; multipath requires "
			     "a port with one queue",
			     device->port_id, device->config.queue_count);
}

/* P-7: must the QP, which was reset, wait before its number serves another connection? */
static bool must_rest(const struct uroce_qp *qp, const struct modification *modification)
{
	return (modification->mask & UROCE_QP_STATE) && modification->attr.qp_state == UROCE_QPS_RTR &&
	       engine_now_ns() < qp->quiet_until_ns;
}

/* After a RESET: the time-wait of the number begins, and the next connection starts at another PSN (P-2). */
static int forget_connection(struct uroce_qp *qp, uint64_t rest_ns)
{
	uint32_t psn;

	qp->quiet_until_ns = engine_now_ns() + rest_ns;
	if (getrandom(&psn, sizeof(psn), 0) != sizeof(psn))
		return engine_refuse_random();
	rc_qp_renew_psn(qp_core(qp), psn);
	return 0;
}

/* A path that names no device uses the QP's own. */
static void complete_path(struct uroce_device *device, struct uroce_path *path)
{
	if (path->device == NULL)
		path->device = device;
	engine_route_complete(&path->device->config, path);
}

/* Refuses by the name of the attribute that the core has objected to. */
static int refuse_attr(const struct rc_qp *rc, const struct modification *modification, int error)
{
	const char *name = uroce_qp_attr_name(modification->bad_mask),
		   *from = uroce_qp_state_name((enum uroce_qp_state)rc->state),
		   *to = modification->mask & UROCE_QP_STATE ? uroce_qp_state_name(modification->attr.qp_state) : from;

	if (error == -EAGAIN)
		return engine_refuse(
			error,
			"%s REARM: no packet from the peer has arrived over the new path yet; exchange a message first",
			name);
	return engine_refuse(error,
			     "%s: the value is out of range, missing, or not allowed in the transition from %s to %s; "
			     "see uroce/qp.h",
			     name, from, to);
}

static int modify_on_owner(void *argument)
{
	struct modification *modification = argument;
	struct uroce_qp *qp = modification->qp;
	struct rc_qp *rc = qp_core(qp);
	uint64_t rest_ns = engine_modify_time_wait_ns(qp); /* read now, because RESET forgets the timeouts */
	uint8_t before = rc->state;
	struct uroce_mac mac;
	int error = check_paths(qp, modification);

	error = error ? error : check_spread(qp, modification);
	if (error)
		return error;
	if (must_rest(qp, modification)) /* the same call will succeed later */
		return engine_refuse(-EAGAIN, "STATE RTR: the QP was reset and stays in time-wait for another %u ms",
				     (unsigned)((qp->quiet_until_ns - engine_now_ns()) / 1000000 + 1));
	if (before == UROCE_QPS_RESET && qp_cq_has_failed(qp)) {
		modification->bad_mask = UROCE_QP_STATE;
		return engine_refuse(-EINVAL, "STATE: a CQ of the QP has overflowed; create a new CQ and QP");
	}
	error = rc_qp_modify(rc, &modification->attr, modification->mask, &modification->bad_mask);
	if (error)
		return refuse_attr(rc, modification, error);
	if (rc->state != before)
		engine_trace_qp_state(qp->device->port_id, qp->qpn, uroce_qp_state_name(before),
				      uroce_qp_state_name(rc->state));
	if (rc->state == UROCE_QPS_RESET && before >= UROCE_QPS_RTR)
		error = forget_connection(qp, rest_ns);
	engine_steer_set_peers(qp->device->engine, qp);
	engine_modify_hold_devices(qp, (struct uroce_device *)rc->path.device,
				   (struct uroce_device *)rc->alternate.path.device);
	/* A migration changes the path as well: the QP does not use the old port any more. */
	if ((modification->mask & UROCE_QP_PATH) || qp->migrations != rc->migration.count)
		engine_resolve_start(qp->owner, qp);
	/* The MAC of the alternate path is asked for now, so that it is known when the QP migrates. */
	if (modification->mask & UROCE_QP_ALT_PATH)
		engine_resolve_find(qp->owner, &rc->alternate.path, &mac);
	run_queue_add(qp);
	return error;
}

int engine_modify_qp(struct uroce_qp *qp, const struct uroce_qp_attr *attr, uint32_t mask, uint32_t *bad_mask)
{
	struct modification modification = { .qp = qp, .attr = *attr, .mask = mask };
	int error;

	if (mask & UROCE_QP_PATH)
		complete_path(qp->device, &modification.attr.path);
	if (mask & UROCE_QP_ALT_PATH)
		complete_path(qp->device, &modification.attr.alt_path);
	error = engine_mailbox_call(qp->owner, modify_on_owner, &modification);
	if (error && bad_mask)
		*bad_mask = modification.bad_mask;
	return error;
}
