/* cm.c - connections: checks arguments, then calls the lcore of the connection (C-27) */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "api/cm_id.h"
#include "cm/service.h"
#include "engine/clock.h"
#include "engine/device_state.h"
#include "engine/lcore_state.h"
#include "engine/log.h"
#include "engine/mailbox.h"
#include "engine/route.h"
#include "rc/path.h"
#include "wire/encap.h"

int uroce_cm_id_destroy(struct uroce_cm_id *id)
{
	int error;

	if (!id->listens)
		return api_cm_end(id);
	error = api_cm_stop_listening(id);
	if (error == 0)
		api_cm_drop(id);
	return error;
}

int uroce_cm_close(struct uroce_cm_id *id)
{
	struct uroce_qp *qp = id->qp;
	int error = uroce_cm_id_destroy(id);

	return error || qp == NULL ? error : uroce_qp_destroy(qp);
}

/* ---- connecting ---- */

static struct cm_path cm_path_of(const struct uroce_path *path, uint8_t timeout)
{
	struct cm_path alternate = {
		.local_lid = 0, /* over RoCE an alternate path is identified by its GIDs (C-19) */
		.flow_label = path->flow_label,
		.traffic_class = path->traffic_class,
		.hop_limit = path->hop_limit ? path->hop_limit : 64,
		.ack_timeout = timeout,
	};

	memcpy(alternate.local_gid, path->source.bytes, sizeof(alternate.local_gid));
	memcpy(alternate.remote_gid, path->dest.bytes, sizeof(alternate.remote_gid));
	return alternate;
}

/* The alternate path must begin at an address of ours, and differ from the first one. */
static int check_alternate(const struct uroce_cm_id *id, const struct uroce_path *given, const struct cm_route *route)
{
	struct uroce_path first = connect_path(route), second = { .source = given->source, .dest = given->dest };

	second.device = engine_connect_device_of(id->channel->engine, &given->source);
	if (second.device == NULL)
		return engine_refuse(-EINVAL, "alternate: no device has its source address");
	engine_route_complete(&second.device->config, &second);
	return path_is_same(&first, &second) ? engine_refuse(-EINVAL, "alternate: it equals the primary path") : 0;
}

int uroce_cm_connect(struct uroce_cm_id *id, const struct uroce_addr *source, const struct uroce_addr *dest,
		     uint16_t port, const struct uroce_cm_options *options)
{
	struct uroce_path path;
	int error;

	if (options == NULL)
		options = &api_cm_no_options;
	error = api_cm_check_id(id, options);
	if (error == 0)
		error = api_cm_find_path(id, source, dest, &path);
	if (error == 0 && id->datagrams)
		return api_cm_ask(id, &path, port, options);
	if (error == 0)
		error = api_cm_check_options(id, options, UROCE_CM_CONNECT_PRIVATE_MAX);
	if (error == 0)
		error = api_cm_draw_psn(id);
	if (error)
		return error;
	path.traffic_class = options->traffic_class;
	id->aim = CONNECT_CONNECT;
	id->user_moves = options->qp_num != 0;
	id->request = (struct cm_connect){
		.route = connect_route(&path),
		.service_id = cm_service_id(CM_SPACE_TCP, port),
		.context = (uint64_t)(uintptr_t)id,
		.side = api_cm_side_of(id, options),
		.response_timeout = options->cm_timeout,
		.max_retries = options->cm_retries,
		.user_moves = id->user_moves,
		.tell_timewait = options->timewait_event,
		.user = { id->request_private, options->private_bytes },
	};
	if (!id->is_bound)
		id->port = (uint16_t)(PORT_FIRST + id->request.side.qpn % PORTS);
	id->request.source_port = id->port;
	if (options->private_bytes)
		memcpy(id->request_private, options->private_data, options->private_bytes);
	if (options->alternate) {
		error = check_alternate(id, options->alternate, &id->request.route);
		if (error)
			return error;
		id->alternate = cm_path_of(options->alternate, id->request.side.ack_timeout);
		id->request.alternate = &id->alternate;
	}
	api_cm_set_attr(id, options, &id->request.route, id->request.side.ack_timeout);
	return engine_mailbox_call(id->lcore, api_cm_begin_on_owner, id);
}

/* ---- accepting ---- */

struct answer {
	struct uroce_cm_id *id;
	const struct uroce_cm_options *options;
	struct cm_private user;
	const struct cm_path *alternate;
};

/* Tells the peer which queue pair for datagrams serves it. There is no QP to move. */
static int accept_datagrams(const struct answer *answer, struct cm_accept *accept)
{
	struct uroce_cm_id *id = answer->id;
	int error;

	accept->side.qpn = answer->options->qp_num;
	accept->qkey = answer->options->qkey ? answer->options->qkey : UROCE_CM_UD_QKEY;
	error = cm_accept(id->lcore->connect->cm, id->connection, accept, engine_now_ns());
	engine_connect_run(id->lcore);
	return error;
}

/* The QP is in RTR before the REP leaves (C-9). */
static int accept_on_owner(void *argument)
{
	const struct answer *answer = argument;
	struct uroce_cm_id *id = answer->id;
	struct cm *cm = id->lcore->connect->cm;
	struct cm_accept accept = { .context = (uint64_t)(uintptr_t)id, .user = answer->user };
	int error = 0;

	if (id->connection == CM_NONE || !cm_is_asking(cm, id->connection))
		return engine_refuse(-ENOTCONN, "id: no connection request is pending on it");
	if (id->datagrams)
		return accept_datagrams(answer, &accept);
	accept.tell_timewait = answer->options->timewait_event;
	accept.side = api_cm_side_of(id, answer->options);
	accept.side.ack_timeout = cm_peer(cm, id->connection)->ack_timeout;
	accept.side.path_mtu = cm_peer(cm, id->connection)->path_mtu;
	accept.user_moves = id->user_moves = answer->options->qp_num != 0;
	cm_propose(cm, id->connection, &accept.side);
	api_cm_set_attr(id, answer->options, cm_route_of(cm, id->connection), accept.side.ack_timeout);
	accept.failover = id->user_moves ? CM_FAILOVER_UNSUPPORTED : engine_connect_accept_to_rtr(id, &error);
	if (error)
		return error;
	error = cm_accept(cm, id->connection, &accept, engine_now_ns());
	engine_connect_run(id->lcore);
	return error ? engine_refuse(error,
				     "id: the peer withdrew its connection request before the request was accepted") :
		       0;
}

int uroce_cm_accept(struct uroce_cm_id *id, const struct uroce_cm_options *options)
{
	struct answer answer = { .id = id, .options = options ? options : &api_cm_no_options };

	int error = api_cm_check_id(id, answer.options);

	if (error == 0 && id->lcore == NULL)
		error = engine_refuse(-ENOTCONN, "id: no connection request is pending on it");
	if (error == 0 && id->datagrams)
		error = api_cm_check_datagrams(answer.options, UROCE_CM_UD_ACCEPT_PRIVATE_MAX);
	else if (error == 0)
		error = api_cm_check_options(id, answer.options, UROCE_CM_ACCEPT_PRIVATE_MAX);
	if (error == 0)
		error = api_cm_draw_psn(id);
	if (error)
		return error;
	answer.user = (struct cm_private){ answer.options->private_data, answer.options->private_bytes };
	return engine_mailbox_call(id->lcore, accept_on_owner, &answer);
}

static int reject_on_owner(void *argument)
{
	const struct answer *answer = argument;
	struct uroce_lcore *lcore = answer->id->lcore;
	int error =
		cm_reject(lcore->connect->cm, answer->id->connection, CM_REJ_CONSUMER, &answer->user, engine_now_ns());

	engine_connect_run(lcore);
	return error ? engine_refuse(error, "id: no connection request is pending on it") : 0;
}

int uroce_cm_reject(struct uroce_cm_id *id, const void *private_data, uint32_t private_bytes)
{
	struct answer answer = { .id = id, .user = { private_data, private_bytes } };
	uint32_t most = id->datagrams ? UROCE_CM_UD_ACCEPT_PRIVATE_MAX : UROCE_CM_REJECT_PRIVATE_MAX;

	if (private_bytes > most || (private_bytes && private_data == NULL))
		return engine_refuse(-EINVAL, "private_bytes %u: must be 0 to %u, and private_data must not be NULL",
				     private_bytes, most);
	if (id->lcore == NULL || id->connection == CM_NONE)
		return engine_refuse(-ENOTCONN, "id: no connection request is pending on it");
	return engine_mailbox_call(id->lcore, reject_on_owner, &answer);
}

static int disconnect_on_owner(void *argument)
{
	struct uroce_cm_id *id = argument;
	int error = id->connection == CM_NONE ?
			    -ENOTCONN :
			    cm_disconnect(id->lcore->connect->cm, id->connection, NULL, engine_now_ns());

	engine_connect_run(id->lcore);
	return error ? engine_refuse(error, "id: its connection is not established") : 0;
}

int uroce_cm_disconnect(struct uroce_cm_id *id)
{
	return id->lcore ? engine_mailbox_call(id->lcore, disconnect_on_owner, id) :
			   engine_refuse(-ENOTCONN, "id: its connection is not established");
}

static int alternate_on_owner(void *argument)
{
	const struct answer *answer = argument;
	struct uroce_cm_id *id = answer->id;
	struct uroce_path path;
	int error = id->connection == CM_NONE ? -ENOTCONN : engine_connect_alternate_path(id, answer->alternate, &path);

	if (error == 0)
		error = cm_load_alternate(id->lcore->connect->cm, id->connection, answer->alternate, engine_now_ns());
	engine_connect_run(id->lcore);
	if (error == -EALREADY)
		return engine_refuse(error, "path: another path is being negotiated; wait for UROCE_CM_ALTERNATE");
	return error == -ENOTCONN ? engine_refuse(error, "id: its connection is not established") : error;
}

int uroce_cm_load_alternate(struct uroce_cm_id *id, const struct uroce_path *path, uint8_t timeout)
{
	struct cm_path alternate = cm_path_of(path, timeout ? timeout : TIMEOUT_DEFAULT);
	struct answer answer = { .id = id, .alternate = &alternate };
	char dest[INET6_ADDRSTRLEN];
	int error;

	if (id->lcore == NULL || id->qp == NULL)
		return engine_refuse(-ENOTCONN, "id: its connection is not established");
	if (timeout > 31)
		return engine_refuse(-EINVAL, "timeout %u: must be 0 to 31", timeout);
	error = engine_mailbox_call(id->lcore, alternate_on_owner, &answer);
	if (error == -EADDRNOTAVAIL)
		return engine_refuse(-EINVAL, "path.source: no device of the engine has this address");
	if (error == -EAFNOSUPPORT)
		return engine_refuse(-EINVAL, "path: source and dest must both be IPv4 or both be IPv6");
	if (error == -EHOSTUNREACH)
		return engine_refuse(-EINVAL, "path.hop_limit %u: %s is behind a router, so 2 or more is required",
				     path->hop_limit, uroce_addr_format(&path->dest, dest, sizeof(dest)));
	if (error == -EEXIST)
		return engine_refuse(-EINVAL, "path: it equals the path in use");
	return error;
}
