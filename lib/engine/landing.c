/* landing.c - tells a fault in the application's memory from any other fault */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/landing.h"

#include "engine/device_state.h"
#include "engine/engine.h"

/* All lcores of the process, in any order; NULL: a free place. */
static struct uroce_lcore *_Atomic lcores[LIMIT_LANDINGS];

bool engine_landing_add(struct uroce_lcore *lcore)
{
	for (unsigned i = 0; i < LIMIT_LANDINGS; i++) {
		struct uroce_lcore *none = NULL;

		if (atomic_compare_exchange_strong(&lcores[i], &none, lcore))
			return true;
	}
	return false;
}

void engine_landing_remove(const struct uroce_lcore *lcore)
{
	for (unsigned i = 0; i < LIMIT_LANDINGS; i++) {
		if (atomic_load(&lcores[i]) == lcore)
			atomic_store(&lcores[i], NULL);
	}
}

/* Does a region have the address? The table exists as long as its device, and the thread of the lcore is in a poll. */
static bool has_address(const struct rc_mr_table *table, uintptr_t address)
{
	for (uint32_t i = 0; i < table->count; i++) {
		const struct rc_mr_entry *entry = &table->entries[i];

		if (entry->kind == MR_REGION && address - (uintptr_t)entry->host < entry->bytes)
			return true;
	}
	return false;
}

static bool is_registered(const struct uroce_lcore *lcore, uintptr_t address)
{
	for (unsigned i = 0; i < lcore->port_count; i++) {
		if (has_address(&lcore->ports[i]->device->mrs, address))
			return true;
	}
	return false;
}

/* Returns the landing of the copy of this lcore that has faulted, or NULL if it was another fault. */
static struct engine_landing *landing_of(struct uroce_lcore *lcore, uintptr_t address)
{
	struct engine_landing *datagrams = &lcore->datagram_landing;

	if (atomic_load_explicit(&datagrams->copies, memory_order_relaxed) &&
	    pthread_equal(datagrams->thread, pthread_self()))
		return datagrams;
	return lcore_is_ours(lcore) && lcore->serving && is_registered(lcore, address) ? &lcore->landing : NULL;
}

void engine_landing_jump(const void *address)
{
	for (unsigned i = 0; i < LIMIT_LANDINGS; i++) {
		struct uroce_lcore *lcore = atomic_load_explicit(&lcores[i], memory_order_relaxed);
		struct engine_landing *landing = lcore ? landing_of(lcore, (uintptr_t)address) : NULL;

		if (landing) {
			landing->address = address;
			__builtin_longjmp(landing->back, 1);
		}
	}
}
