/* packet_socket.h - settings of the sockets under a net_af_packet port */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DRIVERS_PACKET_SOCKET_H
#define DRIVERS_PACKET_SOCKET_H

#include <stdint.h>

/* The ring of each socket, as the driver was told by its arguments. */
struct drivers_packet_ring {
	uint32_t block_bytes, frame_bytes, frame_count;
};

/*
 * net_af_packet puts its sockets into a fanout group, even a single one. It makes the 16 bits of the group's number
 * from process id and interface index. Processes in separate pid namespaces get the same number on the same interface,
 * and then the kernel gives each the frames of the others. With another interface the same number is refused.
 *
 * Replaces each such socket of this process on the interface by one with the same descriptor, settings and ring, mapped
 * to the same addresses: a single socket is in no group, several are in a group whose number the kernel has chosen. The
 * port has not been configured yet, so the driver is at the beginning of its rings. Sockets whose ring has another size
 * than expected are left as they are. Returns 0 or a negative errno; after an error the port must be closed.
 */
int drivers_packet_socket_regroup(unsigned if_index, const struct drivers_packet_ring *ring);

/*
 * net_af_packet (22.11) gives the kernel a ring to send from. If the ring is full the driver waits, without a time-out,
 * for room in the socket's send buffer. With a send buffer for the whole ring the driver never waits, but reports that
 * it takes nothing. Sets the buffers of all sockets of this process on the interface, as far as the kernel allows.
 */
void drivers_packet_socket_never_wait(unsigned if_index, const struct drivers_packet_ring *ring);

#endif
