/* responder.c - which requests are accepted by a mask; what becomes of requests is in test/scenario */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "rc/qp_state.h"
#include "rc/responder.h"
#include "rule.h"

/* What is not in the mask is taken the slow way, if at all. */
Test(responder, opcode_mask_contains_all_permitted_requests)
{
	static const struct {
		uint32_t access, opcode;
	} rows[] = {
		{ 0, OP_SEND_FIRST },
		{ 0, OP_SEND_LAST_INV },
		{ UROCE_ACCESS_REMOTE_WRITE, OP_WRITE_FIRST },
		{ UROCE_ACCESS_REMOTE_WRITE, OP_WRITE_MIDDLE },
		{ UROCE_ACCESS_REMOTE_WRITE, OP_WRITE_ONLY_IMM },
		{ UROCE_ACCESS_REMOTE_WRITE, OP_ATOMIC_WRITE },
		{ UROCE_ACCESS_REMOTE_READ, OP_READ_REQUEST },
		{ UROCE_ACCESS_REMOTE_ATOMIC, OP_COMPARE_SWAP },
		{ UROCE_ACCESS_REMOTE_ATOMIC, OP_FETCH_ADD },
	};
	const uint32_t all = UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_READ | UROCE_ACCESS_REMOTE_ATOMIC;
	static struct rc_qp qp = { .replay.depth = 1 };

	RULE("S-1");
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		qp.access = rows[i].access;
		rc_responder_enable(&qp);
		cr_assert(qp.enabled >> rows[i].opcode & 1, "opcode %#x", rows[i].opcode);
		qp.access = all & ~rows[i].access;
		rc_responder_enable(&qp);
		cr_assert_eq(qp.enabled >> rows[i].opcode & 1, rows[i].access == 0, "opcode %#x", rows[i].opcode);
	}
}
