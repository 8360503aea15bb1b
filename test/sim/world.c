/* world.c - the loop of virtual time */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "places.h"
#include "rc/ack.h"
#include "rc/spread.h"
#include "sim/app.h"
#include "sim/end.h"
#include "sim/fabric.h"
#include "sim/model.h"
#include "sim/network.h"
#include "sim/oracle.h"
#include "sim/slow.h"
#include "sim/world.h"

#define EVENTS_MAX 200000000ull
#define TIME_MAX_NS 1000000000000ull /* without a completion is a livelock; of the sweep: a hundred times as much */
#define WATCH_NS 10000000ull
#define WATCH_HOURS_NS 10000000000ull /* of a run of hours */
#define HOUR_NS 3600000000000ull
#define HOLES_FIRST_NS 1000000ull
#define HOLE_PACKETS 8u
#define LATE_NS 20000ull /* how late a timer may be (T-1) */
#define COMPARE_EVERY 4096u
#define COMPARE_READS_EVERY (1u << 20) /* where long messages make the memory large */

void sim_world_fail(struct sim_world *world, const char *format, ...)
{
	va_list list;

	if (world->failed)
		return;
	world->failed = true;
	va_start(list, format);
	vsnprintf(world->failure, sizeof(world->failure), format, list);
	va_end(list);
}

void sim_world_trouble(struct sim_world *world, struct sim_end *end, uint32_t count)
{
	for (uint32_t i = 0; i < 2; i++) {
		struct sim_end *either = &world->ends[(end->index & ~1u) + i];

		either->troubles += count;
		either->all_troubles += count;
	}
}

void sim_world_stop_faults(struct sim_world *world)
{
	if (world->faults.stopped)
		return;
	world->faults.stopped = true;
	world->stopped_ns = world->now_ns;
	for (uint32_t i = 0; i < world->config.nodes; i++) {
		memset(world->nodes[i].dark_until_ns, 0, sizeof(world->nodes[i].dark_until_ns));
		if (world->nodes[i].paused_until_ns > world->stopped_ns)
			world->stopped_ns = world->nodes[i].paused_until_ns;
	}
}

/* ---- what is due ---- */

static void give_poll(struct sim_world *world, struct sim_end *end, uint64_t delay_ns)
{
	if (end->poll_due)
		return;
	end->poll_due = true;
	sim_agenda_add(&world->agenda, (struct sim_due){
					       .when_ns = world->now_ns + delay_ns,
					       .kind = DUE_POLL,
					       .whom = end->index,
					       .life = end->life,
				       });
}

void sim_world_wake(struct sim_world *world, struct sim_end *end, uint64_t delay_ns)
{
	end->responder_only = false;
	give_poll(world, end, delay_ns);
}

void sim_world_wake_after(struct sim_world *world, struct sim_end *end, bool response)
{
	uint32_t work =
		qp_work(end->qp, response ? WORK_ALL : WORK_RESPONDER | WORK_EVENT); /* as lib/engine/receive.c */

	if (work == 0)
		return;
	end->responder_only = !(work & ~(uint32_t)WORK_RESPONDER) && (!end->poll_due || end->responder_only);
	give_poll(world, end, world->config.poll_ns);
}

void sim_world_wake_app(struct sim_world *world, struct sim_end *end, uint64_t delay_ns)
{
	if (end->app_due)
		return;
	end->app_due = true;
	sim_agenda_add(&world->agenda, (struct sim_due){
					       .when_ns = world->now_ns + delay_ns,
					       .kind = DUE_APP,
					       .whom = end->index,
					       .life = end->life,
				       });
}

void sim_world_arm(struct sim_world *world, struct sim_end *end)
{
	uint64_t deadline = rc_qp_deadline(end->qp), when = world->now_ns;

	if (deadline == RC_NEVER)
		return;
	if (deadline > world_clock(world, end))
		when += deadline - world_clock(world, end);
	when += deadline * 0x9E3779B97F4A7C15ull % LATE_NS;
	if (end->timer_ns <= when)
		return;
	end->timer_ns = when;
	sim_agenda_add(&world->agenda,
		       (struct sim_due){ .when_ns = when, .kind = DUE_TIMER, .whom = end->index, .life = end->life });
}

static void fire(struct sim_world *world, struct sim_end *end, uint64_t when_ns)
{
	if (when_ns != end->timer_ns)
		return; /* an earlier one took its place */
	end->timer_ns = RC_NEVER;
	if (rc_qp_deadline(end->qp) <= world_clock(world, end)) {
		uint64_t expired = end->qp->counters[CNT_LOCAL_ACK_TIMEOUT_ERR];

		rc_qp_timeout(end->qp, world_clock(world, end));
		sim_model_fired(world, end, end->qp->counters[CNT_LOCAL_ACK_TIMEOUT_ERR] - expired);
		sim_world_wake(world, end, 0);
	}
	sim_world_arm(world, end);
}

void sim_world_reset_outbox(struct sim_world *world)
{
	struct sim_random random = random_stream(world->options->seed, STREAM_CROWD, world->events);

	outbox_reset(&world->out);
	world->filled = 0;
	if (world->config.crowded && random_chance(&random, 500000))
		world->filled = OUTBOX_COMPLETIONS - (uint32_t)random_between(&random, OUTBOX_RECEIVE_COMPLETIONS, 9);
	world->out.completion_count = world->filled;
}

void sim_world_take_outbox(struct sim_world *world, struct sim_end *end)
{
	struct rc_outbox *out = &world->out;

	for (uint32_t i = world->filled; i < out->completion_count; i++)
		sim_oracle_completion(world, end, &out->completions[i]);
	for (uint32_t i = 0; i < out->event_count; i++)
		sim_oracle_event(world, end, &out->events[i]);
	out->completion_count = out->event_count = world->filled = 0;
	sim_oracle_check(world, end);
}

/* A port takes as much as its link carries off in time; a full one takes nothing (S-15). */
static uint32_t draw_room(struct sim_world *world, const struct sim_end *end)
{
	struct sim_random random = random_stream(world->options->seed, STREAM_POLL, world->events);
	uint64_t room = random_below(&random, 2) ? OUTBOX_PACKETS : random_between(&random, 1, OUTBOX_PACKETS);

	return (world->fabric ? sim_fabric_free_ns(world->fabric, end->node) : end->wire_free_ns) >
			       world->now_ns + 50000 ?
		       0 :
		       (uint32_t)room;
}

/* That of the frame, if the QP spreads its packets: all QPs write with one template here. */
static uint16_t source_port(const struct sim_end *end, const struct rc_outbox *out, uint32_t i)
{
	return qp_spreads(end->qp) ? places_source_port(out, i) : rc_ports_own(end->qp, 0);
}

/*
 * A template keeps the last ACK, for a QP with the same number too. In an engine each QP has a template of its own;
 * here another QP, or another life of it, begins with a new one.
 */
static void begin_template(struct sim_world *world, const struct sim_end *end)
{
	if (world->writer != end || world->writer_life != end->life)
		frame_renew_ack(world->out.template);
	world->writer = end;
	world->writer_life = end->life;
}

static void poll_once(struct sim_world *world, struct sim_end *end)
{
	struct rc_outbox *out = &world->out;
	uint32_t room = draw_room(world, end);
	struct sim_frame *frame;
	struct wire_ack ack;
	bool more;

	end->poll_due = false;
	end->poll_state = end->qp->state;
	sim_model_poll(world, end);
	sim_world_reset_outbox(world);
	places_give(out, room);
	begin_template(world, end);
	if (end->responder_only && room && work_is_an_ack(qp_work(end->qp, WORK_RESPONDER | WORK_EVENT))) {
		ack = qp_take_ack(end->qp); /* as lib/engine/pipeline.c does */
		outbox_take_frame(out, wire_frame_build_ack(out->template, &ack, outbox_place(out)));
		more = false;
	} else {
		more = end->responder_only ? rc_qp_respond(end->qp, out) :
					     rc_qp_transmit(end->qp, world_clock(world, end), out);
	}
	sim_model_polled(world, end);
	for (uint32_t i = 0; i < out->packet_count; i++) {
		const struct wire_packet packet = places_packet(out, i);

		sim_model_sent(world, end, &packet);
		sim_network_send(world, end, &packet, source_port(end, out, i));
	}
	sim_world_take_outbox(world, end);
	sim_world_arm(world, end);
	if (more)
		sim_world_wake(world, end, room ? world->config.poll_ns : 20000);
	while ((frame = sim_slow_next(world, end)) != NULL)
		sim_network_arrive(world, frame);
}

/* ---- the loop ---- */

/* Nothing to do, and nothing that waits for its turn at the rate of its QP. */
static bool is_done(const struct sim_end *end)
{
	return sim_app_is_done(end) && !(end->qp && end->qp->pace.holds);
}

static bool is_finished(const struct sim_world *world)
{
	for (uint32_t i = 0; i < world->config.connections; i++) {
		if (world->connections[i].closing || !is_done(&world->ends[2 * i]) || !is_done(&world->ends[2 * i + 1]))
			return false;
	}
	return true;
}

static void close_connection(struct sim_world *world, uint32_t index)
{
	sim_end_close(world, index);
	if (world->ends[2 * index].quota + world->ends[2 * index + 1].quota > 0)
		sim_agenda_add(&world->agenda, (struct sim_due){
						       .when_ns = world->now_ns + world->config.delay_ns,
						       .kind = DUE_OPEN,
						       .whom = index,
					       });
}

/* What is meant for an end, if it still has the QP that it was meant for. */
static void run_end(struct sim_world *world, const struct sim_due *due)
{
	struct sim_end *end = &world->ends[due->whom];

	if (end->qp == NULL || end->life != due->life)
		return;
	if (due->kind == DUE_POLL) {
		poll_once(world, end);
	} else if (due->kind == DUE_TIMER) {
		fire(world, end, due->when_ns);
	} else if (due->kind == DUE_READY) {
		sim_end_ready(world, end);
	} else if (due->kind == DUE_APP) {
		end->app_due = false;
		sim_app_run(world, end);
	}
}

static bool is_paused(const struct sim_world *world, const struct sim_due *due)
{
	uint32_t node;

	if (due->kind == DUE_CLOSE || due->kind == DUE_OPEN || due->kind == DUE_WATCH || due->kind == DUE_HOP)
		return false;
	node = due->kind == DUE_ARRIVAL ? due->whom : world->ends[due->whom].node;
	return world->nodes[node].paused_until_ns > world->now_ns;
}

/* A slow node looks at the frame when its turn has come. */
static void arrive(struct sim_world *world, struct sim_due *due)
{
	uint64_t served_ns = due->frame->served ? world->now_ns : sim_slow_serve(world, due->whom);

	due->frame->served = true;
	if (served_ns > world->now_ns) {
		due->when_ns = served_ns;
		sim_agenda_put_off(&world->agenda, *due);
	} else {
		sim_network_arrive(world, due->frame);
	}
}

static void run_due(struct sim_world *world, struct sim_due *due)
{
	if (is_paused(world, due)) {
		uint32_t node = due->kind == DUE_ARRIVAL ? due->whom : world->ends[due->whom].node;
		struct sim_end *end = due->kind == DUE_TIMER ? &world->ends[due->whom] : NULL;
		uint64_t until = world->nodes[node].paused_until_ns;

		if (end && end->timer_ns == due->when_ns)
			end->timer_ns = until;
		due->when_ns = until;
		sim_agenda_put_off(&world->agenda, *due);
	} else if (due->kind == DUE_ARRIVAL) {
		arrive(world, due);
	} else if (due->kind == DUE_HOP) {
		sim_fabric_hop(world, due);
	} else if (due->kind == DUE_CLOSE) {
		close_connection(world, due->whom);
	} else if (due->kind == DUE_OPEN) {
		sim_end_open(world, due->whom);
	} else if (due->kind == DUE_WATCH) {
		sim_oracle_watch(world);
		sim_agenda_add(&world->agenda,
			       (struct sim_due){
				       .when_ns = world->now_ns + (world->options->hours ? WATCH_HOURS_NS : WATCH_NS),
				       .kind = DUE_WATCH,
			       });
	} else {
		run_end(world, due);
	}
}

/* A run without probes that loses a tenth of its frames waits out a timeout every few packets: slow is not stuck. */
static uint64_t time_limit_ns(const struct sim_world *world)
{
	if (world->options->hours)
		return 2 * world->options->hours * HOUR_NS;
	return world->completed_ns + (world->options->steady ? 100 * TIME_MAX_NS : TIME_MAX_NS);
}

static bool world_is_large(const struct sim_world *world)
{
	return world->config.only_reads || world->config.only_writes;
}

static void loop(struct sim_world *world)
{
	uint32_t compare_every = world_is_large(world) ? COMPARE_READS_EVERY : COMPARE_EVERY;
	uint64_t events_max = EVENTS_MAX * (world->config.only_reads ? 20 : 1);
	struct sim_due due;

	while (!world->failed && sim_agenda_take(&world->agenda, &due)) {
		if (world->agenda.busy == 0 && (due.kind == DUE_TIMER || due.kind == DUE_WATCH) && is_finished(world))
			return;
		world->now_ns = due.when_ns;
		run_due(world, &due);
		if (++world->events % compare_every == 0 && sim_memory_compare_all(world->memory) != UINT64_MAX)
			sim_oracle_finish(world);
		if (world->events > events_max || world->now_ns > time_limit_ns(world))
			sim_world_fail(world, "no end after %lu events, %lu s, the last completion at %lu s",
				       world->events, world->now_ns / 1000000000, world->completed_ns / 1000000000);
	}
}

/* Some connections have no SACKs, because one of the two knows none. */
static bool draw_plain(const struct sim_world *world, uint32_t connection)
{
	struct sim_random random = random_stream(world->options->seed, STREAM_PLAIN, connection);

	return random_chance(&random, world->config.plain);
}

/* One message that never comes through, at once; the connections that are measured begin when these wait. */
static void place_holes(const struct sim_world *world, struct sim_end *end)
{
	const struct sim_config *config = &world->config;

	if (end->index / 2 < config->connections - config->holes) {
		end->begins_ns = HOLES_FIRST_NS;
	} else {
		end->quota = !(end->index & 1);
		end->steady_bytes = HOLE_PACKETS * config->mtu;
	}
}

/*
 * What the lcore of a node lends: boards, of which a QP that spreads its packets has one all the time, and room for
 * packets that come before their turn.
 */
static void give_lcore(const struct sim_world *world, struct sim_node *node)
{
	uint32_t each = world->options->plan && world->config.window ? 2 : 0;
	uint32_t packets = world->options->plan || world->options->steady ? LCORE_KEPT : SIM_KEPT;

	if (world->config.holes)
		each = 4; /* each QP has one while it keeps something: a peer gets a quarter for that */
	if (world->config.paths)
		each = world->options->steady ? 6 : 4;
	node->board_count = SIM_BOARDS + world->config.connections * each;
	node->boards = malloc(node->board_count * sizeof(*node->boards));
	boards_init(&node->pool, node->boards, node->board_count);
	if (world->config.window == 0)
		return;
	rc_store_init(&node->store, malloc(packets * sizeof(struct rc_kept_packet)), packets);
	node->pool.store = &node->store;
}

static void prepare(struct sim_world *world)
{
	const struct sim_config *config = &world->config;
	struct sim_random random = random_stream(world->options->seed, STREAM_APP, UINT32_MAX);
	bool room = true;

	world->nodes = calloc(config->nodes, sizeof(*world->nodes));
	world->ends = calloc(config->connections * 2, sizeof(*world->ends));
	world->connections = calloc(config->connections, sizeof(*world->connections));
	for (uint32_t i = 0; i < config->nodes; i++) {
		room &= sim_end_prepare_node(world, i);
		give_lcore(world, &world->nodes[i]);
	}
	for (uint32_t i = 0; i < config->connections * 2; i++) {
		struct sim_end *end = &world->ends[i];

		end->index = i;
		end->steady_bytes = world->options->steady_bytes;
		end->node = (i + i / 2) % config->nodes;
		if (i & 1 && end->node == world->ends[i - 1].node)
			end->node = (end->node + 1) % config->nodes;
		end->plain = draw_plain(world, i / 2);
		if (world->options->plan)
			sim_fabric_place(world, end);
		if (config->holes)
			place_holes(world, end);
		room &= sim_end_prepare(world, end);
	}
	if (!room)
		sim_world_fail(world, "%u connections need more memory than there is", config->connections);
	for (uint32_t i = 0; i < config->messages && !world->options->plan; i++) {
		uint32_t connection = (uint32_t)random_below(&random, config->connections - config->holes);
		bool back = random_chance(&random, 500000);

		/* Some connections work both ways. */
		if (connection * 7919 % 100 * 10000 >= config->two_way)
			back = false;
		world->ends[2 * connection + back].quota++;
	}
}

static uint64_t arena_bytes(const struct sim_world *world)
{
	uint64_t slot = sim_app_slot_bytes(world) + 256;

	if (world->config.only_writes)
		return (4u << 20) + world->config.connections * (2 * slot + (32u << 10));
	if (world->config.only_reads)
		return (4u << 20) + world->config.connections * (world_targets(world) + world_landings(world)) * slot;
	return (1u << 16) +
	       (world->config.connections * 2 + world->config.nodes) * (SIM_SLOTS * 2 + 2 + SIM_RECEIVES_MAX) * slot;
}

static void close_all(struct sim_world *world)
{
	for (uint32_t i = 0; i < world->config.connections * 2 && !world->failed; i++) {
		if (world->ends[i].qp && world->ends[i].qp->state == UROCE_QPS_RTS)
			sim_oracle_close(world, &world->ends[i]);
	}
	for (uint32_t i = 0; i < world->config.connections && !world->failed; i++)
		sim_end_close(world, i);
}

static void open_fabric(struct sim_world *world)
{
	const struct sim_config *config = &world->config;

	if (world->options->plan) {
		sim_fabric_open(world, world->options->plan);
	} else if (config->switches.leaves) {
		world->drawn = (struct sim_plan){
			.leaves = config->switches.leaves,
			.spines = config->switches.spines,
			.hosts = config->nodes,
			.neck_byte_ps = config->switches.neck_byte_ps,
			.limits = { .byte_ps = config->byte_ps, .delay_ns = config->delay_ns, .pmax = MILLION },
		};
		sim_plan_set_buffer(&world->drawn, config->switches.buffer);
		sim_fabric_open(world, &world->drawn);
	}
}

void sim_world_run(struct sim_world *world, const struct sim_options *options, struct sim_memory *memory)
{
	struct sim_due due;

	*world = (struct sim_world){ .options = options, .memory = memory };
	sim_swarm_draw(options, &world->config);
	world->faults.off = options->off;
	world->faults.only_listed = options->allowed != NULL;
	world->faults.allowed = options->allowed;
	world->faults.allowed_count = options->allowed_count;
	sim_memory_reset(memory, options->seed, arena_bytes(world));
	open_fabric(world);
	prepare(world);
	for (uint32_t i = 0; i < world->config.connections && !world->failed; i++)
		sim_end_open(world, i);
	sim_agenda_add(&world->agenda, (struct sim_due){ .when_ns = WATCH_NS, .kind = DUE_WATCH });
	if (!world->failed)
		loop(world);
	if (!world->failed && world->now_ns < options->hours * HOUR_NS)
		sim_world_fail(world, "all was done after %lu s: too few requests to fill %u hours",
			       world->now_ns / 1000000000, options->hours);
	if (!world->failed)
		close_all(world);
	while (sim_agenda_take(&world->agenda, &due)) {
		if (due.frame)
			sim_network_free(world, due.frame);
	}
	for (uint32_t i = 0; i < world->config.connections * 2; i++)
		sim_slow_drop(world, &world->ends[i]);
	sim_network_clear(world);
	if (world->fabric)
		sim_fabric_close(world);
	if (!world->failed)
		sim_oracle_finish(world);
	sim_world_note(world, world->events, world->frames, world->faults.count);
}

void sim_world_forget(struct sim_world *world)
{
	for (uint32_t i = 0; i < world->config.connections * 2; i++) {
		sim_end_forget_messages(&world->ends[i]);
		free(world->ends[i].messages);
		free(world->ends[i].qp);
	}
	for (uint32_t i = 0; i < world->config.nodes; i++) {
		free(world->nodes[i].mrs.entries);
		free(world->nodes[i].srq);
		free(world->nodes[i].store.packets);
		free(world->nodes[i].boards);
	}
	free(world->nodes);
	free(world->ends);
	free(world->connections);
	free(world->agenda.heap);
	sim_fabric_forget(world->fabric);
	free(world->faults.journal);
}
