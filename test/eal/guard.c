/* guard.c - a burst whose memory is unmapped under it ends, and every other fault stays what it was */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "drivers/guard/guard.h"
#include "drivers/loop/loop.h"
#include "start.h"

TestSuite(guard, .init = test_eal_start);

static struct drivers_loop loop;
static eth_rx_burst_t loop_rx;
static eth_tx_burst_t loop_tx;
static volatile uint32_t *shared; /* what both bursts touch, as those of memif touch their rings */

static uint16_t receive(void *queue, struct rte_mbuf **frames, uint16_t count)
{
	(void)*shared;
	return loop_rx(queue, frames, count);
}

static uint16_t transmit(void *queue, struct rte_mbuf **frames, uint16_t count)
{
	*shared = count;
	return loop_tx(queue, frames, count);
}

static void map(int protection)
{
	void *where = mmap((void *)(uintptr_t)shared, 4096, protection,
			   MAP_PRIVATE | MAP_ANONYMOUS | (shared ? MAP_FIXED : 0), -1, 0);

	cr_assert_neq(where, MAP_FAILED);
	shared = where;
}

static void open_guarded(void)
{
	struct drivers_loop_config config = { .queue_count = 1 };
	struct rte_eth_fp_ops *port;
	struct uroce_error error;

	cr_assert_eq(drivers_loop_open(&config, &loop, &error), 0, "%s", error.text);
	map(PROT_READ | PROT_WRITE);
	port = &rte_eth_fp_ops[loop.ports[0].port_id];
	loop_rx = port->rx_pkt_burst;
	loop_tx = port->tx_pkt_burst;
	port->rx_pkt_burst = receive;
	port->tx_pkt_burst = transmit;
	drivers_guard_bursts(loop.ports[0].port_id);
}

static uint16_t send_one(struct rte_mbuf **frame)
{
	*frame = test_frame_create(loop.pool, 1, 64);
	return rte_eth_tx_burst(loop.ports[0].port_id, 0, frame, 1);
}

Test(guard, guarded_bursts_pass_frames)
{
	struct rte_mbuf *frame;

	open_guarded();
	cr_expect_eq(send_one(&frame), 1);
	cr_assert_eq(rte_eth_rx_burst(loop.ports[1].port_id, 0, &frame, 1), 1);
	cr_assert_eq(rte_eth_tx_burst(loop.ports[1].port_id, 0, &frame, 1), 1);
	cr_assert_eq(rte_eth_rx_burst(loop.ports[0].port_id, 0, &frame, 1), 1);
	cr_expect_eq(test_frame_number(frame), 1);
	rte_pktmbuf_free(frame);
	drivers_loop_close(&loop);
}

Test(guard, bursts_without_memory_end_and_the_next_connection_works)
{
	struct rte_mbuf *frame, *lost;

	open_guarded();
	map(PROT_NONE);
	for (unsigned i = 0; i < 3; i++) {
		cr_expect_eq(rte_eth_rx_burst(loop.ports[0].port_id, 0, &frame, 1), 0);
		cr_expect_eq(send_one(&lost), 1, "its frame is not to be touched again");
		rte_pktmbuf_free(lost);
	}
	map(PROT_READ | PROT_WRITE);
	cr_expect_eq(send_one(&frame), 1);
	cr_assert_eq(rte_eth_rx_burst(loop.ports[1].port_id, 0, &frame, 1), 1);
	rte_pktmbuf_free(frame);
	drivers_loop_close(&loop);
}

Test(guard, fault_outside_of_bursts_kills_the_process, .signal = SIGSEGV)
{
	open_guarded();
	map(PROT_NONE);
	(void)*shared;
}

Test(guard, sent_sigsegv_kills_the_process, .signal = SIGSEGV)
{
	open_guarded();
	raise(SIGSEGV);
}

static void note(int number)
{
	(void)number;
	_exit(7);
}

Test(guard, earlier_fault_handler_is_still_called, .exit_code = 7)
{
	signal(SIGSEGV, note);
	open_guarded();
	map(PROT_NONE);
	(void)*shared;
}

/* A handler that replaced ours is called, after another install. */
Test(guard, handler_installed_later_is_called, .exit_code = 7)
{
	open_guarded();
	signal(SIGSEGV, note);
	uroce_guard_install();
	uroce_guard_install();
	map(PROT_NONE);
	(void)*shared;
}

Test(guard, handler_installed_later_leaves_bursts_guarded)
{
	struct rte_mbuf *frame;

	open_guarded();
	signal(SIGSEGV, note);
	uroce_guard_install();
	map(PROT_NONE);
	cr_expect_eq(rte_eth_rx_burst(loop.ports[0].port_id, 0, &frame, 1), 0);
	drivers_loop_close(&loop);
}

Test(guard, bus_error_reaches_the_handler_of_the_program, .exit_code = 7)
{
	signal(SIGBUS, note);
	open_guarded();
	raise(SIGBUS);
}

static volatile sig_atomic_t calls;

static void fault_again(int number)
{
	(void)number;
	if (++calls > 1)
		_exit(8);
	(void)*shared;
}

/* As the kernel does it: the signal is blocked in its handler, so a fault there ends the process. */
Test(guard, fault_in_the_handler_of_the_program_kills, .signal = SIGSEGV)
{
	signal(SIGSEGV, fault_again);
	open_guarded();
	map(PROT_NONE);
	(void)*shared;
}

Test(guard, handler_with_resethand_is_called_once, .signal = SIGSEGV)
{
	struct sigaction once = { .sa_handler = fault_again, .sa_flags = (int)SA_RESETHAND | SA_NODEFER };

	sigaction(SIGSEGV, &once, NULL);
	open_guarded();
	map(PROT_NONE);
	(void)*shared;
}

Test(guard, ignored_signal_that_was_sent_is_ignored)
{
	signal(SIGSEGV, SIG_IGN);
	open_guarded();
	raise(SIGSEGV);
	drivers_loop_close(&loop);
}
