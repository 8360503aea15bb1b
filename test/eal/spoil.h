/* spoil.h - rx callbacks that spoil the frames that a port receives, for rte_eth_add_rx_callback() */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_EAL_SPOIL_H
#define TEST_EAL_SPOIL_H

#include <rte_ethdev.h>

/* Drops each frame of more bytes than the argument, as a switch whose MTU is too small. */
uint16_t spoil_drop_long(uint16_t port, uint16_t queue, struct rte_mbuf **mbufs, uint16_t count, uint16_t most,
			 void *limit);
/* The response to a READ of one packet then says that it is one in the middle of several. */
uint16_t spoil_break_responses(uint16_t port, uint16_t queue, struct rte_mbuf **mbufs, uint16_t count, uint16_t most,
			       void *unused);
/* An ACK then says that its packet is missing. */
uint16_t spoil_make_naks(uint16_t port, uint16_t queue, struct rte_mbuf **mbufs, uint16_t count, uint16_t most,
			 void *unused);
/* Each frame has passed a switch that was about to drop, and marked it instead. */
uint16_t spoil_mark_congestion(uint16_t port, uint16_t queue, struct rte_mbuf **mbufs, uint16_t count, uint16_t most,
			       void *unused);
/* A bit of each RoCE frame is wrong. */
uint16_t spoil_damage(uint16_t port, uint16_t queue, struct rte_mbuf **mbufs, uint16_t count, uint16_t most,
		      void *unused);
/* Each RoCE frame is of another partition, of another VLAN, or from another address than before. */
uint16_t spoil_change_pkey(uint16_t port, uint16_t queue, struct rte_mbuf **mbufs, uint16_t count, uint16_t most,
			   void *unused);
uint16_t spoil_tag(uint16_t port, uint16_t queue, struct rte_mbuf **mbufs, uint16_t count, uint16_t most, void *unused);
uint16_t spoil_change_source(uint16_t port, uint16_t queue, struct rte_mbuf **mbufs, uint16_t count, uint16_t most,
			     void *unused);

#endif
