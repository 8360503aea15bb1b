/* interface.h - the interface of the kernel under a port: its name, cable and speed, and what it keeps */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The drivers of such ports know little: net_af_packet (22.11) calls its link up whatever happens, and takes frames
 * that the kernel then keeps. The interface knows its carrier, and a packet socket how much of what it was given is
 * still there.
 */
#ifndef ENGINE_INTERFACE_H
#define ENGINE_INTERFACE_H

#include <stdbool.h>
#include <stdint.h>

#include <uroce/device.h>

#define INTERFACE_SOCKETS 16 /* queues of a port beyond these are not looked at */

/* Of a port; the sockets are its driver's. */
struct engine_interface {
	unsigned index; /* 0: the port has none, and all questions below are answered with "nothing is wrong" */
	int sockets[INTERFACE_SOCKETS];
	unsigned socket_count;
};

/* Finds the interface, and the sockets that the driver has opened on it, in the order of its queues. */
void engine_interface_find(uint16_t port_id, struct engine_interface *interface);

/* Is it gone, switched off, or without a carrier? */
bool engine_interface_is_down(unsigned index);

/* The longest IP packet that it sends, in bytes; UINT16_MAX: it does not say. */
uint32_t engine_interface_mtu(unsigned index);

/* What its link carries, in Mbit/s; 0: it does not say, as a bridge without ports. */
uint32_t engine_interface_mbps(unsigned index);

/* "" of 0, and of one that is gone. */
void engine_interface_name(unsigned index, char name[UROCE_INTERFACE_BYTES]);

/*
 * Frames that the kernel dropped since the last call, for the ring of the queue's socket was full: the driver does not
 * ask for them, so they show in no statistics of the port.
 */
uint64_t engine_interface_ring_drops(const struct engine_interface *interface, uint16_t queue);

/* Bytes that were given to the queue's socket and have not left, with what the kernel counts besides. */
uint64_t engine_interface_held_bytes(const struct engine_interface *interface, uint16_t queue);

#endif
