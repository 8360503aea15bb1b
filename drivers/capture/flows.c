/* flows.c - a table of flows, four to a set, each with a ring of the beginnings of its last frames */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/capture/flows.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "config/limits.h"
#include "lib/wire/bytes.h"
#include "lib/wire/encap.h"

#define WAYS 4u
#define COPY_TRIES 100u

/* A poll may bring POLL_FRAMES between a refused request and the frame in which the QP refuses it. */
static_assert(POLL_FRAMES + FLOWS_HELD_FRAMES <= FLOWS_FRAMES,
	      "a flow still holds the refused request when its QP fails");

/* The QPN, and a number computed from the address that is hardly ever the same for two addresses. */
struct key {
	uint64_t address;
	uint32_t qp_num; /* the QPN with one bit set above it, so that no key is zero */
};

struct flow {
	_Atomic uint32_t version; /* odd while the flow is written */
	struct key key;
	uint32_t count;  /* frames noted since the flow got this key */
	uint64_t cycles; /* when its last frame came, noted or not */
	/* NULL: the flow is not held; else it is held until *records has reached held_number */
	const _Atomic uint32_t *records;
	uint32_t held_number, held_room;
	struct drivers_flow_frame frames[FLOWS_FRAMES];
};

struct drivers_flows {
	uint32_t set_count;
	struct flow flows[];
};

#define HAS_KEY (1u << 31)

static struct key make_key(uint32_t qp_num, const uint8_t *address, uint32_t address_bytes)
{
	struct key key = { .qp_num = qp_num | HAS_KEY };
	uint64_t half[2] = { 0, 0 };

	/* An IPv4 address is represented by its last four bytes, be it mapped or as in a frame. */
	memcpy((uint8_t *)half + sizeof(half) - address_bytes, address, address_bytes);
	key.address = half[0] * 0x9E3779B97F4A7C15ull ^ half[1];
	return key;
}

static struct key key_of(uint32_t qp_num, const uint8_t address[16])
{
	bool ipv4 = encap_addr_is_ipv4(address);

	return make_key(qp_num, address + (ipv4 ? 12 : 0), ipv4 ? 4 : 16);
}

static bool keys_are_equal(struct key a, struct key b)
{
	return a.qp_num == b.qp_num && a.address == b.address;
}

/* Reads the key of a frame. Returns false if the frame is not RoCE, or its headers are not where they usually are. */
static bool read_key(const uint8_t *frame, uint32_t bytes, struct key *key)
{
	uint32_t at = 14, address_at, address_bytes, udp_at;
	uint16_t type;

	if (bytes < 14 + 4 + 20 + 8 + 12)
		return false;
	type = load_be16(frame + 12);
	if (type == 0x8100) {
		type = load_be16(frame + 16);
		at += 4;
	}
	if (type == 0x0800) {
		if (frame[at] != 0x45 || frame[at + 9] != 17)
			return false;
		address_at = at + 16;
		address_bytes = 4;
		udp_at = at + 20;
	} else {
		if (type != 0x86DD || frame[at + 6] != 17)
			return false;
		address_at = at + 24;
		address_bytes = 16;
		udp_at = at + 40;
	}
	if (bytes < udp_at + 8 + 12 || load_be16(frame + udp_at + 2) != 4791)
		return false;
	*key = make_key(load_be32(frame + udp_at + 8 + 4) & 0xFFFFFF, frame + address_at, address_bytes);
	return true;
}

static uint32_t set_of(const struct drivers_flows *flows, struct key key)
{
	uint64_t mixed = (key.address ^ key.qp_num) * 0x9E3779B97F4A7C15ull;

	return (uint32_t)(mixed >> 40) & (flows->set_count - 1);
}

struct drivers_flows *drivers_flows_create(uint32_t count)
{
	/* The table is large, but the system provides a page of it only when the page is touched. */
	struct drivers_flows *flows = calloc(1, sizeof(*flows) + count * sizeof(flows->flows[0]));

	if (flows)
		flows->set_count = count / WAYS;
	return flows;
}

void drivers_flows_destroy(struct drivers_flows *flows)
{
	free(flows);
}

/* Finds the flow of this key. If there is none, empties the flow of its set that has been silent longest. */
static struct flow *find_or_replace(struct drivers_flows *flows, struct key key)
{
	struct flow *set = &flows->flows[set_of(flows, key) * WAYS], *oldest = set;

	for (uint32_t i = 0; i < WAYS; i++) {
		if (keys_are_equal(set[i].key, key))
			return &set[i];
		if (set[i].cycles < oldest->cycles)
			oldest = &set[i];
	}
	return oldest;
}

void drivers_flows_hold(struct drivers_flows *flows, uint32_t qp_num, const uint8_t address[16],
			const _Atomic uint32_t *records, uint32_t number)
{
	struct key key = key_of(qp_num, address);
	struct flow *flow = find_or_replace(flows, key);

	if (!keys_are_equal(flow->key, key))
		return;
	flow->records = records;
	flow->held_number = number;
	flow->held_room = FLOWS_HELD_FRAMES;
}

/* Is the flow held, with no room left? */
static bool stands_still(struct flow *flow)
{
	if (flow->records == NULL)
		return false;
	/* pairs with H1: the failure was recorded before its frames are overwritten */
	if ((int32_t)(atomic_load_explicit(flow->records, memory_order_acquire) - flow->held_number) >= 0) {
		flow->records = NULL;
		return false;
	}
	if (flow->held_room == 0)
		return true;
	flow->held_room--;
	return false;
}

void drivers_flows_note(struct drivers_flows *flows, const struct rte_mbuf *mbuf, uint64_t cycles, bool outbound)
{
	const uint8_t *data = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	uint32_t kept = RTE_MIN((uint32_t)rte_pktmbuf_data_len(mbuf), FLOWS_KEPT_BYTES), version;
	struct drivers_flow_frame *frame;
	struct flow *flow;
	struct key key;
	bool known;

	if (!read_key(data, kept, &key))
		return;
	flow = find_or_replace(flows, key);
	flow->cycles = cycles;
	known = keys_are_equal(flow->key, key);
	if (known && stands_still(flow))
		return;
	version = atomic_load_explicit(&flow->version, memory_order_relaxed);
	atomic_store_explicit(&flow->version, version + 1, memory_order_relaxed);
	/* pairs with V1: a reader who sees a part of what follows also sees that the version has changed */
	atomic_thread_fence(memory_order_release);
	if (!known) {
		flow->key = key;
		flow->count = 0;
		flow->records = NULL;
	}
	frame = &flow->frames[flow->count++ % FLOWS_FRAMES];
	frame->cycles = cycles;
	frame->frame_bytes = rte_pktmbuf_pkt_len(mbuf);
	frame->kept_bytes = (uint16_t)kept;
	frame->outbound = outbound;
	memcpy(frame->data, data, kept);
	atomic_store_explicit(&flow->version, version + 2, memory_order_release);
}

/* Copies the frames in the order in which they were noted. */
static uint32_t copy_flow(const struct flow *flow, struct drivers_flow_frame *frames)
{
	uint32_t noted = flow->count, count = RTE_MIN(noted, FLOWS_FRAMES);

	for (uint32_t i = 0; i < count; i++)
		frames[i] = flow->frames[(noted - count + i) % FLOWS_FRAMES];
	return count;
}

uint32_t drivers_flows_copy(const struct drivers_flows *flows, uint32_t qp_num, const uint8_t address[16],
			    struct drivers_flow_frame *frames)
{
	struct key key = key_of(qp_num, address);
	const struct flow *set = &flows->flows[set_of(flows, key) * WAYS];

	for (uint32_t tries = 0; tries < COPY_TRIES * WAYS; tries++) {
		const struct flow *flow = &set[tries % WAYS];
		uint32_t version = atomic_load_explicit(&flow->version, memory_order_acquire), count;

		if (version & 1 || !keys_are_equal(flow->key, key))
			continue;
		count = copy_flow(flow, frames);
		atomic_thread_fence(memory_order_acquire); /* V1 */
		if (atomic_load_explicit(&flow->version, memory_order_relaxed) == version)
			return count;
	}
	return 0;
}
