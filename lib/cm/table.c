/* table.c - connections by their ids and their peers, their timers, and ids that rest */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "cm/conn.h"

static uint64_t rotate(uint64_t x, unsigned bits)
{
	return x << bits | x >> (64 - bits);
}

static void mix(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] = rotate(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[2] = rotate(v[2], 32);
}

/* SipHash (Aumasson and Bernstein, 2012) with so many rounds a word, and in the end. */
static inline uint64_t siphash(const uint8_t key[16], const void *data, size_t bytes, int rounds, int last_rounds)
{
	const uint8_t *p = data;
	uint64_t k[2], word, v[4], last = (uint64_t)bytes << 56;

	memcpy(k, key, sizeof(k));
	v[0] = k[0] ^ 0x736f6d6570736575ull;
	v[1] = k[1] ^ 0x646f72616e646f6dull;
	v[2] = k[0] ^ 0x6c7967656e657261ull;
	v[3] = k[1] ^ 0x7465646279746573ull;
	for (; bytes >= 8; bytes -= 8, p += 8) {
		memcpy(&word, p, 8);
		v[3] ^= word;
		for (int i = 0; i < rounds; i++)
			mix(v);
		v[0] ^= word;
	}
	for (size_t i = 0; i < bytes; i++)
		last |= (uint64_t)p[i] << (8 * i);
	v[3] ^= last;
	for (int i = 0; i < rounds; i++)
		mix(v);
	v[0] ^= last;
	v[2] ^= 0xff;
	for (int i = 0; i < last_rounds; i++)
		mix(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* Whoever fills a table sees no hash: SipHash-1-3 will do. Ids are seen by peers: SipHash-2-4. */
uint64_t cm_table_hash(const uint8_t key[16], const void *data, size_t bytes)
{
	return siphash(key, data, bytes, 1, 3);
}

uint64_t cm_table_draw(struct cm_table *table)
{
	table->drawn++;
	return siphash(table->key, &table->drawn, sizeof(table->drawn), 2, 4);
}

/* ---- memory ---- */

static uint32_t round_up_to_power_of_two(uint32_t n)
{
	return n <= 1 ? 1 : 1u << (32 - __builtin_clz(n - 1));
}

static uint64_t lines(uint64_t bytes)
{
	return (bytes + 63) & ~63ull;
}

static uint64_t heads_bytes(const struct cm_config *config)
{
	return lines(sizeof(uint32_t) * round_up_to_power_of_two(config->connections));
}

static uint64_t rest_heads_bytes(const struct cm_config *config)
{
	return lines(sizeof(uint32_t) * round_up_to_power_of_two(config->rests));
}

uint64_t cm_table_bytes(const struct cm_config *config)
{
	return lines(sizeof(struct cm_conn) * config->connections) + 3 * heads_bytes(config) +
	       lines(sizeof(uint32_t) * config->connections) + lines(sizeof(struct cm_rest) * config->rests) +
	       2 * rest_heads_bytes(config);
}

static void *cut(uint8_t **memory, uint64_t bytes)
{
	void *piece = *memory;

	*memory += lines(bytes);
	return piece;
}

static uint32_t *cut_heads(uint8_t **memory, uint64_t bytes)
{
	uint32_t *heads = cut(memory, bytes);

	memset(heads, 0xFF, bytes);
	return heads;
}

void cm_table_init(struct cm_table *table, void *memory, const struct cm_config *config)
{
	uint8_t *at = memory;

	memcpy(table->key, config->key, sizeof(table->key));
	table->conn_count = config->connections;
	table->head_mask = round_up_to_power_of_two(config->connections) - 1;
	table->rest_count = config->rests;
	table->conns = cut(&at, sizeof(struct cm_conn) * config->connections);
	table->by_id = cut_heads(&at, heads_bytes(config));
	table->by_peer = cut_heads(&at, heads_bytes(config));
	table->by_end = cut_heads(&at, heads_bytes(config));
	table->timers = cut(&at, sizeof(uint32_t) * config->connections);
	table->rests = cut(&at, sizeof(struct cm_rest) * config->rests);
	table->rests_by_id = cut_heads(&at, rest_heads_bytes(config));
	table->rests_by_peer = cut_heads(&at, rest_heads_bytes(config));
	for (uint32_t i = 0; i < config->connections; i++)
		table->conns[i].next_id = i + 1 < config->connections ? i + 1 : CM_NONE;
}

/* ---- chains ---- */

static uint32_t head_of_id(const struct cm_table *table, uint32_t id)
{
	return (uint32_t)cm_table_hash(table->key, &id, sizeof(id));
}

static uint32_t head_of_peer(const struct cm_table *table, const uint8_t addr[16], uint32_t remote_id)
{
	uint8_t text[20];

	memcpy(text, addr, 16);
	memcpy(text + 16, &remote_id, 4);
	return (uint32_t)cm_table_hash(table->key, text, sizeof(text));
}

static uint32_t head_of_end(const struct cm_table *table, uint64_t guid, uint32_t qpn)
{
	uint64_t text[2] = { guid, qpn };

	return (uint32_t)cm_table_hash(table->key, text, sizeof(text));
}

uint32_t cm_table_index(const struct cm_table *table, const struct cm_conn *conn)
{
	return (uint32_t)(conn - table->conns);
}

struct cm_conn *cm_table_at(const struct cm_table *table, uint32_t index)
{
	return index < table->conn_count && table->conns[index].state != CM_FREE ? &table->conns[index] : NULL;
}

struct cm_conn *cm_table_by_id(const struct cm_table *table, uint32_t local_id)
{
	uint32_t at = table->by_id[head_of_id(table, local_id) & table->head_mask];

	while (at != CM_NONE && table->conns[at].local_id != local_id)
		at = table->conns[at].next_id;
	return at == CM_NONE ? NULL : &table->conns[at];
}

/* In time-wait? */
static bool id_rests(const struct cm_table *table, uint32_t local_id)
{
	uint32_t mask = round_up_to_power_of_two(table->rest_count) - 1;
	uint32_t at = table->rests_by_id[head_of_id(table, local_id) & mask];

	while (at != CM_NONE && table->rests[at].local_id != local_id)
		at = table->rests[at].next_id;
	return at != CM_NONE;
}

struct cm_conn *cm_table_take(struct cm_table *table, uint32_t id_mask, uint32_t id_low)
{
	uint32_t index = table->free_conn, id, *head;
	struct cm_conn *conn;

	if (index == CM_NONE)
		return NULL;
	do {
		id = ((uint32_t)cm_table_draw(table) & ~id_mask) | id_low;
	} while (id == 0 || cm_table_by_id(table, id) || id_rests(table, id));
	conn = &table->conns[index];
	table->free_conn = conn->next_id;
	table->used++;
	*conn = (struct cm_conn){ .local_id = id, .timer_at = CM_NONE, .deadline_ns = CM_NEVER };
	head = &table->by_id[head_of_id(table, id) & table->head_mask];
	conn->next_id = *head;
	*head = index;
	return conn;
}

/* Takes an entry of conns out of a chain; next_at: offset of the link that the chain goes by. */
static void unchain(struct cm_table *table, uint32_t *head, size_t next_at, const struct cm_conn *conn)
{
	uint32_t index = cm_table_index(table, conn), *link = head;

	while (*link != index)
		link = (uint32_t *)(void *)((uint8_t *)&table->conns[*link] + next_at);
	memcpy(link, (const uint8_t *)conn + next_at, sizeof(*link));
}

void cm_table_remove_end(struct cm_table *table, struct cm_conn *conn)
{
	if (conn->in_ends)
		unchain(table, &table->by_end[head_of_end(table, conn->peer_guid, conn->peer.qpn) & table->head_mask],
			offsetof(struct cm_conn, next_end), conn);
	conn->in_ends = false;
}

void cm_table_give_back(struct cm_table *table, struct cm_conn *conn)
{
	cm_table_set_timer(table, conn, CM_NEVER);
	unchain(table, &table->by_id[head_of_id(table, conn->local_id) & table->head_mask],
		offsetof(struct cm_conn, next_id), conn);
	if (conn->in_peers)
		unchain(table,
			&table->by_peer[head_of_peer(table, conn->route.dest, conn->remote_id) & table->head_mask],
			offsetof(struct cm_conn, next_peer), conn);
	cm_table_remove_end(table, conn);
	conn->state = CM_FREE;
	conn->next_id = table->free_conn;
	table->free_conn = cm_table_index(table, conn);
	table->used--;
}

void cm_table_add_peer(struct cm_table *table, struct cm_conn *conn)
{
	uint32_t *head = &table->by_peer[head_of_peer(table, conn->route.dest, conn->remote_id) & table->head_mask];

	conn->next_peer = *head;
	conn->in_peers = true;
	*head = cm_table_index(table, conn);
}

struct cm_conn *cm_table_by_peer(const struct cm_table *table, const uint8_t addr[16], uint32_t remote_id,
				 const struct cm_conn *after)
{
	uint32_t at =
		after ? after->next_peer : table->by_peer[head_of_peer(table, addr, remote_id) & table->head_mask];

	while (at != CM_NONE &&
	       (table->conns[at].remote_id != remote_id || memcmp(table->conns[at].route.dest, addr, 16) != 0))
		at = table->conns[at].next_peer;
	return at == CM_NONE ? NULL : &table->conns[at];
}

void cm_table_add_end(struct cm_table *table, struct cm_conn *conn)
{
	uint32_t *head = &table->by_end[head_of_end(table, conn->peer_guid, conn->peer.qpn) & table->head_mask];

	conn->next_end = *head;
	conn->in_ends = true;
	*head = cm_table_index(table, conn);
}

struct cm_conn *cm_table_by_end(const struct cm_table *table, uint64_t guid, uint32_t qpn, const struct cm_conn *after)
{
	uint32_t at = after ? after->next_end : table->by_end[head_of_end(table, guid, qpn) & table->head_mask];

	while (at != CM_NONE && (table->conns[at].peer_guid != guid || table->conns[at].peer.qpn != qpn))
		at = table->conns[at].next_end;
	return at == CM_NONE ? NULL : &table->conns[at];
}

/* ---- timers: a heap, the nearest deadline on top ---- */

static uint64_t deadline_at(const struct cm_table *table, uint32_t place)
{
	return table->conns[table->timers[place]].deadline_ns;
}

static void put(struct cm_table *table, uint32_t place, uint32_t index)
{
	table->timers[place] = index;
	table->conns[index].timer_at = place;
}

static void swap(struct cm_table *table, uint32_t a, uint32_t b)
{
	uint32_t index = table->timers[a];

	put(table, a, table->timers[b]);
	put(table, b, index);
}

static void sift(struct cm_table *table, uint32_t place)
{
	while (place > 0 && deadline_at(table, place) < deadline_at(table, (place - 1) / 2)) {
		swap(table, place, (place - 1) / 2);
		place = (place - 1) / 2;
	}
	for (;;) {
		uint32_t least = place;

		for (uint32_t child = 2 * place + 1; child <= 2 * place + 2 && child < table->timer_count; child++) {
			if (deadline_at(table, child) < deadline_at(table, least))
				least = child;
		}
		if (least == place)
			return;
		swap(table, place, least);
		place = least;
	}
}

void cm_table_set_timer(struct cm_table *table, struct cm_conn *conn, uint64_t deadline_ns)
{
	uint32_t place = conn->timer_at;

	conn->deadline_ns = deadline_ns;
	if (deadline_ns == CM_NEVER) {
		if (place == CM_NONE)
			return;
		conn->timer_at = CM_NONE;
		if (place == --table->timer_count)
			return;
		put(table, place, table->timers[table->timer_count]);
	} else if (place == CM_NONE) {
		place = table->timer_count++;
		put(table, place, cm_table_index(table, conn));
	}
	sift(table, place);
}

struct cm_conn *cm_table_due(const struct cm_table *table, uint64_t now_ns)
{
	if (table->timer_count == 0 || deadline_at(table, 0) > now_ns)
		return NULL;
	return &table->conns[table->timers[0]];
}

uint64_t cm_table_deadline(const struct cm_table *table)
{
	return table->timer_count ? deadline_at(table, 0) : CM_NEVER;
}

/* ---- rest ---- */

static uint32_t *rest_head(const struct cm_table *table, uint32_t *heads, uint32_t hash)
{
	return &heads[hash & (round_up_to_power_of_two(table->rest_count) - 1)];
}

static void drop_oldest(struct cm_table *table)
{
	uint32_t index = table->rest_head;
	struct cm_rest *rest = &table->rests[index];
	uint32_t *link = rest_head(table, table->rests_by_id, head_of_id(table, rest->local_id));

	while (*link != index)
		link = &table->rests[*link].next_id;
	*link = rest->next_id;
	link = rest_head(table, table->rests_by_peer, head_of_peer(table, rest->peer, rest->remote_id));
	while (*link != index)
		link = &table->rests[*link].next_peer;
	*link = rest->next_peer;
	table->rest_head = (index + 1) % table->rest_count;
	table->rest_used--;
}

void cm_table_rest(struct cm_table *table, const struct cm_conn *conn, uint64_t until_ns)
{
	struct cm_rest *rest;
	uint32_t index, *head;

	if (table->rest_used == table->rest_count)
		drop_oldest(table);
	index = (table->rest_head + table->rest_used++) % table->rest_count;
	rest = &table->rests[index];
	rest->local_id = conn->local_id;
	rest->remote_id = conn->remote_id;
	rest->until_ns = until_ns;
	memcpy(rest->peer, conn->route.dest, 16);
	head = rest_head(table, table->rests_by_id, head_of_id(table, rest->local_id));
	rest->next_id = *head;
	*head = index;
	head = rest_head(table, table->rests_by_peer, head_of_peer(table, rest->peer, rest->remote_id));
	rest->next_peer = *head;
	*head = index;
}

void cm_table_wake(struct cm_table *table, uint64_t now_ns)
{
	while (table->rest_used && table->rests[table->rest_head].until_ns <= now_ns)
		drop_oldest(table);
}

bool cm_table_rests(const struct cm_table *table, const uint8_t addr[16], uint32_t remote_id)
{
	uint32_t mask = round_up_to_power_of_two(table->rest_count) - 1;
	uint32_t at = table->rests_by_peer[head_of_peer(table, addr, remote_id) & mask];

	while (at != CM_NONE &&
	       (table->rests[at].remote_id != remote_id || memcmp(table->rests[at].peer, addr, 16) != 0))
		at = table->rests[at].next_peer;
	return at != CM_NONE;
}
