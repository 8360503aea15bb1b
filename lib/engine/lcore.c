/* lcore.c - makes an engine with its lcores, starts and stops them */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include "engine/away.h"
#include "engine/clock.h"
#include "engine/connect.h"
#include "engine/device_state.h"
#include "engine/engine.h"
#include "engine/gsi.h"
#include "engine/landing.h"
#include "engine/lcore_state.h"
#include "engine/log.h"
#include "engine/mailbox.h"
#include "engine/numa_alloc.h"
#include "engine/pipeline.h"
#include "engine/port.h"
#include "engine/run_queue.h"
#include "engine/steer.h"
#include "engine/view.h"

#define QPS_DEFAULT 4096u
#define MRS_DEFAULT 4096u
#define IDLE_POLLS 256u /* polls without work before the thread yields its core */
#define SLEEP_NS 10000000u
#define NAP_NS 50000u

static void free_lcore(struct uroce_lcore *lcore)
{
	if (lcore == NULL)
		return;
	engine_run_queue_free(&lcore->run_queue);
	engine_numa_free_ring(lcore->doorbells, sizeof(void *));
	if (lcore->mailbox)
		engine_mailbox_serve(lcore); /* frees calls whose callers have given up */
	engine_numa_free_ring(lcore->mailbox, sizeof(void *));
	engine_numa_free_ring(lcore->handover, sizeof(void *));
	free(lcore->scratch);
	free(lcore->failed);
	engine_numa_free(lcore->board_memory, LCORE_BOARDS * sizeof(struct rc_board));
	engine_numa_free(lcore->kept_memory, LCORE_KEPT * sizeof(struct rc_kept_packet));
	engine_away_end(lcore);
	if (lcore->wake_fd >= 0)
		close(lcore->wake_fd);
	engine_landing_remove(lcore);
	engine_numa_free(lcore, sizeof(*lcore));
}

static struct uroce_lcore *create_lcore(struct uroce_engine *engine, unsigned index)
{
	const struct uroce_engine_config *config = &engine->config;
	unsigned lcore_id = config->lcore_ids ? config->lcore_ids[index] : LCORE_ID_ANY;
	int node = lcore_id == LCORE_ID_ANY ? -1 : (int)rte_lcore_to_socket_id(lcore_id);
	struct uroce_lcore *lcore = engine_numa_alloc(sizeof(*lcore), node);

	if (lcore == NULL)
		return NULL;
	lcore->engine = engine;
	lcore->index = index;
	lcore->lcore_id = lcore_id;
	/* Each QP is in the doorbell ring at most once, so the ring never overflows. */
	lcore->doorbells = engine_numa_create_ring(engine->index_count, 1, sizeof(void *), node);
	lcore->mailbox = engine_numa_create_ring(MAILBOX_CALLS, 1, sizeof(void *), node);
	lcore->handover = engine_numa_create_ring(HANDOVER_FRAMES, 1, sizeof(void *), node);
	lcore->scratch = malloc(PORT_FRAME_MAX_BYTES);
	lcore->failed = calloc(1, sizeof(*lcore->failed));
	lcore->board_memory = engine_numa_alloc(LCORE_BOARDS * sizeof(struct rc_board), node);
	lcore->kept_memory = engine_numa_alloc(LCORE_KEPT * sizeof(struct rc_kept_packet), node);
	lcore->away.schedstat_fd = -1;
	lcore->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (lcore->wake_fd < 0 || engine_run_queue_init(&lcore->run_queue, engine, node) != 0 || !lcore->doorbells ||
	    !lcore->mailbox || !lcore->handover || !lcore->scratch || !lcore->failed || !lcore->board_memory ||
	    !lcore->kept_memory || !engine_landing_add(lcore)) {
		free_lcore(lcore);
		return NULL;
	}
	lcore->now_ns = lcore->made_ns = engine_now_ns();
	engine_wheel_init(&lcore->wheel, lcore->now_ns);
	boards_init(&lcore->boards, lcore->board_memory, LCORE_BOARDS);
	rc_store_init(&lcore->store, lcore->kept_memory, LCORE_KEPT);
	lcore->boards.store = &lcore->store;
	outbox_reset(&lcore->out);
	return lcore;
}

static int refuse_memory(void)
{
	return engine_refuse(-ENOMEM, "no memory for an engine; use a smaller max_qps");
}

static int draw_key(struct rc_boards *boards)
{
	ssize_t bytes = getrandom(boards->key, sizeof(boards->key), 0);

	return bytes == sizeof(boards->key) ? 0 : engine_refuse_random();
}

static int create_qsbr(struct uroce_engine *engine)
{
	size_t bytes = rte_rcu_qsbr_get_memsize(engine->lcore_count);

	engine->qsbr = aligned_alloc(RTE_CACHE_LINE_SIZE, RTE_CACHE_LINE_ROUNDUP(bytes));
	if (engine->qsbr == NULL || rte_rcu_qsbr_init(engine->qsbr, engine->lcore_count) != 0)
		return refuse_memory();
	for (unsigned i = 0; i < engine->lcore_count; i++)
		rte_rcu_qsbr_thread_register(engine->qsbr, i);
	return 0;
}

static void free_engine(struct uroce_engine *engine)
{
	for (unsigned i = 0; i < engine->lcore_count; i++)
		free_lcore(engine->lcores[i]);
	engine_steer_free(engine);
	free(engine->qsbr);
	pthread_mutex_destroy(&engine->lock);
	free(engine);
}

/* Are the ids those of EAL worker lcores, and is each id given only once? */
static bool lcore_ids_are_valid(const struct uroce_engine_config *config)
{
	for (unsigned i = 0; config->lcore_ids && i < config->lcore_count; i++) {
		unsigned id = config->lcore_ids[i];

		if (id >= RTE_MAX_LCORE || !rte_lcore_is_enabled(id) || id == rte_get_main_lcore())
			return false;
		for (unsigned k = 0; k < i; k++) {
			if (config->lcore_ids[k] == id)
				return false;
		}
	}
	return true;
}

int uroce_engine_create(const struct uroce_engine_config *given, struct uroce_engine **result)
{
	struct uroce_engine_config config = *given;
	struct uroce_engine *engine;
	int error;

	config.max_qps = given->max_qps ? given->max_qps : QPS_DEFAULT;
	config.max_mrs = given->max_mrs ? given->max_mrs : MRS_DEFAULT;
	if (engine_check_range("lcore_count", config.lcore_count, config.lcore_ids != NULL, LIMIT_LCORES) ||
	    engine_check_range("max_qps", config.max_qps, 1, LIMIT_QPS) ||
	    engine_check_range("max_mrs", config.max_mrs, 0, LIMIT_MRS) ||
	    engine_check_range("idle", (uint32_t)config.idle, 0, UROCE_IDLE_SLEEP))
		return -EINVAL;
	if (!lcore_ids_are_valid(&config))
		return engine_refuse(-EINVAL,
				     "lcore_ids: each entry must be an EAL worker lcore and must be listed only once");
	engine = calloc(1, sizeof(*engine));
	if (engine == NULL)
		return refuse_memory();
	engine->config = config;
	engine->lcore_count = config.lcore_count ? config.lcore_count : 1;
	pthread_mutex_init(&engine->lock, NULL);
	error = engine_steer_init(engine, config.max_qps);
	if (error == 0)
		error = create_qsbr(engine);
	for (unsigned i = 0; i < engine->lcore_count && error == 0; i++) {
		engine->lcores[i] = create_lcore(engine, i);
		error = engine->lcores[i] ? draw_key(&engine->lcores[i]->boards) : refuse_memory();
	}
	engine->config.lcore_ids = NULL; /* the array belongs to the caller; each lcore has kept its own id */
	if (error) {
		free_engine(engine);
		return error;
	}
	*result = engine;
	return 0;
}

/*
 * What an lcore without work does between polls. A sleeping lcore wakes now and then all the same, to check its links.
 */
static void be_idle(struct uroce_lcore *lcore)
{
	switch (lcore->engine->config.idle) {
	case UROCE_IDLE_POLL:
		rte_pause();
		break;
	case UROCE_IDLE_YIELD:
		sched_yield();
		break;
	case UROCE_IDLE_SLEEP:
		uroce_lcore_wait(lcore, NULL, 0, uroce_lcore_wakes(lcore) ? SLEEP_NS : NAP_NS);
		break;
	}
}

static void claim(struct uroce_lcore *lcore)
{
	engine_away_begin(lcore);
	atomic_store_explicit(&lcore->owner, pthread_self(), memory_order_relaxed);
	/* pairs with the acquire in lcore_is_owned(): owner is valid */
	atomic_store_explicit(&lcore->owned, true, memory_order_release);
}

static int run_lcore(void *argument)
{
	struct uroce_lcore *lcore = argument;
	uint32_t idle;

	claim(lcore);
	if (LANDING_SET(&lcore->landing))
		engine_pipeline_recover(lcore);
	idle = 0;
	while (!atomic_load_explicit(&lcore->engine->stop, memory_order_relaxed)) {
		idle = engine_pipeline_poll(lcore) ? 0 : idle + 1;
		if (idle > IDLE_POLLS)
			be_idle(lcore);
	}
	engine_mailbox_serve(lcore);
	atomic_store_explicit(&lcore->owned, false, memory_order_release);
	/* serves calls that came before `owned` was false, so that their callers do not wait in vain */
	engine_mailbox_serve(lcore);
	return 0;
}

unsigned uroce_lcore_poll(struct uroce_lcore *lcore)
{
	if (!lcore_is_ours(lcore))
		claim(lcore);
	return engine_pipeline_poll_landing(lcore);
}

static void stop_lcores(struct uroce_engine *engine, unsigned count)
{
	atomic_store(&engine->stop, true);
	for (unsigned i = 0; i < count; i++)
		rte_eal_wait_lcore(engine->lcores[i]->lcore_id);
	engine->running = false;
}

/*
 * Until the thread owns the lcore, a control call would run at once on its caller's thread, beside the thread that
 * starts.
 */
static void wait_until_owned(const struct uroce_lcore *lcore)
{
	while (!lcore_is_owned(lcore))
		rte_delay_us_sleep(10);
}

int uroce_engine_start(struct uroce_engine *engine)
{
	if (engine->running)
		return 0;
	for (unsigned i = 0; i < engine->lcore_count; i++) {
		if (engine->lcores[i]->lcore_id == LCORE_ID_ANY)
			return engine_refuse(
				-EINVAL,
				"lcore_ids NULL: the application must poll the lcores with uroce_lcore_poll()");
	}
	atomic_store(&engine->stop, false);
	engine->running = true;
	for (unsigned i = 0; i < engine->lcore_count; i++) {
		if (rte_eal_remote_launch(run_lcore, engine->lcores[i], engine->lcores[i]->lcore_id) != 0) {
			stop_lcores(engine, i);
			return engine_refuse(-EBUSY, "lcore_ids: lcore %u is already running a function",
					     engine->lcores[i]->lcore_id);
		}
		wait_until_owned(engine->lcores[i]);
	}
	return 0;
}

void uroce_engine_stop(struct uroce_engine *engine)
{
	if (engine->running)
		stop_lcores(engine, engine->lcore_count);
}

int uroce_engine_destroy(struct uroce_engine *engine)
{
	for (unsigned i = 0; i < ENGINE_DEVICES; i++) {
		if (engine->devices[i])
			return engine_refuse(-EBUSY,
					     "engine: it still has the device of port %u; destroy the device first",
					     engine->devices[i]->port_id);
	}
	if (engine->channels > 0)
		return engine_refuse(-EBUSY, "engine: %u event channels still use it; destroy them first",
				     engine->channels);
	uroce_engine_stop(engine);
	engine_gsi_close(engine);
	free_engine(engine);
	return 0;
}

enum uroce_idle uroce_engine_idle(const struct uroce_engine *engine)
{
	return engine->config.idle;
}

unsigned uroce_engine_lcore_count(const struct uroce_engine *engine)
{
	return engine->lcore_count;
}

struct uroce_lcore *uroce_engine_lcore(struct uroce_engine *engine, unsigned index)
{
	return index < engine->lcore_count ? engine->lcores[index] : NULL;
}

unsigned uroce_lcore_index(const struct uroce_lcore *lcore)
{
	return lcore->index;
}
