/* flows.h - the last frames to each queue pair, in bounded memory */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A flow is what goes to one QPN at one address. One thread notes frames; any thread may copy them out meanwhile. When
 * there is no place for a new flow, the one of four that has been silent longest makes room.
 *
 * A flow is held when its QP has failed, for what comes behind would push out what the failure is about.
 */
#ifndef DRIVERS_FLOWS_H
#define DRIVERS_FLOWS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#define FLOWS_FRAMES 160u     /* of a flow */
#define FLOWS_HELD_FRAMES 16u /* that one takes yet when it is held: a refusal leaves after the failure */
#define FLOWS_KEPT_BYTES 108u /* of a frame: all headers, even behind a VLAN tag and IPv6 */

struct drivers_flow_frame {
	uint64_t cycles;
	uint32_t frame_bytes;
	uint16_t kept_bytes;
	bool outbound;
	uint8_t data[FLOWS_KEPT_BYTES + 5];
};

struct drivers_flows;

/* So many flows, a power of two. NULL: no memory. */
struct drivers_flows *drivers_flows_create(uint32_t count);
void drivers_flows_destroy(struct drivers_flows *flows);

/* Notes a frame that arrived or leaves at that time; does nothing with one that is no RoCE. */
void drivers_flows_note(struct drivers_flows *flows, const struct rte_mbuf *mbuf, uint64_t cycles, bool outbound);

/*
 * By the thread that notes: what goes to a QPN at an address is noted FLOWS_HELD_FRAMES times more, and then not until
 * *records has come to number. Nothing when there is no such flow.
 */
void drivers_flows_hold(struct drivers_flows *flows, uint32_t qp_num, const uint8_t address[16],
			const _Atomic uint32_t *records, uint32_t number);

/*
 * The frames to a QPN at an address (16 bytes, IPv4 mapped into IPv6), the oldest first. Returns how many, at most
 * FLOWS_FRAMES.
 */
uint32_t drivers_flows_copy(const struct drivers_flows *flows, uint32_t qp_num, const uint8_t address[16],
			    struct drivers_flow_frame *frames);

#endif
