/* explain.c - explains a completion in words: what failed, why, when, and what to check next (E-4) */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>

#include <uroce/uroce.h>

#include "api/text.h"
#include "rc/codes.h"
#include "rc/op.h"
#include "wire/print.h"

/* What a person can check. NULL: the cause says enough. */
static const char *const advices[UROCE_CAUSES] = {
	[UROCE_CAUSE_TIMEOUT] =
		"check that the peer's QP exists and is connected to this one (peer's counters drop_unknown_qpn, "
		"drop_qp_state, drop_address, drop_vlan, drop_pkey), that this port transmitted the frames (tx_stuck, "
		"tx_held, tx_link_down), and that frames of the path MTU pass",
	[UROCE_CAUSE_SEQUENCE_NAK] =
		"one packet is lost on every retry while other packets arrive: check that frames of the path MTU pass "
		"(MTUs of interfaces and switches, framesz, bsize), and look for growing drop counters of ports and "
		"switches",
	[UROCE_CAUSE_IMPLIED_NAK] =
		"responses of the peer are lost or out of order: check that frames of the path MTU pass (MTUs of the "
		"interfaces, framesz, bsize), and check the drop counters of this port (rx_missed_errors, "
		"drop_ring_full, "
		"drop_stale_response, early_probes) and on the switch",
	[UROCE_CAUSE_RNR] =
		"the peer must post receives earlier; or raise rnr_retry, or enable flow_control on both ends",
	[UROCE_CAUSE_LOCAL_KEY] = "check that the region is registered and was not deregistered",
	[UROCE_CAUSE_LOCAL_DOMAIN] = "register the memory in the protection domain of the QP",
	[UROCE_CAUSE_LOCAL_RIGHTS] = "receives, READs and atomics require UROCE_ACCESS_LOCAL_WRITE",
	[UROCE_CAUSE_LOCAL_RANGE] = "compare address and length with the registration",
	[UROCE_CAUSE_DEPTH] = "set max_rd_atomic to 1 or more, or post no READs and atomics",
	[UROCE_CAUSE_LENGTH] = "the maximum message length is 2^31 bytes",
	[UROCE_CAUSE_BAD_RESPONSE] = "capture both directions: uroce-trace shows which end is at fault",
	[UROCE_CAUSE_INVALID_REQUEST] =
		"check that access_flags and max_dest_rd_atomic of this QP allow the request; if they do, the peer "
		"violates the protocol: check a capture of both directions with uroce-trace",
	[UROCE_CAUSE_WINDOW] = "a bind requires a region of the QP's protection domain with UROCE_ACCESS_MW_BIND, "
			       "access rights and a range within that region, and an unbound type 2 window",
	[UROCE_CAUSE_UNRESOLVED] =
		"check that the peer's address exists in this network and VLAN, and that the peer's program runs",
	[UROCE_CAUSE_REMOTE_KEY] = "check whether the region or window was deregistered while the peer still used it",
	[UROCE_CAUSE_REMOTE_DOMAIN] = "the region or window must belong to the protection domain of this QP",
	[UROCE_CAUSE_REMOTE_RIGHTS] = "register the region with the UROCE_ACCESS_REMOTE_* flags that the peer requires",
	[UROCE_CAUSE_REMOTE_RANGE] = "compare the peer's address and length with the registration",
	[UROCE_CAUSE_CQ_OVERRUN] = "poll the CQ more often, or create it with a depth that holds the completions of "
				   "all outstanding requests and receives, also if all of them are flushed",
	[UROCE_CAUSE_UNMAPPED] = "deregister a region before its memory is unmapped, protected or truncated",
	[UROCE_CAUSE_KEEPALIVE] = "check that the peer's process and QP still exist, and that the network path works",
	[UROCE_CAUSE_FLUSHED] = "the first completion of this QP with a status other than WR_FLUSH_ERR, or "
				"uroce_qp_last_error(), has the cause; the peer may have executed this request",
};

/* What was found out about a peer that did not answer, and what to do. NULL: nothing was found. */
static const char *const findings[UROCE_FINDINGS] = {
	[UROCE_FINDING_NO_LINK] = "this port has no link: check the cable, the switch, or the program at the other end "
				  "of the shared memory",
	[UROCE_FINDING_NOT_POLLED] =
		"this lcore was not polled for most of the time without a response: give the lcore a core of its own",
	[UROCE_FINDING_ADDRESS_CONFLICT] =
		"another station has the same address as this port: change one of the two addresses",
	[UROCE_FINDING_PORT_STUCK] = "this port transmitted no frames (tx_stuck, tx_held): check the port's driver, "
				     "and the transmit queue of the kernel interface",
	[UROCE_FINDING_CORRUPTION] =
		"frames arrive damaged (rx_icrc_encapsulated, drop_udp_checksum): check cables, optics and switches",
	[UROCE_FINDING_PKEY] = "frames with another P_Key arrive (drop_pkey): configure the same P_Key on both ends",
	[UROCE_FINDING_VLAN] = "frames of another VLAN arrive (drop_vlan): configure the same VLAN on both ends",
	[UROCE_FINDING_ADDRESS] = "frames arrive whose addresses differ from the QP's path (drop_address): compare the "
				  "paths of both ends",
	[UROCE_FINDING_RING_FULL] = "frames arrive faster than the lcores process them (drop_ring_full, "
				    "drop_handover_full): use more descriptors, lcores or cores",
	[UROCE_FINDING_SIZE] =
		"the peer's address answers short echo requests, but no echo requests with the length of a path MTU "
		"packet: frames of the path MTU do not pass (MTUs of interfaces and switches, framesz, bsize)",
	[UROCE_FINDING_LOSS] = "the peer's address answers echo requests, short and long: look for packet drops "
			       "(rx_missed_errors of both ports, drop counters of the switches)",
	[UROCE_FINDING_LINK_FLAPPED] = "this port had no link for part of the time without a response: to survive such "
				       "an outage, use a larger timeout or retry_cnt",
	[UROCE_FINDING_PEER_SILENT] = "the peer's address does not answer echo requests either: the peer's program or "
				      "machine is down, stopped or not scheduled, or the path is interrupted",
};

/* The peer's address answers, its queue pair does not. Once connected, it had the right VLAN and P_Key. */
static const char *peer_qp_finding(bool answered)
{
	return answered ? "the peer's address answers echo requests, but the peer's queue pair no longer responds: the "
			  "peer's program has ended or hangs, its queue pair was destroyed (the peer's "
			  "drop_unknown_qpn grows), or its queue pair is in ERR (the peer's drop_qp_state grows)" :
			  "the peer's address answers echo requests, but the peer's queue pair does not respond: the "
			  "queue pair no longer exists (peer's drop_unknown_qpn grows), is not connected to this queue "
			  "pair (drop_qp_state, drop_address), or has another VLAN (drop_vlan) or P_Key (drop_pkey)";
}

const char *uroce_finding_text(uint8_t finding, bool answered)
{
	if (finding == UROCE_FINDING_PEER_QP)
		return peer_qp_finding(answered);
	return finding < UROCE_FINDINGS ? findings[finding] : NULL;
}

/* What the code of a NAK suggests to check. */
static const char *nak_advice(uint32_t code)
{
	switch ((enum wire_nak_code)code) {
	case NAK_INVALID_REQUEST:
		return "the peer does not accept this request: the message is longer than the peer's receive buffer, "
		       "more READs are outstanding than the peer's max_dest_rd_atomic, or the peer's QP does not allow "
		       "the operation";
	case NAK_REMOTE_ACCESS:
		return "compare rkey, address, length and access rights with the peer's registration";
	case NAK_REMOTE_OPERATIONAL:
		return "the peer's receive entry is unusable: check the completion of that receive at the peer";
	case NAK_PSN_SEQUENCE:
	case NAK_CODES:
		break;
	}
	return NULL;
}

/* Is it an operation of IBA 1.6, which not every peer knows? */
static bool is_newer_operation(uint8_t completion)
{
	const struct rc_op *op = rc_ops_find_completion(completion);

	return op && op->is_new;
}

static void add_aeth(struct text *text, uint32_t aeth)
{
	uint8_t syndrome = (uint8_t)(aeth >> 24);

	add(text, "; last response received: %s", wire_print_syndrome(syndrome));
	if (syndrome_class(syndrome) == SYNDROME_ACK)
		add(text, ", msn %u", aeth & 0xFFFFFF);
	else if (syndrome_class(syndrome) == SYNDROME_RNR_NAK)
		add(text, ", timer %u (%.2f ms)", syndrome_value(syndrome),
		    (double)rc_codes_rnr_ns(syndrome_value(syndrome)) / 1e6);
}

/* Is the failed request one of the peer's, and not one of ours? */
static bool is_responder(const struct uroce_wc *wc)
{
	return wc->opcode >= UROCE_WC_RECV;
}

/* Had the failed request been sent, and did it wait for an answer? */
static bool awaits_answer(const struct uroce_wc *wc)
{
	switch ((enum uroce_cause)wc->vendor_err) {
	case UROCE_CAUSE_TIMEOUT:
	case UROCE_CAUSE_SEQUENCE_NAK:
	case UROCE_CAUSE_IMPLIED_NAK:
	case UROCE_CAUSE_RNR:
	case UROCE_CAUSE_REMOTE_NAK:
	case UROCE_CAUSE_BAD_RESPONSE:
	case UROCE_CAUSE_KEEPALIVE:
		return !is_responder(wc);
	case UROCE_CAUSE_NONE:
	case UROCE_CAUSE_LOCAL_KEY:
	case UROCE_CAUSE_LOCAL_DOMAIN:
	case UROCE_CAUSE_LOCAL_RIGHTS:
	case UROCE_CAUSE_LOCAL_RANGE:
	case UROCE_CAUSE_LENGTH:
	case UROCE_CAUSE_REMOTE_KEY:
	case UROCE_CAUSE_REMOTE_DOMAIN:
	case UROCE_CAUSE_REMOTE_RIGHTS:
	case UROCE_CAUSE_REMOTE_RANGE:
	case UROCE_CAUSE_INVALID_REQUEST:
	case UROCE_CAUSE_UNRESOLVED:
	case UROCE_CAUSE_WINDOW:
	case UROCE_CAUSE_DEPTH:
	case UROCE_CAUSE_FLUSHED:
	case UROCE_CAUSE_CQ_OVERRUN:
	case UROCE_CAUSE_UNMAPPED:
	case UROCE_CAUSES:
		break;
	}
	return false;
}

static void add_history(struct text *text, const struct uroce_wc *wc)
{
	bool waited = wc->vendor_err >= UROCE_CAUSE_TIMEOUT && wc->vendor_err <= UROCE_CAUSE_RNR;

	add(text, "; PSN %u", wc->psn);
	if (waited)
		add(text, " tried %u times in %.3f ms", wc->retries + 1, wc->elapsed_us / 1e3);
	if (wc->path)
		add(text, " (path after %u migration%s)", wc->path, wc->path > 1 ? "s" : "");
	if (wc->aeth && awaits_answer(wc))
		add_aeth(text, wc->aeth);
	else if (awaits_answer(wc))
		add(text, "; no response was ever received");
}

/*
 * Was the last answer a sequence NAK? A peer sends one NAK for a missing packet, and then waits for that packet. So if
 * the last answer is this NAK, the packets sent again do not arrive.
 */
static bool last_said_sequence(const struct uroce_wc *wc)
{
	return syndrome_class((uint8_t)(wc->aeth >> 24)) == SYNDROME_NAK &&
	       syndrome_value((uint8_t)(wc->aeth >> 24)) == NAK_PSN_SEQUENCE;
}

/* NULL: nothing was found. A peer that is there may just not know the operation. */
static const char *finding_of(const struct uroce_wc *wc)
{
	if (wc->finding == UROCE_FINDING_PEER_QP && is_newer_operation(wc->opcode))
		return NULL;
	return uroce_finding_text(wc->finding, wc->aeth != 0);
}

/* NULL: the cause says enough. */
static const char *advice_of(const struct uroce_wc *wc)
{
	switch (wc->vendor_err) {
	case UROCE_CAUSE_TIMEOUT:
		if (is_newer_operation(wc->opcode))
			return "check that the peer supports this operation: Linux 6.1 drops ATOMIC WRITE and FLUSH "
			       "without a response";
		if (wc->aeth && !last_said_sequence(wc))
			return "the peer responded before: check that the peer's process and QP still exist, that the "
			       "process is scheduled, that this port transmitted the frames (tx_stuck, tx_held, "
			       "tx_link_down), and that "
			       "frames of the path MTU pass in both directions";
		break;
	case UROCE_CAUSE_REMOTE_NAK:
		return nak_advice(wc->aeth >> 24 & 31);
	case UROCE_CAUSE_LENGTH:
		if (is_responder(wc))
			return "each receive, also in a shared receive queue, must be large enough for the longest "
			       "SEND of the peer";
		break;
	}
	if ((wc->vendor_err == UROCE_CAUSE_TIMEOUT || wc->vendor_err == UROCE_CAUSE_IMPLIED_NAK) &&
	    last_said_sequence(wc))
		return advices[UROCE_CAUSE_SEQUENCE_NAK];
	return wc->vendor_err < UROCE_CAUSES ? advices[wc->vendor_err] : NULL;
}

/* Adds status, cause, history and advice. */
static void add_failure(struct text *text, const struct uroce_wc *wc)
{
	const char *advice = advice_of(wc);

	add(text, "%s", uroce_wc_status_name(wc->status));
	if (wc->status == UROCE_WC_SUCCESS)
		return;
	add(text, ": %s", uroce_cause_text(wc->vendor_err));
	if (wc->vendor_err != UROCE_CAUSE_FLUSHED && wc->vendor_err != UROCE_CAUSE_CQ_OVERRUN)
		add_history(text, wc);
	if (finding_of(wc))
		add(text, ". Found: %s", finding_of(wc));
	else if (advice)
		add(text, ". Look: %s", advice);
}

char *uroce_wc_explain(const struct uroce_wc *wc, char *out, size_t out_bytes)
{
	struct text text = { .at = out, .left = out_bytes };

	add(&text, "%s wr_id %" PRIu64 " on QP 0x%06x: ", uroce_wc_opcode_name(wc->opcode), wc->wr_id, wc->qp_num);
	add_failure(&text, wc);
	return out;
}

char *uroce_qp_explain(const struct uroce_qp_view *view, char *out, size_t out_bytes)
{
	const struct uroce_qp_error *error = &view->error;
	const struct uroce_wc wc = {
		.status = error->status,
		.opcode = error->responder ? UROCE_WC_RECV : UROCE_WC_SEND,
		.vendor_err = error->cause,
		.psn = error->psn,
		.aeth = error->aeth,
		.retries = error->retries,
		.elapsed_us = error->elapsed_us,
		.path = error->path_index,
		.finding = error->finding,
	};
	struct text text = { .at = out, .left = out_bytes };

	add(&text, "QP 0x%06x in %s: ", view->qp_num, uroce_qp_state_name(view->attr.qp_state));
	if (error->status == UROCE_WC_SUCCESS)
		add(&text,
		    view->attr.qp_state == UROCE_QPS_ERR ? "its application set that state" : "nothing has failed");
	else if (error->responder)
		add(&text, "a request of the peer failed: ");
	if (error->status != UROCE_WC_SUCCESS)
		add_failure(&text, &wc);
	return out;
}
