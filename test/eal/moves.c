/* moves.c - connections of queue pairs that their users make and move, as UCX and SPDK do over rdma_cm */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>

#include "calls.h"
#include "rule.h"
#include "start.h"

TestSuite(moves, .init = test_eal_start, .timeout = 60);

#define WINDOW 512 /* of SACKs, as the server wants it */
#define MADE_FOR 8 /* READs that a queue pair answers at a time: see calls_qp_init() */

struct meeting {
	struct network network;
	struct uroce_cm_channel *channel;
	struct uroce_cm_id *listener, *client, *server;
	struct uroce_qp *qps[2]; /* NULL: its id's own */
};

static struct meeting meeting;

static void open_meeting(unsigned lcores)
{
	calls_open(&meeting.network, lcores, &meeting.channel);
	cr_assert_eq(uroce_cm_listen(meeting.channel, NULL, CALLS_PORT, 1, 0, &meeting.listener), 0);
}

static struct uroce_qp *make_qp(int end, unsigned lcore)
{
	struct uroce_qp_init_attr init = calls_qp_init(&meeting.network, end);
	struct uroce_qp *qp;

	init.lcore = uroce_engine_lcore(meeting.network.engine, lcore);
	cr_assert_eq(uroce_qp_create(meeting.network.ends[end].pd, &init, &qp), 0);
	return qp;
}

static void move(struct uroce_cm_id *id, struct uroce_qp *qp, enum uroce_qp_state from, enum uroce_qp_state to)
{
	for (int state = from; state <= (int)to; state++) {
		struct uroce_qp_attr attr;
		uint32_t mask;

		cr_assert_eq(uroce_cm_qp_attr(id, (enum uroce_qp_state)state, &attr, &mask), 0, "%d", state);
		if (attr.max_dest_rd_atomic > MADE_FOR) /* what nobody but its user knows */
			attr.max_dest_rd_atomic = MADE_FOR;
		if (attr.sack_window > WINDOW)
			attr.sack_window = WINDOW;
		cr_assert_eq(uroce_qp_modify(qp, &attr, mask, NULL), 0, "to %d: %s", state, uroce_last_error());
	}
}

/* The device is chosen, then the QP is made, then it is connected: the order of rdma_cm. */
static void ask(unsigned lcore)
{
	struct uroce_addr source = network_address("10.0.0.1"), dest = network_address("10.0.0.2");
	struct uroce_cm_options options = { .max_rd_atomic = 3, .max_dest_rd_atomic = 5, .sack_window = 2048 };

	cr_assert_eq(uroce_cm_id_create(meeting.channel, 1, &meeting.client), 0);
	cr_assert_eq(uroce_cm_route(meeting.client, &source, &dest, 0), 0);
	cr_assert_eq(uroce_cm_device(meeting.client), meeting.network.ends[0].device);
	calls_wait(meeting.channel, UROCE_CM_ROUTE_RESOLVED);
	meeting.qps[0] = make_qp(0, lcore);
	options.qp_num = uroce_qp_num(meeting.qps[0]);
	cr_assert_eq(uroce_cm_connect(meeting.client, NULL, NULL, CALLS_PORT, &options), 0);
}

static struct uroce_cm_event answer(unsigned lcore)
{
	struct uroce_cm_event event = calls_wait(meeting.channel, UROCE_CM_CONNECT_REQUEST);
	struct uroce_cm_options options = { .max_dest_rd_atomic = MADE_FOR, .sack_window = WINDOW };

	meeting.server = event.id;
	meeting.qps[1] = make_qp(1, lcore);
	options.qp_num = uroce_qp_num(meeting.qps[1]);
	move(meeting.server, meeting.qps[1], UROCE_QPS_INIT, UROCE_QPS_RTR);
	cr_assert_eq(uroce_cm_accept(meeting.server, &options), 0);
	return event;
}

static void establish(void)
{
	struct uroce_cm_event event = calls_wait(meeting.channel, UROCE_CM_CONNECT_RESPONSE);

	cr_assert_eq(event.id, meeting.client);
	if (meeting.qps[1])
		cr_expect_eq(event.peer_qp_num, uroce_qp_num(meeting.qps[1]));
	move(meeting.client, meeting.qps[0], UROCE_QPS_INIT, UROCE_QPS_RTS);
	cr_assert_eq(uroce_cm_establish(meeting.client), 0);
	cr_expect_eq(uroce_cm_establish(meeting.client), -ENOTCONN, "twice");
	cr_assert_eq(calls_wait(meeting.channel, UROCE_CM_ESTABLISHED).id, meeting.server);
	if (meeting.qps[1])
		move(meeting.server, meeting.qps[1], UROCE_QPS_RTS, UROCE_QPS_RTS);
}

static struct uroce_qp *qp_of(int end)
{
	return meeting.qps[end] ? meeting.qps[end] : uroce_cm_qp(end ? meeting.server : meeting.client);
}

static struct uroce_qp_attr attr_of(struct uroce_qp *qp)
{
	struct uroce_qp_attr attr;

	cr_assert_eq(uroce_qp_query(qp, &attr), 0);
	return attr;
}

static void transfer_from(int end, enum uroce_wr_opcode opcode)
{
	const struct end *own = &meeting.network.ends[end], *peer = &meeting.network.ends[!end];
	struct uroce_sge sge = { (uintptr_t)own->buffer, 4096, uroce_mr_lkey(own->mr) };
	struct uroce_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = UROCE_SEND_SIGNALED,
		.remote_addr = (uintptr_t)peer->buffer + 8192,
		.rkey = uroce_mr_rkey(peer->mr),
	};

	for (int i = 0; i < 4096; i++)
		(opcode == UROCE_WR_RDMA_READ ? peer->buffer + 8192 : own->buffer)[i] = (uint8_t)(i * 3 + end);
	cr_assert_eq(uroce_qp_post_send(qp_of(end), &wr, NULL), 0);
	cr_expect_eq(network_wait(&meeting.network, end).status, UROCE_WC_SUCCESS);
	cr_expect_arr_eq(own->buffer, peer->buffer + 8192, 4096);
}

static void read_from(int end)
{
	transfer_from(end, UROCE_WR_RDMA_READ);
}

static void part(void)
{
	cr_assert_eq(uroce_cm_disconnect(meeting.client), 0);
	for (int i = 0; i < 2; i++)
		calls_wait(meeting.channel, UROCE_CM_DISCONNECTED);
	for (int i = 0; i < 2; i++) {
		cr_expect_eq(attr_of(qp_of(i)).qp_state, meeting.qps[i] ? UROCE_QPS_RTS : UROCE_QPS_ERR,
			     "only its user moves it");
		if (meeting.qps[i])
			cr_assert_eq(uroce_qp_destroy(meeting.qps[i]), 0);
	}
	calls_hang_up(meeting.client);
	calls_hang_up(meeting.server);
	calls_close(&meeting.network, meeting.channel, meeting.listener);
}

/* C-6: the attributes contain the negotiated values. */
Test(moves, both_users_move_their_queue_pairs)
{
	struct uroce_cm_event request;

	RULE("C-6");
	RULE("C-9");
	open_meeting(1);
	ask(0);
	request = answer(0);
	cr_expect_eq(request.peer_qp_num, uroce_qp_num(meeting.qps[0]));
	cr_expect_eq(request.peer_initiator, 3);
	cr_expect_eq(request.peer_responder, 5);
	establish();
	cr_expect_eq(attr_of(meeting.qps[0]).max_rd_atomic, 3);
	cr_expect_eq(attr_of(meeting.qps[1]).max_dest_rd_atomic, 3);
	cr_expect_eq(attr_of(meeting.qps[1]).max_rd_atomic, 5);
	cr_expect_eq(attr_of(meeting.qps[0]).max_dest_rd_atomic, 5);
	cr_expect_eq(attr_of(meeting.qps[1]).retry_cnt, 7);
	for (int end = 0; end < 2; end++)
		cr_expect_eq(attr_of(meeting.qps[end]).sack_window, WINDOW, "S-22, end %d", end);
	read_from(0);
	read_from(1);
	part();
}

/* A queue pair of the user's own need not live where its connection does. */
Test(moves, queue_pairs_live_on_any_lcore)
{
	open_meeting(2);
	ask(1);
	answer(0);
	establish();
	read_from(0);
	read_from(1);
	part();
}

/* The peer cannot detect who moves a queue pair. */
Test(moves, one_end_is_moved_by_its_user_and_the_other_is_not)
{
	open_meeting(1);
	ask(0);
	meeting.server = calls_wait(meeting.channel, UROCE_CM_CONNECT_REQUEST).id;
	meeting.qps[1] = NULL;
	calls_answer(&meeting.network, meeting.server, NULL);
	establish();
	transfer_from(0, UROCE_WR_RDMA_WRITE);
	part();
	open_meeting(1);
	meeting.qps[0] = NULL;
	meeting.client = calls_dial(&meeting.network, meeting.channel, "10.0.0.2", NULL);
	answer(0);
	for (int i = 0; i < 2; i++)
		calls_wait(meeting.channel, UROCE_CM_ESTABLISHED);
	move(meeting.server, meeting.qps[1], UROCE_QPS_RTS, UROCE_QPS_RTS);
	transfer_from(0, UROCE_WR_RDMA_WRITE);
	part();
}

/* C-9: its user sees COMM_EST, and tells. */
Test(moves, packet_before_rtu_raises_comm_est)
{
	struct uroce_event event = { 0 };

	RULE("C-9");
	open_meeting(1);
	ask(0);
	answer(0);
	calls_wait(meeting.channel, UROCE_CM_CONNECT_RESPONSE);
	move(meeting.client, meeting.qps[0], UROCE_QPS_INIT, UROCE_QPS_RTS);
	read_from(0);
	while (event.type != UROCE_EVENT_COMM_EST) {
		network_poll(&meeting.network);
		uroce_event_poll(meeting.network.ends[1].device, &event);
	}
	cr_assert_eq(uroce_cm_notify(meeting.server), 0);
	cr_assert_eq(calls_wait(meeting.channel, UROCE_CM_ESTABLISHED).id, meeting.server);
	cr_assert_eq(uroce_cm_establish(meeting.client), 0);
	move(meeting.server, meeting.qps[1], UROCE_QPS_RTS, UROCE_QPS_RTS);
	read_from(1);
	part();
}

/* C-14: of a response that does not please. */
Test(moves, a_response_may_be_rejected)
{
	struct uroce_cm_event event;

	RULE("C-14");
	open_meeting(1);
	ask(0);
	answer(0);
	calls_wait(meeting.channel, UROCE_CM_CONNECT_RESPONSE);
	cr_assert_eq(uroce_cm_reject(meeting.client, "no", 3), 0);
	event = calls_wait(meeting.channel, UROCE_CM_REJECTED);
	cr_expect_eq(event.id, meeting.server);
	cr_expect_str_eq((const char *)event.private_data, "no");
	for (int i = 0; i < 2; i++)
		cr_assert_eq(uroce_qp_destroy(meeting.qps[i]), 0);
	calls_hang_up(meeting.client);
	calls_hang_up(meeting.server);
	calls_close(&meeting.network, meeting.channel, meeting.listener);
}
