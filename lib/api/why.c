/* why.c - says what slows a queue pair down or made it fail, by its counters, its port and its lcore */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include <uroce/uroce.h>

#include "api/text.h"
#include "rc/counters.h"

#define LOOK_US 300000
#define STARVED_SHARE 0.1 /* an lcore's wait for a core is mentioned above this share of its time */
#define LONG_ROUND_TRIP_NS 3000000u
#define PEER_AWAY_AGE_NS 60000000000ull /* an older report of the peer is not mentioned */

/* All values that are looked at, as of one moment. */
struct moment {
	struct uroce_qp_view qp;
	struct uroce_port_view port;
	struct uroce_lcore_view lcore;
};

static void begin_sign(struct text *text)
{
	add(text, text->more ? "; " : ". Also observed: ");
	text->more = true;
}

/* Finds the queue pair among the failures that are kept: its last one. */
static bool find_failed(const struct uroce_engine *engine, uint32_t qp_num, struct uroce_qp_view *view)
{
	struct uroce_qp_view failed;
	bool found = false;

	for (unsigned i = 0; i < uroce_engine_lcore_count(engine); i++) {
		uint32_t next = 0;

		while (uroce_inspect_failed(engine, i, &next, &failed)) {
			if (failed.qp_num == qp_num)
				*view = failed, found = true;
		}
	}
	return found;
}

/*
 * Finds the queue pair. A failed queue pair may be destroyed already. If it is not, the age of the peer's report is
 * that at the failure, too.
 */
static int find(struct uroce_engine *engine, uint32_t qp_num, struct uroce_qp_view *view)
{
	int error = uroce_inspect_qp(engine, qp_num, view);
	struct uroce_qp_view failed;

	if (error == -ENOENT)
		return find_failed(engine, qp_num, view) ? 0 : error;
	if (error == 0 && view->attr.qp_state == UROCE_QPS_ERR && find_failed(engine, qp_num, &failed))
		view->peer_away_age_ns = failed.peer_away_age_ns;
	return error;
}

static int look(struct uroce_engine *engine, uint32_t qp_num, struct moment *moment)
{
	int error = find(engine, qp_num, &moment->qp);

	if (error == 0)
		error = uroce_inspect_lcore(engine, moment->qp.lcore, &moment->lcore);
	return error ? error : uroce_inspect_port(engine, moment->qp.port_id, &moment->port);
}

/* ---- signs ---- */

/* By how much a counter of the queue pair has grown. */
static uint64_t grown(const struct moment *now, const struct moment *before, enum rc_counter counter)
{
	return now->qp.stats.values[counter] - before->qp.stats.values[counter];
}

static uint32_t acknowledged(const struct moment *now, const struct moment *before)
{
	return (now->qp.acked_psn - before->qp.acked_psn) & 0xFFFFFF;
}

static uint32_t taken(const struct moment *now, const struct moment *before)
{
	return (now->qp.expected_psn - before->qp.expected_psn) & 0xFFFFFF;
}

static void add_progress(struct text *text, const struct moment *now, const struct moment *before)
{
	uint32_t acked = acknowledged(now, before);

	add(text, "; in the last %.1f s %u packets were acknowledged and %u packets from the peer were received",
	    LOOK_US / 1e6, acked, taken(now, before));
	if (now->qp.sends && acked == 0)
		add(text, ", with %u requests posted", now->qp.sends);
}

static void add_link(struct text *text, const struct moment *now)
{
	begin_sign(text);
	add(text,
	    "port %s has no link: check the cable, the switch, or the program at the other end of the shared memory",
	    now->port.name);
}

/* The peer does not answer, and here is why. */
static void add_finding(struct text *text, const struct moment *now)
{
	const char *finding = uroce_finding_text(now->qp.finding, now->qp.round_trip_ns != 0);

	if (finding == NULL)
		return;
	begin_sign(text);
	add(text, "no response arrives: %s", finding);
}

/* The peer has no receives, or posts them too slowly. */
static void add_waits(struct text *text, const struct moment *now, const struct moment *before)
{
	uint64_t naks = grown(now, before, CNT_RNR_NAK_RETRY_ERR);

	if (naks == 0)
		return;
	begin_sign(text);
	add(text, "%" PRIu64 " RNR NAKs arrived%s", naks,
	    acknowledged(now, before) == 0 ? ", and no other response: the peer has no receive posted" :
					     ": the peer is a slow receiver, because it posts receives more slowly "
					     "than SENDs arrive (flow_control avoids these RNR waits)");
}

/* Its congestion control has a rate. */
static void add_rate(struct text *text, const struct moment *now, const struct moment *before)
{
	if (now->qp.attr.rate_mbps == 0)
		return;
	begin_sign(text);
	add(text,
	    "the rate of the queue pair is limited to %u Mbit/s because a switch marks packets (ECN): %" PRIu64
	    " congestion notifications arrived during this observation",
	    now->qp.attr.rate_mbps, grown(now, before, CNT_CNP_HANDLED));
}

/*
 * Packets that were sent again. They were lost if the peer answered meanwhile. If nothing came from the peer, nobody
 * knows whether they arrived.
 */
static void add_resent(struct text *text, const struct moment *now, const struct moment *before)
{
	uint64_t resent = grown(now, before, CNT_RETRANSMITTED_PACKETS);
	uint64_t timeouts = grown(now, before, CNT_LOCAL_ACK_TIMEOUT_ERR);

	if (resent && acknowledged(now, before)) {
		begin_sign(text);
		add(text,
		    "%" PRIu64
		    " packets were retransmitted after losses: look for drops and damaged frames (rx_missed_errors and "
		    "rx_icrc_encapsulated of both ports, drop counters of the switches)",
		    resent);
	}
	if (timeouts) {
		begin_sign(text);
		add(text, "%" PRIu64 " ACK timers expired: no new packet from the peer arrived before the timeout",
		    timeouts);
	}
}

/* What shows that frames of the peer are lost, or come too early. */
static void add_arrivals(struct text *text, const struct moment *now, const struct moment *before)
{
	uint64_t unreceived = grown(now, before, CNT_OUT_OF_BUFFER);
	uint64_t early = grown(now, before, CNT_OUT_OF_SEQUENCE);

	if (unreceived) {
		begin_sign(text);
		add(text,
		    "%" PRIu64 " requests of the peer arrived without a posted receive: post more receives, or post "
		    "receives earlier",
		    unreceived);
	}
	if (early) {
		begin_sign(text);
		add(text,
		    "%" PRIu64 " requests of the peer arrived out of order: earlier frames to this port were lost",
		    early);
	}
}

static void add_round_trip(struct text *text, const struct moment *now)
{
	if (now->qp.round_trip_ns < LONG_ROUND_TRIP_NS)
		return;
	begin_sign(text);
	add(text, "a round trip takes %.1f ms: the peer's lcore shares its core, or a queue on the path is long",
	    (double)now->qp.round_trip_ns / 1e6);
}

/* The peer has reported lately that its lcore had no core. Of a failed queue pair: when it failed. */
static void add_peer_away(struct text *text, const struct moment *now)
{
	if (now->qp.peer_away_ns == 0 || now->qp.peer_away_age_ns > PEER_AWAY_AGE_NS)
		return;
	begin_sign(text);
	add(text,
	    "the peer reported %.1f s %s that the peer's lcore was not scheduled for %" PRIu64
	    " ms: give that lcore a core of its own",
	    (double)now->qp.peer_away_age_ns / 1e9,
	    now->qp.attr.qp_state == UROCE_QPS_ERR ? "before the failure" : "ago", now->qp.peer_away_ns / 1000000);
}

/* Does the counter tell of a frame that this queue pair may miss? Frames of other protocols are always there. */
static bool tells(uint32_t counter)
{
	const char *name = uroce_counter_name(counter);

	return counter != CNT_PORT_NOT_ROCE && counter != CNT_PORT_NEIGHBOUR &&
	       (strncmp(name, "drop_", 5) == 0 || strncmp(name, "tx_", 3) == 0 || counter == CNT_PORT_RX_ICRC ||
		counter == CNT_PORT_ADDRESS_CONFLICT);
}

/* How much a counter of the port counts for. What counts no more is told of a queue pair that stands still. */
static uint64_t weight(const struct moment *now, const struct moment *before, uint32_t counter)
{
	bool still = acknowledged(now, before) == 0 && taken(now, before) == 0;
	uint64_t all = now->port.stats.values[counter];

	if (!tells(counter))
		return 0;
	return still ? all : all - before->port.stats.values[counter];
}

/*
 * Tells which frames the port drops, and which do not leave it. A damaged frame may fail any check, so counters that
 * are small beside the largest one are left out.
 */
static void add_drops(struct text *text, const struct moment *now, const struct moment *before)
{
	uint64_t largest = 0;

	for (uint32_t i = CNT_QP_COUNTERS; i < now->port.stats.count; i++) {
		if (weight(now, before, i) > largest)
			largest = weight(now, before, i);
	}
	for (uint32_t i = CNT_QP_COUNTERS; i < now->port.stats.count; i++) {
		uint64_t all = now->port.stats.values[i], one = weight(now, before, i);

		if (one == 0 || one * 10 < largest)
			continue;
		begin_sign(text);
		add(text, "%s counts %" PRIu64 " (%s)%s", uroce_counter_name(i), all, uroce_counter_text(i),
		    now != before && all == before->port.stats.values[i] ? ", none during this observation" : "");
	}
}

static void add_core(struct text *text, const struct moment *now, const struct moment *before)
{
	uint64_t span = now->lcore.since_ns - before->lcore.since_ns;
	double share = span ? (double)(now->lcore.starved_ns - before->lcore.starved_ns) / (double)span : 0;

	if (share < STARVED_SHARE)
		return;
	begin_sign(text);
	add(text,
	    "the lcore of the queue pair waited for %.0f %% of the time while other threads used its core: give the "
	    "lcore a core of its own",
	    100 * share);
}

/* A queue pair that works: what hinders it now. Without a link nothing else counts. */
static void add_signs(struct text *text, const struct moment *now, const struct moment *before)
{
	add_progress(text, now, before);
	if (!now->port.link_up) {
		add_link(text, now);
		return;
	}
	add_finding(text, now);
	add_waits(text, now, before);
	add_rate(text, now, before);
	add_resent(text, now, before);
	add_arrivals(text, now, before);
	add_round_trip(text, now);
	add_peer_away(text, now);
	add_drops(text, now, before);
	add_core(text, now, before);
}

/*
 * A queue pair that has failed: its sentence has the cause and the finding. The counters of its port tell more only
 * where the peer did not answer and nothing was found.
 */
static void add_rest(struct text *text, const struct moment *now)
{
	const struct uroce_qp_error *error = &now->qp.error;

	if (!now->port.link_up && error->finding != UROCE_FINDING_NO_LINK)
		add_link(text, now);
	if (error->status == UROCE_WC_RETRY_EXC_ERR)
		add_peer_away(text, now);
	if (error->finding == UROCE_FINDING_NONE && error->status == UROCE_WC_RETRY_EXC_ERR)
		add_drops(text, now, now);
}

int uroce_qp_why(struct uroce_engine *engine, uint32_t qp_num, char *out, size_t out_bytes)
{
	struct text text = { .at = out, .left = out_bytes };
	struct moment before, now;
	char line[UROCE_EXPLAIN_BYTES];
	int error = look(engine, qp_num, &now);

	if (error == 0 && now.qp.attr.qp_state != UROCE_QPS_ERR) {
		/* judged by what has changed lately, and not since it was made */
		before = now;
		usleep(LOOK_US);
		error = look(engine, qp_num, &now);
	}
	if (error)
		return error;
	add(&text, "%s", uroce_qp_explain(&now.qp, line, sizeof(line)));
	if (now.qp.attr.qp_state == UROCE_QPS_ERR)
		add_rest(&text, &now);
	else
		add_signs(&text, &now, &before);
	return 0;
}
