/* cm_qp.c - the queue pair of a connection: made for it, or made and moved by its user */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "api/cm_id.h"
#include "engine/clock.h"
#include "engine/lcore_state.h"
#include "engine/log.h"
#include "engine/mailbox.h"
#include "engine/pd.h"
#include "engine/qp.h"
#include "rc/codes.h"
#include "wire/packet.h"

/* ---- made for the connection ---- */

static int adopt_on_owner(void *argument)
{
	struct uroce_cm_id *id = argument;

	id->qp->cm_id = id;
	engine_connect_go_on(id);
	return 0;
}

static int pause_on_owner(void *argument)
{
	engine_connect_pause(argument);
	return 0;
}

/* Moves the id to the lcore of its queue pair, and with it the path that it is resolving. */
static int adopt(struct uroce_cm_id *id, struct uroce_qp *qp)
{
	int error = id->lcore ? engine_mailbox_call(id->lcore, pause_on_owner, id) : 0;

	if (error)
		return error;
	id->qp = qp;
	id->device = qp->device;
	id->lcore = qp->owner;
	return engine_mailbox_call(qp->owner, adopt_on_owner, id);
}

int uroce_cm_qp_create(struct uroce_cm_id *id, struct uroce_pd *pd, const struct uroce_qp_init_attr *given,
		       uint32_t access_flags, struct uroce_qp **result)
{
	struct uroce_qp_init_attr init = *given;
	struct uroce_qp_attr attr = { .qp_state = UROCE_QPS_INIT, .access_flags = access_flags };
	struct uroce_qp *qp;
	int error;

	if (id->qp)
		return engine_refuse(-EBUSY, "id: it already has QP 0x%06x, see uroce_cm_qp()", id->qp->qpn);
	if (id->listens || id->datagrams)
		return engine_refuse(-EINVAL, "id: a listener or UD id has no connected QP");
	if (id->device && id->device != pd->device)
		return engine_refuse(-EINVAL,
				     "pd: it belongs to a different device than the id; see uroce_cm_device()");
	/* the lcore that the REQ came to, or that resolves the path */
	if (id->lcore && (id->is_request || init.lcore == NULL))
		init.lcore = id->lcore;
	error = uroce_qp_create(pd, &init, &qp);
	if (error)
		return error;
	error = uroce_qp_modify(qp, &attr, UROCE_QP_STATE | UROCE_QP_ACCESS_FLAGS, NULL);
	if (error) {
		uroce_qp_destroy(qp);
		return error;
	}
	error = adopt(id, qp);
	if (error && id->qp == NULL)
		uroce_qp_destroy(qp);
	if (error)
		return error; /* the call that adopts the QP may yet run on the owner, so id and QP stay */
	*result = qp;
	return 0;
}

struct uroce_qp *uroce_cm_qp(const struct uroce_cm_id *id)
{
	return id->qp;
}

struct uroce_device *uroce_cm_device(const struct uroce_cm_id *id)
{
	return id->device;
}

struct uroce_lcore *uroce_cm_lcore(const struct uroce_cm_id *id)
{
	return id->lcore;
}

uint64_t uroce_cm_context(const struct uroce_cm_id *id)
{
	return id->context;
}

void uroce_cm_set_context(struct uroce_cm_id *id, uint64_t context)
{
	id->context = context;
}

/* ---- made by the user ---- */

#define TO_INIT (UROCE_QP_STATE | UROCE_QP_ACCESS_FLAGS | UROCE_QP_PKEY)
#define REMOTE_ATOMIC_ACCESS (UROCE_ACCESS_REMOTE_READ | UROCE_ACCESS_REMOTE_ATOMIC)

struct wish {
	struct uroce_cm_id *id;
	struct uroce_qp_attr *attr;
};

/*
 * Until a request is accepted, our side is described as if the request got all that it asks for. The number of paths
 * that our end uses is not for the peer to ask.
 */
static void propose(struct uroce_cm_id *id, struct cm *cm)
{
	static const struct uroce_cm_options usual = { .paths = 1 };
	const struct uroce_cm_options all = { .max_rd_atomic = LIMIT_RD_ATOMIC, .sack_window = KEPT_SPAN };
	struct cm_side end = api_cm_side_of(id, &all);

	if (id->qp == NULL)
		end.responder_resources = LIMIT_RD_ATOMIC;
	end.ack_timeout = cm_peer(cm, id->connection)->ack_timeout;
	end.path_mtu = cm_peer(cm, id->connection)->path_mtu;
	cm_propose(cm, id->connection, &end);
	api_cm_set_attr(id, &usual, cm_route_of(cm, id->connection), end.ack_timeout);
}

static int attr_on_owner(void *argument)
{
	const struct wish *wish = argument;
	struct uroce_cm_id *id = wish->id;
	struct cm *cm = id->lcore->connect->cm;

	if (id->connection == CM_NONE || cm_peer(cm, id->connection)->qpn == 0)
		return engine_refuse(-ENOTCONN, "id: no message from the peer has arrived yet");
	if (cm_is_asking(cm, id->connection))
		propose(id, cm);
	engine_connect_complete_attr(id);
	*wish->attr = id->attr;
	return 0;
}

int uroce_cm_qp_attr(struct uroce_cm_id *id, enum uroce_qp_state state, struct uroce_qp_attr *attr, uint32_t *mask)
{
	struct uroce_qp_attr known = { 0 };
	struct wish wish = { id, &known };
	int error;

	if (state != UROCE_QPS_INIT && state != UROCE_QPS_RTR && state != UROCE_QPS_RTS)
		return engine_refuse(-EINVAL, "state %s: must be INIT, RTR or RTS", uroce_qp_state_name(state));
	if (id->listens || id->datagrams)
		return engine_refuse(-EINVAL, "id: a listener or UD id has no connected QP");
	error = api_cm_draw_psn(id);
	if (error)
		return error;
	error = id->lcore ? engine_mailbox_call(id->lcore, attr_on_owner, &wish) :
			    engine_refuse(-ENOTCONN, "id: no message from the peer has arrived yet");
	if (error && state != UROCE_QPS_INIT)
		return error;
	*attr = known;
	attr->qp_state = state;
	attr->pkey = PKEY_DEFAULT;
	attr->access_flags = UROCE_ACCESS_REMOTE_WRITE;
	if (error || known.max_dest_rd_atomic)
		attr->access_flags |= REMOTE_ATOMIC_ACCESS;
	*mask = state == UROCE_QPS_INIT ? TO_INIT : state == UROCE_QPS_RTR ? CONNECT_TO_RTR : CONNECT_TO_RTS;
	return 0;
}

static int establish_on_owner(void *argument)
{
	struct uroce_cm_id *id = argument;
	int error = cm_establish(id->lcore->connect->cm, id->connection);

	engine_connect_run(id->lcore);
	return error ? engine_refuse(error, "id: no connection reply is pending, see UROCE_CM_CONNECT_RESPONSE") : 0;
}

int uroce_cm_establish(struct uroce_cm_id *id)
{
	return id->lcore ?
		       engine_mailbox_call(id->lcore, establish_on_owner, id) :
		       engine_refuse(-ENOTCONN, "id: no connection reply is pending, see UROCE_CM_CONNECT_RESPONSE");
}

static int notify_on_owner(void *argument)
{
	struct uroce_cm_id *id = argument;

	if (id->connection == CM_NONE)
		return engine_refuse(-ENOTCONN, "id: it has no connection");
	cm_packet_came(id->lcore->connect->cm, id->connection, engine_now_ns());
	engine_connect_run(id->lcore);
	return 0;
}

int uroce_cm_notify(struct uroce_cm_id *id)
{
	return id->lcore ? engine_mailbox_call(id->lcore, notify_on_owner, id) :
			   engine_refuse(-ENOTCONN, "id: it has no connection");
}
