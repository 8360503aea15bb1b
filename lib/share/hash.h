/* hash.h - keyed hashes: without the key nobody can choose or predict their values */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHARE_HASH_H
#define SHARE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* For indexes of tables, which no peer sees: SipHash-1-3. */
uint64_t share_hash_table(const uint8_t key[16], const void *data, size_t bytes);
/* As share_hash_table(), over a peer's address and a number that the peer has chosen. */
uint64_t share_hash_peer(const uint8_t key[16], const uint8_t addr[16], uint32_t number);
/* For numbers that peers see: SipHash-2-4. */
uint64_t share_hash_secret(const uint8_t key[16], const void *data, size_t bytes);

#endif
