/* headers.c - what may change on the way and what may not: the frame that is expected, with one thing different */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "engine/qp.h"
#include "network.h"
#include "rule.h"
#include "start.h"
#include "wire/bytes.h"
#include "wire/icrc.h"

#define BYTES 101u
#define IP_AT 14u

TestSuite(headers, .init = test_eal_start, .timeout = 60);

/* A frame as it is changed: offsets are those of its IP version. */
struct changed {
	struct rte_mbuf *mbuf;
	uint8_t *ip, *udp, *bth;
	uint32_t bytes; /* from the IP header on, without ICRC */
	bool ipv6;
};

struct row {
	const char *name;
	const char *counter; /* of the reason for which it is dropped; NULL: executed */
	void (*change)(struct changed *frame, uint32_t number);
	uint32_t times;  /* with number 0, 1 ... */
	bool on_the_way; /* the ICRC is that of the sender */
	bool ipv4_only;  /* there is no such thing in IPv6 */
};

static void nothing(struct changed *frame, uint32_t number)
{
	(void)frame;
	(void)number;
}

static void traffic_class(struct changed *frame, uint32_t number)
{
	frame->ip[1] ^= (uint8_t)(frame->ipv6 ? 0xF0 >> number : 0xFF >> number);
}

static void hop_limit(struct changed *frame, uint32_t number)
{
	frame->ip[frame->ipv6 ? 7 : 8] = (uint8_t)(number ? 255 : 1);
}

static void hop_limit_zero(struct changed *frame, uint32_t number)
{
	(void)number;
	frame->ip[frame->ipv6 ? 7 : 8] = 0;
}

/* Number 0: right. Others: wrong in a bit. */
static void udp_checksum(struct changed *frame, uint32_t number)
{
	uint32_t bytes = load_be16(frame->udp + 4), pseudo = 17 + bytes, at = frame->ipv6 ? 8 : 12;
	uint32_t sum = wire_encap_sum(pseudo, frame->ip + at, frame->ipv6 ? 32 : 8);

	store_be16(frame->udp + 6, 0);
	store_le32(frame->ip + frame->bytes, wire_icrc_frame(frame->ip, frame->bytes));
	sum = wire_encap_sum(sum, frame->udp, bytes);
	store_be16(frame->udp + 6, (uint16_t)(~sum ^ (number ? 1u << (number - 1) : 0)));
}

static void udp_checksum_wrong(struct changed *frame, uint32_t number)
{
	udp_checksum(frame, number + 1);
}

static void congestion_bits(struct changed *frame, uint32_t number)
{
	frame->bth[4] = (uint8_t)(number + 1);
}

static void reserved_bits(struct changed *frame, uint32_t number)
{
	frame->bth[8] |= (uint8_t)(1u << number);
}

static void migreq(struct changed *frame, uint32_t number)
{
	frame->bth[1] = (uint8_t)((frame->bth[1] & ~0x40) | number << 6);
}

static void source_port(struct changed *frame, uint32_t number)
{
	store_be16(frame->udp, (uint16_t)(number * 0x5555));
}

static void padding(struct changed *frame, uint32_t number)
{
	memset(rte_pktmbuf_append(frame->mbuf, (uint16_t)(1 + number)), 0xEE, 1 + number);
}

/* Tags behind the addresses. */
static void tags(struct changed *frame, uint32_t count, uint16_t type, uint16_t tci)
{
	uint8_t *start = (uint8_t *)rte_pktmbuf_prepend(frame->mbuf, (uint16_t)(4 * count));

	memmove(start, start + 4 * count, 12);
	for (uint32_t i = 0; i < count; i++) {
		store_be16(start + 12 + 4 * i, i ? 0x8100 : type);
		store_be16(start + 14 + 4 * i, tci);
	}
}

/* It has a priority, and what was CFI once. */
static void tag_of_no_vlan(struct changed *frame, uint32_t number)
{
	tags(frame, 1, 0x8100, (uint16_t)(number << 12));
}

static void tag_of_a_vlan(struct changed *frame, uint32_t number)
{
	tags(frame, 1, 0x8100, (uint16_t)(0xE000 | 1u << number));
}

static void two_tags(struct changed *frame, uint32_t number)
{
	tags(frame, 2, number ? 0x8100 : 0x88A8, 7);
}

static void icrc_bit(struct changed *frame, uint32_t number)
{
	frame->ip[frame->bytes + number / 8] ^= (uint8_t)(1u << number % 8);
}

static void icrc_swapped(struct changed *frame, uint32_t number)
{
	(void)number;
	store_be32(frame->ip + frame->bytes, load_le32(frame->ip + frame->bytes));
}

static void version(struct changed *frame, uint32_t number)
{
	frame->bth[1] |= (uint8_t)(number + 1);
}

static void special_qpn(struct changed *frame, uint32_t number)
{
	static const uint32_t qpns[] = { 0, 1, 0xFFFFFF };

	store_be24(frame->bth + 5, qpns[number]);
}

static void dest_address(struct changed *frame, uint32_t number)
{
	frame->ip[frame->ipv6 ? 39 - number : 19 - number] ^= 0x11;
}

static void limited_pkey(struct changed *frame, uint32_t number)
{
	store_be16(frame->bth + 2, (uint16_t)(0xFFFF ^ 1u << number));
}

static void other_class(struct changed *frame, uint32_t number)
{
	static const uint8_t opcodes[] = { 0x24, 0x2A, 0x44, 0x64, 0x65, 0xA4, 0xAA, 0xC4, 0xE4 };

	frame->bth[0] = opcodes[number];
}

static void cnp(struct changed *frame, uint32_t number)
{
	(void)number;
	frame->bth[0] = 0x81;
}

static void fragment(struct changed *frame, uint32_t number)
{
	store_be16(frame->ip + 6, number ? 0x2000 : 5);
}

static void bad_source(struct changed *frame, uint32_t number)
{
	static const uint32_t sources[] = { 0x7F000001, 0xE0000001, 0xEFFFFFFF, 0xFFFFFFFF };

	if (frame->ipv6)
		frame->ip[8] = 0xFF;
	else
		store_be32(frame->ip + 12, sources[number]);
}

static const struct row rows[] = {
	{ "the frame itself", NULL, nothing, 1, true, false },
	{ "another traffic class", NULL, traffic_class, 4, true, false },
	{ "another hop limit", NULL, hop_limit, 2, true, false },
	{ "a right UDP checksum", NULL, udp_checksum, 1, true, false },
	{ "FECN, BECN and what is reserved beside them", NULL, congestion_bits, 255, true, false },
	{ "reserved bits beside AckReq", NULL, reserved_bits, 7, false, false },
	{ "MigReq", NULL, migreq, 2, false, false },
	{ "UDP source port", NULL, source_port, 4, false, false },
	{ "Ethernet padding", NULL, padding, 9, true, false },
	{ "a tag of no VLAN", NULL, tag_of_no_vlan, 16, true, false },
	{ "a tag of a VLAN", "drop_vlan", tag_of_a_vlan, 12, true, false },
	{ "two tags", "drop_not_roce", two_tags, 2, true, false },
	{ "a bit of the ICRC", "rx_icrc_encapsulated", icrc_bit, 32, true, false },
	{ "ICRC in the other byte order", "rx_icrc_encapsulated", icrc_swapped, 1, true, false },
	{ "transport version", "drop_transport_version", version, 15, false, false },
	{ "QPN 0, 1 or the last", "drop_unknown_qpn", special_qpn, 3, false, false },
	{ "another receiver", "rx_other_address", dest_address, 4, false, false },
	{ "another P_Key", "drop_pkey", limited_pkey, 15, false, false },
	{ "opcode of another class", "drop_other_class", other_class, 9, false, false },
	{ "congestion notification", "rp_cnp_ignored", cnp, 1, false, false },
	{ "UDP checksum wrong in a bit", "drop_udp_checksum", udp_checksum_wrong, 16, true, false },
	{ "hop limit 0", "drop_ip_header", hop_limit_zero, 1, true, false },
	{ "source that nobody has", "drop_ip_header", bad_source, 4, false, false },
	{ "fragment", "drop_ip_fragment", fragment, 2, false, true },
};

/* The WRITE that B expects next. */
static struct changed create_frame(struct network *network, uint8_t value, bool ipv6)
{
	const struct uroce_qp *from = network->ends[0].qp, *to = network->ends[1].qp;
	struct changed frame = { .mbuf = rte_pktmbuf_alloc(network->loop.pool), .ipv6 = ipv6 };
	uint8_t data[BYTES];
	struct wire_packet packet = {
		.opcode = OP_WRITE_ONLY,
		.psn = qp_core(to)->responder.epsn.v,
		.dest_qpn = uroce_qp_num(to),
		.pkey = 0xFFFF,
		.pad_bytes = packet_pad_bytes(BYTES),
		.va = (uintptr_t)network->ends[1].buffer,
		.rkey = uroce_mr_rkey(network->ends[1].mr),
		.dma_length = BYTES,
		.payload = data,
		.payload_bytes = BYTES,
	};

	cr_assert_not_null(frame.mbuf);
	memset(data, value, sizeof(data));
	network_fill_frame(frame.mbuf, &from->template, &packet);
	frame.ip = rte_pktmbuf_mtod_offset(frame.mbuf, uint8_t *, IP_AT);
	frame.udp = frame.ip + (ipv6 ? 40 : 20);
	frame.bth = frame.udp + 8;
	frame.bytes = frame.mbuf->data_len - IP_AT - WIRE_ICRC_BYTES;
	return frame;
}

static void check(struct network *network, const struct row *row, uint32_t number, bool ipv6)
{
	static uint8_t value;
	struct changed frame = create_frame(network, ++value, ipv6);
	uint64_t dropped = row->counter ? network_counter(network, 1, row->counter) : 0;
	uint8_t before = network->ends[1].buffer[0];

	row->change(&frame, number);
	if (!ipv6) {
		store_be16(frame.ip + 10, 0);
		store_be16(frame.ip + 10, (uint16_t)~wire_encap_sum(0, frame.ip, 20));
	}
	if (!row->on_the_way)
		store_le32(frame.ip + frame.bytes, wire_icrc_frame(frame.ip, frame.bytes));
	cr_assert_eq(rte_eth_tx_burst(network->loop.ports[0].port_id, 0, &frame.mbuf, 1), 1);
	network_poll(network);
	if (row->counter)
		cr_assert_eq(network_counter(network, 1, row->counter), dropped + 1, "%s %u: not in %s", row->name,
			     number, row->counter);
	for (uint32_t i = 0; i < BYTES; i++)
		cr_assert_eq(network->ends[1].buffer[i], row->counter ? before : value, "%s %u, ipv6 %d: byte %u",
			     row->name, number, ipv6, i);
}

/*
 * TC-A-2, TC-A-3, TC-A-4, TC-A-8, TC-A-9, TC-A-11, TC-A-12, TC-A-13, TC-A-14, TC-A-15, TC-A-16, TC-A-17: whatever
 * layer it is of, in both IP versions.
 */
Test(headers, frame_with_one_changed_field_is_accepted_or_counted)
{
	RULE("W-1");
	RULE("W-3");
	RULE("W-5");
	for (int ipv6 = 0; ipv6 < 2; ipv6++) {
		static struct network network;
		uint64_t executed = 1;

		network_open(&network, 1);
		network_create_qp(&network, 0, 64, -1);
		network_create_qp(&network, 1, 64, -1);
		network_connect(&network, ipv6);
		cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, BYTES), 0);
		cr_assert_eq(network_wait(&network, 0).status, UROCE_WC_SUCCESS);
		memset(network.ends[1].buffer, 0, BYTES);
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			if (ipv6 && rows[i].ipv4_only)
				continue;
			for (uint32_t number = 0; number < rows[i].times; number++)
				check(&network, &rows[i], number, ipv6);
			executed += rows[i].counter ? 0 : rows[i].times;
		}
		cr_assert_eq(network_counter(&network, 1, "rx_write_requests"), executed);
		network_close(&network);
	}
}
