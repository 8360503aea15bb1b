/* dad.h - duplicate address detection: does another station have an address, before and while we use it? */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How to use, before an address is used (RFC 5227 2.1, RFC 4862 5.4):
 *   1. engine_dad_begin()
 *   2. engine_dad_step() again and again: send a probe (wire/neighbour.h) when it wants one; give each message that
 *      arrives to engine_dad_hear()
 *   3. until it returns DAD_FREE, or DAD_HELD with the station in `holder`
 * Later (RFC 5227 2.4): engine_dad_contradicts() judges each message, and engine_dad_may_defend() says whether to
 * announce the address once more. The address is never given up.
 *
 * RFC 5227 allows shorter times than its own on networks that are known to be fast: three probes in 0.45 s are ours.
 */
#ifndef ENGINE_DAD_H
#define ENGINE_DAD_H

#include <stdbool.h>
#include <stdint.h>

#include <uroce/types.h>

struct wire_neighbour;

#define DAD_PROBES 3u
#define DAD_PROBE_INTERVAL_NS 150000000ull
#define DAD_DEFEND_INTERVAL_NS 10000000000ull

/* An address, where it is used, and by whom. */
struct engine_dad_claim {
	struct uroce_addr addr;
	uint16_t vlan_id;     /* of the frames; 0: untagged, or a tag with a priority alone */
	struct uroce_mac mac; /* ours: our own frames may come back to us */
};

enum engine_dad_state {
	DAD_WAIT,
	DAD_PROBE, /* send a probe now */
	DAD_FREE,  /* nobody has answered the probes */
	DAD_HELD
};

struct engine_dad {
	struct engine_dad_claim claim;
	unsigned sent; /* probes */
	uint64_t due_ns;
	bool held;
	struct uroce_mac holder;
};

void engine_dad_begin(struct engine_dad *dad, const struct engine_dad_claim *claim, uint64_t now_ns);
/* What to do now. After DAD_PROBE the caller has sent a probe. */
enum engine_dad_state engine_dad_step(struct engine_dad *dad, uint64_t now_ns);
/* A message has arrived. Another station that uses the address, or probes for it itself, holds it. */
void engine_dad_hear(struct engine_dad *dad, const struct wire_neighbour *heard);

/* Does the message show that another station uses the address? A probe does not: it is answered. */
bool engine_dad_contradicts(const struct engine_dad_claim *claim, const struct wire_neighbour *heard);
/*
 * May the address be defended now? At most once in DAD_DEFEND_INTERVAL_NS: true changes *defended_ns, which is 0 at
 * first.
 */
bool engine_dad_may_defend(uint64_t *defended_ns, uint64_t now_ns);

#endif
