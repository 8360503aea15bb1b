/* hello.c - the private data of the messages that make a connection */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmf/hello.h"

#include "nvmf/bytes.h"
#include "nvmf/nvme.h"

enum { FORMAT = 0, QID = 2, RESPONSES = 4, COMMANDS = 6 };

/* The submission queue's size is sent less one, the number of responses as it is. */
enum nvmf_refusal nvmf_hello_parse(const uint8_t *data, uint32_t bytes, struct nvmf_hello *hello)
{
	if (bytes < NVMF_HELLO_BYTES)
		return NVMF_REFUSAL_LENGTH;
	if (get_le16(data + FORMAT) != 0)
		return NVMF_REFUSAL_FORMAT;
	hello->qid = get_le16(data + QID);
	hello->commands = get_le16(data + COMMANDS) + 1u;
	hello->responses = get_le16(data + RESPONSES);
	if (hello->commands < 2 || (hello->qid == 0 && hello->commands > NVME_ADMIN_DEPTH))
		return NVMF_REFUSAL_SEND_SIZE;
	return hello->responses == 0 ? NVMF_REFUSAL_RECEIVE_SIZE : NVMF_REFUSAL_NONE;
}

void nvmf_hello_build(const struct nvmf_hello *hello, uint8_t out[NVMF_HELLO_BYTES])
{
	memset(out, 0, NVMF_HELLO_BYTES);
	put_le16(out + QID, hello->qid);
	put_le16(out + RESPONSES, (uint16_t)hello->responses);
	put_le16(out + COMMANDS, (uint16_t)(hello->commands - 1));
}

void nvmf_hello_accept(uint32_t commands, uint8_t out[NVMF_HELLO_BYTES])
{
	memset(out, 0, NVMF_HELLO_BYTES);
	put_le16(out + 2, (uint16_t)commands);
}

void nvmf_hello_refuse(enum nvmf_refusal refusal, uint8_t out[NVMF_REFUSAL_BYTES])
{
	put_le16(out, 0);
	put_le16(out + 2, (uint16_t)refusal);
}

const char *nvmf_refusal_text(uint16_t refusal)
{
	static const char *const texts[] = {
		[NVMF_REFUSAL_NONE] = "no reason",
		[NVMF_REFUSAL_LENGTH] = "private data too short",
		[NVMF_REFUSAL_FORMAT] = "private data of another format",
		[NVMF_REFUSAL_QID] = "invalid queue ID",
		[NVMF_REFUSAL_SEND_SIZE] = "unsupported submission queue size",
		[NVMF_REFUSAL_RECEIVE_SIZE] = "the host's receive queue is too small for the responses",
		[NVMF_REFUSAL_RESOURCES] = "the target has no free resources",
		[NVMF_REFUSAL_READS] = "the host allows no RDMA READs",
	};

	return refusal < sizeof(texts) / sizeof(texts[0]) ? texts[refusal] : "unknown";
}
