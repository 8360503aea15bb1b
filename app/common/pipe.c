/* pipe.c - sends a stream of bytes as SENDs over a connection by address */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/eal.h"
#include "common/names.h"
#include "common/objects.h"
#include "common/pipe.h"

#define CHUNK_BYTES 8192u
#define RECEIVES 32u
#define SENDS 8u
#define SLOTS (RECEIVES + SENDS)
#define SEND_S 10.0
#define PART_S 2.0
#define TRY_AGAIN_US 100000
#define WAIT_MS 1u        /* for messages */
#define EVENT_WAIT_MS 20u /* for events of the connection; a program looks as often whether it was interrupted */
#define KEEPALIVE_MS 1000u

/* Data that has been received and not been read, oldest first. */
struct arrival {
	uint32_t slot, bytes, taken;
};

struct app_pipe {
	struct app_pipe_config config;
	struct uroce_cm_channel *channel;
	struct uroce_cm_id *listener, *id;
	struct app_objects objects;
	uint8_t (*slots)[CHUNK_BYTES]; /* slots of receives first, then slots of sends */
	struct arrival arrivals[RECEIVES];
	uint32_t first, count; /* of the arrivals that wait */
	uint32_t sends[SENDS], free_sends;
	struct app_wait wait;
	bool closed;
};

static int check_pipe(const char *what, int error)
{
	return error ? app_complain(APP_EXIT_FAILURE, "%s of the connection by address: %s", what, strerror(-error)) :
		       APP_EXIT_OK;
}

static int post_receive(struct app_pipe *pipe, uint32_t slot)
{
	struct uroce_sge sge = { (uintptr_t)pipe->slots[slot], CHUNK_BYTES, uroce_mr_lkey(pipe->objects.mr) };
	struct uroce_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 };

	return uroce_qp_post_recv(uroce_cm_qp(pipe->id), &wr, NULL);
}

static void handle_completion(struct app_pipe *pipe, const struct uroce_wc *wc)
{
	uint32_t slot = (uint32_t)wc->wr_id;

	if (slot >= RECEIVES)
		pipe->sends[pipe->free_sends++] = slot;
	if (wc->status != UROCE_WC_SUCCESS)
		pipe->closed = true; /* an event tells why */
	else if (slot < RECEIVES)
		pipe->arrivals[(pipe->first + pipe->count++) % RECEIVES] = (struct arrival){ slot, wc->byte_len, 0 };
}

static void handle_completions(struct app_pipe *pipe)
{
	struct uroce_wc wc;

	while (uroce_cq_poll(pipe->objects.cq, 1, &wc) == 1)
		handle_completion(pipe, &wc);
}

/* For an established connection, any event means its end. */
static void poll_once(struct app_pipe *pipe, unsigned wait_ms)
{
	struct uroce_cm_event event;
	int error = wait_ms ? uroce_cm_wait(pipe->channel, wait_ms, &event) : uroce_cm_next(pipe->channel, &event);

	handle_completions(pipe);
	if (error)
		return;
	pipe->closed = true;
	if (event.type == UROCE_CM_DISCONNECTED && event.status)
		app_complain(APP_EXIT_FAILURE, "the connection to the peer failed: %s", strerror(-event.status));
}

/* ---- connecting ---- */

static int open_objects(struct app_pipe *pipe)
{
	struct app_objects_config config = {
		.device = pipe->config.port->device,
		.bytes = (size_t)SLOTS * CHUNK_BYTES,
		.completions = 2 * SLOTS,
	};

	for (uint32_t slot = RECEIVES; slot < SLOTS; slot++)
		pipe->sends[pipe->free_sends++] = slot;
	pipe->slots = malloc(config.bytes);
	if (pipe->slots == NULL)
		return check_pipe("memory", -ENOMEM);
	config.memory = pipe->slots;
	if (app_objects_open(&config, &pipe->objects) != APP_EXIT_OK)
		return APP_EXIT_FAILURE;
	return check_pipe("channel", uroce_cm_channel_create(pipe->config.engine, &pipe->channel));
}

static int open_qp(struct app_pipe *pipe, struct uroce_cm_id *id)
{
	struct uroce_qp_init_attr init = {
		.send_cq = pipe->objects.cq,
		.recv_cq = pipe->objects.cq,
		.max_send_wr = SENDS,
		.max_recv_wr = RECEIVES,
		.max_send_sge = 1,
		.max_recv_sge = 1,
	};
	struct uroce_qp *qp;
	int error = uroce_cm_qp_create(id, pipe->objects.pd, &init, 0, &qp);

	pipe->id = id;
	for (uint32_t slot = 0; slot < RECEIVES && error == 0; slot++)
		error = post_receive(pipe, slot);
	return check_pipe("queue pair", error);
}

static void close_id(struct app_pipe *pipe)
{
	struct uroce_qp *qp = pipe->id ? uroce_cm_qp(pipe->id) : NULL;
	struct uroce_wc wc;

	if (pipe->id)
		uroce_cm_id_destroy(pipe->id);
	if (qp)
		uroce_qp_destroy(qp);
	while (pipe->objects.cq && uroce_cq_poll(pipe->objects.cq, 1, &wc) == 1)
		;
	pipe->id = NULL;
}

static struct uroce_cm_options options_of(const struct app_pipe *pipe)
{
	return (struct uroce_cm_options){
		.timeout = pipe->config.timeout,
		.keepalive_ms = KEEPALIVE_MS,
		.flow_control = true,
	};
}

static void report_wait(struct app_pipe *pipe)
{
	if (pipe->config.host)
		app_wait_report(&pipe->wait, "a server at %s, port %u", pipe->config.host, pipe->config.service);
}

/*
 * Waits for an event of the id. Returns false if keep_waiting() ends the wait, or if no event arrives within `seconds`.
 */
static bool await(struct app_pipe *pipe, struct uroce_cm_event *event, double seconds, bool (*keep_waiting)(void))
{
	double end = app_now_seconds() + seconds;

	while (uroce_cm_wait(pipe->channel, EVENT_WAIT_MS, event) != 0) {
		report_wait(pipe);
		if ((keep_waiting && !keep_waiting()) || (seconds > 0 && app_now_seconds() > end))
			return false;
	}
	return true;
}

static int accept_one(struct app_pipe *pipe, void (*when_listening)(unsigned service), bool (*keep_waiting)(void))
{
	struct uroce_cm_options options = options_of(pipe);
	struct uroce_cm_event event = { .type = UROCE_CM_EVENT_TYPES };
	int error =
		uroce_cm_listen(pipe->channel, &pipe->config.port->addr, pipe->config.service, 1, 0, &pipe->listener);

	if (error)
		return app_complain(APP_EXIT_ENVIRONMENT, "cannot listen on port %u: %s; choose another port",
				    pipe->config.service, strerror(-error));
	if (when_listening)
		when_listening(pipe->config.service);
	while (event.type != UROCE_CM_ESTABLISHED) {
		if (!await(pipe, &event, 0, keep_waiting))
			return APP_EXIT_INTERRUPTED;
		if (event.type == UROCE_CM_CONNECT_REQUEST && pipe->id == NULL &&
		    (open_qp(pipe, event.id) != 0 || uroce_cm_accept(event.id, &options) != 0))
			close_id(pipe);
		else if (event.type == UROCE_CM_CONNECT_REQUEST && event.id != pipe->id)
			uroce_cm_id_destroy(event.id);
		else if (event.type != UROCE_CM_CONNECT_REQUEST && event.type != UROCE_CM_ESTABLISHED)
			close_id(pipe);
	}
	/* Further clients are refused. */
	uroce_cm_id_destroy(pipe->listener);
	pipe->listener = NULL;
	return APP_EXIT_OK;
}

static int dial(struct app_pipe *pipe, const struct uroce_addr *addr, struct uroce_cm_event *event,
		bool (*keep_waiting)(void))
{
	struct uroce_cm_options options = options_of(pipe);
	struct uroce_cm_id *id;
	int error = uroce_cm_id_create(pipe->channel, 0, &id);

	if (error || open_qp(pipe, id) != 0)
		return APP_EXIT_FAILURE;
	error = uroce_cm_connect(id, NULL, addr, pipe->config.service, &options);
	if (error)
		return app_complain(APP_EXIT_ENVIRONMENT, "HOST %s: %s%s", pipe->config.host, strerror(-error),
				    error == -ENETUNREACH ? ": HOST is outside the network of the local address" : "");
	if (!await(pipe, event, 0, keep_waiting))
		return APP_EXIT_INTERRUPTED;
	return APP_EXIT_OK;
}

static int connect_one(struct app_pipe *pipe, bool (*keep_waiting)(void))
{
	double end = app_now_seconds() + pipe->config.patience_s;
	struct uroce_cm_event event;
	struct uroce_addr addr;
	int code;

	if (uroce_addr_parse(pipe->config.host, &addr, NULL) != 0)
		return app_complain(APP_EXIT_USAGE, "HOST \"%s\": must be a RoCE address such as 10.0.0.1",
				    pipe->config.host);
	if (app_check_peer("HOST", &pipe->config.port->addr, &addr))
		return APP_EXIT_USAGE;
	for (;;) {
		code = dial(pipe, &addr, &event, keep_waiting);
		if (code || event.type == UROCE_CM_ESTABLISHED)
			return code;
		close_id(pipe);
		report_wait(pipe);
		if (app_now_seconds() >= end)
			break;
		usleep(TRY_AGAIN_US);
	}
	return app_complain(APP_EXIT_ENVIRONMENT, "no server at %s, port %u: %s", pipe->config.host,
			    pipe->config.service,
			    event.type != UROCE_CM_REJECTED ?
				    strerror(-event.status) :
			    event.reason == APP_REJ_NOBODY_LISTENS ?
				    "connection refused: no program listens on this address and port" :
				    uroce_cm_reason_name(event.reason));
}

struct app_pipe *app_pipe_open(const struct app_pipe_config *config, void (*when_listening)(unsigned service),
			       bool (*keep_waiting)(void), int *code)
{
	struct app_pipe *pipe = calloc(1, sizeof(*pipe));

	if (pipe == NULL) {
		*code = check_pipe("memory", -ENOMEM);
		return NULL;
	}
	pipe->config = *config;
	pipe->wait = (struct app_wait){ app_now_seconds(), config->patience_s, false };
	*code = open_objects(pipe);
	if (*code == APP_EXIT_OK)
		*code = config->host ? connect_one(pipe, keep_waiting) : accept_one(pipe, when_listening, keep_waiting);
	if (*code == APP_EXIT_OK)
		return pipe;
	pipe->closed = true;
	app_pipe_close(pipe);
	return NULL;
}

/* ---- sending and receiving ---- */

/* false: the connection has ended. */
static bool wait_for_send(struct app_pipe *pipe, uint32_t free_sends, double seconds)
{
	double end = app_now_seconds() + seconds;

	while (!pipe->closed && pipe->free_sends < free_sends && app_now_seconds() < end)
		poll_once(pipe, WAIT_MS);
	return !pipe->closed && pipe->free_sends >= free_sends;
}

int app_pipe_send(struct app_pipe *pipe, const void *data, size_t bytes)
{
	const uint8_t *from = data;

	while (bytes) {
		uint32_t part = bytes < CHUNK_BYTES ? (uint32_t)bytes : CHUNK_BYTES, slot;
		struct uroce_sge sge = { .length = part, .lkey = uroce_mr_lkey(pipe->objects.mr) };
		struct uroce_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = UROCE_WR_SEND };

		if (!wait_for_send(pipe, 1, SEND_S))
			return -1;
		slot = pipe->sends[--pipe->free_sends];
		memcpy(pipe->slots[slot], from, part);
		sge.addr = (uintptr_t)pipe->slots[slot];
		wr.wr_id = slot;
		wr.send_flags = UROCE_SEND_SIGNALED;
		if (check_pipe("post", uroce_qp_post_send(uroce_cm_qp(pipe->id), &wr, NULL)))
			return -1;
		from += part;
		bytes -= part;
	}
	return 0;
}

ssize_t app_pipe_receive(struct app_pipe *pipe, void *data, size_t room)
{
	struct arrival *arrival = &pipe->arrivals[pipe->first];
	size_t bytes;

	if (!pipe->closed)
		poll_once(pipe, 0);
	if (pipe->count == 0)
		return pipe->closed ? 0 : -EAGAIN;
	bytes = arrival->bytes - arrival->taken < room ? arrival->bytes - arrival->taken : room;
	memcpy(data, pipe->slots[arrival->slot] + arrival->taken, bytes);
	arrival->taken += (uint32_t)bytes;
	if (arrival->taken == arrival->bytes) {
		pipe->first = (pipe->first + 1) % RECEIVES;
		pipe->count--;
		if (!pipe->closed && post_receive(pipe, arrival->slot) != 0)
			pipe->closed = true;
	}
	return (ssize_t)bytes;
}

/* ---- closing ---- */

void app_pipe_wait_closed(struct app_pipe *pipe, double seconds)
{
	double end = app_now_seconds() + seconds;

	while (!pipe->closed && app_now_seconds() < end)
		poll_once(pipe, WAIT_MS);
}

void app_pipe_give_up(struct app_pipe *pipe)
{
	pipe->closed = true;
}

void app_pipe_close(struct app_pipe *pipe)
{
	if (pipe == NULL)
		return;
	/* Waits until what was sent has arrived, because disconnecting would flush it. */
	if (wait_for_send(pipe, SENDS, PART_S) && uroce_cm_disconnect(pipe->id) == 0)
		app_pipe_wait_closed(pipe, PART_S);
	close_id(pipe);
	if (pipe->listener)
		uroce_cm_id_destroy(pipe->listener);
	if (pipe->channel)
		uroce_cm_channel_destroy(pipe->channel);
	app_objects_close(&pipe->objects);
	free(pipe->slots);
	free(pipe);
}
