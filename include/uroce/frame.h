/* frame.h - an Ethernet frame of RoCE as values and as a line of text: for tools and post-mortems */
/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads: any thread may call at any time. */
#ifndef UROCE_FRAME_H
#define UROCE_FRAME_H

#include <uroce/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of frames, as one sorts them to find the cause of a failure. */
enum uroce_frame_kind {
	UROCE_FRAME_REQUEST,
	UROCE_FRAME_RESPONSE, /* ACK, READ response, answer of an atomic */
	UROCE_FRAME_NAK,      /* a request is refused for good */
	UROCE_FRAME_SEQUENCE_NAK,
	UROCE_FRAME_RNR_NAK,
	UROCE_FRAME_CONGESTION, /* CNP */
	UROCE_FRAME_DATAGRAM,   /* UD, such as connection management */
	UROCE_FRAME_CONTROL     /* SACK, PROBE */
};

struct uroce_frame_view {
	uint32_t kind; /* enum uroce_frame_kind */
	struct uroce_addr source, dest;
	uint32_t dest_qp_num, psn;
	uint8_t opcode; /* of the BTH */
	bool ack_requested;
	char text[256]; /* "WRITE_ONLY qp=0x000012 psn=5 ackreq va=0x1000 rkey=0x00000102 len=64 bytes=64" */
};

/*
 * Reads a frame of frame_bytes bytes, of which the first kept_bytes are at hand; these have to reach to the end of the
 * transport's headers. Checksums and the ICRC are not checked. Returns 0; -EINVAL: kept_bytes is more than the frame
 * has, or the frame is longer than 64 KiB; -ENOMEM; -EPROTO: it is not RoCE, or its headers are cut or wrong, and *view
 * is undefined.
 */
UROCE_API int uroce_frame_parse(const void *frame, uint32_t kept_bytes, uint32_t frame_bytes,
				struct uroce_frame_view *view);

#ifdef __cplusplus
}
#endif
#endif
