/* interface.h - the kernel's interface under a port: name, carrier, speed, and the frames it holds */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Drivers of such ports know little: net_af_packet (22.11) always reports its link as up, and takes frames that the
 * kernel then keeps. But the interface knows its carrier, and a packet socket knows how many of the bytes that it was
 * given have not left.
 */
#ifndef ENGINE_INTERFACE_H
#define ENGINE_INTERFACE_H

#include <stdbool.h>
#include <stdint.h>

#include <uroce/device.h>

#define INTERFACE_SOCKETS 16 /* queues beyond these are not watched */

/* The kernel's interface under a port. The driver owns the sockets. */
struct engine_interface {
	unsigned index; /* 0: the port has no interface, and each function below answers that nothing is wrong */
	int sockets[INTERFACE_SOCKETS];
	unsigned socket_count;
};

/* Finds the interface, and the sockets that the driver has opened on it, in the order of its queues. */
void engine_interface_find(uint16_t port_id, struct engine_interface *interface);

/* Is the interface gone, switched off, or without a carrier? */
bool engine_interface_is_down(unsigned index);

/* The longest IP packet that the interface sends, in bytes; UINT16_MAX: not known. */
uint32_t engine_interface_mtu(unsigned index);

/* The speed of the interface's link in Mbit/s; 0: not known, as of a bridge without ports. */
uint32_t engine_interface_mbps(unsigned index);

/* Writes the name of the interface; "" for index 0, and for an interface that is gone. */
void engine_interface_name(unsigned index, char name[UROCE_INTERFACE_BYTES]);

/*
 * Frames that the kernel has dropped since the last call because the ring of the queue's socket was full. The driver
 * does not read this count, so the statistics of the port lack these frames.
 */
uint64_t engine_interface_ring_drops(const struct engine_interface *interface, uint16_t queue);

/* Bytes, with the kernel's overhead, that the queue's socket was given and has not sent. */
uint64_t engine_interface_held_bytes(const struct engine_interface *interface, uint16_t queue);

#endif
