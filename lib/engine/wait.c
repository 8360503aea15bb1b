/* wait.c - lets a thread that polls an lcore itself sleep until there may be work */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A wait ends when a frame has come to a port that has a descriptor or interrupts, when a descriptor of the caller is
 * readable, when another thread has added to a ring of the lcore, and when the next timer is due. It ends at once while
 * the port has not taken all frames, because no descriptor tells when it can.
 */
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <rte_common.h>
#include <rte_ring.h>

#include <uroce/device.h>

#include "engine/away.h"
#include "engine/clock.h"
#include "engine/connect.h"
#include "engine/device_state.h"
#include "engine/lcore_state.h"
#include "engine/pipeline.h"
#include "engine/port_state.h"
#include "engine/run_queue.h"
#include "engine/rx_interrupt.h"
#include "engine/wheel.h"

#define WAIT_FDS 16u /* descriptors of the caller */
#define S_NS 1000000000ull

/* The descriptor that is readable when a frame has come to the lcore's queue of the port; -1: there is none. */
static int port_fd(const struct engine_port *port)
{
	const struct engine_interface *interface = &port->device->interface;

	return port->queue < interface->socket_count ? interface->sockets[port->queue] : port->rx_interrupt;
}

/* From now on frames raise interrupts at ports that have interrupts. Returns whether there is such a port. */
static bool arm_interrupts(const struct uroce_lcore *lcore)
{
	bool armed = false;

	for (unsigned i = 0; i < lcore->port_count; i++) {
		const struct engine_port *port = lcore->ports[i];

		if (port->rx_interrupt >= 0) {
			engine_rx_interrupt_arm(port->device->port_id, port->queue);
			armed = true;
		}
	}
	return armed;
}

static void disarm_interrupts(const struct uroce_lcore *lcore)
{
	for (unsigned i = 0; i < lcore->port_count; i++) {
		const struct engine_port *port = lcore->ports[i];

		if (port->rx_interrupt >= 0)
			engine_rx_interrupt_disarm(port->device->port_id, port->queue, port->rx_interrupt);
	}
}

bool uroce_lcore_wakes(const struct uroce_lcore *lcore)
{
	for (unsigned i = 0; i < lcore->port_count; i++) {
		if (port_fd(lcore->ports[i]) < 0)
			return false;
	}
	return true;
}

static bool has_work(const struct uroce_lcore *lcore)
{
	bool work = run_queue_count(&lcore->run_queue) || !rte_ring_empty(lcore->doorbells) ||
		    !rte_ring_empty(lcore->mailbox) || !rte_ring_empty(lcore->handover);

	for (unsigned i = 0; i < lcore->port_count; i++)
		work = work || lcore->ports[i]->pending_count || run_queue_count(&lcore->ports[i]->run_queue);
	return work;
}

/* Returns when the lcore has to be polled next even if no frame comes. */
static uint64_t next_deadline(const struct uroce_lcore *lcore)
{
	const struct engine_connect *connect = lcore->connect;
	uint64_t when_ns = engine_wheel_next_ns(&lcore->wheel);

	if (!LIST_EMPTY(&lcore->unresolved) || !LIST_EMPTY(&lcore->uds_waiting))
		when_ns = RTE_MIN(when_ns, lcore->resolve_ns);
	if (connect)
		when_ns = RTE_MIN(when_ns, cm_deadline(connect->cm));
	if (connect && !LIST_EMPTY(&connect->with_qp_events))
		when_ns = 0;
	if (connect && !TAILQ_EMPTY(&connect->resolving))
		when_ns = RTE_MIN(when_ns, connect->resolve_ns);
	return when_ns;
}

/* When an interface goes down its socket has an error, which would end each wait until somebody reads it. */
static void take_errors(const struct pollfd *waits, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		int error;
		socklen_t bytes = sizeof(error);

		if (waits[i].revents & POLLERR)
			getsockopt(waits[i].fd, SOL_SOCKET, SO_ERROR, &error, &bytes);
	}
}

static void sleep_for(struct uroce_lcore *lcore, const int *fds, unsigned fd_count, uint64_t most_ns)
{
	struct pollfd waits[ENGINE_DEVICES + WAIT_FDS + 1];
	uint64_t now_ns = engine_now_ns(), deadline_ns = next_deadline(lcore);
	struct timespec time;
	unsigned count = 0;
	eventfd_t woken;

	if (deadline_ns <= now_ns)
		return;
	most_ns = RTE_MIN(most_ns, deadline_ns - now_ns);
	for (unsigned i = 0; i < lcore->port_count; i++)
		waits[count++] = (struct pollfd){ .fd = port_fd(lcore->ports[i]), .events = POLLIN };
	for (unsigned i = 0; i < RTE_MIN(fd_count, WAIT_FDS); i++)
		waits[count++] = (struct pollfd){ .fd = fds[i], .events = POLLIN };
	waits[count++] = (struct pollfd){ .fd = lcore->wake_fd, .events = POLLIN };
	away_expect_sleep(lcore);
	time = (struct timespec){ (time_t)(most_ns / S_NS), (long)(most_ns % S_NS) };
	atomic_store_explicit(&lcore->asleep, true, memory_order_relaxed);
	/* K1: `asleep` is set before we read the rings; pairs with lcore_wake() */
	atomic_thread_fence(memory_order_seq_cst);
	if (!has_work(lcore) && ppoll(waits, count, &time, NULL) > 0) {
		take_errors(waits, lcore->port_count);
		eventfd_read(lcore->wake_fd, &woken);
	}
	atomic_store_explicit(&lcore->asleep, false, memory_order_relaxed);
}

/* A thread of the application needs a landing for memory faults during this poll; threads of EAL have one already. */
static unsigned poll_once(struct uroce_lcore *lcore)
{
	return lcore->lcore_id == LCORE_ID_ANY ? engine_pipeline_poll_landing(lcore) : engine_pipeline_poll(lcore);
}

void uroce_lcore_wait(struct uroce_lcore *lcore, const int *fds, unsigned fd_count, uint64_t most_ns)
{
	bool armed;

	if (next_deadline(lcore) <= engine_now_ns() || has_work(lcore))
		return;
	armed = arm_interrupts(lcore);
	/* A frame that came before interrupts were on raises none. */
	if (!armed || poll_once(lcore) == 0)
		sleep_for(lcore, fds, fd_count, most_ns);
	if (armed)
		disarm_interrupts(lcore);
}
