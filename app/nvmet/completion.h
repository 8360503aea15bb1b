/* completion.h - takes completions of a queue: capsules become commands, and answered commands free their slots */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_COMPLETION_H
#define NVMET_COMPLETION_H

#include "nvmet/queue_state.h"

void completion_handle(struct queue *queue, const struct uroce_wc *wc);

#endif
