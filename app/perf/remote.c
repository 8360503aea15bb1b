/* remote.c - runs cases between two processes: the client says what to do, the server does its half */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "common/eal.h"
#include "common/pipe.h"
#include "perf/message.h"
#include "perf/remote.h"
#include "perf/report.h"
#include "perf/result.h"
#include "perf/setup.h"
#include "perf/stream.h"
#include "perf/poll.h"

#define PROTOCOL 4
#define LOOK_S 0.001 /* time between two looks at the socket */
#define LOOK_CHECKING_S 0.00005
#define ANSWER_S 60.0 /* how long an answer is waited for */
#define PART_S 10.0
#define SETTLE_POLLS 256u
#define PIPE_PATIENCE_S 10u
/* code for 1.07 s: an end fills its memory within 8 timeouts, and a dead peer is given up after 9 */
#define PIPE_TIMEOUT 18u

/* ---- asking for checks, and checking ---- */

static void answer_check(struct perf_remote *remote, const json_t *message)
{
	struct perf_end *end = remote->end;
	json_int_t flow = json_integer_value(json_object_get(message, "flow"));
	json_int_t first = json_integer_value(json_object_get(message, "first"));
	json_int_t count = json_integer_value(json_object_get(message, "count"));
	uint64_t bad = 0;

	if (end->flows == NULL || flow < 0 || flow >= end->test.qps || first < 0 || count < 0 ||
	    count > end->layout.target_slots || !end->test.verify) {
		perf_end_fail(end, "the peer requested verification of data that is not part of this test");
		return;
	}
	bad = perf_stream_check_target(end, (uint32_t)flow, (uint64_t)first, (uint64_t)count);
	app_control_send(&remote->link, json_pack("{s:s, s:I, s:I, s:I}", "type", "checked", "flow", flow, "count",
						  count, "bad", (json_int_t)bad));
}

static void handle_check(struct perf_remote *remote, const json_t *message)
{
	struct perf_end *end = remote->end;
	json_int_t index = json_integer_value(json_object_get(message, "flow"));
	uint64_t count = (uint64_t)json_integer_value(json_object_get(message, "count"));
	uint64_t bad = (uint64_t)json_integer_value(json_object_get(message, "bad"));
	struct perf_flow *flow;

	if (end->flows == NULL || index < 0 || index >= end->test.qps || !end->flows[index].asked) {
		perf_end_fail(end, "the peer sent a verification result for data that was not requested");
		return;
	}
	flow = &end->flows[index];
	if (flow->completed == flow->limit)
		end->unchecked_flows--;
	flow->asked = false;
	flow->checked += count;
	flow->limit = flow->checked + end->layout.target_slots;
	end->tally.checked += count;
	end->tally.bad_bytes += bad;
	if (bad)
		perf_end_fail(end, "%lu wrong bytes in %lu messages of flow %lu", (unsigned long)bad,
			      (unsigned long)count, (unsigned long)index);
	else if (end->phase < PHASE_DRAIN && end->test.mode == PERF_BW)
		perf_stream_post(end, (uint32_t)index);
}

/* Asks the peer to check messages that have completed. Returns how many flows wait for an answer. */
static uint32_t ask_checks(struct perf_remote *remote, bool all)
{
	struct perf_end *end = remote->end;
	uint32_t waiting = 0;

	for (uint32_t i = 0; i < end->test.qps; i++) {
		struct perf_flow *flow = &end->flows[i];

		if (flow->limit == UINT64_MAX || flow->checked == flow->completed)
			continue;
		if (!flow->asked && (all || flow->completed == flow->limit)) {
			flow->asked = true;
			app_control_send(&remote->link,
					 json_pack("{s:s, s:I, s:I, s:I}", "type", "check", "flow", (json_int_t)i,
						   "first", (json_int_t)flow->checked, "count",
						   (json_int_t)(flow->completed - flow->checked)));
		}
		waiting += flow->asked;
	}
	return waiting;
}

/* ---- what goes on while a message is waited for ---- */

/* Polls once, and asks for the checks that are due. */
static bool rest(void *argument)
{
	struct perf_remote *remote = argument;
	struct perf_end *end = remote->end;
	bool urgent;

	if (end->flows)
		perf_end_poll(end);
	else
		uroce_lcore_poll(end->lcore);
	urgent = end->unchecked_flows && end->phase < PHASE_DRAIN;
	remote->link.look_s = urgent ? 0 : end->test.verify ? LOOK_CHECKING_S : LOOK_S;
	if (urgent)
		ask_checks(remote, false);
	return true;
}

static bool take_check(void *argument, const json_t *message)
{
	if (app_control_is(message, "check"))
		answer_check(argument, message);
	else if (app_control_is(message, "checked"))
		handle_check(argument, message);
	else
		return false;
	return true;
}

/* Waits for a message without contents. */
static int expect_only(struct perf_remote *remote, const char *type, double seconds)
{
	json_t *message = app_control_expect(&remote->link, type, seconds);

	json_decref(message);
	return message ? 0 : -1;
}

/* ---- the connection ---- */

/* The server waits for a client of its own kind; strangers are refused. */
static int meet_client(struct perf_remote *remote, const struct app_control_config *config, unsigned tcp_port)
{
	while (remote->first == NULL) {
		int listener = app_control_listen(config, tcp_port), error;

		if (listener < 0)
			return -1;
		perf_report_waiting(tcp_port);
		error = app_control_accept(&remote->link, config, listener);
		close(listener);
		if (error)
			return error;
		remote->first = app_control_expect(&remote->link, NULL, ANSWER_S);
		if (remote->first == NULL)
			app_control_close(&remote->link);
	}
	return 0;
}

/* The connection waits for answers at least as long as the queue pairs do, because it has to report their end. */
static int open_pipe(struct perf_remote *remote, const struct app_control_config *config, struct uroce_engine *engine,
		     const struct perf_options *options)
{
	const struct app_pipe_config pipe = {
		.engine = engine,
		.port = remote->end->port,
		.host = options->host,
		.service = (uint16_t)options->tcp_port,
		.timeout = (uint8_t)(options->test.timeout > PIPE_TIMEOUT ? options->test.timeout : PIPE_TIMEOUT),
		.patience_s = PIPE_PATIENCE_S,
	};

	return app_control_open_pipe(&remote->link, config, &pipe, perf_report_waiting_by_address, NULL);
}

int perf_remote_open(struct perf_remote *remote, struct uroce_engine *engine, struct perf_end *end,
		     const struct perf_options *options)
{
	const struct app_control_config config = {
		.program = "uroce-perf",
		.protocol = PROTOCOL,
		.port_option = PERF_PORT_OPTION,
		.host_option = "HOST",
		.rest = rest,
		.take = take_check,
		.argument = remote,
	};
	int code = APP_EXIT_OK;

	memset(remote, 0, sizeof(*remote));
	remote->link.fd = -1;
	remote->end = end;
	if (options->by_address)
		code = open_pipe(remote, &config, engine, options);
	else if (options->server)
		code = meet_client(remote, &config, options->tcp_port);
	else
		code = app_control_dial(&remote->link, &config, options->host, options->tcp_port);
	remote->open = code == 0;
	return code < 0 ? APP_EXIT_ENVIRONMENT : code;
}

void perf_remote_part(struct perf_remote *remote)
{
	bool server = remote->end->way == 1;

	if (!remote->open || remote->link.closed)
		return;
	remote->open = false;
	if (app_control_say(&remote->link, "bye") != 0)
		return;
	if (server)
		app_control_wait_closed(&remote->link, PART_S);
	else
		expect_only(remote, "bye", PART_S);
}

void perf_remote_close(struct perf_remote *remote)
{
	json_decref(remote->first);
	remote->first = NULL;
	app_control_close(&remote->link);
}

/* ---- a case ---- */

/* Memory for the QP numbers of both ends, and for how many requests the other end has completed. */
struct case_memory {
	struct perf_peer own, peer;
	uint32_t *numbers;
	uint64_t *completed;
};

/* The other end has windows if this end sends requests. */
static int allocate(struct case_memory *memory, const struct perf_case *test, bool is_client)
{
	bool requests = is_client || test->both_ways || test->mode == PERF_LAT;
	uint32_t qps = test->qps, windows = requests ? perf_case_windows(test) : 0;

	memory->numbers = calloc(4ul * qps + windows, sizeof(*memory->numbers));
	memory->completed = calloc(qps, sizeof(*memory->completed));
	if (memory->numbers == NULL || memory->completed == NULL)
		return -ENOMEM;
	memory->own.qp_nums = memory->numbers;
	memory->own.psns = memory->numbers + qps;
	memory->peer.qp_nums = memory->numbers + 2ul * qps;
	memory->peer.psns = memory->numbers + 3ul * qps;
	memory->peer.window_keys = memory->numbers + 4ul * qps;
	memory->peer.window_count = windows;
	return 0;
}

static void release(struct case_memory *memory)
{
	free(memory->numbers);
	free(memory->completed);
}

/* At the end, asks for checks of what has not been checked. */
static void check_rest(struct perf_remote *remote)
{
	uint64_t end = rte_rdtsc() + (uint64_t)(ANSWER_S * (double)rte_get_tsc_hz());

	while (remote->end->tally.errors == 0 && !remote->link.closed && ask_checks(remote, true) && rte_rdtsc() < end)
		json_decref(app_control_next(&remote->link));
	for (unsigned i = 0; i < SETTLE_POLLS; i++)
		perf_end_poll(remote->end);
}

static void check_final(struct perf_remote *remote, const struct perf_tally *other, const uint64_t *completed)
{
	const struct perf_tally *own = &remote->end->tally;

	if (own->errors == 0 && other->errors == 0 && !own->cut && !other->cut && remote->end->test.mode == PERF_BW)
		perf_stream_check_final(remote->end, completed);
}

static int set_up_client(struct perf_remote *remote, const struct perf_case *test, struct case_memory *memory)
{
	json_t *message;
	int error = allocate(memory, test, true);

	if (error || perf_setup_prepare(remote->end, test, &memory->own) != 0)
		return -1;
	if (app_control_send(&remote->link, perf_message_of_case(test, &memory->own)) != 0)
		return -1;
	message = app_control_expect(&remote->link, "ready", ANSWER_S);
	if (message == NULL)
		return -1;
	error = perf_message_to_peer(message, &memory->peer, test->qps);
	json_decref(message);
	if (error)
		return app_complain(-1, "the reply of the peer is invalid");
	perf_report_connection(test, &memory->own, &memory->peer);
	if (perf_setup_connect(remote->end, &memory->peer) != 0)
		return -1;
	if (app_control_say(&remote->link, "go") != 0)
		return -1;
	return expect_only(remote, "going", ANSWER_S);
}

/* Runs until this end is done. Returns -1 if the other side is gone, or does not follow the protocol. */
static int run_client(struct perf_remote *remote)
{
	int error = 0;

	perf_end_begin(remote->end);
	while (!perf_end_is_done(remote->end) && error == 0) {
		json_t *message = app_control_next(&remote->link);

		if (message)
			app_control_complain(message);
		error = message || remote->link.closed ? -1 : 0;
		json_decref(message);
	}
	if (error == 0)
		check_rest(remote);
	perf_end_sum_up(remote->end);
	return error;
}

/* The other side is gone, or answers nothing: it is waited for no more. */
static int give_up(struct perf_remote *remote)
{
	remote->open = false;
	app_control_give_up(&remote->link);
	return -1;
}

/* Adds the other end's tally to the result. Returns -1 if the other side does not send one. */
static int stop_client(struct perf_remote *remote, struct case_memory *memory, struct perf_result *result)
{
	struct perf_end *end = remote->end;
	struct perf_tally other;
	json_t *message;
	int error;

	if (app_control_send(&remote->link, perf_message_of_stop("stop", end)) != 0)
		return -1;
	if (end->unreachable)
		return give_up(remote);
	message = app_control_expect(&remote->link, "stopped", ANSWER_S);
	if (message == NULL)
		return -1;
	error = perf_message_to_stop(message, &other, memory->completed, end->test.qps);
	json_decref(message);
	if (error)
		return -1;
	check_final(remote, &other, memory->completed);
	perf_result_add(result, &other);
	return 0;
}

int perf_remote_run(struct perf_remote *remote, const struct perf_case *test, struct perf_result *result)
{
	struct case_memory memory = { 0 };
	int error;

	perf_result_begin(result, test, 1);
	error = set_up_client(remote, test, &memory);
	if (error == 0) {
		error = run_client(remote);
		if (error == 0)
			error = stop_client(remote, &memory, result);
		perf_result_add(result, &remote->end->tally);
		perf_result_close(result, remote->end, false);
	}
	perf_setup_finish(remote->end);
	release(&memory);
	return error;
}

/* ---- the server's half ---- */

__attribute__((format(printf, 2, 3))) static int refuse(struct perf_remote *remote, const char *format, ...)
{
	char reason[UROCE_EXPLAIN_BYTES];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(reason, sizeof(reason), format, arguments);
	va_end(arguments);
	app_control_refuse(&remote->link, reason);
	return app_complain(-1, "refused a test case of the client: %s", reason);
}

static int refuse_own_address(struct perf_remote *remote)
{
	char text[64];

	return refuse(remote, "both ends have the address %s: give each end its own address",
		      uroce_addr_format(&remote->end->port->addr, text, sizeof(text)));
}

static int set_up_server(struct perf_remote *remote, const json_t *message, struct case_memory *memory)
{
	struct uroce_device_info info;
	struct perf_case test;
	const char *why;

	if (perf_message_to_case(message, &test, &why) != 0)
		return refuse(remote, "%s", why);
	uroce_device_query(remote->end->port->device, &info);
	if (test.mtu_bytes > info.mtu_bytes)
		return refuse(remote, "path MTU %u: the server's port supports up to %u: use a smaller -m",
			      test.mtu_bytes, info.mtu_bytes);
	if (allocate(memory, &test, false) != 0 || perf_message_to_peer(message, &memory->peer, test.qps) != 0)
		return refuse(remote, "the client's QPs are invalid");
	if (memcmp(&memory->peer.addr, &remote->end->port->addr, sizeof(memory->peer.addr)) == 0)
		return refuse_own_address(remote);
	if (perf_setup_prepare(remote->end, &test, &memory->own) != 0)
		return refuse(remote, "the server cannot allocate the requested number of QPs and bytes");
	perf_report_connection(&test, &memory->own, &memory->peer);
	if (perf_setup_connect(remote->end, &memory->peer) != 0)
		return refuse(remote, "%s",
			      remote->end->failure[0] ? remote->end->failure : "the server's QPs cannot connect");
	if (app_control_send(&remote->link, perf_message_of_peer("ready", &memory->own, test.qps)) != 0)
		return -1;
	return expect_only(remote, "go", ANSWER_S);
}

/* Adds the client's errors to *failures. */
static int run_server(struct perf_remote *remote, struct case_memory *memory, uint64_t *failures)
{
	struct perf_end *end = remote->end;
	struct perf_tally other;
	json_t *stop;
	int error;

	perf_end_begin(end);
	if (app_control_say(&remote->link, "going") != 0)
		return -1;
	stop = app_control_expect(&remote->link, "stop", 0);
	if (stop == NULL) {
		perf_end_sum_up(end);
		return -1;
	}
	error = perf_message_to_stop(stop, &other, memory->completed, end->test.qps);
	json_decref(stop);
	if (error)
		return refuse(remote, "the client's counts are invalid");
	end->stopped |= other.errors > 0;
	*failures += other.errors;
	while (!perf_end_is_done(end) && !remote->link.closed)
		json_decref(app_control_next(&remote->link));
	check_rest(remote);
	check_final(remote, &other, memory->completed);
	perf_end_sum_up(end);
	return app_control_send(&remote->link, perf_message_of_stop("stopped", end));
}

static int serve_case(struct perf_remote *remote, const json_t *message, uint64_t *failures)
{
	struct case_memory memory = { 0 };
	int error = set_up_server(remote, message, &memory);

	if (error == 0) {
		error = run_server(remote, &memory, failures);
		perf_report_served(remote->end);
	}
	*failures += remote->end->tally.errors + remote->end->tally.bad_bytes;
	perf_setup_finish(remote->end);
	release(&memory);
	return error;
}

int perf_remote_serve(struct perf_remote *remote, uint64_t *failures)
{
	int error = 0;

	while (error == 0) {
		json_t *message = remote->first ? remote->first : app_control_expect(&remote->link, NULL, 0);

		remote->first = NULL;
		if (message == NULL)
			return -1;
		if (app_control_is(message, "bye")) {
			json_decref(message);
			return 0;
		}
		error = app_control_is(message, "case") ? serve_case(remote, message, failures) :
							  refuse(remote, "not a case");
		json_decref(message);
	}
	return error;
}
