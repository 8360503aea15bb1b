/* fault.h - imitates a bad link: received frames are lost, doubled, delayed or damaged, by chance and seed */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   1. drivers_fault_attach() to the receiving end of the link, before any lcore polls it
 *   2. run; drivers_fault_counts() at any time, exact while no lcore polls
 *   3. drivers_fault_detach() when no lcore polls the port any more, before its pool is freed
 * It uses rx callbacks, so it works with any driver. Every frame may be hit, even one of neighbour resolution, which is
 * repeated. Only damage is limited to IP frames: ARP has no checksum, and the checksum of a real link would have found
 * the damage. The fate of the n-th frame of a queue depends on the seed and n only.
 */
#ifndef DRIVERS_FAULT_H
#define DRIVERS_FAULT_H

#include "drivers/ethdev/ethdev.h"

/* Probabilities from 0 to 1, independent of each other: a frame may be both damaged and doubled. */
struct drivers_fault_config {
	double loss;      /* the frame vanishes */
	double duplicate; /* a copy follows it at once */
	double reorder;   /* the frame arrives up to 8 frames late, or after some polls when none follows */
	double corrupt;   /* one bit is flipped, anywhere in the frame */
	uint64_t seed;
	struct rte_mempool *pool; /* for copies: room for the port's longest frame */
};

struct drivers_fault_counts {
	uint64_t frames; /* frames received by the port */
	uint64_t lost, duplicated, reordered, corrupted;
	uint64_t not_copied; /* copies not made because the pool was empty */
};

struct drivers_fault;

/* Returns 0; -EINVAL: a probability is out of range; -ENOMEM; -ENOTSUP. */
int drivers_fault_attach(const struct drivers_ethdev *port, const struct drivers_fault_config *config,
			 struct drivers_fault **fault, struct uroce_error *error);

/*
 * Replaces the probabilities; seed and pool stay. Any thread may call it at any time. Returns 0, or -EINVAL with
 * nothing changed.
 */
int drivers_fault_set(struct drivers_fault *fault, const struct drivers_fault_config *config,
		      struct uroce_error *error);

/*
 * cut: from now on every frame is lost, as with a pulled cable; else the probabilities count again. Any thread may call
 * it at any time.
 */
void drivers_fault_cut(struct drivers_fault *fault, bool cut);

/*
 * The nth frame from now on (1: the next one) with min_bytes or more is lost, in each queue; frames behind it are not
 * affected. For the thread that polls. No random numbers are used for that frame.
 */
void drivers_fault_lose_nth(struct drivers_fault *fault, uint32_t nth, uint32_t min_bytes);

void drivers_fault_counts(const struct drivers_fault *fault, struct drivers_fault_counts *counts);

/* Frees the frames that `fault` holds, then `fault` itself. fault may be NULL. */
void drivers_fault_detach(struct drivers_fault *fault);

#endif
