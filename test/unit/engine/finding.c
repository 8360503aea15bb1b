/* finding.c - what explains a failure best, of all that was seen around it */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "engine/finding.h"
#include "rule.h"

#define MS 1000000ull

TestSuite(finding, .timeout = 10);

/* A peer that was silent for 4 s. */
static struct engine_facts silence(void)
{
	return (struct engine_facts){ .cause = UROCE_CAUSE_TIMEOUT, .silence_ns = 4000 * MS };
}

static void grow(struct engine_facts *facts, enum rc_counter counter)
{
	facts->then.counters[counter - CNT_QP_COUNTERS] = 7;
	facts->now.counters[counter - CNT_QP_COUNTERS] = 8;
}

Test(finding, quiet_network_yields_no_finding)
{
	struct engine_facts facts = silence();

	RULE("E-4");
	cr_expect_eq(engine_finding_judge(&facts), UROCE_FINDING_NONE);
	for (uint32_t i = 0; i < HISTORY_COUNTERS; i++)
		facts.then.counters[i] = facts.now.counters[i] = 1000;
	cr_expect_eq(engine_finding_judge(&facts), UROCE_FINDING_NONE, "what counted before says nothing");
}

/* Each finding alone, and with all findings below it. */
Test(finding, certain_findings_precede_likely_ones)
{
	static const struct {
		enum rc_counter counter;
		enum uroce_finding finding;
	} rows[] = {
		{ CNT_PORT_ADDRESS_CONFLICT, UROCE_FINDING_ADDRESS_CONFLICT },
		{ CNT_PORT_STUCK, UROCE_FINDING_PORT_STUCK },
		{ CNT_PORT_HELD, UROCE_FINDING_PORT_STUCK },
		{ CNT_PORT_RX_ICRC, UROCE_FINDING_CORRUPTION },
		{ CNT_PORT_UDP_CHECKSUM, UROCE_FINDING_CORRUPTION },
		{ CNT_PORT_PKEY, UROCE_FINDING_PKEY },
		{ CNT_PORT_VLAN, UROCE_FINDING_VLAN },
		{ CNT_PORT_ADDRESS, UROCE_FINDING_ADDRESS },
		{ CNT_PORT_RING_FULL, UROCE_FINDING_RING_FULL },
		{ CNT_PORT_HANDOVER_FULL, UROCE_FINDING_RING_FULL },
	};
	struct engine_facts all = silence();

	RULE("E-4");
	all.ping = PING_ALL;
	all.now.link_downs = 1;
	for (size_t i = sizeof(rows) / sizeof(rows[0]); i-- > 0;) {
		struct engine_facts facts = silence();

		grow(&facts, rows[i].counter);
		cr_expect_eq(engine_finding_judge(&facts), rows[i].finding, "row %zu", i);
		grow(&all, rows[i].counter);
		cr_expect_eq(engine_finding_judge(&all), rows[i].finding, "row %zu and those below", i);
	}
	all.now.away_ns = 3000 * MS;
	cr_expect_eq(engine_finding_judge(&all), UROCE_FINDING_NOT_POLLED);
	all.link_is_down = true;
	cr_expect_eq(engine_finding_judge(&all), UROCE_FINDING_NO_LINK);
}

Test(finding, other_hosts_frames_explain_no_silent_peer)
{
	struct engine_facts facts = silence();

	RULE("E-4");
	facts.ping = PING_SILENT;
	grow(&facts, CNT_PORT_RX_ICRC);
	grow(&facts, CNT_PORT_PKEY);
	cr_expect_eq(engine_finding_judge(&facts), UROCE_FINDING_PEER_SILENT);
	grow(&facts, CNT_PORT_STUCK);
	cr_expect_eq(engine_finding_judge(&facts), UROCE_FINDING_PORT_STUCK, "nothing of ours has left");
}

Test(finding, echoes_distinguish_mtu_dead_queue_pair_and_dead_peer)
{
	struct engine_facts facts = silence();

	RULE("E-4");
	facts.ping = PING_SHORT;
	cr_expect_eq(engine_finding_judge(&facts), UROCE_FINDING_SIZE);
	facts.ping = PING_ALL;
	cr_expect_eq(engine_finding_judge(&facts), UROCE_FINDING_PEER_QP);
	facts.cause = UROCE_CAUSE_KEEPALIVE;
	cr_expect_eq(engine_finding_judge(&facts), UROCE_FINDING_PEER_QP);
	facts.cause = UROCE_CAUSE_SEQUENCE_NAK;
	cr_expect_eq(engine_finding_judge(&facts), UROCE_FINDING_LOSS, "its queue pair answers");
	facts.ping = PING_SILENT;
	cr_expect_eq(engine_finding_judge(&facts), UROCE_FINDING_PEER_SILENT);
	facts.now.link_downs = 3;
	cr_expect_eq(engine_finding_judge(&facts), UROCE_FINDING_LINK_FLAPPED);
	facts.then.link_downs = 3;
	cr_expect_eq(engine_finding_judge(&facts), UROCE_FINDING_PEER_SILENT, "it was down long before");
}

Test(finding, lcore_polled_half_of_the_time_is_not_blamed)
{
	struct engine_facts facts = silence();

	RULE("E-4");
	facts.then.away_ns = 9000 * MS;
	facts.now.away_ns = 11000 * MS;
	cr_expect_eq(engine_finding_judge(&facts), UROCE_FINDING_NONE);
	facts.now.away_ns++;
	cr_expect_eq(engine_finding_judge(&facts), UROCE_FINDING_NOT_POLLED);
}

Test(finding, frames_waiting_for_a_busy_port_are_not_blamed)
{
	struct engine_facts facts = silence();

	RULE("E-4");
	facts.frames_wait = true;
	facts.then.tx_frames = 99;
	facts.now.tx_frames = 100;
	cr_expect_eq(engine_finding_judge(&facts), UROCE_FINDING_NONE);
	facts.then.tx_frames = 100;
	cr_expect_eq(engine_finding_judge(&facts), UROCE_FINDING_PORT_STUCK);
	facts.frames_wait = false;
	cr_expect_eq(engine_finding_judge(&facts), UROCE_FINDING_NONE, "there was nothing to send");
}

/* A refusal, a wrong key or a missing receive needs no port to explain it. */
Test(finding, only_silence_is_explained)
{
	struct engine_facts facts = silence();

	RULE("E-4");
	facts.link_is_down = true;
	for (uint32_t cause = 0; cause < UROCE_CAUSES; cause++) {
		bool silent = cause == UROCE_CAUSE_TIMEOUT || cause == UROCE_CAUSE_SEQUENCE_NAK ||
			      cause == UROCE_CAUSE_IMPLIED_NAK || cause == UROCE_CAUSE_UNRESOLVED ||
			      cause == UROCE_CAUSE_KEEPALIVE;

		facts.cause = (enum uroce_cause)cause;
		cr_expect_eq(engine_finding_judge(&facts), silent ? UROCE_FINDING_NO_LINK : UROCE_FINDING_NONE,
			     "cause %u", cause);
	}
}
