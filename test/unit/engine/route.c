/* route.c - neighbours and routers, by prefixes and gateways */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include <uroce/uroce.h>

#include "engine/route.h"
#include "rule.h"

static struct uroce_addr addr(const char *text)
{
	struct uroce_addr result = { { 0 } };

	if (text)
		cr_assert_eq(uroce_addr_parse(text, &result, NULL), 0, "%s", text);
	return result;
}

static struct uroce_device_config config_of(const char *own, const char *gateway)
{
	struct uroce_device_config config = { .addr_count = 1 };
	unsigned bits = 0;

	cr_assert_eq(uroce_addr_parse(own, &config.addrs[0], &bits), 0);
	config.prefix_bits[0] = (uint8_t)bits;
	config.gateways[0] = addr(gateway);
	return config;
}

Test(route, next_hop_is_the_neighbour_the_gateway_or_unreachable)
{
	static const struct {
		const char *own, *gateway, *dest, *hop; /* NULL: none */
	} rows[] = {
		{ "10.0.0.1/24", NULL, "10.0.0.77", "10.0.0.77" },
		{ "10.0.0.1/24", NULL, "10.0.1.77", NULL },
		{ "10.0.0.1/24", "10.0.0.254", "10.0.0.77", "10.0.0.77" },
		{ "10.0.0.1/24", "10.0.0.254", "10.0.1.77", "10.0.0.254" },
		{ "10.0.0.1/31", "10.0.0.0", "10.0.0.2", "10.0.0.0" },
		{ "10.0.0.1/32", NULL, "10.0.0.2", NULL },
		{ "10.0.0.1/23", NULL, "10.0.1.77", "10.0.1.77" },
		{ "10.0.0.1", NULL, "192.0.2.9", "192.0.2.9" },
		{ "2001:db8::1/64", NULL, "2001:db8::ffff:2", "2001:db8::ffff:2" },
		{ "2001:db8::1/64", NULL, "2001:db8:0:1::2", NULL },
		{ "2001:db8::1/64", "fe80::9", "2001:db8:0:1::2", "fe80::9" },
		{ "2001:db8::1/64", "2001:db8::9", "2001:db8:0:1::2", "2001:db8::9" },
		{ "2001:db8::1/64", "2001:db8::9", "fe80::7", "fe80::7" },
		{ "fe80::1/64", NULL, "fe80:0:0:1::7", "fe80:0:0:1::7" },
	};

	RULE("W-8");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct uroce_device_config config = config_of(rows[i].own, rows[i].gateway);
		struct uroce_path path = { .source = config.addrs[0], .dest = addr(rows[i].dest) };
		const struct uroce_addr *hop = engine_route_next_hop(&config, &path);
		struct uroce_addr wanted = addr(rows[i].hop);

		cr_expect(engine_route_config_is_valid(&config), "row %zu", i);
		cr_expect_eq(hop != NULL, rows[i].hop != NULL, "row %zu", i);
		if (hop && rows[i].hop)
			cr_expect_arr_eq(hop->bytes, wanted.bytes, 16, "row %zu", i);
	}
}

/* As RFC 6724 orders them, in its simplest form. */
Test(route, best_matching_source_is_chosen)
{
	static const struct {
		const char *own[4], *gateways[4];
		const char *dest, *source; /* NULL: none */
	} rows[] = {
		{ { "10.9.0.9/24", "10.9.100.9/24" }, { NULL }, "10.9.100.2", "10.9.100.9" },
		{ { "10.9.0.9/24", "10.9.100.9/24" }, { NULL }, "10.9.0.2", "10.9.0.9" },
		{ { "10.9.0.9/24", "10.9.100.9/24" }, { NULL }, "10.9.1.2", NULL },
		{ { "10.9.0.9/16", "10.9.100.9/24" }, { NULL }, "10.9.100.2", "10.9.100.9" },
		{ { "10.9.100.9/24", "10.9.0.9/16" }, { NULL }, "10.9.100.2", "10.9.100.9" },
		{ { "10.9.0.9", "10.9.100.9/24" }, { NULL }, "10.9.100.2", "10.9.100.9" },
		{ { "10.9.0.9", "10.9.100.9/24" }, { NULL }, "10.7.0.2", "10.9.0.9" },
		{ { "10.9.0.9/24", "10.9.100.9/24" }, { NULL, "10.9.100.1" }, "10.7.0.2", "10.9.100.9" },
		{ { "10.9.0.9/24", "10.9.100.9/24" }, { "10.9.0.1", "10.9.100.1" }, "10.9.101.2", "10.9.100.9" },
		{ { "10.9.0.9/24", "10.9.100.9/24" }, { "10.9.0.1" }, "10.9.100.2", "10.9.100.9" },
		{ { "10.9.0.9/24", "10.9.0.8/24" }, { NULL }, "10.9.0.8", "10.9.0.8" },
		{ { "10.9.0.9/24", "10.9.0.8/24" }, { NULL }, "10.9.0.7", "10.9.0.9" },
		{ { "fe80::9/64", "fd00::9/64" }, { NULL }, "fd00::2", "fd00::9" },
		{ { "fd00::9/64", "fe80::9/64" }, { NULL }, "fe80::2", "fe80::9" },
		{ { "fd00::9/64" }, { NULL }, "fe80::2", "fd00::9" },
		{ { "fe80::9", "fd00::9/64" }, { NULL }, "fd00::2", "fd00::9" },
		{ { "fe80::9", "2001:db8::9/64" }, { NULL, "fe80::1" }, "fd00::2", "2001:db8::9" },
		{ { "fe80::9/64" }, { NULL }, "fd00::2", NULL },
		{ { "fd00::9/64", "2001:db8::9/64" }, { "fe80::1", "fe80::1" }, "2001:db8:1::2", "2001:db8::9" },
		{ { "2001:db8::9/64", "fd00::9/64" }, { "fe80::1", "fe80::1" }, "fd00:1::2", "fd00::9" },
		{ { "10.9.0.9/24" }, { NULL }, "fd00::2", NULL },
		{ { "fd00::9/64", "10.9.0.9/24" }, { "fe80::1", "10.9.0.1" }, "10.7.0.2", "10.9.0.9" },
	};

	RULE("W-8");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct uroce_device_config config = { 0 };
		struct uroce_addr dest = addr(rows[i].dest), wanted = addr(rows[i].source);
		unsigned rank = 77;
		int chosen;

		for (; config.addr_count < 4 && rows[i].own[config.addr_count]; config.addr_count++) {
			uint32_t at = config.addr_count;
			unsigned bits = 0;

			cr_assert_eq(uroce_addr_parse(rows[i].own[at], &config.addrs[at], &bits), 0);
			config.prefix_bits[at] = (uint8_t)bits;
			config.gateways[at] = addr(rows[i].gateways[at]);
		}
		chosen = engine_route_choose_source(&config, &dest, &rank);
		cr_assert_eq(chosen >= 0, rows[i].source != NULL, "row %zu", i);
		cr_expect_eq(rank > 0, chosen >= 0, "row %zu", i);
		if (chosen >= 0)
			cr_expect_arr_eq(config.addrs[chosen].bytes, wanted.bytes, 16, "row %zu", i);
	}
}

/* Nobody would answer for it. */
Test(route, invalid_gateway_is_refused)
{
	static const char *const rows[][2] = { { "10.0.0.1/24", "10.0.1.254" }, { "10.0.0.1/24", "10.0.0.1" },
					       { "10.0.0.1/24", "fe80::1" },    { "2001:db8::1/64", "10.0.0.254" },
					       { "10.0.0.1", "fe80::1" },       { "2001:db8::1/64", "2001:db8:1::9" } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct uroce_device_config config = config_of(rows[i][0], rows[i][1]);

		cr_expect_not(engine_route_config_is_valid(&config), "row %zu", i);
	}
}

Test(route, path_uses_the_vlan_of_its_source_by_default)
{
	struct uroce_device_config config = { .addr_count = 2, .addrs = { addr("10.0.0.1"), addr("10.0.1.1") } };
	struct uroce_path path = { .source = addr("10.0.1.1"), .dest = addr("10.0.1.2") }, given = path;

	config.vlans[1] = (struct uroce_vlan){ .id = 100, .priority = 3 };
	cr_expect(engine_route_config_is_valid(&config));
	engine_route_complete(&config, &path);
	cr_expect_eq(path.vlan_id, 100);
	cr_expect_eq(path.vlan_priority, 3);
	given.vlan_id = 7;
	engine_route_complete(&config, &given);
	cr_expect_eq(given.vlan_id, 7);
	cr_expect_eq(given.vlan_priority, 0);
	config.vlans[1].id = 4095;
	cr_expect_not(engine_route_config_is_valid(&config));
	config.vlans[1] = (struct uroce_vlan){ .priority = 8 };
	cr_expect_not(engine_route_config_is_valid(&config));
}

Test(route, a_traffic_class_is_a_dscp_and_two_bits)
{
	cr_expect_eq(uroce_traffic_class(26, UROCE_ECN_ECT0), 0x6A);
	for (unsigned value = 0; value < 256; value++)
		cr_expect_eq(uroce_traffic_class(uroce_traffic_class_dscp((uint8_t)value),
						 uroce_traffic_class_ecn((uint8_t)value)),
			     value);
}

Test(route, addresses_of_no_host_are_refused_with_their_kind)
{
	static const struct {
		const char *text, *why; /* NULL: a host can have it */
	} rows[] = {
		{ "192.0.2.1/24", NULL },
		{ "192.0.2.255/23", NULL },
		{ "192.0.2.0/24", "the address of its network" },
		{ "192.0.2.255/24", "the broadcast address of its network" },
		{ "192.0.2.3/30", "the broadcast address of its network" },
		{ "192.0.2.2/31", NULL },
		{ "192.0.2.3/31", NULL },
		{ "192.0.2.0/32", NULL },
		{ "192.0.2.0", NULL },
		{ "0.0.0.0/24", "an unspecified address" },
		{ "0.1.2.3", "an unspecified address" },
		{ "127.0.0.1/8", "a loopback address" },
		{ "224.0.0.1", "a multicast address" },
		{ "239.255.0.1/24", "a multicast address" },
		{ "240.0.0.1/24", "a reserved address" },
		{ "255.255.255.255", "a broadcast address" },
		{ "fd00::1/64", NULL },
		{ "fd00::/64", "the address of its network" },
		{ "fd00::ffff:ffff:ffff:ffff/64", NULL },
		{ "fd00::/127", NULL },
		{ "fe80::1", NULL },
		{ "::", "an unspecified address" },
		{ "::1/128", "a loopback address" },
		{ "ff02::1", "a multicast address" },
	};

	RULE("W-8");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct uroce_addr own;
		const char *why;
		unsigned bits;

		cr_assert_eq(uroce_addr_parse(rows[i].text, &own, &bits), 0);
		why = uroce_addr_unusable(&own, bits);
		cr_expect_str_eq(why ? why : "", rows[i].why ? rows[i].why : "", "%s", rows[i].text);
	}
}
