/* tap.h - sees the frames of a port as they come and go, for a recorder and for a live capture */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   1. drivers_tap_attach(), while lcores poll the port or before
 *   2. drivers_tap_record() once, or drivers_tap_stream() now and then
 *   3. drivers_tap_detach() when no lcore polls the port any more
 * A frame is seen where the port gives it, behind the faults that are put on the port; and once when it leaves, even
 * if the port does not take it at once.
 */
#ifndef DRIVERS_TAP_H
#define DRIVERS_TAP_H

#include "drivers/capture/flows.h"
#include "drivers/ethdev/ethdev.h"

struct drivers_tap;

/* Where copies of frames go: each has what it was before its data. */
struct drivers_stream {
	struct rte_mempool *pool; /* with a private area of a struct drivers_stream_frame */
	struct rte_ring *ring;
	uint32_t kept_bytes; /* of a frame, at most */
	_Atomic uint64_t lost;
};

struct drivers_stream_frame {
	uint64_t cycles;
	uint32_t frame_bytes;
	uint16_t port_id;
	bool outbound;
};

/* 0; -ENOMEM; -ENOTSUP. */
int drivers_tap_attach(const struct drivers_ethdev *port, struct drivers_tap **tap, struct uroce_error *error);
/* NULL is fine. */
void drivers_tap_detach(struct drivers_tap *tap);

/*
 * From now on the last frames of each flow are kept, and those of the engine's QPs that fail are held until they are
 * recorded. 0 or -ENOMEM.
 */
int drivers_tap_record(struct drivers_tap *tap, const struct uroce_engine *engine);
/* The failures of an lcore are recorded up to this place, as uroce_inspect_failed() counts them. */
void drivers_tap_recorded(struct drivers_tap *tap, unsigned lcore, uint32_t place);
/* As drivers_flows_copy(), of all queues: frames must have room for FLOWS_FRAMES of each queue. */
uint32_t drivers_tap_copy(const struct drivers_tap *tap, bool outbound, uint32_t qp_num, const uint8_t address[16],
			  struct drivers_flow_frame *frames);
uint32_t drivers_tap_queues(const struct drivers_tap *tap);

/*
 * From now on copies go to this stream; to none with NULL, and nothing of the old one is used any more when this
 * returns true. False: after a second an lcore was still at it. One stream at a time.
 */
bool drivers_tap_stream(struct drivers_tap *tap, struct drivers_stream *stream);

#endif
