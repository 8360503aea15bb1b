/* finding.h - the result of parsing one frame of a capture */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_DECODE_FINDING_H
#define APP_DECODE_FINDING_H

#include <stdbool.h>
#include <stdint.h>

#include "cm/mad.h"
#include "common/capture_file.h"
#include "wire/encap.h"
#include "wire/packet.h"

/* The result for a RoCE frame. */
struct finding {
	const struct capture_frame *frame;
	struct wire_encap encap;
	struct wire_packet packet;
	const char *fault;   /* NULL, or what is wrong with the packet */
	const char *service; /* prefix of the opcode's name: "", "UC_" or "XRC_" */
	uint8_t opcode;      /* opcode on the wire; `packet` has RC's opcode, whose headers the other services share */
	bool has_srq;        /* XRC: the request names a shared receive queue */
	uint32_t srq;
	bool is_foreign; /* the packet is of a service that is not decoded; its headers count as payload */
	bool has_packet;
	bool cut;         /* the capture lacks the end, and with it the ICRC */
	bool has_headers; /* all headers were parsed, not only the BTH */
	bool icrc_ok;     /* valid if there is a packet */
	bool rebuilt;     /* the frame was built again and compared */
	bool differs;
	uint32_t differs_at; /* offset of the first byte at which the frame built again differs */
	bool has_mad;        /* it is a whole datagram to QP 1 */
	enum cm_mad_fault mad_fault;
	struct cm_message message; /* valid if that is CM_MAD_OK */
};

/*
 * Parses a frame. Returns false if the frame is not RoCE; a frame to the RoCE port that cannot be parsed to its end is
 * RoCE with a fault. check: also builds the frame again and compares. Pointers in *finding are valid until the next
 * call.
 */
bool decode_finding_examine(const struct capture_frame *frame, bool check, struct finding *finding);

/* Would a receiver drop the frame, or does the built frame differ? */
bool decode_finding_is_bad(const struct finding *finding);

/* "ok", "bad", "unknown". */
const char *decode_finding_icrc(const struct finding *finding);

#endif
