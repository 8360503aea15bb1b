/* stats.h - counters of a device and of a QP, by the names that RDMA users know */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters are rows: uroce_counter_name(i) and uroce_counter_text(i) describe values[i]. QP counters are the
 * rows below uroce_qp_counter_count(); a device sums those of its QPs (destroyed ones included) and adds the drops.
 *
 * Threads: any thread may call at any time.
 */
#ifndef UROCE_STATS_H
#define UROCE_STATS_H

#include <uroce/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define UROCE_COUNTERS_MAX 128

struct uroce_stats {
	uint32_t count;
	uint64_t values[UROCE_COUNTERS_MAX];
	/* of a device: frames and bytes that lcores saw; of a QP: 0 */
	uint64_t rx_frames, tx_frames, rx_bytes, tx_bytes;
};

/* Returns how many counters a device has. */
UROCE_API uint32_t uroce_counter_count(void);
/* Returns how many counters a QP has: the first ones of a device. */
UROCE_API uint32_t uroce_qp_counter_count(void);
/* Returns a counter's name, "out_of_sequence"; NULL past the last counter. */
UROCE_API const char *uroce_counter_name(uint32_t index);
/* Returns what a counter counts, as a sentence; NULL past the last counter. */
UROCE_API const char *uroce_counter_text(uint32_t index);
/* Returns the index of a name, or -ENOENT. */
UROCE_API int uroce_counter_find(const char *name);

/* Fills in *stats with the device's counters. Counters of an lcore that is not polled for 10 s are missing. */
UROCE_API void uroce_device_stats(struct uroce_device *device, struct uroce_stats *stats);
/* Fills in *stats with the QP's counters. Returns 0; -ETIMEDOUT: the QP's lcore is not polled. */
UROCE_API int uroce_qp_stats(struct uroce_qp *qp, struct uroce_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
