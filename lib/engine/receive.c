/* receive.c - takes frames in bursts: parses them, finds and asks the QP, hands it the packets */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include "engine/congestion.h"
#include "engine/connect.h"
#include "engine/deliver.h"
#include "engine/device_state.h"
#include "engine/engine.h"
#include "engine/gsi.h"
#include "engine/lcore_state.h"
#include "engine/port.h"
#include "engine/receive.h"
#include "engine/port_state.h"
#include "engine/qp.h"
#include "engine/resolve.h"
#include "engine/run_queue.h"
#include "engine/steer.h"
#include "engine/ud.h"
#include "rc/ack.h"
#include "rc/prefetch.h"
#include "wire/bytes.h"
#include "wire/frame.h"

#define BURST_WORTH_FETCHING 2u /* in a smaller burst cache lines that are fetched for a packet arrive too late */

/*
 * The last usual frame, whose headers the next frame mostly repeats, and the run of packets that the last frame belongs
 * to.
 */
struct flow {
	const uint8_t *frame; /* NULL: there is none */
	uint32_t bytes;
	struct wire_packet packet;
	struct rc_origin origin;
	bool goes_on;              /* a packet with the same BTH up to the QPN would be admitted as the last one was */
	bool icrc_first, ack_each; /* from the engine's configuration */

	/* a run: consecutive packets for one QP, whose work is checked once, after the last of them */
	struct uroce_qp *qp; /* NULL: no run */
	bool responses;      /* the run has a response */
	/* the ACK in `frame` is not taken yet, because the next frame may be an ACK that acknowledges more */
	bool ack_waits;
	struct wire_ack ack;
};

/*
 * May an ACK of the QP leave without a service? Yes if the QP is not queued, its path is resolved and has not changed,
 * and the port has room.
 */
static inline bool may_send_at_once(const struct uroce_qp *qp)
{
	return qp->rings == 0 && qp->resolved && qp->migrations == qp_core(qp)->migration.count &&
	       port_make_room(qp->port);
}

/*
 * Queues a QP that has taken packets, if they have made work. ACKs and NAKs leave before requests (S-18), also if the
 * QP has to wait for its turn with other work; an ACK leaves at once, unless another packet of the QP follows that the
 * ACK could cover, too. A READ may have many responses, so they wait as requests do; otherwise the QP that is asked for
 * most would get the whole port (L3).
 */
static __rte_always_inline void notice_work(struct uroce_lcore *lcore, struct uroce_qp *qp, bool responses, bool pauses)
{
	uint32_t work;
	bool only_responds, queued = qp->rings != 0;

	/* A queued QP is served anyway. But if it is queued as responder_only, a response may have made more work. */
	if (queued && (!responses || !qp->responder_only)) {
		run_queue_add_answer(qp);
		return;
	}
	work = responses ? qp_work(qp_core(qp), WORK_ALL) : qp_work(qp_core(qp), WORK_RESPONDER | WORK_EVENT);
	only_responds = !(work & ~(uint32_t)WORK_RESPONDER);
	if (responses && only_responds)
		qp_update_timer(lcore, qp);
	if (work == 0)
		return;
	if (pauses && work_is_an_ack(work) && may_send_at_once(qp)) {
		port_send_ack(lcore, qp);
		return;
	}
	qp->responder_only = only_responds && (!queued || qp->responder_only);
	if (qp->responder_only && !(work & WORK_RESPONSE)) {
		run_queue_add_first(qp);
		return;
	}
	run_queue_add_last(qp);
	if (__builtin_expect(work_has_an_ack(work), 0))
		run_queue_add_first(qp);
}

/* Gives the QP the ACK that waits, if there is one. */
static __rte_always_inline void handle_ack(struct uroce_lcore *lcore, struct flow *flow)
{
	if (!flow->ack_waits)
		return;
	flow->ack_waits = false;
	rc_completer_handle_ack(qp_core(flow->qp), &flow->ack, lcore->now_ns, &lcore->out);
	deliver_when_many(lcore);
}

/* Ends the run. pauses: no other packet comes for now. */
static __rte_always_inline void end_run(struct uroce_lcore *lcore, struct flow *flow, bool pauses)
{
	struct uroce_qp *qp = flow->qp;

	if (qp == NULL)
		return;
	handle_ack(lcore, flow);
	notice_work(lcore, qp, flow->responses, pauses);
	flow->qp = NULL;
}

static __rte_always_inline void join_run(struct uroce_lcore *lcore, struct flow *flow, struct uroce_qp *qp)
{
	if (flow->qp == qp)
		return;
	end_run(lcore, flow, false);
	flow->qp = lcore->serving = qp;
	flow->responses = false;
}

/* Gives an admitted packet to the QP of the run. plain: qp_admits_plainly() was true, and no switch has marked it. */
static __rte_always_inline void give_to_qp(struct uroce_lcore *lcore, struct engine_port *port,
					   const struct wire_packet *packet, struct rc_origin *origin, bool plain,
					   struct flow *flow)
{
	struct rc_qp *rc = qp_core(flow->qp);
	bool response = wire_opcode(packet->opcode)->response;
	bool marked = !plain && origin->ce && rc_qp_heeds_mark(rc, packet);
	enum rc_counter drop = CNT_COUNTERS;

	if (flow->icrc_first) {
		if (!origin_icrc_is_right(origin, packet->payload))
			drop = CNT_PORT_RX_ICRC;
		origin->ip = NULL;
	}
	if (drop == CNT_COUNTERS)
		drop = plain ? qp_take_packet(rc, packet, response, origin, lcore->now_ns, &lcore->out) :
			       rc_qp_receive(rc, packet, origin, lcore->now_ns, &lcore->out);
	if (drop != CNT_COUNTERS)
		port->counters[drop]++;
	else if (marked && rc->state <= UROCE_QPS_SQD)
		engine_congestion_marked(lcore, port, flow->qp, response);
	if (response)
		flow->responses = true;
	else if (flow->ack_each)
		notice_work(lcore, flow->qp, false, true);
	deliver_when_many(lcore);
}

/*
 * Takes a packet to a QPN that no RC QP has: for connection management, for a UD QP, or from a stranger. A stranger's
 * packet is handed to no other lcore. Returns true if another lcore owns the mbuf now.
 */
static __rte_noinline bool receive_datagram(struct uroce_lcore *lcore, struct engine_port *port, struct rte_mbuf *mbuf,
					    const struct wire_packet *packet, const struct rc_origin *origin)
{
	struct rc_origin full = *origin;
	uint8_t source[16], dest[16];

	if (packet->dest_qpn != CM_QPN && (!wire_opcode(packet->opcode)->deth || !lcore->engine->ud_count)) {
		engine_port_refuse(port, CNT_PORT_UNKNOWN_QPN, origin);
		return false;
	}
	origin_addresses(origin, source, dest);
	full.source = source;
	full.dest = dest;
	full.vlan_id = origin->ipv4 ? 0 : origin->vlan_id;
	return packet->dest_qpn == CM_QPN ? engine_gsi_receive(lcore, port, mbuf, packet, &full) :
					    engine_ud_receive(lcore, port, mbuf, packet, &full);
}

/* Hands a packet to the lcore that owns its QP. Returns true if that owns the mbuf now. */
static __rte_noinline bool hand_over(const struct uroce_lcore *lcore, struct engine_port *port, struct rte_mbuf *mbuf,
				     const struct wire_packet *packet, const struct rc_origin *origin, uint32_t owner)
{
	struct uroce_lcore *to = lcore->engine->lcores[owner];
	bool crowded = rte_ring_count(to->handover) >= HANDOVER_FRAMES / 2;
	enum rc_counter drop = engine_steer_judge(lcore->engine, packet, origin, crowded);

	if (drop != CNT_COUNTERS) {
		engine_port_refuse(port, drop, origin);
		return false;
	}
	return engine_port_hand_over(port, to, mbuf);
}

/*
 * Takes a RoCE packet in the order of W-5: it is counted, and answered at most by its QP (Y-1). The ICRC, which costs
 * most, is checked last, so that a stranger has to know addresses, QPN and P_Key to make us compute an ICRC (Y-2, Y-3).
 * Returns true if another lcore owns the mbuf now.
 */
static __rte_always_inline bool receive_packet(struct uroce_lcore *lcore, struct engine_port *port,
					       struct rte_mbuf *mbuf, const struct wire_packet *packet,
					       struct rc_origin *origin, struct flow *flow)
{
	struct uroce_qp *qp = steer_lookup(lcore->engine, packet->dest_qpn);
	uint32_t owner = steer_lcore(lcore->engine, packet->dest_qpn);
	enum rc_counter drop;

	if (qp == NULL)
		return receive_datagram(lcore, port, mbuf, packet, origin);
	if (owner != lcore->index)
		return hand_over(lcore, port, mbuf, packet, origin, owner);
	flow->goes_on =
		!origin->ce && opcode_is_rc(packet->opcode) && qp_admits_plainly(qp_core(qp), origin, packet->pkey);
	drop = flow->goes_on ? CNT_COUNTERS : rc_qp_admit(qp_core(qp), packet, origin);
	if (drop != CNT_COUNTERS) {
		if (engine_port_refuse(port, drop, origin))
			rc_qp_refused(qp_core(qp), drop, packet, origin, lcore->now_ns);
		if (qp_work(qp_core(qp), WORK_EVENT))
			run_queue_add(qp);
		return false;
	}
	join_run(lcore, flow, qp);
	/* two calls: in each inlined copy `plain` is a constant, which leaves half of the code out */
	if (flow->goes_on)
		give_to_qp(lcore, port, packet, origin, true, flow);
	else
		give_to_qp(lcore, port, packet, origin, false, flow);
	return false;
}

/* Returns true if another lcore owns the mbuf now. */
static bool receive_roce(struct uroce_lcore *lcore, struct engine_port *port, struct rte_mbuf *mbuf,
			 const uint8_t *frame, const struct wire_encap *encap, struct flow *flow)
{
	struct rc_origin origin = {
		.source = encap->source,
		.dest = encap->dest,
		.device = port->device,
		.vlan_id = encap->vlan_tci & WIRE_VLAN_ID,
		.source_port = encap->source_port,
		.ce = uroce_traffic_class_ecn(encap->traffic_class) == UROCE_ECN_CE,
		.ip = frame + encap->ip_offset,
		.ip_bytes = (uint32_t)(encap->bth_offset - encap->ip_offset) + encap->bth_bytes - WIRE_ICRC_BYTES,
	};
	struct wire_packet packet;

	switch (wire_packet_parse(frame + encap->bth_offset, encap->bth_bytes, &packet)) {
	case WIRE_PACKET_OK:
		return receive_packet(lcore, port, mbuf, &packet, &origin, flow);
	case WIRE_PACKET_TRUNCATED:
		port->counters[CNT_PORT_TRUNCATED]++;
		return false;
	case WIRE_PACKET_BAD_VERSION:
		port->counters[CNT_PORT_VERSION]++;
		return false;
	}
	return false;
}

/*
 * Returns the counter of the fault that a port which checks checksums has found in a frame, or CNT_COUNTERS if there is
 * none.
 */
static enum rc_counter marked_bad(const struct engine_port *port, const struct rte_mbuf *mbuf)
{
	if (!port->device->config.rx_checksums_done)
		return CNT_COUNTERS;
	if ((mbuf->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK) == RTE_MBUF_F_RX_IP_CKSUM_BAD)
		return CNT_PORT_IP_HEADER;
	if ((mbuf->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) == RTE_MBUF_F_RX_L4_CKSUM_BAD)
		return CNT_PORT_UDP_CHECKSUM;
	return CNT_COUNTERS;
}

static void begin_flow(struct flow *flow, const struct uroce_lcore *lcore, const struct engine_port *port)
{
	flow->icrc_first = lcore->engine->config.check_icrc_first;
	flow->ack_each = lcore->engine->config.ack_each;
	flow->frame = NULL;
	flow->qp = NULL;
	flow->ack_waits = false;
	flow->origin.device = port->device;
}

/* Takes a frame of any shape. Returns true if another lcore owns the mbuf now. */
static __rte_noinline bool receive_any(struct uroce_lcore *lcore, struct engine_port *port, struct rte_mbuf *mbuf,
				       struct flow *flow)
{
	uint32_t bytes = rte_pktmbuf_pkt_len(mbuf);
	enum rc_counter bad = bytes > PORT_FRAME_MAX_BYTES ? CNT_PORT_NOT_ROCE : marked_bad(port, mbuf);
	const uint8_t *frame;
	struct wire_encap encap;
	enum wire_frame kind;

	handle_ack(lcore, flow);
	flow->frame = NULL;
	if (bad != CNT_COUNTERS) {
		port->counters[bad]++;
		return false;
	}
	/* a frame in several segments is copied to the scratch memory */
	frame = rte_pktmbuf_read(mbuf, 0, bytes, lcore->scratch);
	kind = wire_encap_parse(frame, bytes, !port->device->config.rx_checksums_done, &encap);
	if (kind == WIRE_FRAME_ROCE)
		return receive_roce(lcore, port, mbuf, frame, &encap, flow);
	if (kind == WIRE_FRAME_ARP || kind == WIRE_FRAME_ICMP || kind == WIRE_FRAME_ICMP6)
		engine_resolve_receive(lcore, port, frame, bytes);
	else
		port->counters[rc_counters_of_frame(kind)]++;
	return false;
}

/*
 * Parses the headers of a frame, if they differ from those of the frame before. Returns false if the frame is not a
 * usual one.
 */
static __rte_always_inline bool parse_headers(struct flow *flow, const uint8_t *frame, uint32_t bytes,
					      bool check_checksums)
{
	struct wire_frame_origin plain;

	if (!frame_parse_headers(frame, bytes, check_checksums, &plain))
		return false;
	flow->bytes = bytes;
	flow->origin.ip_bytes = plain.ip_bytes;
	flow->origin.ipv4 = plain.ipv4;
	flow->origin.source_port = load_be16(frame + FRAME_UDP_AT);
	flow->origin.ce = uroce_traffic_class_ecn(plain.ip[1]) == UROCE_ECN_CE;
	return true;
}

/*
 * Takes a plain ACK. It waits in flow->ack for the next frame, because only the last of several such ACKs in a row has
 * to be taken. before: the frame before this one, if both have the same headers. Returns false if the frame is no plain
 * ACK; then no ACK waits any more.
 */
static __rte_always_inline bool receive_ack(struct uroce_lcore *lcore, struct engine_port *port, const uint8_t *frame,
					    const uint8_t *before, struct flow *flow)
{
	struct uroce_qp *qp;
	struct wire_ack ack;

	if (!frame_parse_ack(frame, flow->origin.ip_bytes, &ack)) {
		handle_ack(lcore, flow);
		return false;
	}
	if (flow->ack_waits && before && frame_repeats_bth(frame, before) &&
	    qp_ack_goes_on(qp_core(flow->qp), &ack, &flow->ack) && wire_frame_ack_follows(frame, before)) {
		flow->ack = ack;
		return true;
	}
	handle_ack(lcore, flow);
	qp = steer_lookup(lcore->engine, ack_dest_qpn(&ack));
	if (qp == NULL || steer_lcore(lcore->engine, ack_dest_qpn(&ack)) != lcore->index ||
	    !qp_admits_plainly(qp_core(qp), &flow->origin, ack_pkey(&ack)) || !qp_ack_is_plain(qp_core(qp), &ack))
		return false;
	if (!origin_icrc_is_right(&flow->origin, flow->origin.ip + flow->origin.ip_bytes)) {
		port->counters[CNT_PORT_RX_ICRC]++;
		return true;
	}
	join_run(lcore, flow, qp);
	flow->responses = flow->ack_waits = true;
	flow->ack = ack;
	return true;
}

/*
 * Takes the usual frame, or leaves it to receive_any(). Within a burst only the packets of the burst change a QP. So a
 * packet with the headers and BTH of the packet before is admitted as that packet was, as long as the QP runs. Returns
 * true if another lcore owns the mbuf now, false if the caller may free the mbuf after the burst.
 */
static __rte_always_inline bool receive_frame(struct uroce_lcore *lcore, struct engine_port *port,
					      struct rte_mbuf *mbuf, bool port_checks, struct flow *flow)
{
	const uint8_t *frame = rte_pktmbuf_mtod(mbuf, const uint8_t *), *before = flow->frame;
	uint32_t bytes = rte_pktmbuf_data_len(mbuf);
	bool repeats;

	if (mbuf->nb_segs > 1 || bytes > PORT_FRAME_MAX_BYTES ||
	    (port_checks && marked_bad(port, mbuf) != CNT_COUNTERS))
		return receive_any(lcore, port, mbuf, flow);
	repeats = before && bytes == flow->bytes && frame_repeats_headers(frame, before);
	if (!repeats && !parse_headers(flow, frame, bytes, !port_checks))
		return receive_any(lcore, port, mbuf, flow);
	if (__builtin_expect(repeats && !frame_repeats_port(frame, before), 0)) {
		repeats = false;
		flow->origin.source_port = load_be16(frame + FRAME_UDP_AT);
	}
	flow->origin.ip = frame + FRAME_IP_AT;
	flow->frame = frame;
	if (repeats && flow->goes_on && frame_repeats_bth(frame, before) && qp_core(flow->qp)->state == UROCE_QPS_RTS) {
		frame_parse_next(frame, before, &flow->packet);
		give_to_qp(lcore, port, &flow->packet, &flow->origin, true, flow);
		return false;
	}
	flow->goes_on = false;
	if (receive_ack(lcore, port, frame, repeats ? before : NULL, flow))
		return false;
	if (!frame_parse_packet(frame, flow->origin.ip_bytes, &flow->packet))
		return receive_any(lcore, port, mbuf, flow);
	if (!receive_packet(lcore, port, mbuf, &flow->packet, &flow->origin, flow))
		return false;
	flow->frame = NULL; /* flow->frame must not lie in an mbuf that another lcore owns */
	return true;
}

/*
 * Fetches into the cache what the packets of a burst will touch, step by step for all of them: frames, entries of the
 * QP table, QPs; for consecutive packets to one QP only once. Opcode and QPN are read where the usual frame has them,
 * so for other frames a useless line is fetched.
 */
static void prefetch_burst(const struct uroce_lcore *lcore, struct rte_mbuf *const *burst, uint16_t count)
{
	const struct engine_qp_slot *slots[BURST];
	uint8_t opcodes[BURST];
	uint64_t before = 0; /* 0 is no valid BTH; a packet with it fetches nothing */
	unsigned different = 0;

	for (uint16_t i = 0; i < count; i++) {
		rte_prefetch0(rte_pktmbuf_mtod(burst[i], void *));
		rte_prefetch0(rte_pktmbuf_mtod_offset(burst[i], void *, RTE_CACHE_LINE_SIZE));
	}
	for (uint16_t i = 0; i < count; i++) {
		const uint8_t *bth = rte_pktmbuf_mtod_offset(burst[i], const uint8_t *, FRAME_BTH_AT);
		uint64_t bth_begin;

		if (rte_pktmbuf_data_len(burst[i]) < FRAME_SHORTEST_BYTES)
			continue;
		bth_begin = frame_load(bth); /* the opcode is the lowest byte, the QPN the highest */
		if (bth_begin == before)
			continue;
		before = bth_begin;
		opcodes[different] = bth[0];
		/* the argument has a byte above the QPN, which steer_slot() masks */
		slots[different] = steer_slot(lcore->engine, load_be32(bth + 4));
		rte_prefetch0(slots[different++]);
	}
	for (unsigned i = 0; i < different; i++) {
		const struct uroce_qp *qp = atomic_load_explicit(&slots[i]->qp, memory_order_relaxed);

		if (qp == NULL)
			continue;
		rte_prefetch0(qp);
		rc_qp_prefetch_in(qp_core(qp), wire_opcode(opcodes[i])->response);
	}
}

/* Closes the gaps that frames of other lcores have left. Returns how many frames remain. */
static __rte_noinline uint32_t close_gaps(struct rte_mbuf **frames, uint32_t count)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (frames[i])
			frames[left++] = frames[i];
	}
	return left;
}

/*
 * Takes the frames of a burst of a port, from lcore->burst.at on. After a fault the bytes of the frames before are not
 * counted yet.
 */
static __rte_always_inline void take_burst(struct uroce_lcore *lcore, struct engine_port *port)
{
	struct engine_burst *burst = &lcore->burst;
	bool port_checks = port->device->config.rx_checksums_done;
	uint32_t count = burst->count, left = count;
	uint64_t bytes = 0;
	struct flow flow;

	begin_flow(&flow, lcore, port);
	for (uint32_t i = burst->at; i < count; i++) {
		burst->at = i;
		bytes += rte_pktmbuf_pkt_len(burst->frames[i]);
		if (__builtin_expect(receive_frame(lcore, port, burst->frames[i], port_checks, &flow), 0)) {
			burst->frames[i] = NULL;
			burst->has_gaps = true;
		}
	}
	port->rx_frames += count;
	port->rx_bytes += bytes;
	lcore->work += count;
	if (__builtin_expect(burst->has_gaps, 0))
		left = close_gaps(burst->frames, count);
	burst->count = 0;
	engine_port_recycle(port, burst->frames, left); /* before end_run(), which writes answers into these mbufs */
	end_run(lcore, &flow, burst->pauses);
}

static void begin_burst(struct engine_burst *burst, struct engine_port *port, uint32_t count)
{
	burst->port = port;
	burst->count = count;
	burst->at = 0;
	burst->has_gaps = false;
	burst->pauses = count < BURST;
}

/* Receives at most as many frames as a poll sends; first the rest of a burst that a fault has ended. */
static __rte_always_inline void receive_port(struct uroce_lcore *lcore, struct engine_port *port)
{
	struct engine_burst *burst = &lcore->burst;

	for (unsigned i = 0; i < POLL_FRAMES / BURST; i++) {
		uint32_t count = burst->count;

		if (__builtin_expect(count == 0, 1)) {
			count = rte_eth_rx_burst(port->device->port_id, port->queue, burst->frames, BURST);
			if (count == 0)
				return;
			begin_burst(burst, port, count);
			if (count > BURST_WORTH_FETCHING)
				prefetch_burst(lcore, burst->frames, (uint16_t)count);
		} else if (burst->port != port) {
			return;
		}
		take_burst(lcore, port);
		if (count < BURST)
			return;
	}
}

static struct engine_port *port_of(const struct uroce_lcore *lcore, const struct rte_mbuf *frame)
{
	for (unsigned i = 0; i < lcore->port_count; i++) {
		if (lcore->ports[i]->device->port_id == frame->port)
			return lcore->ports[i];
	}
	return NULL; /* a device without a queue on this lcore has no QP here either */
}

/* Takes the frames of a burst of other lcores, each of which may be of another port, from lcore->burst.at on. */
static void take_handed_over(struct uroce_lcore *lcore)
{
	struct engine_burst *burst = &lcore->burst;

	for (; burst->at < burst->count; burst->at++) {
		struct rte_mbuf *frame = burst->frames[burst->at];
		struct engine_port *port = port_of(lcore, frame);
		struct flow flow;

		if (port == NULL)
			continue;
		begin_flow(&flow, lcore, port);
		if (receive_frame(lcore, port, frame, port->device->config.rx_checksums_done, &flow))
			burst->frames[burst->at] = NULL;
		end_run(lcore, &flow, false);
	}
	lcore->work += burst->count;
	rte_pktmbuf_free_bulk(burst->frames, close_gaps(burst->frames, burst->count));
	burst->count = 0;
}

/* Receives a burst from other lcores. Returns how many frames there were. */
static unsigned receive_some_handed_over(struct uroce_lcore *lcore)
{
	struct engine_burst *burst = &lcore->burst;
	unsigned count = rte_ring_dequeue_burst(lcore->handover, (void **)burst->frames, BURST, NULL);

	begin_burst(burst, NULL, count);
	take_handed_over(lcore);
	return count;
}

/* Takes at most as many frames as a poll sends, which may all be for the port itself. */
static __rte_noinline void receive_handed_over(struct uroce_lcore *lcore)
{
	for (unsigned taken = 0; taken < POLL_FRAMES; taken += BURST) {
		if (receive_some_handed_over(lcore) < BURST)
			break;
	}
}

/*
 * A fault has ended a burst. Counts the bytes of the frames that were taken; the others are taken when it is the turn
 * of their port.
 */
static __rte_noinline void resume(struct uroce_lcore *lcore)
{
	const struct engine_burst *burst = &lcore->burst;

	if (burst->port == NULL) {
		take_handed_over(lcore);
		return;
	}
	for (uint32_t i = 0; i < burst->at; i++) {
		if (burst->frames[i])
			burst->port->rx_bytes += rte_pktmbuf_pkt_len(burst->frames[i]);
	}
}

void engine_receive_poll(struct uroce_lcore *lcore)
{
	if (__builtin_expect(lcore->burst.count, 0))
		resume(lcore);
	for (unsigned i = 0; i < lcore->port_count; i++)
		receive_port(lcore, lcore->ports[i]);
	if (!rte_ring_empty(lcore->handover))
		receive_handed_over(lcore);
}
