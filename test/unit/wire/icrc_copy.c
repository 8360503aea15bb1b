/* icrc_copy.c - every implementation of copying with the ICRC of this CPU against memcpy and ISA-L */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "rule.h"
#include "wire/icrc.h"
#include "wire/icrc_copy.h"

#define BYTES_MAX 5000u
#define ROOM (BYTES_MAX + 256)
#define GUARD 0xA5

static uint8_t source[ROOM], target[ROOM];

static void fill(uint64_t seed)
{
	for (uint32_t i = 0; i < ROOM; i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		source[i] = (uint8_t)(seed >> 56);
	}
}

/* Right bytes, right CRC, and nothing written on either side. */
static void check(enum wire_icrc_impl impl, uint32_t crc, uint32_t from, uint32_t to, uint32_t bytes)
{
	uint32_t found;

	memset(target, GUARD, sizeof(target));
	found = wire_icrc_copy(crc, target + to, source + from, bytes);
	cr_assert_eq(found, wire_icrc_continue(crc, source + from, bytes), "%s, %u bytes from %u to %u: CRC",
		     wire_icrc_impl_name(impl), bytes, from, to);
	cr_assert_arr_eq(target + to, source + from, bytes);
	for (uint32_t i = 0; i < to; i++)
		cr_assert_eq(target[i], GUARD, "%s, %u bytes: wrote in front", wire_icrc_impl_name(impl), bytes);
	for (uint32_t i = to + bytes; i < to + bytes + 64; i++)
		cr_assert_eq(target[i], GUARD, "%s, %u bytes: wrote behind", wire_icrc_impl_name(impl), bytes);
}

/* Runs with each implementation that this CPU has, and leaves the one that was chosen. */
#define FOR_EACH_IMPL(impl)                                                                             \
	for (enum wire_icrc_impl best = wire_icrc_chosen(), impl = WIRE_ICRC_ISAL;                      \
	     impl < WIRE_ICRC_IMPLS || !wire_icrc_choose(best); impl = (enum wire_icrc_impl)(impl + 1)) \
		if (wire_icrc_choose(impl))

Test(icrc_copy, every_length)
{
	RULE("W-3");
	fill(1);
	FOR_EACH_IMPL(impl)
	{
		for (uint32_t bytes = 0; bytes <= BYTES_MAX; bytes++)
			check(impl, bytes * 2654435761u, 3, 5, bytes);
	}
}

Test(icrc_copy, every_alignment)
{
	RULE("W-3");
	fill(2);
	FOR_EACH_IMPL(impl)
	{
		for (uint32_t from = 0; from < 64; from++)
			for (uint32_t to = 0; to < 64; to++)
				check(impl, 0x12345678, from, to, 300 + from);
	}
}

/* A message in pieces has the CRC of the whole one, wherever it is cut. */
Test(icrc_copy, every_cut)
{
	uint32_t whole;

	RULE("W-3");
	fill(3);
	whole = wire_icrc_continue(7, source, 700);
	FOR_EACH_IMPL(impl)
	{
		for (uint32_t cut = 0; cut <= 700; cut++) {
			uint32_t crc = wire_icrc_copy(7, target, source, cut);

			crc = wire_icrc_copy(crc, target + cut, source + cut, 700 - cut);
			cr_assert_eq(crc, whole, "%s, cut at %u", wire_icrc_impl_name(impl), cut);
		}
	}
}

/* Exactly so many bytes, so that the sanitizer sees a read in front of the headers or behind them. */
static void check_frame(enum wire_icrc_impl impl, uint8_t version, uint32_t headers_bytes, uint32_t bytes)
{
	uint8_t *headers = malloc(headers_bytes), *payload = malloc(bytes + !bytes);
	uint32_t right;

	memcpy(headers, source + 7 * (bytes % 11), headers_bytes);
	headers[0] = (uint8_t)(version << 4 | 5);
	memcpy(payload, source + bytes % 13, bytes);
	right = wire_icrc_continue(wire_icrc_headers(headers, headers_bytes), payload, bytes);
	memset(target, GUARD, bytes + 64);
	cr_assert_eq(wire_icrc_copy_frame(headers, headers_bytes, NULL, payload, bytes), right,
		     "%s, IPv%u headers of %u bytes, %u bytes read", wire_icrc_impl_name(impl), version, headers_bytes,
		     bytes);
	cr_assert_eq(wire_icrc_copy_frame(headers, headers_bytes, target, payload, bytes), right,
		     "%s, IPv%u headers of %u bytes, %u bytes copied", wire_icrc_impl_name(impl), version,
		     headers_bytes, bytes);
	cr_assert_arr_eq(target, payload, bytes);
	for (uint32_t i = bytes; i < bytes + 64; i++)
		cr_assert_eq(target[i], GUARD, "%s, %u bytes: wrote behind", wire_icrc_impl_name(impl), bytes);
	free(headers);
	free(payload);
}

/* Headers of every length and their payload in one go give what they give one after the other. */
Test(icrc_copy, every_frame)
{
	RULE("W-3");
	fill(5);
	FOR_EACH_IMPL(impl)
	{
		for (uint32_t extension = 0; extension <= 28; extension += 4) {
			for (uint32_t bytes = 0; bytes <= 600; bytes++) {
				check_frame(impl, 4, 40 + extension, bytes);
				check_frame(impl, 6, 60 + extension, bytes);
			}
			check_frame(impl, 4, 40 + extension, 4096);
		}
	}
}

Test(icrc_copy, unsupported_choice_changes_nothing)
{
	enum wire_icrc_impl best = wire_icrc_chosen();

	cr_assert_not(wire_icrc_choose(WIRE_ICRC_IMPLS));
	cr_assert_eq(wire_icrc_chosen(), best);
	cr_assert(wire_icrc_choose(WIRE_ICRC_ISAL));
	cr_assert_eq(wire_icrc_chosen(), WIRE_ICRC_ISAL);
	cr_assert_str_eq(wire_icrc_impl_name(WIRE_ICRC_PCLMUL), "pclmul");
	cr_assert_str_eq(wire_icrc_impl_name(WIRE_ICRC_IMPLS), "unknown");
}

Test(icrc_copy, chosen_implementation_is_in_use)
{
	enum wire_icrc_impl before = wire_icrc_chosen();

	RULE("W-3");
	for (uint32_t impl = WIRE_ICRC_ISAL; impl < WIRE_ICRC_IMPLS; impl++) {
		wire_icrc_frame_function *placed = wire_icrc_place, *checked = wire_icrc_check;
		enum wire_icrc_impl used = wire_icrc_chosen();
		bool possible = wire_icrc_choose((enum wire_icrc_impl)impl);

		cr_assert_eq(wire_icrc_chosen(), possible ? impl : used);
		cr_assert_eq(wire_icrc_place != placed, possible && impl != used);
		cr_assert_eq(wire_icrc_check != checked, possible && impl != used);
	}
	/* A process begins with the best one. */
	cr_assert_eq(wire_icrc_chosen(), before);
	cr_assert(wire_icrc_choose(before));
	cr_assert_eq(wire_icrc_chosen(), before);
}

static _Atomic bool stop;

static void *scribble(void *argument)
{
	uint8_t *bytes = argument;

	for (uint8_t value = 0; !atomic_load_explicit(&stop, memory_order_relaxed); value++) {
		for (uint32_t i = 0; i < 300; i += 8)
			((volatile uint8_t *)bytes)[i] = value;
	}
	return NULL;
}

/* An application may write to what is being sent: the frame has one content or the other, and always a right CRC. */
Test(icrc_copy, changing_source_gives_the_crc_of_the_copy)
{
	static const uint32_t lengths[] = { 8, 15, 24, 64, 100, 256, 300 };
	pthread_t writer;

	RULE("W-3");
	RULE("Q-10");
	fill(4);
	FOR_EACH_IMPL(impl)
	{
		atomic_store(&stop, false);
		cr_assert_eq(pthread_create(&writer, NULL, scribble, source), 0);
		for (uint32_t i = 0; i < 60000; i++) {
			uint32_t bytes = lengths[i % (sizeof(lengths) / sizeof(lengths[0]))];
			uint32_t crc = wire_icrc_copy(0, target, source, bytes);

			if (crc != wire_icrc_continue(0, target, bytes)) {
				atomic_store(&stop, true);
				cr_assert(false, "%s, %u bytes", wire_icrc_impl_name(impl), bytes);
			}
		}
		atomic_store(&stop, true);
		pthread_join(writer, NULL);
	}
}
