/* pings.c - which peers were asked for echoes, which echoes came, and who cannot forge them */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "engine/pings.h"
#include "rule.h"

#define MS 1000000ull

TestSuite(pings, .timeout = 10);

static struct engine_pings pings;
static uint64_t now_ns;

static void start(void)
{
	engine_pings_init(&pings);
	now_ns = 5000 * MS;
}

static struct uroce_addr peer(uint8_t number)
{
	return (struct uroce_addr){ { [10] = 0xFF, 0xFF, 10, 0, 0, number } };
}

static uint32_t ask(uint8_t number, uint16_t vlan_id)
{
	struct uroce_addr addr = peer(number);

	return engine_pings_begin(&pings, &addr, vlan_id, now_ns);
}

static enum engine_ping result_since(uint8_t number, uint16_t vlan_id, uint64_t since_ns)
{
	struct uroce_addr addr = peer(number);

	return engine_pings_result(&pings, &addr, vlan_id, since_ns, now_ns);
}

static enum engine_ping result(uint8_t number)
{
	return result_since(number, 0, 0);
}

static void echo(uint8_t from, uint32_t number)
{
	engine_pings_take(&pings, peer(from).bytes, number);
}

Test(pings, echo_is_known_at_once_and_its_absence_after_a_while, .init = start)
{
	uint32_t number;

	RULE("E-4");
	cr_expect_eq(result(1), PING_UNKNOWN, "never asked");
	number = ask(1, 0);
	cr_expect_neq(number, 0);
	cr_expect_eq(number & 1, 0);
	cr_expect_eq(result(1), PING_UNKNOWN, "only just now");
	now_ns += PING_PATIENCE_NS;
	cr_expect_eq(result(1), PING_SILENT);
	echo(1, number);
	cr_expect_eq(result(1), PING_SHORT);
	echo(1, number + 1);
	cr_expect_eq(result(1), PING_ALL);
	cr_expect_eq(result_since(1, 0, now_ns), PING_UNKNOWN, "asked before the silence began");
	cr_expect_eq(result_since(1, 5, 0), PING_UNKNOWN, "the address in another VLAN is another peer");
}

Test(pings, peer_is_pinged_at_most_five_times_a_second, .init = start)
{
	unsigned asked = 0;

	RULE("E-4");
	for (unsigned i = 0; i < 1000; i++, now_ns += MS)
		asked += ask(1, 0) != 0;
	cr_expect_eq(asked, 5);
	cr_expect_neq(ask(2, 0), 0, "another peer");
	cr_expect_neq(ask(2, 5), 0, "in another VLAN");
}

Test(pings, new_ping_forgets_earlier_echoes, .init = start)
{
	uint32_t number = ask(1, 0);

	RULE("E-4");
	echo(1, number + 1);
	now_ns += PING_INTERVAL_NS;
	cr_expect_neq(ask(1, 0), 0);
	echo(1, number + 1);
	now_ns += PING_PATIENCE_NS;
	cr_expect_eq(result(1), PING_SILENT);
}

Test(pings, unsolicited_echo_is_ignored, .init = start)
{
	uint32_t number = ask(1, 0);

	RULE("E-4");
	RULE("Y-3");
	echo(2, number + 1);
	echo(1, number + 2);
	echo(1, number ^ 0x80000000);
	echo(1, 0);
	now_ns += PING_PATIENCE_NS;
	cr_expect_eq(result(1), PING_SILENT);
}

Test(pings, longest_unpinged_peer_is_evicted, .init = start)
{
	RULE("E-4");
	for (uint8_t i = 0; i <= PING_PEERS; i++, now_ns += MS)
		cr_assert_neq(ask(i, 0), 0);
	now_ns += PING_PATIENCE_NS;
	cr_expect_eq(result(0), PING_UNKNOWN);
	for (uint8_t i = 1; i <= PING_PEERS; i++)
		cr_expect_eq(result(i), PING_SILENT, "peer %u", i);
}
