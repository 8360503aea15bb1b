/* sentences.c - each sentence that explains a failure, and a situation that makes it (E-4) */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>

#include <uroce/inspect.h>

#include "engine/clock.h"
#include "network.h"
#include "rule.h"
#include "spoil.h"
#include "start.h"
#include "ticks.h"

#define PATIENCE_NS 20000000000ull /* nobody is asked for an address for so long */
#define TICK_NS 10000u /* per read of the clock: retries end before PING_PATIENCE_NS on any machine (findings.c) */

TestSuite(sentences, .init = test_eal_start, .timeout = 60);

static struct network network;

/* ---- what a situation is made of ---- */

/* As network_connect(), with what end 0 has of its own. */
static struct uroce_qp_attr usual(int end)
{
	static const char *const addresses[] = { "10.0.0.1", "10.0.0.2" };

	return (struct uroce_qp_attr){
		.access_flags = UROCE_ACCESS_REMOTE_READ | UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_ATOMIC,
		.dest_qp_num = uroce_qp_num(network.ends[!end].qp),
		.rq_psn = network.ends[!end].attr.sq_psn,
		.max_rd_atomic = 8,
		.max_dest_rd_atomic = 8,
		.timeout = 8,
		.retry_cnt = 3,
		.rnr_retry = 2,
		.min_rnr_timer = 1,
		.path = { .source = network_address(addresses[end]), .dest = network_address(addresses[!end]) },
	};
}

static void open_ends(uint32_t cq_depth)
{
	network_open(&network, 1);
	ticks_start(TICK_NS);
	network_create_qp(&network, 0, cq_depth, -1);
	network_create_qp(&network, 1, 64, -1);
}

static void connect_end(int end, const struct uroce_qp_attr *attr)
{
	cr_assert_eq(uroce_qp_connect(network.ends[end].qp, attr, NULL), 0, "%s", uroce_last_error());
}

static uint8_t retries = 3; /* of end 0 */
static enum uroce_read_repair repair;

static void open_usual(void)
{
	open_ends(64);
	for (int i = 0; i < 2; i++) {
		struct uroce_qp_attr attr = usual(i);

		attr.retry_cnt = retries;
		attr.read_repair = repair;
		connect_end(i, &attr);
	}
}

/* A request of end 0. */
static void post(enum uroce_wr_opcode opcode, uint32_t bytes, uint32_t lkey, uint32_t rkey, uint64_t offset)
{
	struct uroce_sge sge = { .addr = (uintptr_t)network.ends[0].buffer, .length = bytes, .lkey = lkey };
	struct uroce_send_wr wr = {
		.wr_id = 5,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = UROCE_SEND_SIGNALED,
		.remote_addr = (uintptr_t)network.ends[1].buffer + offset,
		.rkey = rkey,
	};

	cr_assert_eq(uroce_qp_post_send(network.ends[0].qp, &wr, NULL), 0, "%s", uroce_last_error());
}

/* With the usual keys. */
static void post_usual(enum uroce_wr_opcode opcode, uint32_t bytes)
{
	cr_assert_eq(network_post(&network, opcode, bytes), 0, "%s", uroce_last_error());
}

static void post_recv(uint32_t lkey, uint32_t bytes)
{
	struct uroce_sge sge = { .addr = (uintptr_t)network.ends[1].buffer, .length = bytes, .lkey = lkey };
	struct uroce_recv_wr wr = { .wr_id = 6, .sg_list = &sge, .num_sge = 1 };

	cr_assert_eq(uroce_qp_post_recv(network.ends[1].qp, &wr, NULL), 0, "%s", uroce_last_error());
}

static struct uroce_mr *region(int end, struct uroce_pd *pd, uint32_t bytes, uint32_t access)
{
	struct uroce_mr *mr;

	cr_assert_eq(uroce_mr_reg(pd, network.ends[end].buffer, bytes, access, &mr), 0, "%s", uroce_last_error());
	return mr;
}

static void on_frames_to(int end, rte_rx_callback_fn seen, uintptr_t argument)
{
	cr_assert(rte_eth_add_rx_callback(network.loop.ports[end].port_id, 0, seen, (void *)argument));
}

/* ---- what is said ---- */

static void expect_in(const char *line, const char *const *words)
{
	for (; *words; words++)
		cr_assert(strstr(line, *words), "\"%s\" is not in: %s", *words, line);
	cr_assert_lt(strlen(line), UROCE_EXPLAIN_BYTES - 1, "it may have been cut: %s", line);
}

#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* The next completion of the end, in words. */
static void expect_completion(int end, const char *const *words)
{
	char line[UROCE_EXPLAIN_BYTES];
	uint64_t end_ns = engine_now_ns() + PATIENCE_NS;
	struct uroce_wc wc;

	do {
		network_poll(&network);
	} while (uroce_cq_poll(network.ends[end].cq, 1, &wc) == 0 && engine_now_ns() < end_ns);
	cr_assert_lt(engine_now_ns(), end_ns, "no completion came");
	expect_in(uroce_wc_explain(&wc, line, sizeof(line)), words);
}

/* The queue pair of the end, in words, when it is in ERR. */
static void expect_queue_pair(int end, const char *const *words)
{
	char line[UROCE_EXPLAIN_BYTES];
	struct uroce_qp_view view;

	for (int i = 0; i < 200000; i++) {
		network_poll(&network);
		cr_assert_eq(uroce_inspect_qp(network.engine, uroce_qp_num(network.ends[end].qp), &view), 0);
		if (view.attr.qp_state == UROCE_QPS_ERR)
			break;
	}
	expect_in(uroce_qp_explain(&view, line, sizeof(line)), words);
}

/* ---- the peer, or the way to it ---- */

Test(sentences, a_peer_that_is_gone)
{
	RULE("E-4");
	open_usual();
	on_frames_to(1, spoil_drop_long, 0);
	post_usual(UROCE_WR_RDMA_WRITE, 8);
	expect_completion(0, WORDS("RETRY_EXC_ERR: the peer did not answer in time; PSN ", " tried 4 times in ",
				   "; no response was ever received. Look: check that the peer's QP exists and is "
				   "connected to this one (peer's counters drop_unknown_qpn, drop_qp_state, "
				   "drop_address, drop_vlan, drop_pkey), that this port transmitted the frames "
				   "(tx_stuck, tx_held, tx_link_down), and that frames of the path MTU pass"));
	network_close(&network);
}

Test(sentences, operation_unsupported_by_the_peer)
{
	RULE("E-4");
	open_usual();
	cr_assert_eq(uroce_qp_destroy(network.ends[1].qp), 0);
	network.ends[1].qp = NULL;
	post_usual(UROCE_WR_ATOMIC_WRITE, 8);
	expect_completion(0, WORDS("Look: check that the peer supports this operation: Linux 6.1 drops ATOMIC WRITE "
				   "and FLUSH without a response"));
	network_close(&network);
}

/* The last packet of each message is short, and arrives. */
Test(sentences, long_frames_to_the_peer_do_not_pass)
{
	RULE("E-4");
	open_usual();
	on_frames_to(1, spoil_drop_long, 1500);
	post_usual(UROCE_WR_RDMA_WRITE, 5000);
	expect_completion(
		0, WORDS("packets or their responses were lost until no retry was left",
			 "last response received: NAK_SEQUENCE. Look: "
			 "one packet is lost on every retry while other packets arrive: check that frames of the "
			 "path MTU pass"));
	network_close(&network);
}

/* No peer of ours does that: one that was told of a gap waits for the packet. */
Test(sentences, peer_that_reports_losses_on_every_retry)
{
	RULE("E-4");
	retries = 0;
	open_usual();
	on_frames_to(0, spoil_make_naks, 0);
	post_usual(UROCE_WR_RDMA_WRITE, 8);
	expect_completion(
		0, WORDS("RETRY_EXC_ERR: the peer reported lost packets until no retry was left",
			 "Look: one packet is lost on every retry while other packets arrive: check that frames of "
			 "the path MTU pass (MTUs of interfaces and switches, framesz, bsize), and look for growing "
			 "drop counters of ports and switches"));
	network_close(&network);
}

Test(sentences, long_frames_of_the_peer_do_not_pass)
{
	RULE("E-4");
	open_usual();
	on_frames_to(0, spoil_drop_long, 1500);
	post_usual(UROCE_WR_RDMA_READ, 5000);
	expect_completion(0, WORDS("the peer did not answer in time",
				   "; last response received: ACK, msn 1. Look: the peer responded before: check that "
				   "the peer's process and QP still exist, that the process is scheduled, that this "
				   "port transmitted the frames (tx_stuck, "
				   "tx_held, tx_link_down), and that frames of the path MTU pass in both directions"));
	network_close(&network);
}

Test(sentences, lost_answer_without_retries)
{
	RULE("E-4");
	retries = 0;
	repair = UROCE_READ_REPAIR_OFF;
	open_usual();
	on_frames_to(0, spoil_drop_long, 1500);
	post_usual(UROCE_WR_RDMA_READ, 5000);
	expect_completion(
		0, WORDS("packets or their responses were lost until no retry was left",
			 "Look: responses of the peer are lost or out of order: check that frames of the path MTU pass "
			 "(MTUs of the interfaces, framesz, bsize), and check the drop counters of this port "
			 "(rx_missed_errors, drop_ring_full, drop_stale_response, early_probes) and on the switch"));
	network_close(&network);
}

Test(sentences, a_peer_without_receives)
{
	RULE("E-4");
	open_usual();
	post_usual(UROCE_WR_SEND, 8);
	expect_completion(0, WORDS("RNR_RETRY_EXC_ERR: the peer had no receive posted", " tried 3 times in ",
				   "last response received: RNR_NAK, timer 1 (0.01 ms). Look: the peer must post "
				   "receives earlier; or raise rnr_retry, or enable flow_control on both ends"));
	network_close(&network);
}

Test(sentences, a_response_that_breaks_the_protocol)
{
	RULE("E-4");
	open_usual();
	on_frames_to(0, spoil_break_responses, 0);
	post_usual(UROCE_WR_RDMA_READ, 8);
	expect_completion(0, WORDS("BAD_RESP_ERR: the peer's response violated the protocol; PSN ",
				   "Look: capture both directions: uroce-trace shows which end is at fault"));
	network_close(&network);
}

Test(sentences, address_without_a_station)
{
	struct uroce_qp_attr attr;

	RULE("E-4");
	open_ends(64);
	attr = usual(0);
	attr.path.dest = network_address("10.0.0.77");
	connect_end(0, &attr);
	post_usual(UROCE_WR_RDMA_WRITE, 8);
	expect_completion(0, WORDS("no response to ARP or neighbour discovery for the peer's address",
				   "Look: check that the peer's address exists in this network and VLAN, and that the "
				   "peer's program runs"));
	network_close(&network);
}

Test(sentences, dead_peer_of_an_idle_connection)
{
	struct uroce_qp_attr attr;

	RULE("E-4");
	open_ends(64);
	attr = usual(0);
	attr.keepalive_ms = 1;
	connect_end(0, &attr);
	cr_assert_eq(uroce_qp_destroy(network.ends[1].qp), 0);
	network.ends[1].qp = NULL;
	expect_queue_pair(
		0, WORDS("in ERR: RETRY_EXC_ERR: the peer of an idle connection did not answer",
			 "Look: check that the peer's process and QP still exist, and that the network path works"));
	network_close(&network);
}

/* ---- what the peer refuses, at both ends ---- */

Test(sentences, key_unknown_to_the_peer)
{
	RULE("E-4");
	open_usual();
	post(UROCE_WR_RDMA_WRITE, 8, uroce_mr_lkey(network.ends[0].mr), uroce_mr_rkey(network.ends[1].mr) ^ 0xFF, 0);
	expect_completion(0, WORDS("REM_ACCESS_ERR: the peer refused the request; PSN ",
				   "; last response received: NAK_REMOTE_ACCESS. Look: compare rkey, address, length "
				   "and access rights with the peer's registration"));
	expect_queue_pair(
		1, WORDS("a request of the peer failed: REM_ACCESS_ERR: the peer used a key that is unknown "
			 "or no longer valid",
			 "Look: check whether the region or window was deregistered while the peer still used it"));
	network_close(&network);
}

Test(sentences, a_key_of_another_domain_of_the_peer)
{
	struct uroce_mr *mr;
	struct uroce_pd *pd;

	RULE("E-4");
	open_usual();
	cr_assert_eq(uroce_pd_alloc(network.ends[1].device, &pd), 0);
	mr = region(1, pd, 64, UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_WRITE);
	post(UROCE_WR_RDMA_WRITE, 8, uroce_mr_lkey(network.ends[0].mr), uroce_mr_rkey(mr), 0);
	expect_completion(0, WORDS("the peer refused the request"));
	expect_queue_pair(1, WORDS("the peer used a key of another protection domain or QP",
				   "Look: the region or window must belong to the protection domain of this QP"));
	cr_assert_eq(uroce_mr_dereg(mr), 0);
	cr_assert_eq(uroce_pd_dealloc(pd), 0);
	network_close(&network);
}

Test(sentences, key_without_remote_access)
{
	struct uroce_mr *mr;

	RULE("E-4");
	open_usual();
	mr = region(1, network.ends[1].pd, 64, UROCE_ACCESS_LOCAL_WRITE);
	post(UROCE_WR_RDMA_WRITE, 8, uroce_mr_lkey(network.ends[0].mr), uroce_mr_rkey(mr), 0);
	expect_completion(0, WORDS("the peer refused the request"));
	expect_queue_pair(
		1, WORDS("the peer used a key that lacks the required access right",
			 "Look: register the region with the UROCE_ACCESS_REMOTE_* flags that the peer requires"));
	cr_assert_eq(uroce_mr_dereg(mr), 0);
	network_close(&network);
}

Test(sentences, a_range_outside_of_the_peers_region)
{
	RULE("E-4");
	open_usual();
	post(UROCE_WR_RDMA_WRITE, 8, uroce_mr_lkey(network.ends[0].mr), uroce_mr_rkey(network.ends[1].mr),
	     NETWORK_BUFFER_BYTES - 4);
	expect_completion(0, WORDS("the peer refused the request"));
	expect_queue_pair(1, WORDS("the peer used an address range outside the memory region",
				   "Look: compare the peer's address and length with the registration"));
	network_close(&network);
}

Test(sentences, operation_forbidden_by_the_peer)
{
	struct uroce_qp_attr attr;

	RULE("E-4");
	open_ends(64);
	for (int i = 0; i < 2; i++) {
		attr = usual(i);
		attr.access_flags = 0;
		connect_end(i, &attr);
	}
	post_usual(UROCE_WR_RDMA_WRITE, 8);
	expect_completion(
		0, WORDS("REM_INV_REQ_ERR: the peer refused the request",
			 "; last response received: NAK_INVALID_REQUEST. Look: the peer does not accept this "
			 "request: the message is longer than the peer's receive buffer, more READs are outstanding "
			 "than the peer's max_dest_rd_atomic, or the peer's QP does not allow the operation"));
	expect_queue_pair(
		1, WORDS("the peer's request violated the protocol",
			 "Look: check that access_flags and max_dest_rd_atomic of this QP allow the request; if they "
			 "do, the peer violates the protocol: check a capture of both directions with uroce-trace"));
	network_close(&network);
}

Test(sentences, a_send_longer_than_its_receive)
{
	RULE("E-4");
	open_usual();
	post_recv(uroce_mr_lkey(network.ends[1].mr), 100);
	post_usual(UROCE_WR_SEND, 200);
	expect_completion(1, WORDS("RECV wr_id 6 ", "LOC_LEN_ERR: the message is too long",
				   "Look: each receive, also in a shared receive queue, must be large enough for the "
				   "longest SEND of the peer"));
	expect_completion(0, WORDS("the message is longer than the peer's receive"));
	network_close(&network);
}

Test(sentences, receive_into_a_deregistered_region)
{
	struct uroce_mr *mr;

	RULE("E-4");
	open_usual();
	mr = region(1, network.ends[1].pd, 64, UROCE_ACCESS_LOCAL_WRITE);
	post_recv(uroce_mr_lkey(mr), 64);
	cr_assert_eq(uroce_mr_dereg(mr), 0);
	post_usual(UROCE_WR_SEND, 8);
	expect_completion(0, WORDS("REM_OP_ERR: the peer refused the request",
				   "NAK_REMOTE_OPERATIONAL. Look: the peer's receive entry is unusable: check the "
				   "completion of that receive at the peer"));
	expect_completion(1, WORDS("RECV wr_id 6 ", "a local key is unknown or no longer valid",
				   "Look: check that the region is registered and was not deregistered"));
	network_close(&network);
}

/* ---- what is wrong here ---- */

Test(sentences, a_key_of_another_domain)
{
	struct uroce_mr *mr;
	struct uroce_pd *pd;

	RULE("E-4");
	open_usual();
	cr_assert_eq(uroce_pd_alloc(network.ends[0].device, &pd), 0);
	mr = region(0, pd, 64, 0);
	post(UROCE_WR_RDMA_WRITE, 8, uroce_mr_lkey(mr), uroce_mr_rkey(network.ends[1].mr), 0);
	expect_completion(0, WORDS("LOC_PROT_ERR: a local key belongs to another protection domain",
				   "Look: register the memory in the protection domain of the QP"));
	cr_assert_eq(uroce_mr_dereg(mr), 0);
	cr_assert_eq(uroce_pd_dealloc(pd), 0);
	network_close(&network);
}

Test(sentences, read_into_a_region_without_local_write)
{
	struct uroce_mr *mr;

	RULE("E-4");
	open_usual();
	mr = region(0, network.ends[0].pd, 64, 0);
	post(UROCE_WR_RDMA_READ, 8, uroce_mr_lkey(mr), uroce_mr_rkey(network.ends[1].mr), 0);
	expect_completion(0, WORDS("a local key lacks the required access right",
				   "Look: receives, READs and atomics require UROCE_ACCESS_LOCAL_WRITE"));
	cr_assert_eq(uroce_mr_dereg(mr), 0);
	network_close(&network);
}

Test(sentences, a_range_outside_of_the_region)
{
	struct uroce_mr *mr;

	RULE("E-4");
	open_usual();
	mr = region(0, network.ends[0].pd, 64, 0);
	post(UROCE_WR_RDMA_WRITE, 65, uroce_mr_lkey(mr), uroce_mr_rkey(network.ends[1].mr), 0);
	expect_completion(0, WORDS("a local address range is outside its memory region",
				   "Look: compare address and length with the registration"));
	cr_assert_eq(uroce_mr_dereg(mr), 0);
	network_close(&network);
}

Test(sentences, a_message_of_more_than_2_GiB)
{
	RULE("E-4");
	open_usual();
	post_usual(UROCE_WR_RDMA_WRITE, 0x80000001);
	expect_completion(0, WORDS("LOC_LEN_ERR: the message is too long",
				   "Look: the maximum message length is 2^31 bytes"));
	network_close(&network);
}

Test(sentences, read_of_a_queue_pair_with_rd_atomic_zero)
{
	struct uroce_qp *qp;
	struct uroce_qp_attr attr = { .qp_state = UROCE_QPS_SQD };

	RULE("E-4");
	open_usual();
	qp = network.ends[0].qp;
	cr_assert_eq(uroce_qp_modify(qp, &attr, UROCE_QP_STATE, NULL), 0);
	post_usual(UROCE_WR_RDMA_READ, 8);
	cr_assert_eq(uroce_qp_modify(qp, &attr, UROCE_QP_MAX_RD_ATOMIC, NULL), 0, "%s", uroce_last_error());
	attr.qp_state = UROCE_QPS_RTS;
	cr_assert_eq(uroce_qp_modify(qp, &attr, UROCE_QP_STATE, NULL), 0);
	expect_completion(0, WORDS("LOC_QP_OP_ERR: max_rd_atomic is 0, so READs and atomics are not allowed",
				   "Look: set max_rd_atomic to 1 or more, or post no READs and atomics"));
	network_close(&network);
}

Test(sentences, window_over_a_region_without_bind_access)
{
	struct uroce_mw_bind bind;
	struct uroce_mw *mw;
	struct uroce_mr *mr;

	RULE("E-4");
	open_usual();
	mr = region(0, network.ends[0].pd, 64, UROCE_ACCESS_LOCAL_WRITE);
	cr_assert_eq(uroce_mw_alloc(network.ends[0].pd, UROCE_MW_TYPE_1, &mw), 0);
	bind = (struct uroce_mw_bind){
		.mr = mr,
		.addr = (uintptr_t)network.ends[0].buffer,
		.length_bytes = 8,
		.access = UROCE_ACCESS_REMOTE_READ,
	};
	cr_assert_eq(uroce_mw_bind(network.ends[0].qp, mw, &bind, 5, UROCE_SEND_SIGNALED), 0, "%s", uroce_last_error());
	expect_completion(
		0, WORDS("MW_BIND_ERR: the memory window or its region does not allow this bind",
			 "Look: a bind requires a region of the QP's protection domain with UROCE_ACCESS_MW_BIND, "
			 "access rights and a range within that region, and an unbound type 2 window"));
	cr_assert_eq(uroce_mw_dealloc(mw), 0);
	cr_assert_eq(uroce_mr_dereg(mr), 0);
	network_close(&network);
}

/* ---- queue pairs that fail for others ---- */

Test(sentences, a_completion_queue_that_is_full)
{
	RULE("E-4");
	open_ends(1);
	for (int i = 0; i < 2; i++) {
		struct uroce_qp_attr attr = usual(i);

		connect_end(i, &attr);
	}
	for (int i = 0; i < 8; i++)
		post_usual(UROCE_WR_RDMA_WRITE, 8);
	expect_queue_pair(
		0, WORDS("LOC_QP_OP_ERR: a completion queue of the QP overflowed, and a completion is lost. Look: "
			 "poll the CQ more often, or create it with a depth that holds the completions of all "
			 "outstanding requests and receives, also if all of them are flushed"));
	network_close(&network);
}

Test(sentences, request_flushed_after_a_failure)
{
	RULE("E-4");
	open_usual();
	post_recv(uroce_mr_lkey(network.ends[1].mr), 8);
	cr_assert_eq(uroce_qp_modify(network.ends[1].qp, &(struct uroce_qp_attr){ .qp_state = UROCE_QPS_ERR },
				     UROCE_QP_STATE, NULL),
		     0);
	expect_completion(1, WORDS("RECV wr_id 6 ",
				   "WR_FLUSH_ERR: flushed: the QP had failed or was moved to ERR. "
				   "Look: the first completion of this QP with a status other than WR_FLUSH_ERR, or "
				   "uroce_qp_last_error(), has the cause; the peer may have executed this request"));
	expect_queue_pair(1, WORDS("in ERR: its application set that state"));
	network_close(&network);
}

/* What is beside a failure, of a queue pair that is there, and of one that is gone. */
Test(sentences, observations_next_to_a_failure)
{
	char line[UROCE_WHY_BYTES], cut[16];
	uint32_t number;

	RULE("E-4");
	open_usual();
	number = uroce_qp_num(network.ends[0].qp);
	post_usual(UROCE_WR_SEND, 8);
	expect_queue_pair(0, WORDS("in ERR: RNR_RETRY_EXC_ERR: the peer had no receive posted"));
	cr_assert_eq(uroce_qp_why(network.engine, number ^ 0x800000, line, sizeof(line)), -ENOENT);
	for (int gone = 0; gone < 2; gone++) {
		cr_assert_eq(uroce_qp_why(network.engine, number, line, sizeof(line)), 0);
		expect_in(line, WORDS("in ERR: RNR_RETRY_EXC_ERR: the peer had no receive posted", "flow_control"));
		cr_assert_not(strstr(line, "Also observed"), "the cause says all: %s", line);
		cr_assert_eq(uroce_qp_why(network.engine, number, cut, sizeof(cut)), 0);
		cr_assert_eq(strlen(cut), sizeof(cut) - 1);
		cut[0] = '?'; /* in front of it: not looked at */
		cr_assert_eq(uroce_qp_why(network.engine, number, cut + 1, 1), 0);
		cr_assert_eq(cut[1], 0);
		if (gone == 0)
			cr_assert_eq(uroce_qp_destroy(network.ends[0].qp), 0);
		network.ends[0].qp = NULL;
	}
	network_close(&network);
}

Test(sentences, a_queue_pair_that_works)
{
	char line[UROCE_EXPLAIN_BYTES];
	struct uroce_qp_view view;
	struct uroce_wc wc;

	RULE("E-4");
	open_usual();
	post_usual(UROCE_WR_RDMA_WRITE, 8);
	wc = network_wait(&network, 0);
	cr_assert_str_eq(strstr(uroce_wc_explain(&wc, line, sizeof(line)), ": "), ": SUCCESS");
	cr_assert_str_eq(uroce_cause_text(wc.vendor_err), "no error");
	cr_assert_eq(uroce_inspect_qp(network.engine, uroce_qp_num(network.ends[0].qp), &view), 0);
	expect_in(uroce_qp_explain(&view, line, sizeof(line)), WORDS("in RTS: nothing has failed"));
	network_close(&network);
}
