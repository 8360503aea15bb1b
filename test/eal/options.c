/* options.c - what users want of a connection reaches the wire, the peer and the queue pairs as they said it */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>

#include "calls.h"
#include "rule.h"
#include "start.h"

TestSuite(options, .init = test_eal_start, .timeout = 60);

struct meeting {
	struct network network;
	struct uroce_cm_channel *channel;
	struct uroce_cm_id *listener, *client, *server;
	struct uroce_cm_event request;
};

static void meet(struct meeting *meeting, const struct uroce_cm_options *asking,
		 const struct uroce_cm_options *answering)
{
	calls_open(&meeting->network, 1, &meeting->channel);
	cr_assert_eq(uroce_cm_listen(meeting->channel, NULL, CALLS_PORT, 1, 0, &meeting->listener), 0);
	meeting->client = calls_dial(&meeting->network, meeting->channel, "10.0.0.2", asking);
	meeting->request = calls_wait(meeting->channel, UROCE_CM_CONNECT_REQUEST);
	meeting->server = meeting->request.id;
	calls_answer(&meeting->network, meeting->server, answering);
	for (int i = 0; i < 2; i++)
		calls_wait(meeting->channel, UROCE_CM_ESTABLISHED);
}

static void part(struct meeting *meeting)
{
	calls_hang_up(meeting->client);
	calls_wait(meeting->channel, UROCE_CM_DISCONNECTED);
	calls_hang_up(meeting->server);
	calls_close(&meeting->network, meeting->channel, meeting->listener);
}

static struct uroce_qp_attr attr_of(const struct uroce_cm_id *id)
{
	struct uroce_qp_attr attr;

	cr_assert_eq(uroce_qp_query(uroce_cm_qp(id), &attr), 0);
	return attr;
}

static struct uroce_send_wr read_of(struct network *network, int from, struct uroce_sge *sge)
{
	*sge = (struct uroce_sge){ (uintptr_t)network->ends[from].buffer, 8, uroce_mr_lkey(network->ends[from].mr) };
	return (struct uroce_send_wr){
		.sg_list = sge,
		.num_sge = 1,
		.opcode = UROCE_WR_RDMA_READ,
		.send_flags = UROCE_SEND_SIGNALED,
		.remote_addr = (uintptr_t)network->ends[!from].buffer,
		.rkey = uroce_mr_rkey(network->ends[!from].mr),
	};
}

/* A peer that does not keep to what was agreed: its user lets it have a READ outstanding all the same. */
static void let_read(struct network *network, struct uroce_qp *qp)
{
	struct uroce_qp_attr attr = { .qp_state = UROCE_QPS_SQD, .max_rd_atomic = 1 };

	cr_assert_eq(uroce_qp_modify(qp, &attr, UROCE_QP_STATE, NULL), 0);
	network_poll(network);
	cr_assert_eq(uroce_qp_modify(qp, &attr, UROCE_QP_MAX_RD_ATOMIC, NULL), 0);
	attr.qp_state = UROCE_QPS_RTS;
	cr_assert_eq(uroce_qp_modify(qp, &attr, UROCE_QP_STATE, NULL), 0);
}

/* C-6: as a host of NVMe asks, whose controller alone reads and writes. */
Test(options, explicit_zeros_reach_the_wire_and_both_ends)
{
	static struct meeting meeting;
	const struct uroce_cm_options zeros = { .option_mask = UROCE_CM_OPTION_ALL & ~UROCE_CM_OPTION_TIMEOUT };
	struct uroce_qp_attr client, server;
	struct uroce_send_wr wr;
	struct uroce_sge sge;

	RULE("C-6");
	meet(&meeting, &zeros, &zeros);
	cr_expect_eq(meeting.request.peer_initiator, 0);
	cr_expect_eq(meeting.request.peer_responder, 0);
	client = attr_of(meeting.client), server = attr_of(meeting.server);
	cr_expect_eq(client.retry_cnt, 0);
	cr_expect_eq(server.retry_cnt, 0, "the REQ's is for both");
	cr_expect_eq(client.rnr_retry, 0);
	cr_expect_eq(server.rnr_retry, 0);
	cr_expect_eq(client.min_rnr_timer, 0);
	cr_expect_eq(server.min_rnr_timer, 0);
	cr_expect_eq(client.max_rd_atomic, 0);
	cr_expect_eq(client.max_dest_rd_atomic, 0);
	cr_expect_eq(server.max_rd_atomic, 0);
	cr_expect_eq(server.max_dest_rd_atomic, 0);
	cr_expect_eq(client.timeout, 17, "this one was not meant");
	wr = read_of(&meeting.network, 0, &sge);
	cr_expect_eq(uroce_qp_post_send(uroce_cm_qp(meeting.client), &wr, NULL), -EINVAL, "ours are refused");
	let_read(&meeting.network, uroce_cm_qp(meeting.server));
	wr = read_of(&meeting.network, 1, &sge);
	cr_assert_eq(uroce_qp_post_send(uroce_cm_qp(meeting.server), &wr, NULL), 0);
	cr_expect_eq(network_wait(&meeting.network, 1).status, UROCE_WC_REM_INV_REQ_ERR, "and so are the peer's");
	for (int i = 0; i < 2; i++)
		calls_wait(meeting.channel, UROCE_CM_DISCONNECTED);
	calls_hang_up(meeting.client);
	calls_hang_up(meeting.server);
	calls_close(&meeting.network, meeting.channel, meeting.listener);
}

/* One bit is about one field: the others have their defaults. */
Test(options, unset_zero_selects_the_default)
{
	static struct meeting meeting;
	const struct uroce_cm_options asking = { .option_mask = UROCE_CM_OPTION_MAX_RD_ATOMIC },
				      answering = { .option_mask = UROCE_CM_OPTION_RNR_RETRY };
	struct uroce_qp_attr client, server;

	RULE("C-6");
	meet(&meeting, &asking, &answering);
	cr_expect_eq(meeting.request.peer_initiator, 0);
	cr_expect_eq(meeting.request.peer_responder, 8, "what its QP was made for");
	client = attr_of(meeting.client), server = attr_of(meeting.server);
	cr_expect_eq(client.retry_cnt, 7);
	cr_expect_eq(client.rnr_retry, 0, "the REP's is for the sends of who asked");
	cr_expect_eq(server.rnr_retry, 7);
	cr_expect_eq(client.min_rnr_timer, 12);
	cr_expect_eq(client.max_rd_atomic, 0);
	cr_expect_eq(client.max_dest_rd_atomic, 8);
	cr_expect_eq(server.max_rd_atomic, 8);
	cr_expect_eq(server.max_dest_rd_atomic, 0);
	part(&meeting);
}

/* An ACK timer that is off waits for ever, and the REQ says so. */
Test(options, a_connection_may_be_without_ack_timer)
{
	static struct meeting meeting;
	const struct uroce_cm_options asking = { .option_mask = UROCE_CM_OPTION_TIMEOUT };

	meet(&meeting, &asking, NULL);
	cr_expect_eq(attr_of(meeting.client).timeout, 0);
	part(&meeting);
}

/* C-16: both ends request the event; an end without the option gets none. */
Test(options, end_of_time_wait_is_reported_on_request)
{
	static struct meeting meeting;
	const struct uroce_cm_options resting = { .timewait_event = true, .timeout = 12 };
	struct uroce_cm_event event;

	RULE("C-16");
	for (int both = 0; both < 2; both++) {
		meet(&meeting, &resting, both ? &resting : NULL);
		cr_assert_eq(uroce_cm_disconnect(meeting.server), 0);
		for (int i = 0; i < 2; i++)
			calls_wait(meeting.channel, UROCE_CM_DISCONNECTED);
		event = calls_wait(meeting.channel, UROCE_CM_TIMEWAIT_EXIT);
		if (both)
			calls_wait(meeting.channel, UROCE_CM_TIMEWAIT_EXIT);
		else
			cr_expect_eq(event.id, meeting.client);
		cr_expect_eq(uroce_cm_wait(meeting.channel, 300, &event), -ETIMEDOUT);
		calls_hang_up(meeting.client);
		calls_hang_up(meeting.server);
		calls_close(&meeting.network, meeting.channel, meeting.listener);
	}
}
