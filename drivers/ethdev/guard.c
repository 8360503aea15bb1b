/* guard.c - ends a burst over shared memory that has been unmapped */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When the process at the other end of a memif dies, the driver unmaps the shared memory in EAL's interrupt thread. The
 * driver does not wait for lcores that are inside a burst at that moment, and offers no way to keep them out. So the
 * burst finds its memory gone, and the only sign of that is a SIGSEGV, whose handler jumps out of the burst. The driver
 * makes its state of a connection anew with the next connection, so nothing of the aborted burst has to be repaired.
 */
#include "drivers/ethdev/guard.h"

#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include <rte_ethdev.h>
#include <rte_spinlock.h>

static rte_spinlock_t lock = RTE_SPINLOCK_INITIALIZER;
static eth_rx_burst_t driver_rx; /* of the one driver that needs this */
static eth_tx_burst_t driver_tx;
static struct sigaction before;
static __thread sigjmp_buf *way_out; /* NULL: this thread is in no guarded burst */

static void leave_burst(int number, siginfo_t *info, void *context)
{
	if (way_out)
		siglongjmp(*way_out, 1);
	if (before.sa_flags & SA_SIGINFO) {
		before.sa_sigaction(number, info, context);
	} else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
		before.sa_handler(number);
	} else {
		/*
		 * The instruction runs and faults again, so that a core dump shows it; a signal sent by kill() is
		 * raised again.
		 */
		sigaction(number, &before, NULL);
		if (info->si_code <= 0)
			raise(number);
	}
}

static uint16_t receive(void *queue, struct rte_mbuf **frames, uint16_t count)
{
	sigjmp_buf here;
	uint16_t got;

	if (sigsetjmp(here, 0)) {
		way_out = NULL;
		return 0;
	}
	way_out = &here;
	got = driver_rx(queue, frames, count);
	way_out = NULL;
	return got;
}

/* After a jump out of the driver's burst nobody knows which of its frames are freed, so all count as sent. */
static uint16_t transmit(void *queue, struct rte_mbuf **frames, uint16_t count)
{
	sigjmp_buf here;
	uint16_t sent;

	if (sigsetjmp(here, 0)) {
		way_out = NULL;
		return count;
	}
	way_out = &here;
	sent = driver_tx(queue, frames, count);
	way_out = NULL;
	return sent;
}

static void catch_faults(void)
{
	struct sigaction ours = { .sa_sigaction = leave_burst, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK };
	struct sigaction now;

	sigaction(SIGSEGV, NULL, &now);
	if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == leave_burst)
		return;
	before = now;
	sigaction(SIGSEGV, &ours, NULL);
}

void drivers_guard_bursts(uint16_t port_id)
{
	struct rte_eth_fp_ops *port = &rte_eth_fp_ops[port_id];

	rte_spinlock_lock(&lock);
	if (driver_rx == NULL) {
		driver_rx = port->rx_pkt_burst;
		driver_tx = port->tx_pkt_burst;
	}
	/* A port that shares its mbufs (zero-copy=yes) has bursts of its own, which are not guarded. */
	if (port->rx_pkt_burst == driver_rx && port->tx_pkt_burst == driver_tx) {
		catch_faults();
		port->rx_pkt_burst = receive;
		port->tx_pkt_burst = transmit;
	}
	rte_spinlock_unlock(&lock);
}
