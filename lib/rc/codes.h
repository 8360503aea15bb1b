/* codes.h - the protocol's encoded numbers: RNR timers, ACK timeouts, path MTUs */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RC_CODES_H
#define RC_CODES_H

#include <stdbool.h>
#include <stdint.h>

#include <uroce/wr.h>

#include "rc/mr.h"
#include "wire/syndrome.h"

/* selectivity 1 of a FETH: the whole region; bits 3:0 of the FETH are the placement type */
#define FETH_WHOLE_REGION (1u << 4)
#define FETH_SELECTIVITY (3u << 4)

#define CREDIT_UNLIMITED 31u
#define RNR_TIMER_DEFAULT 12u /* 0.64 ms */

/* The wait that a 5-bit RNR timer code asks for. */
uint64_t rc_codes_rnr_ns(uint32_t code);

/* The ACK timeout 4.096 us x 2^n, n 0 ... 31; 0 means no timer (T-1). */
uint64_t rc_codes_timeout_ns(uint32_t n);

/*
 * Why a check of memory failed, as the cause in a completion (E-4): local_cause for a local key, remote_cause for the
 * peer's.
 */
enum uroce_cause rc_codes_local_cause(enum rc_mr_verdict verdict);
enum uroce_cause rc_codes_remote_cause(enum rc_mr_verdict verdict);

/*
 * Credit codes (F-1). credit_count: what a code grants, UINT32_MAX for no limit. credit_code: the largest code, at most
 * 30, that grants no more than count.
 */
uint32_t rc_codes_credit_count(uint32_t code);
uint32_t rc_codes_credit_code(uint32_t count);

static inline bool mtu_is_valid(uint32_t bytes)
{
	return bytes >= 256 && bytes <= 4096 && (bytes & (bytes - 1)) == 0;
}

/* A valid SACK window is 0, or a power of two that connection management can tell the peer (C-32). */
static inline bool sack_window_is_valid(uint32_t packets)
{
	return packets == 0 || (packets >= 256 && packets <= 2048 && (packets & (packets - 1)) == 0);
}

#endif
