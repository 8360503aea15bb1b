/* print.h - a packet as one line of text: for traces, tests and uroce-decode */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WIRE_PRINT_H
#define WIRE_PRINT_H

#include <stddef.h>

#include "wire/encap.h"
#include "wire/packet.h"

/*
 * "WRITE_FIRST qp=0x000012 psn=5 ackreq va=0x1000 rkey=0x00000102 len=3000 bytes=1024"
 * "ACK qp=0x000011 psn=5 credit=31 msn=2", "NAK_SEQUENCE qp=.. psn=.. msn=..", "RNR_NAK qp=.. psn=.. timer=12 msn=.."
 * Names of NAKs: NAK_SEQUENCE, NAK_INVALID_REQUEST, NAK_REMOTE_ACCESS, NAK_REMOTE_OPERATIONAL, NAK_INVALID_RD, NAK_RESERVED.
 * Always ends with NUL; returns out.
 */
char *wire_print_packet(const struct wire_packet *packet, char *out, size_t out_bytes);

/* "10.9.0.2 > 10.9.0.3" or with vlan: "10.9.0.2 > 10.9.0.3 vlan=5"; returns out. */
char *wire_print_encap(const struct wire_encap *encap, char *out, size_t out_bytes);

#endif
