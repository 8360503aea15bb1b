/* frame.c - the usual frames fast: parsed in one go, and built from a path's template and a packet value */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/frame.h"

#include <string.h>

#include "wire/bytes.h"
#include "wire/icrc.h"
#include "wire/kernel.h"

#define IPV6_LENGTH_OFFSET 4
#define IPV4_LENGTH_OFFSET 2
#define IPV4_CHECKSUM_OFFSET 10
#define UDP_LENGTH_OFFSET 4
#define IMAGE_IP_AT 24u /* in the template's image; four bytes of ones in front */

/* ---- out: templates ---- */

/* Ones for what routers change: see icrc.h. */
static void prepare_image(struct wire_frame_template *frame)
{
	uint8_t *ip = frame->image + IMAGE_IP_AT, *udp = ip + FRAME_IPV4_BYTES;

	memset(ip - 4, 0xFF, 4);
	memcpy(ip, frame->bytes + frame->ip_offset, FRAME_IPV4_BYTES + FRAME_UDP_BYTES);
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
	store_be16(frame->bytes + frame->bth_offset - FRAME_UDP_BYTES + UDP_LENGTH_OFFSET, 0);
	if (copy.ipv6) {
		store_be16(ip + IPV6_LENGTH_OFFSET, 0);
		return;
	}
	store_be16(ip + IPV4_LENGTH_OFFSET, 0);
	store_be16(ip + IPV4_CHECKSUM_OFFSET, 0);
	frame->ip_sum = wire_encap_sum(0, ip, FRAME_IPV4_BYTES);
	frame->has_image = frame->bth_offset == FRAME_BTH_AT;
	prepare_image(frame);
}

/* ---- out: any frame ---- */

static inline uint16_t ipv4_checksum(const struct wire_frame_template *frame, uint32_t length)
{
	uint32_t sum = frame->ip_sum + length;

	return (uint16_t) ~((sum & 0xFFFF) + (sum >> 16));
}

static void store_lengths(const struct wire_frame_template *frame, uint32_t bth_bytes, uint8_t *out)
{
	uint8_t *ip = out + frame->ip_offset;
	uint32_t udp_bytes = bth_bytes + FRAME_UDP_BYTES;

	store_be16(out + frame->bth_offset - FRAME_UDP_BYTES + UDP_LENGTH_OFFSET, (uint16_t)udp_bytes);
	if (frame->ipv6) {
		store_be16(ip + IPV6_LENGTH_OFFSET, (uint16_t)udp_bytes);
	} else {
		store_be16(ip + IPV4_LENGTH_OFFSET, (uint16_t)(udp_bytes + FRAME_IPV4_BYTES));
		store_be16(ip + IPV4_CHECKSUM_OFFSET, ipv4_checksum(frame, udp_bytes + FRAME_IPV4_BYTES));
	}
}

/* The pad behind the payload, then the ICRC. */
static inline void end_frame(uint8_t *at, const struct wire_packet *packet, uint32_t crc)
{
	if (packet->pad_bytes) {
		memset(at, 0, 3);
		crc = wire_icrc_continue(crc, at, packet->pad_bytes);
		at += packet->pad_bytes;
	}
	store_le32(at, crc);
}

static uint32_t build_any(const struct wire_frame_template *frame, const struct wire_packet *packet, uint8_t *out)
{
	const struct wire_span one = { .base = packet->payload, .bytes = packet->payload_bytes };
	const struct wire_span *spans = packet->span_count > 1 ? packet->spans : &one;
	uint32_t count = packet->span_count > 1 ? packet->span_count : 1, crc;
	uint8_t *ip = out + frame->ip_offset, *at = out + frame->bth_offset;

	memcpy(out, frame->bytes, sizeof(frame->bytes));
	store_lengths(frame, packet_bytes(packet), out);
	at += wire_packet_build(packet, at);
	crc = wire_kernel_frame(ip, (uint32_t)(at - ip), at, spans[0].base, spans[0].bytes);
	at += spans[0].bytes;
	for (uint32_t i = 1; i < count; i++) {
		crc = wire_kernel_copy(crc, at, spans[i].base, spans[i].bytes);
		at += spans[i].bytes;
	}
	end_frame(at, packet, crc);
	return frame_bytes(frame, packet);
}

/* ---- out: ACKs ---- */

#ifdef __x86_64__

#include "wire/fold.h"

TARGET_128 static uint32_t crc_of_8_128(uint64_t data)
{
	return ~remainder_of(_mm_cvtsi64_si128((int64_t)data));
}

#endif

/* What these 8 bytes add to the CRC of a message that ends with them. */
static inline uint32_t crc_of_8(uint64_t data)
{
#ifdef __x86_64__
	if (wire_kernel_chosen() != WIRE_KERNEL_ISAL)
		return crc_of_8_128(data);
#endif
	return ~wire_icrc_continue(UINT32_MAX, &data, sizeof(data));
}

bool wire_frame_ack_follows(const uint8_t *frame, const uint8_t *before)
{
	uint64_t a = frame_load(frame + FRAME_BTH_AT + 8), b = frame_load(before + FRAME_BTH_AT + 8);
	uint32_t icrc = FRAME_ACK_BYTES - WIRE_ICRC_BYTES;

	/* the ICRC covers the source port, too; and a CRC is linear */
	return frame_load(frame + FRAME_UDP_AT) == frame_load(before + FRAME_UDP_AT) &&
	       (load_le32(frame + icrc) ^ load_le32(before + icrc)) == crc_of_8(a ^ b);
}

static uint32_t build_new_ack(struct wire_frame_template *frame, const struct wire_ack *ack, uint8_t *out)
{
	const uint64_t none = 0;
	struct wire_packet packet;
	uint32_t frame_bytes;
	uint8_t *icrc;

	packet_of_ack(ack, &packet);
	frame_bytes = wire_frame_build(frame, &packet, out);
	if (!frame->has_image)
		return frame_bytes;
	memcpy(frame->ack, out, FRAME_ACK_BYTES);
	memcpy(frame->ack + FRAME_BTH_AT + sizeof(ack->begin), &none, sizeof(none));
	icrc = frame->ack + FRAME_ACK_BYTES - WIRE_ICRC_BYTES;
	store_le32(icrc, load_le32(icrc) ^ crc_of_8(ack->rest)); /* linear, too */
	return frame_bytes;
}

uint32_t wire_frame_build_ack(struct wire_frame_template *frame, const struct wire_ack *ack, uint8_t *out)
{
	const uint8_t *icrc = frame->ack + FRAME_ACK_BYTES - WIRE_ICRC_BYTES;

	if (frame_load(frame->ack + FRAME_BTH_AT) != ack->begin)
		return build_new_ack(frame, ack, out);
	memcpy(out, frame->ack, FRAME_ACK_ROOM_BYTES);
	memcpy(out + FRAME_BTH_AT + sizeof(ack->begin), &ack->rest, sizeof(ack->rest));
	store_le32(out + FRAME_ACK_BYTES - WIRE_ICRC_BYTES, load_le32(icrc) ^ crc_of_8(ack->rest));
	return FRAME_ACK_BYTES;
}

#ifdef __x86_64__

/* ---- out: IPv4 with 0, 4 or 16 bytes of extension headers, one piece of payload ---- */

/*
 * A CRC that loads headers that have just been stored, some bytes at a time, waits for the stores. So what differs
 * between the frames of a path is kept in registers, stored into the frame, and added to the path's image of 64 bytes
 * for the CRC. words[i] are bytes 8 i to 8 i + 7 of the image.
 */
struct varying {
	uint64_t words[8];
};

/* The extension header of 4 bytes, as it is stored. */
INLINE uint32_t short_extension(const struct wire_opcode_row *row, const struct wire_packet *packet)
{
	uint32_t value = row->aeth ? (uint32_t)packet->syndrome << 24 | packet->msn : packet->imm;

	return __builtin_bswap32(value);
}

/* Writes the headers, and leaves in *varying what is not in the template. extension_bytes is known when compiled. */
INLINE void store_headers(const struct wire_frame_template *frame, const struct wire_packet *packet,
			  uint32_t extension_bytes, uint8_t *out, struct varying *varying)
{
	uint32_t udp_bytes = FRAME_UDP_BYTES + WIRE_BTH_BYTES + extension_bytes + packet->payload_bytes +
			     packet->pad_bytes + WIRE_ICRC_BYTES;
	uint32_t ip_bytes = udp_bytes + FRAME_IPV4_BYTES, bth8 = packet_bth_end(packet);
	uint64_t ip_length = __builtin_bswap16((uint16_t)ip_bytes);
	uint64_t udp_length = __builtin_bswap16((uint16_t)udp_bytes), bth = packet_bth_begin(packet);
	uint64_t seen = bth | 0xFFull << 32; /* BTH byte 4 */
	uint8_t *at = out + FRAME_BTH_AT;

	memcpy(out, frame->bytes, 48);
	store_be16(out + FRAME_IP_AT + IPV4_LENGTH_OFFSET, (uint16_t)ip_bytes);
	store_be16(out + FRAME_IP_AT + IPV4_CHECKSUM_OFFSET, ipv4_checksum(frame, ip_bytes));
	store_be16(out + FRAME_UDP_AT + UDP_LENGTH_OFFSET, (uint16_t)udp_bytes);
	memcpy(at, &bth, 8);
	memcpy(at + 8, &bth8, 4);
	if (extension_bytes == 0) { /* IP begins at byte 24 of the image */
		*varying = (struct varying){ { 0, 0, 0, ip_length << 16, 0, 0, udp_length | seen << 32,
					       seen >> 32 | (uint64_t)bth8 << 32 } };
	} else if (extension_bytes == 4) { /* at 20 */
		uint32_t extension = short_extension(wire_opcode(packet->opcode), packet);

		memcpy(at + 12, &extension, 4);
		*varying = (struct varying){ { 0, 0, ip_length << 48, 0, 0, udp_length << 32, seen,
					       bth8 | (uint64_t)extension << 32 } };
	} else { /* at 8 */
		uint64_t va = __builtin_bswap64(packet->va);
		uint64_t rest = __builtin_bswap64((uint64_t)packet->rkey << 32 | packet->dma_length);

		memcpy(at + 12, &va, 8);
		memcpy(at + 20, &rest, 8);
		*varying = (struct varying){ { 0, ip_length << 16, 0, 0, udp_length | seen << 32,
					       seen >> 32 | (uint64_t)bth8 << 32, va, rest } };
	}
}

TARGET_128 INLINE uint32_t build_128(const struct wire_frame_template *frame, const struct wire_packet *packet,
				     uint32_t extension_bytes, uint8_t *out)
{
	const uint8_t *image = frame->image + extension_bytes;
	uint8_t *at = out + FRAME_BTH_AT + WIRE_BTH_BYTES + extension_bytes;
	struct varying v;

	store_headers(frame, packet, extension_bytes, out, &v);
#define LANE(i)                                  \
	_mm_xor_si128(load_16(image + 16 * (i)), \
		      _mm_set_epi64x((int64_t)v.words[2 * (i) + 1], (int64_t)v.words[2 * (i)]))
	return go_on_128(LANE(0), LANE(1), LANE(2), LANE(3), at, packet->payload, packet->payload_bytes, true);
#undef LANE
}

/* How many bytes of extension headers one of those has; any other frame goes the other way. */
INLINE uint32_t image_extension(const struct wire_frame_template *frame, const struct wire_packet *packet)
{
	const struct wire_opcode_row *row = wire_opcode(packet->opcode);

	if (!frame->has_image || packet->span_count > 1 || (row->extension_bytes == 16 && !row->reth))
		return UINT32_MAX;
	return row->extension_bytes;
}

/* Pad and ICRC; crc covers what is before them. Returns the frame's bytes. */
INLINE uint32_t end_image(const struct wire_packet *packet, uint32_t extension_bytes, uint32_t crc, uint8_t *out)
{
	uint32_t bytes = FRAME_BTH_AT + WIRE_BTH_BYTES + extension_bytes + packet->payload_bytes;

	end_frame(out + bytes, packet, crc);
	return bytes + packet->pad_bytes + WIRE_ICRC_BYTES;
}

/* For a CPU with these instructions; how many bytes of extension headers there are is known when it is compiled. */
#define BUILD(instructions, name, build)                                                                             \
	instructions static uint32_t name(const struct wire_frame_template *frame, const struct wire_packet *packet, \
					  uint8_t *out)                                                              \
	{                                                                                                            \
		switch (image_extension(frame, packet)) {                                                            \
		case 0:                                                                                              \
			return end_image(packet, 0, build(frame, packet, 0, out), out);                              \
		case 4:                                                                                              \
			return end_image(packet, 4, build(frame, packet, 4, out), out);                              \
		case 16:                                                                                             \
			return end_image(packet, 16, build(frame, packet, 16, out), out);                            \
		}                                                                                                    \
		return build_any(frame, packet, out);                                                                \
	}

BUILD(TARGET_128, build_pclmul, build_128)

TARGET_256 INLINE uint32_t build_256(const struct wire_frame_template *frame, const struct wire_packet *packet,
				     uint32_t extension_bytes, uint8_t *out)
{
	const uint8_t *image = frame->image + extension_bytes;
	uint8_t *at = out + FRAME_BTH_AT + WIRE_BTH_BYTES + extension_bytes;
	struct varying v;

	store_headers(frame, packet, extension_bytes, out, &v);
#define HALF(i)                                                                                          \
	_mm256_xor_si256(load_32(image + 32 * (i)),                                                      \
			 _mm256_set_epi64x((int64_t)v.words[4 * (i) + 3], (int64_t)v.words[4 * (i) + 2], \
					   (int64_t)v.words[4 * (i) + 1], (int64_t)v.words[4 * (i)]))
	return go_on_256(HALF(0), HALF(1), at, packet->payload, packet->payload_bytes, true);
#undef HALF
}

BUILD(TARGET_256, build_vpclmul256, build_256)

TARGET_512 INLINE uint32_t build_512(const struct wire_frame_template *frame, const struct wire_packet *packet,
				     uint32_t extension_bytes, uint8_t *out)
{
	uint8_t *at = out + FRAME_BTH_AT + WIRE_BTH_BYTES + extension_bytes;
	struct varying v;
	__m512i image;

	store_headers(frame, packet, extension_bytes, out, &v);
	image = _mm512_set_epi64((int64_t)v.words[7], (int64_t)v.words[6], (int64_t)v.words[5], (int64_t)v.words[4],
				 (int64_t)v.words[3], (int64_t)v.words[2], (int64_t)v.words[1], (int64_t)v.words[0]);
	image = _mm512_xor_si512(image, _mm512_loadu_si512(frame->image + extension_bytes));
	return go_on_512(image, at, packet->payload, packet->payload_bytes, true);
}

BUILD(TARGET_512, build_vpclmul, build_512)

uint32_t wire_frame_build(const struct wire_frame_template *frame, const struct wire_packet *packet, uint8_t *out)
{
	static uint32_t (*const builds[WIRE_KERNELS])(const struct wire_frame_template *, const struct wire_packet *,
						      uint8_t *) = {
		[WIRE_KERNEL_ISAL] = build_any,
		[WIRE_KERNEL_PCLMUL] = build_pclmul,
		[WIRE_KERNEL_VPCLMUL256] = build_vpclmul256,
		[WIRE_KERNEL_VPCLMUL] = build_vpclmul,
	};

	return builds[wire_kernel_chosen()](frame, packet, out);
}

#else

uint32_t wire_frame_build(const struct wire_frame_template *frame, const struct wire_packet *packet, uint8_t *out)
{
	return build_any(frame, packet, out);
}

#endif
