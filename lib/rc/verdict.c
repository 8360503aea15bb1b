/* verdict.c - the table of outcomes (K-INV, K-ACC, K-OP, K-RESP, R-1) */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <uroce/event.h>
#include <uroce/wr.h>

#include "rc/codes.h"
#include "rc/counters.h"
#include "rc/verdict.h"

#define SYNDROME(class, value) ((class) << 5 | (value))

/* The row of an invalid request. */
#define INVALID                                                                                                      \
	{                                                                                                            \
		.syndrome = SYNDROME(SYNDROME_NAK, NAK_INVALID_REQUEST), .receive_status = UROCE_WC_REM_INV_REQ_ERR, \
		.cause = UROCE_CAUSE_INVALID_REQUEST, .event = UROCE_EVENT_QP_REQ_ERR,                               \
		.counter = CNT_RESP_REMOTE_INVALID_REQUEST,                                                          \
	}

const struct verdict_row rc_verdicts[VERDICTS] = {
	[VERDICT_BAD_SEQUENCE] = INVALID,
	[VERDICT_UNSUPPORTED] = INVALID,
	[VERDICT_NOT_ENABLED] = INVALID,
	[VERDICT_BAD_LENGTH] = INVALID,
	[VERDICT_UNALIGNED] = INVALID,
	[VERDICT_TOO_DEEP] = INVALID,
	[VERDICT_DMA_LENGTH] = INVALID,
	[VERDICT_SEND_TOO_LONG] = {
		.syndrome = SYNDROME(SYNDROME_NAK, NAK_INVALID_REQUEST),
		.receive_status = UROCE_WC_LOC_LEN_ERR,
		.cause = UROCE_CAUSE_LENGTH,
		.event = UROCE_EVENT_QP_REQ_ERR,
		.counter = CNT_RESP_LOCAL_LENGTH_ERROR,
	},
	[VERDICT_NO_RECEIVE] = {
		.syndrome = SYNDROME(SYNDROME_RNR_NAK, 0), /* the responder adds the QP's own timer code */
		.counter = CNT_OUT_OF_BUFFER,
		.retry = true,
	},
	[VERDICT_ACCESS] = {
		.syndrome = SYNDROME(SYNDROME_NAK, NAK_REMOTE_ACCESS),
		.receive_status = UROCE_WC_REM_ACCESS_ERR,
		.event = UROCE_EVENT_QP_ACCESS_ERR,
		.counter = CNT_RESP_REMOTE_ACCESS_ERRORS,
	},
	[VERDICT_RECEIVE_UNUSABLE] = {
		.syndrome = SYNDROME(SYNDROME_NAK, NAK_REMOTE_OPERATIONAL),
		.receive_status = UROCE_WC_LOC_QP_OP_ERR,
		.event = UROCE_EVENT_QP_FATAL,
		.counter = CNT_RESP_LOCAL_OPERATIONAL,
	},
};
