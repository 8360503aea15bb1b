/* qp.c - connects the parts of a QP: creation, packets in, packets out, errors */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/qp.h"

#include <errno.h>

#include "rc/anomaly.h"
#include "rc/ask.h"
#include "rc/cc.h"
#include "rc/codes.h"
#include "rc/credit.h"
#include "rc/duplicate.h"
#include "rc/fail.h"
#include "rc/holes.h"
#include "rc/kept.h"
#include "rc/migration.h"
#include "rc/outbox.h"
#include "rc/pace.h"
#include "rc/requester.h"
#include "rc/loss.h"
#include "rc/memory_fault.h"
#include "rc/ring_size.h"
#include "rc/sack.h"
#include "rc/scoreboard.h"
#include "rc/spread.h"
#include "rc/srq.h"
#include "rc/work.h"
#include "wire/hints.h"

static uint64_t round_up_to_line(uint64_t bytes)
{
	return (bytes + 63) & ~63ull;
}

static uint64_t send_ring_bytes(const struct rc_qp_config *config)
{
	return rc_sendwin_ring_bytes(ring_size_at_least(config->max_send_wr),
				     rc_sendwin_slot_bytes(config->max_send_sge, config->max_inline_data));
}

/* A QP with a shared receive queue has room for one entry of its own: that of the message at hand. */
static uint32_t recv_depth(const struct rc_qp_config *config)
{
	return config->srq ? 1 : config->max_recv_wr;
}

static uint32_t recv_sge_limit(const struct rc_qp_config *config)
{
	return config->srq ? config->srq->sge_limit : config->max_recv_sge;
}

static uint64_t recv_ring_bytes(const struct rc_qp_config *config)
{
	return (uint64_t)ring_size_at_least(recv_depth(config)) * recv_wqe_slot_bytes(recv_sge_limit(config));
}

uint64_t rc_qp_bytes(const struct rc_qp_config *config)
{
	return round_up_to_line(sizeof(struct rc_qp)) + round_up_to_line(send_ring_bytes(config)) +
	       round_up_to_line(recv_ring_bytes(config)) +
	       round_up_to_line(rc_replay_bytes(config->max_dest_rd_atomic));
}

static void place_rings(struct rc_qp *qp, const struct rc_qp_config *config)
{
	const struct rc_sendwin_limits limits = {
		.slots = ring_size_at_least(config->max_send_wr),
		.depth = config->max_send_wr,
		.sges = config->max_send_sge,
		.inline_bytes = config->max_inline_data,
		.signal_all = config->sq_sig_all,
	};
	uint8_t *at = (uint8_t *)qp + round_up_to_line(sizeof(*qp));

	rc_sendwin_place(&qp->win, at, &limits);
	at += round_up_to_line(send_ring_bytes(config));
	rc_recvq_place(&qp->recvq, at, ring_size_at_least(recv_depth(config)), recv_depth(config),
		       recv_sge_limit(config), config->srq);
	at += round_up_to_line(recv_ring_bytes(config));
	rc_replay_place(&qp->replay, at, config->max_dest_rd_atomic);
}

struct rc_qp *rc_qp_init(void *memory, const struct rc_qp_config *config)
{
	struct rc_qp *qp = memory;

	qp->state = UROCE_QPS_RESET;
	qp->qpn = config->qpn;
	qp->pd = config->pd;
	qp->mrs = config->mrs;
	qp->send_cq = config->send_cq;
	qp->recv_cq = config->recv_cq;
	qp->context = config->context;
	qp->shares_receives = config->srq != NULL;
	qp->max_mtu_bytes = (uint16_t)config->max_mtu_bytes;
	qp->line_mbps = config->line_mbps;
	qp->sq_psn = psn_make(config->start_psn);
	rc_board_set_pool(qp, config->boards);
	qp_clear_mr_cache(qp);
	place_rings(qp, config);
	rc_qp_forget(qp);
	return qp;
}

/* Sets the attributes that modify may leave out. */
static void set_defaults(struct rc_qp *qp)
{
	qp->pkey = 0xFFFF;
	ask_set_probes(qp, true);
	qp->imprecise_errors = false;
	qp->read_repair = UROCE_READ_REPAIR_UPWARDS;
	rc_cc_choose(qp, UROCE_CC_DEFAULT);
	qp_set_flow_control(qp, false);
	rc_ask_forget_keepalive(qp);
	duplicate_forget_report(qp);
	responder_set_rnr_timer(qp, RNR_TIMER_DEFAULT);
}

void rc_qp_return_boards(struct rc_qp *qp)
{
	rc_holes_forget(qp);
	rc_duplicate_forget_parts(qp);
	rc_kept_forget(qp);
	rc_scoreboard_forget(qp);
	rc_spread_forget(qp);
}

void rc_qp_forget(struct rc_qp *qp)
{
	set_defaults(qp);
	rc_qp_return_boards(qp);
	rc_kept_reset(qp);
	rc_scoreboard_reset(qp);
	rc_sendwin_reset(&qp->win, qp->sq_psn);
	rc_recvq_reset(&qp->recvq);
	rc_loss_reset(qp);
	rc_replay_reset(&qp->replay, qp->max_dest_rd_atomic);
	rc_credit_reset(&qp->credit);
	rc_migration_reset(qp);
	rc_cc_reset(qp);
	burst_reset(&qp->response_burst);
	requester_reset(qp);
	rc_responder_reset(qp);
	rc_report_reset(qp);
	anomaly_reset(qp);
	memory_fault_forget(qp);
	rc_ports_forget(qp);
	sendwin_wake_by_posts(&qp->win, false);
	qp->last_aeth = 0;
	qp->established = false;
}

/* */
static bool state_takes_sends(uint8_t state)
{
	return state != UROCE_QPS_RESET && state != UROCE_QPS_INIT && state != UROCE_QPS_RTR;
}

int rc_qp_post_send(struct rc_qp *qp, const struct uroce_send_wr *wr)
{
	if (!state_takes_sends(atomic_load_explicit(&qp->win.post_state, memory_order_acquire)))
		return -EINVAL;
	return rc_sendwin_post(&qp->win, wr);
}

int rc_qp_post_bind(struct rc_qp *qp, const struct uroce_send_wr *wr, const struct rc_mr_bind *bind)
{
	if (!state_takes_sends(atomic_load_explicit(&qp->win.post_state, memory_order_acquire)))
		return -EINVAL;
	return rc_sendwin_post_bind(&qp->win, wr, bind);
}

int rc_qp_post_recv(struct rc_qp *qp, const struct uroce_recv_wr *wr)
{
	if (qp->recvq.srq || atomic_load_explicit(&qp->win.post_state, memory_order_acquire) == UROCE_QPS_RESET)
		return -EINVAL;
	return rc_recvq_post(&qp->recvq, wr);
}

static enum rc_counter check_port(const struct rc_qp *qp, const struct rc_origin *origin)
{
	return rc_ports_admit(qp, origin->source_port) ? CNT_COUNTERS : CNT_PORT_SOURCE_PORT;
}

/* Judges in the order of W-5; in RTR a QP takes requests but no responses. */
enum rc_counter rc_qp_admit(const struct rc_qp *qp, const struct wire_packet *packet, const struct rc_origin *origin)
{
	bool notifies = packet->opcode == OP_CNP, controls = packet->opcode == OP_SACK || packet->opcode == OP_PROBE;

	if (notifies && !rc_cc_listens(qp))
		return CNT_PORT_CNP;
	if (!notifies && !(controls && qp_keeps(qp)) && !opcode_is_rc(packet->opcode))
		return CNT_PORT_OTHER_CLASS;
	if (qp->state < UROCE_QPS_RTR || qp->state > UROCE_QPS_SQD)
		return CNT_PORT_QP_STATE;
	if (qp->state == UROCE_QPS_RTR && wire_opcode(packet->opcode)->response)
		return CNT_PORT_EARLY_RESPONSE;
	if ((packet->flags & WIRE_MIGREQ) && opcode_is_rc(packet->opcode) && migration_may_be_asked(qp, origin))
		return check_port(qp, origin); /* a request to migrate is judged after the ICRC was checked */
	if (!path_matches(&qp->path, origin))
		return path_addresses_match(&qp->path, origin) ? CNT_PORT_VLAN : CNT_PORT_ADDRESS;
	if (!pkey_matches(qp->pkey, packet->pkey))
		return CNT_PORT_PKEY;
	return check_port(qp, origin);
}

void rc_qp_refused(struct rc_qp *qp, enum rc_counter reason, const struct wire_packet *packet,
		   const struct rc_origin *origin, uint64_t now_ns)
{
	if (reason == CNT_PORT_SOURCE_PORT && !rc_anomaly_is_told(qp, now_ns) &&
	    origin_icrc_is_right(origin, packet->payload))
		rc_anomaly_note(qp, now_ns);
}

/* Lies psn within a window before or behind `where`? */
static bool is_near(const struct rc_qp *qp, psn_t psn, psn_t where)
{
	uint32_t window = qp->kept.window > WINDOW_PACKETS ? qp->kept.window : WINDOW_PACKETS;

	return psn_distance(psn_add(psn, window), where) < 2 * window;
}

bool rc_qp_heeds_mark(const struct rc_qp *qp, const struct wire_packet *packet)
{
	if (packet->opcode == OP_ACKNOWLEDGE || !opcode_is_rc(packet->opcode))
		return false;
	return is_near(qp, psn_make(packet->psn),
		       wire_opcode(packet->opcode)->response ? qp->win.snd_una : qp->responder.epsn);
}

/* Migration and COMM_EST: what any valid packet brings about. Returns false if the packet is dropped. */
static bool handle_notice(struct rc_qp *qp, const struct wire_packet *packet, const struct rc_origin *origin)
{
	enum rc_migration_outcome outcome = MIGRATION_NONE;

	if (qp->migration.state != UROCE_PATH_MIGRATED)
		outcome = rc_migration_packet_arrived(qp, packet, origin);
	if (outcome == MIGRATION_DROP)
		return false;
	if (outcome == MIGRATION_DONE)
		rc_loss_path_changed(qp);
	if (qp->state == UROCE_QPS_RTR && !qp->established) {
		qp->established = true;
		report_raise(qp, UROCE_EVENT_COMM_EST);
	}
	return true;
}

/* A packet of another class: a CNP (N-2), a SACK (T-7) or a PROBE (S-22). */
static enum rc_counter handle_control(struct rc_qp *qp, const struct wire_packet *packet,
				      const struct rc_origin *origin, uint64_t now_ns)
{
	if (!origin_icrc_is_right(origin, packet->payload))
		return CNT_PORT_RX_ICRC;
	if (packet->opcode == OP_SACK) {
		rc_sack_arrived(qp, packet, now_ns);
	} else if (packet->opcode == OP_PROBE) {
		rc_kept_probed(qp, packet, now_ns);
	} else if (rc_cc_expects(qp)) {
		qp->counters[CNT_CNP_HANDLED]++;
		rc_cc_notified(qp, now_ns);
	} else {
		rc_anomaly_note(qp, now_ns);
		return CNT_PORT_CNP_UNEXPECTED;
	}
	return CNT_COUNTERS;
}

enum rc_counter rc_qp_receive(struct rc_qp *qp, const struct wire_packet *packet, const struct rc_origin *origin,
			      uint64_t now_ns, struct rc_outbox *out)
{
	psn_t epsn = qp->responder.epsn;
	struct rc_origin checked;
	enum rc_counter drop;

	if (!opcode_is_rc(packet->opcode))
		return handle_control(qp, packet, origin, now_ns);
	if (qp->migration.state != UROCE_PATH_MIGRATED || qp->state == UROCE_QPS_RTR) {
		if (!origin_icrc_is_right(origin, packet->payload))
			return CNT_PORT_RX_ICRC;
		checked = *origin;
		checked.ip = NULL;
		origin = &checked;
		if (!handle_notice(qp, packet, origin))
			return CNT_COUNTERS;
	}
	drop = qp_take_packet(qp, packet, wire_opcode(packet->opcode)->response, origin, now_ns, out);
	if (!psn_equal(qp->responder.epsn, epsn))
		rc_kept_path_used(qp, origin->source_port);
	return drop;
}

/*
 * before RTR there is nothing to answer. Requests start in RTS, and requests that have started go on in SQD: see
 * qp_work().
 */
static inline bool transmit_responses(struct rc_qp *qp, struct rc_outbox *out)
{
	/*
	 * Also in ERR: requests that were executed before are answered, and the NAK that names the error still leaves
	 * (K-0).
	 */
	return qp_work(qp, WORK_RESPONDER) && rc_responder_transmit(qp, out);
}

static inline bool transmit_requests(struct rc_qp *qp, uint64_t now_ns, struct rc_outbox *out)
{
	return qp_work(qp, WORK_REQUESTER) && rc_requester_transmit(qp, now_ns, out);
}

/* Sets which are sent first in the next call: requests, or responses as usual. */
NOINLINE void set_turn(struct rc_qp *qp, bool requests_first)
{
	qp->requests_first = requests_first;
	qp_note_attributes(qp);
}

/* Which kinds of packets are still to be sent after a call of rc_qp_transmit(). */
struct unsent {
	bool responses, requests;
};

/*
 * Sends the responses that the peer asks for and the requests of the application. While more of both is due than may
 * leave, responses and requests go first in turn (S-15), because a peer may ask for ever. has_room: the rate lets
 * something leave in this call.
 */
static struct unsent transmit_in_turns(struct rc_qp *qp, bool has_room, uint64_t now_ns, struct rc_outbox *out)
{
	struct unsent unsent = { 0 };
	bool requests_first = qp->requests_first, next;

	if (requests_first)
		unsent.requests = transmit_requests(qp, now_ns, out);
	if (requests_first && qp_spreads(qp))
		rc_spread_answers(qp, out);
	unsent.responses = transmit_responses(qp, out);
	if (!requests_first)
		unsent.requests = transmit_requests(qp, now_ns, out);
	next = has_room ? !requests_first : requests_first;
	if (!unsent.responses || !unsent.requests)
		next = false;
	if (next != requests_first)
		set_turn(qp, next);
	return unsent;
}

/* N-3 */
static bool transmit_paced(struct rc_qp *qp, uint64_t now_ns, struct rc_outbox *out)
{
	uint32_t before = out->packet_count;
	struct unsent unsent;

	rc_cc_elapsed(qp, now_ns);
	rc_pace_begin(qp, now_ns);
	unsent = transmit_in_turns(qp, pace_room(qp) > 0, now_ns, out);
	rc_cc_sent(qp, out->packet_count - before, qp->pace.bytes, now_ns);
	if (rc_pace_end(qp, unsent.responses, unsent.requests, now_ns))
		return true;
	/* responses or requests may still wait for another reason than the rate */
	return ((unsent.responses || unsent.requests) && !outbox_has_packet_room(out)) ||
	       (unsent.responses && !rc_responder_waits_for_rate(qp));
}

static bool transmit_unspread(struct rc_qp *qp, uint64_t now_ns, struct rc_outbox *out)
{
	struct unsent unsent;

	if (qp->pace.on)
		return transmit_paced(qp, now_ns, out);
	unsent = transmit_in_turns(qp, true, now_ns, out);
	return unsent.responses || unsent.requests;
}

NOINLINE bool transmit_seldom(struct rc_qp *qp, uint64_t now_ns, struct rc_outbox *out)
{
	bool more;

	if (!qp_spreads(qp))
		return transmit_unspread(qp, now_ns, out);
	rc_spread_begin(qp, now_ns, out);
	more = transmit_unspread(qp, now_ns, out);
	if (qp->state == UROCE_QPS_RTS)
		rc_sack_try_paths(qp, out);
	rc_spread_answers(qp, out);
	return more;
}

/*
 * Not all responses have left. If they leave no room for requests, the requests go first in the next call. Always
 * returns true.
 */
NOINLINE bool offer_turn(struct rc_qp *qp, const struct rc_outbox *out)
{
	if (!outbox_has_packet_room(out) && qp_work(qp, WORK_REQUESTER))
		set_turn(qp, true);
	return true;
}

bool rc_qp_transmit(struct rc_qp *qp, uint64_t now_ns, struct rc_outbox *out)
{
	bool more = false;

	if (__builtin_expect(qp->seldom, 0)) {
		more |= transmit_seldom(qp, now_ns, out);
	} else {
		if (__builtin_expect(transmit_responses(qp, out), 0))
			more |= offer_turn(qp, out);
		more |= transmit_requests(qp, now_ns, out);
	}
	if (qp_work(qp, WORK_REPORTS))
		more |= rc_report_run(qp, now_ns, out);
	return more;
}

bool rc_qp_respond(struct rc_qp *qp, struct rc_outbox *out)
{
	return !qp_answers_alone(qp) || rc_responder_transmit(qp, out) || qp_work(qp, WORK_EVENT);
}

bool rc_qp_port_failed(struct rc_qp *qp)
{
	bool running = qp->state >= UROCE_QPS_RTR && qp->state <= UROCE_QPS_SQD;

	if (!running || qp->migration.state != UROCE_PATH_ARMED)
		return false;
	rc_loss_migrate(qp);
	return true;
}

void rc_qp_unreachable(struct rc_qp *qp)
{
	if (rc_qp_has_requests(qp) && !rc_qp_port_failed(qp))
		rc_fail_send(qp, UROCE_WC_RETRY_EXC_ERR, UROCE_CAUSE_UNRESOLVED);
}

void rc_qp_renew_psn(struct rc_qp *qp, uint32_t start_psn)
{
	qp->sq_psn = psn_make(start_psn);
}

void rc_qp_last_error(const struct rc_qp *qp, struct uroce_qp_error *error)
{
	*error = *report_failure(qp);
}

void rc_qp_found(struct rc_qp *qp, uint8_t finding)
{
	rc_report_found(qp, finding);
}

void rc_qp_timeout(struct rc_qp *qp, uint64_t now_ns)
{
	rc_credit_timer(&qp->credit, now_ns);
	if (qp->seldom)
		pace_timer(qp, now_ns);
	if (rc_loss_timer(qp, now_ns))
		rc_loss_timer_expired(qp, now_ns);
}
