/* print.h - a packet as one line of text: for traces, tests and uroce-decode */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WIRE_PRINT_H
#define WIRE_PRINT_H

#include <stddef.h>

#include "wire/encap.h"
#include "wire/packet.h"

/* No packet and no encapsulation is longer than this as text. */
#define WIRE_PRINT_MAX_BYTES 256u

/* Text that grows in a buffer until the buffer is full: { out, its bytes, 0 }. */
struct wire_line {
	char *out;
	size_t bytes;
	size_t used;
};

__attribute__((format(printf, 2, 3))) void wire_print_append(struct wire_line *line, const char *format, ...);
/* "10.9.0.2", "fe80::1"; empty if out_bytes are too few; returns out. */
char *wire_print_format_addr(const uint8_t addr[16], char *out, size_t out_bytes);
/* The same at the end of a line. */
void wire_print_addr(struct wire_line *line, const uint8_t addr[16]);

/*
 * "WRITE_FIRST qp=0x000012 psn=5 ackreq va=0x1000 rkey=0x00000102 len=3000 bytes=1024"
 * "ACK qp=0x000011 psn=5 credit=31 msn=2", "NAK_SEQUENCE qp=.. psn=.. msn=..",
 * "RNR_NAK qp=.. psn=.. timer=12 msn=..", "SYNDROME_RESERVED qp=.. psn=.. syndrome=0x40 msn=.."
 * "RESERVED qp=.. psn=.. opcode=0x15 bytes=.."
 * Names of NAKs: NAK_SEQUENCE, NAK_INVALID_REQUEST, NAK_REMOTE_ACCESS, NAK_REMOTE_OPERATIONAL, NAK_INVALID_RD,
 * NAK_RESERVED (with its syndrome). Flags, each only when set: solicited migreq ackreq fecn becn. Responses with data
 * show credit= or syndrome=. bytes= is there for opcodes that may carry payload, and if any other opcode carries some;
 * pad= is there only if the pad has not the length that the payload needs. The text is cut to out_bytes (> 0) and
 * always ends with NUL; returns out.
 */
char *wire_print_packet(const struct wire_packet *packet, char *out, size_t out_bytes);

/* "10.9.0.2 > 10.9.0.3" or with a tag "10.9.0.2 > 10.9.0.3 vlan=5" (the VID); returns out. */
char *wire_print_encap(const struct wire_encap *encap, char *out, size_t out_bytes);

/* The name of an acknowledge by its syndrome: "ACK", "RNR_NAK", "NAK_SEQUENCE", ... */
const char *wire_print_syndrome(uint8_t syndrome);

/* The name of a frame kind or fault: "ip_header", "truncated", ... */
const char *wire_print_frame(enum wire_frame frame);

#endif
