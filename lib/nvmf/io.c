/* io.c - commands of I/O queues: judged, and turned into work for the namespace's store */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmf/bytes.h"
#include "nvmf/row.h"

/* Bits of dword 12, and of dword 11 of dataset management. */
enum { FORCE_UNIT_ACCESS = 1 << 30, DEALLOCATE = 1 << 25, DSM_DEALLOCATE = 1 << 2 };

static uint16_t find_namespace(struct nvmf_command *command)
{
	const struct nvmf_subsystem *subsystem = command->queue->controller->subsystem;

	command->block.namespace = nvmf_subsystem_find(subsystem, command->nsid);
	return command->block.namespace ? NVME_OK : NVME_INVALID_NAMESPACE | NVME_DNR;
}

/*
 * A host that reconnects writes to the disk for which it takes the number: the disk that it identified on this path
 * before, or one that it knows from an earlier life of the target. If that may be another disk than the one that has
 * the number now, the write waits: the status makes the host retry, and an event makes it identify the namespace.
 */
static uint16_t judge_change(const struct nvmf_command *command)
{
	struct nvmf_controller *controller = command->queue->controller;
	const struct nvmf_namespace *namespace = command->block.namespace;

	if (namespace->read_only)
		return NVME_WRITE_PROTECTED | NVME_DNR;
	if (nvmf_set_has(controller->identified, namespace->nsid))
		return NVME_OK;
	if (!namespace->is_new && !nvmf_set_has(controller->gone, namespace->nsid))
		return NVME_OK;
	nvmf_target_lock(controller->target);
	nvmf_controller_change(controller, namespace->nsid);
	nvmf_target_unlock(controller->target);
	return NVME_NAMESPACE_NOT_READY | controller->retry_later;
}

/* Converts a range of blocks to bytes, and refuses a range that is not within the namespace. */
static uint16_t take_range(struct nvmf_command *command, uint64_t first, uint64_t count)
{
	const struct nvmf_namespace *namespace = command->block.namespace;

	if (first > namespace->blocks || count > namespace->blocks - first)
		return NVME_LBA_RANGE | NVME_DNR;
	command->block.offset = first * namespace->block_bytes;
	command->block.bytes = count * namespace->block_bytes;
	return NVME_OK;
}

/* Judges the fields that all commands about a range of blocks have in common. */
static uint16_t judge_range(struct nvmf_command *command, enum nvmf_block_op op)
{
	uint32_t dw12 = get_le32(command->sqe + SQE_DW12);
	uint16_t status = find_namespace(command);

	if (status != NVME_OK)
		return status;
	if (op != NVMF_BLOCK_READ && op != NVMF_BLOCK_COMPARE)
		status = judge_change(command);
	if (status != NVME_OK)
		return status;
	command->block.op = op;
	command->block.lasting = dw12 & FORCE_UNIT_ACCESS || !command->queue->controller->write_cache;
	command->block.may_deallocate = op == NVMF_BLOCK_ZERO && dw12 & DEALLOCATE;
	return take_range(command, get_le64(command->sqe + SQE_DW10), (dw12 & 0xFFFF) + 1u);
}

static uint16_t judge_data(struct nvmf_command *command, enum nvmf_block_op op)
{
	uint16_t status = judge_range(command, op);

	if (status == NVME_OK && command->block.bytes > command->queue->target->config.max_data_bytes)
		status = NVME_INVALID_FIELD | NVME_DNR;
	if (status == NVME_OK)
		command->data_bytes = (uint32_t)command->block.bytes;
	return status;
}

static uint16_t judge_read(struct nvmf_command *command)
{
	return judge_data(command, NVMF_BLOCK_READ);
}

static uint16_t judge_write(struct nvmf_command *command)
{
	return judge_data(command, NVMF_BLOCK_WRITE);
}

static uint16_t judge_compare(struct nvmf_command *command)
{
	return judge_data(command, NVMF_BLOCK_COMPARE);
}

static uint16_t judge_zeroes(struct nvmf_command *command)
{
	return judge_range(command, NVMF_BLOCK_ZERO);
}

static uint16_t judge_flush(struct nvmf_command *command)
{
	command->block.op = NVMF_BLOCK_FLUSH;
	return find_namespace(command);
}

static uint16_t judge_dataset(struct nvmf_command *command)
{
	uint16_t status = find_namespace(command);

	if (status == NVME_OK)
		status = judge_change(command);
	if (status != NVME_OK)
		return status;
	command->block.op = NVMF_BLOCK_DEALLOCATE;
	command->block.lasting = !command->queue->controller->write_cache;
	command->block.range_count = command->sqe[SQE_DW10] + 1u;
	command->data_bytes = command->block.range_count * NVMF_RANGE_BYTES;
	return NVME_OK;
}

/* Hints other than deallocate change nothing. All ranges are judged before the first one is deallocated. */
static uint16_t take_ranges(struct nvmf_command *command, const uint8_t *data, uint64_t now_ns)
{
	(void)now_ns;
	for (uint32_t i = 0; i < command->block.range_count; i++) {
		const uint8_t *range = data + i * NVMF_RANGE_BYTES;
		uint16_t status = take_range(command, get_le64(range + 8), get_le32(range + 4));

		if (status != NVME_OK)
			return status;
	}
	command->block.offset = command->block.bytes = 0;
	if ((get_le32(command->sqe + SQE_DW11) & DSM_DEALLOCATE) == 0)
		command->block.range_count = 0;
	return NVME_OK;
}

const struct nvmf_row *nvmf_io_row(uint8_t opcode)
{
	static const struct nvmf_row rows[] = {
		{ NVME_FLUSH, "Flush", NVMF_NO_DATA, judge_flush, .blocks = true },
		{ NVME_WRITE, "Write", NVMF_FROM_HOST, judge_write, .blocks = true },
		{ NVME_READ, "Read", NVMF_TO_HOST, judge_read, .blocks = true },
		{ NVME_COMPARE, "Compare", NVMF_FROM_HOST, judge_compare, .blocks = true },
		{ NVME_WRITE_ZEROES, "Write Zeroes", NVMF_NO_DATA, judge_zeroes, .blocks = true },
		{ NVME_DATASET_MANAGEMENT, "Dataset Management", NVMF_FROM_HOST, judge_dataset, take_ranges,
		  .blocks = true, .longer = true },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].opcode == opcode)
			return &rows[i];
	}
	return NULL;
}
