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

/* All values that are looked at, as of one moment. */
struct moment {
	struct uroce_qp_view qp;
	struct uroce_port_view port;
	struct uroce_lcore_view lcore;
};

static void begin_sign(struct text *text)
{
	add(text, text->more ? "; " : text->asks ? " Seen beside it: " : ". Seen beside it: ");
	text->more = true;
}

/* Finds the queue pair. A failed queue pair may be destroyed already, but is found among the failures that are kept. */
static int find(struct uroce_engine *engine, uint32_t qp_num, struct uroce_qp_view *view)
{
	int error = uroce_inspect_qp(engine, qp_num, view);
	struct uroce_qp_view failed;

	for (unsigned i = 0; error == -ENOENT && i < uroce_engine_lcore_count(engine); i++) {
		uint32_t next = 0;

		while (uroce_inspect_failed(engine, i, &next, &failed)) {
			if (failed.qp_num == qp_num)
				*view = failed, error = 0;
		}
	}
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

/* Counters of the queue pair. */
static const struct {
	enum rc_counter counter;
	const char *meaning;
} signs[] = {
	{ CNT_RETRANSMITTED_PACKETS,
	  "packets were sent again after losses: find who drops (rx_missed_errors of the ports, "
	  "the switches)" },
	{ CNT_OUT_OF_BUFFER, "requests of the peer found no receive here: post more of them, or sooner" },
	{ CNT_LOCAL_ACK_TIMEOUT_ERR, "ACK timers ran out: nothing new came from the peer meanwhile" },
	{ CNT_OUT_OF_SEQUENCE, "requests of the peer came behind one that is missing: frames to here are lost" },
};

static void add_signs(struct text *text, const struct uroce_stats *now, const struct uroce_stats *before)
{
	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
		uint64_t count = now->values[signs[i].counter] - before->values[signs[i].counter];

		if (count == 0)
			continue;
		begin_sign(text);
		add(text, "%" PRIu64 " %s", count, signs[i].meaning);
	}
}

/* The peer has no receives, or posts them too slowly. */
static void add_waits(struct text *text, const struct uroce_qp_view *now, const struct uroce_qp_view *before)
{
	uint64_t naks = now->stats.values[CNT_RNR_NAK_RETRY_ERR] - before->stats.values[CNT_RNR_NAK_RETRY_ERR];

	if (naks == 0)
		return;
	begin_sign(text);
	add(text, "%" PRIu64 " RNR NAKs came%s", naks,
	    now->acked_psn == before->acked_psn ?
		    ", and nothing else: the peer has no receive posted" :
		    ": the peer is a slow receiver, it posts receives more slowly than SENDs "
		    "come (flow_control spares the waits)");
}

/* Its congestion control has a rate. */
static void add_rate(struct text *text, const struct uroce_qp_view *now, const struct uroce_qp_view *before)
{
	uint64_t told = now->stats.values[CNT_CNP_HANDLED] - before->stats.values[CNT_CNP_HANDLED];

	if (now->attr.rate_mbps == 0)
		return;
	begin_sign(text);
	add(text,
	    "it sends at %u Mbit/s at most, for a switch marks packets before it has to drop them: %" PRIu64
	    " congestion notifications came just now",
	    now->attr.rate_mbps, told);
}

/* Tells which frames the port drops, and which do not leave it. */
static void add_drops(struct text *text, const struct uroce_stats *now, const struct uroce_stats *before)
{
	for (uint32_t i = CNT_QP_COUNTERS; i < now->count; i++) {
		const char *name = uroce_counter_name(i);
		uint64_t count = now->values[i] - before->values[i];

		if (now->values[i] == 0 ||
		    (strncmp(name, "drop_", 5) && strncmp(name, "tx_", 3) && strcmp(name, "rx_icrc_encapsulated")))
			continue;
		begin_sign(text);
		add(text, "%s counts %" PRIu64 " (%s)%s", name, now->values[i], uroce_counter_text(i),
		    count == 0 ? ", none of them just now" : "");
	}
}

static void add_core(struct text *text, const struct uroce_lcore_view *now, const struct uroce_lcore_view *before)
{
	uint64_t span = now->since_ns - before->since_ns;
	double share = span ? (double)(now->starved_ns - before->starved_ns) / (double)span : 0;

	if (share < STARVED_SHARE)
		return;
	begin_sign(text);
	add(text, "its lcore waited %.0f %% of the time for a core that others had: give it one of its own",
	    100 * share);
}

static void add_progress(struct text *text, const struct uroce_qp_view *now, const struct uroce_qp_view *before)
{
	uint32_t acked = (now->acked_psn - before->acked_psn) & 0xFFFFFF;
	uint32_t taken = (now->expected_psn - before->expected_psn) & 0xFFFFFF;

	add(text, "; in %.1f s %u packets of it were acknowledged and %u of its peer taken", LOOK_US / 1e6, acked,
	    taken);
	if (now->sends && acked == 0)
		add(text, ", with %u requests posted", now->sends);
}

int uroce_qp_why(struct uroce_engine *engine, uint32_t qp_num, char *out, size_t out_bytes)
{
	struct moment before = { .qp = { .stats = { .count = 0 } } }, now;
	struct text text = { .at = out, .left = out_bytes };
	char line[UROCE_EXPLAIN_BYTES];
	int error = look(engine, qp_num, &now);
	bool works = error == 0 && now.qp.attr.qp_state != UROCE_QPS_ERR;

	if (works) { /* a queue pair that works is judged by what has changed lately, not since it was made */
		before = now;
		usleep(LOOK_US);
		error = look(engine, qp_num, &now);
		works = error == 0 && now.qp.attr.qp_state != UROCE_QPS_ERR;
	}
	if (error)
		return error;
	add(&text, "%s", uroce_qp_explain(&now.qp, line, sizeof(line)));
	if (works)
		add_progress(&text, &now.qp, &before.qp);
	if (!now.port.link_up) {
		begin_sign(&text);
		add(&text,
		    "its port %s has no link: the cable, the switch, or the program at the other end of shared "
		    "memory",
		    now.port.name);
	}
	add_waits(&text, &now.qp, &before.qp);
	add_rate(&text, &now.qp, &before.qp);
	add_signs(&text, &now.qp.stats, &before.qp.stats);
	add_drops(&text, &now.port.stats, &before.port.stats);
	add_core(&text, &now.lcore, &before.lcore);
	return 0;
}
