/* network.c - building frames, drawing their fates, delivering them */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "rc/cc.h"
#include "rc/spread.h"
#include "sim/fabric.h"
#include "sim/model.h"
#include "sim/network.h"
#include "sim/slow.h"
#include "sim/trace.h"
#include "support/admitted.h"
#include "wire/bytes.h"
#include "wire/encap.h"
#include "wire/icrc.h"

#define QPN_FIRST 0x100u
#define QPN_STEP 257u
#define COPIES_MAX 8u
#define CNP_INTERVAL_NS 50000u                                       /* as lib/engine/congestion.c */
#define CNP_TRAFFIC_CLASS uroce_traffic_class(48, UROCE_ECN_NOT_ECT) /* the same */

uint32_t sim_network_qpn(uint32_t end)
{
	return QPN_FIRST + end * QPN_STEP;
}

static struct sim_end *find_end(const struct sim_world *world, uint32_t node, uint32_t qpn)
{
	uint32_t index = (qpn - QPN_FIRST) / QPN_STEP;

	if (qpn < QPN_FIRST || index >= world->config.connections * 2 || sim_network_qpn(index) != qpn)
		return NULL;
	return world->ends[index].node == node && world->ends[index].qp ? &world->ends[index] : NULL;
}

struct uroce_addr sim_network_address(const struct sim_world *world, uint32_t node, uint32_t port)
{
	struct uroce_addr address = { { 0 } };

	if (world->config.ipv6) {
		address.bytes[0] = 0xfd;
	} else {
		address.bytes[10] = address.bytes[11] = 0xff;
		address.bytes[12] = 10;
	}
	address.bytes[14] = (uint8_t)port;
	address.bytes[15] = (uint8_t)(node + 1);
	return address;
}

/* ---- a packet becomes a frame ---- */

static void put_payload(uint8_t *at, const struct wire_packet *packet)
{
	if (packet->payload_bytes > 0)
		memcpy(at, packet->payload, packet->payload_bytes);
}

static void put_icrc(uint8_t *bytes, uint32_t length, uint32_t ip_offset)
{
	uint32_t end = length - WIRE_ICRC_BYTES;

	store_le32(bytes + end, wire_icrc_frame(bytes + ip_offset, end - ip_offset));
}

static struct sim_frame *make_frame(struct sim_world *world, const struct sim_end *end,
				    const struct wire_packet *packet, uint16_t source_port)
{
	const struct uroce_path *path = &end->qp->path;
	struct sim_frame *frame = calloc(1, sizeof(*frame));
	uint8_t head[WIRE_ENCAP_MAX_BYTES + WIRE_HEADERS_MAX_BYTES];
	struct wire_encap encap = {
		.ipv6 = world->config.ipv6,
		.hop_limit = 64,
		.traffic_class = packet->opcode == OP_CNP ? CNP_TRAFFIC_CLASS : path->traffic_class,
		.source_port = source_port,
		.dest_port = WIRE_UDP_PORT,
	};
	uint32_t head_bytes;

	memcpy(encap.source, path->source.bytes, 16);
	memcpy(encap.dest, path->dest.bytes, 16);
	head_bytes = wire_encap_build(&encap, packet_bytes(packet), head);
	head_bytes += wire_packet_build(packet, head + head_bytes);
	frame->length = encap.bth_offset + packet_bytes(packet);
	frame->bytes = calloc(1, frame->length);
	memcpy(frame->bytes, head, head_bytes);
	put_payload(frame->bytes + head_bytes, packet);
	put_icrc(frame->bytes, frame->length, encap.ip_offset);
	frame->from = end->index;
	frame->life = end->life;
	frame->to_node = (uint32_t)path->dest.bytes[15] - 1;
	frame->number = end->frames_sent;
	frame->source_port = source_port;
	world->frames_alive++;
	return frame;
}

static struct sim_frame *copy_frame(struct sim_world *world, const struct sim_frame *frame)
{
	struct sim_frame *copy = malloc(sizeof(*copy));

	*copy = *frame;
	copy->bytes = malloc(frame->length);
	memcpy(copy->bytes, frame->bytes, frame->length);
	copy->disturbed = true;
	world->frames_alive++;
	return copy;
}

void sim_network_free(struct sim_world *world, struct sim_frame *frame)
{
	world->frames_alive--;
	free(frame->bytes);
	free(frame);
}

void sim_network_clear(struct sim_world *world)
{
	for (uint32_t i = 0; i < SIM_OLD_FRAMES; i++) {
		if (world->old[i])
			sim_network_free(world, world->old[i]);
		world->old[i] = NULL;
	}
}

/* ---- its fate ---- */

/* The number of a frame among all: what a fault is named by. */
static uint64_t frame_number(const struct sim_end *end)
{
	return (uint64_t)end->index << 32 | end->frames_sent;
}

static bool befalls(struct sim_world *world, struct sim_end *end, struct sim_random *random, enum sim_fault_kind kind)
{
	/* Drawn in any case: the rest of the fate does not depend on whether this fault is allowed. */
	if (!random_chance(random, world->config.rates[kind]) ||
	    !sim_fault_happens(&world->faults, kind, frame_number(end), world->now_ns))
		return false;
	sim_trace_fault(world, end, kind);
	sim_world_trouble(world, end, 1);
	return true;
}

/* Through switches it takes as long as they let it wait, and what there is between now and when_ns besides. */
static void put_on_wire(struct sim_world *world, struct sim_frame *frame, uint64_t when_ns)
{
	if (world->fabric) {
		sim_fabric_send(world, world->ends[frame->from].node, frame, when_ns - world->now_ns);
		return;
	}
	sim_agenda_add(
		&world->agenda,
		(struct sim_due){ .when_ns = when_ns, .kind = DUE_ARRIVAL, .whom = frame->to_node, .frame = frame });
}

/* Bits change; an attacker sees to it that the ICRC is right, of what parses at all. */
static void change_bits(struct sim_frame *frame, struct sim_random *random, bool forge)
{
	uint32_t count = (uint32_t)random_between(random, 1, 3);
	/* Often in the transport headers, where it matters most. */
	uint32_t from = forge ? 42 : 14;
	uint32_t to = random_chance(random, 700000) && frame->length > 74 ? 74 : frame->length;

	if (frame->length <= from)
		return;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t byte = random_between(random, from, to - 1);
		uint64_t bit = random_below(random, 8);

		frame->bytes[byte] ^= (uint8_t)(1u << bit);
	}
	if (forge) {
		put_icrc(frame->bytes, frame->length, 14);
		frame->forged = true;
	}
}

static void cut(struct sim_frame *frame, struct sim_random *random)
{
	uint64_t length = random_below(random, frame->length);
	uint8_t *bytes = malloc(length ? length : 1);

	memcpy(bytes, frame->bytes, length);
	free(frame->bytes);
	frame->bytes = bytes;
	frame->length = (uint32_t)length;
}

/* Every frame may come back later: this keeps some, and replays one of them. */
static void keep_and_replay(struct sim_world *world, struct sim_end *end, const struct sim_frame *frame,
			    struct sim_random *random)
{
	uint32_t place = (uint32_t)random_below(random, SIM_OLD_FRAMES);
	uint32_t chosen = (uint32_t)random_below(random, SIM_OLD_FRAMES);
	uint64_t delay = random_below(random, world->config.replay_ns);

	if (world->config.rates[FAULT_REPLAY] == 0)
		return;
	if (random_chance(random, 250000) && !frame->forged) {
		if (world->old[place])
			sim_network_free(world, world->old[place]);
		world->old[place] = copy_frame(world, frame);
	}
	if (world->old[chosen] && befalls(world, end, random, FAULT_REPLAY)) {
		struct sim_frame *replayed = copy_frame(world, world->old[chosen]);

		sim_world_trouble(world, &world->ends[replayed->from], 1);
		put_on_wire(world, replayed, world->now_ns + world->config.delay_ns + delay);
	}
}

static bool is_dark(struct sim_world *world, const struct sim_end *end, const struct sim_frame *frame)
{
	uint32_t path = end->qp->path.dest.bytes[14] & 1;

	return world->nodes[end->node].dark_until_ns[frame->to_node][path] > world->now_ns;
}

/* From some time on one of the ways that an end spreads its packets over carries nothing. */
static bool way_is_dead(const struct sim_world *world, const struct sim_end *end, const struct sim_frame *frame)
{
	return world->config.dead_ns && world->now_ns >= world->config.dead_ns && qp_spreads(end->qp) &&
	       frame->source_port == spread_of(end->qp)->paths[SIM_DEAD_WAY].port;
}

/* The first packet of a connection whose receiver is to wait for it. */
static bool never_comes(const struct sim_world *world, const struct sim_end *end, const struct wire_packet *packet)
{
	return end->index / 2 >= world->config.connections - world->config.holes && packet->payload_bytes > 0 &&
	       packet->psn == end->start_psn;
}

static bool is_lost(struct sim_world *world, struct sim_end *end, const struct sim_frame *frame,
		    const struct wire_packet *packet, struct sim_random *random)
{
	bool lost = befalls(world, end, random, FAULT_LOSS);

	if (befalls(world, end, random, FAULT_BURST))
		end->burst_left = (uint32_t)random_between(random, 2, world->config.burst_packets);
	if (end->burst_left > 0 && !world->faults.stopped) {
		end->burst_left--;
		lost = true;
	}
	if (is_dark(world, end, frame) || way_is_dead(world, end, frame) || never_comes(world, end, packet))
		lost = true;
	if (lost)
		sim_world_trouble(world, end, 1);
	return lost;
}

/* What the port's path takes longer than the shortest one may, as a switch would choose it: by addresses and port. */
static uint64_t skew_of(const struct sim_world *world, const struct sim_end *end, uint16_t source_port)
{
	struct sim_random random =
		random_stream(world->options->seed, STREAM_ECMP, (uint64_t)end->index << 16 | source_port);

	return world->config.skew_ns ? random_below(&random, world->config.skew_ns + 1) : 0;
}

/* When the last frame arrives that has left with this port: those with one port stay in order. */
static uint64_t *last_arrival(const struct sim_world *world, struct sim_end *end, uint16_t source_port)
{
	struct sim_way *ways = end->ways;
	uint32_t i = 0;

	if (world->config.skew_ns == 0)
		return &ways[0].last_arrival_ns;
	while (ways[i].port && ways[i].port != source_port && i + 1 < SIM_WAYS)
		i++;
	ways[i].port = source_port;
	return &ways[i].last_arrival_ns;
}

/* When it arrives: behind those before it on its way, but for frames that are late. Switches see to that themselves. */
static uint64_t arrival_time(struct sim_world *world, struct sim_end *end, const struct sim_frame *frame,
			     struct sim_random *random)
{
	const struct sim_config *config = &world->config;
	uint64_t jitter = config->jitter_ns ? random_below(random, config->jitter_ns) : 0;
	uint64_t arrival, wire_ns, last = *last_arrival(world, end, frame->source_port);

	if (world->fabric)
		return world->now_ns;
	if (end->wire_free_ns < world->now_ns)
		end->wire_free_ns = world->now_ns;
	wire_ns = (frame->length + 24) * config->byte_ps / 1000;
	if (sim_node_is_slow(config, end->node) && wire_ns < config->pace.send_ns)
		wire_ns = config->pace.send_ns;
	end->wire_free_ns = sim_slow_awake(world, end->node, end->wire_free_ns + wire_ns);
	arrival = end->wire_free_ns + config->delay_ns + jitter + skew_of(world, end, frame->source_port);
	return arrival < last ? last : arrival;
}

static bool may_overtake(const struct sim_world *world, const struct sim_end *end)
{
	return world->config.skew_ns || (world->fabric && qp_spreads(end->qp));
}

void sim_network_send(struct sim_world *world, struct sim_end *end, const struct wire_packet *packet,
		      uint16_t source_port)
{
	struct sim_random random = random_stream(world->options->seed, STREAM_FRAME, frame_number(end));
	struct sim_frame *frame = make_frame(world, end, packet, source_port);
	uint64_t arrival, late;
	const struct sim_config *config = &world->config;
	uint32_t copies = 1;

	world->frames++;
	world->payload_frames += packet->payload_bytes > 0;
	sim_trace_sent(world, end, packet, frame);
	if (world->options->plan) { /* nothing happens to it but what switches do */
		end->frames_sent++;
		sim_fabric_send(world, end->node, frame, 0);
		return;
	}
	arrival = arrival_time(world, end, frame, &random);
	keep_and_replay(world, end, frame, &random);
	if (is_lost(world, end, frame, packet, &random))
		copies = 0;
	late = random_below(&random, world->config.late_ns + 1);
	if (may_overtake(world, end)) { /* others then look as if they were lost */
		frame->disturbed = true;
		sim_world_trouble(world, end, 1);
	}
	if (config->pace.early && end->node > 0 && random_chance(&random, config->pace.early)) {
		arrival = end->wire_free_ns; /* overtakes the delay, as netem's reordered packets do */
		frame->disturbed = true;
		sim_world_trouble(world, end, 1);
	} else if (befalls(world, end, &random, FAULT_REORDER)) {
		arrival += late;
		frame->disturbed = true;
	} else {
		*last_arrival(world, end, source_port) = arrival;
	}
	if (befalls(world, end, &random, FAULT_DUP))
		copies *= (uint32_t)random_between(&random, 2, COPIES_MAX);
	for (uint32_t i = 1; i < copies; i++)
		put_on_wire(world, copy_frame(world, frame), arrival + random_below(&random, late + 2));
	if (befalls(world, end, &random, FAULT_CORRUPT))
		change_bits(frame, &random, false);
	else if (befalls(world, end, &random, FAULT_FORGE))
		change_bits(frame, &random, true);
	if (befalls(world, end, &random, FAULT_TRUNCATE))
		cut(frame, &random);
	end->frames_sent++;
	world->payload_lost += copies == 0 && packet->payload_bytes > 0;
	if (copies)
		put_on_wire(world, frame, arrival);
	else
		sim_network_free(world, frame);
}

/* ---- its arrival, as lib/engine/receive.c does it ---- */

/* A switch has marked the frame: who sent it gets a notification at once. */
static void notify_sender(struct sim_world *world, const struct sim_frame *frame)
{
	struct sim_random random = random_stream(world->options->seed, STREAM_MARK, world->marks_drawn++);
	struct sim_end *sender = &world->ends[frame->from];

	if (!random_chance(&random, world->config.marks) || !sender->qp || sender->life != frame->life ||
	    sender->qp->state < UROCE_QPS_RTR || sender->qp->state > UROCE_QPS_SQD)
		return;
	rc_cc_notified(sender->qp, world_clock(world, sender));
}

/*
 * A switch has marked what has come: its sender is told by a packet, and who has asked for a response hears of it as
 * well, as lib/engine/congestion.c does it.
 */
static void notify_peer(struct sim_world *world, struct sim_end *end, bool response)
{
	const struct wire_packet packet = {
		.opcode = OP_CNP,
		.flags = WIRE_BECN,
		.dest_qpn = end->qp->dest_qpn,
		.pkey = end->qp->pkey,
	};

	if (world->now_ns < end->next_cnp_ns)
		return;
	end->next_cnp_ns = world->now_ns + CNP_INTERVAL_NS;
	if (response && rc_cc_listens(end->qp)) {
		rc_cc_notified(end->qp, world_clock(world, end));
		sim_world_arm(world, end);
	}
	sim_network_send(world, end, &packet, rc_ports_own(end->qp, 0));
}

/* The model knows nothing of rates: a notification is none of its packets. */
static void receive_notification(struct sim_world *world, struct sim_end *end, const struct wire_packet *packet,
				 const struct rc_origin *origin)
{
	enum rc_counter drop = rc_qp_admit(end->qp, packet, origin);

	outbox_reset(&world->out);
	if (drop == CNT_COUNTERS)
		drop = rc_qp_receive(end->qp, packet, origin, world_clock(world, end), &world->out);
	sim_trace_received(world, end, packet, drop);
	sim_world_arm(world, end);
	if (drop != CNT_COUNTERS)
		world->nodes[end->node].drops[drop]++;
}

static void receive(struct sim_world *world, struct sim_end *end, const struct sim_frame *frame,
		    const struct wire_packet *packet, struct rc_origin *origin)
{
	struct sim_verdict verdict = { .right = origin_icrc_is_right(origin, packet->payload) };
	enum rc_counter drop = rc_qp_admit(end->qp, packet, origin);
	bool marked = world->fabric && origin->ce && rc_qp_heeds_mark(end->qp, packet);

	end->bytes_in += frame->length;
	if (frame->forged && verdict.right && drop == CNT_COUNTERS)
		sim_model_taint(world, end);
	if (frame->disturbed || frame->life != world->ends[frame->from].life)
		sim_world_trouble(world, end, 1);
	sim_trace_received(world, end, packet, verdict.right ? drop : CNT_PORT_RX_ICRC);
	if (drop == CNT_COUNTERS) {
		if (world->config.check_first) {
			if (!verdict.right)
				drop = CNT_PORT_RX_ICRC;
			origin->ip = NULL;
		}
		sim_model_arrive(world, end, packet, origin, &verdict);
		sim_world_reset_outbox(world);
		if (drop == CNT_COUNTERS)
			drop = receive_admitted(end->qp, packet, origin, world_clock(world, end), &world->out);
		sim_model_arrived(world, end, packet, &verdict, drop);
		sim_world_take_outbox(world, end);
		sim_world_wake_after(world, end, wire_opcode(packet->opcode)->response);
		sim_world_arm(world, end);
		if (world->config.marks)
			notify_sender(world, frame);
		if (marked && drop == CNT_COUNTERS && end->qp->state <= UROCE_QPS_SQD)
			notify_peer(world, end, wire_opcode(packet->opcode)->response);
	} else {
		if (drop != CNT_PORT_EARLY_RESPONSE) /* its peer has made no request yet */
			sim_world_trouble(world, end, 1);
		sim_model_refused(world, end, packet, origin, drop);
		rc_qp_refused(end->qp, drop, packet, origin, world_clock(world, end));
	}
	if (drop != CNT_COUNTERS)
		world->nodes[end->node].drops[drop]++;
}

/* true: it was held back. */
static bool arrive(struct sim_world *world, struct sim_frame *frame)
{
	struct sim_node *node = &world->nodes[frame->to_node];
	struct wire_encap encap;
	struct wire_packet packet;
	struct rc_origin origin;
	struct sim_end *end;
	enum rc_counter drop = rc_counters_of_frame(wire_encap_parse(frame->bytes, frame->length, true, &encap));
	enum wire_packet_fault fault;

	if (drop == CNT_COUNTERS) {
		fault = wire_packet_parse(frame->bytes + encap.bth_offset, encap.bth_bytes, &packet);
		if (fault != WIRE_PACKET_OK)
			drop = fault == WIRE_PACKET_TRUNCATED ? CNT_PORT_TRUNCATED : CNT_PORT_VERSION;
	}
	if (drop != CNT_COUNTERS) {
		node->drops[drop]++;
		return false;
	}
	end = find_end(world, frame->to_node, packet.dest_qpn);
	if (end == NULL) {
		node->drops[CNT_PORT_UNKNOWN_QPN]++;
		sim_world_trouble(world, &world->ends[frame->from], 1);
		return false;
	}
	if (sim_slow_hold(world, end, frame, !wire_opcode(packet.opcode)->response))
		return true;
	origin = (struct rc_origin){
		.source = encap.source,
		.dest = encap.dest,
		.source_port = encap.source_port,
		.ip = frame->bytes + encap.ip_offset,
		.ip_bytes = (uint32_t)(encap.bth_offset - encap.ip_offset) + encap.bth_bytes - WIRE_ICRC_BYTES,
		.ce = uroce_traffic_class_ecn(encap.traffic_class) == UROCE_ECN_CE,
	};
	if (packet.opcode == OP_CNP && world->fabric) {
		receive_notification(world, end, &packet, &origin);
		return false;
	}
	receive(world, end, frame, &packet, &origin);
	return false;
}

void sim_network_arrive(struct sim_world *world, struct sim_frame *frame)
{
	if (!arrive(world, frame))
		sim_network_free(world, frame);
}
