/* command.h - the life of a command, from its capsule to its answer */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The program around this library does for each capsule:
 *   1. nvmf_command_begin() judges the command and returns what to do next
 *   2. NVMF_FETCH: get data_bytes from the sgl, by RDMA READ or from the capsule; nvmf_command_fetched() returns what
 *      to do next
 *      NVMF_GIVE: nvmf_command_give() fills data_bytes; send them to the sgl by RDMA WRITE; then as NVMF_ANSWER
 *      NVMF_BLOCK: carry out `block`; a READ sends its data_bytes to the sgl; nvmf_command_done(); then as NVMF_ANSWER
 *      NVMF_HOLD: do nothing until nvmf_event_next() (event.h) returns this command, perhaps at once, or until its
 *      queue is closed
 *      NVMF_RESET: let the I/O queues of the controller end without further answers; then as NVMF_ANSWER
 *      NVMF_DROP: it is not a command; close its queue
 *      NVMF_ANSWER: nvmf_command_answer() writes the completion queue entry; send it by SEND, and with
 *      invalidate of sgl.key if sgl.invalidate
 * If a step fails, call nvmf_command_fail(); then as NVMF_ANSWER.
 */
#ifndef NVMF_COMMAND_H
#define NVMF_COMMAND_H

#include "nvmf/command_state.h"

enum nvmf_step { NVMF_ANSWER, NVMF_FETCH, NVMF_GIVE, NVMF_BLOCK, NVMF_HOLD, NVMF_RESET, NVMF_DROP };

enum nvmf_step nvmf_command_begin(struct nvmf_command *command, struct nvmf_queue *queue, const uint8_t *capsule,
				  uint32_t bytes, uint64_t now_ns);
enum nvmf_step nvmf_command_fetched(struct nvmf_command *command, const uint8_t *data, uint64_t now_ns);
/* Writes the data_bytes. */
void nvmf_command_give(struct nvmf_command *command, uint8_t *data);
/* The store has carried out the command, with this enum nvme_status; 0: success. */
void nvmf_command_done(struct nvmf_command *command, uint16_t status);
void nvmf_command_fail(struct nvmf_command *command, uint16_t status);
void nvmf_command_answer(struct nvmf_command *command, uint8_t cqe[NVME_CQE_BYTES]);
/* The connection of the command is gone, and the command gets no answer. */
void nvmf_command_forget(struct nvmf_command *command);

/* Returns range number `index` of a DEALLOCATE with this data, as offset and bytes within the namespace. */
void nvmf_command_range(const struct nvmf_command *command, const uint8_t *data, uint32_t index, uint64_t *offset,
			uint64_t *bytes);

/* The words for a status: "LBA out of range"; never NULL. */
const char *nvmf_status_text(uint16_t status);
/* What the status of a command says about the target, in words for a person; NULL: the text says it all. */
const char *nvmf_status_meaning(uint16_t status);
/* The same for the answer to a Connect, whose result names a wrong field. */
const char *nvmf_connect_text(uint16_t status, uint64_t result);

#endif
