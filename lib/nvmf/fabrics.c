/* fabrics.c - fabrics commands: Connect, and reading and setting properties */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "nvmf/bytes.h"
#include "nvmf/row.h"

/* Codes for properties of 4 and of 8 bytes. */
enum { NARROW = 0, WIDE = 1 };
enum { NO_FLOW_CONTROL = 1 << 2 };

static uint16_t invalid(struct nvmf_command *command, uint32_t offset)
{
	command->result = offset;
	return NVME_CONNECT_INVALID | NVME_DNR;
}

static uint16_t judge_connect(struct nvmf_command *command)
{
	const struct nvmf_queue *queue = command->queue;
	uint32_t size = get_le16(command->sqe + SQE_SIZE) + 1u;
	uint32_t most = queue->qid == 0 ? NVME_ADMIN_DEPTH : queue->target->config.queue_depth;

	if (get_le16(command->sqe + SQE_FORMAT) != 0)
		return NVME_CONNECT_FORMAT | NVME_DNR;
	if (get_le16(command->sqe + SQE_QID) != queue->qid)
		return invalid(command, SQE_QID);
	if (size < 2 || size > queue->room || size > most)
		return invalid(command, SQE_SIZE);
	command->data_bytes = NVME_CONNECT_BYTES;
	return NVME_OK;
}

static bool is_text(const uint8_t *text)
{
	size_t length = strnlen((const char *)text, NVME_NQN_BYTES);

	return length > 0 && length <= NVME_NQN_MAX;
}

static uint16_t connect_admin(struct nvmf_command *command, const uint8_t *data, uint64_t now_ns)
{
	struct nvmf_queue *queue = command->queue;
	const char *nqn = (const char *)data + DATA_SUBSYSTEM, *host = (const char *)data + DATA_HOST;
	const struct nvmf_subsystem *subsystem = nvmf_target_find(queue->target, nqn);
	struct nvmf_controller *controller;

	if (get_le16(data + DATA_CNTLID) != NVME_CNTLID_ANY)
		return invalid(command, DATA_CNTLID | IN_DATA);
	if (subsystem == NULL && strcmp(nqn, NVME_DISCOVERY_NQN) != 0)
		return invalid(command, DATA_SUBSYSTEM | IN_DATA);
	if (subsystem && !nvmf_subsystem_admits(subsystem, host))
		return NVME_CONNECT_HOST | NVME_DNR;
	controller = nvmf_controller_create(queue, subsystem, host, data + DATA_HOST_ID);
	if (controller == NULL)
		return NVME_CONNECT_BUSY;
	controller->keep_alive_ms = get_le32(command->sqe + SQE_KEEP_ALIVE);
	nvmf_controller_greet(controller, now_ns);
	nvmf_controller_attach(controller, queue);
	return NVME_OK;
}

/* An I/O queue joins the controller that the same host has made for the same subsystem. */
static uint16_t connect_io(struct nvmf_command *command, const uint8_t *data)
{
	struct nvmf_queue *queue = command->queue;
	uint16_t cntlid = get_le16(data + DATA_CNTLID);
	struct nvmf_controller *controller = nvmf_controller_find(queue->target, cntlid);

	if (controller == NULL || controller->subsystem == NULL ||
	    strcmp(controller->host_nqn, (const char *)data + DATA_HOST) != 0 ||
	    memcmp(controller->host_id, data + DATA_HOST_ID, sizeof(controller->host_id)) != 0)
		return invalid(command, DATA_CNTLID | IN_DATA);
	if (strcmp(controller->subsystem->nqn, (const char *)data + DATA_SUBSYSTEM) != 0)
		return invalid(command, DATA_SUBSYSTEM | IN_DATA);
	if (queue->qid > queue->target->config.io_queues)
		return invalid(command, SQE_QID);
	if (!nvmf_controller_is_ready(controller) || controller->queues[queue->qid])
		return NVME_COMMAND_SEQUENCE | NVME_DNR;
	if (!nvmf_controller_has_entry_sizes(controller))
		return invalid(command, SQE_QID);
	nvmf_controller_attach(controller, queue);
	return NVME_OK;
}

static uint16_t handle_connect(struct nvmf_command *command, const uint8_t *data, uint64_t now_ns)
{
	struct nvmf_queue *queue = command->queue;
	uint16_t status;

	if (queue->controller) /* the host has sent a second Connect before the answer to the first */
		return NVME_COMMAND_SEQUENCE | NVME_DNR;
	if (!is_text(data + DATA_SUBSYSTEM))
		return invalid(command, DATA_SUBSYSTEM | IN_DATA);
	if (!is_text(data + DATA_HOST))
		return invalid(command, DATA_HOST | IN_DATA);
	status = queue->qid == 0 ? connect_admin(command, data, now_ns) : connect_io(command, data);
	if (status != NVME_OK)
		return status;
	queue->size = get_le16(command->sqe + SQE_SIZE) + 1u;
	queue->sq_head = 1;
	queue->no_flow_control = command->sqe[SQE_ATTRIBUTES] & NO_FLOW_CONTROL;
	command->result = queue->controller->cntlid;
	return NVME_OK;
}

static uint8_t size_of(const struct nvmf_command *command)
{
	return command->sqe[SQE_DW10] & 7;
}

static uint16_t judge_get(struct nvmf_command *command)
{
	struct nvmf_controller *controller = command->queue->controller;
	uint32_t offset = get_le32(command->sqe + SQE_DW11);

	if (size_of(command) != (offset == NVME_CAP ? WIDE : NARROW))
		return NVME_INVALID_FIELD | NVME_DNR;
	switch (offset) {
	case NVME_CAP:
		command->result = nvmf_controller_cap(controller);
		return NVME_OK;
	case NVME_VS:
		command->result = NVME_VERSION;
		return NVME_OK;
	case NVME_CC:
		command->result = controller->cc;
		return NVME_OK;
	case NVME_CSTS:
		command->result = nvmf_controller_csts(controller);
		return NVME_OK;
	default:
		return NVME_INVALID_FIELD | NVME_DNR;
	}
}

static uint16_t judge_set(struct nvmf_command *command)
{
	struct nvmf_controller *controller = command->queue->controller;
	uint16_t status;

	if (size_of(command) != NARROW || get_le32(command->sqe + SQE_DW11) != NVME_CC)
		return NVME_INVALID_FIELD | NVME_DNR;
	status = nvmf_controller_set_cc(controller, get_le32(command->sqe + SQE_DW12));
	command->resets = status == NVME_OK && controller->phase == NVMF_RESETTING;
	return status;
}

const struct nvmf_row *nvmf_fabrics_row(uint8_t type)
{
	static const struct nvmf_row rows[] = {
		{ .opcode = NVME_CONNECT,
		  .name = "Connect",
		  .direction = NVMF_FROM_HOST,
		  .judge = judge_connect,
		  .take = handle_connect,
		  .early = true },
		{ .opcode = NVME_PROPERTY_GET, .name = "Property Get", .judge = judge_get, .early = true },
		{ .opcode = NVME_PROPERTY_SET, .name = "Property Set", .judge = judge_set, .early = true },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].opcode == type)
			return &rows[i];
	}
	return NULL;
}
