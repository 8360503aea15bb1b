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

#include "rc/completer.h"
#include "rc/counters.h"
#include "rc/deadlines.h"
#include "rc/qp_state.h"
#include "rc/report.h"
#include "rc/responder.h"
#include "rc/work.h"
#include "wire/packet.h"

struct rc_outbox;

/* What is fixed when a QP is created. */
struct rc_qp_config {
	uint32_t qpn;
	uint32_t pd; /* protection domain, not 0 */
	struct rc_mr_table *mrs;
	struct rc_boards *boards; /* of its lcore; NULL: no response is placed before its turn */
	struct rc_srq *srq;       /* NULL: receives are posted to the QP */
	void *send_cq, *recv_cq;  /* the host's handles, come back with completions */
	uint64_t context;
	uint32_t max_send_wr, max_recv_wr;
	uint32_t max_send_sge, max_recv_sge;
	uint32_t max_inline_data;
	uint32_t max_dest_rd_atomic; /* replay entries to allocate */
	uint32_t max_mtu_bytes;      /* of the port */
	uint32_t start_psn;          /* random, for the case that the user sets none (P-2) */
	bool sq_sig_all;
};

/* Why a packet may not reach its QP: the counter of the drop, in the order of W-5; CNT_COUNTERS: it may. */
enum rc_counter rc_qp_admit(const struct rc_qp *qp, const struct wire_packet *packet, const struct rc_origin *origin);

/*
 * The usual case, told by few comparisons: the QP is in RTS, does not migrate, and the packet came along its path. Then
 * rc_qp_admit() would admit a packet of the RC class too, and qp_take_packet() does what rc_qp_receive() would.
 */
static inline bool qp_admits_plainly(const struct rc_qp *qp, const struct rc_origin *origin, uint16_t pkey)
{
	return qp->state == UROCE_QPS_RTS && qp->migration.state == UROCE_PATH_MIGRATED && origin->ipv4 &&
	       origin->ipv4 == qp->ipv4 && origin->device == qp->device && pkey_matches(qp->pkey, pkey);
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

/* Hands a packet to the part that it is for: a response, or a request. */
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

/* Everything that may leave or be reported now. true: the outbox was too small, call again with an empty one. */
bool rc_qp_transmit(struct rc_qp *qp, uint64_t now_ns, struct rc_outbox *out);

/*
 * The same for a QP to which nothing has happened since the last time but that requests came: responses alone. It saves
 * a responder from looking at its send queue. true also when there is news: rc_qp_transmit() is to be called.
 */
bool rc_qp_respond(struct rc_qp *qp, struct rc_outbox *out);

/* A deadline has passed: call rc_qp_transmit() next. Harmless when called early. */
void rc_qp_timeout(struct rc_qp *qp, uint64_t now_ns);

/* It is about to be destroyed: what it has borrowed goes back. */
void rc_qp_give_back(struct rc_qp *qp);

/* For modify.c: everything in flight or owed is forgotten. */
void rc_qp_forget(struct rc_qp *qp);

#endif
