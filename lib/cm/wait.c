/* wait.c - timeouts of answers, and the number of tries */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "cm/conn.h"
#include "config/limits.h"

uint64_t cm_code_ns(uint8_t code)
{
	return 4096ull << (code & 31);
}

/* The smallest code whose time is at least ns. */
static uint8_t code_of(uint64_t ns)
{
	uint8_t code = 0;

	while (code < 31 && cm_code_ns(code) < ns)
		code++;
	return code;
}

static uint8_t at_most(uint8_t code, uint8_t limit)
{
	return code < limit ? code : limit;
}

uint8_t cm_ack_timeout(uint8_t code)
{
	return code ? at_most(code, CM_ACK_TIMEOUT_MAX) : CM_ACK_TIMEOUT_MAX;
}

void cm_send_mra(struct cm *cm, const struct cm_conn *conn, enum cm_answered answered)
{
	struct cm_message out = cm_begin(conn, CM_MRA);

	out.answered = (uint8_t)answered;
	out.service_timeout = code_of(cm->config.patience_ns);
	cm_send(cm, &conn->routes.send, &out);
}

/* ---- of a connection ---- */

void cm_wait_agree(struct cm_conn *conn, uint8_t response_timeout, uint8_t max_retries)
{
	conn->wait.response_timeout = response_timeout;
	conn->wait.max_retries = max_retries;
}

/* How long an answer is waited for: the peer's time and the way there and back. */
static uint64_t wait_ns(const struct cm *cm, const struct cm_conn *conn)
{
	uint8_t code = at_most(conn->wait.response_timeout, CM_RESPONSE_TIMEOUT_MAX);

	return cm_code_ns(code) + 2 * cm_code_ns(cm->config.packet_life);
}

/* Waits until until_ns. Then there is another try, or the connection is given up. */
static void wait_until(struct cm *cm, const struct cm_conn *conn, uint64_t until_ns)
{
	cm_table_set_timer(&cm->table, conn, until_ns < conn->wait.give_up_ns ? until_ns : conn->wait.give_up_ns);
}

void cm_await(struct cm *cm, struct cm_conn *conn, uint64_t now_ns)
{
	conn->wait.tries_left = conn->wait.max_retries;
	conn->wait.prolonged = false;
	conn->wait.give_up_ns = conn->stage.passive ? now_ns + CM_ANSWER_NS : CM_NEVER;
	wait_until(cm, conn, now_ns + wait_ns(cm, conn));
}

void cm_await_user(struct cm *cm, struct cm_conn *conn, uint64_t now_ns)
{
	conn->wait.give_up_ns = now_ns + cm->config.patience_ns;
	cm_table_set_timer(&cm->table, conn, conn->wait.give_up_ns);
}

bool cm_wait_take_try(struct cm *cm, struct cm_conn *conn, uint64_t now_ns)
{
	if (conn->wait.tries_left == 0 || now_ns >= conn->wait.give_up_ns)
		return false;
	conn->wait.tries_left--;
	wait_until(cm, conn, now_ns + wait_ns(cm, conn));
	return true;
}

void cm_wait_handle_mra(struct cm *cm, struct cm_conn *conn, const struct cm_message *in, uint64_t now_ns)
{
	uint8_t code = at_most(in->service_timeout, CM_SERVICE_TIMEOUT_MAX);

	/*
	 * Each MRA costs a try, and only one MRA may prolong the wait after the last try; otherwise a peer could
	 * prolong it for ever.
	 */
	if (conn->wait.tries_left == 0 && conn->wait.prolonged) {
		cm->counters[CM_CNT_DROP_STATE]++;
		return;
	}
	if (conn->wait.tries_left == 0)
		conn->wait.prolonged = true;
	else
		conn->wait.tries_left--;
	wait_until(cm, conn, now_ns + cm_code_ns(code) + wait_ns(cm, conn));
}
