/* end.c - what an end does with each completion */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/eal.h"
#include "rping/end.h"

#define ADVERT_BYTES 16u
#define OUT_AT ADVERT_BYTES /* offset of the advertisement to be sent */
#define SOURCE_AT (4 * ADVERT_BYTES)
#define FIRST_CHARACTER 65
#define LAST_CHARACTER 122

static uint8_t *source(const struct rping_end *end)
{
	return end->memory + SOURCE_AT;
}

static uint8_t *sink(const struct rping_end *end)
{
	return source(end) + end->options->size;
}

static int post_receive(struct rping_end *end)
{
	struct uroce_sge sge = { (uintptr_t)end->memory, ADVERT_BYTES, uroce_mr_lkey(end->mr) };
	struct uroce_recv_wr wr = { .wr_id = (uintptr_t)end, .sg_list = &sge, .num_sge = 1 };

	return app_check("post receive", uroce_qp_post_recv(end->qp, &wr, NULL));
}

static int post(struct rping_end *end, enum uroce_wr_opcode opcode, void *data, uint32_t bytes,
		const struct rping_advert *peer)
{
	struct uroce_sge sge = { (uintptr_t)data, bytes, uroce_mr_lkey(end->mr) };
	struct uroce_send_wr wr = {
		.wr_id = (uintptr_t)end,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = UROCE_SEND_SIGNALED,
		.remote_addr = peer ? peer->addr : 0,
		.rkey = peer ? peer->rkey : 0,
	};

	return app_check("post send", uroce_qp_post_send(end->qp, &wr, NULL));
}

/* Sends an advertisement of the memory at addr. With addr NULL it advertises nothing, and just lets the peer go on. */
static int send_advert(struct rping_end *end, const void *addr)
{
	uint8_t *out = end->memory + OUT_AT;
	uint64_t va = __builtin_bswap64((uintptr_t)addr);
	uint32_t rkey = __builtin_bswap32(addr ? uroce_mr_rkey(end->mr) : 0);
	uint32_t bytes = __builtin_bswap32(addr ? end->options->size : 0);

	memcpy(out, &va, sizeof(va));
	memcpy(out + 8, &rkey, sizeof(rkey));
	memcpy(out + 12, &bytes, sizeof(bytes));
	return post(end, UROCE_WR_SEND, out, ADVERT_BYTES, NULL);
}

static struct rping_advert read_advert(const struct rping_end *end)
{
	struct rping_advert advert;

	memcpy(&advert, end->memory, sizeof(advert));
	return (struct rping_advert){ __builtin_bswap64(advert.addr), __builtin_bswap32(advert.rkey),
				      __builtin_bswap32(advert.bytes) };
}

int rping_end_open(struct rping_end *end, const struct rping_options *options, struct uroce_cm_id *id,
		   struct uroce_pd *pd, struct uroce_cq *cq)
{
	size_t bytes = SOURCE_AT + 2 * (size_t)options->size;
	struct uroce_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.max_send_wr = 16,
		.max_recv_wr = 2,
		.max_send_sge = 1,
		.max_recv_sge = 1,
		.max_dest_rd_atomic = 16,
	};

	end->options = options;
	end->id = id;
	end->first = FIRST_CHARACTER;
	end->memory = calloc(1, bytes);
	if (end->memory == NULL)
		return app_complain(APP_EXIT_ENVIRONMENT, "no memory for two buffers of %u bytes: use a smaller -S",
				    options->size);
	if (app_check("memory region",
		      uroce_mr_reg(pd, end->memory, bytes,
				   UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_READ | UROCE_ACCESS_REMOTE_WRITE,
				   &end->mr)) ||
	    app_check("queue pair", uroce_cm_qp_create(id, pd, &init,
						       UROCE_ACCESS_REMOTE_READ | UROCE_ACCESS_REMOTE_WRITE, &end->qp)))
		return APP_EXIT_FAILURE;
	return post_receive(end);
}

void rping_end_close(struct rping_end *end)
{
	if (end->id)
		uroce_cm_id_destroy(end->id);
	if (end->qp)
		uroce_qp_destroy(end->qp);
	if (end->mr)
		uroce_mr_dereg(end->mr);
	free(end->memory);
}

/*
 * Fills the buffer with "rdma-ping-N: " and consecutive characters, the first one advancing each time, as rping does.
 */
static void fill(struct rping_end *end)
{
	char *text = (char *)source(end);
	uint32_t size = end->options->size;
	int character = end->first;
	int at = snprintf(text, size, "rdma-ping-%lu: ", end->iterations);

	for (uint32_t i = (uint32_t)at; i + 1 < size; i++) {
		text[i] = (char)character++;
		if (character > LAST_CHARACTER)
			character = FIRST_CHARACTER;
	}
	end->first = end->first == LAST_CHARACTER ? FIRST_CHARACTER : (uint8_t)(end->first + 1);
	text[size - 1] = '\0';
}

int rping_end_start(struct rping_end *end)
{
	fill(end);
	end->state = RPING_READ_ADVERT;
	return send_advert(end, source(end));
}

/* What has come back must equal what was sent. */
static int finish_iteration(struct rping_end *end)
{
	const struct rping_options *options = end->options;

	if (options->verify && memcmp(source(end), sink(end), options->size) != 0)
		return app_complain(APP_EXIT_FAILURE, "data mismatch in iteration %lu: %u bytes came back differently",
				    end->iterations, options->size);
	if (options->verbose)
		printf("ping data: %s\n", (const char *)sink(end));
	end->iterations++;
	if (options->count && end->iterations == options->count) {
		end->ended = true;
		return 0;
	}
	return rping_end_start(end);
}

/* The client has received an advertisement, which lets it go on. */
static int client_goes_on(struct rping_end *end)
{
	if (end->state == RPING_READ_ADVERT) {
		end->state = RPING_WRITE_ADVERT;
		return send_advert(end, sink(end));
	}
	return finish_iteration(end);
}

/* The server has received an advertisement. The first is of a buffer to read, the next of one to write, and so on. */
static int serve(struct rping_end *end)
{
	struct rping_advert advert = read_advert(end);

	if (advert.bytes > end->options->size)
		return app_complain(APP_EXIT_FAILURE,
				    "the client advertises %u bytes, but -S is %u here: use the client's -S",
				    advert.bytes, end->options->size);
	if (end->state == RPING_READ_ADVERT)
		return post(end, UROCE_WR_RDMA_READ, source(end), advert.bytes, &advert);
	return post(end, UROCE_WR_RDMA_WRITE, source(end), advert.bytes, &advert);
}

static int handle_receive(struct rping_end *end, const struct uroce_wc *wc)
{
	int error;

	if (wc->byte_len != ADVERT_BYTES)
		return app_complain(APP_EXIT_FAILURE, "%u bytes came where rping sends 16: is the peer an rping?",
				    wc->byte_len);
	/* The buffer of a receive is read before the receive is posted again. */
	if (end->options->server) {
		error = serve(end);
		return error ? error : post_receive(end);
	}
	error = post_receive(end);
	return error ? error : client_goes_on(end);
}

int rping_end_handle(struct rping_end *end, const struct uroce_wc *wc)
{
	char line[UROCE_EXPLAIN_BYTES];

	if (wc->status == UROCE_WC_WR_FLUSH_ERR)
		return 0; /* the connection has ended, and its event will tell why */
	if (wc->status != UROCE_WC_SUCCESS)
		return app_complain(APP_EXIT_FAILURE, "%s", uroce_wc_explain(wc, line, sizeof(line)));
	if (wc->opcode == UROCE_WC_RECV)
		return handle_receive(end, wc);
	if (wc->opcode == UROCE_WC_RDMA_READ) {
		if (end->options->verbose)
			printf("server ping data: %s\n", (const char *)source(end));
		end->state = RPING_WRITE_ADVERT;
		return send_advert(end, NULL);
	}
	if (wc->opcode == UROCE_WC_RDMA_WRITE) {
		end->iterations++;
		end->state = RPING_READ_ADVERT;
		return send_advert(end, NULL);
	}
	return 0;
}
