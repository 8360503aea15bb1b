/* flows.h - keeps the last frames to each queue pair, in bounded memory */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A flow is the frames to one QPN at one address. One thread notes frames, while any thread may copy them out. A new
 * flow without room replaces the flow of its set of four that has been silent longest. Not a share (share.h): the
 * newest frames are those that explain a failure.
 *
 * When a QP fails its flow is held, because later frames would replace those that explain the failure.
 */
#ifndef DRIVERS_FLOWS_H
#define DRIVERS_FLOWS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#define FLOWS_FRAMES 160u     /* frames that a flow keeps */
#define FLOWS_HELD_FRAMES 16u /* frames that a held flow still takes, because the refusal leaves after the failure */
#define FLOWS_KEPT_BYTES 108u /* bytes kept of a frame: all headers, even with a VLAN tag and IPv6 */

struct drivers_flow_frame {
	uint64_t cycles;
	uint32_t frame_bytes;
	uint16_t kept_bytes;
	bool outbound;
	uint8_t data[FLOWS_KEPT_BYTES + 5];
};

struct drivers_flows;

/* Makes a table of `count` flows, a power of two. NULL: no memory. */
struct drivers_flows *drivers_flows_create(uint32_t count);
void drivers_flows_destroy(struct drivers_flows *flows);

/* Notes a frame that arrived or left when the processor's counter was `cycles`. Ignores a frame that is not RoCE. */
void drivers_flows_note(struct drivers_flows *flows, const struct rte_mbuf *mbuf, uint64_t cycles, bool outbound);

/*
 * For the thread that notes frames: holds the flow to a QPN at an address. The flow takes FLOWS_HELD_FRAMES more
 * frames, and then none until *records has reached `number`. Does nothing if there is no such flow.
 */
void drivers_flows_hold(struct drivers_flows *flows, uint32_t qp_num, const uint8_t address[16],
			const _Atomic uint32_t *records, uint32_t number);

/*
 * Copies the frames to a QPN at an address (16 bytes, IPv4 mapped), oldest first. Returns how many, at most
 * FLOWS_FRAMES.
 */
uint32_t drivers_flows_copy(const struct drivers_flows *flows, uint32_t qp_num, const uint8_t address[16],
			    struct drivers_flow_frame *frames);

#endif
