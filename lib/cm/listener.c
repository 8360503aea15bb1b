/* listener.c - the listeners of a host, found by service and address, and the places of the requests to them */
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

/* Each listener counts each address, so that a client may fill the backlogs of several listeners. */
static uint16_t counter_of(const struct cm_listeners *listeners, const struct cm_listener *listener,
			   const uint8_t addr[16])
{
	uint8_t text[40];

	memcpy(text, addr, 16);
	memcpy(text + 16, listener->addr, 16);
	memcpy(text + 32, &listener->service_id, 8);
	return (uint16_t)(share_hash_table(listeners->key, text, sizeof(text)) % SHARE_PEERS);
}

bool cm_listener_has_room(const struct cm_listeners *listeners, const struct cm_listener *listener,
			  const uint8_t addr[16])
{
	uint32_t held = atomic_load(&listeners->waiting[counter_of(listeners, listener, addr)]);
	uint32_t pending = atomic_load(&listener->pending);
	struct share places = { .size = 2 * listener->backlog };

	/* lcores that take requests at the same time may take more than there is room for */
	places.used = pending < places.size ? pending : places.size;
	return share_allows(&places, held, 1);
}

void cm_begin_pending(struct cm *cm, struct cm_conn *conn, struct cm_listener *listener)
{
	conn->pending.half_open = share_peers_take(&cm->half_open, conn->end.holder, 1);
	conn->pending.counted = true;
	conn->pending.listener = listener;
	conn->pending.counter = counter_of(cm->config.listeners, listener, conn->routes.request.dest);
	atomic_fetch_add(&cm->config.listeners->waiting[conn->pending.counter], 1);
	atomic_fetch_add(&listener->pending, 1);
}

void cm_no_more_pending(struct cm *cm, struct cm_conn *conn)
{
	if (conn->pending.counted) {
		atomic_fetch_sub(&cm->config.listeners->waiting[conn->pending.counter], 1);
		atomic_fetch_sub(&conn->pending.listener->pending, 1);
	}
	conn->pending.counted = false;
}

void cm_no_more_half_open(struct cm *cm, struct cm_conn *conn)
{
	if (conn->pending.half_open)
		share_peers_give(&cm->half_open, conn->end.holder, 1);
	conn->pending.half_open = false;
}

void cm_forget_listener(struct cm *cm, const struct cm_listener *listener)
{
	for (uint32_t i = 0; i < cm->table.conn_count; i++) {
		struct cm_conn *conn = cm_table_at(&cm->table, i);

		if (conn && conn->pending.listener == listener)
			cm_no_more_pending(cm, conn);
	}
}
