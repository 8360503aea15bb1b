/* bare.c - measures the messages of an I/O without NVMe: a SEND of 64 bytes, a WRITE of data, a SEND of 16 bytes */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmeperf/bare.h"

#include <string.h>
#include <sys/mman.h>

#include "common/clock.h"
#include "common/histogram.h"
#include "common/objects.h"
#include "common/draw.h"

#define ASK_BYTES 64u
#define ANSWER_BYTES 16u
#define CLOCK_EACH 64u /* exchanges between two looks at the clock */

struct side {
	struct app_objects objects;
	struct uroce_qp *qp;
	size_t bytes;
	uint8_t *memory; /* data and a receive buffer of each slot; on the target's side also the disk */
};

struct bare {
	const struct bare_config *config;
	struct uroce_lcore *lcore;
	struct side sides[2];
	uint32_t slot_bytes;
	size_t slots_bytes; /* of all slots of a side together */
	uint64_t seed, done;
	int failed;
};

static uint8_t *slot_at(const struct bare *bare, int side, uint64_t slot)
{
	return bare->sides[side].memory + slot * bare->slot_bytes;
}

/* Draws a random place of the disk, as a host that reads at random does. */
static uint8_t *draw_place(struct bare *bare)
{
	uint64_t places = bare->config->disk_bytes / bare->config->bytes;

	return bare->sides[1].memory + bare->slots_bytes + draw_next(&bare->seed) % places * bare->config->bytes;
}

static void post_receive(struct bare *bare, int index, uint64_t slot)
{
	struct side *side = &bare->sides[index];
	struct uroce_sge sge = { (uintptr_t)slot_at(bare, index, slot) + bare->config->bytes, ASK_BYTES,
				 uroce_mr_lkey(side->objects.mr) };
	struct uroce_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 };

	bare->failed |= uroce_qp_post_recv(side->qp, &wr, NULL);
}

static void ask(struct bare *bare, uint64_t slot)
{
	struct side *side = &bare->sides[0];
	struct uroce_sge sge = { (uintptr_t)slot_at(bare, 0, slot), ASK_BYTES, uroce_mr_lkey(side->objects.mr) };
	struct uroce_send_wr wr = {
		.wr_id = slot, .sg_list = &sge, .num_sge = 1, .opcode = UROCE_WR_SEND, .send_flags = UROCE_SEND_SIGNALED
	};

	bare->failed |= uroce_qp_post_send(side->qp, &wr, NULL);
}

static void answer(struct bare *bare, uint64_t slot)
{
	struct side *side = &bare->sides[1];
	struct uroce_sge sges[2] = { { (uintptr_t)draw_place(bare), bare->config->bytes,
				       uroce_mr_lkey(side->objects.mr) },
				     { (uintptr_t)slot_at(bare, 1, slot), ANSWER_BYTES, 0 } };
	struct uroce_send_wr send = { .wr_id = slot,
				      .sg_list = &sges[1],
				      .num_sge = 1,
				      .opcode = UROCE_WR_SEND,
				      .send_flags = UROCE_SEND_SIGNALED | UROCE_SEND_INLINE };
	struct uroce_send_wr write = { .next = &send,
				       .sg_list = &sges[0],
				       .num_sge = 1,
				       .opcode = UROCE_WR_RDMA_WRITE,
				       .remote_addr = (uintptr_t)slot_at(bare, 0, slot),
				       .rkey = uroce_mr_rkey(bare->sides[0].objects.mr) };

	bare->failed |= uroce_qp_post_send(side->qp, &write, NULL);
}

/* The target posts a receive again when its answer has completed; the host posts one before its next request. */
static void take(struct bare *bare, int index, const struct uroce_wc *wc)
{
	bare->failed |= wc->status != UROCE_WC_SUCCESS;
	if (index == 1 && wc->opcode == UROCE_WC_RECV) {
		answer(bare, wc->wr_id);
	} else if (index == 1 && wc->opcode == UROCE_WC_SEND) {
		post_receive(bare, 1, wc->wr_id);
	} else if (index == 0 && wc->opcode == UROCE_WC_RECV) {
		bare->done++;
		post_receive(bare, 0, wc->wr_id);
		ask(bare, wc->wr_id);
	}
}

static void poll_once(struct bare *bare)
{
	struct uroce_wc wc[64];

	uroce_lcore_poll(bare->lcore);
	for (int i = 0; i < 2; i++) {
		int count = uroce_cq_poll(bare->sides[i].objects.cq, 64, wc);

		for (int k = 0; k < count; k++)
			take(bare, i, &wc[k]);
	}
}

static int open_side(struct bare *bare, int index)
{
	const struct bare_config *config = bare->config;
	struct side *side = &bare->sides[index];
	/*
	 * The target has two slots for each request of the host, because an answer keeps its slot until it is
	 * acknowledged.
	 */
	uint32_t slots = 2 * config->depth;
	size_t bytes;
	struct uroce_qp_init_attr init = {
		.max_send_wr = 2 * slots,
		.max_recv_wr = slots,
		.max_send_sge = 1,
		.max_recv_sge = 1,
		.max_inline_data = ANSWER_BYTES,
		.max_dest_rd_atomic = 16,
	};
	struct app_objects_config objects = {
		.device = config->devices[index],
		.access = UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_READ,
		.completions = 8 * slots,
	};

	bare->slots_bytes = ((size_t)slots * bare->slot_bytes + 4095) / 4096 * 4096;
	bytes = bare->slots_bytes + (index ? config->disk_bytes : 0);
	side->memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (side->memory == MAP_FAILED)
		side->memory = NULL;
	else
		madvise(side->memory, bytes, MADV_HUGEPAGE);
	if (side->memory)
		/* the memory is written once, so that it has pages of its own instead of the shared page of zeros */
		memset(side->memory, 1, bytes);
	objects.memory = side->memory;
	objects.bytes = side->bytes = bytes;
	if (side->memory == NULL || app_objects_open(&objects, &side->objects) != APP_EXIT_OK)
		return -1;
	init.send_cq = init.recv_cq = side->objects.cq;
	return uroce_qp_create(side->objects.pd, &init, &side->qp);
}

static int connect_sides(struct bare *bare)
{
	struct uroce_qp_attr attr[2];
	int error = 0;

	for (int i = 0; i < 2; i++) {
		struct uroce_qp_attr other;

		uroce_qp_query(bare->sides[!i].qp, &other);
		attr[i] = (struct uroce_qp_attr){
			.access_flags = UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_READ,
			.dest_qp_num = uroce_qp_num(bare->sides[!i].qp),
			.rq_psn = other.sq_psn,
			.max_rd_atomic = 16,
			.max_dest_rd_atomic = 16,
			.timeout = 17,
			.retry_cnt = 7,
			.rnr_retry = 7,
			.path = { .source = bare->config->addrs[i], .dest = bare->config->addrs[!i] },
		};
	}
	for (int i = 0; i < 2 && error == 0; i++)
		error = uroce_qp_connect(bare->sides[i].qp, &attr[i], NULL);
	return error;
}

static void close_all(struct bare *bare)
{
	for (int i = 0; i < 2; i++) {
		struct side *side = &bare->sides[i];

		if (side->qp)
			uroce_qp_destroy(side->qp);
		app_objects_close(&side->objects);
		if (side->memory)
			munmap(side->memory, side->bytes);
	}
}

static int open_all(struct bare *bare, const struct bare_config *config)
{
	bare->config = config;
	bare->seed = DRAW_SEED;
	bare->lcore = uroce_engine_lcore(config->engine, 0);
	bare->slot_bytes = config->bytes + ASK_BYTES;
	if (open_side(bare, 0) == 0 && open_side(bare, 1) == 0 && connect_sides(bare) == 0)
		return APP_EXIT_OK;
	close_all(bare);
	return app_complain(APP_EXIT_ENVIRONMENT, "no memory for bare exchanges");
}

int bare_exchanges(const struct bare_config *config, double *per_second)
{
	struct bare bare = { 0 };
	uint64_t began_ns, now, warm_ns;
	uint64_t began = 0;

	if (open_all(&bare, config))
		return APP_EXIT_ENVIRONMENT;
	for (uint32_t i = 0; i < config->depth; i++)
		post_receive(&bare, 0, i);
	for (uint32_t i = 0; i < 2 * config->depth; i++)
		post_receive(&bare, 1, i);
	for (uint32_t i = 0; i < config->depth; i++)
		ask(&bare, i);
	began_ns = now = app_now_ns();
	warm_ns = began_ns + (uint64_t)(config->seconds * 2e8);
	while (now < warm_ns + (uint64_t)(config->seconds * 1e9) && !bare.failed) {
		for (uint32_t i = 0; i < CLOCK_EACH; i++)
			poll_once(&bare);
		now = app_now_ns();
		if (now < warm_ns) {
			began = bare.done;
			began_ns = now;
		}
	}
	*per_second = (double)(bare.done - began) * 1e9 / (double)(now - began_ns);
	close_all(&bare);
	return bare.failed ? app_complain(APP_EXIT_FAILURE, "a bare exchange failed") : APP_EXIT_OK;
}

int bare_reads(const struct bare_config *config, double *ns)
{
	static struct app_histogram times;
	struct bare bare = { 0 };
	uint64_t end_ns, now;

	if (open_all(&bare, config))
		return APP_EXIT_ENVIRONMENT;
	memset(&times, 0, sizeof(times));
	now = app_now_ns();
	end_ns = now + (uint64_t)(config->seconds * 1e9);
	while (now < end_ns && !bare.failed) {
		struct uroce_sge sge = { (uintptr_t)slot_at(&bare, 0, 0), config->bytes,
					 uroce_mr_lkey(bare.sides[0].objects.mr) };
		struct uroce_send_wr wr = { .sg_list = &sge,
					    .num_sge = 1,
					    .opcode = UROCE_WR_RDMA_READ,
					    .send_flags = UROCE_SEND_SIGNALED,
					    .remote_addr = (uintptr_t)draw_place(&bare),
					    .rkey = uroce_mr_rkey(bare.sides[1].objects.mr) };
		struct uroce_wc wc;
		uint64_t began = now;

		bare.failed |= uroce_qp_post_send(bare.sides[0].qp, &wr, NULL);
		while (uroce_cq_poll(bare.sides[0].objects.cq, 1, &wc) == 0 && !bare.failed)
			uroce_lcore_poll(bare.lcore);
		bare.failed |= wc.status != UROCE_WC_SUCCESS;
		now = app_now_ns();
		app_histogram_record(&times, now - began);
	}
	*ns = (double)app_histogram_percentile(&times, 0.5);
	close_all(&bare);
	return bare.failed ? app_complain(APP_EXIT_FAILURE, "a bare READ failed") : APP_EXIT_OK;
}
