/* packet_socket.h - what the sockets under a net_af_packet port have to be told */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DRIVERS_PACKET_SOCKET_H
#define DRIVERS_PACKET_SOCKET_H

#include <stdint.h>

/*
 * net_af_packet (22.11) gives the kernel a ring of ring_bytes to send, and when no place is free there, it waits for
 * room in the socket's send buffer, without a time-out. With a buffer in which the whole ring has room it never waits,
 * but says that it takes nothing. Sets that for all sockets of this process on the interface, as far as they let us.
 */
void drivers_packet_socket_never_wait(unsigned if_index, uint32_t ring_bytes);

#endif
