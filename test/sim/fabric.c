/* fabric.c - ports, their queues, and what switches do to frames */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/fabric.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/network.h"
#include "wire/bytes.h"
#include "wire/encap.h"

#define FRAME_EXTRA_BYTES 24u /* preamble, FCS and gap */
#define IP_OFFSET 14u         /* there are neither VLANs nor IPv6 */
#define BEGIN_NS 200000u      /* by then all QPs can send */
#define IS_HOST 0x8000u       /* a link leads to a host, not a switch */

struct port {
	uint64_t free_ps; /* when the last of what is queued has left */
	uint64_t byte_ps; /* what a byte takes */
	uint32_t leads;   /* to this switch, or IS_HOST and a host */
};

/* The ports that lead from a switch to a host, of which a flow takes one. */
struct route {
	uint32_t first, ways;
};

struct sim_fabric {
	const struct sim_plan *plan;
	struct port *hosts;   /* a port each */
	struct port *ports;   /* of all switches */
	struct route *routes; /* of the first switch to all hosts, of the second ... */
	uint32_t port_count;
	struct sim_fabric_counts counts;
};

/* ---- topologies: switches are the leaves and then the spines ---- */

static uint32_t add_port(struct sim_fabric *fabric, uint32_t leads)
{
	fabric->ports[fabric->port_count] = (struct port){ .byte_ps = fabric->plan->limits.byte_ps, .leads = leads };
	return fabric->port_count++;
}

static uint64_t neck_byte_ps(const struct sim_plan *plan)
{
	return plan->neck_byte_ps ? plan->neck_byte_ps : plan->limits.byte_ps;
}

static void connect_leaf(struct sim_fabric *fabric, uint32_t leaf)
{
	const struct sim_plan *plan = fabric->plan;
	struct route up = { .first = fabric->port_count, .ways = plan->spines ? plan->spines : 1 };

	for (uint32_t i = 0; i < plan->spines; i++)
		fabric->ports[add_port(fabric, plan->leaves + i)].byte_ps = neck_byte_ps(plan);
	if (plan->spines == 0 && plan->leaves == 2)
		fabric->ports[add_port(fabric, leaf ^ 1)].byte_ps = neck_byte_ps(plan);
	for (uint32_t host = 0; host < plan->hosts; host++) {
		struct route *route = &fabric->routes[leaf * plan->hosts + host];

		*route = up;
		if (sim_plan_leaf(plan, host) == leaf)
			*route = (struct route){ .first = add_port(fabric, IS_HOST | host), .ways = 1 };
	}
}

static void connect_spine(struct sim_fabric *fabric, uint32_t spine)
{
	const struct sim_plan *plan = fabric->plan;
	uint32_t first = fabric->port_count;

	for (uint32_t leaf = 0; leaf < plan->leaves; leaf++)
		add_port(fabric, leaf);
	for (uint32_t host = 0; host < plan->hosts; host++)
		fabric->routes[(plan->leaves + spine) * plan->hosts + host] =
			(struct route){ .first = first + sim_plan_leaf(plan, host), .ways = 1 };
}

void sim_fabric_open(struct sim_world *world, const struct sim_plan *plan)
{
	struct sim_fabric *fabric = calloc(1, sizeof(*fabric));

	fabric->plan = plan;
	fabric->hosts = calloc(plan->hosts, sizeof(*fabric->hosts));
	fabric->ports = calloc(plan->hosts + 2 * plan->leaves * plan->spines + 2, sizeof(*fabric->ports));
	fabric->routes = calloc((plan->leaves + plan->spines) * plan->hosts, sizeof(*fabric->routes));
	for (uint32_t leaf = 0; leaf < plan->leaves; leaf++)
		connect_leaf(fabric, leaf);
	for (uint32_t spine = 0; spine < plan->spines; spine++)
		connect_spine(fabric, spine);
	for (uint32_t host = 0; host < plan->hosts; host++)
		fabric->hosts[host] =
			(struct port){ .byte_ps = plan->limits.byte_ps, .leads = sim_plan_leaf(plan, host) };
	world->fabric = fabric;
}

void sim_fabric_close(struct sim_world *world)
{
	const struct sim_fabric_counts *counts = &world->fabric->counts;

	if (counts->frames != counts->arrived + counts->drops)
		sim_world_fail(world, "%lu frames went into the fabric, %lu came out and %lu were dropped",
			       counts->frames, counts->arrived, counts->drops);
	for (uint32_t host = 0; world->options->plan && host < world->fabric->plan->hosts; host++) {
		for (uint32_t i = 0; i < CNT_COUNTERS; i++) {
			if (world->nodes[host].drops[i])
				sim_world_fail(world, "host %u: %s is %lu, and nothing was spoilt or led astray", host,
					       rc_counters[i].name, world->nodes[host].drops[i]);
		}
	}
}

void sim_fabric_forget(struct sim_fabric *fabric)
{
	if (fabric == NULL)
		return;
	free(fabric->hosts);
	free(fabric->ports);
	free(fabric->routes);
	free(fabric);
}

struct sim_fabric_counts sim_fabric_counts(const struct sim_fabric *fabric)
{
	return fabric->counts;
}

void sim_fabric_print(const struct sim_fabric *fabric)
{
	printf("switches dropped %lu and marked %lu, ", fabric->counts.drops, fabric->counts.marks);
}

void sim_fabric_place(const struct sim_world *world, struct sim_end *end)
{
	const struct sim_flow *flow = &world->fabric->plan->flows[end->index / 2];
	bool sends = !(end->index & 1);

	end->node = sends ? flow->from : flow->to;
	end->plain = !sim_plan_has_sacks(world->fabric->plan, flow);
	end->quota = sends;
	end->steady_bytes = flow->bytes;
	end->begins_ns = sends ? BEGIN_NS + flow->start_ns : 0;
}

/* ---- a hop ---- */

static uint64_t queued_bytes(const struct sim_world *world, const struct port *port)
{
	uint64_t now_ps = world->now_ns * 1000;

	return port->free_ps > now_ps ? (port->free_ps - now_ps) / port->byte_ps : 0;
}

/* The frame goes behind those that wait, and reaches the other end of the link, perhaps late. */
static void enqueue(struct sim_world *world, struct port *port, struct sim_frame *frame, uint64_t late_ns)
{
	const struct sim_port_limits *limits = &world->fabric->plan->limits;
	struct sim_due due = { .kind = DUE_HOP, .whom = port->leads, .frame = frame };

	if (port->free_ps < world->now_ns * 1000)
		port->free_ps = world->now_ns * 1000;
	port->free_ps += (frame->length + FRAME_EXTRA_BYTES) * port->byte_ps;
	due.when_ns = (port->free_ps + 999) / 1000 + limits->delay_ns + late_ns;
	if (port->leads & IS_HOST) {
		due.kind = DUE_ARRIVAL;
		due.whom = port->leads & ~IS_HOST;
		world->fabric->counts.arrived++;
	}
	sim_agenda_add(&world->agenda, due);
}

/* By RED: the more the longer the queue. */
static bool is_to_mark(const struct sim_world *world, const struct sim_frame *frame, uint64_t queued)
{
	const struct sim_port_limits *limits = &world->fabric->plan->limits;
	struct sim_random random =
		random_stream(world->options->seed, STREAM_HOP,
			      ((uint64_t)frame->from << 32 | (uint32_t)frame->number) << 8 | frame->hops);

	if (queued <= limits->kmin)
		return false;
	if (queued >= limits->kmax)
		return true;
	return random_chance(&random,
			     (uint32_t)(limits->pmax * (queued - limits->kmin) / (limits->kmax - limits->kmin)));
}

/* Congestion experienced, in the IPv4 header, whose checksum stays right, or as wrong as it was (RFC 1624). */
static void mark(struct sim_world *world, struct sim_frame *frame)
{
	uint8_t *ip = frame->bytes + IP_OFFSET;
	uint32_t sum = (uint16_t)~load_be16(ip + 10) + (uint16_t)~load_be16(ip);

	ip[1] |= UROCE_ECN_CE;
	sum += load_be16(ip);
	sum = (sum & 0xFFFF) + (sum >> 16);
	store_be16(ip + 10, (uint16_t) ~(sum + (sum >> 16)));
	world->fabric->counts.marks++;
}

/* ECN-capable, and not cut off before its address. */
static bool may_be_marked(const struct sim_frame *frame)
{
	return frame->length >= IP_OFFSET + WIRE_IPV4_BYTES &&
	       uroce_traffic_class_ecn(frame->bytes[IP_OFFSET + 1]) != UROCE_ECN_NOT_ECT;
}

/* A frame that is cut off before its ports goes with all others like it. */
static uint64_t hash_of(const struct sim_frame *frame)
{
	const uint8_t *addresses = frame->bytes + IP_OFFSET + 12, *ports = frame->bytes + IP_OFFSET + WIRE_IPV4_BYTES;

	if (frame->length < IP_OFFSET + WIRE_IPV4_BYTES + 4)
		return 0;
	return load_be64(addresses) * 0x9E3779B97F4A7C15ull ^ load_be32(ports);
}

/* ECMP: the way of a flow follows from its addresses and ports, differently at each switch and in each run. */
static struct port *choose_port(const struct sim_world *world, uint32_t at, const struct sim_frame *frame)
{
	const struct sim_fabric *fabric = world->fabric;
	const struct route *route = &fabric->routes[at * fabric->plan->hosts + frame->to_node];
	struct sim_random random =
		random_stream(world->options->seed, (uint64_t)STREAM_ECMP << 32 | at, hash_of(frame));

	return &fabric->ports[route->first + (route->ways > 1 ? random_below(&random, route->ways) : 0)];
}

void sim_fabric_send(struct sim_world *world, uint32_t host, struct sim_frame *frame, uint64_t late_ns)
{
	world->fabric->counts.frames++;
	enqueue(world, &world->fabric->hosts[host], frame, late_ns);
}

void sim_fabric_hop(struct sim_world *world, const struct sim_due *due)
{
	struct sim_fabric *fabric = world->fabric;
	struct sim_frame *frame = due->frame;
	struct port *port = choose_port(world, due->whom, frame);
	uint64_t queued = queued_bytes(world, port);

	frame->hops++;
	if (queued + frame->length + FRAME_EXTRA_BYTES > fabric->plan->limits.limit) {
		fabric->counts.drops++;
		sim_world_trouble(world, &world->ends[frame->from], 1);
		sim_network_free(world, frame);
		return;
	}
	if (may_be_marked(frame) && is_to_mark(world, frame, queued))
		mark(world, frame);
	enqueue(world, port, frame, 0);
	queued = queued_bytes(world, port);
	if (queued > fabric->counts.queue_max)
		fabric->counts.queue_max = queued;
}

uint64_t sim_fabric_free_ns(const struct sim_fabric *fabric, uint32_t host)
{
	return fabric->hosts[host].free_ps / 1000;
}
