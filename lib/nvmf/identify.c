/* identify.c - the pages that describe a controller and a namespace */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmf/bytes.h"
#include "nvmf/row.h"

#define FIRMWARE "uroce"
#define KEEP_ALIVE_UNIT 10u /* in 100 ms */
#define WARM_KELVIN 0x157u  /* warning threshold, as the specification recommends */
#define HOT_KELVIN 0x175u
#define SGLS 0x00100005u     /* SGLs, keyed ones, data in capsules */
#define ENTRY_SIZES_SQ 0x66u /* submission queue entries of 64 bytes exactly */
#define ENTRY_SIZES_CQ 0x44u /* completion queue entries of 16 bytes */
#define MULTIPATH 0x03u      /* the subsystem has several ports and several controllers */
#define THIN 0x01u           /* NSFEAT: used blocks may be fewer than all blocks */
#define GRAINS 0x10u         /* NPWG to NOWS are valid */
#define SHARED 0x01u         /* several controllers may have the namespace */
#define LOG_EFFECTS 0x02u
#define LOG_OFFSETS 0x04u
#define COMMANDS_OPTIONAL 0x0Du /* compare, dataset management, write zeroes */
/*
 * Set for every controller, because hosts read this once, and a namespace that needs flushes may be added later. A
 * flush of a namespace in memory does nothing.
 */
#define VOLATILE_CACHE 0x01u
#define HOST_ID_128 0x01u
#define TRAFFIC_KEEPS_ALIVE 0x40u /* every command keeps the controller, not only Keep Alive */
#define RETRY_DELAY 2u            /* CRDT1, in 100 ms: Linux retries five times, and scans within a second */
#define FIRMWARE_SLOT 0x03u       /* one slot, read only */

enum controller_type { TYPE_IO = 1, TYPE_DISCOVERY = 2 };
enum descriptor { DESCRIPTOR_NGUID = 2, DESCRIPTOR_UUID = 3, DESCRIPTOR_COMMAND_SET = 4 };

static uint8_t cns_of(const struct nvmf_command *command)
{
	return command->sqe[SQE_DW10];
}

static const struct nvmf_subsystem *subsystem_of(const struct nvmf_command *command)
{
	return command->queue->controller->subsystem;
}

static uint8_t ring_size_at_least(uint32_t value)
{
	return (uint8_t)__builtin_ctz(value);
}

static void put_io_controller(const struct nvmf_subsystem *subsystem, const struct nvmf_config *config, uint8_t *page)
{
	put_text(page + 4, 20, subsystem->serial, ' ');
	put_text(page + 24, 40, subsystem->model, ' ');
	page[76] = MULTIPATH;
	put_le32(page + 92, NVME_EVENT_NAMESPACE);
	page[111] = TYPE_IO;
	put_le16(page + 128, RETRY_DELAY);
	page[261] |= LOG_EFFECTS;
	put_le16(page + 266, WARM_KELVIN);
	put_le16(page + 268, HOT_KELVIN);
	put_le16(page + 320, KEEP_ALIVE_UNIT);
	page[262] = NVMF_ERRORS_MAX - 1;
	page[512] = ENTRY_SIZES_SQ;
	page[513] = ENTRY_SIZES_CQ;
	put_le32(page + 516, NVMF_NAMESPACES_MAX);
	put_le16(page + 520, COMMANDS_OPTIONAL);
	page[525] = VOLATILE_CACHE;
	put_text(page + 768, NVME_NQN_BYTES, subsystem->nqn, '\0');
	put_le32(page + 1792, (NVME_SQE_BYTES + config->in_capsule_bytes) / 16);
	put_le32(page + 1796, NVME_CQE_BYTES / 16);
	page[1803] = 1; /* SGL descriptors */
	put_le16(page + 2048, 2500);
}

static void put_discovery_controller(uint8_t *page)
{
	put_text(page + 4, 20, "0", ' ');
	put_text(page + 24, 40, "uroce", ' ');
	put_le32(page + 92, NVME_EVENT_DISCOVERY);
	page[111] = TYPE_DISCOVERY;
	put_text(page + 768, NVME_NQN_BYTES, NVME_DISCOVERY_NQN, '\0');
}

static void put_controller(const struct nvmf_controller *controller, uint8_t *page)
{
	const struct nvmf_config *config = &controller->target->config;

	put_text(page + 64, 8, FIRMWARE, ' ');
	page[77] = ring_size_at_least(config->max_data_bytes / NVME_PAGE_BYTES);
	put_le16(page + 78, controller->cntlid);
	put_le32(page + 80, NVME_VERSION);
	put_le32(page + 96, HOST_ID_128 | TRAFFIC_KEEPS_ALIVE);
	page[258] = NVMF_HELD_MAX - 1; /* the most aborts and the most events at a time, each minus one */
	page[259] = NVMF_HELD_MAX - 1;
	page[260] = FIRMWARE_SLOT;
	page[261] = LOG_OFFSETS;
	put_le16(page + 514, (uint16_t)config->queue_depth);
	put_le32(page + 536, SGLS);
	if (controller->subsystem)
		put_io_controller(controller->subsystem, config, page);
	else
		put_discovery_controller(page);
}

/*
 * A thin store has fewer blocks in use than blocks. Writes are fastest in pages of the store's cache and of most disks:
 * 4 KiB, at whose multiples hosts let partitions and file systems begin.
 */
static void put_namespace(const struct nvmf_namespace *namespace, uint8_t *page)
{
	uint64_t used = namespace->used_blocks;
	uint16_t grain = (uint16_t)(NVME_PAGE_BYTES / namespace->block_bytes - 1);

	put_le64(page, namespace->blocks);
	put_le64(page + 8, namespace->blocks);
	put_le64(page + 16, used && used < namespace->blocks ? used : namespace->blocks);
	page[24] = used ? THIN | GRAINS : GRAINS;
	page[30] = SHARED;
	/* granularity and alignment of writes, then of deallocation; optimal write size */
	for (int at = 64; at <= 72; at += 2)
		put_le16(page + at, grain);
	page[99] = namespace->read_only;
	memcpy(page + 104, namespace->nguid, 16);
	page[130] = ring_size_at_least(namespace->block_bytes);
}

static void put_independent(const struct nvmf_namespace *namespace, uint8_t *page)
{
	page[1] = SHARED;
	page[8] = namespace->read_only;
	page[14] = 1; /* ready */
}

static void put_active(const struct nvmf_subsystem *subsystem, uint32_t above, uint8_t *page)
{
	for (uint32_t i = 0; i < NVMF_NAMESPACES_MAX; i++) {
		if (subsystem->namespaces[i] && i + 1 > above) {
			put_le32(page, i + 1);
			page += 4;
		}
	}
}

static bool is_zero(const uint8_t id[16])
{
	static const uint8_t none[16];

	return memcmp(id, none, sizeof(none)) == 0;
}

static uint8_t *put_descriptor(uint8_t *at, enum descriptor type, const void *value, uint8_t bytes)
{
	at[0] = (uint8_t)type;
	at[1] = bytes;
	memcpy(at + 4, value, bytes);
	return at + 4 + bytes;
}

static void put_descriptors(const struct nvmf_namespace *namespace, uint8_t *page)
{
	uint8_t nvm = 0;

	if (!is_zero(namespace->uuid))
		page = put_descriptor(page, DESCRIPTOR_UUID, namespace->uuid, sizeof(namespace->uuid));
	if (!is_zero(namespace->nguid))
		page = put_descriptor(page, DESCRIPTOR_NGUID, namespace->nguid, sizeof(namespace->nguid));
	put_descriptor(page, DESCRIPTOR_COMMAND_SET, &nvm, sizeof(nvm));
}

uint16_t nvmf_identify_judge(struct nvmf_command *command)
{
	const struct nvmf_subsystem *subsystem = subsystem_of(command);
	uint8_t cns = cns_of(command), set = command->sqe[SQE_DW11 + 3];

	command->data_bytes = NVME_PAGE_BYTES;
	if (cns == NVME_CNS_CONTROLLER)
		return NVME_OK;
	if (subsystem == NULL)
		return NVME_INVALID_FIELD | NVME_DNR;
	switch (cns) {
	case NVME_CNS_NAMESPACE:
	case NVME_CNS_INDEPENDENT:
		return command->nsid >= 1 && command->nsid <= NVMF_NAMESPACES_MAX ? NVME_OK :
										    NVME_INVALID_NAMESPACE | NVME_DNR;
	case NVME_CNS_ACTIVE:
		return command->nsid < NVME_NSID_ALL - 1 ? NVME_OK : NVME_INVALID_NAMESPACE | NVME_DNR;
	case NVME_CNS_DESCRIPTORS:
		return nvmf_subsystem_find(subsystem, command->nsid) ? NVME_OK : NVME_INVALID_NAMESPACE | NVME_DNR;
	case NVME_CNS_SET_NAMESPACE:
	case NVME_CNS_SET_CONTROLLER: /* the NVM command set tells nothing more */
		return set == 0 ? NVME_OK : NVME_INVALID_FIELD | NVME_DNR;
	default:
		return NVME_INVALID_FIELD | NVME_DNR;
	}
}

/* From here on the host takes this number for the present namespace. */
static const struct nvmf_namespace *get_to_know(struct nvmf_controller *controller, uint32_t nsid)
{
	const struct nvmf_namespace *namespace = nvmf_subsystem_find(controller->subsystem, nsid);

	if (namespace)
		nvmf_controller_identify(controller, namespace);
	return namespace;
}

void nvmf_identify_give(struct nvmf_command *command, uint8_t *data)
{
	struct nvmf_controller *controller = command->queue->controller;
	const struct nvmf_namespace *found;

	switch (cns_of(command)) {
	case NVME_CNS_CONTROLLER:
		put_controller(controller, data);
		break;
	case NVME_CNS_NAMESPACE: /* zeros: the namespace is not active */
		found = get_to_know(controller, command->nsid);
		if (found)
			put_namespace(found, data);
		break;
	case NVME_CNS_ACTIVE:
		put_active(controller->subsystem, command->nsid, data);
		nvmf_controller_list(controller, command->nsid);
		break;
	case NVME_CNS_DESCRIPTORS:
		found = get_to_know(controller, command->nsid);
		if (found)
			put_descriptors(found, data);
		break;
	case NVME_CNS_INDEPENDENT: /* only that it exists, not what it is */
		found = nvmf_subsystem_find(controller->subsystem, command->nsid);
		if (found)
			put_independent(found, data);
		break;
	default:
		break;
	}
}
