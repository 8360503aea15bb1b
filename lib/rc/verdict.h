/* verdict.h - the table of outcomes: what each judgement of a request brings about */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RC_VERDICT_H
#define RC_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

/* How a request with PSN = ePSN was judged, in the order of S-1. */
enum verdict {
	VERDICT_ACCEPT,
	VERDICT_BAD_SEQUENCE,     /* S-3 */
	VERDICT_UNSUPPORTED,      /* opcode reserved or not supported */
	VERDICT_NOT_ENABLED,      /* the QP does not allow this kind of access */
	VERDICT_BAD_LENGTH,       /* pad or payload length (W-6) */
	VERDICT_UNALIGNED,        /* address of an atomic (S-7) or of an ATOMIC WRITE (S-20) */
	VERDICT_TOO_DEEP,         /* S-12 */
	VERDICT_NO_RECEIVE,       /* */
	VERDICT_SEND_TOO_LONG,    /* S-6 */
	VERDICT_DMA_LENGTH,       /* S-5 */
	VERDICT_ACCESS,           /* key, domain, rights, range (S-4) */
	VERDICT_RECEIVE_UNUSABLE, /* the memory of the receive entry itself may not be used (K-OP) */
	VERDICTS
};

struct verdict_row {
	uint8_t syndrome;       /* syndrome of the NAK */
	uint8_t receive_status; /* enum uroce_wc_status of the receive, if one was in use */
	uint8_t cause;          /* enum uroce_cause; for VERDICT_ACCESS the memory check gives it */
	uint8_t event;          /* enum uroce_event_type that is raised if no receive was in use */
	uint8_t counter;        /* enum rc_counter */
	bool retry;             /* the QP does not fail: it waits for the request to come again */
};

extern const struct verdict_row rc_verdicts[VERDICTS];

#endif
