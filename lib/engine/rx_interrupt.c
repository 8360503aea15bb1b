/* rx_interrupt.c - interrupts of a NIC that tell a sleeping thread that a frame has come */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How an interrupt descriptor has to be read depends on the kernel driver that gives the NIC to DPDK. DPDK's epoll
 * functions know the right way, and a thread can wait for an epoll descriptor beside other descriptors.
 */
#include "engine/rx_interrupt.h"

#include <unistd.h>

#include <sys/epoll.h>

#include <rte_epoll.h>
#include <rte_ethdev.h>
#include <rte_interrupts.h>

static bool has_interrupts(uint16_t port_id)
{
	struct rte_eth_conf conf;

	return rte_eth_dev_conf_get(port_id, &conf) == 0 && conf.intr_conf.rxq;
}

int engine_rx_interrupt_open(uint16_t port_id, uint16_t queue)
{
	int fd;

	if (!has_interrupts(port_id))
		return -1;
	fd = epoll_create1(EPOLL_CLOEXEC);
	if (fd < 0)
		return -1;
	/* Some drivers have descriptors, but cannot turn interrupts on. */
	if (rte_eth_dev_rx_intr_ctl_q(port_id, queue, fd, RTE_INTR_EVENT_ADD, NULL) == 0) {
		if (rte_eth_dev_rx_intr_enable(port_id, queue) == 0 && rte_eth_dev_rx_intr_disable(port_id, queue) == 0)
			return fd;
		rte_eth_dev_rx_intr_ctl_q(port_id, queue, fd, RTE_INTR_EVENT_DEL, NULL);
	}
	close(fd);
	return -1;
}

void engine_rx_interrupt_close(uint16_t port_id, uint16_t queue, int fd)
{
	if (fd < 0)
		return;
	rte_eth_dev_rx_intr_ctl_q(port_id, queue, fd, RTE_INTR_EVENT_DEL, NULL);
	close(fd);
}

void engine_rx_interrupt_arm(uint16_t port_id, uint16_t queue)
{
	rte_eth_dev_rx_intr_enable(port_id, queue);
}

void engine_rx_interrupt_disarm(uint16_t port_id, uint16_t queue, int fd)
{
	struct rte_epoll_event event;

	rte_eth_dev_rx_intr_disable(port_id, queue);
	rte_epoll_wait(fd, &event, 1, 0);
}
