/* names.c - names and sentences for statuses, opcodes, causes, events, states and attributes; addresses as text */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include <uroce/uroce.h>

#include "rc/op.h"
#include "wire/encap.h"
#include "wire/print.h"

#define NAME_OF(table, index) \
	((index) < sizeof(table) / sizeof((table)[0]) && (table)[index] ? (table)[index] : "UNKNOWN")

const char *uroce_wc_status_name(uint8_t status)
{
	static const char *const names[] = {
		[UROCE_WC_SUCCESS] = "SUCCESS",
		[UROCE_WC_LOC_LEN_ERR] = "LOC_LEN_ERR",
		[UROCE_WC_LOC_QP_OP_ERR] = "LOC_QP_OP_ERR",
		[UROCE_WC_LOC_EEC_OP_ERR] = "LOC_EEC_OP_ERR",
		[UROCE_WC_LOC_PROT_ERR] = "LOC_PROT_ERR",
		[UROCE_WC_WR_FLUSH_ERR] = "WR_FLUSH_ERR",
		[UROCE_WC_MW_BIND_ERR] = "MW_BIND_ERR",
		[UROCE_WC_BAD_RESP_ERR] = "BAD_RESP_ERR",
		[UROCE_WC_LOC_ACCESS_ERR] = "LOC_ACCESS_ERR",
		[UROCE_WC_REM_INV_REQ_ERR] = "REM_INV_REQ_ERR",
		[UROCE_WC_REM_ACCESS_ERR] = "REM_ACCESS_ERR",
		[UROCE_WC_REM_OP_ERR] = "REM_OP_ERR",
		[UROCE_WC_RETRY_EXC_ERR] = "RETRY_EXC_ERR",
		[UROCE_WC_RNR_RETRY_EXC_ERR] = "RNR_RETRY_EXC_ERR",
	};

	return NAME_OF(names, status);
}

const char *uroce_wc_opcode_name(uint8_t opcode)
{
	const struct rc_op *op = rc_ops_find_completion(opcode);

	if (op)
		return op->name;
	if (opcode == UROCE_WC_RECV)
		return "RECV";
	return opcode == UROCE_WC_RECV_RDMA_WITH_IMM ? "RECV_RDMA_WITH_IMM" : "UNKNOWN";
}

const char *uroce_cause_text(uint32_t vendor_err)
{
	static const char *const texts[] = {
		[UROCE_CAUSE_NONE] = "no error",
		[UROCE_CAUSE_TIMEOUT] = "the peer did not answer in time",
		[UROCE_CAUSE_SEQUENCE_NAK] = "the peer reported lost packets until no retry was left",
		[UROCE_CAUSE_IMPLIED_NAK] = "packets or their responses were lost until no retry was left",
		[UROCE_CAUSE_RNR] = "the peer had no receive posted",
		[UROCE_CAUSE_REMOTE_NAK] = "the peer refused the request",
		[UROCE_CAUSE_LOCAL_KEY] = "a local key is unknown or no longer valid",
		[UROCE_CAUSE_LOCAL_DOMAIN] = "a local key belongs to another protection domain",
		[UROCE_CAUSE_LOCAL_RIGHTS] = "a local key lacks the required access right",
		[UROCE_CAUSE_LOCAL_RANGE] = "a local address range is outside its memory region",
		[UROCE_CAUSE_LENGTH] = "the message is too long",
		[UROCE_CAUSE_BAD_RESPONSE] = "the peer's response violated the protocol",
		[UROCE_CAUSE_REMOTE_KEY] = "the peer used a key that is unknown or no longer valid",
		[UROCE_CAUSE_REMOTE_DOMAIN] = "the peer used a key of another protection domain or QP",
		[UROCE_CAUSE_REMOTE_RIGHTS] = "the peer used a key that lacks the required access right",
		[UROCE_CAUSE_REMOTE_RANGE] = "the peer used an address range outside the memory region",
		[UROCE_CAUSE_INVALID_REQUEST] = "the peer's request violated the protocol",
		[UROCE_CAUSE_UNRESOLVED] = "no response to ARP or neighbour discovery for the peer's address",
		[UROCE_CAUSE_DEPTH] = "max_rd_atomic is 0, so READs and atomics are not allowed",
		[UROCE_CAUSE_WINDOW] = "the memory window or its region does not allow this bind",
		[UROCE_CAUSE_KEEPALIVE] = "the peer of an idle connection did not answer",
		[UROCE_CAUSE_CQ_OVERRUN] = "a completion queue of the QP overflowed, and a completion is lost",
		[UROCE_CAUSE_UNMAPPED] = "memory of a registered region was unmapped, protected or truncated",
		[UROCE_CAUSE_FLUSHED] = "flushed: the QP had failed or was moved to ERR",
	};

	return NAME_OF(texts, vendor_err);
}

const char *uroce_event_name(uint32_t type)
{
	static const char *const names[] = {
		[UROCE_EVENT_COMM_EST] = "COMM_EST",
		[UROCE_EVENT_SQ_DRAINED] = "SQ_DRAINED",
		[UROCE_EVENT_QP_FATAL] = "QP_FATAL",
		[UROCE_EVENT_QP_REQ_ERR] = "QP_REQ_ERR",
		[UROCE_EVENT_QP_ACCESS_ERR] = "QP_ACCESS_ERR",
		[UROCE_EVENT_CQ_ERR] = "CQ_ERR",
		[UROCE_EVENT_PATH_MIG] = "PATH_MIG",
		[UROCE_EVENT_PATH_MIG_ERR] = "PATH_MIG_ERR",
		[UROCE_EVENT_QP_LAST_WQE_REACHED] = "QP_LAST_WQE_REACHED",
		[UROCE_EVENT_SRQ_LIMIT_REACHED] = "SRQ_LIMIT_REACHED",
		[UROCE_EVENT_SRQ_ERR] = "SRQ_ERR",
		[UROCE_EVENT_PORT_ACTIVE] = "PORT_ACTIVE",
		[UROCE_EVENT_PORT_ERR] = "PORT_ERR",
		[UROCE_EVENT_ANOMALY] = "ANOMALY",
		[UROCE_EVENT_ADDRESS_CONFLICT] = "ADDRESS_CONFLICT",
	};

	return NAME_OF(names, type);
}

const char *uroce_qp_state_name(enum uroce_qp_state state)
{
	static const char *const names[] = {
		[UROCE_QPS_RESET] = "RESET", [UROCE_QPS_INIT] = "INIT", [UROCE_QPS_RTR] = "RTR",
		[UROCE_QPS_RTS] = "RTS",     [UROCE_QPS_SQD] = "SQD",   [UROCE_QPS_ERR] = "ERR",
	};

	return NAME_OF(names, (uint32_t)state);
}

const char *uroce_path_mig_state_name(enum uroce_path_mig_state state)
{
	static const char *const names[] = {
		[UROCE_PATH_MIGRATED] = "MIGRATED",
		[UROCE_PATH_REARM] = "REARM",
		[UROCE_PATH_ARMED] = "ARMED",
	};

	return NAME_OF(names, (uint32_t)state);
}

const char *uroce_qp_attr_name(uint32_t mask_bit)
{
	static const struct {
		uint32_t bit;
		const char *name;
	} names[] = {
		{ UROCE_QP_STATE, "STATE" },
		{ UROCE_QP_ACCESS_FLAGS, "ACCESS_FLAGS" },
		{ UROCE_QP_PKEY, "PKEY" },
		{ UROCE_QP_PATH, "PATH" },
		{ UROCE_QP_PATH_MTU, "PATH_MTU" },
		{ UROCE_QP_TIMEOUT, "TIMEOUT" },
		{ UROCE_QP_RETRY_CNT, "RETRY_CNT" },
		{ UROCE_QP_RNR_RETRY, "RNR_RETRY" },
		{ UROCE_QP_RQ_PSN, "RQ_PSN" },
		{ UROCE_QP_MAX_RD_ATOMIC, "MAX_RD_ATOMIC" },
		{ UROCE_QP_ALT_PATH, "ALT_PATH" },
		{ UROCE_QP_MIN_RNR_TIMER, "MIN_RNR_TIMER" },
		{ UROCE_QP_SQ_PSN, "SQ_PSN" },
		{ UROCE_QP_MAX_DEST_RD_ATOMIC, "MAX_DEST_RD_ATOMIC" },
		{ UROCE_QP_PATH_MIG_STATE, "PATH_MIG_STATE" },
		{ UROCE_QP_DEST_QPN, "DEST_QPN" },
		{ UROCE_QP_FLOW_CONTROL, "FLOW_CONTROL" },
		{ UROCE_QP_IMPRECISE_ERRORS, "IMPRECISE_ERRORS" },
		{ UROCE_QP_NO_PROBE, "NO_PROBE" },
		{ UROCE_QP_KEEPALIVE, "KEEPALIVE" },
		{ UROCE_QP_READ_REPAIR, "READ_REPAIR" },
		{ UROCE_QP_CC, "CC" },
		{ UROCE_QP_SACK_WINDOW, "SACK_WINDOW" },
		{ UROCE_QP_PATHS, "PATHS" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].bit == (mask_bit & -mask_bit))
			return names[i].name;
	}
	return "UNKNOWN";
}

const char *uroce_cm_event_name(enum uroce_cm_event_type type)
{
	static const char *const names[UROCE_CM_EVENT_TYPES] = {
		[UROCE_CM_CONNECT_REQUEST] = "connect request", [UROCE_CM_CONNECT_RESPONSE] = "connect response",
		[UROCE_CM_ESTABLISHED] = "established",         [UROCE_CM_REJECTED] = "rejected",
		[UROCE_CM_UNREACHABLE] = "unreachable",         [UROCE_CM_DISCONNECTED] = "disconnected",
		[UROCE_CM_ALTERNATE] = "alternate path",        [UROCE_CM_ROUTE_RESOLVED] = "route resolved",
		[UROCE_CM_UD_RESOLVED] = "UD resolved",         [UROCE_CM_TIMEWAIT_EXIT] = "time-wait exit",
	};

	return (unsigned)type < UROCE_CM_EVENT_TYPES && names[type] ? names[type] : "unknown";
}

char *uroce_addr_format(const struct uroce_addr *addr, char *out, size_t out_bytes)
{
	return wire_print_format_addr(addr->bytes, out, out_bytes);
}

/* Do the bits of the address behind the first `bits` of its `limit` bits all equal `ones`? */
static bool host_bits_are(const struct uroce_addr *addr, unsigned bits, unsigned limit, bool ones)
{
	for (unsigned i = 128 - limit + bits; i < 128; i++) {
		if ((addr->bytes[i / 8] >> (7 - i % 8) & 1) != ones)
			return false;
	}
	return true;
}

static const char *ipv4_unusable(const uint8_t ipv4[4])
{
	if (ipv4[0] == 0)
		return "an unspecified address";
	if (ipv4[0] == 127)
		return "a loopback address";
	if ((ipv4[0] & 0xF0) == 0xE0)
		return "a multicast address";
	if (memcmp(ipv4, "\xFF\xFF\xFF\xFF", 4) == 0)
		return "a broadcast address";
	return ipv4[0] >= 0xF0 ? "a reserved address" : NULL;
}

static const char *ipv6_unusable(const struct uroce_addr *addr)
{
	static const struct uroce_addr unspecified, loopback = { { [15] = 1 } };

	if (memcmp(addr, &unspecified, sizeof(*addr)) == 0)
		return "an unspecified address";
	if (memcmp(addr, &loopback, sizeof(*addr)) == 0)
		return "a loopback address";
	return addr->bytes[0] == 0xFF ? "a multicast address" : NULL;
}

const char *uroce_addr_unusable(const struct uroce_addr *addr, unsigned prefix_bits)
{
	bool ipv4 = encap_addr_is_ipv4(addr->bytes);
	unsigned limit = ipv4 ? 32 : 128;
	const char *why = ipv4 ? ipv4_unusable(addr->bytes + 12) : ipv6_unusable(addr);

	/* Networks of one or two addresses have hosts only (RFC 3021, RFC 6164). */
	if (why || prefix_bits == 0 || prefix_bits + 1 >= limit)
		return why;
	if (host_bits_are(addr, prefix_bits, limit, false))
		return "the address of its network";
	return ipv4 && host_bits_are(addr, prefix_bits, limit, true) ? "the broadcast address of its network" : NULL;
}
