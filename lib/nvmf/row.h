/* row.h - how each command is handled: one row for an opcode of the admin queue and of I/O queues */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMF_ROW_H
#define NVMF_ROW_H

#include "nvmf/command_state.h"

enum nvmf_direction { NVMF_NO_DATA, NVMF_FROM_HOST, NVMF_TO_HOST };

struct nvmf_row {
	uint8_t opcode;
	const char *name;
	enum nvmf_direction direction;
	/* Judges the command; sets data_bytes, result or block. Returns a status. */
	uint16_t (*judge)(struct nvmf_command *command);
	/* FROM_HOST: takes the data. NULL: the data is for the store. */
	uint16_t (*take)(struct nvmf_command *command, const uint8_t *data, uint64_t now_ns);
	/* TO_HOST: fills the data_bytes, which are zeros. NULL: the data comes from the store. */
	void (*give)(struct nvmf_command *command, uint8_t *data);
	bool blocks; /* the store has to do the work */
	bool held;   /* held: not answered now */
	bool early;  /* allowed before the controller is enabled */
	bool longer; /* the descriptor may name more than the command needs: Linux names a page for a few ranges */
};

/* Each returns NULL if there is no such opcode. Fabrics commands are found by their type. */
const struct nvmf_row *nvmf_fabrics_row(uint8_t type);
const struct nvmf_row *nvmf_admin_row(uint8_t opcode);
const struct nvmf_row *nvmf_io_row(uint8_t opcode);

/* For Identify. */
uint16_t nvmf_identify_judge(struct nvmf_command *command);
void nvmf_identify_give(struct nvmf_command *command, uint8_t *data);
/*
 * For Get Log Page: all pages. The data of the page of commands and effects is made elsewhere, and is copied by
 * nvmf_log_give_part().
 */
uint8_t nvmf_log_of(const struct nvmf_command *command);
uint16_t nvmf_log_judge(struct nvmf_command *command);
void nvmf_log_give(struct nvmf_command *command, uint8_t *data);
/* Copies the part that the command asks for, of a page that fits NVME_PAGE_BYTES. */
void nvmf_log_give_part(const struct nvmf_command *command, const uint8_t *page, uint8_t *data);

#endif
