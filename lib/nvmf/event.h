/* event.h - what a host is told of: its Asynchronous Event Requests are held until there is something to tell */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMF_EVENT_H
#define NVMF_EVENT_H

#include "nvmf/command_state.h"

/*
 * A held command whose event has come, or that a reset has aborted: nvmf_command_answer() is next. NULL: none. By the
 * thread that serves the admin queue.
 */
struct nvmf_command *nvmf_event_next(struct nvmf_controller *controller);

#endif
