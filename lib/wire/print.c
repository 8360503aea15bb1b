/* print.c - a packet as one line of text */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/print.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "wire/syndrome.h"

void wire_print_append(struct wire_line *line, const char *format, ...)
{
	va_list args;
	int wanted;

	va_start(args, format);
	wanted = vsnprintf(line->out + line->used, line->bytes - line->used, format, args);
	va_end(args);
	if (wanted < 0)
		return;
	line->used += (size_t)wanted;
	if (line->used > line->bytes - 1)
		line->used = line->bytes - 1;
}

const char *wire_print_syndrome(uint8_t syndrome)
{
	static const char *const naks[32] = {
		[NAK_PSN_SEQUENCE] = "NAK_SEQUENCE",
		[NAK_INVALID_REQUEST] = "NAK_INVALID_REQUEST",
		[NAK_REMOTE_ACCESS] = "NAK_REMOTE_ACCESS",
		[NAK_REMOTE_OPERATIONAL] = "NAK_REMOTE_OPERATIONAL",
		[4] = "NAK_INVALID_RD", /* a NAK of Reliable Datagram, which RC never sends */
	};

	switch (syndrome_class(syndrome)) {
	case SYNDROME_ACK:
		return "ACK";
	case SYNDROME_RNR_NAK:
		return "RNR_NAK";
	case SYNDROME_NAK:
		return naks[syndrome_value(syndrome)] ? naks[syndrome_value(syndrome)] : "NAK_RESERVED";
	default:
		return "SYNDROME_RESERVED";
	}
}

static void append_flags(struct wire_line *line, uint32_t flags)
{
	if (flags & WIRE_SOLICITED)
		wire_print_append(line, " solicited");
	if (flags & WIRE_MIGREQ)
		wire_print_append(line, " migreq");
	if (flags & WIRE_ACKREQ)
		wire_print_append(line, " ackreq");
	if (flags & WIRE_FECN)
		wire_print_append(line, " fecn");
	if (flags & WIRE_BECN)
		wire_print_append(line, " becn");
}

/* named: the packet has a name, which has already told the syndrome. */
static void append_aeth(struct wire_line *line, const struct wire_packet *packet, bool named)
{
	uint32_t low = syndrome_value(packet->syndrome);

	if (syndrome_class(packet->syndrome) == SYNDROME_ACK)
		wire_print_append(line, " credit=%" PRIu32, low);
	else if (named && syndrome_class(packet->syndrome) == SYNDROME_RNR_NAK)
		wire_print_append(line, " timer=%" PRIu32, low);
	else if (!named || syndrome_class(packet->syndrome) != SYNDROME_NAK || low > 4)
		wire_print_append(line, " syndrome=0x%02x", packet->syndrome);
	wire_print_append(line, " msn=%" PRIu32, packet->msn);
}

/*
 * Adds the words for an extension header whose fields have no words of their own, because the words depend on the
 * packet. The header is named by the key of its last field.
 */
static void append_words(struct wire_line *line, const struct wire_opcode_row *row, const struct wire_packet *packet,
			 const char *key)
{
	if (strcmp(key, "msn") == 0)
		append_aeth(line, packet, row->kind == WIRE_KIND_ACKNOWLEDGE);
	else if (strcmp(key, "compare") == 0 && packet->opcode == OP_COMPARE_SWAP)
		wire_print_append(line, " compare=0x%" PRIx64 " swap=0x%" PRIx64, packet->compare, packet->swap_add);
	else if (strcmp(key, "ack_psn_offset") == 0 && (packet->control_kind & WIRE_SACK_OF_PROBE))
		wire_print_append(line, " probe=%u", packet->probe_id);
	else if (strcmp(key, "ack_psn_offset") == 0)
		wire_print_append(line, " ack=%+d", (int16_t)packet->ack_psn_offset);
	else if (strcmp(key, "sack_bitmap") == 0)
		wire_print_append(line, " map=%+d:0x%016" PRIx64, (int16_t)packet->sack_offset, packet->sack_bitmap);
	else if (strcmp(key, "compare") == 0)
		wire_print_append(line, " add=0x%" PRIx64, packet->swap_add);
}

static void append_field(struct wire_line *line, const char *word, uint64_t value, int digits)
{
	if (digits > 0)
		wire_print_append(line, " %s=0x%0*" PRIx64, word, digits, value);
	else
		wire_print_append(line, " %s=%" PRIu64, word, value);
}

static void append_extensions(struct wire_line *line, const struct wire_opcode_row *row,
			      const struct wire_packet *packet)
{
	/* clang-format off */
#define HEADER(flag, BYTES, bytes) if (row->flag) {
#define FIELD(bits, member, key, word, digits) \
	if (word[0]) \
		append_field(line, word, packet->member, digits); \
	else \
		append_words(line, row, packet, key);
#define HEADER_END }
#include "wire/opcodes.def"
	/* clang-format on */
}

char *wire_print_packet(const struct wire_packet *packet, char *out, size_t out_bytes)
{
	const struct wire_opcode_row *row = wire_opcode(packet->opcode);
	struct wire_line line = { out, out_bytes, 0 };

	wire_print_append(&line, "%s qp=0x%06" PRIx32 " psn=%" PRIu32,
			  row->kind == WIRE_KIND_ACKNOWLEDGE ? wire_print_syndrome(packet->syndrome) : row->name,
			  packet->dest_qpn, packet->psn);
	append_flags(&line, packet->flags);
	append_extensions(&line, row, packet);
	if (row->kind == WIRE_KIND_RESERVED)
		wire_print_append(&line, " opcode=0x%02x", packet->opcode);
	if (row->payload || row->kind == WIRE_KIND_RESERVED || packet->payload_bytes != 0)
		wire_print_append(&line, " bytes=%" PRIu32, packet->payload_bytes);
	if (packet->pad_bytes != packet_pad_bytes(packet->payload_bytes))
		wire_print_append(&line, " pad=%u", packet->pad_bytes);
	return out;
}

char *wire_print_format_addr(const uint8_t addr[16], char *out, size_t out_bytes)
{
	bool ipv4 = encap_addr_is_ipv4(addr);

	if (inet_ntop(ipv4 ? AF_INET : AF_INET6, ipv4 ? addr + 12 : addr, out, (socklen_t)out_bytes) == NULL &&
	    out_bytes > 0)
		out[0] = '\0';
	return out;
}

void wire_print_addr(struct wire_line *line, const uint8_t addr[16])
{
	char text[INET6_ADDRSTRLEN];

	wire_print_append(line, "%s", wire_print_format_addr(addr, text, sizeof(text)));
}

char *wire_print_encap(const struct wire_encap *encap, char *out, size_t out_bytes)
{
	struct wire_line line = { out, out_bytes, 0 };

	wire_print_addr(&line, encap->source);
	wire_print_append(&line, " > ");
	wire_print_addr(&line, encap->dest);
	if (encap->vlan)
		wire_print_append(&line, " vlan=%u", encap->vlan_tci & 0xFFFu);
	return out;
}

const char *wire_print_frame(enum wire_frame frame)
{
	switch (frame) {
	case WIRE_FRAME_ROCE:
		return "roce";
	case WIRE_FRAME_ARP:
		return "arp";
	case WIRE_FRAME_ICMP:
		return "icmp";
	case WIRE_FRAME_ICMP6:
		return "icmp6";
	case WIRE_FRAME_OTHER:
		return "other";
	case WIRE_FRAME_FRAGMENT:
		return "fragment";
	case WIRE_FRAME_IP_HEADER:
		return "ip_header";
	case WIRE_FRAME_UDP_CHECKSUM:
		return "udp_checksum";
	case WIRE_FRAME_TRUNCATED:
		return "truncated";
	}
	return "unknown";
}
