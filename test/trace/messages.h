/* messages.h - judges messages of connection management: who answered what, with which ids, and sent what again */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_TRACE_MESSAGES_H
#define TEST_TRACE_MESSAGES_H

#include "decode/dialog.h"
#include "trace.h"

struct messages;

struct messages *messages_open(void);
void messages_close(struct messages *messages);

/* Whether the packet is one; it is taken then. */
bool messages_take(struct messages *messages, const struct trace_packet *packet);

/* The connections whose REQ and REP are there, so that the PSNs that they begin with are known. */
void messages_begin_halves(const struct messages *messages, struct trace *trace);

/* Judging starts with the first message; begin_ns: of the first packet of the trace. */
void messages_start(struct messages *messages, uint64_t begin_ns);
/* Judges those that came before this frame. */
void messages_judge_before(struct messages *messages, struct trace *trace, uint64_t number);

const struct dialog *messages_dialog(const struct messages *messages);

/* trace.c */
__attribute__((format(printf, 4, 5))) void trace_say(struct trace *trace, const struct dialog_message *message,
						     enum trace_verdict verdict, const char *format, ...);
/*
 * Where requests from source to this QP begin, if that is not known and none has come before this frame; and the path
 * MTU, 0 if that is not told.
 */
void trace_begins_behind(struct trace *trace, uint64_t number, const uint8_t source[16], const uint8_t dest[16],
			 uint32_t dest_qpn, uint32_t psn, uint32_t mtu);

#endif
