/* cm_channel.c - channels, in which events of connections wait, and counters of connections */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "api/cm_id.h"
#include "cm/names.h"
#include "engine/clock.h"
#include "engine/connect.h"
#include "engine/engine.h"
#include "engine/gsi.h"
#include "engine/lcore_state.h"
#include "engine/log.h"
#include "engine/mailbox.h"

#define POLL_MS 100u
#define SPIN_NS 100000u /* a thread that waits polls for so long before it sleeps */
/*
 * Not all frames wake the thread. Where they do not, a sleep lasts a NAP_PART-th of the time since the last work, so
 * that it delays new work by only a small part of that time.
 */
#define NAP_PART 8u
#define NAP_MIN_NS 20000ull
#define NAP_MAX_NS 200000ull
#define NAP_OF_MANY_NS 50000ull /* a thread that polls several lcores: timers and posts of only one of them wake it */
#define SLEEP_NS 10000000ull    /* so often links are checked although frames wake the thread */

/* ---- channels ---- */

int uroce_cm_channel_create(struct uroce_engine *engine, struct uroce_cm_channel **result)
{
	struct uroce_cm_channel *channel = calloc(1, sizeof(*channel));
	int error = 0;

	if (channel == NULL)
		return engine_refuse(-ENOMEM, "no memory for an event channel");
	channel->engine = engine;
	rte_spinlock_init(&channel->lock);
	TAILQ_INIT(&channel->queue);
	channel->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (channel->fd < 0) {
		error = engine_refuse(-errno, "cannot create the file descriptor of the event channel: %s",
				      strerror(errno));
		free(channel);
		return error;
	}
	pthread_mutex_lock(&engine->lock);
	if (engine->lcores[0]->connect == NULL)
		error = engine_gsi_open(engine);
	if (error == 0)
		engine->channels++;
	pthread_mutex_unlock(&engine->lock);
	if (error) {
		close(channel->fd);
		free(channel);
		return error;
	}
	*result = channel;
	return 0;
}

/* The managers stay until the engine is destroyed, because connections of destroyed ids may still be ending. */
int uroce_cm_channel_destroy(struct uroce_cm_channel *channel)
{
	if (atomic_load(&channel->ids) > 0)
		return engine_refuse(-EBUSY, "channel: %u ids still use it; destroy them first",
				     (unsigned)atomic_load(&channel->ids));
	pthread_mutex_lock(&channel->engine->lock);
	channel->engine->channels--;
	pthread_mutex_unlock(&channel->engine->lock);
	close(channel->fd);
	free(channel);
	return 0;
}

int uroce_cm_channel_fd(const struct uroce_cm_channel *channel)
{
	return channel->fd;
}

/*
 * Makes the descriptor unreadable if no event waits. There is no system call if nothing was written to the descriptor;
 * the next call reads what another thread is just about to write. The caller holds the lock.
 */
static void quieten(struct uroce_cm_channel *channel)
{
	uint64_t count;

	if (TAILQ_EMPTY(&channel->queue) && channel->woken && read(channel->fd, &count, sizeof(count)) == sizeof(count))
		channel->woken = false;
}

/* With the lock held. */
static void unqueue(struct uroce_cm_id *id)
{
	struct uroce_cm_channel *channel = id->channel;

	TAILQ_REMOVE(&channel->queue, id, in_queue);
	id->queued = false;
	quieten(channel);
}

void api_cm_leave_channel(struct uroce_cm_id *id)
{
	struct uroce_cm_channel *channel = id->channel;

	rte_spinlock_lock(&channel->lock);
	if (id->queued)
		unqueue(id);
	rte_spinlock_unlock(&channel->lock);
	atomic_fetch_sub(&channel->ids, 1);
}

struct uroce_cm_id *api_cm_pop_unread(struct uroce_cm_channel *channel, const struct uroce_cm_id *listener)
{
	struct uroce_cm_id *id;

	rte_spinlock_lock(&channel->lock);
	TAILQ_FOREACH(id, &channel->queue, in_queue) {
		const struct uroce_cm_event *first = &id->events[id->event_head % CONNECT_EVENTS];

		if (first->type == UROCE_CM_CONNECT_REQUEST && first->listener == listener)
			break;
	}
	if (id)
		unqueue(id);
	rte_spinlock_unlock(&channel->lock);
	return id;
}

void api_cm_put_back(struct uroce_cm_id *id)
{
	struct uroce_cm_channel *channel = id->channel;

	rte_spinlock_lock(&channel->lock);
	TAILQ_INSERT_HEAD(&channel->queue, id, in_queue);
	id->queued = channel->woken = true;
	rte_spinlock_unlock(&channel->lock);
	eventfd_write(channel->fd, 1);
}

/* ---- changing the channel ---- */

struct removal {
	struct uroce_cm_id *id;
	struct uroce_cm_channel *to;
};

/*
 * Runs on the owner, so that no event of the id is raised meanwhile. The id's waiting events move to the new channel,
 * behind the events that wait there.
 */
static int move_on_owner(void *argument)
{
	const struct removal *removal = argument;
	struct uroce_cm_id *id = removal->id;
	struct uroce_cm_channel *from = id->channel, *to = removal->to;
	bool wake = false;

	rte_spinlock_lock(&from->lock);
	if (id->queued)
		unqueue(id);
	rte_spinlock_unlock(&from->lock);
	atomic_store(&id->channel, to);
	rte_spinlock_lock(&to->lock);
	if (id->event_head != id->event_tail) {
		wake = TAILQ_EMPTY(&to->queue);
		to->woken |= wake;
		id->queued = true;
		TAILQ_INSERT_TAIL(&to->queue, id, in_queue);
	}
	rte_spinlock_unlock(&to->lock);
	if (wake)
		eventfd_write(to->fd, 1);
	atomic_fetch_add(&to->ids, 1);
	atomic_fetch_sub(&from->ids, 1);
	return 0;
}

static int move(struct uroce_cm_id *id, struct uroce_cm_channel *to)
{
	struct removal removal = { id, to };

	return id->lcore ? engine_mailbox_call(id->lcore, move_on_owner, &removal) : move_on_owner(&removal);
}

int uroce_cm_migrate(struct uroce_cm_id *id, struct uroce_cm_channel *channel)
{
	struct uroce_cm_channel *from = id->channel;
	struct uroce_cm_id *request;
	int error;

	if (channel->engine != from->engine)
		return engine_refuse(-EINVAL, "channel: it belongs to a different engine than the id");
	if (channel == from)
		return 0;
	error = move(id, channel);
	if (error || !id->listens)
		return error;
	/*
	 * After this no lcore makes a request for the old channel any more, and requests made before have been moved.
	 */
	rte_rcu_qsbr_synchronize(channel->engine->qsbr, RTE_QSBR_THRID_INVALID);
	while ((request = api_cm_pop_unread(from, id)) != NULL) {
		error = move(request, channel);
		if (error) {
			api_cm_put_back(request);
			return error;
		}
	}
	return 0;
}

/* ---- reading ---- */

int uroce_cm_next(struct uroce_cm_channel *channel, struct uroce_cm_event *event)
{
	struct uroce_cm_id *id;
	bool none;

	rte_spinlock_lock(&channel->lock);
	id = TAILQ_FIRST(&channel->queue);
	if (id) {
		*event = id->events[id->event_head++ % CONNECT_EVENTS];
		TAILQ_REMOVE(&channel->queue, id, in_queue);
		id->queued = id->event_head != id->event_tail;
		if (id->queued) /* the id's next event waits behind those of other ids */
			TAILQ_INSERT_TAIL(&channel->queue, id, in_queue);
	}
	none = id == NULL;
	quieten(channel);
	rte_spinlock_unlock(&channel->lock);
	return none ? engine_refuse_often(-EAGAIN, "channel: no event is pending", 0) : 0;
}

/* The result of one poll of each lcore that no other thread polls. */
struct turn {
	struct uroce_lcore *last; /* NULL: all lcores have threads of their own */
	unsigned count, work;
};

static struct turn poll_lcores(const struct uroce_engine *engine)
{
	struct turn turn = { 0 };

	for (unsigned i = 0; i < engine->lcore_count; i++) {
		struct uroce_lcore *lcore = engine->lcores[i];

		if (lcore_is_owned(lcore) && !lcore_is_ours(lcore))
			continue;
		turn.work += uroce_lcore_poll(lcore);
		turn.last = lcore;
		turn.count++;
	}
	return turn;
}

/* Sleeps after a turn without work, until there may be work or an event, but at most for left_ns. */
static void sleep_after(const struct turn *turn, const struct uroce_cm_channel *channel, uint64_t quiet_ns,
			uint64_t left_ns)
{
	uint64_t most_ns = SLEEP_NS;

	if (turn->count > 1)
		most_ns = NAP_OF_MANY_NS;
	else if (!uroce_lcore_wakes(turn->last))
		most_ns = RTE_MIN(RTE_MAX(quiet_ns / NAP_PART, NAP_MIN_NS), NAP_MAX_NS);
	if (quiet_ns >= SPIN_NS)
		uroce_lcore_wait(turn->last, &channel->fd, 1, RTE_MIN(most_ns, left_ns));
}

int uroce_cm_wait(struct uroce_cm_channel *channel, unsigned timeout_ms, struct uroce_cm_event *event)
{
	uint64_t now_ns = engine_now_ns(), until_ns = now_ns + timeout_ms * 1000000ull, worked_ns = now_ns;

	for (;;) {
		struct pollfd readable = { .fd = channel->fd, .events = POLLIN };
		int error = uroce_cm_next(channel, event);
		struct turn turn;

		if (error != -EAGAIN)
			return error;
		now_ns = engine_now_ns();
		if (now_ns >= until_ns)
			return engine_refuse_often(-ETIMEDOUT, "timeout_ms %u: no event arrived in that time",
						   timeout_ms);
		turn = poll_lcores(channel->engine);
		if (turn.work)
			worked_ns = now_ns;
		else if (turn.last)
			sleep_after(&turn, channel, now_ns - worked_ns, until_ns - now_ns);
		else if (poll(&readable, 1, timeout_ms < POLL_MS ? (int)timeout_ms : (int)POLL_MS) < 0)
			return engine_refuse(-errno, "cannot wait for events: %s", strerror(errno));
	}
}

/* ---- names and numbers ---- */

const char *uroce_cm_reason_name(uint16_t reason)
{
	return cm_names_reason(reason);
}

unsigned uroce_cm_counter_count(void)
{
	return CM_COUNTERS;
}

const char *uroce_cm_counter_name(unsigned index)
{
	return index < CM_COUNTERS ? cm_counter_rows[index].name : "unknown";
}

struct count {
	struct uroce_lcore *lcore;
	uint64_t *values;
	struct uroce_cm_usage *usage;
};

static int count_on_owner(void *argument)
{
	const struct count *count = argument;
	struct cm *cm = count->lcore->connect->cm;
	struct cm_usage usage;

	for (unsigned i = 0; count->values && i < CM_COUNTERS; i++)
		count->values[i] += cm_count(cm, (enum cm_counter)i);
	if (count->usage) {
		cm_usage(cm, &usage, engine_now_ns());
		count->usage->connections += usage.connections;
		count->usage->half_open += usage.half_open;
		count->usage->timewait_ids += usage.timewait_ids;
		count->usage->timers += usage.timers;
	}
	return 0;
}

static int count_all(struct uroce_engine *engine, uint64_t *values, struct uroce_cm_usage *usage)
{
	int error = 0;

	for (unsigned i = 0; i < engine->lcore_count && error == 0; i++) {
		struct count count = { engine->lcores[i], values, usage };

		if (engine->lcores[i]->connect)
			error = engine_mailbox_call(engine->lcores[i], count_on_owner, &count);
	}
	return error;
}

int uroce_cm_counters(struct uroce_engine *engine, uint64_t *values)
{
	memset(values, 0, CM_COUNTERS * sizeof(*values));
	return count_all(engine, values, NULL);
}

int uroce_cm_usage(struct uroce_engine *engine, struct uroce_cm_usage *usage)
{
	*usage = (struct uroce_cm_usage){ 0 };
	return count_all(engine, NULL, usage);
}
