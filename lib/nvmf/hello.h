/* hello.h - the private data with which host and target agree on queue sizes while they connect */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMF_HELLO_H
#define NVMF_HELLO_H

#include <stdint.h>

#define NVMF_HELLO_BYTES 32u
#define NVMF_REFUSAL_BYTES 4u

/* Why a connection is refused: the status in a REJ. */
enum nvmf_refusal {
	NVMF_REFUSAL_NONE,
	NVMF_REFUSAL_LENGTH,
	NVMF_REFUSAL_FORMAT,
	NVMF_REFUSAL_QID,
	NVMF_REFUSAL_SEND_SIZE,
	NVMF_REFUSAL_RECEIVE_SIZE,
	NVMF_REFUSAL_RESOURCES,
	NVMF_REFUSAL_READS
};

/* From a REQ, in commands: size of the submission queue, and responses that the host has room for. */
struct nvmf_hello {
	uint16_t qid;
	uint32_t commands, responses;
};

enum nvmf_refusal nvmf_hello_parse(const uint8_t *data, uint32_t bytes, struct nvmf_hello *hello);
void nvmf_hello_build(const struct nvmf_hello *hello, uint8_t out[NVMF_HELLO_BYTES]);
/* Writes the private data of the REP: there is room for so many commands. */
void nvmf_hello_accept(uint32_t commands, uint8_t out[NVMF_HELLO_BYTES]);
void nvmf_hello_refuse(enum nvmf_refusal refusal, uint8_t out[NVMF_REFUSAL_BYTES]);
/* The words for a refusal: "too many queue entries"; never NULL. */
const char *nvmf_refusal_text(uint16_t refusal);

#endif
