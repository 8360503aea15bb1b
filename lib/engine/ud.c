/* ud.c - datagrams: judges received ones and copies them to a receive; gathers and sends others */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "engine/deliver.h"
#include "engine/device_state.h"
#include "engine/engine.h"
#include "engine/landing.h"
#include "engine/lcore_state.h"
#include "engine/log.h"
#include "engine/pd.h"
#include "engine/port.h"
#include "engine/port_state.h"
#include "engine/resolve.h"
#include "engine/route.h"
#include "engine/srq.h"
#include "engine/steer.h"
#include "engine/ud.h"
#include "rc/path.h"
#include "wire/packet.h"

#define UD_WAITING 64u /* how many datagrams of a queue pair may wait for a MAC */

/* ---- receiving ---- */

static struct uroce_ud *find(const struct uroce_engine *engine, uint32_t qpn)
{
	for (unsigned i = 0; i < ENGINE_UDS; i++) {
		/* pairs with U1 in enter() of lib/api/ud.c */
		struct uroce_ud *ud = atomic_load_explicit(&engine->uds[i], memory_order_acquire);

		if (ud && ud->qpn == qpn)
			return ud;
	}
	return NULL;
}

static bool fits(const struct rc_recv_wqe *wqe, const struct wire_packet *packet)
{
	return wqe && wqe->total_bytes >= UROCE_GRH_BYTES + packet->payload_bytes;
}

/*
 * Judges a datagram in the order of W-5: the ICRC comes last, because it costs most; but a damaged datagram takes no
 * receive from a shared queue. Returns CNT_COUNTERS if the datagram is accepted: its receive is the first one of the
 * queue.
 */
static enum rc_counter judge(struct uroce_ud *ud, const struct wire_packet *packet, const struct rc_origin *origin)
{
	if (engine_route_find(&ud->device->config, origin->dest) < 0)
		return CNT_PORT_ADDRESS;
	if ((packet->pkey & 0x7FFF) != (PKEY_DEFAULT & 0x7FFF))
		return CNT_PORT_PKEY;
	if (packet->qkey != ud->qkey)
		return CNT_PORT_UD_QKEY;
	if (ud->srq == NULL && !fits(recvq_peek(&ud->receives), packet))
		return CNT_PORT_UD_RECEIVE;
	if (!origin_icrc_is_right(origin, packet->payload))
		return CNT_PORT_RX_ICRC;
	return fits(rc_recvq_need(&ud->receives), packet) ? CNT_COUNTERS : CNT_PORT_UD_RECEIVE;
}

/* A walk over a list of pieces of memory. */
struct walk {
	const struct uroce_ud *ud;
	const struct uroce_sge *sges;
	uint32_t count, at, offset;
	uint32_t access; /* UROCE_ACCESS_LOCAL_WRITE to copy into the pieces, MR_ACCESS_LOCAL to copy out of them */
};

/*
 * Returns where the next bytes of the list lie; *bytes: how many of the wanted bytes lie there. Returns NULL if the
 * list has ended, or if the key of its piece does not allow the access.
 */
static uint8_t *walk_next(struct walk *walk, uint32_t wanted, uint32_t *bytes)
{
	const struct uroce_sge *sge;
	uint8_t *host;

	while (walk->at < walk->count && walk->offset == walk->sges[walk->at].length) {
		walk->at++;
		walk->offset = 0;
	}
	if (walk->at == walk->count)
		return NULL;
	sge = &walk->sges[walk->at];
	*bytes = sge->length - walk->offset < wanted ? sge->length - walk->offset : wanted;
	if (rc_mr_check(&walk->ud->device->mrs, sge->lkey, walk->ud->pd->id, walk->ud->qpn, sge->addr + walk->offset,
			*bytes, walk->access, &host) != MR_OK)
		return NULL;
	walk->offset += *bytes;
	return host;
}

/* Copies a piece of memory. Returns false if the application's side of the copy is not mapped. */
static bool copy_piece(struct uroce_lcore *lcore, void *to, const void *from, uint32_t bytes)
{
	struct engine_landing *landing = &lcore->datagram_landing;
	bool faulted = true;

	landing->thread = pthread_self();
	if (LANDING_SET(landing) == 0) {
		atomic_store_explicit(&landing->copies, true, memory_order_relaxed);
		atomic_signal_fence(memory_order_seq_cst);
		memcpy(to, from, bytes);
		atomic_signal_fence(memory_order_seq_cst);
		faulted = false;
	}
	atomic_store_explicit(&landing->copies, false, memory_order_relaxed);
	return !faulted;
}

/*
 * Copies data to a list that may be written, or the list to data. Returns UROCE_CAUSE_NONE, or why not all was copied:
 * walk_next() returned NULL, or the memory is not mapped.
 */
static enum uroce_cause copy(struct walk *walk, uint8_t *data, uint32_t bytes)
{
	bool in = walk->access == UROCE_ACCESS_LOCAL_WRITE;

	while (bytes) {
		uint32_t piece = 0;
		uint8_t *host = walk_next(walk, bytes, &piece);

		if (host == NULL)
			return UROCE_CAUSE_LOCAL_KEY;
		if (!copy_piece(walk->ud->owner, in ? host : data, in ? data : host, piece))
			return UROCE_CAUSE_UNMAPPED;
		data += piece;
		bytes -= piece;
	}
	return UROCE_CAUSE_NONE;
}

static void set_grh(uint8_t grh[UROCE_GRH_BYTES], const struct rc_origin *origin)
{
	memset(grh, 0, UROCE_GRH_BYTES);
	if (origin->ip == NULL)
		return;
	if (origin->ip[0] >> 4 == 6)
		memcpy(grh, origin->ip, UROCE_GRH_BYTES);
	else
		memcpy(grh + UROCE_GRH_BYTES - WIRE_IPV4_BYTES, origin->ip, WIRE_IPV4_BYTES);
}

static void take(struct uroce_lcore *lcore, struct uroce_ud *ud, const struct wire_packet *packet,
		 const struct rc_origin *origin)
{
	const struct rc_recv_wqe *wqe = recvq_peek(&ud->receives);
	struct walk walk = { .ud = ud, .sges = wqe->sges, .count = wqe->sge_count, .access = UROCE_ACCESS_LOCAL_WRITE };
	uint8_t grh[UROCE_GRH_BYTES];
	struct uroce_wc *wc;
	enum uroce_cause cause;

	set_grh(grh, origin);
	cause = copy(&walk, grh, sizeof(grh));
	if (cause == UROCE_CAUSE_NONE)
		cause = copy(&walk, (uint8_t *)(uintptr_t)packet->payload, packet->payload_bytes);
	wc = outbox_add_completion(&lcore->out, ud->recv_cq);
	*wc = (struct uroce_wc){
		.wr_id = wqe->wr_id,
		.status = cause == UROCE_CAUSE_NONE ? UROCE_WC_SUCCESS : UROCE_WC_LOC_PROT_ERR,
		.opcode = UROCE_WC_RECV,
		.wc_flags = (uint16_t)(UROCE_WC_GRH | (packet->flags & WIRE_SOLICITED ? UROCE_WC_SOLICITED : 0) |
				       (packet->opcode == OP_UD_SEND_ONLY_IMM ? UROCE_WC_WITH_IMM : 0)),
		.vendor_err = cause,
		.byte_len = UROCE_GRH_BYTES + packet->payload_bytes,
		.imm_data = packet->opcode == OP_UD_SEND_ONLY_IMM ? __builtin_bswap32(packet->imm) : 0,
		.qp_num = ud->qpn,
		.src_qp = packet->source_qpn,
		.qp_context = ud->context,
		.ip_version = origin->ip && origin->ip[0] >> 4 == 6 ? 6 : 4,
	};
	/*
	 * popped before the completion is delivered: a thread that sees the completion may post the next receive at
	 * once
	 */
	recvq_pop(&ud->receives);
	deliver_when_many(lcore);
}

/* Raises the limit event of a shared queue, if its limit is armed and reached (M-4). */
static void tell_limit(const struct uroce_ud *ud)
{
	const struct uroce_event event = {
		.type = UROCE_EVENT_SRQ_LIMIT_REACHED,
		.qp_context = ud->srq->context,
		.srq = ud->srq,
	};

	if (rc_srq_limit_reached(ud->srq->rc))
		engine_deliver_event(ud->device, &event);
}

bool engine_ud_receive(struct uroce_lcore *lcore, struct engine_port *port, struct rte_mbuf *mbuf,
		       const struct wire_packet *packet, const struct rc_origin *origin)
{
	struct uroce_engine *engine = lcore->engine;
	struct uroce_ud *ud = find(engine, packet->dest_qpn);
	enum rc_counter drop;

	if (ud == NULL || ud->device != port->device) {
		engine_port_refuse(port, CNT_PORT_UNKNOWN_QPN, origin);
		return false;
	}
	if (ud->owner != lcore)
		return engine_port_hand_over(port, ud->owner, mbuf);
	drop = judge(ud, packet, origin);
	if (drop != CNT_COUNTERS)
		engine_port_refuse(port, drop, origin);
	else
		take(lcore, ud, packet, origin);
	if (ud->srq)
		tell_limit(ud);
	return false;
}

/* ---- sending ---- */

/* A datagram that waits; its payload lies behind this struct. */
struct engine_ud_waiting {
	TAILQ_ENTRY(engine_ud_waiting) link;
	uint64_t since_ns;
	struct uroce_path path;
	struct wire_packet packet;
	uint8_t data[];
};

/* The oldest datagram has left, or is dropped for a reason that is counted. */
static void forget_first(struct uroce_ud *ud, enum rc_counter reason)
{
	struct engine_ud_waiting *first = TAILQ_FIRST(&ud->waiting);

	if (reason != CNT_COUNTERS)
		engine_find_port(ud->owner, ud->device)->counters[reason]++;
	TAILQ_REMOVE(&ud->waiting, first, link);
	free(first);
	if (--ud->waiting_count == 0)
		LIST_REMOVE(ud, with_waiting);
}

/*
 * The MAC is not known, or the port has no room: the datagram waits for its turn. If too many datagrams wait the oldest
 * one is dropped.
 */
static void let_wait(struct uroce_ud *ud, const struct uroce_path *path, const struct wire_packet *packet)
{
	struct engine_ud_waiting *waiting = malloc(sizeof(*waiting) + packet->payload_bytes);

	if (ud->waiting_count == UD_WAITING)
		forget_first(ud, CNT_PORT_UD_UNRESOLVED);
	if (waiting == NULL) {
		engine_find_port(ud->owner, ud->device)->counters[CNT_PORT_UD_UNRESOLVED]++;
		return;
	}
	waiting->since_ns = ud->owner->now_ns;
	waiting->path = *path;
	waiting->packet = *packet;
	waiting->packet.payload = waiting->data;
	memcpy(waiting->data, packet->payload, packet->payload_bytes);
	TAILQ_INSERT_TAIL(&ud->waiting, waiting, link);
	if (ud->waiting_count++ == 0)
		LIST_INSERT_HEAD(&ud->owner->uds_waiting, ud, with_waiting);
	ud->owner->seeks_mac = true;
}

static void complete_send(struct uroce_ud *ud, const struct uroce_send_wr *wr)
{
	struct uroce_lcore *lcore = ud->owner;

	if (!(wr->send_flags & UROCE_SEND_SIGNALED))
		return;
	*outbox_add_completion(&lcore->out, ud->send_cq) = (struct uroce_wc){
		.wr_id = wr->wr_id,
		.opcode = UROCE_WC_SEND,
		.qp_num = ud->qpn,
		.qp_context = ud->context,
	};
	deliver_all(lcore);
}

static bool copy_inline(const struct uroce_ud *ud, const struct uroce_send_wr *wr, uint8_t *data)
{
	for (uint32_t i = 0; i < wr->num_sge; i++) {
		const struct uroce_sge *sge = &wr->sg_list[i];

		if (!copy_piece(ud->owner, data, (const void *)(uintptr_t)sge->addr, sge->length))
			return false;
		data += sge->length;
	}
	return true;
}

int engine_ud_send(struct uroce_ud *ud, const struct uroce_ud_addr *to, const struct uroce_send_wr *wr)
{
	struct uroce_lcore *lcore = ud->owner;
	struct uroce_path path = to->path;
	uint8_t data[LIMIT_MTU_BYTES];
	enum uroce_cause cause = UROCE_CAUSE_NONE;
	uint32_t bytes = 0;
	struct walk walk = { .ud = ud, .sges = wr->sg_list, .count = wr->num_sge, .access = MR_ACCESS_LOCAL };
	struct wire_packet packet = {
		.opcode = wr->opcode == UROCE_WR_SEND ? OP_UD_SEND_ONLY : OP_UD_SEND_ONLY_IMM,
		.flags = wr->send_flags & UROCE_SEND_SOLICITED ? WIRE_SOLICITED : 0,
		.psn = ud->psn & PSN_MASK,
		.dest_qpn = to->qp_num,
		.pkey = PKEY_DEFAULT,
		.qkey = to->qkey,
		.source_qpn = ud->qpn,
		.imm = load_be32(&wr->imm_data),
		.payload = data,
	};

	for (uint32_t i = 0; i < wr->num_sge; i++)
		bytes += wr->sg_list[i].length;
	if ((wr->send_flags & UROCE_SEND_INLINE) && !copy_inline(ud, wr, data))
		return engine_refuse(-EFAULT, "sg_list: inline data is not mapped");
	if (!(wr->send_flags & UROCE_SEND_INLINE))
		cause = copy(&walk, data, bytes);
	if (cause == UROCE_CAUSE_UNMAPPED)
		return engine_refuse(-EFAULT, "sg_list: registered memory is no longer mapped");
	if (cause != UROCE_CAUSE_NONE)
		return engine_refuse(
			-EACCES,
			"sg_list: an lkey belongs to another protection domain, or its range is outside the region");
	path.device = ud->device;
	packet.payload_bytes = bytes;
	packet.pad_bytes = packet_pad_bytes(bytes);
	ud->psn++;
	if (ud->waiting_count || !engine_resolve_send_datagram(lcore, &path, &packet))
		let_wait(ud, &path, &packet);
	port_flush(engine_find_port(lcore, ud->device)); /* sends the datagram, or asks for the MAC */
	complete_send(ud, wr);
	return 0;
}

void engine_ud_poll(struct uroce_lcore *lcore)
{
	struct uroce_ud *next;

	for (struct uroce_ud *ud = LIST_FIRST(&lcore->uds_waiting); ud; ud = next) {
		struct engine_ud_waiting *first;

		next = LIST_NEXT(ud, with_waiting);
		TAILQ_FOREACH(first, &ud->waiting, link)
			first->since_ns = RTE_MIN(first->since_ns + resolve_absent_ns(lcore), lcore->now_ns);
		while ((first = TAILQ_FIRST(&ud->waiting)) != NULL) {
			if (engine_resolve_send_datagram(lcore, &first->path, &first->packet))
				forget_first(ud, CNT_COUNTERS);
			else if (lcore->now_ns - first->since_ns >= UNRESOLVED_NS)
				forget_first(ud, CNT_PORT_UD_UNRESOLVED);
			else
				break;
		}
	}
}

void engine_ud_forget(struct uroce_ud *ud)
{
	while (ud->waiting_count)
		forget_first(ud, CNT_COUNTERS);
}
