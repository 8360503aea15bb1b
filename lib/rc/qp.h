/* qp.h - one end of a reliable connection: the core's whole interface */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * No I/O, no clock, no DPDK. Time, randomness and memory are passed in; what is to be done comes out in an outbox.
 *   1. rc_qp_bytes() and rc_qp_init() in memory of the host's choice, one block per QP
 *   2. rc_qp_modify() through INIT, RTR and RTS
 *   3. the application's thread: rc_qp_post_send(), rc_qp_post_recv()
 *   4. the owner's thread, for each packet: rc_qp_admit(), then rc_qp_receive(); after the burst, after posts and
 *      after timers: rc_qp_transmit() while it says that there is more
 *   5. rc_qp_timeout() when rc_qp_deadline() has passed
 * Everything but the two posts runs on the QP's owner. A QP is sub-structures, each written by the file of its name.
 */
#ifndef RC_QP_H
#define RC_QP_H

#include <stdatomic.h>
#include <stddef.h>

#include <uroce/qp.h>

#include "config/limits.h"
#include "rc/anomaly.h"
#include "rc/codes.h"
#include "rc/completer.h"
#include "rc/counters.h"
#include "rc/credit.h"
#include "rc/keepalive.h"
#include "rc/migration.h"
#include "rc/mr.h"
#include "rc/path.h"
#include "rc/probe.h"
#include "rc/psn.h"
#include "rc/read_quota.h"
#include "rc/recvq.h"
#include "rc/replay.h"
#include "rc/report.h"
#include "rc/requester.h"
#include "rc/responder.h"
#include "rc/retry.h"
#include "rc/round_trip.h"
#include "rc/sendwin.h"
#include "wire/packet.h"

struct rc_outbox;

/* What is fixed when a QP is created. */
struct rc_qp_config {
	uint32_t qpn;
	uint32_t pd; /* protection domain, not 0 */
	struct rc_mr_table *mrs;
	struct rc_srq *srq;      /* NULL: receives are posted to the QP */
	void *send_cq, *recv_cq; /* the host's handles, come back with completions */
	uint64_t context;
	uint32_t max_send_wr, max_recv_wr;
	uint32_t max_send_sge, max_recv_sge;
	uint32_t max_inline_data;
	uint32_t max_dest_rd_atomic; /* replay entries to allocate */
	uint32_t max_mtu_bytes;      /* of the port */
	uint32_t start_psn;          /* random, for the case that the user sets none (P-2) */
	bool sq_sig_all;
};

#define QP_KNOWN_KEYS 4u /* a power of two */
#define PREFETCH_REQUESTS 8u

/* Where a key leads. Only a short cut: whether it is valid is looked up each time. */
struct rc_known_key {
	uint32_t key;
	uint32_t place; /* index of its slot, and one; 0: none, the key leads nowhere */
};

/*
 * By cache lines, for with many QPs it is those that cost: what every packet touches; what requests and their answers
 * do at the responder; keys and reports; what sending and its answers touch. rc_qp_prefetch_...() fetch just those. The
 * rest is needed seldom.
 */
struct rc_qp {
	uint8_t state; /* enum uroce_qp_state */
	uint8_t mtu_shift;
	uint16_t pkey;
	uint32_t mtu_bytes;
	uint32_t qpn, dest_qpn;
	uint32_t pd;
	uint32_t access;       /* enum uroce_access: what the peer may do */
	bool established;      /* COMM_EST was raised */
	bool imprecise_errors; /* E-3 */
	bool flow_control;     /* end-to-end credits were agreed upon (F-1) */
	bool shares_receives;  /* with a shared receive queue: recvq.srq */
	bool slow_timers;      /* has timers that few have: credits or keep-alive */
	bool long_way;         /* a test wants no short ways: they only ever do what the long ones do */
	/* the path in use, as usual packets are compared with it: its port, and path_ipv4() when it is of no VLAN */
	const struct uroce_device *device;
	uint64_t ipv4;
	struct rc_migration migration; /* its first 16 bytes; then come the paths */
	struct uroce_path path;        /* written by qp_take_path() only */

	_Alignas(64) struct rc_responder responder;
	struct rc_replay replay; /* its first 16 bytes */
	struct rc_credit credit;
	struct rc_burst answers; /* READ responses that go out at a time */

	_Alignas(64) struct rc_known_key known_keys[QP_KNOWN_KEYS];
	struct rc_mr_table *mrs;
	struct rc_report report;
	void *recv_cq;
	uint64_t context;

	struct rc_sendwin win;

	_Alignas(64) struct rc_requester requester;
	uint32_t last_aeth;
	void *send_cq;
	struct rc_probe probe;
	struct rc_round_trip round_trip;
	struct rc_retry retry; /* its first 40 bytes; the rest after a loss */
	struct rc_read_quota quota;

	uint64_t counters[CNT_QP_COUNTERS];
	struct rc_recvq recvq;
	struct rc_failures failures;
	struct rc_anomaly anomaly;
	struct rc_keepalive keepalive;
	uint32_t max_mtu_bytes;
	psn_t sq_psn, rq_psn; /* as set by modify */
	uint8_t timeout, max_dest_rd_atomic;
};

static_assert(offsetof(struct rc_qp, migration) + offsetof(struct rc_migration, path) == 64 &&
		      offsetof(struct rc_qp, responder) % 64 == 0 &&
		      offsetof(struct rc_qp, replay) + offsetof(struct rc_replay, bucket_mask) <=
			      offsetof(struct rc_qp, responder) + 64 &&
		      offsetof(struct rc_qp, win) == offsetof(struct rc_qp, known_keys) + 64 &&
		      offsetof(struct rc_qp, requester) % 64 == 0 &&
		      offsetof(struct rc_qp, retry) + offsetof(struct rc_retry, resent_ns) <=
			      offsetof(struct rc_qp, requester) + 128,
	      "lines of their own");

/* Keep-alive has been switched on or off. */
static inline void qp_note_slow_timers(struct rc_qp *qp)
{
	qp->slow_timers = qp->flow_control || qp->keepalive.interval_ns;
}

static inline void qp_set_flow_control(struct rc_qp *qp, bool on)
{
	qp->flow_control = on;
	qp_note_slow_timers(qp);
}

/* The path in use is this one from now on. */
static inline void qp_take_path(struct rc_qp *qp, const struct uroce_path *path)
{
	qp->path = *path;
	qp->ipv4 = path->vlan_id ? 0 : path_ipv4(path);
	qp->device = path->device;
}

/* Why a packet may not reach its QP: the counter of the drop, in the order of W-5; CNT_COUNTERS: it may. */
enum rc_counter rc_qp_admit(const struct rc_qp *qp, const struct wire_packet *packet, const struct rc_origin *origin);

/* Is all as it nearly always is: does what comes from there in a packet of the RC class reach a QP that runs? */
static inline bool qp_admits_plainly(const struct rc_qp *qp, const struct rc_origin *origin, uint16_t pkey)
{
	return qp->state == UROCE_QPS_RTS && qp->migration.state == UROCE_PATH_MIGRATED && origin->ipv4 &&
	       origin->ipv4 == qp->ipv4 && origin->device == qp->device && pkey_matches(qp->pkey, pkey);
}

/* The same; most are admitted here. */
static inline enum rc_counter qp_admit(const struct rc_qp *qp, const struct wire_packet *packet,
				       const struct rc_origin *origin)
{
	return opcode_is_rc(packet->opcode) && qp_admits_plainly(qp, origin, packet->pkey) ?
		       CNT_COUNTERS :
		       rc_qp_admit(qp, packet, origin);
}

/* Bytes that a QP of this configuration takes, all its rings included; a multiple of 64. */
uint64_t rc_qp_bytes(const struct rc_qp_config *config);

/* Makes a QP in RESET in memory (zeroed, aligned to 64). Values are within config/limits.h: the caller has checked. */
struct rc_qp *rc_qp_init(void *memory, const struct rc_qp_config *config);

/* As uroce_qp_modify(): 0, or -EINVAL or -EAGAIN with the attribute in *bad_mask; then nothing has changed. */
int rc_qp_modify(struct rc_qp *qp, const struct uroce_qp_attr *attr, uint32_t mask, uint32_t *bad_mask);
void rc_qp_query(const struct rc_qp *qp, struct uroce_qp_attr *attr);

/* Application side, as uroce_qp_post_send() and uroce_qp_post_recv() for one request. */
int rc_qp_post_send(struct rc_qp *qp, const struct uroce_send_wr *wr);
int rc_qp_post_recv(struct rc_qp *qp, const struct uroce_recv_wr *wr);
/* The same for UROCE_WR_BIND_MW, its bind translated to keys. */
int rc_qp_post_bind(struct rc_qp *qp, const struct uroce_send_wr *wr, const struct rc_mr_bind *bind);

/* The port of an armed QP has failed. true: it has migrated. */
bool rc_qp_port_failed(struct rc_qp *qp);

/* Is there anything to send or to be answered? */
bool rc_qp_has_requests(struct rc_qp *qp);

/* Nobody answers for the address of the path: migrates when armed, else fails as when retries are spent (T-4). */
void rc_qp_unreachable(struct rc_qp *qp);

/* The next connection starts at another random PSN (P-2): after RESET. */
void rc_qp_renew_psn(struct rc_qp *qp, uint32_t start_psn);

/* The record of the first failure since RESET (E-4). */
void rc_qp_last_error(const struct rc_qp *qp, struct uroce_qp_error *error);

/*
 * An admitted packet. Needs OUTBOX_RECEIVE_COMPLETIONS of room. Adds no packets. CNT_COUNTERS; or CNT_PORT_RX_ICRC when
 * its ICRC, left to us by the origin, is wrong: then nothing has happened.
 */
enum rc_counter rc_qp_receive(struct rc_qp *qp, const struct wire_packet *packet, const struct rc_origin *origin,
			      uint64_t now_ns, struct rc_outbox *out);

/* To the part that it is for. */
static inline enum rc_counter qp_take_packet(struct rc_qp *qp, const struct wire_packet *packet,
					     const struct rc_origin *origin, uint64_t now_ns, struct rc_outbox *out)
{
	bool right;

	if (!wire_opcode(packet->opcode)->response)
		return rc_responder_receive(qp, packet, origin, now_ns, out) ? CNT_COUNTERS : CNT_PORT_RX_ICRC;
	right = rc_completer_receive(qp, packet, origin, now_ns);
	if (qp->win.head != qp->win.acked)
		rc_report_answered(qp, out);
	return right ? CNT_COUNTERS : CNT_PORT_RX_ICRC;
}

/* rc_qp_receive(); most packets go straight to their part. */
static inline enum rc_counter qp_receive(struct rc_qp *qp, const struct wire_packet *packet,
					 const struct rc_origin *origin, uint64_t now_ns, struct rc_outbox *out)
{
	if (__builtin_expect(qp->migration.state != UROCE_PATH_MIGRATED || qp->state == UROCE_QPS_RTR, 0))
		return rc_qp_receive(qp, packet, origin, now_ns, out);
	return qp_take_packet(qp, packet, origin, now_ns, out);
}

/* Does an ACK speak of what is in flight, with nothing special about either? Then rc_completer_take_ack() takes it. */
static inline bool qp_ack_is_plain(const struct rc_qp *qp, const struct wire_ack *ack)
{
	return !qp->flow_control && !qp->long_way && qp->requester.answers_due == 0 &&
	       syndrome_class((uint8_t)(ack_aeth(ack) >> 24)) == SYNDROME_ACK &&
	       psn_distance(psn_make(ack_psn(ack)), qp->win.una) < sendwin_outstanding(&qp->win);
}

/* Such an ACK behind another one that has not been taken yet: does it say all that the other one does, and more? */
static inline bool qp_ack_goes_on(const struct rc_qp *qp, const struct wire_ack *ack, const struct wire_ack *before)
{
	psn_t una = qp->win.una;

	return psn_distance(psn_make(ack_psn(ack)), una) > psn_distance(psn_make(ack_psn(before)), una) &&
	       qp_ack_is_plain(qp, ack);
}

/* Everything that may leave or be reported now. true: the outbox was too small, call again with an empty one. */
bool rc_qp_transmit(struct rc_qp *qp, uint64_t now_ns, struct rc_outbox *out);

/*
 * The same for a QP to which nothing has happened since the last time but that requests came: answers alone. It saves a
 * responder from looking at its send queue. true also when there is news: rc_qp_transmit() is to be called.
 */
bool rc_qp_answer(struct rc_qp *qp, struct rc_outbox *out);

/* A deadline has passed: call rc_qp_transmit() next. Harmless when called early. */
void rc_qp_timeout(struct rc_qp *qp, uint64_t now_ns);

/*
 * What rc_qp_transmit() has to do, if anything: answers, requests (X-3: in RTS, and their rest in SQD), reports. A QP
 * that takes the long way is always looked into. In an order that touches few lines.
 */
static inline bool qp_owes_answers(const struct rc_qp *qp)
{
	const struct rc_responder *resp = &qp->responder;

	return resp->ack_due | resp->nak_due | resp->repeat_ack_due | (qp->replay.queue_head != REPLAY_NONE) |
	       qp->flow_control | qp->long_way;
}

static inline bool qp_may_send(const struct rc_qp *qp)
{
	const struct rc_sendwin *win = &qp->win;

	return (qp->state == UROCE_QPS_RTS || qp->state == UROCE_QPS_SQD) &&
	       (win->cursor != atomic_load_explicit(&win->posted, memory_order_relaxed) || qp->probe.due ||
		qp->long_way);
}

/* Reports, apart from completions of requests: also that it has failed or migrated. */
static inline bool qp_has_news(const struct rc_qp *qp)
{
	return qp->report.events || qp->state >= UROCE_QPS_SQD || qp->shares_receives || qp->long_way;
}

static inline bool qp_has_reports(const struct rc_qp *qp)
{
	return qp_has_news(qp) || qp->win.head != qp->win.acked;
}

/* The short way of rc_qp_answer(): true when one ACK or NAK is all that the QP has to send or to tell. */
static inline bool qp_take_ack(struct rc_qp *qp, struct wire_ack *ack)
{
	struct rc_responder *resp = &qp->responder;
	psn_t psn = psn_previous(resp->epsn);
	uint8_t syndrome = syndrome_make(SYNDROME_ACK, CREDIT_UNLIMITED);

	if (!(resp->ack_due | resp->nak_due) || resp->repeat_ack_due || qp->replay.queue_head != REPLAY_NONE ||
	    qp->flow_control || qp_has_news(qp))
		return false;
	if (resp->nak_due) {
		psn = resp->nak_psn;
		syndrome = resp->nak_syndrome;
	}
	resp->nak_due = resp->ack_due = false;
	ack->begin = packet_bth_of(OP_ACKNOWLEDGE, qp->migration.request_flag, qp->pkey, qp->dest_qpn);
	ack->rest = __builtin_bswap32(psn.v) | (uint64_t)__builtin_bswap32((uint32_t)syndrome << 24 | resp->msn) << 32;
	return true;
}

/*
 * Does the packet just received, a response or a request, want rc_qp_transmit() called? *answers: it brought nothing to
 * send but answers, and nothing to tell, so that rc_qp_answer() will do if there was nothing before.
 */
static inline bool rc_qp_has_work(const struct rc_qp *qp, bool response, bool *answers)
{
	*answers = !response || !(qp_may_send(qp) || qp_has_reports(qp));
	return !*answers || qp_owes_answers(qp) || (!response && qp_has_news(qp));
}

/* When rc_qp_timeout() is wanted; RC_NEVER for not at all. */
static inline uint64_t rc_qp_deadline(const struct rc_qp *qp)
{
	uint64_t retry = retry_deadline(&qp->retry);

	if (qp->probe.deadline_ns < retry)
		retry = qp->probe.deadline_ns;
	if (!qp->slow_timers)
		return retry;
	if (qp->credit.probe_deadline_ns < retry)
		retry = qp->credit.probe_deadline_ns;
	return qp->keepalive.deadline_ns < retry ? qp->keepalive.deadline_ns : retry;
}

static inline void qp_prefetch(const void *line)
{
	__builtin_prefetch(line);
}

/* Fetches the lines that a packet touches which comes in. */
static inline void rc_qp_prefetch_in(const struct rc_qp *qp, bool response)
{
	qp_prefetch(qp);
	qp_prefetch(&qp->known_keys);
	if (response) {
		qp_prefetch(&qp->win);
		qp_prefetch(&qp->win.posted);
		qp_prefetch(&qp->requester);
		qp_prefetch(&qp->retry);
	} else {
		qp_prefetch(&qp->responder);
		qp_prefetch(&qp->counters[CNT_RX_WRITE_REQUESTS]);
	}
}

/* And what goes out: answers; */
static inline void rc_qp_prefetch_answers(const struct rc_qp *qp)
{
	qp_prefetch(qp);
	qp_prefetch(&qp->responder);
}

/* requests. */
static inline void rc_qp_prefetch_window(const struct rc_qp *qp)
{
	qp_prefetch(&qp->known_keys);
	qp_prefetch(&qp->win);
	qp_prefetch(&qp->win.posted);
	qp_prefetch(&qp->requester);
	qp_prefetch(&qp->retry);
}

/* The requests that go out next, as far as that is worth it: when the lines of the window have come. */
static inline void rc_qp_prefetch_requests(const struct rc_qp *qp)
{
	const struct rc_sendwin *win = &qp->win;
	uint32_t count = atomic_load_explicit(&win->posted, memory_order_relaxed) - win->cursor;

	for (uint32_t i = 0; i < count && i < PREFETCH_REQUESTS; i++) {
		const char *slot = (const char *)sendwin_slot(win, win->cursor + i);

		qp_prefetch(slot);
		qp_prefetch(slot + 63);
	}
}

/* For the core's own files: the request at `acked` fails, the QP goes to ERR. */
void rc_qp_fail_send(struct rc_qp *qp, uint8_t status, uint8_t cause);
/*
 * For the core's own files: the part of going to ERR that stops what the requester waits for. Before `post_state` is
 * stored: a post that sees ERR is taken, to be flushed.
 */
void rc_qp_stop_requests(struct rc_qp *qp);
/* For the core's own files: the QP goes to ERR with an event. */
void rc_qp_enter_error(struct rc_qp *qp, uint8_t event);
/* For the core's own files: everything in flight or owed is forgotten. */
void rc_qp_forget(struct rc_qp *qp);

/* rc_mr_check() on behalf of the QP, which remembers where the few keys that it uses lead. */
static inline enum rc_mr_verdict qp_check_memory(struct rc_qp *qp, uint32_t key, uint64_t va, uint64_t bytes,
						 uint32_t access, uint8_t **host)
{
	struct rc_known_key *known = &qp->known_keys[key >> 8 & (QP_KNOWN_KEYS - 1)];

	if (__builtin_expect(known->key != key, 0)) {
		const struct rc_mr_entry *slot = rc_mr_slot(qp->mrs, key);

		known->key = key;
		known->place = slot ? (uint32_t)(slot - qp->mrs->entries) + 1 : 0;
	}
	return rc_mr_check_slot(known->place ? &qp->mrs->entries[known->place - 1] : NULL, key, qp->pd, qp->qpn, va,
				bytes, access, host);
}

/* Does una lie in what was asked for again? */
static inline bool qp_una_was_restarted(const struct rc_qp *qp)
{
	return qp->requester.read_restarted &&
	       psn_distance(qp->requester.read_restart_end, qp->win.una) - 1 < sendwin_outstanding(&qp->win);
}

/* READs were asked for again up to `end`, in parts perhaps. */
static inline void qp_note_read_restart(struct rc_qp *qp, psn_t end)
{
	struct rc_requester *req = &qp->requester;

	if (!qp_una_was_restarted(qp) ||
	    psn_distance(end, qp->win.una) > psn_distance(req->read_restart_end, qp->win.una))
		req->read_restart_end = end;
	req->read_restarted = true;
}

/* The quota has changed: so has what may be in flight of SENDs and WRITEs. */
static inline void qp_set_window(struct rc_qp *qp)
{
	qp->requester.window = qp->quota.packets < WINDOW_PACKETS ? (uint16_t)qp->quota.packets : WINDOW_PACKETS;
}

/* Packets that so many bytes take, and PSNs that a READ of them owns: at least one (P-3). */
static inline uint32_t qp_packets(const struct rc_qp *qp, uint64_t bytes)
{
	return bytes == 0 ? 1 : (uint32_t)((bytes + qp->mtu_bytes - 1) >> qp->mtu_shift);
}

#endif
