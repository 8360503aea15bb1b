/* path.c - what comes along a path, as far as addresses, port and VLAN say it */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "rc/path.h"
#include "rule.h"

static const struct uroce_device *const port = (const void *)0x1000;

/* The path of these is from ...9 to ...8, both IPv4 or both IPv6. */
static struct uroce_path path_in(uint16_t vlan_id, bool ipv6)
{
	struct uroce_path path = { .device = (struct uroce_device *)(uintptr_t)port, .vlan_id = vlan_id };

	for (int at = 10; at < 12 && !ipv6; at++)
		path.source.bytes[at] = path.dest.bytes[at] = 0xFF;
	path.source.bytes[15] = 9;
	path.dest.bytes[15] = 8;
	return path;
}

/* TC-A-13: the tag counts as the addresses do, and no VLAN is one, too. */
Test(path, path_matches_only_frames_of_its_vlan)
{
	RULE("W-1");
	for (uint16_t ours = 0; ours < 4095; ours += ours < 2 ? 1 : 1364) {
		for (uint16_t theirs = 0; theirs < 4096; theirs++) {
			struct uroce_path path = path_in(ours, theirs & 1);
			struct rc_origin origin = {
				.source = path.dest.bytes,
				.dest = path.source.bytes,
				.device = port,
				.vlan_id = theirs,
			};

			cr_assert_eq(path_matches(&path, &origin), ours == theirs, "%u and %u", ours, theirs);
			cr_assert(path_addresses_match(&path, &origin));
			origin.dest = path.dest.bytes;
			cr_assert_not(path_addresses_match(&path, &origin));
		}
	}
}

/* A frame accepted by frame_parse_headers() has no tag, and its VLAN is not given. */
Test(path, a_plain_frame_is_of_no_vlan)
{
	RULE("W-1");
	for (uint16_t vlan_id = 0; vlan_id < 2; vlan_id++) {
		struct uroce_path path = path_in(vlan_id, false);
		struct rc_origin origin = { .device = port, .ipv4 = path_ipv4(&path), .vlan_id = 1 };

		cr_assert_eq(path_matches(&path, &origin), vlan_id == 0);
	}
}

Test(path, a_tag_has_the_priority_above_the_vlan)
{
	struct uroce_path path = path_in(0, false);

	RULE("W-1");
	cr_assert_eq(path_vlan_tci(&path), 0, "none");
	path.vlan_priority = 5;
	cr_assert_eq(path_vlan_tci(&path), 0xA000);
	path.vlan_id = 0xABC;
	cr_assert_eq(path_vlan_tci(&path), 0xAABC);
}

Test(path, path_packs_addresses_like_an_ipv4_header)
{
	const struct uroce_addr one = { { [10] = 0xFF, [11] = 0xFF, [12] = 192, 0, 2, 1 } };
	const struct uroce_addr other = { { [10] = 0xFF, [11] = 0xFF, [12] = 192, 0, 2, 9 } };
	const struct uroce_addr ipv6 = { { 0xFD, [15] = 1 } };
	const uint8_t expected[8] = { 192, 0, 2, 9, 192, 0, 2, 1 };
	uint64_t both = path_ipv4(&(struct uroce_path){ .source = one, .dest = other });

	RULE("W-5");
	cr_assert_arr_eq(&both, expected, sizeof(expected));
	cr_assert_eq(path_ipv4(&(struct uroce_path){ .source = one, .dest = ipv6 }), 0);
	cr_assert_eq(path_ipv4(&(struct uroce_path){ .source = ipv6, .dest = other }), 0);
}
