/* frame.c - the fast ways in and out against the plain ones */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ack_packet.h"
#include "rule.h"
#include "wire/bytes.h"
#include "wire/frame.h"
#include "wire/icrc.h"
#include "wire/icrc_copy.h"

#define ROOM 5000u
#define PAYLOAD_MAX 4096u
#define GUARD 0x5A

static uint64_t state;

static uint32_t draw(uint32_t below)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((state >> 32) % below);
}

static void draw_bytes(void *data, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++)
		((uint8_t *)data)[i] = (uint8_t)draw(256);
}

/* UROCE_SEED repeats a run. */
static void start(void)
{
	const char *text = getenv("UROCE_SEED");

	state = text ? strtoull(text, NULL, 0) : (uint64_t)time(NULL);
	printf("# UROCE_SEED=%lu\n", (unsigned long)state);
}

static void draw_encap(struct wire_encap *encap, bool ipv6)
{
	memset(encap, 0, sizeof(*encap));
	draw_bytes(encap->dest_mac, 6);
	draw_bytes(encap->source_mac, 6);
	encap->ipv6 = ipv6;
	draw_bytes(encap->source, 16);
	draw_bytes(encap->dest, 16);
	encap->source[0] = encap->dest[0] = 0x20;
	if (!ipv6) {
		static const uint8_t mapped[12] = { [10] = 0xFF, [11] = 0xFF };

		memcpy(encap->source, mapped, 12);
		memcpy(encap->dest, mapped, 12);
		encap->source[12] = (uint8_t)(1 + draw(126));
	}
	encap->traffic_class = (uint8_t)draw(256);
	encap->hop_limit = (uint8_t)(1 + draw(255));
	encap->flow_label = ipv6 ? draw(1 << 20) : 0;
	encap->source_port = (uint16_t)(0xC000 + draw(0x4000));
	encap->dest_port = WIRE_UDP_PORT;
}

/* One path in four is of a VLAN. */
static void draw_any_encap(struct wire_encap *encap, bool ipv6)
{
	draw_encap(encap, ipv6);
	encap->vlan = draw(4) == 0;
	encap->vlan_tci = encap->vlan ? (uint16_t)draw(1 << 16) : 0;
}

/* Every field that the opcode has. */
static void draw_packet(struct wire_packet *packet, uint8_t opcode, const uint8_t *data, uint32_t bytes)
{
	const struct wire_opcode_row *row = wire_opcode(opcode);

	memset(packet, 0, sizeof(*packet));
	packet->opcode = opcode;
	packet->flags = draw(1 << 24) & WIRE_FLAGS;
	packet->psn = draw(1 << 24);
	packet->dest_qpn = draw(1 << 24);
	packet->pkey = (uint16_t)draw(1 << 16);
	if (row->aeth) {
		packet->syndrome = (uint8_t)draw(256);
		packet->msn = draw(1 << 24);
		packet->original = row->atomic_ack ? (uint64_t)draw(UINT32_MAX) << 32 | draw(UINT32_MAX) : 0;
	}
	if (row->reth || row->atomic) {
		packet->va = (uint64_t)draw(UINT32_MAX) << 32 | draw(UINT32_MAX);
		packet->rkey = draw(UINT32_MAX);
		packet->dma_length = row->reth ? draw(UINT32_MAX) : 0;
		packet->swap_add = row->atomic ? (uint64_t)draw(UINT32_MAX) << 32 | draw(UINT32_MAX) : 0;
		packet->compare = row->atomic ? draw(UINT32_MAX) : 0;
		if (row->feth)
			packet->feth = draw(UINT32_MAX);
	}
	if (row->immdt || row->ieth)
		packet->imm = draw(UINT32_MAX);
	packet->payload = data;
	packet->payload_bytes = row->payload ? bytes : 0;
	packet->pad_bytes = packet_pad_bytes(packet->payload_bytes);
}

/* One header after the other, then payload, pad and ICRC, as the documents of wire/ say. Returns the bytes. */
static uint32_t build_plainly(const struct wire_encap *encap, const struct wire_packet *packet, const uint8_t *data,
			      uint8_t *out)
{
	struct wire_encap copy = *encap;
	uint32_t at = wire_encap_build(&copy, packet_bytes(packet), out);

	at += wire_packet_build(packet, out + at);
	memcpy(out + at, data, packet->payload_bytes);
	at += packet->payload_bytes;
	memset(out + at, 0, packet->pad_bytes);
	at += packet->pad_bytes;
	store_le32(out + at, wire_icrc_frame(out + copy.ip_offset, at - copy.ip_offset));
	return at + WIRE_ICRC_BYTES;
}

/* As frame_write() takes them, of an opcode that has no other extension headers. */
static struct wire_headers headers_of(const struct wire_packet *packet)
{
	const struct wire_opcode_row *row = wire_opcode(packet->opcode);
	uint32_t brief = row->aeth ? (uint32_t)packet->syndrome << 24 | packet->msn : packet->imm;
	struct wire_headers headers = {
		.begin = packet_bth_begin(packet) & ~(3ull << BTH_PAD_AT),
		.bth_end = packet_bth_end(packet),
		.va = __builtin_bswap64(packet->va),
		.key_and_length = packet_reth_end(packet->rkey, packet->dma_length),
		.extensions = row->reth ? FRAME_RETH : 0,
	};

	if (row->aeth || row->immdt || row->ieth) {
		headers.extensions |= FRAME_4_BYTES;
		headers.bth_end |= (uint64_t)__builtin_bswap32(brief) << 32;
	}
	return headers;
}

static bool has_only_usual_headers(const struct wire_opcode_row *row)
{
	return !row->atomic && !row->atomic_ack && !row->feth && !row->deth &&
	       row->extension_bytes ==
		       (row->reth ? 16 : 0) + (row->aeth ? 4 : 0) + (row->immdt ? 4 : 0) + (row->ieth ? 4 : 0) &&
	       row->aeth + row->immdt + row->ieth <= 1;
}

enum way { WAY_PACKET, WAY_HEADERS, WAY_PIECES, WAYS };

static void check_build(enum wire_icrc_impl impl, uint8_t opcode, bool ipv6, uint32_t bytes)
{
	static uint8_t data[PAYLOAD_MAX], plain[ROOM], fast[ROOM];
	struct wire_frame_template template;
	struct wire_headers headers;
	struct wire_packet packet;
	struct wire_encap encap;
	uint32_t right, cut;

	draw_bytes(data, bytes);
	draw_any_encap(&encap, ipv6);
	draw_packet(&packet, opcode, data, bytes);
	right = build_plainly(&encap, &packet, data, plain);
	wire_frame_prepare(&template, &encap);
	headers = headers_of(&packet);
	cut = draw(packet.payload_bytes + 1);
	for (enum way way = WAY_PACKET; way < (has_only_usual_headers(wire_opcode(opcode)) ? WAYS : WAY_HEADERS);
	     way++) {
		const struct wire_span pieces[3] = { { data, cut },
						     { data + cut, 0 },
						     { data + cut, packet.payload_bytes - cut } };
		uint32_t built;

		memset(fast, GUARD, sizeof(fast));
		if (way == WAY_PACKET)
			built = wire_frame_build(&template, &packet, fast);
		else if (way == WAY_HEADERS)
			built = frame_write(&template, &headers, data, packet.payload_bytes, fast);
		else
			built = wire_frame_write_pieces(&template, &headers, pieces, 3, fast);
		cr_assert_eq(built, right, "%s, way %u", wire_opcode(opcode)->name, way);
		for (uint32_t i = 0; i < right; i++)
			cr_assert_eq(fast[i], plain[i], "%s, %s, IPv%d, %u bytes, way %u: byte %u of %u",
				     wire_icrc_impl_name(impl), wire_opcode(opcode)->name, ipv6 ? 6 : 4, bytes, way, i,
				     right);
		for (uint32_t i = right < 128 ? 128 : right; i < ROOM; i++)
			cr_assert_eq(fast[i], GUARD, "wrote behind the frame");
	}
}

/* Runs with each implementation that this CPU has, and leaves the one that was chosen. */
#define FOR_EACH_IMPL(impl)                                                                             \
	for (enum wire_icrc_impl best = wire_icrc_chosen(), impl = WIRE_ICRC_ISAL;                      \
	     impl < WIRE_ICRC_IMPLS || !wire_icrc_choose(best); impl = (enum wire_icrc_impl)(impl + 1)) \
		if (wire_icrc_choose(impl))

Test(frame, template_builds_the_same_frame_as_single_headers)
{
	static const uint32_t lengths[] = { 0,   1,   2,   3,   4,   5,   7,   8,   12,   15,   16,   17,
					    31,  32,  48,  60,  63,  64,  65,  100, 127,  128,  191,  192,
					    193, 255, 256, 257, 447, 448, 512, 575, 1024, 1027, 4093, 4096 };

	RULE("W-1");
	RULE("W-2");
	RULE("W-3");
	start();
	FOR_EACH_IMPL(impl)
	{
		for (uint32_t opcode = 0; opcode < 32; opcode++) {
			if (wire_opcode((uint8_t)opcode)->kind == WIRE_KIND_RESERVED)
				continue;
			for (uint32_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
				check_build(impl, (uint8_t)opcode, false, lengths[i]);
				check_build(impl, (uint8_t)opcode, true, lengths[i]);
			}
		}
	}
}

/* An ACK or NAK to this QPN; any other value it may have. */
static struct wire_ack draw_ack(uint32_t dest_qpn, uint8_t flag)
{
	uint32_t psn = draw(1 << 24), aeth = draw(UINT32_MAX);

	return (struct wire_ack){
		.begin = packet_bth_of(OP_ACKNOWLEDGE, flag, 0xFFFF, dest_qpn),
		.bth_end = __builtin_bswap32(psn) | (uint64_t)__builtin_bswap32(aeth) << 32,
	};
}

/* Of a path, one after the other: most are like the one before but for PSN and AETH, some are not. */
static void check_acks(enum wire_icrc_impl impl, bool ipv6)
{
	static uint8_t plain[ROOM], fast[ROOM];
	struct wire_frame_template template;
	struct wire_encap encap;
	uint32_t qpn = 0;

	draw_any_encap(&encap, ipv6);
	wire_frame_prepare(&template, &encap);
	for (int i = 0; i < 64; i++) {
		struct wire_packet packet;
		struct wire_ack ack;
		uint32_t right;

		if (i % 8 == 0)
			qpn = draw(1 << 24);
		if (i % 16 == 13) { /* another path to the same QP */
			draw_any_encap(&encap, ipv6);
			wire_frame_prepare(&template, &encap);
		}
		ack = draw_ack(qpn, i % 16 < 4 ? WIRE_MIGREQ : 0);
		packet_of_ack(&ack, &packet);
		right = build_plainly(&encap, &packet, plain, plain);
		memset(fast, GUARD, sizeof(fast));
		cr_assert_eq(wire_frame_build_ack(&template, &ack, fast), right);
		cr_assert_arr_eq(fast, plain, right, "%s, IPv%d, ACK %d", wire_icrc_impl_name(impl), ipv6 ? 6 : 4, i);
		for (uint32_t at = 128; at < ROOM; at++)
			cr_assert_eq(fast[at], GUARD, "wrote behind the frame");
	}
}

Test(frame, repeated_ack_is_built_like_the_first)
{
	RULE("W-3");
	start();
	FOR_EACH_IMPL(impl)
	{
		for (int i = 0; i < 20; i++) {
			check_acks(impl, false);
			check_acks(impl, true);
		}
	}
}

/* The address stands where an IPv4 frame has its BTH, and looks like that of the ACK. */
Test(frame, address_resembling_an_ack_is_not_an_ack)
{
	static uint8_t plain[ROOM], fast[ROOM];
	struct wire_frame_template template;
	struct wire_encap encap;

	RULE("W-3");
	start();
	draw_encap(&encap, true);
	for (int i = 0; i < 2; i++) {
		struct wire_ack ack = draw_ack(0x123456, 0);
		struct wire_packet packet;
		uint32_t right;

		if (i == 0) {
			memcpy(encap.dest + FRAME_BTH_AT - FRAME_IP_AT - 24, &ack.begin, sizeof(ack.begin));
			wire_frame_prepare(&template, &encap);
		}
		packet_of_ack(&ack, &packet);
		right = build_plainly(&encap, &packet, plain, plain);
		cr_assert_eq(wire_frame_build_ack(&template, &ack, fast), right);
		cr_assert_arr_eq(fast, plain, right, "ACK %d", i);
	}
}

/* ---- in ---- */

/* Two ACKs in a row, the second with a bit wrong or not, when it still repeats the headers of the first. */
static void check_following_acks(uint32_t count[2])
{
	uint8_t frames[2][FRAME_ACK_BYTES + 64];
	struct wire_frame_template template;
	struct wire_encap encap;
	uint32_t qpn = draw(1 << 24), bits = 8 * (FRAME_ACK_BYTES - FRAME_UDP_AT), bit = draw(2 * bits);
	uint8_t *second = frames[1];
	bool right, follows;

	draw_encap(&encap, false);
	wire_frame_prepare(&template, &encap);
	for (int i = 0; i < 2; i++) {
		struct wire_ack ack = draw_ack(qpn, 0);

		wire_frame_build_ack(&template, &ack, frames[i]);
	}
	if (bit < bits)
		second[FRAME_UDP_AT + bit / 8] ^= (uint8_t)(1u << bit % 8);
	if (!frame_repeats_headers(second, frames[0]) || !frame_repeats_bth(second, frames[0]))
		return;
	right = wire_icrc_frame(second + FRAME_IP_AT, FRAME_ACK_BYTES - FRAME_IP_AT - WIRE_ICRC_BYTES) ==
		load_le32(second + FRAME_ACK_BYTES - WIRE_ICRC_BYTES);
	follows = wire_frame_ack_follows(second, frames[0]);
	cr_assert_eq(follows, right, "bit %u", bit);
	count[follows]++;
}

Test(frame, icrc_of_an_ack_follows_from_the_previous_one)
{
	RULE("W-3");
	start();
	FOR_EACH_IMPL(impl)
	{
		uint32_t count[2] = { 0 };

		for (int i = 0; i < 5000; i++)
			check_following_acks(count);
		cr_assert_gt(count[false], 500);
		cr_assert_gt(count[true], 1000);
	}
}

Test(frame, short_ack_form_equals_the_packet)
{
	uint32_t taken = 0;

	RULE("W-4");
	start();
	for (int i = 0; i < 20000; i++) {
		uint8_t bytes[WIRE_ACK_BYTES + 4] = { 0 };
		struct wire_packet packet, again;
		struct wire_ack ack = draw_ack(draw(1 << 24), draw(2) ? WIRE_MIGREQ : 0), found;
		uint32_t length = WIRE_ACK_BYTES + (draw(16) == 0 ? 4 : 0);
		enum wire_packet_fault fault;

		memcpy(bytes, &ack, sizeof(ack));
		if (draw(2))
			bytes[draw(12)] ^= (uint8_t)(1u << draw(8));
		fault = wire_packet_parse(bytes, length, &packet);
		if (!packet_parse_ack(bytes, length, &found))
			continue;
		taken++;
		cr_assert_eq(fault, WIRE_PACKET_OK);
		packet_of_ack(&found, &again);
		cr_assert_eq(packet.opcode, OP_ACKNOWLEDGE);
		cr_assert_eq(again.opcode, OP_ACKNOWLEDGE);
		cr_assert_eq(packet.flags, again.flags);
		cr_assert_eq(packet.flags & ~(WIRE_MIGREQ | WIRE_ACKREQ | WIRE_RESERVED), 0,
			     "such a flag is not usual");
		cr_assert_eq(packet.pad_bytes + packet.payload_bytes, 0);
		cr_assert_eq(packet.psn, ack_psn(&found));
		cr_assert_eq(packet.dest_qpn, ack_dest_qpn(&found));
		cr_assert_eq(packet.pkey, ack_pkey(&found));
		cr_assert_eq((uint32_t)packet.syndrome << 24 | packet.msn, ack_aeth(&found));
	}
	cr_assert_gt(taken, 10000);
	cr_assert_lt(taken, 20000);
}

static bool frame_parse(const uint8_t *frame, uint32_t bytes, bool check_checksums, struct wire_frame_origin *origin,
			struct wire_packet *packet)
{
	return frame_parse_headers(frame, bytes, check_checksums, origin) &&
	       frame_parse_packet(frame, origin->ip_bytes, packet);
}

/* true: it was taken by its masks. Whatever those take the parsers take, with the same values. */
static bool check_parse(const uint8_t *frame, uint32_t bytes, bool check_checksums)
{
	uint8_t *exact = malloc(bytes + !bytes);
	struct wire_frame_origin origin;
	struct wire_packet fast = { 0 }, plain = { 0 };
	struct wire_encap encap;
	bool taken;

	memcpy(exact, frame, bytes); /* the sanitizer sees a read behind it */
	taken = frame_parse(exact, bytes, check_checksums, &origin, &fast);
	if (taken) {
		cr_assert_eq(wire_encap_parse(exact, bytes, check_checksums, &encap), WIRE_FRAME_ROCE);
		cr_assert_eq(wire_packet_parse(exact + encap.bth_offset, encap.bth_bytes, &plain), WIRE_PACKET_OK);
		cr_assert_arr_eq(&fast, &plain, sizeof(fast));
		cr_assert_neq(origin.ipv4, 0);
		cr_assert_eq((uint32_t)origin.ipv4, load_le32(encap.source + 12));
		cr_assert_eq(origin.ipv4 >> 32, load_le32(encap.dest + 12));
		cr_assert_eq(origin.ip, exact + encap.ip_offset);
		cr_assert_eq(origin.ip_bytes + WIRE_ICRC_BYTES,
			     (uint32_t)(encap.bth_offset - encap.ip_offset) + encap.bth_bytes);
	}
	free(exact);
	return taken;
}

static uint32_t draw_frame(bool ipv6, uint8_t *frame)
{
	static uint8_t data[256];
	struct wire_packet packet;
	struct wire_encap encap;
	uint8_t opcode;

	do {
		opcode = (uint8_t)draw(32);
	} while (wire_opcode(opcode)->kind == WIRE_KIND_RESERVED);
	draw_bytes(data, sizeof(data));
	draw_encap(&encap, ipv6);
	draw_packet(&packet, opcode, data, draw(sizeof(data) + 1));
	return build_plainly(&encap, &packet, data, frame);
}

Test(frame, fast_parser_accepts_every_plain_frame)
{
	uint8_t frame[512 + 64];

	RULE("W-5");
	start();
	for (int i = 0; i < 2000; i++) {
		uint32_t bytes = draw_frame(false, frame);

		cr_assert(check_parse(frame, bytes, true));
		cr_assert(check_parse(frame, bytes + draw(64), true), "with padding of Ethernet behind it");
		cr_assert(check_parse(frame, bytes, false));
		bytes = draw_frame(true, frame);
		cr_assert_not(check_parse(frame, bytes, true), "IPv6 is for the parsers");
	}
}

/* A byte of the headers changed, a frame cut short: if it is still taken, then rightly. */
Test(frame, fast_parser_accepts_only_frames_the_full_parser_accepts)
{
	uint32_t taken = 0, refused = 0;
	uint8_t frame[512];

	RULE("W-4");
	RULE("W-5");
	start();
	for (int i = 0; i < 100000; i++) {
		uint32_t bytes = draw_frame(false, frame), changes = 1 + draw(2);

		for (uint32_t change = 0; change < changes; change++)
			frame[draw(72) % bytes] ^= (uint8_t)(1u << draw(8));
		if (draw(4) == 0)
			bytes = draw(bytes + 1);
		if (check_parse(frame, bytes, draw(2)))
			taken++;
		else
			refused++;
	}
	cr_assert_gt(taken, 1000);
	cr_assert_gt(refused, 1000);
}

/* Parsed as far as it does not repeat `before`, whose values are in *origin and *packet. false: nothing of it does. */
static bool parse_what_is_new(const uint8_t *frame, const uint8_t *before, const struct wire_frame_origin *origin,
			      struct wire_packet *packet, bool *taken)
{
	*taken = true;
	if (!frame_repeats_headers(frame, before))
		return false;
	if (frame_repeats_bth(frame, before)) {
		frame_parse_next(frame, before, packet);
	} else {
		memset(packet, 0, sizeof(*packet));
		*taken = frame_parse_packet(frame, origin->ip_bytes, packet);
	}
	return true;
}

/* A frame that repeats headers of the previous one parses as if it were single. */
Test(frame, repeated_headers_parse_like_a_single_frame)
{
	uint32_t repeats = 0, others = 0, refused = 0;
	uint8_t frame[512];

	RULE("W-5");
	start();
	for (int i = 0; i < 50000; i++) {
		uint32_t bytes = draw_frame(false, frame), at = draw(4) ? 42 + draw(bytes - 42) : draw(bytes);
		uint8_t *before = malloc(bytes), *next = malloc(bytes);
		struct wire_packet packet = { 0 }, alone = { 0 };
		struct wire_frame_origin origin, origin_alone;
		bool taken;

		memcpy(before, frame, bytes);
		cr_assert(frame_parse(before, bytes, true, &origin, &packet));
		frame[at] ^= (uint8_t)(1u + draw(255));
		memcpy(next, frame, bytes);
		cr_assert_eq(frame_repeats_headers(next, before), at < 12 || at == 34 || at == 35 || at >= 42,
			     "byte %u", at);
		cr_assert_eq(frame_repeats_port(next, before), at != 34 && at != 35, "byte %u", at);
		cr_assert_eq(frame_repeats_bth(next, before), at < 42 || at >= 50, "byte %u", at);
		if (parse_what_is_new(next, before, &origin, &packet, &taken)) {
			cr_assert_eq(frame_parse(next, bytes, true, &origin_alone, &alone), taken, "byte %u", at);
			if (taken) {
				cr_assert_arr_eq(&packet, &alone, sizeof(packet), "byte %u", at);
				cr_assert_eq(origin.ipv4, origin_alone.ipv4);
				cr_assert_eq(origin.ip_bytes, origin_alone.ip_bytes);
			}
			repeats++;
			refused += !taken;
		} else {
			others++;
		}
		free(before);
		free(next);
	}
	cr_assert_gt(repeats, 1000);
	cr_assert_gt(others, 1000);
	cr_assert_gt(refused, 100);
}

/* Each property that makes a frame foreign or not plain. */
Test(frame, fast_parser_refuses_other_frames)
{
	static const struct {
		const char *what;
		uint8_t at, value;
	} rows[] = {
		{ "another EtherType", 12, 0x81 },
		{ "IPv6", 14, 0x60 },
		{ "options", 14, 0x46 },
		{ "a length beyond the frame", 16, 0x7F },
		{ "more fragments", 20, 0x20 },
		{ "a fragment's offset", 21, 0x01 },
		{ "a TTL of 0", 22, 0 },
		{ "TCP", 23, 6 },
		{ "a loopback source", 26, 127 },
		{ "a multicast source", 26, 0xE0 },
		{ "a broadcast source", 26, 0xFF },
		{ "another port", 37, 0xB8 },
		{ "a UDP length too large", 38, 0x7F },
		{ "a UDP checksum", 40, 1 },
		{ "another BTH version", 43, 0x01 },
	};
	uint8_t frame[512];

	RULE("W-1");
	RULE("W-5");
	start();
	for (uint32_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
		uint32_t bytes = draw_frame(false, frame);

		cr_assert(check_parse(frame, bytes, false));
		frame[rows[row].at] = rows[row].value;
		cr_assert_not(check_parse(frame, bytes, false), "%s", rows[row].what);
	}
	for (int i = 0; i < 1000; i++) {
		uint32_t bytes = draw_frame(false, frame);

		frame[14 + draw(20)] ^= (uint8_t)(1u << draw(8));
		cr_assert_not(check_parse(frame, bytes, true), "any wrong bit is a wrong checksum");
	}
}
