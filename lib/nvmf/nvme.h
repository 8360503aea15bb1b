/* nvme.h - numbers of NVMe and of NVMe over fabrics: opcodes, statuses, offsets of fields */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMF_NVME_H
#define NVMF_NVME_H

#define NVME_VERSION 0x00010300u
#define NVME_DISCOVERY_NQN "nqn.2014-08.org.nvmexpress.discovery"
#define NVME_NQN_BYTES 256u /* with the zero at its end */
#define NVME_NQN_MAX 223u
#define NVME_SQE_BYTES 64u
#define NVME_CQE_BYTES 16u
#define NVME_PAGE_BYTES 4096u
#define NVME_CONNECT_BYTES 1024u
#define NVME_ADMIN_DEPTH 32u
#define NVME_CNTLID_ANY 0xFFFFu
#define NVME_CNTLID_MAX 0xFFEFu
#define NVME_NSID_ALL 0xFFFFFFFFu
#define NVME_ANY_SQ_HEAD 0xFFFFu /* says that the queue has no flow control */

enum nvme_admin_opcode {
	NVME_GET_LOG_PAGE = 0x02,
	NVME_IDENTIFY = 0x06,
	NVME_ABORT = 0x08,
	NVME_SET_FEATURES = 0x09,
	NVME_GET_FEATURES = 0x0A,
	NVME_ASYNC_EVENT = 0x0C,
	NVME_KEEP_ALIVE = 0x18,
	NVME_FABRICS = 0x7F
};

enum nvme_io_opcode {
	NVME_FLUSH = 0x00,
	NVME_WRITE = 0x01,
	NVME_READ = 0x02,
	NVME_COMPARE = 0x05,
	NVME_WRITE_ZEROES = 0x08,
	NVME_DATASET_MANAGEMENT = 0x09
};

enum nvme_fabrics_type { NVME_PROPERTY_SET = 0x00, NVME_CONNECT = 0x01, NVME_PROPERTY_GET = 0x04 };

/* Status codes, with their types in bits 10:8. A completion queue entry has twice the value. */
enum nvme_status {
	NVME_OK = 0x000,
	NVME_INVALID_OPCODE = 0x001,
	NVME_INVALID_FIELD = 0x002,
	NVME_DATA_TRANSFER_ERROR = 0x004,
	NVME_INTERNAL_ERROR = 0x006,
	NVME_ABORTED = 0x007,
	NVME_INVALID_NAMESPACE = 0x00B,
	NVME_COMMAND_SEQUENCE = 0x00C,
	NVME_SGL_LENGTH = 0x00F,
	NVME_SGL_TYPE = 0x011,
	NVME_SGL_OFFSET = 0x016,
	NVME_WRITE_PROTECTED = 0x020,
	NVME_LBA_RANGE = 0x080,
	NVME_CAPACITY_EXCEEDED = 0x081,
	NVME_NAMESPACE_NOT_READY = 0x082,
	NVME_ASYNC_LIMIT = 0x105,
	NVME_INVALID_LOG_PAGE = 0x109,
	NVME_NOT_SAVEABLE = 0x10D,
	NVME_CONNECT_FORMAT = 0x180,
	NVME_CONNECT_BUSY = 0x181,
	NVME_CONNECT_INVALID = 0x182,
	NVME_CONNECT_HOST = 0x184,
	NVME_WRITE_FAULT = 0x280,
	NVME_READ_ERROR = 0x281,
	NVME_COMPARE_FAILURE = 0x285,
	NVME_RETRY_LATER = 0x0800, /* CRD 1: retry after the time CRDT1 of the controller */
	NVME_DNR = 0x4000          /* do not retry */
};

/* Offsets in a submission queue entry. */
enum nvme_sqe {
	SQE_OPCODE = 0,
	SQE_FLAGS = 1,
	SQE_CID = 2,
	SQE_NSID = 4,
	SQE_FABRICS_TYPE = 4,
	SQE_SGL = 24,
	SQE_SGL_TYPE = 39,
	SQE_DW10 = 40,
	SQE_DW11 = 44,
	SQE_DW12 = 48,
	SQE_DW13 = 52,
	SQE_DW14 = 56,
	SQE_DW15 = 60
};

/* Offsets in a Connect's entry, and in its data. IN_DATA: the result of a refusal is an offset in the data. */
enum { SQE_FORMAT = 40, SQE_QID = 42, SQE_SIZE = 44, SQE_ATTRIBUTES = 46, SQE_KEEP_ALIVE = 48 };
enum { DATA_HOST_ID = 0, DATA_CNTLID = 16, DATA_SUBSYSTEM = 256, DATA_HOST = 512 };
enum { IN_DATA = 1 << 16 };

/* Descriptors: type in the high nibble, subtype in the low one. */
enum nvme_sgl {
	NVME_SGL_KEYED = 0x40,
	NVME_SGL_KEYED_INVALIDATE = 0x4F,
	NVME_SGL_IN_CAPSULE = 0x01,
	NVME_FLAGS_FUSED = 0x03,
	NVME_FLAGS_PSDT = 0xC0,
	NVME_FLAGS_PSDT_SGL = 0x40
};

enum nvme_property { NVME_CAP = 0x00, NVME_VS = 0x08, NVME_CC = 0x14, NVME_CSTS = 0x1C };

/* Fields of CC and CSTS. */
enum {
	NVME_CC_ENABLE = 1 << 0,
	NVME_CC_CSS_AMS_MPS = 0x3FF0,
	NVME_CC_SHUTDOWN = 0xC000,
	NVME_CC_ENTRIES = 0xFF0000,
	NVME_CC_ENTRIES_USUAL = 0x460000, /* entries of 64 and 16 bytes */
	NVME_CSTS_READY = 1 << 0,
	NVME_CSTS_FATAL = 1 << 1,
	NVME_CSTS_SHUTDOWN_BUSY = 1 << 2,
	NVME_CSTS_SHUTDOWN_DONE = 2 << 2
};

enum nvme_feature {
	NVME_FEATURE_ARBITRATION = 0x01,
	NVME_FEATURE_POWER = 0x02,
	NVME_FEATURE_TEMPERATURE = 0x04,
	NVME_FEATURE_ERROR_RECOVERY = 0x05,
	NVME_FEATURE_WRITE_CACHE = 0x06,
	NVME_FEATURE_QUEUES = 0x07,
	NVME_FEATURE_ATOMICITY = 0x0A,
	NVME_FEATURE_ASYNC_EVENT = 0x0B,
	NVME_FEATURE_KEEP_ALIVE = 0x0F,
	NVME_FEATURE_HOST_BEHAVIOUR = 0x16,
	NVME_FEATURE_HOST_ID = 0x81
};

enum nvme_log {
	NVME_LOG_ERROR = 0x01,
	NVME_LOG_SMART = 0x02,
	NVME_LOG_FIRMWARE = 0x03,
	NVME_LOG_CHANGED = 0x04,
	NVME_LOG_EFFECTS = 0x05,
	NVME_LOG_DISCOVERY = 0x70
};

enum nvme_cns {
	NVME_CNS_NAMESPACE = 0x00,
	NVME_CNS_CONTROLLER = 0x01,
	NVME_CNS_ACTIVE = 0x02,
	NVME_CNS_DESCRIPTORS = 0x03,
	NVME_CNS_SET_NAMESPACE = 0x05,
	NVME_CNS_SET_CONTROLLER = 0x06,
	NVME_CNS_INDEPENDENT = 0x08
};

/* Bits of OAES and of feature 0Bh. */
#define NVME_EVENT_UNRELIABLE (1u << 2) /* in the SMART / health log the critical warning has the same bit */
#define NVME_EVENT_NAMESPACE (1u << 8)
#define NVME_EVENT_DISCOVERY (1u << 31)

enum nvme_transport { NVME_TRANSPORT_RDMA = 1 };
enum nvme_family { NVME_FAMILY_IPV4 = 1, NVME_FAMILY_IPV6 = 2 };

#endif
