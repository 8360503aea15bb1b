/* rx_interrupt.h - interrupts of a NIC that tell a sleeping thread that a frame has come */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_RX_INTERRUPT_H
#define ENGINE_RX_INTERRUPT_H

#include <stdint.h>

/*
 * Opens a descriptor that is readable after an interrupt of the queue; -1: the port was not opened with interrupts, or
 * its driver has no interrupts.
 */
int engine_rx_interrupt_open(uint16_t port_id, uint16_t queue);
void engine_rx_interrupt_close(uint16_t port_id, uint16_t queue, int fd);

/* From now on each frame that comes raises an interrupt. Frames that have come before raise none. */
void engine_rx_interrupt_arm(uint16_t port_id, uint16_t queue);

/* No frame raises an interrupt any more; one that was raised is forgotten. */
void engine_rx_interrupt_disarm(uint16_t port_id, uint16_t queue, int fd);

#endif
