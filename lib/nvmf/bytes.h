/* bytes.h - reads and writes fields of capsules and pages: little-endian, at any alignment; text with padding */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMF_BYTES_H
#define NVMF_BYTES_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t get_le16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return le16toh(v);
}

static inline uint32_t get_le24(const uint8_t *p)
{
	return (uint32_t)(p[0] | p[1] << 8 | p[2] << 16);
}

static inline uint32_t get_le32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

static inline uint64_t get_le64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

static inline void put_le16(uint8_t *p, uint16_t v)
{
	v = htole16(v);
	memcpy(p, &v, sizeof(v));
}

static inline void put_le32(uint8_t *p, uint32_t v)
{
	v = htole32(v);
	memcpy(p, &v, sizeof(v));
}

static inline void put_le64(uint8_t *p, uint64_t v)
{
	v = htole64(v);
	memcpy(p, &v, sizeof(v));
}

/* Writes text into a field of so many bytes; cuts it to fit, or pads it. */
static inline void put_text(uint8_t *p, size_t bytes, const char *text, char padding)
{
	size_t length = strnlen(text, bytes);

	memcpy(p, text, length);
	memset(p + length, padding, bytes - length);
}

#endif
