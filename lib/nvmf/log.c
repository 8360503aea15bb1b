/* log.c - the log pages: errors, health, firmware, changed namespaces, discovery */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmf/bytes.h"
#include "nvmf/row.h"

#define RETAIN 0x80u
#define ENTRY_BYTES 1024u /* size of an entry of the discovery page, and of its header */
#define ERROR_BYTES 64u
#define NO_FIELD 0xFFFFu /* the error is not about a field of the command */
#define SMART_BYTES 512u
#define SMART_UNIT_BYTES 512000u
#define KELVIN 300u
#define SPARE_PERCENT 100u

uint8_t nvmf_log_of(const struct nvmf_command *command)
{
	return command->sqe[SQE_DW10];
}

static uint64_t offset_of(const struct nvmf_command *command)
{
	return get_le64(command->sqe + SQE_DW12);
}

/* ---- discovery: one entry for each address of each subsystem that the host may see ---- */

static uint32_t entry_count(const struct nvmf_controller *controller)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < controller->target->subsystem_count; i++)
		count += nvmf_subsystem_admits(controller->target->subsystems[i], controller->host_nqn);
	return count * controller->target->address_count;
}

static void put_header(const struct nvmf_controller *controller, uint8_t *block)
{
	put_le64(block, controller->target->discovery_generation);
	put_le64(block + 8, entry_count(controller));
}

static void put_entry(const struct nvmf_subsystem *subsystem, const struct nvmf_address *address, uint8_t *block)
{
	block[0] = NVME_TRANSPORT_RDMA;
	block[1] = (uint8_t)address->family;
	block[2] = 2; /* an NVM subsystem */
	block[3] = 4; /* flow control of the submission queue can be off */
	put_le16(block + 4, address->port_id);
	put_le16(block + 6, NVME_CNTLID_ANY);
	put_le16(block + 8, NVME_ADMIN_DEPTH);
	put_text(block + 32, 32, address->service, '\0');
	put_text(block + 256, 256, subsystem->nqn, '\0');
	put_text(block + 512, 256, address->address, '\0');
	block[768] = 1; /* connected */
	block[769] = 4; /* RoCEv2 */
	block[770] = 1; /* by rdma_cm */
}

/* Writes the header, block 0, or the entry with this number. */
static void put_block(const struct nvmf_controller *controller, uint64_t number, uint8_t block[ENTRY_BYTES])
{
	const struct nvmf_target *target = controller->target;
	uint64_t entry = number - 1;

	memset(block, 0, ENTRY_BYTES);
	if (number == 0) {
		put_header(controller, block);
		return;
	}
	for (uint32_t i = 0; i < target->subsystem_count; i++) {
		if (!nvmf_subsystem_admits(target->subsystems[i], controller->host_nqn))
			continue;
		if (entry < target->address_count) {
			put_entry(target->subsystems[i], &target->addresses[entry], block);
			return;
		}
		entry -= target->address_count;
	}
}

static void give_discovery(const struct nvmf_controller *controller, uint64_t offset, uint32_t bytes, uint8_t *data)
{
	uint8_t block[ENTRY_BYTES];

	while (bytes > 0) {
		uint32_t within = (uint32_t)(offset % ENTRY_BYTES);
		uint32_t count = bytes < ENTRY_BYTES - within ? bytes : ENTRY_BYTES - within;

		put_block(controller, offset / ENTRY_BYTES, block);
		memcpy(data, block + within, count);
		data += count;
		offset += count;
		bytes -= count;
	}
}

/* ---- the other pages, each within NVME_PAGE_BYTES ---- */

static void put_smart(const struct nvmf_controller *controller, uint8_t *page)
{
	const struct nvmf_subsystem *subsystem = controller->subsystem;
	struct nvmf_counts sum = subsystem->past;

	for (uint32_t i = 0; i < NVMF_NAMESPACES_MAX; i++) {
		const struct nvmf_namespace *namespace = subsystem->namespaces[i];
		struct nvmf_counts counts;

		if (namespace == NULL)
			continue;
		counts = nvmf_namespace_counts(namespace);
		nvmf_counts_add(&sum, &counts);
		if (namespace->degraded)
			page[0] = NVME_EVENT_UNRELIABLE;
	}
	put_le16(page + 1, KELVIN);
	page[3] = SPARE_PERCENT;
	put_le64(page + 32, (sum.read_bytes + SMART_UNIT_BYTES - 1) / SMART_UNIT_BYTES);
	put_le64(page + 48, (sum.written_bytes + SMART_UNIT_BYTES - 1) / SMART_UNIT_BYTES);
	put_le64(page + 64, sum.reads);
	put_le64(page + 80, sum.writes);
	put_le64(page + 160, sum.media_errors);
	put_le64(page + 176, controller->error_count);
}

/* Newest first. */
static void put_errors(const struct nvmf_controller *controller, uint8_t *page)
{
	for (uint64_t number = controller->error_count, left = NVMF_ERRORS_MAX; number > 0 && left > 0;
	     number--, left--, page += ERROR_BYTES) {
		const struct nvmf_error *error = &controller->errors[(number - 1) % NVMF_ERRORS_MAX];

		put_le64(page, number);
		put_le16(page + 8, error->qid);
		put_le16(page + 10, error->cid);
		put_le16(page + 12, (uint16_t)(error->status << 1));
		put_le16(page + 14, NO_FIELD);
		put_le64(page + 16, error->block);
		put_le32(page + 24, error->nsid);
	}
}

static void put_changed(struct nvmf_controller *controller, uint8_t *page)
{
	for (uint32_t i = 0; i < NVMF_NAMESPACES_MAX; i++) {
		if (nvmf_set_has(controller->changed, i + 1)) {
			put_le32(page, i + 1);
			page += 4;
		}
	}
}

static void put_firmware(uint8_t *page)
{
	page[0] = 1; /* the active slot */
	put_text(page + 8, 8, "uroce", ' ');
}

static uint32_t page_bytes(uint8_t log)
{
	switch (log) {
	case NVME_LOG_ERROR:
		return NVMF_ERRORS_MAX * ERROR_BYTES;
	case NVME_LOG_SMART:
	case NVME_LOG_FIRMWARE:
		return SMART_BYTES;
	case NVME_LOG_CHANGED:
	case NVME_LOG_EFFECTS:
		return NVME_PAGE_BYTES;
	default:
		return 0;
	}
}

/*
 * Checks that offset and length are multiples of four, and that the offset lies within the page. Only the discovery
 * page may be read beyond its end, where a host reads zeros.
 */
uint16_t nvmf_log_judge(struct nvmf_command *command)
{
	const struct nvmf_controller *controller = command->queue->controller;
	uint64_t dwords =
		(get_le16(command->sqe + SQE_DW10 + 2) | (uint64_t)get_le16(command->sqe + SQE_DW11) << 16) + 1;
	uint32_t there = page_bytes(nvmf_log_of(command));
	bool discovery = nvmf_log_of(command) == NVME_LOG_DISCOVERY;

	if (discovery != (controller->subsystem == NULL) || (!discovery && there == 0))
		return NVME_INVALID_LOG_PAGE | NVME_DNR;
	if (offset_of(command) % 4 || 4 * dwords > controller->target->config.max_data_bytes ||
	    offset_of(command) > UINT64_MAX / 2)
		return NVME_INVALID_FIELD | NVME_DNR;
	if (!discovery && offset_of(command) >= there)
		return NVME_INVALID_FIELD | NVME_DNR;
	command->data_bytes = (uint32_t)(4 * dwords);
	return NVME_OK;
}

void nvmf_log_give_part(const struct nvmf_command *command, const uint8_t *page, uint8_t *data)
{
	uint64_t offset = offset_of(command);
	uint32_t left = page_bytes(nvmf_log_of(command)) - (uint32_t)offset;

	memcpy(data, page + offset, left < command->data_bytes ? left : command->data_bytes);
}

void nvmf_log_give(struct nvmf_command *command, uint8_t *data)
{
	struct nvmf_controller *controller = command->queue->controller;
	uint8_t page[NVME_PAGE_BYTES] = { 0 };
	bool read = (command->sqe[SQE_DW10 + 1] & RETAIN) == 0;

	switch (nvmf_log_of(command)) {
	case NVME_LOG_DISCOVERY:
		give_discovery(controller, offset_of(command), command->data_bytes, data);
		if (read)
			nvmf_controller_read(controller, NVME_EVENT_DISCOVERY);
		return;
	case NVME_LOG_ERROR:
		put_errors(controller, page);
		break;
	case NVME_LOG_SMART:
		put_smart(controller, page);
		if (read)
			nvmf_controller_read(controller, NVME_EVENT_UNRELIABLE);
		break;
	case NVME_LOG_FIRMWARE:
		put_firmware(page);
		break;
	case NVME_LOG_CHANGED:
		put_changed(controller, page);
		nvmf_controller_list_changes(controller);
		if (read) {
			memset(controller->changed, 0, sizeof(controller->changed));
			nvmf_controller_read(controller, NVME_EVENT_NAMESPACE);
		}
		break;
	default:
		break;
	}
	nvmf_log_give_part(command, page, data);
}
