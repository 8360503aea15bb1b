/* ops.c - the rows of operations agree with themselves, and with the rows of their opcodes */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "rc/op.h"
#include "operations.h"

static bool is_local(const struct rc_op *op)
{
	return op->needs & NEEDS_NO_PACKET;
}

static bool is_answered(const struct rc_op *op)
{
	return op->needs & NEEDS_RESPONSE;
}

Test(ops, each_operation_has_a_completion_opcode)
{
	for (uint32_t i = 0; i < OPERATIONS; i++) {
		const struct rc_op *op = &rc_ops[operations[i]];

		cr_assert_not_null(op->name);
		cr_assert_str_eq(uroce_wc_opcode_name(op->completion), op->name);
		cr_assert_str_eq(rc_ops_find_completion(op->completion)->name, op->name);
	}
	cr_assert_null(rc_ops_find_completion(UROCE_WC_RECV));
	cr_assert_str_eq(uroce_wc_opcode_name(UROCE_WC_RECV), "RECV");
	cr_assert_str_eq(uroce_wc_opcode_name(UROCE_WC_RECV_RDMA_WITH_IMM), "RECV_RDMA_WITH_IMM");
	cr_assert_str_eq(uroce_wc_opcode_name(127), "UNKNOWN");
}

Test(ops, each_operation_has_the_functions_of_its_kind)
{
	for (uint32_t i = 0; i < OPERATIONS; i++) {
		const struct rc_op *op = &rc_ops[operations[i]];

		cr_assert_eq(op->carry_out != NULL, is_local(op), "%s", op->name);
		cr_assert_eq(op->failure != 0, is_local(op), "%s", op->name);
		cr_assert_eq(op->write != NULL, is_answered(op), "%s", op->name);
		cr_assert_eq(op->matches != NULL, is_answered(op), "%s", op->name);
		cr_assert_eq(op->respond != NULL, is_answered(op) && !op->is_cut, "%s", op->name);
		cr_assert(op->check == NULL || op->rights_of, "%s", op->name);
		cr_assert(!op->aligned || op->target_bytes % 8 == 0, "%s", op->name);
	}
}

/* Of an answered request the packet leads back to its row, and payload and pad are as both rows say. */
Test(ops, opcodes_match_the_kind_of_their_operation)
{
	for (uint32_t i = 0; i < OPERATIONS; i++) {
		const struct rc_op *op = &rc_ops[operations[i]];
		const struct wire_opcode_row *only = wire_opcode(op->only), *response = wire_opcode(op->response);

		if (is_local(op))
			continue;
		cr_assert(only->first && only->last && !only->response, "%s", op->name);
		cr_assert_eq(rc_ops_packets[op->only].rule & RULE_ANSWERED, is_answered(op) ? RULE_ANSWERED : 0);
		cr_assert_eq(rc_ops_packets[op->only].rule & RULE_ONLY, RULE_ONLY, "%s", op->name);
		if (!is_answered(op)) {
			cr_assert(wire_opcode(op->first)->first && wire_opcode(op->middle)->middle, "%s", op->name);
			cr_assert(wire_opcode(op->last)->last && !wire_opcode(op->last)->first, "%s", op->name);
			cr_assert_eq(only->ieth, op->ieth, "%s", op->name);
			cr_assert_eq(only->immdt || only->ieth, op->imm != 0, "%s", op->name);
			cr_assert_eq(only->reth, op->reth != 0, "%s", op->name);
			continue;
		}
		cr_assert_eq(rc_ops_packets[op->only].op, op, "%s", op->name);
		cr_assert_eq(only->payload, op->request_bytes > 0, "%s", op->name);
		cr_assert_eq((op->request_bytes | op->response_bytes) % 4, 0, "%s", op->name);
		cr_assert(op->is_cut || response->response, "%s", op->name);
		cr_assert(response->payload || op->response_bytes == 0, "%s", op->name);
	}
}

Test(ops, only_request_opcodes_have_a_row)
{
	for (unsigned int opcode = 0; opcode < OPCODES_OF_RC; opcode++) {
		const struct wire_opcode_row *row = wire_opcode((uint8_t)opcode);
		bool request = row->kind != WIRE_KIND_RESERVED && !row->response;

		cr_assert_eq(rc_ops_packets[opcode].op != NULL, request, "%s", row->name);
		cr_assert_eq(rc_ops_packets[opcode].rule != 0, request, "%s", row->name);
	}
}
