/* tap.h - shows the frames of a port, received and sent, to a recorder and to a live capture */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   1. drivers_tap_attach(), before lcores poll the port or meanwhile
 *   2. drivers_tap_record() once, or drivers_tap_stream() now and then
 *   3. drivers_tap_detach() when no lcore polls the port any more
 * A received frame is seen behind the faults that are injected at the port. A sent frame is seen once, when it is first
 * offered to the port.
 */
#ifndef DRIVERS_TAP_H
#define DRIVERS_TAP_H

#include "drivers/capture/flows.h"
#include "drivers/ethdev/ethdev.h"

struct drivers_tap;

/* The pool and the ring for copies of frames. A struct drivers_stream_frame precedes the data of each mbuf. */
struct drivers_stream {
	struct rte_mempool *pool; /* each mbuf has a private area for a struct drivers_stream_frame */
	struct rte_ring *ring;
	uint32_t kept_bytes; /* the most that is kept of a frame */
	_Atomic uint64_t lost;
};

struct drivers_stream_frame {
	uint64_t cycles;
	uint32_t frame_bytes;
	uint16_t port_id;
	bool outbound;
};

/* Returns 0, -ENOMEM or -ENOTSUP. */
int drivers_tap_attach(const struct drivers_ethdev *port, struct drivers_tap **tap, struct uroce_error *error);
/* tap may be NULL. */
void drivers_tap_detach(struct drivers_tap *tap);

/*
 * From now on the last frames of each flow are kept, and flows of QPs of the engine that fail are held until the
 * failures are recorded. Returns 0 or -ENOMEM.
 */
int drivers_tap_record(struct drivers_tap *tap, const struct uroce_engine *engine);
/*
 * Tells the tap that the failures of an lcore have been recorded up to this number, as uroce_inspect_failed() counts.
 */
void drivers_tap_recorded(struct drivers_tap *tap, unsigned lcore, uint32_t count);
/* drivers_flows_copy() for all queues: `frames` must have room for FLOWS_FRAMES of each queue. */
uint32_t drivers_tap_copy(const struct drivers_tap *tap, bool outbound, uint32_t qp_num, const uint8_t address[16],
			  struct drivers_flow_frame *frames);
uint32_t drivers_tap_queues(const struct drivers_tap *tap);

/*
 * From now on copies of frames are passed to this stream, the only one of the tap; NULL: to none. Returns true if the
 * old stream is not used any more, false if an lcore was still using it after a second.
 */
bool drivers_tap_stream(struct drivers_tap *tap, struct drivers_stream *stream);

#endif
