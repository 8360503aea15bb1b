/* uroce.h - everything public */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_H
#define UROCE_H

#include <uroce/cq.h>
#include <uroce/device.h>
#include <uroce/event.h>
#include <uroce/mr.h>
#include <uroce/qp.h>
#include <uroce/srq.h>
#include <uroce/stats.h>
#include <uroce/types.h>
#include <uroce/wr.h>

#endif
