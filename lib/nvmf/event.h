/* event.h - events: Asynchronous Event Requests of a host are held until there is one to report */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMF_EVENT_H
#define NVMF_EVENT_H

#include "nvmf/command_state.h"

/*
 * Returns a held command whose event has come, or that a reset has aborted; the caller then calls
 * nvmf_command_answer(). Returns NULL if there is none. For the thread that serves the admin queue.
 */
struct nvmf_command *nvmf_event_next(struct nvmf_controller *controller);

#endif
