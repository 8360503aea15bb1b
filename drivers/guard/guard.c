/* guard.c - the handler of SIGSEGV and SIGBUS, and bursts that it can end */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When the process at the other end of a memif dies, the driver unmaps the shared memory in EAL's interrupt thread. The
 * driver does not wait for lcores that are inside a burst at that moment, and offers no way to keep them out. So the
 * burst finds its memory gone, and the only sign of that is a SIGSEGV, whose handler jumps out of the burst. The driver
 * makes its state of a connection anew with the next connection, so nothing of the aborted burst has to be repaired.
 */
#include "drivers/guard/guard.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>

#include <rte_ethdev.h>
#include <rte_spinlock.h>

#include <uroce/mr.h>

static rte_spinlock_t lock = RTE_SPINLOCK_INITIALIZER;
static eth_rx_burst_t driver_rx; /* of the one driver that needs this */
static eth_tx_burst_t driver_tx;
static struct sigaction chained[2];       /* the program's handlers of SIGSEGV and of SIGBUS */
static __thread sigjmp_buf *end_of_burst; /* NULL: this thread is in no guarded burst */

static void restore_default(int number)
{
	const struct sigaction none = { .sa_handler = SIG_DFL };

	if (uroce_chain_signal)
		uroce_chain_signal(number, &none, NULL);
	else
		sigaction(number, &none, NULL);
}

/* Calls a handler of the program as the kernel would: with the signals blocked that it wants blocked. */
static void call_handler(int number, const struct sigaction *handler, siginfo_t *info, void *context)
{
	sigset_t blocked = handler->sa_mask, before;

	if (!(handler->sa_flags & SA_NODEFER))
		sigaddset(&blocked, number);
	pthread_sigmask(SIG_BLOCK, &blocked, &before);
	if (handler->sa_flags & SA_SIGINFO)
		handler->sa_sigaction(number, info, context);
	else
		handler->sa_handler(number);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/*
 * Without a handler of the program the instruction runs and faults again, so that a core dump shows it; a signal sent
 * by kill() is raised again. A program that ignores the signal ignores only those of kill(), as without us.
 */
static void pass_on(int number, siginfo_t *info, void *context)
{
	struct sigaction *next = &chained[number == SIGBUS], handler = *next;
	bool sent = info->si_code <= 0;

	if (handler.sa_handler == SIG_IGN && sent)
		return;
	if (handler.sa_handler == SIG_DFL || handler.sa_handler == SIG_IGN) {
		restore_default(number);
		if (sent)
			raise(number);
		return;
	}
	if (handler.sa_flags & SA_RESETHAND)
		*next = (struct sigaction){ .sa_handler = SIG_DFL };
	call_handler(number, &handler, info, context);
}

static void take_fault(int number, siginfo_t *info, void *context)
{
	if (info->si_code > 0 && end_of_burst)
		siglongjmp(*end_of_burst, 1);
	if (info->si_code > 0)
		uroce_memory_fault(info->si_addr);
	pass_on(number, info, context);
}

/* Installs the handler unless it is the present one. */
static void catch_signal(int number)
{
	struct sigaction ours = { .sa_sigaction = take_fault, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK };
	struct sigaction present;

	if (uroce_chain_signal) {
		uroce_chain_signal(number, &ours, &chained[number == SIGBUS]);
		return;
	}
	sigaction(number, NULL, &present);
	if ((present.sa_flags & SA_SIGINFO) && present.sa_sigaction == take_fault)
		return;
	chained[number == SIGBUS] = present;
	sigaction(number, &ours, NULL);
}

void uroce_guard_install(void)
{
	rte_spinlock_lock(&lock);
	catch_signal(SIGSEGV);
	catch_signal(SIGBUS);
	rte_spinlock_unlock(&lock);
}

static uint16_t receive(void *queue, struct rte_mbuf **frames, uint16_t count)
{
	sigjmp_buf here;
	uint16_t got;

	if (sigsetjmp(here, 0)) {
		end_of_burst = NULL;
		return 0;
	}
	end_of_burst = &here;
	got = driver_rx(queue, frames, count);
	end_of_burst = NULL;
	return got;
}

/* After a jump out of the driver's burst nobody knows which of its frames are freed, so all count as sent. */
static uint16_t transmit(void *queue, struct rte_mbuf **frames, uint16_t count)
{
	sigjmp_buf here;
	uint16_t sent;

	if (sigsetjmp(here, 0)) {
		end_of_burst = NULL;
		return count;
	}
	end_of_burst = &here;
	sent = driver_tx(queue, frames, count);
	end_of_burst = NULL;
	return sent;
}

void drivers_guard_bursts(uint16_t port_id)
{
	struct rte_eth_fp_ops *port = &rte_eth_fp_ops[port_id];
	bool guarded;

	rte_spinlock_lock(&lock);
	if (driver_rx == NULL) {
		driver_rx = port->rx_pkt_burst;
		driver_tx = port->tx_pkt_burst;
	}
	/* A port that shares its mbufs (zero-copy=yes) has bursts of its own, which are not guarded. */
	guarded = port->rx_pkt_burst == driver_rx && port->tx_pkt_burst == driver_tx;
	if (guarded) {
		port->rx_pkt_burst = receive;
		port->tx_pkt_burst = transmit;
	}
	rte_spinlock_unlock(&lock);
	if (guarded)
		uroce_guard_install();
}
