/* host.c - a host of an NVMe over RDMA target, for measuring and for tests */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmeperf/host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/eal.h"
#include "common/explain.h"
#include "common/names.h"
#include "nvmeperf/memory.h"
#include "nvmf/bytes.h"
#include "nvmf/command.h"
#include "nvmf/hello.h"

#define PATIENCE_NS 20000000000ull
#define SPIN_NS 10000000ull /* a wait polls for so long before it sleeps between polls */
#define NAP_US 100u
#define GOODBYE_NS 500000000ull
#define HOST_READS 16u
#define CONSUMER_REJECTS 28u /* reason of a REJ */
#define CC_ENABLED (NVME_CC_ENTRIES_USUAL | NVME_CC_ENABLE)
#define CC_SHUTDOWN (CC_ENABLED | 1u << 14)
#define PROPERTY_WIDE 1u
#define TIMEOUT_WITH_ALTERNATE 14u /* code of the ACK timeout: a QP leaves a cut path after half a second */

/* ---- connections ---- */

/* Prints the first failure, not its consequences. */
static void tell(struct host *host, const struct link *link, const char *what, const char *more)
{
	char address[64];

	if (host->told)
		return;
	host->told = true;
	uroce_addr_format(&host->config.target, address, sizeof(address));
	app_complain(APP_EXIT_FAILURE, "%s port %u, queue %u: %s%s%s", address, host->config.service, link->qid, what,
		     *more ? ": " : "", more);
}

static void tell_refusal(struct host *host, const struct link *link, const struct uroce_cm_event *event)
{
	if (event->reason == APP_REJ_NOBODY_LISTENS)
		tell(host, link, "connection refused", "nobody listens");
	else if (event->reason == CONSUMER_REJECTS)
		tell(host, link, "refused", nvmf_refusal_text(get_le16(event->private_data + 2)));
	else
		tell(host, link, "refused", uroce_cm_reason_name(event->reason));
}

static void handle_event(struct host *host, const struct uroce_cm_event *event)
{
	struct link *link = (struct link *)(uintptr_t)event->context;

	if (link == NULL)
		return;
	if (event->type == UROCE_CM_ESTABLISHED) {
		link->established = true;
		return;
	}
	if (event->type == UROCE_CM_ALTERNATE && event->status == 0) {
		link->has_alternate = true;
		return;
	}
	link->over = true;
	if (event->type == UROCE_CM_REJECTED)
		tell_refusal(host, link, event);
	else if (event->type == UROCE_CM_DISCONNECTED && event->status == 0)
		tell(host, link, "the target closed the connection", "");
	else
		tell(host, link, uroce_cm_event_name(event->type), strerror(-event->status));
}

static void handle_events(struct host *host)
{
	struct uroce_cm_event event;

	while (uroce_cm_next(host->config.channel, &event) == 0)
		handle_event(host, &event);
}

static void post_receive(struct link *link, uint32_t slot)
{
	struct host *host = link->host;
	struct uroce_sge sge = { (uintptr_t)link->responses + slot * NVME_CQE_BYTES, NVME_CQE_BYTES,
				 uroce_mr_lkey(host->objects.mr) };
	struct uroce_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 };

	uroce_qp_post_recv(link->qp, &wr, NULL);
}

/* Returns whether *what has become so. */
static bool wait_for(struct host *host, const struct link *link, const bool *what, bool value)
{
	uint64_t began_ns = app_now_ns();
	struct app_wait wait = { .began = app_now_seconds() };
	struct host_done done[16];
	char address[64];

	uroce_addr_format(&host->config.target, address, sizeof(address));
	while (*what != value && !link->over && app_now_ns() < began_ns + PATIENCE_NS) {
		host->config.poll(host->config.argument);
		if (host_poll(host, done, 16) < 0)
			break;
		if (app_now_ns() > began_ns + SPIN_NS)
			usleep(NAP_US);
		app_wait_report(&wait, "the target at %s, port %u", address, host->config.service);
	}
	return *what == value;
}

static int connect_link(struct host *host, struct link *link)
{
	uint8_t words[NVMF_HELLO_BYTES];
	struct nvmf_hello hello = { .qid = link->qid, .commands = link->depth, .responses = link->depth };
	struct uroce_cm_options options = { .private_data = words,
					    .private_bytes = sizeof(words),
					    .timeout = host->config.alternate ? TIMEOUT_WITH_ALTERNATE :
										host->config.timeout,
					    .retry_cnt = host->config.retry_cnt,
					    .alternate = host->config.alternate };
	struct uroce_qp_init_attr init = {
		.send_cq = host->objects.cq,
		.recv_cq = host->objects.cq,
		.qp_context = (uintptr_t)link,
		.max_send_wr = link->depth,
		.max_recv_wr = link->depth,
		.max_send_sge = 1,
		.max_recv_sge = 1,
		.max_dest_rd_atomic = HOST_READS,
	};
	int error;

	nvmf_hello_build(&hello, words);
	error = uroce_cm_id_create(host->config.channel, (uintptr_t)link, &link->id);
	if (error == 0)
		error = uroce_cm_qp_create(link->id, host->objects.pd, &init,
					   UROCE_ACCESS_REMOTE_READ | UROCE_ACCESS_REMOTE_WRITE, &link->qp);
	for (uint32_t i = 0; i < link->depth && error == 0; i++)
		post_receive(link, i);
	if (error == 0)
		error = uroce_cm_connect(link->id, NULL, &host->config.target, host->config.service, &options);
	if (error)
		tell(host, link, "cannot be connected to", strerror(-error));
	else if (!wait_for(host, link, &link->established, true) && !link->over)
		tell(host, link, "nobody answers", "");
	else if (options.alternate && !wait_for(host, link, &link->has_alternate, true) && !link->over)
		tell(host, link, "its second path was rejected", "");
	return link->established && !host->told ? APP_EXIT_OK : APP_EXIT_ENVIRONMENT;
}

/* ---- commands ---- */

static void put_sgl(struct host *host, uint8_t *sqe, const uint8_t *data, uint32_t bytes, bool in_capsule)
{
	memset(sqe + SQE_SGL, 0, 16);
	sqe[SQE_FLAGS] = NVME_FLAGS_PSDT_SGL;
	if (in_capsule) {
		put_le32(sqe + SQE_SGL + 8, bytes);
		sqe[SQE_SGL_TYPE] = NVME_SGL_IN_CAPSULE;
		return;
	}
	sqe[SQE_SGL_TYPE] = NVME_SGL_KEYED;
	if (bytes == 0)
		return;
	put_le64(sqe + SQE_SGL, (uintptr_t)data);
	sqe[SQE_SGL + 8] = (uint8_t)bytes;
	sqe[SQE_SGL + 9] = (uint8_t)(bytes >> 8);
	sqe[SQE_SGL + 10] = (uint8_t)(bytes >> 16);
	put_le32(sqe + SQE_SGL + 11, uroce_mr_rkey(host->objects.mr));
}

static int send_command(struct link *link, struct command *command, uint32_t capsule_bytes)
{
	struct uroce_sge sge = { (uintptr_t)command->sqe, capsule_bytes, uroce_mr_lkey(link->host->objects.mr) };
	struct uroce_send_wr wr = { .sg_list = &sge,
				    .num_sge = 1,
				    .opcode = UROCE_WR_SEND,
				    .send_flags = UROCE_SEND_SIGNALED,
				    .wr_id = (uint64_t)(command - link->commands) };

	put_le16(command->sqe + SQE_CID, (uint16_t)(command - link->commands));
	if (link->over || uroce_qp_post_send(link->qp, &wr, NULL) != 0)
		return -ENOTCONN;
	command->busy = command->leaving = true;
	link->under_way++;
	return 0;
}

static struct command *free_command(struct link *link)
{
	/* A queue is full when all its entries but one are in use. */
	if (link->under_way + 1 >= link->depth)
		return NULL;
	for (uint32_t i = 0; i < link->depth; i++) {
		struct command *command = &link->commands[link->next];

		if (!command->busy && !command->leaving)
			return command;
		link->next = (link->next + 1) % link->depth;
	}
	return NULL;
}

static uint16_t admin_on(struct host *host, struct link *link, uint8_t sqe[NVME_SQE_BYTES], uint8_t *data,
			 uint32_t bytes, uint64_t *result)
{
	struct command *command = free_command(link);

	if (command == NULL)
		return NVME_INTERNAL_ERROR;
	memcpy(command->sqe, sqe, NVME_SQE_BYTES);
	if (data)
		memcpy(command->data, data, bytes);
	put_sgl(host, command->sqe, command->data, data ? bytes : 0, false);
	if (send_command(link, command, NVME_SQE_BYTES) != 0)
		return NVME_ABORTED;
	if (!wait_for(host, link, &command->busy, false))
		return NVME_ABORTED;
	if (data)
		memcpy(data, command->data, bytes);
	if (result)
		*result = host->admin_result;
	return host->admin_status;
}

uint16_t host_admin(struct host *host, uint8_t sqe[NVME_SQE_BYTES], uint8_t *data, uint32_t bytes, uint64_t *result)
{
	return admin_on(host, &host->links[0], sqe, data, bytes, result);
}

static uint16_t fabrics_connect(struct host *host, struct link *link, uint64_t *result)
{
	uint8_t sqe[NVME_SQE_BYTES] = { NVME_FABRICS }, data[NVME_CONNECT_BYTES] = { 0 };
	uint16_t status;

	sqe[SQE_FABRICS_TYPE] = NVME_CONNECT;
	put_le16(sqe + 42, link->qid);
	put_le16(sqe + 44, (uint16_t)(link->depth - 1));
	put_le32(sqe + 48, link->qid ? 0 : host->config.keep_alive_ms);
	data[0] = 1; /* the host's id */
	put_le16(data + 16, link->qid ? host->cntlid : NVME_CNTLID_ANY);
	put_text(data + 256, NVME_NQN_BYTES, host->config.nqn, '\0');
	put_text(data + 512, NVME_NQN_BYTES, host->config.host_nqn, '\0');
	status = admin_on(host, link, sqe, data, sizeof(data), result);
	if (status == NVME_OK && link->qid == 0)
		host->cntlid = (uint16_t)*result;
	return status;
}

static uint16_t set_property(struct host *host, uint32_t cc)
{
	uint8_t sqe[NVME_SQE_BYTES] = { NVME_FABRICS };

	sqe[SQE_FABRICS_TYPE] = NVME_PROPERTY_SET;
	put_le32(sqe + SQE_DW11, NVME_CC);
	put_le32(sqe + SQE_DW12, cc);
	return host_admin(host, sqe, NULL, 0, NULL);
}

static uint16_t identify(struct host *host, uint8_t cns, uint32_t nsid, uint8_t page[NVME_PAGE_BYTES])
{
	uint8_t sqe[NVME_SQE_BYTES] = { NVME_IDENTIFY };

	put_le32(sqe + SQE_NSID, nsid);
	sqe[SQE_DW10] = cns;
	return host_admin(host, sqe, page, NVME_PAGE_BYTES, NULL);
}

static uint16_t set_queues(struct host *host)
{
	uint8_t sqe[NVME_SQE_BYTES] = { NVME_SET_FEATURES };
	uint32_t last = host->config.queues - 1;
	uint64_t result = 0;
	uint16_t status;

	sqe[SQE_DW10] = NVME_FEATURE_QUEUES;
	put_le32(sqe + SQE_DW11, last | last << 16);
	status = host_admin(host, sqe, NULL, 0, &result);
	if (status != NVME_OK || (result & 0xFFFF) >= last)
		return status;
	host->told = true;
	app_complain(APP_EXIT_ENVIRONMENT, "--queues %u: the target supports only %lu I/O queues: use a smaller number",
		     host->config.queues, (result & 0xFFFF) + 1);
	return NVME_INVALID_FIELD;
}

void host_keep_alive(struct host *host)
{
	uint8_t sqe[NVME_SQE_BYTES] = { NVME_KEEP_ALIVE };
	struct link *link = &host->links[0];
	struct command *command;

	if (host->config.keep_alive_ms == 0 || app_now_ns() - host->kept_ns < host->config.keep_alive_ms * 500000ull)
		return;
	command = free_command(link);
	if (command == NULL)
		return;
	host->kept_ns = app_now_ns();
	memcpy(command->sqe, sqe, sizeof(sqe));
	put_sgl(host, command->sqe, NULL, 0, false);
	send_command(link, command, NVME_SQE_BYTES);
}

uint8_t *host_buffer(struct host *host, uint16_t queue)
{
	struct command *command = free_command(&host->links[queue + 1]);

	return command ? command->data : NULL;
}

int host_submit(struct host *host, uint16_t queue, enum nvme_io_opcode opcode, uint64_t first, uint32_t count,
		uint64_t tag)
{
	struct link *link = &host->links[queue + 1];
	struct command *command = free_command(link);
	uint32_t bytes = count * host->block_bytes;
	bool inside = opcode == NVME_WRITE && bytes <= host->config.in_capsule_bytes;
	uint8_t *sqe;

	if (command == NULL)
		return -EAGAIN;
	sqe = command->sqe;
	memset(sqe, 0, NVME_SQE_BYTES);
	sqe[SQE_OPCODE] = (uint8_t)opcode;
	put_le32(sqe + SQE_NSID, host->config.nsid);
	put_le64(sqe + SQE_DW10, first);
	put_le32(sqe + SQE_DW12, count - 1);
	put_sgl(host, sqe, command->data, opcode == NVME_FLUSH ? 0 : bytes, inside);
	if (inside)
		memcpy(sqe + NVME_SQE_BYTES, command->data, bytes);
	command->tag = tag;
	return send_command(link, command, NVME_SQE_BYTES + (inside ? bytes : 0));
}

/*
 * A response has arrived. Returns whether it answers a command that the caller has submitted; if so *done names the
 * command.
 */
static bool handle_response(struct link *link, uint32_t slot, struct host_done *done)
{
	struct host *host = link->host;
	const uint8_t *cqe = link->responses + slot * NVME_CQE_BYTES;
	uint16_t cid = get_le16(cqe + 12);
	struct command *command = &link->commands[cid % link->depth];

	if (cid >= link->depth || !command->busy) {
		tell(host, link, "the target responded to a command that is not outstanding", "");
		link->over = true;
		return false;
	}
	command->busy = false;
	link->under_way--;
	host->admin_status = get_le16(cqe + 14) >> 1;
	host->admin_result = get_le64(cqe);
	*done = (struct host_done){ command->tag, (uint16_t)(link->qid - 1), host->admin_status, command->data };
	post_receive(link, slot);
	return link->qid > 0;
}

/*
 * Does the completion show that the queue pair has failed? A flushed request alone does not: its queue pair may just
 * have been closed, which an event tells.
 */
static bool has_failed(const struct link *link, const struct uroce_wc *wc)
{
	struct uroce_qp_error error;

	return wc->status != UROCE_WC_WR_FLUSH_ERR ||
	       (uroce_qp_last_error(link->qp, &error) == 0 && error.status != UROCE_WC_SUCCESS);
}

int host_poll(struct host *host, struct host_done *done, int count)
{
	struct uroce_wc wc[32];
	char line[UROCE_EXPLAIN_BYTES];
	int taken, told = 0;

	handle_events(host);
	taken = uroce_cq_poll(host->objects.cq, count < 32 ? count : 32, wc);
	for (int i = 0; i < taken; i++) {
		struct link *link = (struct link *)(uintptr_t)wc[i].qp_context;

		if (wc[i].status != UROCE_WC_SUCCESS) {
			if (!link->over && has_failed(link, &wc[i]))
				tell(host, link, app_explain(link->qp, &wc[i], line, sizeof(line)), "");
			link->over = true;
		} else if (wc[i].opcode == UROCE_WC_RECV) {
			told += handle_response(link, (uint32_t)wc[i].wr_id, &done[told]);
		} else {
			link->commands[wc[i].wr_id].leaving = false;
		}
	}
	for (uint32_t i = 0; i < host->link_count; i++) {
		if (host->links[i].over)
			return -1;
	}
	return told;
}

uint32_t host_under_way(const struct host *host)
{
	uint32_t count = 0;

	for (uint32_t i = 1; i < host->link_count; i++)
		count += host->links[i].under_way;
	return count;
}

/* ---- opening and closing ---- */

/* Prints nothing if the connection has ended, because that was printed already. */
static int complain(const struct host *host, const char *what, uint16_t status, const char *text)
{
	if (host->told)
		return APP_EXIT_FAILURE;
	return app_complain(APP_EXIT_FAILURE, "%s: %s (%03Xh)", what, text, status);
}

static int complain_of_connect(const struct host *host, const char *queue, uint16_t status, uint64_t result)
{
	char what[1024];

	snprintf(what, sizeof(what), "Connect%s to %s as %s", queue, host->config.nqn, host->config.host_nqn);
	return complain(host, what, status, nvmf_connect_text(status, result));
}

/* Reads from the identify page how much data a capsule may carry, and how much data a command may have. */
static void take_limits(struct host *host, struct host_namespace *namespace, const uint8_t page[NVME_PAGE_BYTES])
{
	uint32_t bytes = get_le32(page + 1792) * 16, offset = get_le16(page + 1800), mdts = page[77];
	uint32_t most = bytes > NVME_SQE_BYTES && offset == 0 ? bytes - NVME_SQE_BYTES : 0;

	if (host->config.in_capsule_bytes > most)
		host->config.in_capsule_bytes = most;
	namespace->most_bytes = mdts && mdts < 32 ? (uint64_t)NVME_PAGE_BYTES << mdts : UINT64_MAX;
}

static int take_controller(struct host *host, struct host_namespace *namespace)
{
	uint8_t page[NVME_PAGE_BYTES];
	uint64_t result = 0;
	uint16_t status = fabrics_connect(host, &host->links[0], &result);
	int code = APP_EXIT_OK;

	if (status != NVME_OK)
		return complain_of_connect(host, "", status, result);
	status = set_property(host, CC_ENABLED);
	if (status == NVME_OK)
		status = identify(host, NVME_CNS_CONTROLLER, 0, page);
	if (status == NVME_OK) {
		take_limits(host, namespace, page);
		status = set_queues(host);
	}
	if (status != NVME_OK)
		return complain(host, "controller", status, nvmf_status_text(status));
	for (uint32_t i = 1; i < host->link_count && code == APP_EXIT_OK; i++) {
		code = connect_link(host, &host->links[i]);
		if (code)
			return code;
		status = fabrics_connect(host, &host->links[i], &result);
		if (status != NVME_OK)
			return complain_of_connect(host, " of an I/O queue", status, result);
	}
	memset(page, 0, sizeof(page));
	status = identify(host, NVME_CNS_NAMESPACE, host->config.nsid, page);
	if (status != NVME_OK || get_le64(page) == 0)
		return host->told ? APP_EXIT_FAILURE :
				    app_complain(APP_EXIT_FAILURE, "namespace %u: %s", host->config.nsid,
						 nvmf_status_text(status ? status : NVME_INVALID_NAMESPACE));
	namespace->blocks = get_le64(page);
	namespace->block_bytes = host->block_bytes = 1u << page[130];
	return code;
}

/* Disconnects, so that the target hears of the end at once and not by a timeout; waits only briefly for its answer. */
static void say_goodbye(struct host *host)
{
	uint64_t until_ns = app_now_ns() + GOODBYE_NS;
	uint32_t left = 0;

	host->told = true; /* the end of connections is no failure now */
	for (uint32_t i = 0; i < host->link_count; i++) {
		struct link *link = &host->links[i];

		if (link->established && !link->over)
			link->over = uroce_cm_disconnect(link->id) != 0;
	}
	do {
		handle_events(host);
		host->config.poll(host->config.argument);
		for (uint32_t i = left = 0; i < host->link_count; i++)
			left += host->links[i].established && !host->links[i].over;
	} while (left && app_now_ns() < until_ns);
}

static int open_objects(struct host *host)
{
	const struct host_config *config = &host->config;
	struct app_objects_config objects = {
		.device = config->device,
		.memory = host->memory,
		.bytes = host->memory_bytes,
		.access = UROCE_ACCESS_REMOTE_READ | UROCE_ACCESS_REMOTE_WRITE,
		.completions = 2 * (NVME_ADMIN_DEPTH + config->queues * config->depth),
	};

	return app_objects_open(&objects, &host->objects);
}

int host_open(const struct host_config *config, struct host **out, struct host_namespace *namespace)
{
	struct host *host = calloc(1, sizeof(*host));
	int code;

	*out = NULL;
	if (host == NULL)
		return app_complain(APP_EXIT_ENVIRONMENT, "no memory for a host");
	host->config = *config;
	host->link_count = config->queues + 1;
	host->capsule_bytes = NVME_SQE_BYTES + config->in_capsule_bytes;
	if (host_memory_make(host) != 0 || open_objects(host) != APP_EXIT_OK)
		code = app_complain(APP_EXIT_ENVIRONMENT, "no memory for the host's queues");
	else
		code = connect_link(host, &host->links[0]);
	if (code == APP_EXIT_OK)
		code = take_controller(host, namespace);
	if (code == APP_EXIT_OK) {
		*out = host;
		return code;
	}
	if (host->links)
		say_goodbye(host);
	host_close(host, false);
	return code;
}

/* Frees what the host has of the device. */
void host_close(struct host *host, bool in_order)
{
	if (in_order && !host->links[0].over)
		set_property(host, CC_SHUTDOWN);
	if (in_order)
		say_goodbye(host);
	for (uint32_t i = host->link_count; host->links && i-- > 0;) {
		struct link *link = &host->links[i];

		if (link->id)
			uroce_cm_id_destroy(link->id);
		if (link->qp)
			uroce_qp_destroy(link->qp);
		free(link->commands);
	}
	free(host->links);
	app_objects_close(&host->objects);
	if (host->memory)
		munmap(host->memory, host->memory_bytes);
	free(host);
}
