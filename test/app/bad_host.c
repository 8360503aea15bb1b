/* bad_host.c - a target and hosts of it in one process over loop ports; hosts that do what they like, queue by queue */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "bad_host.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "nvmf/bytes.h"
#include "nvmf/change.h"
#include "nvmf/hello.h"

#define SERVICE 4420
#define TARGET "10.0.0.1/24"
#define POOL_BYTES (8ull << 20)
#define CAPSULES_BYTES (64u << 10)
#define RESPONSES_BYTES (64u << 10)
#define PATIENCE_MS 20000u
#define GOOD_BYTES 4096u
#define BURST 32

/* That of the host that behaves first. */
static const char *const addresses[1 + BAD_ADDRESSES] = { "10.0.0.2/24", "10.0.0.3/24", "10.0.0.4/24", "10.0.0.5/24" };

/* ---- the site ---- */

static struct disk *add_disk(struct site *site, uint32_t which, enum store_kind kind)
{
	struct settings_subsystem subsystem = { .host_count = which };
	struct settings_disk settings = { .nsid = 1, .kind = kind, .bytes = 16u << 20, .block_bytes = 512 };
	char error[STORE_ERROR_BYTES] = "";
	struct disk *disk;

	strcpy(subsystem.nqn, which ? OTHER_NQN : GOOD_NQN);
	strcpy(subsystem.hosts[0], GOOD_HOST_NQN);
	site->subsystems[which] = disk_make_subsystem(&subsystem);
	cr_assert(site->subsystems[which]);
	cr_assert_eq(nvmf_target_add_subsystem(&site->server.target, site->subsystems[which]), 0);
	disk = disks_add(&site->disks, site->subsystems[which], &settings, error);
	cr_assert(disk, "%s", error);
	return disk;
}

static void open_port(struct site *site)
{
	const size_t bytes = BAD_DATA_BYTES + CAPSULES_BYTES + BAD_QUEUES * RESPONSES_BYTES;
	struct uroce_port_config config = { .engine = site->server.engine };
	struct uroce_error error;

	memcpy(config.addresses, addresses, sizeof(addresses));
	cr_assert_eq(uroce_port_open("loop", &config, &site->port, &error), 0, "%s", error.text);
	cr_assert_eq(uroce_cm_channel_create(site->server.engine, &site->channel), 0);
	cr_assert_eq(uroce_pd_alloc(site->port->device, &site->pd), 0);
	cr_assert_eq(uroce_cq_create(site->port->device, 65536, &site->cq), 0);
	site->memory = calloc(1, bytes);
	cr_assert(site->memory);
	cr_assert_eq(uroce_mr_reg(site->pd, site->memory, bytes,
				  UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_READ | UROCE_ACCESS_REMOTE_WRITE,
				  &site->mr),
		     0);
}

struct site *site_open(void)
{
	return site_open_lanes(1);
}

struct site *site_open_lanes(uint32_t lanes)
{
	struct server_config config = {
		.nvmf = { .queue_depth = 1024, .in_capsule_bytes = 4096 },
		.devices = { "loop" },
		.addresses = { TARGET },
		.port_count = 1,
		.lanes = lanes,
		.service = SERVICE,
		.pool_bytes = POOL_BYTES,
	};
	struct site *site = calloc(1, sizeof(*site));

	cr_assert(site);
	cr_assert_eq(server_open(&site->server, &config), 0);
	site->server.journal.silent = true;
	site->disks.server = &site->server;
	site->good = add_disk(site, 0, STORE_NULL);
	site->other = add_disk(site, 1, STORE_MEMORY);
	cr_assert_eq(server_listen(&site->server), 0);
	open_port(site);
	return site;
}

void bad_close(struct bad_queue *queue)
{
	cr_assert_eq(uroce_cm_close(queue->id), 0);
	memset(queue, 0, sizeof(*queue));
}

static void close_hosts(struct site *site)
{
	for (uint32_t i = 0; i < BAD_QUEUES; i++) {
		if (site->queues[i].id)
			bad_close(&site->queues[i]);
	}
	for (unsigned i = 0; i < PATIENCE_MS && server_queue_count(&site->server); i++)
		site_poll_for(site, 1);
}

void site_close(struct site *site)
{
	close_hosts(site);
	cr_expect_eq(server_queue_count(&site->server), 0);
	cr_expect_eq(server_used_bytes(&site->server), 0);
	cr_expect_eq(nvmf_namespace_under_way(&site->good->namespace) +
			     nvmf_namespace_under_way(&site->other->namespace),
		     0);
	for (uint32_t i = 0; i < NVMF_CONTROLLERS_MAX; i++)
		cr_expect(site->server.target.controllers[i] == NULL);
	uroce_mr_dereg(site->mr);
	uroce_cq_destroy(site->cq);
	uroce_pd_dealloc(site->pd);
	uroce_cm_channel_destroy(site->channel);
	uroce_port_close(site->port);
	server_close_queues(&site->server);
	disks_close(&site->disks);
	server_close(&site->server);
	free(site->subsystems[0]);
	free(site->subsystems[1]);
	free(site->memory);
	free(site);
}

/* ---- polls ---- */

static uint8_t *response(const struct bad_queue *queue, uint32_t which)
{
	return queue->responses + (size_t)which * NVME_CQE_BYTES;
}

static void post_receive(struct bad_queue *queue, uint32_t which)
{
	struct uroce_sge sge = { (uintptr_t)response(queue, which), NVME_CQE_BYTES, uroce_mr_lkey(queue->site->mr) };
	struct uroce_recv_wr wr = { .wr_id = which, .sg_list = &sge, .num_sge = 1 };

	uroce_qp_post_recv(queue->qp, &wr, NULL);
}

/* Of the last completions of a QP that is closed some come when its place has another. */
static void take_completion(struct bad_queue *queue, const struct uroce_wc *wc)
{
	if (queue->qp == NULL || wc->qp_num != uroce_qp_num(queue->qp))
		return;
	if (wc->status != UROCE_WC_SUCCESS) {
		if (queue->failed == UROCE_WC_SUCCESS) /* an event may have told before that it is over */
			queue->failed = wc->status;
		queue->over = true;
	} else if (wc->opcode == UROCE_WC_RECV) {
		memcpy(queue->last, response(queue, (uint32_t)wc->wr_id), NVME_CQE_BYTES);
		queue->answers++;
		if (!queue->deaf)
			post_receive(queue, (uint32_t)wc->wr_id);
	}
}

void site_poll(void *argument)
{
	struct site *site = argument;
	struct uroce_cm_event event;
	struct uroce_wc wc[BURST];
	int count;

	site->polls++;
	server_poll(&site->server);
	while (uroce_cm_next(site->channel, &event) == 0) {
		struct bad_queue *queue = (struct bad_queue *)(uintptr_t)event.context;

		if (event.type == UROCE_CM_ESTABLISHED)
			queue->established = true;
		else
			queue->over = true;
	}
	count = uroce_cq_poll(site->cq, BURST, wc);
	for (int i = 0; i < count; i++)
		take_completion((struct bad_queue *)(uintptr_t)wc[i].qp_context, &wc[i]);
}

void site_poll_for(struct site *site, unsigned ms)
{
	uint64_t until_ns = app_now_ns() + ms * 1000000ull;

	do
		site_poll(site);
	while (app_now_ns() < until_ns);
}

/* ---- a host that behaves ---- */

/* Returns the time since began_ns, if there were so many polls since then that it is not the machine that was slow. */
static uint64_t waited_ns(const struct site *site, uint64_t began_ns, uint64_t began_polls)
{
	return site->polls - began_polls >= SITE_SLOW_POLLS ? app_now_ns() - began_ns : 0;
}

double site_good_work(struct site *site, const char *nqn, unsigned ms)
{
	struct uroce_cm_channel *channel;
	struct host_config config = {
		.engine = site->server.engine,
		.device = site->port->device,
		.service = SERVICE,
		.nqn = nqn,
		.host_nqn = GOOD_HOST_NQN,
		.nsid = 1,
		.queues = 1,
		.depth = 9,
		.data_bytes = GOOD_BYTES,
		.keep_alive_ms = 5000,
		.poll = site_poll,
		.argument = site,
	};
	struct host_namespace namespace;
	struct host_done done[16];
	struct host *host;
	uint64_t until_ns = app_now_ns(), began_ns[16], began_polls[16] = { site->polls }, slowest_ns, number = 0;

	cr_assert_eq(uroce_cm_channel_create(site->server.engine, &channel), 0);
	config.channel = channel;
	uroce_addr_parse(TARGET, &config.target, NULL);
	cr_assert_eq(host_open(&config, &host, &namespace), 0);
	slowest_ns = waited_ns(site, until_ns, began_polls[0]); /* to connect */
	until_ns = app_now_ns() + ms * 1000000ull;
	while (app_now_ns() < until_ns || host_under_way(host)) {
		int count;

		cr_assert_lt(app_now_ns(), until_ns + PATIENCE_MS * 1000000ull, "a good host waits");
		while (app_now_ns() < until_ns && host_buffer(host, 0)) {
			began_ns[number % 16] = app_now_ns();
			began_polls[number % 16] = site->polls;
			host_submit(host, 0, number % 2 ? NVME_WRITE : NVME_READ, number % 1024 * 8, 8, number);
			number++;
		}
		site_poll(site);
		count = host_poll(host, done, 16);
		cr_assert_geq(count, 0, "a good host has lost its connection");
		for (int i = 0; i < count; i++) {
			uint64_t tag = done[i].tag % 16, took_ns = waited_ns(site, began_ns[tag], began_polls[tag]);

			cr_assert_eq(done[i].status, NVME_OK);
			slowest_ns = took_ns > slowest_ns ? took_ns : slowest_ns;
		}
	}
	cr_assert_gt(number, 8);
	host_close(host, true);
	uroce_cm_channel_destroy(channel);
	return (double)slowest_ns / 1e6;
}

/* ---- hosts that do not ---- */

static void wait_for(struct bad_queue *queue, const bool *what)
{
	for (unsigned i = 0; i < PATIENCE_MS && !*what && !queue->over; i++)
		site_poll_for(queue->site, 1);
	cr_assert(*what, "a bad host is refused what it needs to be bad");
}

static struct bad_queue *dial(struct site *site, uint16_t qid, uint32_t depth, uint32_t receives)
{
	uint8_t words[NVMF_HELLO_BYTES];
	struct nvmf_hello hello = { .qid = qid, .commands = depth, .responses = depth };
	struct uroce_cm_options options = { .private_data = words,
					    .private_bytes = sizeof(words),
					    .path_mtu = site->path_mtu };
	struct bad_queue *queue = site->queues;
	struct uroce_addr target, source;
	struct uroce_qp_init_attr init = {
		.send_cq = site->cq,
		.recv_cq = site->cq,
		.max_send_wr = 4096,
		.max_recv_wr = 4096,
		.max_send_sge = 1,
		.max_recv_sge = 1,
		.max_dest_rd_atomic = 16,
		.lcore = site->lcore,
	};

	while (queue->id)
		queue++;
	cr_assert_lt(queue - site->queues, BAD_QUEUES);
	queue->site = site;
	queue->depth = depth;
	queue->responses =
		site->memory + BAD_DATA_BYTES + CAPSULES_BYTES + (size_t)(queue - site->queues) * RESPONSES_BYTES;
	init.qp_context = (uintptr_t)queue;
	nvmf_hello_build(&hello, words);
	uroce_addr_parse(TARGET, &target, NULL);
	uroce_addr_parse(addresses[1 + site->address], &source, NULL);
	cr_assert_eq(uroce_cm_id_create(site->channel, (uintptr_t)queue, &queue->id), 0);
	cr_assert_eq(uroce_cm_qp_create(queue->id, site->pd, &init,
					UROCE_ACCESS_REMOTE_READ | UROCE_ACCESS_REMOTE_WRITE, &queue->qp),
		     0);
	for (uint32_t i = 0; i < receives; i++)
		post_receive(queue, i);
	cr_assert_eq(uroce_cm_connect(queue->id, &source, &target, SERVICE, &options), 0);
	return queue;
}

struct bad_queue *bad_connect(struct site *site, uint16_t qid, uint32_t depth, uint32_t receives)
{
	struct bad_queue *queue = dial(site, qid, depth, receives);

	wait_for(queue, &queue->established);
	return queue;
}

struct bad_queue *bad_try_connect(struct site *site, uint16_t qid, uint32_t depth)
{
	struct bad_queue *queue = dial(site, qid, depth, 1);

	for (unsigned i = 0; i < PATIENCE_MS && !queue->established && !queue->over; i++)
		site_poll_for(site, 1);
	if (queue->established)
		return queue;
	bad_close(queue);
	return NULL;
}

static void put_keyed(struct site *site, uint8_t *sqe, uint32_t bytes)
{
	put_le64(sqe + SQE_SGL, bytes ? (uintptr_t)site->memory : 0);
	put_le32(sqe + SQE_SGL + 8, bytes);
	put_le32(sqe + SQE_SGL + 11, bytes ? uroce_mr_rkey(site->mr) : 0);
	sqe[SQE_SGL_TYPE] = NVME_SGL_KEYED;
	sqe[SQE_FLAGS] = NVME_FLAGS_PSDT_SGL;
}

void bad_fill(struct site *site, uint8_t *sqe, uint8_t opcode, uint64_t first, uint32_t count, uint32_t bytes)
{
	memset(sqe, 0, NVME_SQE_BYTES);
	sqe[SQE_OPCODE] = opcode;
	put_le32(sqe + SQE_NSID, 1);
	put_le64(sqe + SQE_DW10, first);
	put_le32(sqe + SQE_DW12, count - 1);
	put_keyed(site, sqe, bytes);
}

bool bad_send(struct bad_queue *queue, const uint8_t *capsule, uint32_t bytes)
{
	struct site *site = queue->site;
	uint8_t *room = site->memory + BAD_DATA_BYTES;
	struct uroce_sge sge = { (uintptr_t)room, bytes, uroce_mr_lkey(site->mr) };
	struct uroce_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = UROCE_WR_SEND, .send_flags = UROCE_SEND_SIGNALED
	};

	/* One place is enough for what is all the same; who sends different ones lets each leave. */
	memcpy(room, capsule, bytes);
	if (queue->over || uroce_qp_post_send(queue->qp, &wr, NULL) != 0)
		return false;
	queue->sent++;
	return true;
}

uint16_t bad_ask(struct bad_queue *queue, const uint8_t *sqe)
{
	uint32_t answers = queue->answers;

	cr_assert(bad_send(queue, sqe, NVME_SQE_BYTES));
	for (unsigned i = 0; i < PATIENCE_MS && queue->answers == answers && !queue->over; i++)
		site_poll_for(queue->site, 1);
	cr_assert_eq(queue->answers, answers + 1);
	return get_le16(queue->last + 14) >> 1;
}

uint16_t bad_login(struct bad_queue *queue, uint16_t qid, uint16_t cntlid, const char *nqn, const char *host_nqn)
{
	uint8_t sqe[NVME_SQE_BYTES] = { NVME_FABRICS }, *data = queue->site->memory;
	uint16_t status;

	memset(data, 0, NVME_CONNECT_BYTES);
	data[0] = 2; /* the host's id */
	put_le16(data + 16, cntlid);
	put_text(data + 256, NVME_NQN_BYTES, nqn, '\0');
	put_text(data + 512, NVME_NQN_BYTES, host_nqn, '\0');
	put_le16(sqe + 42, qid);
	put_le16(sqe + 44, (uint16_t)(queue->depth - 1));
	put_keyed(queue->site, sqe, NVME_CONNECT_BYTES);
	sqe[SQE_FABRICS_TYPE] = NVME_CONNECT;
	status = bad_ask(queue, sqe);
	if (qid == 0)
		queue->site->cntlid = get_le16(queue->last);
	return status;
}

/* Without that, nothing new is written to. */
static void read_what_there_is(struct site *site, struct bad_queue *admin)
{
	uint8_t sqe[NVME_SQE_BYTES];

	for (uint32_t nsid = 1; nsid <= 2; nsid++) {
		bad_fill(site, sqe, NVME_IDENTIFY, NVME_CNS_NAMESPACE, 1, NVME_PAGE_BYTES);
		put_le32(sqe + SQE_NSID, nsid);
		cr_assert_eq(bad_ask(admin, sqe), NVME_OK);
	}
}

struct bad_queue *bad_join(struct site *site, uint32_t depth, bool deaf)
{
	struct bad_queue *admin = bad_connect(site, 0, NVME_ADMIN_DEPTH, NVME_ADMIN_DEPTH), *queue;
	uint8_t sqe[NVME_SQE_BYTES] = { NVME_FABRICS };

	cr_assert_eq(bad_login(admin, 0, NVME_CNTLID_ANY, GOOD_NQN, BAD_HOST_NQN), NVME_OK);
	put_keyed(site, sqe, 0);
	sqe[SQE_FABRICS_TYPE] = NVME_PROPERTY_SET;
	put_le32(sqe + SQE_DW11, NVME_CC);
	put_le32(sqe + SQE_DW12, NVME_CC_ENTRIES_USUAL | NVME_CC_ENABLE);
	cr_assert_eq(bad_ask(admin, sqe), NVME_OK);
	read_what_there_is(site, admin);
	queue = bad_connect(site, 1, depth, deaf ? 1 : depth);
	queue->deaf = deaf;
	cr_assert_eq(bad_login(queue, 1, site->cntlid, GOOD_NQN, BAD_HOST_NQN), NVME_OK);
	return queue;
}

void bad_vanish(struct bad_queue *queue)
{
	struct uroce_qp_attr attr = { .qp_state = UROCE_QPS_RESET };

	cr_assert_eq(uroce_qp_modify(queue->qp, &attr, UROCE_QP_STATE, NULL), 0);
	queue->over = true;
}
