/* dad.c - duplicate address detection: probes, conflicts and defence */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/dad.h"

#include <string.h>

#include "wire/encap.h"
#include "wire/neighbour.h"

/* Is the message from another station, in the VLAN of the address? */
static bool is_of_another(const struct engine_dad_claim *claim, const struct wire_neighbour *heard)
{
	return (heard->vlan_tci & WIRE_VLAN_ID) == claim->vlan_id &&
	       memcmp(heard->sender_mac, claim->mac.bytes, sizeof(claim->mac.bytes)) != 0;
}

bool engine_dad_contradicts(const struct engine_dad_claim *claim, const struct wire_neighbour *heard)
{
	const uint8_t *user = heard->kind == WIRE_NEIGHBOUR_REPLY ? heard->target : heard->sender;

	if (heard->kind != WIRE_NEIGHBOUR_REPLY && (heard->kind != WIRE_NEIGHBOUR_REQUEST || heard->probe))
		return false;
	return is_of_another(claim, heard) && memcmp(user, claim->addr.bytes, sizeof(claim->addr.bytes)) == 0;
}

bool engine_dad_may_defend(uint64_t *defended_ns, uint64_t now_ns)
{
	if (*defended_ns && now_ns < *defended_ns + DAD_DEFEND_INTERVAL_NS)
		return false;
	*defended_ns = now_ns;
	return true;
}

void engine_dad_begin(struct engine_dad *dad, const struct engine_dad_claim *claim, uint64_t now_ns)
{
	*dad = (struct engine_dad){ .claim = *claim, .due_ns = now_ns };
}

enum engine_dad_state engine_dad_step(struct engine_dad *dad, uint64_t now_ns)
{
	if (dad->held)
		return DAD_HELD;
	if (now_ns < dad->due_ns)
		return DAD_WAIT;
	if (dad->sent == DAD_PROBES)
		return DAD_FREE;
	dad->sent++;
	dad->due_ns = now_ns + DAD_PROBE_INTERVAL_NS;
	return DAD_PROBE;
}

/* Two stations that probe at the same time both find the address held. */
void engine_dad_hear(struct engine_dad *dad, const struct wire_neighbour *heard)
{
	bool probes_too = heard->kind == WIRE_NEIGHBOUR_REQUEST && heard->probe && is_of_another(&dad->claim, heard) &&
			  memcmp(heard->target, dad->claim.addr.bytes, sizeof(dad->claim.addr.bytes)) == 0;

	if (dad->held || (!probes_too && !engine_dad_contradicts(&dad->claim, heard)))
		return;
	dad->held = true;
	memcpy(dad->holder.bytes, heard->sender_mac, sizeof(dad->holder.bytes));
}
