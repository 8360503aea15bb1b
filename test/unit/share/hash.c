/* hash.c - the hashes are those that others compute */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "share/hash.h"
#include "rule.h"

/* Of the key and the bytes 0, 1, 2 ...: the shortest and the last one as published, all as another program has them. */
Test(hash, hashes_match_siphash)
{
	static const struct {
		size_t bytes;
		uint64_t hash;
	} rows[] = {
		{ 0, 0xABAC0158050FC4DC },  { 1, 0xC9F49BF37D57CA93 },  { 7, 0xD3927D989BB11140 },
		{ 8, 0x369095118D299A8E },  { 15, 0xD320D86D2A519956 }, { 16, 0xCC4FDD1A7D908B66 },
		{ 20, 0xC0DC2F46A6CCE040 },
	};
	uint8_t key[16], text[20];

	RULE("C-2");
	for (uint8_t i = 0; i < sizeof(key); i++)
		key[i] = i;
	for (uint8_t i = 0; i < sizeof(text); i++)
		text[i] = i;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_eq(share_hash_table(key, text, rows[i].bytes), rows[i].hash, "%zu bytes", rows[i].bytes);
	cr_expect_eq(share_hash_secret(key, text, 8), 0x93F5F5799A932462, "SipHash-2-4 of eight bytes");
}

/* Of 16 bytes of an address and 4 of a number, as one text. */
Test(hash, hash_of_a_peer_is_that_of_its_address_and_number)
{
	uint8_t key[16] = { 7 }, text[20];
	uint32_t number = 0x01020304;

	RULE("C-2");
	for (uint8_t i = 0; i < 16; i++)
		text[i] = (uint8_t)(100 + i);
	memcpy(text + 16, &number, sizeof(number));
	cr_expect_eq(share_hash_peer(key, text, number), share_hash_table(key, text, sizeof(text)));
}
