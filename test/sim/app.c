/* app.c - posting and polling */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rc/codes.h"
#include "sim/actor.h"
#include "sim/app.h"
#include "sim/model.h"
#include "sim/trace.h"
#include "operations.h"

#define INLINE_LIMIT 128u

uint32_t sim_app_slot_bytes(const struct sim_world *world)
{
	return world->config.mtu * world->config.max_packets + 128;
}

static uint32_t largest_message(const struct sim_world *world)
{
	return world->config.mtu * world->config.max_packets;
}

bool sim_app_is_done(const struct sim_end *end)
{
	return end->quota == 0 && (end->over || end->completed == end->posted);
}

void sim_app_failed(struct sim_world *world, struct sim_end *end)
{
	struct sim_random random = random_stream(world->options->seed, STREAM_CONNECT, end->index << 16 | end->life);
	struct sim_connection *connection = world_connection(world, end);
	uint64_t delay = random_below(&random, 4 * rc_codes_timeout_ns(world->config.timeout));

	sim_world_trouble(world, end, 1000);
	if (connection->closing)
		return;
	connection->closing = true;
	sim_agenda_add(&world->agenda, (struct sim_due){
					       .when_ns = world->now_ns + delay,
					       .kind = DUE_CLOSE,
					       .whom = end->index / 2,
				       });
}

/* ---- receives ---- */

void sim_app_receive_back(struct sim_end *end, uint32_t index, uint64_t free_ns)
{
	for (uint32_t i = 0; i < SIM_RECEIVES_MAX; i++) {
		struct sim_receive *item = &end->receives->items[i];

		if (item->busy && item->index == index) {
			item->busy = false;
			item->free_ns = free_ns;
		}
	}
}

static void fill_sges(const struct sim_world *world, const struct sim_region *region, const struct sim_buffer *buffer,
		      struct uroce_sge *sges)
{
	for (uint32_t i = 0; i < buffer->count; i++)
		sges[i] = (struct uroce_sge){
			.addr = region_va(world, region, buffer->at[i]),
			.length = buffer->bytes[i],
			.lkey = region->told,
		};
}

static void post_receive(struct sim_world *world, struct sim_end *end, struct sim_receive *item)
{
	struct sim_receives *receives = end->receives;
	struct uroce_sge sges[MEMORY_PIECES];
	struct uroce_recv_wr wr = { .sg_list = sges, .num_sge = item->buffer.count };
	int result;

	wr.wr_id = (receives == &end->own ? (uint64_t)end->life << 40 : 0) | receives->posted;
	fill_sges(world, &receives->region, &item->buffer, sges);
	item->index = receives->posted;
	item->busy = true;
	receives->posted++;
	if (receives == &end->own)
		result = rc_qp_post_recv(end->qp, &wr);
	else
		result = rc_srq_post(world->nodes[end->node].srq, &wr);
	if (result != 0)
		sim_world_fail(world, "QP %u: receive %u is refused: %d", end->index, item->index, result);
	if (atomic_load_explicit(&end->qp->win.post_wakes, memory_order_relaxed))
		sim_world_wake(world, end, world->config.poll_ns);
}

/* What a failed end has given back, others may post. */
void sim_app_share_receives(struct sim_world *world, const struct sim_end *end)
{
	for (uint32_t i = 0; end->receives != &end->own && i < world->config.connections * 2; i++) {
		struct sim_end *other = &world->ends[i];

		if (other->node == end->node && other->qp && !other->failed)
			sim_world_wake_app(world, other, world->config.app_ns);
	}
}

static void arm_limit(struct sim_world *world, const struct sim_end *end)
{
	struct sim_node *node = &world->nodes[end->node];

	if (node->limit_armed || world->config.srq_limit == 0)
		return;
	node->limit_armed = true;
	rc_srq_arm(node->srq, world->config.srq_limit);
}

static void post_receives(struct sim_world *world, struct sim_end *end)
{
	struct sim_receives *receives = end->receives;
	uint64_t wait = UINT64_MAX;
	uint32_t busy = 0;

	for (uint32_t i = 0; i < SIM_RECEIVES_MAX; i++)
		busy += receives->items[i].busy;
	for (uint32_t i = 0; i < SIM_RECEIVES_MAX && busy < world->config.receives; i++) {
		/* An own queue is used up in order, and so are its buffers. */
		struct sim_receive *item =
			&receives->items[receives == &end->own ? receives->posted % SIM_RECEIVES_MAX : i];

		if (item->busy)
			continue;
		if (item->free_ns > world->now_ns) {
			if (item->free_ns - world->now_ns < wait)
				wait = item->free_ns - world->now_ns;
			continue;
		}
		post_receive(world, end, item);
		busy++;
	}
	if (wait != UINT64_MAX)
		sim_world_wake_app(world, end, wait);
	if (receives != &end->own)
		arm_limit(world, end);
}

/* ---- requests ---- */

/* Pieces with gaps between them, from `at` on. */
static struct sim_buffer cut_pieces(struct sim_random *random, uint64_t at, uint32_t bytes, uint32_t pieces)
{
	struct sim_buffer buffer = { .count = 0 };

	for (uint32_t left = bytes; left > 0; buffer.count++) {
		uint32_t piece = left;

		if (buffer.count + 1 < pieces)
			piece = (uint32_t)random_between(random, 1, left);
		buffer.at[buffer.count] = at;
		buffer.bytes[buffer.count] = piece;
		at += piece + 8;
		left -= piece;
	}
	return buffer;
}

static uint8_t draw_opcode(const struct sim_world *world, struct sim_random *random)
{
	uint32_t sum = 0, chosen;

	for (uint32_t i = 0; i < OPERATIONS; i++)
		sum += world->config.weights[operations[i]];
	chosen = (uint32_t)random_below(random, sum);
	for (uint32_t i = 0; i < OPERATIONS; i++) {
		if (chosen < world->config.weights[operations[i]])
			return operations[i];
		chosen -= world->config.weights[operations[i]];
	}
	return UROCE_WR_RDMA_WRITE;
}

static uint32_t draw_bytes(const struct sim_world *world, const struct sim_end *end, struct sim_random *random)
{
	uint32_t mtu = world->config.mtu, largest = largest_message(world);
	uint32_t packets = (uint32_t)random_between(random, 1, world->config.max_packets);
	uint32_t within = (uint32_t)random_below(random, mtu);

	if (world->options->steady)
		return end->steady_bytes;
	switch (random_below(random, 8)) {
	case 0:
		return (uint32_t)random_below(random, 3); /* nothing, or nearly */
	case 1:
		return packets * mtu;
	case 2:
		return packets * mtu - 1;
	case 3:
		return packets * mtu + 1 > largest ? largest : packets * mtu + 1;
	case 4:
		return within < INLINE_LIMIT ? within : INLINE_LIMIT;
	default:
		return (packets - 1) * mtu + within;
	}
}

/* What there is to bind or to invalidate decides which of the window's operations it becomes. */
static uint8_t settle_opcode(struct sim_world *world, struct sim_end *end, struct sim_random *random, uint8_t opcode)
{
	struct sim_end *peer = world_peer(world, end);
	bool to_peer = random_chance(random, 500000);

	if (opcode == UROCE_WR_BIND_MW || opcode == UROCE_WR_LOCAL_INV) {
		if (end->window_state == WINDOW_FREE && end->target.key) {
			end->window_is_peers = to_peer;
			return UROCE_WR_BIND_MW;
		}
		if (end->window_state == WINDOW_BOUND && !end->window_is_peers)
			return UROCE_WR_LOCAL_INV;
		return UROCE_WR_RDMA_WRITE;
	}
	if (opcode == UROCE_WR_SEND && peer->window_state == WINDOW_BOUND && peer->window_is_peers) {
		peer->window_state = WINDOW_LEAVING;
		return UROCE_WR_SEND_WITH_INV;
	}
	return opcode;
}

/* Does an unanswered READ look at the part of the peer's memory that is about to change? */
static bool is_being_read(const struct sim_end *end, const struct sim_message *changing)
{
	for (uint32_t i = end->model.una_message; i < end->posted; i++) {
		const struct sim_message *message = &end->messages[i];

		if (message->opcode == UROCE_WR_RDMA_READ &&
		    message->remote_at < changing->remote_at + changing->bytes &&
		    changing->remote_at < message->remote_at + message->bytes)
			return true;
	}
	return false;
}

/* The window is the region's, and under its own key. */
static bool fits_window(const struct sim_end *peer, const struct sim_message *message)
{
	return peer->window_is_peers && peer->window_state == WINDOW_BOUND && message->imm & 16 &&
	       (message->opcode == UROCE_WR_RDMA_WRITE || message->opcode == UROCE_WR_RDMA_WRITE_WITH_IMM ||
		message->opcode == UROCE_WR_RDMA_READ);
}

/* One that does not exist, or that of another QP's memory, of another protection domain. */
static void take_wrong_key(const struct sim_world *world, const struct sim_end *peer, struct sim_message *message)
{
	message->rkey ^= 0x80;
	for (uint32_t i = 0; message->imm & 2 && i < world->config.connections * 2; i++) {
		const struct sim_end *other = &world->ends[i];

		if (other->node != peer->node || other->pd == peer->pd || other->target.key == 0)
			continue;
		message->rkey = other->target.key;
		message->remote_va = region_va(world, &other->target, other->target.at + 64);
	}
}

/* Where in the peer's memory, and under which key. */
static void draw_remote(const struct sim_world *world, const struct sim_end *end, struct sim_random *random,
			struct sim_message *message)
{
	const struct sim_end *peer = world_peer(world, end);
	bool atomic = sim_ops[message->opcode].words;
	const struct sim_region *region = atomic ? &peer->words : &peer->target;
	uint32_t slot = (uint32_t)random_below(random, world_targets(world));
	uint32_t offset = (uint32_t)random_below(random, 64) & ~7u;

	if (atomic)
		message->remote_at = region->at + random_below(random, SIM_WORDS) * 8;
	else
		message->remote_at = region->at + slot * sim_app_slot_bytes(world) + offset;
	message->rkey = region->told;
	message->remote_va = region_va(world, region, message->remote_at);
	if (message->windowed)
		message->rkey = peer->window_key;
	if (message->bad == BAD_RKEY)
		take_wrong_key(world, peer, message);
	if (message->bad == BAD_RANGE) /* its last byte lies behind the region */
		message->remote_va = region_va(world, region, region->at) + region->bytes - message->bytes + 8;
}

/* Of a slot, of everything, of the whole region by name. */
static void draw_flush(const struct sim_world *world, const struct sim_end *end, struct sim_message *message)
{
	const struct sim_region *target = &world_peer(world, end)->target;

	message->flush = 1 + message->imm % 3;
	if (message->imm & 4) {
		message->remote_at = target->at;
		message->remote_va = region_va(world, target, target->at);
		message->bytes = target->bytes;
	} else if (message->imm & 8) {
		message->flush |= UROCE_FLUSH_WHOLE_REGION;
	}
}

static bool draw_landing(const struct sim_world *world, struct sim_end *end, struct sim_random *random,
			 struct sim_message *message)
{
	uint32_t pieces =
		message->opcode == UROCE_WR_RDMA_READ ? (uint32_t)random_between(random, 1, MEMORY_PIECES) : 1;

	message->landing = 0;
	while (message->landing < world_landings(world) && (end->landing_used >> message->landing & 1))
		message->landing++;
	if (message->landing == world_landings(world))
		return false;
	message->buffer = cut_pieces(random, end->landing.at + message->landing * sim_app_slot_bytes(world),
				     message->bytes, pieces);
	return true;
}

static void draw_source(const struct sim_world *world, const struct sim_end *end, struct sim_random *random,
			struct sim_message *message)
{
	uint32_t pieces = (uint32_t)random_between(random, 1, MEMORY_PIECES);
	uint32_t room = world_sources(world) * sim_app_slot_bytes(world) - message->bytes - 64;
	bool whole = sim_ops[message->opcode].eight;

	message->landing = SIM_NONE;
	message->buffer =
		cut_pieces(random, end->source.at + random_below(random, room), message->bytes, whole ? 1 : pieces);
	if (message->bytes > 0 && message->bytes <= INLINE_LIMIT && message->bad == BAD_NOT &&
	    random_chance(random, world->config.inlined))
		message->flags |= UROCE_SEND_INLINE;
}

static enum sim_bad draw_bad(struct sim_world *world, struct sim_end *end, struct sim_random *random,
			     struct sim_message *message)
{
	uint64_t number = (uint64_t)end->index << 40 | (uint64_t)end->life << 32 | end->posted;
	uint64_t kind = random_below(random, 3);
	bool chosen = random_chance(random, world->config.rates[FAULT_BAD_WR]);

	if (!chosen || message->bytes == 0 || message->opcode == UROCE_WR_FLUSH || message->local ||
	    !sim_fault_happens(&world->faults, FAULT_BAD_WR, number, world->now_ns))
		return BAD_NOT;
	sim_trace_fault(world, end, FAULT_BAD_WR);
	if (!message_is_send(message))
		return (enum sim_bad)(BAD_RKEY + kind);
	if (kind == 0)
		return BAD_LKEY;
	if (kind == 1) { /* longer than any receive */
		message->bytes = largest_message(world) + 65;
		return BAD_LENGTH;
	}
	if (message->opcode == UROCE_WR_SEND)
		message->opcode = UROCE_WR_SEND_WITH_INV;
	return message->opcode == UROCE_WR_SEND_WITH_INV ? BAD_RKEY : BAD_LKEY;
}

/* The next request. false: it needs a buffer that is not free yet. */
static bool draw_message(struct sim_world *world, struct sim_end *end, struct sim_random *random,
			 struct sim_message *message)
{
	bool single, signaled, fenced;

	message->opcode = draw_opcode(world, random);
	message->bytes = draw_bytes(world, end, random);
	signaled = random_chance(random, world->config.signaled);
	fenced = random_chance(random, world->config.fenced);
	message->imm = (uint32_t)random_next(random);
	message->compare_add = random_below(random, 4);
	message->swap = random_below(random, 4);
	single = sim_ops[message->opcode].eight;
	if (single)
		message->bytes = 8;
	if (sim_ops[message->opcode].lands && world_landings_left(world, end) == 0)
		return false;
	message->opcode = settle_opcode(world, end, random, message->opcode);
	message->local = sim_ops[message->opcode].kind == WIRE_KIND_RESERVED;
	if (message->local)
		message->bytes = 0;
	message->bad = (uint8_t)draw_bad(world, end, random, message);
	/* A READ under the key has to be answered before the key goes. */
	fenced |= message->opcode == UROCE_WR_SEND_WITH_INV;
	message->windowed = fits_window(world_peer(world, end), message);
	message->flags = (fenced ? UROCE_SEND_FENCE : 0) | (message->imm & 1 ? UROCE_SEND_SOLICITED : 0);
	draw_remote(world, end, random, message);
	if (message->opcode == UROCE_WR_FLUSH || message->local)
		message->landing = SIM_NONE;
	else if (sim_ops[message->opcode].lands)
		draw_landing(world, end, random, message);
	else
		draw_source(world, end, random, message);
	if (message->opcode == UROCE_WR_FLUSH)
		draw_flush(world, end, message);
	if (message->opcode != UROCE_WR_RDMA_READ && !message_is_send(message) && is_being_read(end, message))
		message->flags |= UROCE_SEND_FENCE;
	/* A queue full of requests that ask for no completion would never get free again, nor would their buffers. */
	signaled |= message->landing != SIM_NONE && world_landings_left(world, end) == 1;
	signaled |= end->quota == 1 || message->local || (end->posted + 1) % (world->config.depth / 2 + 1) == 0;
	message->flags |= signaled ? UROCE_SEND_SIGNALED : 0;
	message->signaled = signaled || world->config.signal_all;
	return true;
}

static int post_window(struct sim_world *world, struct sim_end *end, const struct sim_message *message,
		       struct uroce_send_wr *wr)
{
	struct rc_mr_bind bind = {
		.va = region_va(world, &end->target, end->target.at),
		.bytes = end->target.bytes,
		.region_key = end->target.key,
		.access = UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_READ,
	};

	(void)message;
	if (wr->opcode == UROCE_WR_LOCAL_INV) {
		wr->rkey = end->window_key;
		end->window_state = WINDOW_LEAVING;
		return rc_qp_post_send(end->qp, wr);
	}
	bind.key = (end->window_key & ~0xFFu) | ((end->window_key + 1) & 0xFF);
	end->window_key = bind.key;
	end->window_state = WINDOW_BINDING;
	return rc_qp_post_bind(end->qp, wr, &bind);
}

/* Hands the request to the QP. What is inline may change at once, and does. */
static int hand_over(struct sim_world *world, struct sim_end *end, struct sim_message *message)
{
	struct uroce_sge sges[MEMORY_PIECES];
	uint8_t scratch[INLINE_LIMIT];
	const struct sim_region *region = message->landing == SIM_NONE ? &end->source : &end->landing;
	struct uroce_send_wr wr = {
		.wr_id = (uint64_t)end->life << 40 | end->posted,
		.opcode = (enum uroce_wr_opcode)message->opcode,
		.send_flags = message->flags,
		.sg_list = sges,
		.num_sge = message->buffer.count,
		.imm_data = htonl(message->imm),
		.remote_addr = message->remote_va,
		.rkey = message->rkey,
		.compare_add = message->compare_add,
		.swap = message->swap,
	};
	int result;

	if (message->local)
		return post_window(world, end, message, &wr);
	fill_sges(world, region, &message->buffer, sges);
	if (message->bad == BAD_LKEY)
		sges[message->buffer.count - 1].lkey ^= 0x80;
	if (message->opcode == UROCE_WR_FLUSH) {
		wr.flush = message->flush;
		wr.flush_bytes = message->bytes;
	}
	if (message->flags & UROCE_SEND_INLINE) {
		sim_memory_gather(world->memory, &message->buffer, 0, scratch, message->bytes);
		message->data = malloc(message->bytes);
		memcpy(message->data, scratch, message->bytes);
		sges[0] = (struct uroce_sge){ .addr = (uintptr_t)scratch, .length = message->bytes };
		wr.num_sge = 1;
	}
	result = rc_qp_post_send(end->qp, &wr);
	memset(scratch, 0xEE, sizeof(scratch));
	return result;
}

static struct sim_message *new_message(struct sim_end *end)
{
	if (end->posted == end->room) {
		end->room = end->room ? end->room * 2 : 64;
		end->messages = realloc(end->messages, end->room * sizeof(*end->messages));
	}
	end->messages[end->posted] = (struct sim_message){ 0 };
	return &end->messages[end->posted];
}

/* false: not now. */
static bool post_request(struct sim_world *world, struct sim_end *end)
{
	struct sim_random random = random_stream(world->options->seed, STREAM_REQUEST,
						 (uint64_t)end->index << 40 | (uint64_t)end->life << 32 | end->posted);
	struct sim_message *message = new_message(end);
	int result;

	if (end->posted - end->completed >= world->config.depth) { /* TC-E-22 */
		struct uroce_send_wr wr = { .opcode = UROCE_WR_RDMA_WRITE };

		if (rc_qp_post_send(end->qp, &wr) != -ENOMEM)
			sim_world_fail(world, "QP %u: a full queue takes a request", end->index);
		return false;
	}
	if (!draw_message(world, end, &random, message))
		return false;
	if (message->opcode == UROCE_WR_SEND_WITH_INV && message->bad != BAD_RKEY)
		message->rkey = world_peer(world, end)->window_key;
	message->packets = message->bytes > world->config.mtu && message->opcode != UROCE_WR_FLUSH ?
				   (message->bytes + world->config.mtu - 1) / world->config.mtu :
				   1;
	result = hand_over(world, end, message);
	if (result != 0)
		sim_world_fail(world, "QP %u: request %u (opcode %u) is refused: %d", end->index, end->posted,
			       message->opcode, result);
	if (message->landing != SIM_NONE)
		end->landing_used |= 1u << message->landing;
	message->first = end->next_psn;
	end->next_psn += message->local ? 0 : message->packets;
	sim_world_note(world, end->index, 0xA0 + message->opcode, message->bytes);
	sim_trace_say(world, end, "++ request %u opcode %u, %u bytes, flags %#x%s", end->posted, message->opcode,
		      message->bytes, message->flags, message->bad ? ", faulty" : "");
	end->posted++;
	end->quota--;
	end->post_ns = world->now_ns;
	world->posted++;
	return true;
}

static void rest(struct sim_world *world, struct sim_end *end, uint64_t ns)
{
	end->rest_until_ns = world->now_ns + ns;
	sim_agenda_add(&world->agenda, (struct sim_due){
					       .when_ns = end->rest_until_ns,
					       .kind = DUE_APP,
					       .whom = end->index,
					       .life = end->life,
				       });
}

static void post_requests(struct sim_world *world, struct sim_end *end)
{
	struct sim_random random =
		random_stream(world->options->seed, STREAM_APP, (uint64_t)end->index << 32 | world->posted);
	uint64_t count = random_between(&random, 1, world->config.post_batch);
	bool more = true;

	while (more && count > 0 && end->quota > 0 && end->qp && !end->failed && !world->failed) {
		more = post_request(world, end);
		count--;
		if (more)
			sim_actor_run(world, end);
	}
	if (world->posted >= world->config.stop_after)
		sim_world_stop_faults(world);
	if (end->qp == NULL)
		return;
	sim_world_wake(world, end, world->config.poll_ns);
	if (more && end->quota > 0 && world->config.rest_ns)
		rest(world, end, random_below(&random, 2 * world->config.rest_ns));
	else if (more && end->quota > 0)
		sim_world_wake_app(world, end, world->config.app_ns);
}

/* ---- polling ---- */

static void poll_request(struct sim_end *end, const struct uroce_wc *wc)
{
	uint32_t index = (uint32_t)wc->wr_id;

	/* Those that asked for no completion are done as well. */
	for (; end->retired <= index && end->retired < end->posted; end->retired++) {
		if (end->messages[end->retired].landing != SIM_NONE)
			end->landing_used &= ~(1u << end->messages[end->retired].landing);
	}
	if (wc->status != UROCE_WC_SUCCESS || index >= end->posted || !end->messages[index].local)
		return;
	end->window_valid = end->messages[index].opcode == UROCE_WR_BIND_MW;
	end->window_state = end->window_valid ? WINDOW_BOUND : WINDOW_FREE;
}

static void poll(struct sim_world *world, struct sim_end *end)
{
	for (uint32_t i = 0; i < world->config.poll_batch && end->cq_head != end->cq_tail; i++) {
		const struct uroce_wc *wc = &end->cq[end->cq_head++ % SIM_CQ_ENTRIES];

		if (!(wc->opcode & UROCE_WC_RECV)) {
			poll_request(end, wc);
			continue;
		}
		sim_app_receive_back(end, (uint32_t)wc->wr_id, world->now_ns + world->config.receive_delay_ns);
		if (wc->status == UROCE_WC_SUCCESS && (wc->wc_flags & UROCE_WC_WITH_INV))
			end->window_state = WINDOW_FREE;
	}
	if (end->cq_head != end->cq_tail)
		sim_world_wake_app(world, end, world->config.app_ns);
}

void sim_app_run(struct sim_world *world, struct sim_end *end)
{
	uint8_t state = end->qp->state;

	poll(world, end);
	sim_actor_follow(world, end);
	if (end->failed)
		sim_app_share_receives(world, end);
	if (end->failed || end->qp == NULL)
		return;
	post_receives(world, end);
	/* Who does not poll may not post: a CQ has its limits. */
	if ((state == UROCE_QPS_RTS || state == UROCE_QPS_SQD) && end->cq_tail - end->cq_head <= SIM_CQ_ENTRIES / 2 &&
	    world->now_ns >= end->rest_until_ns)
		post_requests(world, end);
}
