/* modify.h - other attributes for a queue pair, by whoever wants them */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_MODIFY_H
#define ENGINE_MODIFY_H

#include <stdbool.h>
#include <stdint.h>

struct uroce_device;
struct uroce_qp;
struct uroce_qp_attr;

/* As uroce_qp_modify(): travels to the owner. Of a refusal nothing has changed, and bad_mask (or NULL) says why. */
int engine_modify_qp(struct uroce_qp *qp, const struct uroce_qp_attr *attr, uint32_t mask, uint32_t *bad_mask);

/* P-7: four times the larger ACK timeout of its paths; the floor and the cap are the QP table's. */
uint64_t engine_modify_time_wait_ns(const struct uroce_qp *qp);

/* The ports that the QP's paths use cannot be destroyed; those of before may. NULL: none. */
void engine_modify_hold_devices(struct uroce_qp *qp, struct uroce_device *first, struct uroce_device *second);

#endif
