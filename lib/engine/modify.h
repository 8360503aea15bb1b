/* modify.h - changes the attributes of a QP, for the application and for connection management */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_MODIFY_H
#define ENGINE_MODIFY_H

#include <stdbool.h>
#include <stdint.h>

struct uroce_device;
struct uroce_qp;
struct uroce_qp_attr;

/*
 * As uroce_qp_modify(), but to be called on the owner. A refused call changes nothing, and *bad_mask, if not NULL, has
 * the attribute.
 */
int engine_modify_qp(struct uroce_qp *qp, const struct uroce_qp_attr *attr, uint32_t mask, uint32_t *bad_mask);

/* P-7: four times the larger ACK timeout of the QP's paths. The QP table applies a minimum and a maximum. */
uint64_t engine_modify_time_wait_ns(const struct uroce_qp *qp);

/*
 * Devices that the QP's paths use cannot be destroyed. Holds the two given devices, of which either may be NULL,
 * instead of the earlier two.
 */
void engine_modify_hold_devices(struct uroce_qp *qp, struct uroce_device *first, struct uroce_device *second);

#endif
