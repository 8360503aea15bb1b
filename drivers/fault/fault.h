/* fault.h - a bad link: frames that a port receives are lost, doubled, late or damaged, by chance and seed */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   1. drivers_fault_attach() to the receiving end of the link, before any lcore polls it
 *   2. run; drivers_fault_counts() at any time, exact when no lcore polls
 *   3. drivers_fault_detach() when no lcore polls the port any more, before its pool goes
 * It works on rx callbacks, so with any driver. Any frame is hit, neighbour resolution too (that repeats itself);
 * only damage is limited to IP frames, because ARP has no checksum and a real link's own one would have
 * caught it. What happens to the n-th frame of a queue depends on the seed and n only.
 */
#ifndef DRIVERS_FAULT_H
#define DRIVERS_FAULT_H

#include "drivers/ethdev/ethdev.h"

/* Probabilities 0 ... 1, each drawn for itself: a frame may be damaged and doubled. */
struct drivers_fault_config {
	double loss;      /* the frame vanishes */
	double duplicate; /* a copy follows it at once */
	double reorder;   /* it comes up to 8 frames late, or after some polls when no other follows */
	double corrupt;   /* one bit of it is flipped, anywhere in the frame */
	uint64_t seed;
	struct rte_mempool *pool; /* for copies: room for the port's longest frame */
};

struct drivers_fault_counts {
	uint64_t frames; /* that came from the port */
	uint64_t lost, duplicated, reordered, corrupted;
	uint64_t not_copied; /* copies that the pool had no mbuf for: the frame passed as it was */
};

struct drivers_fault;

/* 0; -EINVAL: a probability is not one; -ENOMEM; -ENOTSUP. */
int drivers_fault_attach(const struct drivers_ethdev *port, const struct drivers_fault_config *config,
			 struct drivers_fault **fault, struct uroce_error *error);

/*
 * From now on these probabilities count, and no others; seed and pool stay. Any thread, at any time. 0, or -EINVAL and
 * nothing has changed.
 */
int drivers_fault_set(struct drivers_fault *fault, const struct drivers_fault_config *config,
		      struct uroce_error *error);

/* From now on every frame is lost, as by a pulled cable; or passes again by chance. Any thread, at any time. */
void drivers_fault_cut(struct drivers_fault *fault, bool cut);

/*
 * The nth frame from now on (1: the next) is lost, of those that each queue receives with min_bytes or more; all goes
 * its way again behind it. By the thread that polls. Nothing is drawn for that frame.
 */
void drivers_fault_lose_nth(struct drivers_fault *fault, uint32_t nth, uint32_t min_bytes);

void drivers_fault_counts(const struct drivers_fault *fault, struct drivers_fault_counts *counts);

/* Frees the frames it still holds, then itself. NULL is fine. */
void drivers_fault_detach(struct drivers_fault *fault);

#endif
