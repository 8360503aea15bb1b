/* verbs.c - what only the whole library can show: sleeping on a CQ, sharing, windows, events, time-wait */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include <uroce/inspect.h>

#include "network.h"
#include "rule.h"
#include "start.h"

TestSuite(verbs, .init = test_eal_start, .timeout = 60);

static void poll_some(struct network *network)
{
	for (int i = 0; i < 2000; i++)
		network_poll(network);
}

static int post_recv(struct network *network, uint64_t wr_id)
{
	struct uroce_sge sge = {
		.addr = (uintptr_t)network->ends[1].buffer,
		.length = 4096,
		.lkey = uroce_mr_lkey(network->ends[1].mr),
	};
	struct uroce_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 };

	return uroce_qp_post_recv(network->ends[1].qp, &wr, NULL);
}

/* A SEND of end 0 with or without the solicited event bit. */
static void send(struct network *network, bool solicited)
{
	struct uroce_send_wr wr = {
		.opcode = UROCE_WR_SEND,
		.send_flags = UROCE_SEND_SIGNALED | (solicited ? UROCE_SEND_SOLICITED : 0),
	};

	cr_assert_eq(uroce_qp_post_send(network->ends[0].qp, &wr, NULL), 0);
}

static bool is_readable(int fd)
{
	struct pollfd waiting = { .fd = fd, .events = POLLIN };

	return poll(&waiting, 1, 0) == 1;
}

/* Takes the wake-up and everything in the CQ. */
static void drain(struct network *network, int end, int fd)
{
	uint64_t count;
	struct uroce_wc wc;

	if (is_readable(fd))
		cr_assert_eq(read(fd, &count, sizeof(count)), (ssize_t)sizeof(count));
	while (uroce_cq_poll(network->ends[end].cq, 1, &wc) == 1)
		;
}

/* TC-C-11: every combination of arming and completion. */
Test(verbs, armed_cq_wakes_its_reader_once)
{
	static struct network network;
	static const struct {
		bool armed, only_solicited, solicited, wakes;
	} rows[] = {
		{ false, false, true, false }, { true, false, false, true }, { true, false, true, true },
		{ true, true, false, false },  { true, true, true, true },
	};
	int fd;

	RULE("M-5");
	network_open_connected(&network, 1, 64);
	fd = uroce_cq_fd(network.ends[1].cq);
	cr_assert_geq(fd, 0);
	cr_assert_eq(uroce_cq_fd(network.ends[1].cq), fd, "one descriptor a CQ");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		drain(&network, 1, fd);
		for (uint64_t k = 0; k < 3; k++)
			cr_assert_eq(post_recv(&network, k), 0);
		if (rows[i].armed)
			uroce_cq_arm(network.ends[1].cq, rows[i].only_solicited);
		send(&network, rows[i].solicited);
		poll_some(&network);
		cr_assert_eq(is_readable(fd), rows[i].wakes, "row %zu", i);
		drain(&network, 1, fd);
		/* Once for each arming. */
		send(&network, true);
		poll_some(&network);
		cr_assert_eq(is_readable(fd), rows[i].armed && !rows[i].wakes, "row %zu, second message", i);
		send(&network, true);
		poll_some(&network);
		drain(&network, 1, fd);
		uroce_cq_arm(network.ends[1].cq, true);
		uroce_cq_arm(network.ends[1].cq, false); /* leave it as it was: take the arming back by a message */
		cr_assert_eq(post_recv(&network, 9), 0);
		send(&network, true);
		poll_some(&network);
		drain(&network, 1, fd);
	}
	network_close(&network);
}

Test(verbs, stronger_arming_stays_and_an_error_wakes_a_solicited_waiter)
{
	static struct network network;
	struct uroce_qp_attr attr = { .qp_state = UROCE_QPS_ERR };
	int fd;

	RULE("M-5");
	network_open_connected(&network, 1, 64);
	fd = uroce_cq_fd(network.ends[1].cq);
	cr_assert_eq(post_recv(&network, 1), 0);
	uroce_cq_arm(network.ends[1].cq, false);
	uroce_cq_arm(network.ends[1].cq, true);
	send(&network, false);
	poll_some(&network);
	cr_assert(is_readable(fd), "a second, narrower wish does not replace the first");
	drain(&network, 1, fd);
	cr_assert_eq(post_recv(&network, 2), 0);
	uroce_cq_arm(network.ends[1].cq, true);
	cr_assert_eq(uroce_qp_modify(network.ends[1].qp, &attr, UROCE_QP_STATE, NULL), 0);
	poll_some(&network);
	cr_assert(is_readable(fd), "a flushed receive is an error");
	network_close(&network);
}

/* TC-C-7, E-5: the CQ is shared by two QPs of two lcores; only one of them overflows it, both end. */
Test(verbs, overflowed_cq_ends_all_its_qps)
{
	static struct network network;
	struct uroce_qp_init_attr init = {
		.max_send_wr = 8,
		.max_recv_wr = 8,
		.max_send_sge = 1,
		.max_recv_sge = 1,
	};
	struct uroce_qp_attr attr = { .qp_state = UROCE_QPS_INIT, .pkey = 0xFFFF };
	struct uroce_qp_error error;
	struct uroce_qp_view view;
	struct uroce_event event;
	struct uroce_qp *other;
	struct uroce_wc wc[8];
	char line[UROCE_EXPLAIN_BYTES];

	RULE("E-5");
	RULE("M-5");
	RULE("V-1");
	network_open(&network, 2);
	network_create_qp(&network, 0, 1, 0);
	uroce_cq_set_context(network.ends[0].cq, 43);
	network_create_qp(&network, 1, 64, -1);
	network_connect(&network, false);
	init.lcore = uroce_engine_lcore(network.engine, 1);
	init.send_cq = init.recv_cq = network.ends[0].cq;
	cr_assert_eq(uroce_qp_create(network.ends[0].pd, &init, &other), 0);
	cr_assert_eq(uroce_qp_modify(other, &attr, UROCE_QP_STATE | UROCE_QP_ACCESS_FLAGS, NULL), 0);
	for (int i = 0; i < 8; i++)
		cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 8), 0);
	event = network_event(&network, 0, UROCE_EVENT_CQ_ERR);
	cr_assert_eq(event.cq, network.ends[0].cq);
	cr_assert_eq(event.qp_context, 43);
	poll_some(&network);
	for (int i = 0; i < 2; i++)
		network_event(&network, 0, UROCE_EVENT_QP_FATAL);
	cr_assert_not(uroce_event_poll(network.ends[0].device, &event), "each exactly once");
	cr_assert_eq(uroce_qp_query(other, &attr), 0);
	cr_assert_eq(attr.qp_state, UROCE_QPS_ERR);
	cr_assert_geq(uroce_cq_poll(network.ends[0].cq, 8, wc), 1);
	cr_assert_eq(wc[0].status, UROCE_WC_SUCCESS, "what is in the CQ stays readable");
	cr_assert_eq(uroce_inspect_qp(network.engine, uroce_qp_num(network.ends[0].qp), &view), 0);
	uroce_qp_explain(&view, line, sizeof(line));
	cr_assert(strstr(line, "a completion queue of the QP overflowed") &&
			  strstr(line, "Look: poll the CQ more often"),
		  "%s", line);
	cr_assert_eq(uroce_qp_last_error(network.ends[0].qp, &error), 0);
	cr_assert_neq(error.status, UROCE_WC_SUCCESS, "it failed by itself");
	cr_assert_eq(uroce_qp_destroy(other), 0);
	cr_assert_eq(uroce_qp_create(network.ends[0].pd, &init, &other), -EINVAL, "it serves nobody any more");
	network_close(&network);
}

/* SGEs and peers address a region from where it was said to lie, and from nowhere else. */
Test(verbs, region_is_addressed_from_its_given_start)
{
	static struct network network;
	const uint64_t va = 1ull << 40;
	struct uroce_mr *mrs[2];
	struct uroce_sge sge = { .addr = va + 16, .length = 8 };
	struct uroce_send_wr wr = {
		.opcode = UROCE_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1, .send_flags = UROCE_SEND_SIGNALED
	};

	RULE("M-1");
	network_open_connected(&network, 1, 64);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(uroce_mr_reg_at(network.ends[i].pd, network.ends[i].buffer, 4096, UINT64_MAX - 4095,
					     UROCE_ACCESS_LOCAL_WRITE, &mrs[i]),
			     -EINVAL, "it would wrap");
		cr_assert_eq(uroce_mr_reg_at(network.ends[i].pd, network.ends[i].buffer, 4096, va,
					     UROCE_ACCESS_ZERO_BASED, &mrs[i]),
			     -EINVAL, "that is at 0");
		cr_assert_eq(uroce_mr_reg_at(network.ends[i].pd, network.ends[i].buffer, 4096, va + 4,
					     UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_ATOMIC, &mrs[i]),
			     -EINVAL, "atomics would not be aligned");
		cr_assert_eq(uroce_mr_reg_at(network.ends[i].pd, network.ends[i].buffer, 4096, va,
					     UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_WRITE, &mrs[i]),
			     0);
	}
	memcpy(network.ends[0].buffer + 16, "at 2^40", 8);
	sge.lkey = uroce_mr_lkey(mrs[0]);
	wr.rkey = uroce_mr_rkey(mrs[1]);
	wr.remote_addr = va + 100;
	cr_assert_eq(uroce_qp_post_send(network.ends[0].qp, &wr, NULL), 0);
	cr_assert_eq(network_wait(&network, 0).status, UROCE_WC_SUCCESS);
	cr_assert_str_eq((const char *)network.ends[1].buffer + 100, "at 2^40");
	wr.remote_addr = (uintptr_t)network.ends[1].buffer;
	cr_assert_eq(uroce_qp_post_send(network.ends[0].qp, &wr, NULL), 0);
	cr_assert_eq(network_wait(&network, 0).status, UROCE_WC_REM_ACCESS_ERR);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(uroce_mr_dereg(mrs[i]), 0);
	network_close(&network);
}

#define SRQ_QPS 4

/* Senders on end 0, takers on end 1, on the lcores by turns. */
static void create_crowd(struct network *network, struct uroce_srq *srq, struct uroce_qp **senders,
			 struct uroce_qp **takers)
{
	struct uroce_qp_init_attr init = { .max_send_wr = 16, .max_send_sge = 1 };

	for (int i = 0; i < SRQ_QPS; i++) {
		struct uroce_qp_attr attr = { .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .min_rnr_timer = 1 };
		struct uroce_qp_attr told[2];

		init.lcore = uroce_engine_lcore(network->engine, (unsigned)i % 2);
		init.max_recv_sge = 1;
		init.max_recv_wr = 1;
		init.srq = NULL;
		init.send_cq = init.recv_cq = network->ends[0].cq;
		cr_assert_eq(uroce_qp_create(network->ends[0].pd, &init, &senders[i]), 0);
		init.srq = srq;
		init.send_cq = init.recv_cq = network->ends[1].cq;
		cr_assert_eq(uroce_qp_create(network->ends[1].pd, &init, &takers[i]), 0);
		cr_assert_eq(uroce_qp_query(senders[i], &told[0]), 0);
		cr_assert_eq(uroce_qp_query(takers[i], &told[1]), 0);
		attr.dest_qp_num = uroce_qp_num(takers[i]);
		attr.rq_psn = told[1].sq_psn;
		attr.path = (struct uroce_path){ .source = network_address("10.0.0.1"),
						 .dest = network_address("10.0.0.2") };
		cr_assert_eq(uroce_qp_connect(senders[i], &attr, NULL), 0);
		attr.dest_qp_num = uroce_qp_num(senders[i]);
		attr.rq_psn = told[0].sq_psn;
		attr.path = (struct uroce_path){ .source = network_address("10.0.0.2"),
						 .dest = network_address("10.0.0.1") };
		cr_assert_eq(uroce_qp_connect(takers[i], &attr, NULL), 0);
	}
}

/* M-4, over the two lcores of an engine: four QPs of end 1 take from one queue. */
Test(verbs, qps_of_two_lcores_share_receives)
{
	static struct network network;
	struct uroce_srq_attr srq_attr = { .max_wr = 64, .max_sge = 1 }, now;
	struct uroce_qp *senders[SRQ_QPS], *takers[SRQ_QPS];
	bool taken[64] = { false };
	struct uroce_event event;
	struct uroce_srq *srq;
	struct uroce_wc wc;

	RULE("M-4");
	network_open(&network, 2);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(uroce_cq_create(network.ends[i].device, 256, &network.ends[i].cq), 0);
	cr_assert_eq(uroce_srq_create(network.ends[1].pd, &srq_attr, &srq), 0);
	uroce_srq_set_context(srq, 41);
	create_crowd(&network, srq, senders, takers);
	cr_assert_eq(uroce_srq_arm(srq, 65), -EINVAL);
	for (uint64_t i = 0; i < 65; i++) {
		struct uroce_recv_wr wr = { .wr_id = i };

		cr_assert_eq(uroce_srq_post_recv(srq, &wr, NULL), i == 64 ? -ENOMEM : 0);
	}
	cr_assert_eq(uroce_srq_arm(srq, 20), 0);
	for (int i = 0; i < 64; i++) {
		struct uroce_send_wr wr = { .opcode = UROCE_WR_SEND, .send_flags = UROCE_SEND_SIGNALED };

		cr_assert_eq(uroce_qp_post_send(senders[i % SRQ_QPS], &wr, NULL), 0);
	}
	poll_some(&network);
	for (int i = 0; i < 64; i++) {
		wc = network_wait(&network, 1);
		cr_assert_eq(wc.status, UROCE_WC_SUCCESS);
		cr_assert(wc.wr_id < 64 && !taken[wc.wr_id], "receive %lu was taken twice", wc.wr_id);
		taken[wc.wr_id] = true;
	}
	event = network_event(&network, 1, UROCE_EVENT_SRQ_LIMIT_REACHED);
	cr_assert_eq(event.srq, srq);
	cr_assert_eq(event.qp_context, 41);
	cr_assert_eq(event.qp_num, 0);
	uroce_srq_query(srq, &now);
	cr_assert_eq(now.count, 0);
	cr_assert_eq(now.limit, 0);
	cr_assert_eq(uroce_srq_arm(srq, 1), 0);
	network_event(&network, 1, UROCE_EVENT_SRQ_LIMIT_REACHED);
	cr_assert_eq(uroce_srq_destroy(srq), -EBUSY);
	for (int i = 0; i < SRQ_QPS; i++) {
		cr_assert_eq(uroce_qp_destroy(senders[i]), 0);
		cr_assert_eq(uroce_qp_destroy(takers[i]), 0);
	}
	cr_assert_eq(uroce_srq_destroy(srq), 0);
	network_close(&network);
}

/* M-3 by way of handles: both types, a WRITE through them, invalidated by either side. */
Test(verbs, windows_open_a_part_of_a_region)
{
	static struct network network;
	struct uroce_send_wr wr = { .opcode = UROCE_WR_BIND_MW, .send_flags = UROCE_SEND_SIGNALED };
	struct uroce_mw *first, *second;
	struct uroce_mw_bind bind;
	struct uroce_wc wc;

	RULE("M-3");
	network_open_connected(&network, 1, 64);
	bind = (struct uroce_mw_bind){
		.mr = network.ends[1].mr,
		.addr = (uintptr_t)network.ends[1].buffer,
		.length_bytes = 4096,
		.access = UROCE_ACCESS_REMOTE_WRITE,
	};
	cr_assert_eq(uroce_mw_alloc(network.ends[1].pd, (enum uroce_mw_type)3, &first), -EINVAL);
	cr_assert_eq(uroce_mw_alloc(network.ends[1].pd, UROCE_MW_TYPE_1, &first), 0);
	cr_assert_eq(uroce_mw_alloc(network.ends[1].pd, UROCE_MW_TYPE_2, &second), 0);
	cr_assert_eq(uroce_mw_bind(network.ends[1].qp, second, &bind, 1, 0), -EINVAL, "type 2 is bound by a request");
	cr_assert_eq(uroce_mw_bind(network.ends[1].qp, first, &bind, 1, UROCE_SEND_SIGNALED), 0);
	wc = network_wait(&network, 1);
	cr_assert_eq(wc.status, UROCE_WC_SUCCESS);
	cr_assert_eq(wc.opcode, UROCE_WC_BIND_MW);
	wr.mw = second;
	wr.rkey = uroce_mw_next_rkey(second);
	wr.bind = &bind;
	cr_assert_eq(uroce_qp_post_send(network.ends[1].qp, &wr, NULL), 0);
	cr_assert_eq(network_wait(&network, 1).status, UROCE_WC_SUCCESS);
	cr_assert_eq(uroce_mw_rkey(second), wr.rkey);
	cr_assert_eq(uroce_mr_dereg(network.ends[1].mr), -EBUSY, "windows are bound to it");
	for (int i = 0; i < 2; i++) {
		struct uroce_sge sge = {
			.addr = (uintptr_t)network.ends[0].buffer,
			.length = 4096,
			.lkey = uroce_mr_lkey(network.ends[0].mr),
		};
		struct uroce_send_wr write = {
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = UROCE_WR_RDMA_WRITE,
			.send_flags = UROCE_SEND_SIGNALED,
			.remote_addr = bind.addr,
			.rkey = uroce_mw_rkey(i ? second : first),
		};

		memset(network.ends[1].buffer, 0, 4096);
		cr_assert_eq(uroce_qp_post_send(network.ends[0].qp, &write, NULL), 0);
		cr_assert_eq(network_wait(&network, 0).status, UROCE_WC_SUCCESS);
		cr_assert_arr_eq(network.ends[1].buffer, network.ends[0].buffer, 4096);
	}
	cr_assert_eq(post_recv(&network, 1), 0);
	wr = (struct uroce_send_wr){ .opcode = UROCE_WR_SEND_WITH_INV, .rkey = uroce_mw_rkey(second) };
	cr_assert_eq(uroce_qp_post_send(network.ends[0].qp, &wr, NULL), 0);
	wc = network_wait(&network, 1);
	cr_assert_eq(wc.wc_flags & UROCE_WC_WITH_INV, UROCE_WC_WITH_INV);
	cr_assert_eq(wc.invalidated_rkey, uroce_mw_rkey(second));
	cr_assert_eq(uroce_mw_dealloc(first), 0);
	cr_assert_eq(uroce_mw_dealloc(second), 0);
	network_close(&network);
}

/*
 * TC-F-7, P-2, P-7: a connection that was reset leaves its numbers alone for a while, and the next one starts
 * elsewhere.
 */
Test(verbs, reset_qp_enters_time_wait_and_starts_at_another_psn)
{
	static struct network network;
	struct uroce_qp_attr attr, before;
	uint32_t bad, changes = 0;

	RULE("P-2");
	RULE("P-7");
	network_open_connected(&network, 1, 64);
	cr_assert_eq(uroce_qp_query(network.ends[0].qp, &before), 0);
	for (int i = 0; i < 4; i++) {
		uint32_t psn = i ? attr.sq_psn : before.sq_psn;

		attr = before;
		attr.qp_state = UROCE_QPS_RESET;
		cr_assert_eq(uroce_qp_modify(network.ends[0].qp, &attr, UROCE_QP_STATE, NULL), 0);
		cr_assert_eq(uroce_qp_query(network.ends[0].qp, &attr), 0);
		changes += attr.sq_psn != psn;
		bad = UROCE_QP_STATES;
		cr_assert_eq(uroce_qp_connect(network.ends[0].qp, &before, &bad), -EAGAIN);
		cr_assert_eq(bad, 0, "no attribute is to blame: %s", uroce_qp_attr_name(bad));
		cr_assert_eq(uroce_qp_query(network.ends[0].qp, &attr), 0);
		cr_assert_eq(attr.qp_state, UROCE_QPS_INIT, "it got as far as that");
	}
	cr_assert_eq(changes, 1, "a new PSN after a connection, none after a RESET of nothing");
	/* The floor of the time-wait is a second. */
	for (int i = 0; i < 30 && uroce_qp_connect(network.ends[0].qp, &before, &bad) == -EAGAIN; i++) {
		attr.qp_state = UROCE_QPS_RESET;
		cr_assert_eq(uroce_qp_modify(network.ends[0].qp, &attr, UROCE_QP_STATE, NULL), 0);
		usleep(50000);
	}
	cr_assert_eq(uroce_qp_query(network.ends[0].qp, &attr), 0);
	cr_assert_eq(attr.qp_state, UROCE_QPS_RTS);
	network_close(&network);
}

/* P-2: the user's start PSN, including 0, when its mask bit is set; otherwise a random one, whatever sq_psn holds. */
Test(verbs, connection_starts_at_the_requested_psn)
{
	static struct network network;
	static const uint32_t wanted[] = { 0, 0xFFFFFF };

	RULE("P-2");
	network_open(&network, 1);
	for (uint32_t i = 0; i < 3; i++) {
		struct uroce_qp_attr attr = { .path = { .source = network_address("10.0.0.1"),
							.dest = network_address("10.0.0.2") },
					      .dest_qp_num = 77 };
		struct uroce_qp_attr told, now;
		uint32_t bad = 0;

		network_create_qp(&network, 0, 64, -1);
		cr_assert_eq(uroce_qp_query(network.ends[0].qp, &told), 0);
		cr_assert_not(told.use_sq_psn);
		attr.use_sq_psn = i < 2;
		attr.sq_psn = i < 2 ? wanted[i] : told.sq_psn ^ 1;
		cr_assert_eq(uroce_qp_connect(network.ends[0].qp, &attr, &bad), 0, "%s", uroce_qp_attr_name(bad));
		cr_assert_eq(uroce_qp_query(network.ends[0].qp, &now), 0);
		cr_assert_eq(now.sq_psn, i < 2 ? wanted[i] : told.sq_psn);
		cr_assert_eq(uroce_qp_destroy(network.ends[0].qp), 0);
		network.ends[0].qp = NULL;
	}
	network_create_qp(&network, 0, 64, -1);
	cr_assert_eq(uroce_qp_connect(network.ends[0].qp,
				      &(struct uroce_qp_attr){
					      .path = { .source = network_address("10.0.0.1"),
							.dest = network_address("10.0.0.2") },
					      .dest_qp_num = 77,
					      .use_sq_psn = true,
					      .sq_psn = 0x1000000,
				      },
				      &(uint32_t){ 0 }),
		     -EINVAL);
	network_close(&network);
}

/* E-4: the record and the line that a person reads. */
Test(verbs, a_failed_request_is_explained)
{
	static struct network network;
	char line[UROCE_EXPLAIN_BYTES], cut[16];
	struct uroce_qp_error error;
	struct uroce_wc wc;

	RULE("E-4");
	network_open_connected(&network, 1, 64);
	cr_assert_eq(uroce_qp_last_error(network.ends[0].qp, &error), 0);
	cr_assert_eq(error.status, UROCE_WC_SUCCESS);
	cr_assert_eq(uroce_qp_destroy(network.ends[1].qp), 0);
	network.ends[1].qp = NULL;
	cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 8), 0);
	wc = network_wait(&network, 0);
	cr_assert_eq(wc.status, UROCE_WC_RETRY_EXC_ERR);
	cr_assert_geq(wc.elapsed_us, 4000, "four timeouts of 1.05 ms");
	uroce_wc_explain(&wc, line, sizeof(line));
	for (const char *const *word =
		     (const char *const[]){ "RDMA_WRITE wr_id 5 ", "RETRY_EXC_ERR", "did not answer in time",
					    "tried 4 times in ", "no response was ever received", "drop_unknown_qpn",
					    NULL };
	     *word; word++)
		cr_assert(strstr(line, *word), "\"%s\" is not in: %s", *word, line);
	cr_assert_eq(strchr(line, '\n'), NULL);
	cr_assert_str_eq(uroce_wc_explain(&wc, cut, sizeof(cut)), "RDMA_WRITE wr_i");
	cr_assert_eq(uroce_qp_last_error(network.ends[0].qp, &error), 0);
	cr_assert_eq(error.status, UROCE_WC_RETRY_EXC_ERR);
	cr_assert_eq(error.cause, UROCE_CAUSE_TIMEOUT);
	cr_assert_eq(error.retries, 3);
	cr_assert_eq(error.elapsed_us, wc.elapsed_us);
	cr_assert_arr_eq(error.path.dest.bytes, network_address("10.0.0.2").bytes, 16);
	network_close(&network);
}

static void expect_explained(const struct uroce_wc *wc, const char *has, const char *has_not)
{
	char line[UROCE_EXPLAIN_BYTES];

	uroce_wc_explain(wc, line, sizeof(line));
	cr_assert(strstr(line, has), "\"%s\" is not in: %s", has, line);
	cr_assert_not(strstr(line, has_not), "\"%s\" is in: %s", has_not, line);
	cr_assert_lt(strlen(line), sizeof(line) - 1, "it may have been cut: %s", line);
}

/* E-4: the advice is that of the end at which it is read. */
Test(verbs, a_send_longer_than_its_receive_is_explained_at_both_ends)
{
	static struct network network;
	struct uroce_sge sge;
	struct uroce_recv_wr receive = { .sg_list = &sge, .num_sge = 1 };
	struct uroce_wc wc;

	RULE("E-4");
	network_open_connected(&network, 1, 64);
	sge = (struct uroce_sge){ .addr = (uintptr_t)network.ends[1].buffer,
				  .length = 100,
				  .lkey = uroce_mr_lkey(network.ends[1].mr) };
	cr_assert_eq(uroce_qp_post_recv(network.ends[1].qp, &receive, NULL), 0);
	cr_assert_eq(network_post(&network, UROCE_WR_SEND, 200), 0);
	wc = network_wait(&network, 1);
	cr_assert_eq(wc.status, UROCE_WC_LOC_LEN_ERR);
	expect_explained(&wc, "large enough for the longest SEND of the peer", "2^31");
	expect_explained(&wc, "the message is too long", "no response was");
	wc = network_wait(&network, 0);
	expect_explained(&wc, "the message is longer than the peer's receive", "2^31");
	network_close(&network);
}

/* E-4: every cause, as requester and responder: it fits, and only a request that left is said to be unanswered. */
Test(verbs, explanation_mentions_missing_answers_only_for_sent_requests)
{
	RULE("E-4");
	for (uint8_t cause = UROCE_CAUSE_TIMEOUT; cause < UROCE_CAUSES; cause++) {
		struct uroce_wc wc = { .status = UROCE_WC_RETRY_EXC_ERR,
				       .opcode = UROCE_WC_RECV_RDMA_WITH_IMM,
				       .vendor_err = cause,
				       .wr_id = UINT64_MAX,
				       .qp_num = 0xFFFFFF,
				       .psn = 0xFFFFFF,
				       .retries = 6,
				       .elapsed_us = UINT32_MAX,
				       .path = 2 };

		expect_explained(&wc, uroce_cause_text(cause), "no response was ever received");
		wc.aeth = 0x1F000001;
		expect_explained(&wc, uroce_cause_text(cause), "last response received");
		wc.opcode = UROCE_WC_ATOMIC_WRITE;
		expect_explained(&wc, uroce_cause_text(cause), "no response was ever received");
		wc.opcode = UROCE_WC_SEND;
		wc.aeth = 0;
		if (cause >= UROCE_CAUSE_LOCAL_KEY && cause <= UROCE_CAUSE_LENGTH)
			expect_explained(&wc, uroce_cause_text(cause), "no response was ever received");
		if (cause == UROCE_CAUSE_TIMEOUT)
			expect_explained(&wc, "drop_pkey", "last response");
	}
}

/* W-8: an address that never answers is not awaited forever. */
Test(verbs, a_peer_without_a_mac_fails_after_a_while)
{
	static struct network network;
	struct uroce_qp_attr attr = { .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .dest_qp_num = 77 };
	struct uroce_wc wc = { .wr_id = 0 };

	RULE("W-8");
	network_open(&network, 1);
	network_create_qp(&network, 0, 64, -1);
	attr.path = (struct uroce_path){ .source = network_address("10.0.0.1"), .dest = network_address("10.0.0.77") };
	cr_assert_eq(uroce_qp_connect(network.ends[0].qp, &attr, NULL), 0);
	cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 8), 0);
	while (uroce_cq_poll(network.ends[0].cq, 1, &wc) == 0)
		network_poll(&network);
	cr_assert_eq(wc.status, UROCE_WC_RETRY_EXC_ERR);
	cr_assert_eq(wc.vendor_err, UROCE_CAUSE_UNRESOLVED);
	network_event(&network, 0, UROCE_EVENT_QP_FATAL);
	network_close(&network);
}
