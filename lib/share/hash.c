/* hash.c - SipHash */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "share/hash.h"

#include <string.h>

static uint64_t rotate(uint64_t x, unsigned bits)
{
	return x << bits | x >> (64 - bits);
}

static void mix(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] = rotate(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[2] = rotate(v[2], 32);
}

/* SipHash (Aumasson and Bernstein, 2012): `rounds` rounds for each word, and more in the end. */
static inline uint64_t siphash(const uint8_t key[16], const void *data, size_t bytes, int rounds, int last_rounds)
{
	const uint8_t *p = data;
	uint64_t k[2], word, v[4], last = (uint64_t)bytes << 56;

	memcpy(k, key, sizeof(k));
	v[0] = k[0] ^ 0x736f6d6570736575ull;
	v[1] = k[1] ^ 0x646f72616e646f6dull;
	v[2] = k[0] ^ 0x6c7967656e657261ull;
	v[3] = k[1] ^ 0x7465646279746573ull;
	for (; bytes >= 8; bytes -= 8, p += 8) {
		memcpy(&word, p, 8);
		v[3] ^= word;
		for (int i = 0; i < rounds; i++)
			mix(v);
		v[0] ^= word;
	}
	for (size_t i = 0; i < bytes; i++)
		last |= (uint64_t)p[i] << (8 * i);
	v[3] ^= last;
	for (int i = 0; i < rounds; i++)
		mix(v);
	v[0] ^= last;
	v[2] ^= 0xff;
	for (int i = 0; i < last_rounds; i++)
		mix(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

uint64_t share_hash_table(const uint8_t key[16], const void *data, size_t bytes)
{
	return siphash(key, data, bytes, 1, 3);
}

uint64_t share_hash_peer(const uint8_t key[16], const uint8_t addr[16], uint32_t number)
{
	uint8_t text[20];

	memcpy(text, addr, 16);
	memcpy(text + 16, &number, 4);
	return share_hash_table(key, text, sizeof(text));
}

uint64_t share_hash_secret(const uint8_t key[16], const void *data, size_t bytes)
{
	return siphash(key, data, bytes, 2, 4);
}
