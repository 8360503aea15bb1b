/* memory_fault.c - registered memory that is unmapped, protected or truncated ends a queue pair, and not the process */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_eal.h>

#include "drivers/fault/fault.h"
#include "network.h"
#include "rule.h"
#include "start.h"

TestSuite(memory_fault, .init = test_eal_start, .timeout = 60);

#define PAGE 4096u
#define MEMORY_BYTES (32 * PAGE)
#define RIGHTS                                                                             \
	(UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_READ | \
	 UROCE_ACCESS_REMOTE_ATOMIC | UROCE_ACCESS_FLUSH_GLOBAL | UROCE_ACCESS_FLUSH_PERSISTENT)

enum loss { UNMAPPED, PROTECTED, READ_ONLY, TRUNCATED, LOSSES };

static const char *const loss_names[LOSSES] = { "unmapped", "protected", "read-only", "truncated" };

static struct network network;

/* Memory of a file, of each end, and its region. */
struct place {
	int fd;
	uint8_t *memory;
	struct uroce_mr *mr;
};

static struct place places[2];

static void make_place(int end)
{
	struct place *place = &places[end];

	place->fd = memfd_create("place", 0);
	cr_assert_eq(ftruncate(place->fd, MEMORY_BYTES), 0);
	place->memory = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, place->fd, 0);
	cr_assert_neq(place->memory, MAP_FAILED);
	cr_assert_eq(uroce_mr_reg(network.ends[end].pd, place->memory, MEMORY_BYTES, RIGHTS, &place->mr), 0, "%s",
		     uroce_last_error());
}

static void drop_place(int end)
{
	cr_assert_eq(uroce_mr_dereg(places[end].mr), 0);
	munmap(places[end].memory, MEMORY_BYTES);
	close(places[end].fd);
}

/* The pages from `page` on disappear. */
static void lose(const struct place *place, enum loss loss, unsigned page)
{
	uint8_t *at = place->memory + page * PAGE;
	size_t bytes = MEMORY_BYTES - page * PAGE;

	switch (loss) {
	case UNMAPPED:
		cr_assert_eq(munmap(at, bytes), 0);
		break;
	case PROTECTED:
		cr_assert_eq(mprotect(at, bytes, PROT_NONE), 0);
		break;
	case READ_ONLY:
		cr_assert_eq(mprotect(at, bytes, PROT_READ), 0);
		break;
	case TRUNCATED:
		cr_assert_eq(ftruncate(place->fd, page * PAGE), 0);
		break;
	case LOSSES:
		break;
	}
}

struct row {
	const char *name;
	enum uroce_wr_opcode opcode;
	int loser;      /* the end whose memory disappears */
	unsigned lost;  /* pages from this one on */
	uint32_t bytes; /* of the message, from the start of the memory; two pieces: the second one is the last page */
	bool two_pieces;
	bool writes; /* the lost memory is written */

	enum uroce_wc_status status;
	enum uroce_wc_status receive; /* at end 1; UROCE_WC_SUCCESS: none */
};

#define LOCAL .status = UROCE_WC_LOC_PROT_ERR, .loser = 0
#define REMOTE .status = UROCE_WC_REM_ACCESS_ERR, .loser = 1

/* clang-format off */
static const struct row rows[] = {
	{ "SEND from lost memory", UROCE_WR_SEND, .bytes = 64, LOCAL },
	{ "WRITE from lost memory", UROCE_WR_RDMA_WRITE, .bytes = 64, LOCAL },
	{ "long WRITE whose last page is lost", UROCE_WR_RDMA_WRITE, .lost = 15, .bytes = 16 * PAGE, LOCAL },
	{ "WRITE whose second piece is lost", UROCE_WR_RDMA_WRITE, .lost = 31, .bytes = PAGE, .two_pieces = true,
		LOCAL },
	{ "ATOMIC_WRITE from lost memory", UROCE_WR_ATOMIC_WRITE, .bytes = 8, LOCAL },
	{ "READ into lost memory", UROCE_WR_RDMA_READ, .bytes = 64, .writes = true, LOCAL },
	{ "long READ whose last page is lost", UROCE_WR_RDMA_READ, .lost = 15, .bytes = 16 * PAGE, .writes = true,
		LOCAL },
	{ "READ whose second piece is lost", UROCE_WR_RDMA_READ, .lost = 31, .bytes = PAGE, .two_pieces = true,
		.writes = true, LOCAL },
	{ "result of FETCH_ADD into lost memory", UROCE_WR_ATOMIC_FETCH_AND_ADD, .bytes = 8, .writes = true, LOCAL },
	{ "SEND to a lost receive", UROCE_WR_SEND, .bytes = 64, .writes = true, .loser = 1,
		.status = UROCE_WC_REM_OP_ERR, .receive = UROCE_WC_LOC_QP_OP_ERR },
	{ "long SEND to a receive whose last page is lost", UROCE_WR_SEND, .lost = 15, .bytes = 16 * PAGE,
		.writes = true, .loser = 1, .status = UROCE_WC_REM_OP_ERR, .receive = UROCE_WC_LOC_QP_OP_ERR },
	{ "WRITE to lost memory", UROCE_WR_RDMA_WRITE, .bytes = 64, .writes = true, REMOTE },
	{ "long WRITE to memory whose last page is lost", UROCE_WR_RDMA_WRITE, .lost = 15, .bytes = 16 * PAGE,
		.writes = true, REMOTE },
	{ "READ of lost memory", UROCE_WR_RDMA_READ, .bytes = 64, REMOTE },
	{ "long READ of memory whose last page is lost", UROCE_WR_RDMA_READ, .lost = 15, .bytes = 16 * PAGE, REMOTE },
	{ "FETCH_ADD on lost memory", UROCE_WR_ATOMIC_FETCH_AND_ADD, .bytes = 8, .writes = true, REMOTE },
	{ "COMP_SWAP on lost memory", UROCE_WR_ATOMIC_CMP_AND_SWP, .bytes = 8, .writes = true, REMOTE },
	{ "ATOMIC_WRITE to lost memory", UROCE_WR_ATOMIC_WRITE, .bytes = 8, .writes = true, REMOTE },
	{ "FLUSH of lost memory", UROCE_WR_FLUSH, .bytes = 64, REMOTE },
};
/* clang-format on */

static void post_receive(const struct row *row)
{
	struct uroce_sge sge = { .addr = (uintptr_t)places[1].memory,
				 .length = row->bytes,
				 .lkey = uroce_mr_lkey(places[1].mr) };
	struct uroce_recv_wr wr = { .wr_id = 9, .sg_list = &sge, .num_sge = 1 };

	cr_assert_eq(uroce_qp_post_recv(network.ends[1].qp, &wr, NULL), 0);
}

static void post(const struct row *row, uint64_t wr_id)
{
	struct uroce_sge sges[2] = {
		{ .addr = (uintptr_t)places[0].memory, .length = row->bytes, .lkey = uroce_mr_lkey(places[0].mr) },
		{ .addr = (uintptr_t)places[0].memory + 31 * PAGE, .length = 8, .lkey = uroce_mr_lkey(places[0].mr) },
	};
	struct uroce_send_wr wr = {
		.wr_id = wr_id,
		.sg_list = sges,
		.num_sge = row->opcode == UROCE_WR_FLUSH ? 0 :
			   row->two_pieces               ? 2 :
							   1,
		.opcode = row->opcode,
		.send_flags = UROCE_SEND_SIGNALED,
		.remote_addr = (uintptr_t)places[1].memory,
		.rkey = uroce_mr_rkey(places[1].mr),
		.compare_add = 1,
	};

	if (row->opcode == UROCE_WR_FLUSH) {
		wr.flush_bytes = row->bytes;
		wr.flush = UROCE_FLUSH_PERSISTENT;
	}
	cr_assert_eq(uroce_qp_post_send(network.ends[0].qp, &wr, NULL), 0, "%s", uroce_last_error());
}

static void expect_cause(const struct row *row, enum loss loss)
{
	struct uroce_qp_error error;

	cr_assert_eq(uroce_qp_last_error(network.ends[row->loser].qp, &error), 0);
	cr_expect_eq(error.cause, UROCE_CAUSE_UNMAPPED, "%s, %s: %s", row->name, loss_names[loss],
		     uroce_cause_text(error.cause));
	cr_expect_eq(network_counter(&network, row->loser, "memory_faults"), 1, "%s", row->name);
}

static void expect_write(const struct row *row)
{
	struct uroce_wc wc;

	memset(network.ends[0].buffer, 0x5A, 100);
	network.ends[1].buffer[99] = 0;
	cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 100), 0);
	wc = network_wait(&network, 0);
	cr_expect_eq(wc.status, UROCE_WC_SUCCESS, "%s: %s, %s", row->name, uroce_wc_status_name(wc.status),
		     uroce_cause_text(wc.vendor_err));
	cr_expect_eq(network.ends[1].buffer[99], 0x5A, "%s", row->name);
}

/* New queue pairs on the same lcore work. */
static void expect_life(const struct row *row)
{
	for (int end = 0; end < 2; end++) {
		cr_assert_eq(uroce_qp_destroy(network.ends[end].qp), 0);
		network_create_qp(&network, end, 64, -1);
	}
	network_connect(&network, false);
	expect_write(row);
}

/* A good WRITE, the one that faults, and a third one, posted together. */
static void try_row(const struct row *row, enum loss loss)
{
	struct uroce_wc wc;

	network_open_connected(&network, 1, 64);
	make_place(0);
	make_place(1);
	lose(&places[row->loser], loss, row->lost);
	if (row->opcode == UROCE_WR_SEND)
		post_receive(row);
	cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 8), 0);
	post(row, 6);
	cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 8), 0);
	wc = network_wait(&network, 0);
	cr_expect(wc.wr_id == 5 && wc.status == UROCE_WC_SUCCESS, "%s, %s: the WRITE before it: %s", row->name,
		  loss_names[loss], uroce_wc_status_name(wc.status));
	wc = network_wait(&network, 0);
	cr_expect(wc.wr_id == 6 && wc.status == row->status, "%s, %s: wr %u %s", row->name, loss_names[loss],
		  (unsigned)wc.wr_id, uroce_wc_status_name(wc.status));
	if (row->loser == 0)
		cr_expect_eq(wc.vendor_err, UROCE_CAUSE_UNMAPPED, "%s", row->name);
	cr_expect_eq(network_wait(&network, 0).status, UROCE_WC_WR_FLUSH_ERR, "%s: the WRITE after it", row->name);
	if (row->receive) {
		wc = network_wait(&network, 1);
		cr_expect(wc.wr_id == 9 && wc.status == row->receive, "%s, %s: %s", row->name, loss_names[loss],
			  uroce_wc_status_name(wc.status));
	}
	expect_cause(row, loss);
	expect_life(row);
	drop_place(0);
	drop_place(1);
	network_close(&network);
}

static void try_all(enum loss loss)
{
	RULE("M-2");
	uroce_guard_install();
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (loss != READ_ONLY || rows[i].writes)
			try_row(&rows[i], loss);
	}
}

Test(memory_fault, unmapped_memory_ends_the_queue_pair)
{
	try_all(UNMAPPED);
}

Test(memory_fault, protected_memory_ends_the_queue_pair)
{
	try_all(PROTECTED);
}

Test(memory_fault, memory_that_became_read_only_ends_the_queue_pair)
{
	try_all(READ_ONLY);
}

Test(memory_fault, truncated_file_ends_the_queue_pair)
{
	try_all(TRUNCATED);
}

#define PAIRS 5
#define BAD_PAIR 2

/* Five queue pairs post together, so that their packets come in one burst. */
static void try_neighbours(bool receiving)
{
	struct uroce_qp *qps[PAIRS][2];
	unsigned good = 0, bad = 0;
	struct uroce_wc wc;

	network_open(&network, 1);
	network.timeout = 20; /* 4.3 s: no ACK is late on a busy machine */
	make_place(0);
	make_place(1);
	for (unsigned i = 0; i < PAIRS; i++) {
		network_create_qp(&network, 0, 64, -1);
		network_create_qp(&network, 1, 64, -1);
		network_connect(&network, false);
		qps[i][0] = network.ends[0].qp;
		qps[i][1] = network.ends[1].qp;
	}
	lose(&places[receiving], PROTECTED, 0);
	for (unsigned i = 0; i < PAIRS; i++) {
		network.ends[0].qp = qps[i][0];
		if (i == BAD_PAIR)
			post(&rows[11], 6);
		else
			cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 100 + i), 0);
	}
	for (unsigned i = 0; i < PAIRS; i++) {
		wc = network_wait(&network, 0);
		good += wc.wr_id == 5 && wc.status == UROCE_WC_SUCCESS;
		bad += wc.wr_id == 6 && wc.status == (receiving ? UROCE_WC_REM_ACCESS_ERR : UROCE_WC_LOC_PROT_ERR);
		cr_expect(wc.wr_id == 5 ? wc.status == UROCE_WC_SUCCESS : wc.status != UROCE_WC_SUCCESS, "wr %u: %s",
			  (unsigned)wc.wr_id, uroce_wc_status_name(wc.status));
	}
	cr_expect(good == PAIRS - 1 && bad == 1, "%u good, %u bad, receiving %d", good, bad, receiving);
	cr_expect_eq(network_counter(&network, 0, "retransmitted_packets"), 0, "no frame of another was lost");
	for (unsigned i = 1; i < PAIRS; i++) {
		cr_assert_eq(uroce_qp_destroy(qps[i][0]), 0);
		cr_assert_eq(uroce_qp_destroy(qps[i][1]), 0);
	}
	network.ends[0].qp = qps[0][0];
	network.ends[1].qp = qps[0][1];
	drop_place(0);
	drop_place(1);
	network_close(&network);
}

Test(memory_fault, other_queue_pairs_of_the_burst_lose_no_frame)
{
	uroce_guard_install();
	try_neighbours(true);
	try_neighbours(false);
}

/* The packet that faults was kept behind a lost one. */
Test(memory_fault, kept_packet_for_unmapped_memory_is_refused)
{
	const struct row *row = &rows[11];
	struct drivers_fault_config none = { 0 };
	struct drivers_fault *fault;
	struct uroce_error error;
	struct uroce_wc wc;

	uroce_guard_install();
	network_sack_window = 256;
	network_open_connected(&network, 1, 64);
	cr_assert_eq(drivers_fault_attach(&network.loop.ports[1], &none, &fault, &error), 0, "%s", error.text);
	make_place(0);
	make_place(1);
	expect_write(row); /* the port of the peer is known then */
	lose(&places[1], UNMAPPED, 0);
	drivers_fault_lose_nth(fault, 1, 100);
	cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 100), 0);
	post(row, 6);
	wc = network_wait(&network, 0);
	cr_expect(wc.wr_id == 5 && wc.status == UROCE_WC_SUCCESS, "%s", uroce_wc_status_name(wc.status));
	wc = network_wait(&network, 0);
	cr_expect(wc.wr_id == 6 && wc.status == UROCE_WC_REM_ACCESS_ERR, "%s", uroce_wc_status_name(wc.status));
	cr_expect_gt(network_counter(&network, 1, "rx_kept"), 0);
	drivers_fault_detach(fault);
	drop_place(0);
	drop_place(1);
	network_close(&network);
}

static void start_with_worker(void)
{
	char *arguments[] = {
		(char *)"eal", (char *)"--no-huge", (char *)"--no-shconf", (char *)"--no-telemetry", (char *)"-m",
		(char *)"64",  (char *)"--no-pci",  (char *)"--lcores",    (char *)"0@0,1@0",        NULL
	};

	cr_assert_geq(rte_eal_init(9, arguments), 0, "EAL does not start");
}

TestSuite(memory_fault_worker, .init = start_with_worker, .timeout = 60);

/* A thread of EAL polls, and goes on. */
Test(memory_fault_worker, lcore_of_eal_survives)
{
	static const unsigned workers[] = { 1 };
	const struct row *row = &rows[11];
	struct uroce_wc wc;

	uroce_guard_install();
	network_lcore_ids = workers;
	network_open(&network, 1);
	cr_assert_eq(uroce_engine_start(network.engine), 0, "%s", uroce_last_error());
	network_create_qp(&network, 0, 64, -1);
	network_create_qp(&network, 1, 64, -1);
	make_place(0);
	make_place(1);
	lose(&places[1], PROTECTED, 0);
	for (unsigned i = 0; i < 3; i++) {
		network_connect(&network, false);
		post(row, 6);
		while (uroce_cq_poll(network.ends[0].cq, 1, &wc) == 0)
			;
		cr_expect_eq(wc.status, UROCE_WC_REM_ACCESS_ERR, "%s", uroce_wc_status_name(wc.status));
		for (int end = 0; end < 2; end++) {
			cr_assert_eq(uroce_qp_destroy(network.ends[end].qp), 0);
			network_create_qp(&network, end, 64, -1);
		}
	}
	uroce_engine_stop(network.engine);
	drop_place(0);
	drop_place(1);
	network_close(&network);
}

static struct uroce_ud *uds[2];

static enum uroce_wc_status send_datagram(const void *data, uint32_t lkey, uint32_t flags, int *error)
{
	const struct uroce_ud_addr to = {
		.path = { .source = network_address("10.0.0.1"), .dest = network_address("10.0.0.2") },
		.qp_num = uroce_ud_num(uds[1]),
		.qkey = uroce_ud_qkey(uds[1]),
	};
	struct uroce_sge sge = { (uintptr_t)data, 64, lkey };
	struct uroce_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = UROCE_WR_SEND, .send_flags = flags };
	struct uroce_wc wc;

	*error = uroce_ud_send(uds[0], &to, &wr);
	for (unsigned i = 0; i < 1000; i++) {
		network_poll(&network);
		if (uroce_cq_poll(network.ends[1].cq, 1, &wc) == 1)
			return wc.status;
	}
	return UROCE_WC_STATUSES;
}

static void post_datagram_receive(void)
{
	struct uroce_sge sge = { (uintptr_t)places[1].memory, 2 * PAGE, uroce_mr_lkey(places[1].mr) };
	struct uroce_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };

	cr_assert_eq(uroce_ud_post_recv(uds[1], &wr), 0);
}

Test(memory_fault, datagrams_from_and_to_unmapped_memory_fail)
{
	uint8_t *lost = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int error;

	uroce_guard_install();
	network_open(&network, 1);
	for (int end = 0; end < 2; end++) {
		struct uroce_ud_init_attr init = { .max_recv_wr = 4, .max_recv_sge = 1 };

		cr_assert_eq(uroce_cq_create(network.ends[end].device, 64, &network.ends[end].cq), 0);
		init.send_cq = init.recv_cq = network.ends[end].cq;
		cr_assert_eq(uroce_ud_create(network.ends[end].pd, &init, &uds[end]), 0);
		make_place(end);
	}
	post_datagram_receive();
	cr_expect_eq(send_datagram(places[0].memory, uroce_mr_lkey(places[0].mr), 0, &error), UROCE_WC_SUCCESS);
	post_datagram_receive();
	cr_expect_eq(send_datagram(lost, 0, UROCE_SEND_INLINE, &error), UROCE_WC_STATUSES);
	cr_expect_eq(error, -EFAULT);
	lose(&places[1], UNMAPPED, 0);
	cr_expect_eq(send_datagram(places[0].memory, uroce_mr_lkey(places[0].mr), 0, &error), UROCE_WC_LOC_PROT_ERR);
	lose(&places[0], UNMAPPED, 0);
	cr_expect_eq(send_datagram(places[0].memory, uroce_mr_lkey(places[0].mr), 0, &error), UROCE_WC_STATUSES);
	cr_expect_eq(error, -EFAULT);
	cr_assert_eq(uroce_ud_destroy(uds[0]), 0);
	cr_assert_eq(uroce_ud_destroy(uds[1]), 0);
	drop_place(0);
	drop_place(1);
	network_close(&network);
}

Test(memory_fault, explanation_contains_a_remedy)
{
	char line[UROCE_EXPLAIN_BYTES];
	struct uroce_wc wc;

	RULE("E-4");
	uroce_guard_install();
	network_open_connected(&network, 1, 64);
	make_place(0);
	make_place(1);
	lose(&places[0], UNMAPPED, 0);
	post(&rows[0], 6);
	wc = network_wait(&network, 0);
	uroce_wc_explain(&wc, line, sizeof(line));
	cr_expect(strstr(line, "memory of a registered region was unmapped, protected or truncated"), "%s", line);
	cr_expect(strstr(line, "Look: deregister a region before its memory is unmapped, protected or truncated"), "%s",
		  line);
	drop_place(0);
	drop_place(1);
	network_close(&network);
}

Test(memory_fault, process_without_guard_gets_the_signal, .signal = SIGSEGV)
{
	try_row(&rows[0], UNMAPPED);
}

Test(memory_fault, reset_queue_pair_uses_memory_again)
{
	const struct row *row = &rows[11]; /* the responder had lost its memory */

	uroce_guard_install();
	network_open_connected(&network, 1, 64);
	make_place(0);
	make_place(1);
	lose(&places[1], UNMAPPED, 0);
	post(row, 6);
	cr_assert_eq(network_wait(&network, 0).status, UROCE_WC_REM_ACCESS_ERR);
	for (int end = 0; end < 2; end++) {
		struct uroce_qp_attr reset = { .qp_state = UROCE_QPS_RESET };

		cr_assert_eq(uroce_qp_modify(network.ends[end].qp, &reset, UROCE_QP_STATE, NULL), 0);
		cr_assert_eq(uroce_qp_query(network.ends[end].qp, &network.ends[end].attr), 0);
	}
	usleep(1100000); /* time-wait (P-7) */
	network_connect(&network, false);
	expect_write(row);
	drop_place(0);
	drop_place(1);
	network_close(&network);
}
