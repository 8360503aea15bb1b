/* cq.h - completion queues */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_CQ_H
#define UROCE_CQ_H

#include <uroce/wr.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * depth: completions it can hold, 1 ... 1048576 (rounded up inside). A CQ that overflows raises CQ_ERR and
 * its QPs go to ERR; what is in it stays readable (E-5). 0; -EINVAL; -ENOMEM.
 */
UROCE_API int uroce_cq_create(struct uroce_device *device, uint32_t depth, struct uroce_cq **cq);
/* 0; -EBUSY while a QP uses it. */
UROCE_API int uroce_cq_destroy(struct uroce_cq *cq);
/* Takes up to count completions. Returns how many; one thread at a time. */
UROCE_API int uroce_cq_poll(struct uroce_cq *cq, int count, struct uroce_wc *wc);

#ifdef __cplusplus
}
#endif
#endif
