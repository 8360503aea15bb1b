/* lines.c - packets, completions and events of a pair as readable lines, and asserts on them */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "pair.h"
#include "rc/emit.h"
#include "wire/print.h"

/* Shorter than uroce_wc_opcode_name(), where that is long. */
static const char *opcode_name(uint8_t opcode)
{
	static const char *const names[] = {
		[UROCE_WC_RDMA_WRITE] = "WRITE", [UROCE_WC_RDMA_READ] = "READ",
		[UROCE_WC_COMP_SWAP] = "CSWAP",  [UROCE_WC_FETCH_ADD] = "FADD",
		[UROCE_WC_BIND_MW] = "BIND",     [UROCE_WC_RECV_RDMA_WITH_IMM] = "RECV_IMM",
	};
	bool is_short = opcode < sizeof(names) / sizeof(names[0]) && names[opcode];

	return is_short ? names[opcode] : uroce_wc_opcode_name(opcode);
}

static void remove_word(char *text, const char *start)
{
	char *word = strstr(text, start);
	char *rest = word ? strchr(word + 1, ' ') : NULL;

	if (word)
		memmove(word, rest ? rest : word + strlen(word), strlen(rest ? rest : "") + 1);
}

/* Without the QPN, which says nothing between two; addresses count from the start of the peer's memory. */
void pair_print_line(const struct pair *pair, enum side_name from, const struct wire_packet *packet, char *line)
{
	const struct wire_opcode_row *row = wire_opcode(packet->opcode);
	const struct side *peer = &pair->side[!from];
	struct wire_packet shown = *packet;
	char text[256];

	/* without a key, and in the report of a time, the address is no memory of the peer */
	if ((row->reth || row->atomic) && shown.rkey && shown.rkey != EMIT_AWAY_RKEY)
		shown.va -= (uintptr_t)peer->memory;
	wire_print_packet(&shown, text, sizeof(text));
	remove_word(text, " qp=");
	if (!pair->shows_migreq)
		remove_word(text, " migreq");
	if ((row->reth || row->atomic) && packet->rkey == peer->key)
		remove_word(text, " rkey=");
	snprintf(line, PAIR_LINE_BYTES, "%.*s", PAIR_LINE_BYTES - 1, text);
}

static bool reports_length(uint8_t opcode)
{
	return opcode >= UROCE_WC_RECV || opcode == UROCE_WC_RDMA_READ;
}

void pair_print_completion(const struct uroce_wc *wc, char *line)
{
	int at = snprintf(line, PAIR_LINE_BYTES, "wr=%lu %s %s", wc->wr_id, opcode_name(wc->opcode),
			  uroce_wc_status_name(wc->status));

	if (wc->status == UROCE_WC_SUCCESS && reports_length(wc->opcode))
		at += snprintf(line + at, 32, " len=%u", wc->byte_len);
	if (wc->wc_flags & UROCE_WC_WITH_IMM)
		at += snprintf(line + at, 32, " imm=0x%x", ntohl(wc->imm_data));
	if (wc->wc_flags & UROCE_WC_WITH_INV)
		at += snprintf(line + at, 32, " inv=0x%x", wc->invalidated_rkey);
	if (wc->wc_flags & UROCE_WC_SOLICITED)
		snprintf(line + at, 32, " solicited");
}

const char *pair_text(const char *format, ...)
{
	static char texts[8][PAIR_LINE_BYTES];
	static uint32_t turn;
	char *text = texts[turn++ % 8];
	va_list args;

	va_start(args, format);
	vsnprintf(text, PAIR_LINE_BYTES, format, args);
	va_end(args);
	return text;
}

static void expect_line(const char *what, enum side_name name, uint32_t count, uint32_t index, const char *found,
			const char *line)
{
	cr_assert_lt(index, count, "%c has %u %s lines, number %u should be \"%s\"", "AB"[name], count, what, index,
		     line);
	cr_assert_str_eq(found, line, "%c, %s line %u:\n  is        %s\n  should be %s", "AB"[name], what, index, found,
			 line);
}

void expect_sent(struct pair *pair, enum side_name name, uint32_t index, const char *line)
{
	expect_line("sent", name, pair->side[name].sent_count, index, pair->side[name].sent[index], line);
}

void expect_sent_count(struct pair *pair, enum side_name name, uint32_t count)
{
	cr_assert_eq(pair->side[name].sent_count, count, "%c sent %u packets, should be %u; the last: %s", "AB"[name],
		     pair -> side[name].sent_count, count,
		     pair->side[name].sent_count ? pair->side[name].sent[pair->side[name].sent_count - 1] : "none");
}

void expect_done(struct pair *pair, enum side_name name, uint32_t index, const char *line)
{
	expect_line("completion", name, pair->side[name].done_count, index, pair->side[name].done[index], line);
}

void expect_done_count(struct pair *pair, enum side_name name, uint32_t count)
{
	cr_assert_eq(pair->side[name].done_count, count, "%c has %u completions, should be %u; the last: %s",
		     "AB"[name], pair -> side[name].done_count, count,
		     pair->side[name].done_count ? pair->side[name].done[pair->side[name].done_count - 1] : "none");
}

void expect_event(struct pair *pair, enum side_name name, uint32_t index, const char *line)
{
	expect_line("event", name, pair->side[name].event_count, index, pair->side[name].events[index], line);
}

/* lines[0] is no line: a list may be empty. */
static void expect_list(const char *what, enum side_name name, char (*found)[PAIR_LINE_BYTES], uint32_t *count,
			const char *const *lines, const char *where)
{
	uint32_t index = 0;

	for (lines++; *lines; lines++, index++) {
		cr_assert_lt(index, *count, "%s: %c, %s line %u is missing: %s", where, "AB"[name], what, index,
			     *lines);
		cr_assert_str_eq(found[index], *lines, "%s: %c, %s line %u:\n  is        %s\n  should be %s", where,
				 "AB"[name], what, index, found[index], *lines);
	}
	cr_assert_eq(*count, index, "%s: %c, %s line %u was not expected: %s", where, "AB"[name], what, index,
		     found[index]);
	*count = 0;
}

void pair_expect_leaves(struct pair *pair, enum side_name name, const char *const *lines, const char *where)
{
	expect_list("sent", name, pair->side[name].sent, &pair->side[name].sent_count, lines, where);
}

void pair_expect_completes(struct pair *pair, enum side_name name, const char *const *lines, const char *where)
{
	expect_list("completion", name, pair->side[name].done, &pair->side[name].done_count, lines, where);
}

void pair_expect_events(struct pair *pair, enum side_name name, const char *const *lines, const char *where)
{
	expect_list("event", name, pair->side[name].events, &pair->side[name].event_count, lines, where);
}

void pair_expect_counts(struct pair *pair, enum side_name name, enum rc_counter counter, uint64_t count,
			const char *where)
{
	uint64_t found = pair->side[name].qp->counters[counter];

	cr_assert_eq(found, count, "%s: %c counted %s %lu times, should be %lu", where, "AB"[name],
		     rc_counters[counter].name, found, count);
}
