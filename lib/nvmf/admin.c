/* admin.c - the commands of the admin queue: features, events, keep alive, abort */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmf/bytes.h"
#include "nvmf/row.h"

#define HOST_BEHAVIOUR_BYTES 512u
#define HOST_ID_BYTES 16u
#define NOT_ABORTED 1u
#define SAVE 0x80000000u
#define SELECT 7u
#define POWER_STATE 0x1Fu
#define EFFECT_SUPPORTED 0x1u
#define EFFECT_DATA 0x2u
#define DEALLOCATED_ERROR (1u << 16)

static bool is_discovery(const struct nvmf_command *command)
{
	return command->queue->controller->subsystem == NULL;
}

/* ---- features ---- */

static uint8_t feature_of(const struct nvmf_command *command)
{
	return command->sqe[SQE_DW10];
}

static uint32_t events_possible(const struct nvmf_command *command)
{
	return is_discovery(command) ? NVME_EVENT_DISCOVERY : NVME_EVENT_NAMESPACE | NVME_EVENT_UNRELIABLE;
}

static uint64_t queues_there(const struct nvmf_command *command)
{
	uint32_t last = command->queue->target->config.io_queues - 1;

	return last | last << 16;
}

/* Finds the threshold that a command is about. NULL: the command names a sensor that does not exist. */
static uint32_t *threshold_of(const struct nvmf_command *command)
{
	uint32_t value = get_le32(command->sqe + SQE_DW11), sensor = value >> 16 & 0xF, type = value >> 20 & 3;
	bool all = sensor == 0xF && command->opcode == NVME_SET_FEATURES;

	return (sensor == 0 || all) && type < 2 ? &command->queue->controller->thresholds[type] : NULL;
}

/*
 * Finds a mandatory feature whose value is only stored, without effect here. NULL: it is another feature, or the
 * feature has no such part.
 */
static uint32_t *kept_feature(const struct nvmf_command *command)
{
	struct nvmf_controller *controller = command->queue->controller;

	switch (feature_of(command)) {
	case NVME_FEATURE_ARBITRATION:
		return &controller->arbitration;
	case NVME_FEATURE_POWER:
		return &controller->power;
	case NVME_FEATURE_TEMPERATURE:
		return threshold_of(command);
	case NVME_FEATURE_ERROR_RECOVERY:
		return &controller->error_recovery;
	case NVME_FEATURE_ATOMICITY:
		return &controller->atomicity;
	default:
		return NULL;
	}
}

/* There is one power state, and no error for deallocated blocks. */
static uint16_t keep_feature(const struct nvmf_command *command)
{
	uint32_t *kept = kept_feature(command), value = get_le32(command->sqe + SQE_DW11);
	uint8_t feature = feature_of(command);

	if (kept == NULL || (feature == NVME_FEATURE_POWER && value & POWER_STATE) ||
	    (feature == NVME_FEATURE_ERROR_RECOVERY && value & DEALLOCATED_ERROR))
		return NVME_INVALID_FIELD | NVME_DNR;
	*kept = feature == NVME_FEATURE_TEMPERATURE ? value & 0xFFFF : value;
	return NVME_OK;
}

static uint16_t judge_set_features(struct nvmf_command *command)
{
	struct nvmf_controller *controller = command->queue->controller;
	uint32_t value = get_le32(command->sqe + SQE_DW11);

	if (get_le32(command->sqe + SQE_DW10) & SAVE)
		return NVME_NOT_SAVEABLE | NVME_DNR;
	switch (feature_of(command)) {
	case NVME_FEATURE_ASYNC_EVENT:
		controller->events_wanted = value & events_possible(command);
		controller->events_due &= controller->events_wanted;
		command->result = controller->events_wanted;
		return NVME_OK;
	case NVME_FEATURE_KEEP_ALIVE:
		controller->keep_alive_ms = value;
		return NVME_OK;
	default:
		break;
	}
	if (is_discovery(command))
		return NVME_INVALID_FIELD | NVME_DNR;
	switch (feature_of(command)) {
	case NVME_FEATURE_QUEUES:
		if ((value & 0xFFFF) == 0xFFFF || value >> 16 == 0xFFFF)
			return NVME_INVALID_FIELD | NVME_DNR;
		if (controller->queue_count > 1) /* too late once there are I/O queues */
			return NVME_COMMAND_SEQUENCE | NVME_DNR;
		command->result = queues_there(command);
		return NVME_OK;
	case NVME_FEATURE_WRITE_CACHE:
		controller->write_cache = value & 1;
		return NVME_OK;
	case NVME_FEATURE_HOST_BEHAVIOUR: /* see take_features() */
		command->data_bytes = HOST_BEHAVIOUR_BYTES;
		return NVME_OK;
	default:
		return keep_feature(command);
	}
}

/* Host Behavior Support: only ACRE, whether the host knows command retry delays, changes what the target does. */
static uint16_t take_features(struct nvmf_command *command, const uint8_t *data, uint64_t now_ns)
{
	(void)now_ns;
	if (data[0] > 1)
		return NVME_INVALID_FIELD | NVME_DNR;
	command->queue->controller->retry_later = data[0] ? NVME_RETRY_LATER : 0;
	return NVME_OK;
}

static uint16_t judge_get_features(struct nvmf_command *command)
{
	const struct nvmf_controller *controller = command->queue->controller;
	const uint32_t *kept;

	if (command->sqe[SQE_DW10 + 1] & SELECT) /* ONCS tells that only current values can be asked for */
		return NVME_INVALID_FIELD | NVME_DNR;
	switch (feature_of(command)) {
	case NVME_FEATURE_ASYNC_EVENT:
		command->result = controller->events_wanted;
		return NVME_OK;
	case NVME_FEATURE_KEEP_ALIVE:
		command->result = controller->keep_alive_ms;
		return NVME_OK;
	case NVME_FEATURE_HOST_ID:
		command->data_bytes = HOST_ID_BYTES;
		return command->sqe[SQE_DW11] & 1 ? NVME_OK : NVME_INVALID_FIELD | NVME_DNR;
	default:
		break;
	}
	if (is_discovery(command))
		return NVME_INVALID_FIELD | NVME_DNR;
	switch (feature_of(command)) {
	case NVME_FEATURE_QUEUES:
		command->result = queues_there(command);
		return NVME_OK;
	case NVME_FEATURE_WRITE_CACHE:
		command->result = controller->write_cache;
		return NVME_OK;
	case NVME_FEATURE_HOST_BEHAVIOUR:
		command->data_bytes = HOST_BEHAVIOUR_BYTES;
		return NVME_OK;
	default:
		kept = kept_feature(command);
		command->result = kept ? *kept : 0;
		return kept ? NVME_OK : NVME_INVALID_FIELD | NVME_DNR;
	}
}

static void give_features(struct nvmf_command *command, uint8_t *data)
{
	const struct nvmf_controller *controller = command->queue->controller;

	if (feature_of(command) == NVME_FEATURE_HOST_ID)
		memcpy(data, controller->host_id, HOST_ID_BYTES);
	else
		data[0] = controller->retry_later != 0;
}

/* ---- other commands ---- */

static uint16_t judge_async_event(struct nvmf_command *command)
{
	struct nvmf_controller *controller = command->queue->controller;

	if (controller->held_count == NVMF_HELD_MAX)
		return NVME_ASYNC_LIMIT | NVME_DNR;
	controller->held[controller->held_count++] = command;
	return NVME_OK;
}

static uint16_t judge_keep_alive(struct nvmf_command *command)
{
	(void)command;
	return NVME_OK;
}

/* Commands end soon, so none is ever aborted. */
static uint16_t judge_abort(struct nvmf_command *command)
{
	command->result = NOT_ABORTED;
	return NVME_OK;
}

/* ---- the log page of commands and effects, made from the rows below and those of the I/O queues ---- */

static void put_effects(uint8_t *page)
{
	static const uint8_t changing[] = { NVME_WRITE, NVME_WRITE_ZEROES, NVME_DATASET_MANAGEMENT };

	for (uint32_t opcode = 0; opcode < 256; opcode++) {
		if (nvmf_admin_row((uint8_t)opcode))
			put_le32(page + 4 * opcode, EFFECT_SUPPORTED);
		if (nvmf_io_row((uint8_t)opcode))
			put_le32(page + 1024 + 4 * opcode, EFFECT_SUPPORTED);
	}
	for (size_t i = 0; i < sizeof(changing); i++)
		put_le32(page + 1024 + 4 * changing[i], EFFECT_SUPPORTED | EFFECT_DATA);
}

static void give_log(struct nvmf_command *command, uint8_t *data)
{
	uint8_t page[NVME_PAGE_BYTES] = { 0 };

	if (nvmf_log_of(command) != NVME_LOG_EFFECTS) {
		nvmf_log_give(command, data);
		return;
	}
	put_effects(page);
	nvmf_log_give_part(command, page, data);
}

const struct nvmf_row *nvmf_admin_row(uint8_t opcode)
{
	static const struct nvmf_row rows[] = {
		{ NVME_GET_LOG_PAGE, "Get Log Page", NVMF_TO_HOST, nvmf_log_judge, .give = give_log },
		{ NVME_IDENTIFY, "Identify", NVMF_TO_HOST, nvmf_identify_judge, .give = nvmf_identify_give },
		{ NVME_ABORT, "Abort", NVMF_NO_DATA, judge_abort },
		{ NVME_SET_FEATURES, "Set Features", NVMF_FROM_HOST, judge_set_features, take_features },
		{ NVME_GET_FEATURES, "Get Features", NVMF_TO_HOST, judge_get_features, .give = give_features },
		{ NVME_ASYNC_EVENT, "Asynchronous Event Request", NVMF_NO_DATA, judge_async_event, .held = true },
		{ NVME_KEEP_ALIVE, "Keep Alive", NVMF_NO_DATA, judge_keep_alive },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].opcode == opcode)
			return &rows[i];
	}
	return NULL;
}
