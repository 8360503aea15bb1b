/* packet_socket.h - settings of the sockets under a net_af_packet port */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DRIVERS_PACKET_SOCKET_H
#define DRIVERS_PACKET_SOCKET_H

#include <stdint.h>

/*
 * net_af_packet (22.11) gives the kernel a ring of ring_bytes to send from. If the ring is full the driver waits,
 * without a time-out, for room in the socket's send buffer. With a send buffer for the whole ring the driver never
 * waits, but reports that it takes nothing. Sets the buffers of all sockets of this process on the interface, as far as
 * the kernel allows.
 */
void drivers_packet_socket_never_wait(unsigned if_index, uint32_t ring_bytes);

#endif
