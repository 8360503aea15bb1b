/* frame.c - writes whole frames from the template of a path and the headers of a packet */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/frame.h"

#include <string.h>

#include "wire/bytes.h"
#include "wire/hints.h"
#include "wire/icrc.h"
#include "wire/icrc_copy.h"

#define EXTENSION_BYTES 4u
#define IPV6_LENGTH_OFFSET 4
#define IPV4_LENGTH_OFFSET 2
#define IPV4_CHECKSUM_OFFSET 10
#define UDP_LENGTH_OFFSET 4

/* ---- templates ---- */

/* Fills the fields that routers change with ones: see icrc.h. */
static void prepare_pseudo(struct wire_frame_template *frame)
{
	uint8_t *ip = frame->pseudo + FRAME_PSEUDO_IP_AT, *udp = ip + WIRE_IPV4_BYTES;

	memset(ip - 4, 0xFF, 4);
	memcpy(ip, frame->bytes + frame->ip_offset, WIRE_IPV4_BYTES + WIRE_UDP_BYTES);
	ip[1] = ip[8] = ip[10] = ip[11] = 0xFF;
	udp[6] = udp[7] = 0xFF;
}

void wire_frame_prepare(struct wire_frame_template *frame, const struct wire_encap *encap)
{
	struct wire_encap copy = *encap;
	uint8_t *ip;

	memset(frame, 0, sizeof(*frame));
	wire_encap_build(&copy, 0, frame->bytes);
	frame->ip_offset = (uint8_t)copy.ip_offset;
	frame->bth_offset = (uint8_t)copy.bth_offset;
	frame->ipv6 = copy.ipv6;
	ip = frame->bytes + frame->ip_offset;
	store_be16(frame->bytes + frame->bth_offset - WIRE_UDP_BYTES + UDP_LENGTH_OFFSET, 0);
	if (copy.ipv6) {
		store_be16(ip + IPV6_LENGTH_OFFSET, 0);
		return;
	}
	store_be16(ip + IPV4_LENGTH_OFFSET, 0);
	store_be16(ip + IPV4_CHECKSUM_OFFSET, 0);
	frame->ip_sum = wire_encap_sum(0, ip, WIRE_IPV4_BYTES);
	frame->has_pseudo = frame->bth_offset == FRAME_BTH_AT;
	prepare_pseudo(frame);
}

/* ---- any frame ---- */

static inline uint16_t ipv4_checksum(const struct wire_frame_template *frame, uint32_t length)
{
	uint32_t sum = frame->ip_sum + length;

	return 0xFFFF ^ (uint16_t)((sum & 0xFFFF) + (sum >> 16));
}

static void store_lengths(const struct wire_frame_template *frame, uint32_t bth_bytes, uint8_t *out)
{
	uint8_t *ip = out + frame->ip_offset;
	uint32_t udp_bytes = bth_bytes + WIRE_UDP_BYTES;

	store_be16(out + frame->bth_offset - WIRE_UDP_BYTES + UDP_LENGTH_OFFSET, (uint16_t)udp_bytes);
	if (frame->ipv6) {
		store_be16(ip + IPV6_LENGTH_OFFSET, (uint16_t)udp_bytes);
	} else {
		store_be16(ip + IPV4_LENGTH_OFFSET, (uint16_t)(udp_bytes + WIRE_IPV4_BYTES));
		store_be16(ip + IPV4_CHECKSUM_OFFSET, ipv4_checksum(frame, udp_bytes + WIRE_IPV4_BYTES));
	}
}

NOINLINE uint32_t pad_frame(uint8_t *out, uint32_t bytes, uint32_t pad_bytes, uint32_t crc)
{
	memset(out + bytes, 0, 3);
	store_le32(out + bytes + pad_bytes, wire_icrc_continue(crc, out + bytes, pad_bytes));
	return bytes + pad_bytes + WIRE_ICRC_BYTES;
}

/* Writes the pad behind the bytes that the frame has so far, then the ICRC. Returns the frame's bytes. */
static inline uint32_t end_frame(uint8_t *out, uint32_t bytes, uint32_t pad_bytes, uint32_t crc)
{
	if (pad_bytes)
		return pad_frame(out, bytes, pad_bytes, crc);
	store_le32(out + bytes, crc);
	return bytes + WIRE_ICRC_BYTES;
}

static uint32_t write_pieces(const struct wire_frame_template *frame, const void *headers, uint32_t headers_bytes,
			     const struct wire_span *pieces, uint32_t count, uint32_t bytes, uint32_t pad_bytes,
			     uint8_t *out)
{
	uint8_t *ip = out + frame->ip_offset, *bth = out + frame->bth_offset, *at = bth + headers_bytes;
	uint32_t crc;

	memcpy(out, frame->bytes, sizeof(frame->bytes));
	store_lengths(frame, headers_bytes + bytes + pad_bytes + WIRE_ICRC_BYTES, out);
	memcpy(bth, headers, headers_bytes);
	bth[1] |= (uint8_t)(pad_bytes << (BTH_PAD_AT - 8));
	crc = wire_icrc_copy_frame(ip, (uint32_t)(at - ip), at, pieces[0].base, pieces[0].bytes);
	at += pieces[0].bytes;
	for (uint32_t i = 1; i < count; i++) {
		crc = wire_icrc_copy(crc, at, pieces[i].base, pieces[i].bytes);
		at += pieces[i].bytes;
	}
	return end_frame(out, (uint32_t)(at - out), pad_bytes, crc);
}

uint32_t wire_frame_write_pieces(const struct wire_frame_template *frame, const struct wire_headers *headers,
				 const struct wire_span *pieces, uint32_t count, uint8_t *out)
{
	uint8_t stored[WIRE_BTH_BYTES + WIRE_RETH_BYTES + EXTENSION_BYTES];
	uint32_t extension = (uint32_t)(headers->bth_end >> 32), headers_bytes = WIRE_BTH_BYTES, bytes = 0;

	for (uint32_t i = 0; i < count; i++)
		bytes += (uint32_t)pieces[i].bytes;
	memcpy(stored, &headers->begin, 8);
	memcpy(stored + 8, &headers->bth_end, 4);
	if (headers->extensions & FRAME_RETH) {
		memcpy(stored + headers_bytes, &headers->va, 8);
		memcpy(stored + headers_bytes + 8, &headers->key_and_length, 8);
		headers_bytes += WIRE_RETH_BYTES;
	}
	if (headers->extensions & FRAME_4_BYTES) {
		memcpy(stored + headers_bytes, &extension, EXTENSION_BYTES);
		headers_bytes += EXTENSION_BYTES;
	}
	return write_pieces(frame, stored, headers_bytes, pieces, count, bytes, packet_pad_bytes(bytes), out);
}

uint32_t wire_frame_build(const struct wire_frame_template *frame, const struct wire_packet *packet, uint8_t *out)
{
	const struct wire_span one = { .base = packet->payload, .bytes = packet->payload_bytes };
	uint8_t headers[WIRE_HEADERS_MAX_BYTES];
	uint32_t headers_bytes = wire_packet_build(packet, headers);

	return write_pieces(frame, headers, headers_bytes, &one, 1, packet->payload_bytes, packet->pad_bytes, out);
}

NOINLINE uint32_t write_any(const struct wire_frame_template *frame, uint64_t begin, uint64_t bth_end,
			    const uint8_t *payload, uint32_t bytes, uint8_t *out, uint64_t va, uint64_t key_and_length,
			    uint32_t extensions)
{
	const struct wire_span one = { .base = payload, .bytes = bytes };
	const struct wire_headers headers = { begin, bth_end, va, key_and_length, extensions };

	return wire_frame_write_pieces(frame, &headers, &one, 1, out);
}

/* Defines the writer of frames with these extension headers. The function that it calls can write all of them. */
#define WRITER(instructions, name, extensions)                                                                     \
	instructions static uint32_t name##_##extensions(const struct wire_frame_template *frame, uint64_t begin,  \
							 uint64_t bth_end, const uint8_t *payload, uint32_t bytes, \
							 uint8_t *out, uint64_t va, uint64_t key_and_length)       \
	{                                                                                                          \
		return write_##name(frame, begin, bth_end, payload, bytes, out, va, key_and_length, extensions);   \
	}

#define WRITERS(instructions, name) \
	WRITER(instructions, name, 0) WRITER(instructions, name, 1) WRITER(instructions, name, 2)

WRITERS(, any)
WRITER(, any, 3)

/* ---- ACKs ---- */

#ifdef __x86_64__

#include "wire/crc32_clmul.h"

TARGET_128 static uint32_t crc_of_8_128(uint64_t data)
{
	return ~remainder_of(_mm_cvtsi64_si128((int64_t)data));
}

#endif

/* Returns the change of a message's CRC if the message ends with these 8 bytes instead of zeros. */
static inline uint32_t crc_of_8(uint64_t data)
{
#ifdef __x86_64__
	if (wire_icrc_chosen() != WIRE_ICRC_ISAL)
		return crc_of_8_128(data);
#endif
	return ~wire_icrc_continue(UINT32_MAX, &data, sizeof(data));
}

bool wire_frame_ack_follows(const uint8_t *frame, const uint8_t *before)
{
	uint64_t a = frame_load(frame + FRAME_BTH_AT + 8), b = frame_load(before + FRAME_BTH_AT + 8);
	uint32_t icrc = FRAME_ACK_BYTES - WIRE_ICRC_BYTES;

	/* the ICRC covers the source port, too; a CRC is linear, so the ICRCs differ by the CRC of the difference */
	return frame_load(frame + FRAME_UDP_AT) == frame_load(before + FRAME_UDP_AT) &&
	       (load_le32(frame + icrc) ^ load_le32(before + icrc)) == crc_of_8(a ^ b);
}

static uint32_t build_new_ack(struct wire_frame_template *frame, const struct wire_ack *ack, uint8_t *out)
{
	const uint64_t none = 0;
	uint32_t frame_bytes = any_1(frame, ack->begin, ack->bth_end, NULL, 0, out, 0, 0);
	uint8_t *icrc;

	if (!frame->has_pseudo)
		return frame_bytes;
	memcpy(frame->ack, out, FRAME_ACK_BYTES);
	memcpy(frame->ack + FRAME_BTH_AT + sizeof(ack->begin), &none, sizeof(none));
	icrc = frame->ack + FRAME_ACK_BYTES - WIRE_ICRC_BYTES;
	store_le32(icrc, load_le32(icrc) ^ crc_of_8(ack->bth_end)); /* uses that a CRC is linear */
	return frame_bytes;
}

uint32_t wire_frame_build_ack(struct wire_frame_template *frame, const struct wire_ack *ack, uint8_t *out)
{
	const uint8_t *icrc = frame->ack + FRAME_ACK_BYTES - WIRE_ICRC_BYTES;

	if (frame_load(frame->ack + FRAME_BTH_AT) != ack->begin)
		return build_new_ack(frame, ack, out);
	memcpy(out, frame->ack, FRAME_ACK_ROOM_BYTES);
	memcpy(out + FRAME_BTH_AT + sizeof(ack->begin), &ack->bth_end, sizeof(ack->bth_end));
	store_le32(out + FRAME_ACK_BYTES - WIRE_ICRC_BYTES, load_le32(icrc) ^ crc_of_8(ack->bth_end));
	return FRAME_ACK_BYTES;
}

#ifdef __x86_64__

/* ---- IPv4 frames with 0, 4 or 16 bytes of extension headers and payload in one piece ---- */

/*
 * A load of header bytes for the CRC right after these were stored in smaller pieces has to wait for the stores. So the
 * bytes that differ between the frames of a path are kept in registers, are stored into the frame, and are added to the
 * path's 64-byte pseudo header for the CRC. words[i] are bytes 8 i to 8 i + 7 of the pseudo header.
 */
struct varying {
	uint64_t words[8];
};

/*
 * Writes the headers, and sets *varying to the bytes that the template lacks. extension_bytes is a constant in each
 * use.
 */
INLINE void store_headers(const struct wire_frame_template *frame, uint64_t begin, uint64_t bth_end, uint64_t va,
			  uint64_t key_and_length, uint32_t extension_bytes, uint32_t bytes, uint8_t *out,
			  struct varying *varying)
{
	uint32_t pad_bytes = packet_pad_bytes(bytes);
	uint32_t udp_bytes = WIRE_UDP_BYTES + WIRE_BTH_BYTES + extension_bytes + bytes + pad_bytes + WIRE_ICRC_BYTES;
	uint32_t ip_bytes = udp_bytes + WIRE_IPV4_BYTES;
	uint64_t ip_length = __builtin_bswap16((uint16_t)ip_bytes);
	uint64_t udp_length = __builtin_bswap16((uint16_t)udp_bytes), bth = begin | (uint64_t)pad_bytes << BTH_PAD_AT;
	uint64_t seen = bth | 0xFFull << 32; /* with ones for BTH byte 4 */
	uint8_t *at = out + FRAME_BTH_AT;

	memcpy(out, frame->bytes, 48);
	store_be16(out + FRAME_IP_AT + IPV4_LENGTH_OFFSET, (uint16_t)ip_bytes);
	store_be16(out + FRAME_IP_AT + IPV4_CHECKSUM_OFFSET, ipv4_checksum(frame, ip_bytes));
	store_be16(out + FRAME_UDP_AT + UDP_LENGTH_OFFSET, (uint16_t)udp_bytes);
	memcpy(at, &bth, 8);
	memcpy(at + 8, &bth_end, extension_bytes == 4 ? 8 : 4);
	if (extension_bytes == 0) { /* the IP header begins at byte 24 of the pseudo header */
		*varying = (struct varying){ { 0, 0, 0, ip_length << 16, 0, 0, udp_length | seen << 32,
					       seen >> 32 | bth_end << 32 } };
	} else if (extension_bytes == 4) { /* here at byte 20 */
		*varying = (struct varying){ { 0, 0, ip_length << 48, 0, 0, udp_length << 32, seen, bth_end } };
	} else { /* here at byte 8 */
		memcpy(at + 12, &va, 8);
		memcpy(at + 20, &key_and_length, 8);
		*varying = (struct varying){ { 0, ip_length << 16, 0, 0, udp_length | seen << 32,
					       seen >> 32 | bth_end << 32, va, key_and_length } };
	}
}

/* Defines a writer for CPUs with these instructions; the set of extension headers is a constant in it. */
#define WRITE(instructions, name, icrc)                                                                               \
	instructions INLINE uint32_t write_##name(const struct wire_frame_template *frame, uint64_t begin,            \
						  uint64_t bth_end, const uint8_t *payload, uint32_t bytes,           \
						  uint8_t *out, uint64_t va, uint64_t key_and_length,                 \
						  uint32_t extensions)                                                \
	{                                                                                                             \
		uint32_t extension_bytes = extensions == FRAME_RETH ? WIRE_RETH_BYTES : extensions * EXTENSION_BYTES; \
		uint8_t *at = out + FRAME_BTH_AT + WIRE_BTH_BYTES + extension_bytes;                                  \
		struct varying v;                                                                                     \
		if (__builtin_expect(!frame->has_pseudo, 0))                                                          \
			return write_any(frame, begin, bth_end, payload, bytes, out, va, key_and_length, extensions); \
		store_headers(frame, begin, bth_end, va, key_and_length, extension_bytes, bytes, out, &v);            \
		return end_frame(out, (uint32_t)(at - out) + bytes, packet_pad_bytes(bytes),                          \
				 icrc(frame->pseudo + extension_bytes, &v, at, payload, bytes));                      \
	}                                                                                                             \
	WRITERS(instructions, name)

TARGET_128 INLINE uint32_t icrc_128(const uint8_t *pseudo, const struct varying *v, uint8_t *at, const uint8_t *payload,
				    uint32_t bytes)
{
#define LANE(i)                                   \
	_mm_xor_si128(load_16(pseudo + 16 * (i)), \
		      _mm_set_epi64x((int64_t)v->words[2 * (i) + 1], (int64_t)v->words[2 * (i)]))
	return go_on_128(LANE(0), LANE(1), LANE(2), LANE(3), at, payload, bytes, true);
#undef LANE
}

WRITE(TARGET_128, pclmul, icrc_128)

TARGET_256 INLINE uint32_t icrc_256(const uint8_t *pseudo, const struct varying *v, uint8_t *at, const uint8_t *payload,
				    uint32_t bytes)
{
#define HALF(i)                                                                                            \
	_mm256_xor_si256(load_32(pseudo + 32 * (i)),                                                       \
			 _mm256_set_epi64x((int64_t)v->words[4 * (i) + 3], (int64_t)v->words[4 * (i) + 2], \
					   (int64_t)v->words[4 * (i) + 1], (int64_t)v->words[4 * (i)]))
	return go_on_256(HALF(0), HALF(1), at, payload, bytes, true);
#undef HALF
}

WRITE(TARGET_256, vpclmul256, icrc_256)

TARGET_512 INLINE uint32_t icrc_512(const uint8_t *pseudo, const struct varying *v, uint8_t *at, const uint8_t *payload,
				    uint32_t bytes)
{
	const uint64_t *words = v->words;
	__m512i x = _mm512_set_epi64((int64_t)words[7], (int64_t)words[6], (int64_t)words[5], (int64_t)words[4],
				     (int64_t)words[3], (int64_t)words[2], (int64_t)words[1], (int64_t)words[0]);

	return go_on_512(_mm512_xor_si512(x, _mm512_loadu_si512(pseudo)), at, payload, bytes, true);
}

WRITE(TARGET_512, vpclmul, icrc_512)

#endif

#define ROW(name)                                   \
	{                                           \
		name##_0, name##_1, name##_2, any_3 \
	}

wire_frame_writer *const wire_frame_writers[WIRE_ICRC_IMPLS][FRAME_EXTENSIONS] = {
	[WIRE_ICRC_ISAL] = ROW(any),
#ifdef __x86_64__
	[WIRE_ICRC_PCLMUL] = ROW(pclmul),
	[WIRE_ICRC_VPCLMUL256] = ROW(vpclmul256),
	[WIRE_ICRC_VPCLMUL] = ROW(vpclmul),
#endif
};
