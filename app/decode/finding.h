/* finding.h - what is known of one frame of a capture */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_DECODE_FINDING_H
#define APP_DECODE_FINDING_H

#include <stdbool.h>
#include <stdint.h>

#include "cm/mad.h"
#include "common/capture_file.h"
#include "wire/encap.h"
#include "wire/packet.h"

/* What is known of one RoCE frame. */
struct finding {
	const struct capture_frame *frame;
	struct wire_encap encap;
	struct wire_packet packet;
	const char *fault;   /* NULL, or why it is no good packet */
	const char *service; /* what its opcode's name begins with: "", "UC_" or "XRC_" */
	uint8_t opcode;      /* on the wire; that of the packet is RC's, whose headers the other services share */
	bool has_srq;        /* XRC: a request has the shared receive queue that it is for */
	uint32_t srq;
	bool is_foreign; /* of a service that is not decoded, so that its headers count as payload */
	bool has_packet;
	bool cut;         /* the capture lacks its end, and so the ICRC */
	bool has_headers; /* all of the packet, not only its BTH */
	bool icrc_ok;     /* only with a packet */
	bool rebuilt;     /* compared with what building gives */
	bool differs;
	uint32_t differs_at; /* byte of the frame */
	bool has_mad;        /* a whole datagram to QP 1 */
	enum cm_mad_fault mad_fault;
	struct cm_message message; /* when that is CM_MAD_OK */
};

/*
 * False: not RoCE. A frame to the RoCE port that cannot be read to its end is RoCE with a fault. With check it is also
 * built anew. What the finding points to is there until the next call.
 */
bool decode_finding_examine(const struct capture_frame *frame, bool check, struct finding *finding);

/* A receiver would drop it, or what was built anew differs. */
bool decode_finding_is_bad(const struct finding *finding);

/* "ok", "bad", "unknown". */
const char *decode_finding_icrc(const struct finding *finding);

#endif
