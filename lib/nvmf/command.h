/* command.h - a command from its capsule to its answer */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A host of the target, for each capsule:
 *   1. nvmf_command_begin() judges it and says what is next
 *   2. NVMF_FETCH: data_bytes come from the sgl, RDMA READ or capsule; then nvmf_command_fetched() says what is next
 *      NVMF_GIVE: nvmf_command_give() fills data_bytes, which go to the sgl by RDMA WRITE; then ANSWER
 *      NVMF_BLOCK: block is carried out; of a READ data_bytes go to the sgl; nvmf_command_done(); then ANSWER
 *      NVMF_HOLD: nothing, until nvmf_event_next() (event.h) names it, which may be at once
 *      NVMF_DROP: it is no command; its queue is to be closed
 *      NVMF_ANSWER: nvmf_command_answer() writes the entry of the completion queue, which goes as a SEND, with
 *      invalidate of sgl.key if sgl.invalidate
 * Whatever fails meanwhile is told with nvmf_command_fail(); ANSWER is next.
 */
#ifndef NVMF_COMMAND_H
#define NVMF_COMMAND_H

#include "nvmf/command_state.h"

enum nvmf_step { NVMF_ANSWER, NVMF_FETCH, NVMF_GIVE, NVMF_BLOCK, NVMF_HOLD, NVMF_DROP };

enum nvmf_step nvmf_command_begin(struct nvmf_command *command, struct nvmf_queue *queue, const uint8_t *capsule,
				  uint32_t bytes, uint64_t now_ns);
enum nvmf_step nvmf_command_fetched(struct nvmf_command *command, const uint8_t *data, uint64_t now_ns);
/* Writes data_bytes. */
void nvmf_command_give(struct nvmf_command *command, uint8_t *data);
/* status: enum nvme_status; 0: it has been done. */
void nvmf_command_done(struct nvmf_command *command, uint16_t status);
void nvmf_command_fail(struct nvmf_command *command, uint16_t status);
void nvmf_command_answer(struct nvmf_command *command, uint8_t cqe[NVME_CQE_BYTES]);
/* Its connection has gone, and it gets no answer. */
void nvmf_command_forget(struct nvmf_command *command);

/* A range of a DEALLOCATE whose data it has: offset and bytes of the store. */
void nvmf_command_range(const struct nvmf_command *command, const uint8_t *data, uint32_t index, uint64_t *offset,
			uint64_t *bytes);

/* "LBA out of range"; never NULL. */
const char *nvmf_status_text(uint16_t status);

#endif
