/* qp.h - one end of a reliable connection: the core's whole interface */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * No I/O, no clock, no DPDK. The host passes in time, randomness and memory; an outbox tells it what is to be done.
 *   1. rc_qp_bytes() and rc_qp_init() in memory of the host's choice, one block per QP
 *   2. rc_qp_modify() through INIT, RTR and RTS
 *   3. the application's thread: rc_qp_post_send(), rc_qp_post_recv()
 *   4. the owner's thread, for each packet: rc_qp_admit(), then rc_qp_receive(); after the burst, after posts and
 *      after timers: rc_qp_transmit(), once more as long as it returns true
 *   5. rc_qp_timeout() when rc_qp_deadline() has passed
 * All calls but the two posts run on the thread that owns the QP. A QP is made of structs, each written by the file of
 * its name.
 */
#ifndef RC_QP_H
#define RC_QP_H

#include "rc/completer.h"
#include "rc/counters.h"
#include "rc/deadlines.h"
#include "rc/ports.h"
#include "rc/qp_state.h"
#include "rc/report.h"
#include "rc/responder.h"
#include "rc/work.h"
#include "wire/packet.h"

struct rc_outbox;

/* The settings that are fixed when a QP is created. */
struct rc_qp_config {
	uint32_t qpn;
	uint32_t pd; /* protection domain, not 0 */
	struct rc_mr_table *mrs;
	/* the boards of the QP's lcore; NULL: nothing is placed or kept before its turn, and the QP has one path */
	struct rc_boards *boards;
	struct rc_srq *srq;      /* NULL: receives are posted to the QP itself */
	void *send_cq, *recv_cq; /* the host's handles, returned with completions */
	uint64_t context;
	uint32_t max_send_wr, max_recv_wr;
	uint32_t max_send_sge, max_recv_sge;
	uint32_t max_inline_data;
	uint32_t max_dest_rd_atomic; /* how many replay entries to allocate */
	uint32_t max_mtu_bytes;      /* the largest path MTU of the port */
	uint32_t line_mbps;          /* rate of the port's link; 0: the link does not tell */
	uint32_t start_psn;          /* random first PSN, used if the application sets none (P-2) */
	bool sq_sig_all;
};

/*
 * Judges whether a packet may reach its QP, in the order of W-5. Returns CNT_COUNTERS if the packet may, else the
 * counter of the drop.
 */
enum rc_counter rc_qp_admit(const struct rc_qp *qp, const struct wire_packet *packet, const struct rc_origin *origin);

/*
 * A packet was not admitted, for this reason: counts it as an anomaly if no honest peer sends such a packet and its
 * ICRC is right, for a link that damages frames damages ports as well. The ICRC is computed for at most ANOMALY_PACKETS
 * of them per second. The host calls rc_qp_transmit() if qp_work() then has an event.
 */
void rc_qp_refused(struct rc_qp *qp, enum rc_counter reason, const struct wire_packet *packet,
		   const struct rc_origin *origin, uint64_t now_ns);

/*
 * Is this the usual case: the QP is in RTS, does not migrate, and the packet came along its path from the usual port?
 * Then rc_qp_admit() would admit any packet of the RC class, and qp_take_packet() does all that rc_qp_receive() would.
 */
static inline bool qp_admits_plainly(const struct rc_qp *qp, const struct rc_origin *origin, uint16_t pkey)
{
	return qp->state == UROCE_QPS_RTS && qp->migration.state == UROCE_PATH_MIGRATED && origin->ipv4 &&
	       origin->ipv4 == qp->ipv4 && origin->device == qp->device && pkey_matches(qp->pkey, pkey) &&
	       ports_is_usual(qp, origin->source_port);
}

/* How many bytes a QP of this configuration takes with all its rings; a multiple of 64. */
uint64_t rc_qp_bytes(const struct rc_qp_config *config);

/*
 * Makes a QP in RESET in memory that is zeroed and aligned to 64. The caller has checked the values (config/limits.h).
 */
struct rc_qp *rc_qp_init(void *memory, const struct rc_qp_config *config);

/* As uroce_qp_modify(): returns 0; or -EINVAL or -EAGAIN, with the attribute in *bad_mask and nothing changed. */
int rc_qp_modify(struct rc_qp *qp, const struct uroce_qp_attr *attr, uint32_t mask, uint32_t *bad_mask);
void rc_qp_query(const struct rc_qp *qp, struct uroce_qp_attr *attr);

/* For the application's thread, as uroce_qp_post_send() and uroce_qp_post_recv() for one request. */
int rc_qp_post_send(struct rc_qp *qp, const struct uroce_send_wr *wr);
int rc_qp_post_recv(struct rc_qp *qp, const struct uroce_recv_wr *wr);
/* rc_qp_post_send() for UROCE_WR_BIND_MW, whose bind the caller has translated to keys. */
int rc_qp_post_bind(struct rc_qp *qp, const struct uroce_send_wr *wr, const struct rc_mr_bind *bind);

/* The QP's port has failed. Returns true if the QP was armed and has migrated. */
bool rc_qp_port_failed(struct rc_qp *qp);

/*
 * No host answers for the address of the path: an armed QP migrates, any other QP fails as if its retries were spent
 * (T-4).
 */
void rc_qp_unreachable(struct rc_qp *qp);

/* After RESET: sets the random PSN at which the next connection starts (P-2). */
void rc_qp_renew_psn(struct rc_qp *qp, uint32_t start_psn);

/* Returns the record of the first failure since RESET (E-4). */
void rc_qp_last_error(const struct rc_qp *qp, struct uroce_qp_error *error);
/* The host adds its finding, an enum uroce_finding, to the first failure, if that is one of a request of ours. */
void rc_qp_found(struct rc_qp *qp, uint8_t finding);

/*
 * Takes an admitted packet. The outbox needs room for OUTBOX_RECEIVE_COMPLETIONS; no frames are added. Returns
 * CNT_COUNTERS; or CNT_PORT_RX_ICRC if the ICRC, which the origin had left unchecked, is wrong: then nothing has
 * changed.
 */
enum rc_counter rc_qp_receive(struct rc_qp *qp, const struct wire_packet *packet, const struct rc_origin *origin,
			      uint64_t now_ns, struct rc_outbox *out);

/*
 * Does the mark "congestion experienced" of this packet count (N-1)? Called before rc_qp_receive() takes the packet.
 * Only requests and responses within a window of the PSN that is expected next count, because anybody can send a marked
 * packet with another PSN. ACKs do not count.
 */
bool rc_qp_heeds_mark(const struct rc_qp *qp, const struct wire_packet *packet);

/* Hands a packet to the completer if it is a response, else to the responder. */
static inline enum rc_counter qp_take_packet(struct rc_qp *qp, const struct wire_packet *packet, bool response,
					     const struct rc_origin *origin, uint64_t now_ns, struct rc_outbox *out)
{
	bool right;

	if (!response)
		return rc_responder_receive(qp, packet, origin, now_ns, out) ? CNT_COUNTERS : CNT_PORT_RX_ICRC;
	right = rc_completer_receive(qp, packet, origin, now_ns);
	if (qp->win.head != qp->win.acked)
		rc_report_answered(qp, out);
	return right ? CNT_COUNTERS : CNT_PORT_RX_ICRC;
}

/*
 * Adds everything that may be sent or reported now. Returns true if the outbox was too small: the host calls again with
 * an empty one.
 */
bool rc_qp_transmit(struct rc_qp *qp, uint64_t now_ns, struct rc_outbox *out);

/* May rc_qp_respond() send the ACKs and NAKs of the QP? Not if it is paced or spreads its packets over paths. */
static inline bool qp_answers_alone(const struct rc_qp *qp)
{
	return !qp->seldom || (!qp->pace.on && qp_board(qp, BOARD_SPREAD) == NULL);
}

/*
 * As rc_qp_transmit(), for a QP to which only requests have come since the last call: adds only responses, and does not
 * read the send queue. Returns true also if an event is due, or the QP is paced or spreads its requests over several
 * paths: then the host calls rc_qp_transmit().
 */
bool rc_qp_respond(struct rc_qp *qp, struct rc_outbox *out);

/* A deadline has passed. The host calls rc_qp_transmit() next. A call too early does no harm. */
void rc_qp_timeout(struct rc_qp *qp, uint64_t now_ns);

/* The QP is about to be destroyed: it returns its boards. */
void rc_qp_return_boards(struct rc_qp *qp);

/* For modify.c: forgets all packets in flight and all responses owed. */
void rc_qp_forget(struct rc_qp *qp);

#endif
