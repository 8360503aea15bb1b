/* stats.h - counters of a device and of a QP, by the names that RDMA users know */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters are rows: uroce_counter_name(i) and uroce_counter_text(i) describe values[i]. QP counters are the
 * rows below uroce_qp_counter_count(); a device sums those of its QPs (destroyed ones included) and adds the drops.
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

/*
 * The calls return how many rows there are, and a row's name ("out_of_sequence") and sentence, which are NULL past the
 * last row.
 */
UROCE_API uint32_t uroce_counter_count(void);
UROCE_API uint32_t uroce_qp_counter_count(void);
UROCE_API const char *uroce_counter_name(uint32_t index);
UROCE_API const char *uroce_counter_text(uint32_t index);
/* Index of a name, or -ENOENT. */
UROCE_API int uroce_counter_find(const char *name);

UROCE_API void uroce_device_stats(struct uroce_device *device, struct uroce_stats *stats);
UROCE_API int uroce_qp_stats(struct uroce_qp *qp, struct uroce_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
