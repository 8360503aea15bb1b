/* listener.c - the listeners of a host, found by service and address, with their backlogs */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "cm/conn.h"
#include "wire/encap.h"

static bool is_any(const uint8_t addr[16])
{
	static const uint8_t any[16];

	return memcmp(addr, any, 16) == 0;
}

/* Does the listener listen at any address of the family of addr? */
static bool is_any_of(const struct cm_listener *listener, const uint8_t addr[16])
{
	enum cm_family family = encap_addr_is_ipv4(addr) ? CM_IPV4 : CM_IPV6;

	return is_any(listener->addr) && (listener->family == CM_ANY_FAMILY || listener->family == family);
}

struct cm_listener *cm_listener_find(const struct cm_listeners *listeners, uint64_t service_id, const uint8_t addr[16])
{
	struct cm_listener *found = NULL;

	for (uint32_t i = 0; i < CM_LISTENERS; i++) {
		struct cm_listener *listener = atomic_load_explicit(&listeners->slots[i], memory_order_acquire);

		if (listener == NULL || listener->service_id != service_id)
			continue;
		if (memcmp(listener->addr, addr, 16) == 0)
			return listener;
		if (is_any_of(listener, addr))
			found = listener;
	}
	return found;
}

void cm_no_more_pending(struct cm_conn *conn)
{
	if (conn->counted_by_listener)
		atomic_fetch_sub(&conn->listener->pending, 1);
	conn->counted_by_listener = false;
}

void cm_forget_listener(struct cm *cm, const struct cm_listener *listener)
{
	for (uint32_t i = 0; i < cm->table.conn_count; i++) {
		struct cm_conn *conn = cm_table_at(&cm->table, i);

		if (conn && conn->listener == listener)
			cm_no_more_pending(conn);
	}
}
