/* uroce.h - includes all public headers */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ids such as S-10 in these headers name rules of the transport. rules.md, which `make install` puts beside the other
 * documentation (PREFIX/share/doc/uroce/docs/contributing), has the text of each one.
 */
#ifndef UROCE_H
#define UROCE_H

#include <uroce/capture.h>
#include <uroce/cm.h>
#include <uroce/cq.h>
#include <uroce/device.h>
#include <uroce/event.h>
#include <uroce/frame.h>
#include <uroce/inspect.h>
#include <uroce/log.h>
#include <uroce/mr.h>
#include <uroce/port.h>
#include <uroce/qp.h>
#include <uroce/srq.h>
#include <uroce/stats.h>
#include <uroce/telemetry.h>
#include <uroce/types.h>
#include <uroce/ud.h>
#include <uroce/wr.h>

#endif
