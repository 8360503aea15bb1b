/* table.c - finds connections by their ids and their peers, and keeps their timers */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "cm/conn.h"
#include "share/hash.h"
#include "cm/memory.h"

uint64_t cm_table_draw(struct cm_table *table)
{
	table->drawn++;
	return share_hash_secret(table->key, &table->drawn, sizeof(table->drawn));
}

void cm_table_new_transaction(struct cm_table *table, struct cm_conn *conn)
{
	conn->ids.transaction_id = cm_table_draw(table);
}

void cm_table_name_peer(struct cm_conn *conn, const struct cm_message *in)
{
	conn->ids.remote_id = in->local_id;
	conn->ids.transaction_id = in->transaction_id;
	conn->ids.peer_guid = in->ca_guid;
}

/* ---- memory ---- */

uint64_t cm_table_bytes(const struct cm_config *config)
{
	return memory_lines(sizeof(struct cm_conn) * config->connections) +
	       3 * memory_heads_bytes(config->connections) + cm_deadlines_bytes(config->connections) +
	       cm_timewait_bytes(config->timewait_ids);
}

void cm_table_init(struct cm_table *table, uint8_t **memory, const struct cm_config *config)
{
	memcpy(table->key, config->key, sizeof(table->key));
	table->conn_count = config->connections;
	table->head_mask = memory_heads(config->connections) - 1;
	table->conns = memory_cut(memory, sizeof(struct cm_conn) * config->connections);
	table->by_id = memory_cut_heads(memory, config->connections);
	table->by_peer = memory_cut_heads(memory, config->connections);
	table->by_qp = memory_cut_heads(memory, config->connections);
	cm_deadlines_init(&table->timers, memory, config->connections);
	cm_timewait_init(&table->timewait, memory, config->timewait_ids, config->key);
	for (uint32_t i = 0; i < config->connections; i++)
		table->conns[i].links.next_id = i + 1 < config->connections ? i + 1 : CM_NONE;
}

/* ---- chains ---- */

static uint32_t head_of_id(const struct cm_table *table, uint32_t id)
{
	return (uint32_t)share_hash_table(table->key, &id, sizeof(id));
}

static uint32_t head_of_peer(const struct cm_table *table, const uint8_t addr[16], uint32_t remote_id)
{
	return (uint32_t)share_hash_peer(table->key, addr, remote_id);
}

/* The hash includes the address, so that no peer can make the chain of another peer's QPs long. */
static uint32_t head_of_qp(const struct cm_table *table, const uint8_t addr[16], uint64_t guid, uint32_t qpn)
{
	uint64_t text[4] = { [2] = guid, [3] = qpn };

	memcpy(text, addr, 16);
	return (uint32_t)share_hash_table(table->key, text, sizeof(text));
}

uint32_t cm_table_index(const struct cm_table *table, const struct cm_conn *conn)
{
	return (uint32_t)(conn - table->conns);
}

struct cm_conn *cm_table_at(const struct cm_table *table, uint32_t index)
{
	return index < table->conn_count && table->conns[index].stage.state != CM_FREE ? &table->conns[index] : NULL;
}

struct cm_conn *cm_table_by_id(const struct cm_table *table, uint32_t local_id)
{
	uint32_t at = table->by_id[head_of_id(table, local_id) & table->head_mask];

	while (at != CM_NONE && table->conns[at].ids.local_id != local_id)
		at = table->conns[at].links.next_id;
	return at == CM_NONE ? NULL : &table->conns[at];
}

struct cm_conn *cm_table_alloc(struct cm_table *table, uint32_t id_mask, uint32_t id_low)
{
	uint32_t index = table->free_conn, id, *head;
	struct cm_conn *conn;

	if (index == CM_NONE)
		return NULL;
	do {
		id = ((uint32_t)cm_table_draw(table) & ~id_mask) | id_low;
	} while (id == 0 || cm_table_by_id(table, id) || cm_timewait_has_id(&table->timewait, id));
	conn = &table->conns[index];
	table->free_conn = conn->links.next_id;
	table->used++;
	*conn = (struct cm_conn){ .ids = { .local_id = id } };
	head = &table->by_id[head_of_id(table, id) & table->head_mask];
	conn->links.next_id = *head;
	*head = index;
	return conn;
}

/* Takes an entry of conns out of a chain; next_at is the offset of the chain's link. */
static void unchain(struct cm_table *table, uint32_t *head, size_t next_at, const struct cm_conn *conn)
{
	uint32_t index = cm_table_index(table, conn), *link = head;

	while (*link != index)
		link = (uint32_t *)(void *)((uint8_t *)&table->conns[*link] + next_at);
	memcpy(link, (const uint8_t *)conn + next_at, sizeof(*link));
}

struct cm_conn *cm_find_by_qp(const struct cm *cm, const struct cm_route *route, const struct cm_message *in)
{
	struct cm_conn *conn = NULL;

	do {
		conn = cm_table_by_qp(&cm->table, route->dest, in->ca_guid, in->qpn, conn);
	} while (conn && !route_is_same(&conn->routes.request, route));
	return conn;
}

static uint32_t *head_of_conn_qp(const struct cm_table *table, const struct cm_conn *conn)
{
	return &table->by_qp[head_of_qp(table, conn->routes.request.dest, conn->ids.peer_guid, conn->sides.peer.qpn) &
			     table->head_mask];
}

void cm_table_remove_qp(struct cm_table *table, struct cm_conn *conn)
{
	if (conn->links.in_qps)
		unchain(table, head_of_conn_qp(table, conn), offsetof(struct cm_conn, links.next_qp), conn);
	conn->links.in_qps = false;
}

void cm_table_return(struct cm_table *table, struct cm_conn *conn)
{
	cm_table_set_timer(table, conn, CM_NEVER);
	unchain(table, &table->by_id[head_of_id(table, conn->ids.local_id) & table->head_mask],
		offsetof(struct cm_conn, links.next_id), conn);
	if (conn->links.in_peers)
		unchain(table,
			&table->by_peer[head_of_peer(table, conn->routes.request.dest, conn->ids.remote_id) &
					table->head_mask],
			offsetof(struct cm_conn, links.next_peer), conn);
	cm_table_remove_qp(table, conn);
	cm_state_enter(conn, CM_FREE);
	conn->links.next_id = table->free_conn;
	table->free_conn = cm_table_index(table, conn);
	table->used--;
}

void cm_table_add_peer(struct cm_table *table, struct cm_conn *conn)
{
	uint32_t *head =
		&table->by_peer[head_of_peer(table, conn->routes.request.dest, conn->ids.remote_id) & table->head_mask];

	conn->links.next_peer = *head;
	conn->links.in_peers = true;
	*head = cm_table_index(table, conn);
}

struct cm_conn *cm_table_by_peer(const struct cm_table *table, const uint8_t addr[16], uint32_t remote_id,
				 const struct cm_conn *after)
{
	uint32_t at = after ? after->links.next_peer :
			      table->by_peer[head_of_peer(table, addr, remote_id) & table->head_mask];

	while (at != CM_NONE && (table->conns[at].ids.remote_id != remote_id ||
				 memcmp(table->conns[at].routes.request.dest, addr, 16) != 0))
		at = table->conns[at].links.next_peer;
	return at == CM_NONE ? NULL : &table->conns[at];
}

void cm_table_add_qp(struct cm_table *table, struct cm_conn *conn)
{
	uint32_t *head = head_of_conn_qp(table, conn);

	conn->links.next_qp = *head;
	conn->links.in_qps = true;
	*head = cm_table_index(table, conn);
}

struct cm_conn *cm_table_by_qp(const struct cm_table *table, const uint8_t addr[16], uint64_t guid, uint32_t qpn,
			       const struct cm_conn *after)
{
	uint32_t at =
		after ? after->links.next_qp : table->by_qp[head_of_qp(table, addr, guid, qpn) & table->head_mask];

	while (at != CM_NONE && (table->conns[at].ids.peer_guid != guid || table->conns[at].sides.peer.qpn != qpn ||
				 memcmp(table->conns[at].routes.request.dest, addr, 16) != 0))
		at = table->conns[at].links.next_qp;
	return at == CM_NONE ? NULL : &table->conns[at];
}

/* ---- timers ---- */

void cm_table_set_timer(struct cm_table *table, const struct cm_conn *conn, uint64_t deadline_ns)
{
	cm_deadlines_set(&table->timers, cm_table_index(table, conn), deadline_ns);
}

struct cm_conn *cm_table_due(const struct cm_table *table, uint64_t now_ns)
{
	uint32_t index;

	return cm_deadlines_due(&table->timers, now_ns, &index) ? &table->conns[index] : NULL;
}

uint64_t cm_table_deadline(const struct cm_table *table)
{
	return cm_deadlines_next(&table->timers);
}
