/* pump.c - a stream of messages whose every byte is compared */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "pump.h"

#define ROUND_LIMIT_MS 600000 /* while the sink of WRITEs and READs hears nothing */

struct pump {
	struct script *script;
	enum script_work work;
	uint32_t bytes, count; /* of each QP */
	uint32_t slots;        /* of each QP in a part of the memory */
	uint32_t posted[SCRIPT_QPS_MAX], done[SCRIPT_QPS_MAX];
	uint64_t last[SCRIPT_QPS_MAX]; /* fadd: what came back */
	uint32_t wrong;
	double alive_ms; /* when the last one completed */
};

static void pump_begin(struct pump *pump, struct script *script, enum script_work work, uint32_t bytes, uint32_t count)
{
	*pump = (struct pump){ .script = script, .work = work, .bytes = bytes, .count = count };
	pump->slots = SCRIPT_PART_BYTES / script->settings.qps / bytes;
	pump->alive_ms = script_now_ms();
}

static uint32_t slot_at(const struct pump *pump, uint32_t qp, uint32_t message)
{
	return (qp * pump->slots + message % pump->slots) * pump->bytes;
}

static uint64_t pattern_word(uint64_t seed, uint32_t index)
{
	return ((seed << 32) + index + 1) * 0x9E3779B97F4A7C15;
}

static uint64_t seed_of(const struct pump *pump, uint32_t qp, uint32_t message)
{
	return (uint64_t)qp * pump->count + message + 1;
}

/* bytes is a multiple of 8. */
static void fill(uint8_t *memory, uint32_t bytes, uint64_t seed)
{
	uint64_t *words = (uint64_t *)memory;

	for (uint32_t i = 0; i < bytes / 8; i++)
		words[i] = pattern_word(seed, i);
}

static bool is_right(const uint8_t *memory, uint32_t bytes, uint64_t seed)
{
	const uint64_t *words = (const uint64_t *)memory;
	uint64_t difference = 0;

	for (uint32_t i = 0; i < bytes / 8; i++)
		difference |= words[i] ^ pattern_word(seed, i);
	return difference == 0;
}

static int stalled(const struct pump *pump)
{
	const struct script *script = pump->script;
	uint32_t done = 0;

	if (script_now_ms() - pump->alive_ms < LIMIT_MS)
		return 0;
	for (uint32_t q = 0; q < script->settings.qps; q++)
		done += pump->done[q];
	return script_complain(script->side, "nothing completed for %d s, %u messages were done", LIMIT_MS / 1000,
			       done);
}

static int failed(const struct pump *pump, const struct script_done *done)
{
	return script_complain(pump->script->side, "message %u of QP %u: %s retries=%u", pump->done[done->qp], done->qp,
			       done->status, done->retries);
}

/* ---- the one that asks ---- */

static int post_one(struct pump *pump, uint32_t qp)
{
	const struct script_end *peer = &pump->script->peer[qp];
	uint32_t message = pump->posted[qp], at = slot_at(pump, qp, message);
	bool lands = pump->work == SCRIPT_READ || pump->work == SCRIPT_FADD;
	struct script_post post = {
		.wr_id = pump->work,
		.work = pump->work,
		.qp = qp,
		.local = script_part(lands ? SCRIPT_LANDING : SCRIPT_SOURCE) + at,
		.bytes = pump->bytes,
		.remote = peer->address + SCRIPT_TARGET + (pump->work == SCRIPT_FADD ? 0 : at),
		.rkey = peer->rkey,
		.compare_add = 1,
	};
	int error;

	if (lands)
		memset(post.local, 0xEE, pump->bytes);
	else
		fill(post.local, pump->bytes, seed_of(pump, qp, message));
	error = pump->script->side->post(&post);
	if (error)
		return script_complain(pump->script->side, "message %u of QP %u: %s", message, qp, strerror(error));
	pump->posted[qp]++;
	return 0;
}

static bool landed_right(struct pump *pump, uint32_t qp, uint32_t message)
{
	const uint8_t *landing = script_part(SCRIPT_LANDING) + slot_at(pump, qp, message);
	uint64_t value;

	if (pump->work == SCRIPT_READ)
		return is_right(landing, pump->bytes, seed_of(pump, qp, message % pump->slots));
	if (pump->work != SCRIPT_FADD)
		return true;
	memcpy(&value, landing, sizeof(value));
	if (message > 0 && value <= pump->last[qp])
		return false;
	pump->last[qp] = value;
	return value < (uint64_t)pump->count * pump->script->settings.qps;
}

/* Completions until none is left. */
static int take_completions(struct pump *pump)
{
	struct script_done done;

	while (pump->script->side->completion(&done)) {
		if (!done.success)
			return failed(pump, &done);
		pump->wrong += !landed_right(pump, done.qp, pump->done[done.qp]);
		pump->done[done.qp]++;
		pump->alive_ms = script_now_ms();
	}
	return 0;
}

/* Each QP comes to so many messages. */
static int pump_through(struct pump *pump, uint32_t end)
{
	uint32_t window = pump->slots < SCRIPT_SENDS ? pump->slots : SCRIPT_SENDS, left;

	do {
		left = 0;
		for (uint32_t q = 0; q < pump->script->settings.qps; q++) {
			while (pump->posted[q] < end && pump->posted[q] - pump->done[q] < window) {
				if (post_one(pump, q))
					return 1;
			}
		}
		pump->script->side->poll();
		if (take_completions(pump) || stalled(pump))
			return 1;
		for (uint32_t q = 0; q < pump->script->settings.qps; q++)
			left += end - pump->done[q];
	} while (left);
	return 0;
}

/* WRITEs are compared when the sink's memory is full. */
static uint32_t round_end(const struct pump *pump, uint32_t begin)
{
	return pump->work == SCRIPT_WRITE && pump->count - begin > pump->slots ? begin + pump->slots : pump->count;
}

int pump_run(struct script *script, enum script_work work, uint32_t bytes, uint32_t count)
{
	double started, spent_ms = 0, mib = (double)bytes * count * script->settings.qps / (1 << 20);
	struct pump pump;

	pump_begin(&pump, script, work, bytes, count);
	for (uint32_t at = 0; at < count; at = round_end(&pump, at)) {
		if (script_meet(script, LIMIT_MS))
			return 1;
		started = pump.alive_ms = script_now_ms();
		if (pump_through(&pump, round_end(&pump, at)))
			return 1;
		spent_ms += script_now_ms() - started;
		if (script_meet(script, LIMIT_MS))
			return 1;
	}
	printf(SCRIPT_MARK "pump wrong=%u\n", pump.wrong);
	printf(SCRIPT_REMARK "%.2f MiB in %.0f ms, %.2f MB/s\n", mib, spent_ms, mib * 1.048576 / (spent_ms / 1e3));
	return 0;
}

/* ---- the other one ---- */

static int post_receive(struct pump *pump, uint32_t qp, uint32_t slot)
{
	struct script_post post = {
		.wr_id = (uint64_t)slot << 8 | SCRIPT_RECV,
		.work = SCRIPT_RECV,
		.qp = qp,
		.local = script_part(SCRIPT_INBOX) + (size_t)slot * pump->bytes,
		.bytes = pump->bytes,
	};
	int error;

	memset(post.local, 0xEE, pump->bytes);
	error = pump->script->side->post(&post);
	return error ? script_complain(pump->script->side, "receive: %s", strerror(error)) : 0;
}

static int take_sends(struct pump *pump)
{
	struct script_done done;

	while (pump->script->side->completion(&done)) {
		uint32_t slot = (uint32_t)(done.wr_id >> 8);
		uint64_t seed = seed_of(pump, done.qp, pump->done[done.qp]);

		if (!done.success)
			return failed(pump, &done);
		pump->wrong += done.bytes != pump->bytes ||
			       !is_right(script_part(SCRIPT_INBOX) + (size_t)slot * pump->bytes, pump->bytes, seed);
		pump->done[done.qp]++;
		pump->alive_ms = script_now_ms();
		if (post_receive(pump, done.qp, slot))
			return 1;
	}
	return 0;
}

static int receive_all(struct pump *pump)
{
	uint32_t left, each = pump->slots < SCRIPT_RECVS ? pump->slots : SCRIPT_RECVS;

	for (uint32_t slot = 0; slot < each * pump->script->settings.qps; slot++) {
		if (post_receive(pump, slot / each, slot))
			return 1;
	}
	if (script_meet(pump->script, LIMIT_MS))
		return 1;
	pump->alive_ms = script_now_ms();
	do {
		pump->script->side->poll();
		if (take_sends(pump) || stalled(pump))
			return 1;
		left = 0;
		for (uint32_t q = 0; q < pump->script->settings.qps; q++)
			left += pump->count - pump->done[q];
	} while (left);
	return script_meet(pump->script, LIMIT_MS);
}

/* The slots that were written since the last time hold messages begin ... end - 1. */
static void compare_round(struct pump *pump, uint32_t begin, uint32_t end)
{
	for (uint32_t q = 0; q < pump->script->settings.qps; q++) {
		for (uint32_t message = begin; message < end; message++) {
			pump->wrong += !is_right(script_part(SCRIPT_TARGET) + slot_at(pump, q, message), pump->bytes,
						 seed_of(pump, q, message));
		}
	}
}

/* Written to, read from. */
static int serve(struct pump *pump)
{
	if (pump->work == SCRIPT_READ) {
		for (uint32_t q = 0; q < pump->script->settings.qps; q++) {
			for (uint32_t slot = 0; slot < pump->slots; slot++)
				fill(script_part(SCRIPT_TARGET) + slot_at(pump, q, slot), pump->bytes,
				     seed_of(pump, q, slot));
		}
	} else {
		memset(script_part(SCRIPT_TARGET), 0, SCRIPT_PART_BYTES);
	}
	for (uint32_t at = 0, end; at < pump->count; at = end) {
		end = round_end(pump, at);
		if (script_meet(pump->script, LIMIT_MS) || script_meet(pump->script, ROUND_LIMIT_MS))
			return 1;
		if (pump->work == SCRIPT_WRITE)
			compare_round(pump, at, end);
	}
	return 0;
}

int pump_sink(struct script *script, enum script_work work, uint32_t bytes, uint32_t count)
{
	struct pump pump;

	pump_begin(&pump, script, work, bytes, count);
	if (work == SCRIPT_SEND ? receive_all(&pump) : serve(&pump))
		return 1;
	printf(SCRIPT_MARK "sink wrong=%u\n", pump.wrong);
	return 0;
}
