/* queue.c - a queue of a host: its QP and its receives, from the request to connect until it is freed */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmet/queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <uroce/inspect.h>

#include "nvmet/data.h"

#define READS_MAX 16u /* READs of ours outstanding */
#define CAPSULE_ALIGNED 64u
#define PATIENCE_NS 10000000000ull /* how long a host may take no answer, or not say who it is */
/*
 * A host need not set a keep-alive time of NVMe (KATO 0). The target sends nothing by itself, so only the keep-alive of
 * the connection shows that such a host has lost its power. A host that is silent for this time is probed; retries take
 * further time. An idle queue costs one packet in that time, and a healthy host never loses its queue by the probe.
 */
#define KEEPALIVE_MS 10000u

/* ---- posting ---- */

uint8_t *queue_capsule(const struct queue *queue, uint32_t capsule)
{
	return queue->capsules + (size_t)capsule * queue->capsule_room;
}

void queue_post_receive(struct queue *queue, uint32_t capsule)
{
	struct uroce_sge sge = { (uintptr_t)queue_capsule(queue, capsule), queue->capsule_room, queue->lkey };
	struct uroce_recv_wr wr = { .wr_id = slot_wr_id(capsule, WORK_RECEIVE), .sg_list = &sge, .num_sge = 1 };

	if (!queue->ending && uroce_qp_post_recv(queue->qp, &wr, NULL) == 0)
		queue->receives++;
}

void queue_post(struct queue *queue, const struct uroce_send_wr *wr, uint32_t count)
{
	if (queue->ending || uroce_qp_post_send(queue->qp, wr, NULL) != 0)
		/* posting fails only on a failed connection, because the queues have room for every request */
		queue_end(queue, "the connection failed");
	else if ((queue->sends += count) == count)
		queue->moved_ns = queue->lane->awake_ns;
}

/* ---- opening and closing ---- */

void queue_tell_connect(const struct queue *queue, const struct nvmf_command *command, const uint8_t *data)
{
	const struct nvmf_controller *controller = queue->nvmf.controller;
	struct lane *lane = queue->lane;
	char peer[64], host[NVME_NQN_BYTES] = "a host", subsystem[NVME_NQN_BYTES] = "its connect data";

	uroce_addr_format(&queue->peer->addr, peer, sizeof(peer));
	if (data && command->data_bytes == NVME_CONNECT_BYTES) {
		journal_name((const char *)data + 512, host, sizeof(host));
		journal_name((const char *)data + 256, subsystem, sizeof(subsystem));
	}
	if (command->status == NVME_OK && queue->nvmf.qid == 0) {
		lane_count(&lane->counts.hosts_come, 1);
		journal_tell(&lane->server->journal, lane->now_ns, "host %s at %s connected to controller %u of %s",
			     host, peer, controller ? controller->cntlid : 0, subsystem);
	} else if (command->status != NVME_OK) {
		lane_count(&lane->counts.hosts_refused, 1);
		journal_tell(&lane->server->journal, lane->now_ns,
			     "refused host %s (address %s), queue %u of subsystem %s: %s", host, peer, queue->nvmf.qid,
			     subsystem, nvmf_connect_text(command->status, command->result));
	}
}

static void refuse(struct lane *lane, const struct uroce_cm_event *event, enum nvmf_refusal refusal)
{
	uint8_t data[NVMF_REFUSAL_BYTES];
	char peer[64];

	lane_count(&lane->counts.refused_queues, 1);
	journal_tell(&lane->server->journal, lane->now_ns, "refused a queue to a host at %s: %s",
		     uroce_addr_format(&event->peer, peer, sizeof(peer)), nvmf_refusal_text(refusal));
	nvmf_hello_refuse(refusal, data);
	uroce_cm_reject(event->id, data, sizeof(data));
	uroce_cm_id_destroy(event->id);
}

static void give_shares(struct queue *queue)
{
	struct peer *peer = queue->peer;

	share_give(&queue->lane->ports[queue->port_index].entries, &peer->entries[queue->port_index], queue->entries);
	peer_leave(queue->lane, peer);
}

static void free_queue(struct queue *queue)
{
	if (queue->qp)
		uroce_qp_destroy(queue->qp);
	if (queue->mr)
		uroce_mr_dereg(queue->mr);
	if (queue->peer)
		give_shares(queue);
	if (queue->capsules)
		munmap(queue->capsules, (size_t)queue->capsule_count * queue->capsule_room);
	free(queue->slots);
	free(queue->pending);
	free(queue);
}

static int make_slots(struct queue *queue)
{
	size_t bytes = (size_t)queue->capsule_count * queue->capsule_room;

	queue->slots = calloc(queue->slot_count, sizeof(*queue->slots));
	queue->capsules = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (queue->capsules == MAP_FAILED)
		queue->capsules = NULL;
	queue->pending = calloc(queue->capsule_count, sizeof(*queue->pending));
	if (queue->slots == NULL || queue->capsules == NULL || queue->pending == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < queue->slot_count; i++) {
		queue->slots[i].queue = queue;
		queue->slots[i].next = queue->free_slots;
		queue->free_slots = &queue->slots[i];
	}
	return uroce_mr_reg(queue->port->pd, queue->capsules, bytes, UROCE_ACCESS_LOCAL_WRITE, &queue->mr);
}

static int make_qp(struct queue *queue)
{
	struct uroce_qp_init_attr init = {
		.send_cq = queue->lane->ports[queue->port_index].cq,
		.recv_cq = queue->lane->ports[queue->port_index].cq,
		.qp_context = (uintptr_t)queue,
		.max_send_wr = 2 * queue->slot_count,
		.max_recv_wr = queue->capsule_count,
		.max_send_sge = 1,
		.max_recv_sge = 1,
		.max_inline_data = NVME_CQE_BYTES,
	};

	return uroce_cm_qp_create(queue->id, queue->port->pd, &init, 0, &queue->qp);
}

static void link_in(struct queue *queue)
{
	struct lane *lane = queue->lane;

	nvmf_target_lock(&lane->server->target);
	LIST_INSERT_HEAD(&lane->queues, queue, next);
	nvmf_target_unlock(&lane->server->target);
	lane->queue_count++;
	lane_count(&lane->counts.queues, 1);
}

static struct server_port *port_of(struct server *server, const struct uroce_cm_event *event)
{
	for (uint32_t i = 0; i < server->port_count; i++) {
		if (server->ports[i].port->device == uroce_cm_device(event->id))
			return &server->ports[i];
	}
	return NULL;
}

/*
 * Returns two slots for each command: while every command has a new answer under way, as many older answers may still
 * wait for their ACKs.
 */
static uint32_t slots_of(const struct nvmf_hello *hello)
{
	return 2 * hello->commands;
}

static uint32_t completions_of(const struct nvmf_hello *hello)
{
	return hello->commands + 2 * slots_of(hello);
}

/*
 * Takes a place for the queue and its CQ entries, from the shares of its host's address. The host has not named itself
 * yet: without shares a stranger could take all of them by requests to connect. Returns false if it may not have them.
 */
static bool take_shares(struct queue *queue, const struct uroce_addr *addr, uint32_t entries)
{
	struct lane_port *port = &queue->lane->ports[queue->port_index];

	queue->peer = peer_enter(queue->lane, addr);
	if (queue->peer == NULL || port->cq == NULL ||
	    !share_take(&port->entries, &queue->peer->entries[queue->port_index], entries))
		return false;
	queue->entries = entries;
	return true;
}

static struct queue *make_queue(struct lane *lane, const struct uroce_cm_event *event, const struct nvmf_hello *hello)
{
	struct queue *queue = calloc(1, sizeof(*queue));
	struct server *server = lane->server;

	if (queue == NULL)
		return NULL;
	queue->lane = lane;
	STAILQ_INIT(&queue->waiting);
	queue->port = port_of(server, event);
	queue->port_index = (uint32_t)(queue->port - server->ports);
	queue->id = event->id;
	queue->opened_ns = lane->awake_ns;
	queue->path_mtu = event->path_mtu;
	queue->capsule_count = hello->commands;
	queue->slot_count = slots_of(hello);
	queue->capsule_room = NVME_SQE_BYTES + (hello->qid ? server->target.config.in_capsule_bytes : 0);
	queue->capsule_room = (queue->capsule_room + CAPSULE_ALIGNED - 1) / CAPSULE_ALIGNED * CAPSULE_ALIGNED;
	queue->nvmf.context = queue;
	queue->nvmf.thread = lane->index;
	memcpy(queue->nvmf.peer, event->peer.bytes, sizeof(queue->nvmf.peer));
	queue->nvmf.port_id = (uint16_t)(queue->port_index + 1);
	nvmf_queue_open(&queue->nvmf, &server->target, hello);
	if (take_shares(queue, &event->peer, completions_of(hello)) && make_slots(queue) == 0 && make_qp(queue) == 0) {
		queue->lkey = uroce_mr_lkey(queue->mr);
		return queue;
	}
	free_queue(queue);
	return NULL;
}

static enum nvmf_refusal judge(const struct server *server, const struct uroce_cm_event *event,
			       struct nvmf_hello *hello)
{
	enum nvmf_refusal refusal = nvmf_hello_parse(event->private_data, event->private_bytes, hello);

	if (refusal != NVMF_REFUSAL_NONE)
		return refusal;
	if (hello->qid > server->target.config.io_queues)
		return NVMF_REFUSAL_QID;
	if (hello->commands > server->target.config.queue_depth)
		return NVMF_REFUSAL_SEND_SIZE;
	if (event->peer_responder == 0)
		return NVMF_REFUSAL_READS;
	return server->ending ? NVMF_REFUSAL_RESOURCES : NVMF_REFUSAL_NONE;
}

void queue_open(struct lane *lane, const struct uroce_cm_event *event)
{
	uint8_t words[NVMF_HELLO_BYTES];
	struct uroce_cm_options options = { .private_data = words,
					    .private_bytes = sizeof(words),
					    .max_rd_atomic = READS_MAX,
					    .keepalive_ms = KEEPALIVE_MS };
	struct server *server = lane->server;
	struct nvmf_hello hello;
	enum nvmf_refusal refusal = judge(server, event, &hello);
	struct queue *queue = NULL;

	if (refusal == NVMF_REFUSAL_NONE)
		queue = make_queue(lane, event, &hello);
	if (queue == NULL) {
		refuse(lane, event, refusal ? refusal : NVMF_REFUSAL_RESOURCES);
		return;
	}
	uroce_cm_set_context(queue->id, (uintptr_t)queue);
	link_in(queue);
	for (uint32_t i = 0; i < queue->capsule_count; i++)
		queue_post_receive(queue, i);
	nvmf_hello_accept(hello.commands, words);
	if (uroce_cm_accept(queue->id, &options) != 0)
		queue_end(queue, "it has left");
}

/*
 * Prints that a queue has ended. The end of an admin queue is printed as the end of its host: the host's other queues
 * are then asked to end, and nothing is printed about them. The end of another queue is printed if its own connection
 * has broken, or if it never had a host.
 */
static void tell_end(const struct queue *queue, const char *why)
{
	const struct nvmf_controller *controller = queue->nvmf.controller;
	struct lane *lane = queue->lane;
	char peer[64], host[NVME_NQN_BYTES];

	uroce_addr_format(&queue->peer->addr, peer, sizeof(peer));
	if (controller && queue->nvmf.qid == 0) {
		lane_count(&lane->counts.hosts_gone, 1);
		journal_tell(&lane->server->journal, lane->now_ns,
			     "host %s at %s disconnected from controller %u of %s: %s",
			     journal_name(controller->host_nqn, host, sizeof(host)), peer, controller->cntlid,
			     controller->subsystem ? controller->subsystem->nqn : "discovery", why);
	} else if (controller == NULL) {
		journal_tell(&lane->server->journal, lane->now_ns, "closed queue %u of a host at %s: %s",
			     queue->nvmf.qid, peer, why);
	} else if (!queue->told_end || queue->failed) {
		journal_tell(&lane->server->journal, lane->now_ns, "closed queue %u of host %s at %s: %s",
			     queue->nvmf.qid, journal_name(controller->host_nqn, host, sizeof(host)), peer, why);
	}
}

void queue_tell_end(struct queue *queue, const char *why)
{
	queue->told_end = why;
	queue->lane->told = true;
}

void queue_end_told(struct lane *lane)
{
	struct queue *queue;

	lane->told = false;
	LIST_FOREACH(queue, &lane->queues, next) {
		if (queue->told_end)
			queue_end(queue, "disconnected by request");
	}
}

/*
 * Asks the other queues of a controller to end, before the controller stops being ready: a command that these queues
 * refuse then gets no answer (answer() in slot.c).
 */
static void tell_others(const struct nvmf_controller *controller, const char *why)
{
	for (uint32_t i = 1; i < NVMF_QUEUES_MAX; i++) {
		if (controller->queues[i])
			queue_tell_end(controller->queues[i]->context, why);
	}
}

void queue_tell_io_queues(struct queue *admin, const char *why)
{
	struct nvmf_target *target = &admin->lane->server->target;

	nvmf_target_lock(target);
	tell_others(admin->nvmf.controller, why);
	nvmf_target_unlock(target);
}

/*
 * Ends a queue: prints the sentence, and passes `why`, a static text, to the host's other queues. Posted receives and
 * sends complete first. An admin queue leaves its controller at once, an I/O queue in
 * queue_close(), when neither the port nor a store works for it any more: until then a reset of the controller has not
 * ended.
 */
static void end(struct queue *queue, const char *why, const char *sentence)
{
	struct nvmf_target *target = &queue->lane->server->target;

	if (queue->ending)
		return;
	if (queue->told_end) /* the reason that was known first */
		why = sentence = queue->told_end;
	tell_end(queue, sentence);
	queue->ending = true;
	LIST_INSERT_HEAD(&queue->lane->ending_queues, queue, next_ending);
	if (uroce_cm_disconnect(queue->id) != 0) {
		struct uroce_qp_attr attr = { .qp_state = UROCE_QPS_ERR };

		uroce_qp_modify(queue->qp, &attr, UROCE_QP_STATE, NULL);
	}
	nvmf_target_lock(target);
	if (queue->nvmf.qid == 0 && queue->nvmf.controller)
		tell_others(queue->nvmf.controller, why);
	if (queue->nvmf.qid == 0)
		nvmf_queue_close(&queue->nvmf);
	nvmf_target_unlock(target);
}

void queue_end(struct queue *queue, const char *why)
{
	end(queue, why, why);
}

void queue_end_failed(struct queue *queue, const struct uroce_wc *wc)
{
	struct uroce_qp_view view = { .qp_num = wc->qp_num, .attr.qp_state = UROCE_QPS_ERR };
	char sentence[UROCE_EXPLAIN_BYTES];

	/* the completion may be that of a request that was only flushed */
	if (uroce_qp_last_error(queue->qp, &view.error) == 0 && view.error.status != UROCE_WC_SUCCESS)
		uroce_qp_explain(&view, sentence, sizeof(sentence));
	else
		uroce_wc_explain(wc, sentence, sizeof(sentence));
	end(queue, uroce_wc_status_name(wc->status), sentence);
}

void queue_look(struct lane *lane)
{
	struct queue *queue;

	LIST_FOREACH(queue, &lane->queues, next) {
		bool mute = queue->nvmf.controller == NULL && lane->awake_ns - queue->opened_ns > PATIENCE_NS;
		bool stuck = queue->sends && lane->awake_ns - queue->moved_ns > PATIENCE_NS;

		if (queue->ending || (!mute && !stuck))
			continue;
		lane_count(mute ? &lane->counts.mute_queues : &lane->counts.stuck_queues, 1);
		queue_end(queue, mute ? "the host completed no Connect command in time" :
					"the host posted no receives for responses");
	}
}

static bool is_done(const struct queue *queue)
{
	return queue->receives == 0 && queue->sends == 0 && queue->store_requests == 0 && !queue->in_waiting;
}

void queue_close_done(struct lane *lane)
{
	struct queue *next;

	for (struct queue *queue = LIST_FIRST(&lane->ending_queues); queue; queue = next) {
		next = LIST_NEXT(queue, next_ending);
		if (!is_done(queue))
			continue;
		LIST_REMOVE(queue, next_ending);
		queue_close(queue);
	}
}

static void link_out(struct queue *queue)
{
	struct lane *lane = queue->lane;

	nvmf_target_lock(&lane->server->target);
	LIST_REMOVE(queue, next);
	nvmf_target_unlock(&lane->server->target);
	lane->queue_count--;
}

void queue_close(struct queue *queue)
{
	pthread_mutex_t *events_lock = &queue->lane->server->events_lock;

	link_out(queue);
	nvmf_queue_close(&queue->nvmf);
	for (uint32_t i = 0; i < queue->slot_count; i++) {
		nvmf_command_forget(&queue->slots[i].command);
		data_return(&queue->slots[i]);
	}
	/* While this lock is held no lane handles an event of the queue, and after the destruction no event arrives. */
	pthread_mutex_lock(events_lock);
	uroce_cm_id_destroy(queue->id);
	pthread_mutex_unlock(events_lock);
	free_queue(queue);
}
