/* command.c - handles a command, from its capsule to its answer */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmf/command.h"

#include "nvmf/bytes.h"
#include "nvmf/row.h"

static uint16_t take_sgl(struct nvmf_command *command, uint32_t capsule_bytes)
{
	const uint8_t *at = command->sqe + SQE_SGL;
	struct nvmf_sgl *sgl = &command->sgl;
	uint8_t type = command->sqe[SQE_SGL_TYPE];

	sgl->addr = get_le64(at);
	if (type == NVME_SGL_KEYED || type == NVME_SGL_KEYED_INVALIDATE) {
		sgl->bytes = get_le24(at + 8);
		sgl->key = get_le32(at + 11);
		sgl->invalidate = type == NVME_SGL_KEYED_INVALIDATE;
		return NVME_OK;
	}
	if (type != NVME_SGL_IN_CAPSULE)
		return NVME_SGL_TYPE | NVME_DNR;
	sgl->in_capsule = true;
	sgl->bytes = get_le32(at + 8);
	if (sgl->addr > capsule_bytes - NVME_SQE_BYTES)
		return NVME_SGL_OFFSET | NVME_DNR;
	return sgl->bytes <= capsule_bytes - NVME_SQE_BYTES - sgl->addr ? NVME_OK : NVME_SGL_LENGTH | NVME_DNR;
}

static const struct nvmf_row *row_of(const struct nvmf_command *command)
{
	uint8_t type = command->sqe[SQE_FABRICS_TYPE];
	bool admin = command->queue->qid == 0;

	if (command->opcode == NVME_FABRICS)
		return admin || type == NVME_CONNECT ? nvmf_fabrics_row(type) : NULL;
	return admin ? nvmf_admin_row(command->opcode) : nvmf_io_row(command->opcode);
}

/* May the queue have this command now? Its first command must be a Connect, and no later command may be one. */
static uint16_t judge_state(const struct nvmf_command *command, const struct nvmf_row *row)
{
	const struct nvmf_queue *queue = command->queue;
	bool connect = command->opcode == NVME_FABRICS && command->sqe[SQE_FABRICS_TYPE] == NVME_CONNECT;

	if (connect == (queue->controller != NULL))
		return NVME_COMMAND_SEQUENCE | NVME_DNR;
	if (row == NULL)
		return NVME_INVALID_OPCODE | NVME_DNR;
	if (!row->early && !nvmf_controller_is_ready(queue->controller))
		return NVME_COMMAND_SEQUENCE | NVME_DNR;
	return NVME_OK;
}

/* Does the flags byte have wrong bits? In fabrics commands this byte is reserved, and is not judged. */
static bool has_bad_flags(const struct nvmf_command *command, uint8_t mask)
{
	uint8_t flags = command->sqe[SQE_FLAGS] & mask;

	if (command->opcode == NVME_FABRICS)
		return false;
	return flags & NVME_FLAGS_FUSED || (mask & NVME_FLAGS_PSDT && (flags == 0 || flags == NVME_FLAGS_PSDT));
}

/* Judges the length in the descriptor. For some commands a host may name a longer length than the command needs. */
static uint16_t judge_data(const struct nvmf_command *command, const struct nvmf_row *row)
{
	if (command->data_bytes == 0)
		return NVME_OK;
	if (command->sgl.bytes < command->data_bytes || (command->sgl.bytes > command->data_bytes && !row->longer))
		return NVME_SGL_LENGTH | NVME_DNR;
	return command->sgl.in_capsule && row->direction != NVMF_FROM_HOST ? NVME_SGL_TYPE | NVME_DNR : NVME_OK;
}

static enum nvmf_step answer(struct nvmf_command *command, uint16_t status)
{
	command->status = status;
	return NVMF_ANSWER;
}

/* The share of the thread that serves the queue. No other thread writes to it, so additions need not be atomic. */
static struct nvmf_share *share_of(const struct nvmf_command *command)
{
	return &command->block.namespace->shares[command->queue->thread];
}

static void add_under_way(struct nvmf_share *share, uint32_t number)
{
	uint32_t now = atomic_load_explicit(&share->under_way, memory_order_relaxed) + number;

	/*
	 * pairs with the loads of nvmf_namespace_under_way(): a thread that finds no command left sees all their
	 * effects
	 */
	atomic_store_explicit(&share->under_way, now, memory_order_release);
}

/* From here on the namespace is not freed, even if it is removed from its subsystem. */
static void hold_on(struct nvmf_command *command)
{
	add_under_way(share_of(command), 1);
	command->uses_namespace = true;
}

static void let_go(struct nvmf_command *command)
{
	if (command->uses_namespace)
		add_under_way(share_of(command), -1u);
	command->uses_namespace = false;
}

/* Adds to a counter that other threads may be reading. */
static void count(uint64_t *counter, uint64_t number)
{
	__atomic_store_n(counter, *counter + number, __ATOMIC_RELAXED);
}

/* Fields that a command does not use are reserved and are not judged, because hosts may set them to anything. */
static uint16_t judge(struct nvmf_command *command, const struct nvmf_row *row, uint32_t capsule_bytes)
{
	uint16_t status = judge_state(command, row), described = NVME_OK;

	if (status != NVME_OK)
		return status;
	if (has_bad_flags(command, NVME_FLAGS_FUSED))
		return NVME_INVALID_FIELD | NVME_DNR;
	if (row->direction != NVMF_NO_DATA)
		described = take_sgl(command, capsule_bytes);
	status = row->judge(command);
	if (status != NVME_OK)
		return status;
	if (command->data_bytes == 0) {
		memset(&command->sgl, 0, sizeof(command->sgl));
		return NVME_OK;
	}
	if (described != NVME_OK)
		return described;
	return has_bad_flags(command, NVME_FLAGS_PSDT) ? NVME_INVALID_FIELD | NVME_DNR : judge_data(command, row);
}

static bool begins_time_anew(const struct nvmf_command *command)
{
	bool set = command->opcode == NVME_SET_FEATURES && command->sqe[SQE_DW10] == NVME_FEATURE_KEEP_ALIVE;

	return command->queue->qid == 0 && (command->opcode == NVME_KEEP_ALIVE || set);
}

/* Commands about blocks change nothing that queues share, and take no lock. */
static bool takes_lock(const struct nvmf_command *command)
{
	return command->queue->qid == 0 || command->opcode == NVME_FABRICS;
}

static void enter(const struct nvmf_command *command)
{
	if (takes_lock(command))
		nvmf_target_lock(command->queue->target);
}

static void leave(const struct nvmf_command *command)
{
	if (takes_lock(command))
		nvmf_target_unlock(command->queue->target);
}

static enum nvmf_step begin(struct nvmf_command *command, uint32_t bytes, uint64_t now_ns)
{
	const struct nvmf_row *row = row_of(command);
	uint16_t status = judge(command, row, bytes);

	if (status != NVME_OK)
		return answer(command, status);
	if (begins_time_anew(command))
		nvmf_controller_hear(command->queue->controller, now_ns);
	if (row->held)
		return NVMF_HOLD;
	if (command->resets)
		return NVMF_RESET;
	if (row->blocks)
		hold_on(command);
	if (row->direction == NVMF_FROM_HOST && command->data_bytes)
		return NVMF_FETCH;
	if (row->blocks)
		return NVMF_BLOCK;
	return row->direction == NVMF_TO_HOST && command->data_bytes ? NVMF_GIVE : NVMF_ANSWER;
}

/* One thread serves the queue, so additions need not be atomic. */
static void add_to_queue(struct nvmf_queue *queue, uint32_t number)
{
	uint32_t now = atomic_load_explicit(&queue->under_way, memory_order_relaxed) + number;

	/* pairs with the loads in end_reset() and io_under_way(): who finds no command left sees all their effects */
	atomic_store_explicit(&queue->under_way, now, memory_order_release);
}

/* Fabrics commands are not counted, because they are carried out while the controller is reset, too. */
static void enter_queue(struct nvmf_command *command)
{
	command->under_way = command->opcode != NVME_FABRICS;
	add_to_queue(command->queue, command->under_way);
}

static void leave_queue(struct nvmf_command *command)
{
	if (command->under_way)
		add_to_queue(command->queue, -1u);
	command->under_way = false;
}

/* Does the controller's reset end the queue, so that the command of an I/O queue gets no answer? */
static bool is_too_late(const struct nvmf_queue *queue)
{
	return queue->qid > 0 && queue->controller && queue->controller->phase == NVMF_RESETTING;
}

static void note_traffic(const struct nvmf_queue *queue, uint64_t now_ns)
{
	struct nvmf_controller *controller = queue->controller;

	if (controller &&
	    now_ns - atomic_load_explicit(&controller->heard_ns, memory_order_relaxed) >= NVMF_HEARD_STEP_NS)
		atomic_store_explicit(&controller->heard_ns, now_ns, memory_order_relaxed);
}

enum nvmf_step nvmf_command_begin(struct nvmf_command *command, struct nvmf_queue *queue, const uint8_t *capsule,
				  uint32_t bytes, uint64_t now_ns)
{
	enum nvmf_step step;

	memset(command, 0, sizeof(*command));
	command->sqe = capsule;
	command->queue = queue;
	if (!queue->no_flow_control)
		queue->sq_head = (uint16_t)((queue->sq_head + 1u) % queue->size);
	if (bytes < NVME_SQE_BYTES)
		return NVMF_DROP;
	command->opcode = capsule[SQE_OPCODE];
	command->cid = get_le16(capsule + SQE_CID);
	command->nsid = get_le32(capsule + SQE_NSID);
	note_traffic(queue, now_ns);
	enter_queue(command);
	if (is_too_late(queue))
		return NVMF_HOLD;
	enter(command);
	step = begin(command, bytes, now_ns);
	leave(command);
	return step;
}

static enum nvmf_step fetched(struct nvmf_command *command, const uint8_t *data, uint64_t now_ns)
{
	const struct nvmf_row *row = row_of(command);
	uint16_t status = row->take ? row->take(command, data, now_ns) : NVME_OK;

	if (status != NVME_OK) {
		let_go(command);
		return answer(command, status);
	}
	return row->blocks ? NVMF_BLOCK : NVMF_ANSWER;
}

enum nvmf_step nvmf_command_fetched(struct nvmf_command *command, const uint8_t *data, uint64_t now_ns)
{
	enum nvmf_step step;

	enter(command);
	step = fetched(command, data, now_ns);
	leave(command);
	return step;
}

void nvmf_command_give(struct nvmf_command *command, uint8_t *data)
{
	memset(data, 0, command->data_bytes);
	enter(command);
	row_of(command)->give(command, data);
	leave(command);
}

static void note_in_log(const struct nvmf_command *command, struct nvmf_controller *controller, uint16_t status)
{
	nvmf_target_lock(controller->target);
	controller->errors[controller->error_count++ % NVMF_ERRORS_MAX] =
		(struct nvmf_error){ command->queue->qid, command->cid, status, command->nsid,
				     command->block.offset / command->block.namespace->block_bytes };
	nvmf_target_unlock(controller->target);
}

/* A Compare that has found a difference is no error: its comparison has succeeded. */
static void note_error(struct nvmf_command *command, uint16_t status)
{
	struct nvmf_controller *controller = command->queue->controller;
	struct nvmf_counts *counts = &share_of(command)->counts;
	uint16_t code = status & (uint16_t)~NVME_DNR;

	if (code == NVME_COMPARE_FAILURE)
		return;
	if (command->block.op == NVMF_BLOCK_FLUSH)
		count(&counts->flush_errors, 1);
	else if (command->block.op == NVMF_BLOCK_READ || command->block.op == NVMF_BLOCK_COMPARE)
		count(&counts->read_errors, 1);
	else
		count(&counts->write_errors, 1);
	count(&counts->media_errors, code == NVME_READ_ERROR || code == NVME_WRITE_FAULT);
	if (controller)
		note_in_log(command, controller, status);
}

void nvmf_command_done(struct nvmf_command *command, uint16_t status)
{
	struct nvmf_counts *counts = &share_of(command)->counts;

	command->status = status;
	if (status != NVME_OK) {
		note_error(command, status);
	} else if (command->block.op == NVMF_BLOCK_READ) {
		count(&counts->reads, 1);
		count(&counts->read_bytes, command->block.bytes);
	} else if (command->block.op == NVMF_BLOCK_WRITE) {
		count(&counts->writes, 1);
		count(&counts->written_bytes, command->block.bytes);
	} else if (command->block.op == NVMF_BLOCK_FLUSH) {
		count(&counts->flushes, 1);
	}
	let_go(command);
}

void nvmf_command_fail(struct nvmf_command *command, uint16_t status)
{
	command->status = status;
	let_go(command);
}

void nvmf_command_forget(struct nvmf_command *command)
{
	let_go(command);
	leave_queue(command);
}

void nvmf_command_range(const struct nvmf_command *command, const uint8_t *data, uint32_t index, uint64_t *offset,
			uint64_t *bytes)
{
	const uint8_t *range = data + index * NVMF_RANGE_BYTES;

	*offset = get_le64(range + 8) * command->block.namespace->block_bytes;
	*bytes = (uint64_t)get_le32(range + 4) * command->block.namespace->block_bytes;
}

void nvmf_command_answer(struct nvmf_command *command, uint8_t cqe[NVME_CQE_BYTES])
{
	const struct nvmf_queue *queue = command->queue;

	leave_queue(command);
	put_le64(cqe, command->result);
	put_le16(cqe + 8, queue->no_flow_control ? NVME_ANY_SQ_HEAD : queue->sq_head);
	put_le16(cqe + 10, queue->qid);
	put_le16(cqe + 12, command->cid);
	put_le16(cqe + 14, (uint16_t)(command->status << 1));
}

static const struct {
	uint16_t status;
	const char *text;
	const char *meaning; /* what it says about the target, if the text does not */
} texts[] = {
	{ NVME_OK, "success" },
	{ NVME_INVALID_OPCODE, "invalid opcode" },
	{ NVME_INVALID_FIELD, "invalid field" },
	{ NVME_DATA_TRANSFER_ERROR, "data transfer error" },
	{ NVME_INTERNAL_ERROR, "internal error" },
	{ NVME_ABORTED, "aborted" },
	{ NVME_INVALID_NAMESPACE, "invalid namespace" },
	{ NVME_COMMAND_SEQUENCE, "command sequence error" },
	{ NVME_SGL_LENGTH, "invalid length of the SGL" },
	{ NVME_SGL_TYPE, "invalid type of SGL descriptor" },
	{ NVME_SGL_OFFSET, "invalid offset of the SGL" },
	{ NVME_WRITE_PROTECTED, "namespace is write protected", "the target serves it read-only" },
	{ NVME_LBA_RANGE, "LBA out of range" },
	{ NVME_CAPACITY_EXCEEDED, "capacity exceeded", "the target's disk is full" },
	{ NVME_NAMESPACE_NOT_READY, "namespace not ready" },
	{ NVME_ASYNC_LIMIT, "too many asynchronous event requests" },
	{ NVME_INVALID_LOG_PAGE, "invalid log page" },
	{ NVME_NOT_SAVEABLE, "feature cannot be saved" },
	{ NVME_CONNECT_FORMAT, "incompatible format of Connect" },
	{ NVME_CONNECT_BUSY, "controller busy" },
	{ NVME_CONNECT_INVALID, "invalid parameter of Connect" },
	{ NVME_CONNECT_HOST, "host not allowed" },
	{ NVME_WRITE_FAULT, "write fault", "the target cannot write its file or disk: see the target's log" },
	{ NVME_READ_ERROR, "unrecovered read error", "the target cannot read its file or disk: see the target's log" },
	{ NVME_COMPARE_FAILURE, "compare failure" },
};

#define TEXTS (sizeof(texts) / sizeof(texts[0]))

/* Returns its row, or the number of rows for a status without one. */
static size_t text_row(uint16_t status)
{
	size_t row = 0;

	while (row < TEXTS && texts[row].status != (status & ~(NVME_RETRY_LATER | NVME_DNR)))
		row++;
	return row;
}

const char *nvmf_status_text(uint16_t status)
{
	size_t row = text_row(status);

	return row < TEXTS ? texts[row].text : "unknown status";
}

const char *nvmf_status_meaning(uint16_t status)
{
	size_t row = text_row(status);

	return row < TEXTS ? texts[row].meaning : NULL;
}

const char *nvmf_connect_text(uint16_t status, uint64_t result)
{
	if ((status & ~NVME_DNR) != NVME_CONNECT_INVALID)
		return nvmf_status_text(status);
	switch (result & 0x1FFFF) {
	case DATA_SUBSYSTEM | IN_DATA:
		return "no subsystem has that NQN";
	case DATA_HOST | IN_DATA:
		return "the host NQN is empty or too long";
	case DATA_CNTLID | IN_DATA:
		return "this host has no controller with that controller ID";
	case SQE_QID:
		return "invalid queue ID";
	case SQE_SIZE:
		return "invalid queue size";
	default:
		return nvmf_status_text(status);
	}
}
