/* ranks.c - processes that share an interface, as the ranks of an MPI job do: each talks to itself and to all others */
/* SPDX-License-Identifier: BSD-3-Clause */
/* Needs root: a veth pair in a network namespace of its own. */
#include <criterion/criterion.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <uroce/uroce.h>

#include "rule.h"

TestSuite(ranks, .timeout = 110);

#define RANKS 4u
#define ROUNDS 20u
#define BYTES 3000u
#define PATIENCE_S 60

/* Memory that the ranks share, in place of a launcher's network. */
struct board {
	_Atomic unsigned arrived;
	struct {
		uint32_t qpn, psn; /* of the QP of the first rank for the second */
	} qps[RANKS][RANKS];
	struct {
		uint64_t addr;
		uint32_t rkey;
	} memory[RANKS];
};

static struct board *board;

/* One rank: a process. */
struct rank {
	unsigned number;
	struct uroce_engine *engine;
	struct uroce_port *port;
	struct uroce_pd *pd;
	struct uroce_cq *cq;
	struct uroce_mr *mr;
	struct uroce_qp *qps[RANKS];
	uint8_t sent[BYTES], received[RANKS][BYTES];
};

/* Assertions are of the process that runs the test: a rank ends itself. */
#define MUST(condition)                                                                                  \
	do {                                                                                             \
		if (!(condition)) {                                                                      \
			fprintf(stderr, "# rank %u: line %d: %s\n", rank->number, __LINE__, #condition); \
			_exit(1);                                                                        \
		}                                                                                        \
	} while (0)

static void address_of(unsigned rank, char text[32])
{
	snprintf(text, 32, "192.0.2.%u/24", 11 + rank);
}

/* Waits for all ranks, and serves the port meanwhile. */
static void wait_for_all(struct rank *rank)
{
	time_t end = time(NULL) + PATIENCE_S;
	unsigned step = atomic_fetch_add(&board->arrived, 1) / RANKS + 1;

	while (atomic_load(&board->arrived) < step * RANKS) {
		uroce_lcore_poll(uroce_engine_lcore(rank->engine, 0));
		MUST(time(NULL) < end);
	}
}

static void open_rank(struct rank *rank, const char *interface)
{
	const char *arguments[] = { "rank", "--no-huge", "--no-shconf", "--no-telemetry", "--no-pci", "-m", "64" };
	const struct uroce_eal_config eal = { .argc = 7, .argv = arguments };
	struct uroce_engine_config engine = { .lcore_count = 1 };
	char address[32];
	struct uroce_port_config config = { .addresses = { address }, .mbuf_count = 4095 };
	struct uroce_error error = { "" };

	MUST(uroce_eal_start(&eal, &error) == 0);
	MUST(uroce_engine_create(&engine, &rank->engine) == 0);
	address_of(rank->number, address);
	config.engine = rank->engine;
	if (uroce_port_open(interface, &config, &rank->port, &error) != 0)
		fprintf(stderr, "# rank %u: %s\n", rank->number, error.text);
	MUST(rank->port);
	MUST(uroce_pd_alloc(rank->port->device, &rank->pd) == 0);
	MUST(uroce_cq_create(rank->port->device, 256, &rank->cq) == 0);
	MUST(uroce_mr_reg(rank->pd, rank, sizeof(*rank), UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_WRITE,
			  &rank->mr) == 0);
	board->memory[rank->number].addr = (uintptr_t)rank->received;
	board->memory[rank->number].rkey = uroce_mr_rkey(rank->mr);
}

static void create_qps(struct rank *rank)
{
	const struct uroce_qp_init_attr init = {
		.send_cq = rank->cq,
		.recv_cq = rank->cq,
		.max_send_wr = 8,
		.max_recv_wr = 8,
		.max_send_sge = 1,
		.max_recv_sge = 1,
	};
	struct uroce_qp_attr attr;

	for (unsigned peer = 0; peer < RANKS; peer++) {
		MUST(uroce_qp_create(rank->pd, &init, &rank->qps[peer]) == 0);
		MUST(uroce_qp_query(rank->qps[peer], &attr) == 0);
		board->qps[rank->number][peer].qpn = uroce_qp_num(rank->qps[peer]);
		board->qps[rank->number][peer].psn = attr.sq_psn;
	}
}

static void connect_qps(struct rank *rank)
{
	for (unsigned peer = 0; peer < RANKS; peer++) {
		char source[32], dest[32];
		struct uroce_qp_attr attr = {
			.access_flags = UROCE_ACCESS_REMOTE_WRITE,
			.path_mtu = 1024,
			.dest_qp_num = board->qps[peer][rank->number].qpn,
			.rq_psn = board->qps[peer][rank->number].psn,
			.min_rnr_timer = 1,
			.timeout = 17,
			.retry_cnt = 7,
			.rnr_retry = 7,
		};

		address_of(rank->number, source);
		address_of(peer, dest);
		MUST(uroce_addr_parse(source, &attr.path.source, NULL) == 0);
		MUST(uroce_addr_parse(dest, &attr.path.dest, NULL) == 0);
		MUST(uroce_qp_connect(rank->qps[peer], &attr, NULL) == 0);
	}
}

/* Writes to the peer's memory, where each rank has its own part. */
static void write_to(struct rank *rank, unsigned peer)
{
	struct uroce_sge sge = { .addr = (uintptr_t)rank->sent, .length = BYTES, .lkey = uroce_mr_lkey(rank->mr) };
	const struct uroce_send_wr wr = {
		.opcode = UROCE_WR_RDMA_WRITE,
		.sg_list = &sge,
		.num_sge = 1,
		.send_flags = UROCE_SEND_SIGNALED,
		.remote_addr = board->memory[peer].addr + rank->number * BYTES,
		.rkey = board->memory[peer].rkey,
	};
	time_t end = time(NULL) + PATIENCE_S;
	struct uroce_wc wc = { .status = UROCE_WC_SUCCESS };

	MUST(uroce_qp_post_send(rank->qps[peer], &wr, NULL) == 0);
	while (uroce_cq_poll(rank->cq, 1, &wc) == 0) {
		uroce_lcore_poll(uroce_engine_lcore(rank->engine, 0));
		MUST(time(NULL) < end);
	}
	MUST(wc.status == UROCE_WC_SUCCESS);
}

static void close_rank(struct rank *rank)
{
	for (unsigned peer = 0; peer < RANKS; peer++)
		MUST(uroce_qp_destroy(rank->qps[peer]) == 0);
	MUST(uroce_mr_dereg(rank->mr) == 0);
	MUST(uroce_cq_destroy(rank->cq) == 0);
	MUST(uroce_pd_dealloc(rank->pd) == 0);
	MUST(uroce_port_close(rank->port) == 0);
	MUST(uroce_engine_destroy(rank->engine) == 0);
	uroce_eal_stop();
}

static void run_rank(unsigned number, const char *interface)
{
	static struct rank memory;
	struct rank *rank = &memory;

	rank->number = number;
	memset(rank->sent, (int)('a' + number), BYTES);
	open_rank(rank, interface);
	create_qps(rank);
	wait_for_all(rank);
	connect_qps(rank);
	write_to(rank, number); /* from now on frames of its own are possible */
	wait_for_all(rank);
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned peer = 0; peer < RANKS; peer++)
			write_to(rank, (number + peer) % RANKS);
	}
	wait_for_all(rank);
	for (unsigned peer = 0; peer < RANKS; peer++) {
		for (unsigned i = 0; i < BYTES; i++)
			MUST(rank->received[peer][i] == 'a' + peer);
	}
	close_rank(rank);
	_exit(0);
}

/* Starts a rank. With pid_namespace it has a pid namespace of its own, in which it is process 1. */
static pid_t start_rank(unsigned number, const char *interface, bool pid_namespace)
{
	pid_t child = fork(), inner;
	int status;

	cr_assert_geq(child, 0);
	if (child > 0)
		return child;
	if (!pid_namespace)
		run_rank(number, interface);
	if (unshare(CLONE_NEWPID) != 0)
		_exit(2);
	inner = fork();
	if (inner == 0)
		run_rank(number, interface);
	_exit(inner > 0 && waitpid(inner, &status, 0) == inner && WIFEXITED(status) ? WEXITSTATUS(status) : 3);
}

static void all_talk_to_all(const char *const interfaces[RANKS], bool pid_namespace)
{
	pid_t children[RANKS];
	int status;

	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(board, MAP_FAILED);
	for (unsigned i = 0; i < RANKS; i++)
		children[i] = start_rank(i, interfaces[i], pid_namespace);
	for (unsigned i = 0; i < RANKS; i++) {
		cr_assert_eq(waitpid(children[i], &status, 0), children[i]);
		cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "rank %u ended with %x", i, status);
	}
	munmap(board, sizeof(*board));
}

/* With qdisc_bypass=0 each socket on the interface gets what the others send. */
static const char *const one_interface[RANKS] = { "ra,qdisc_bypass=0", "ra,qdisc_bypass=0", "ra,qdisc_bypass=0",
						  "ra,qdisc_bypass=0" };

static void make_network(const char *command)
{
	if (geteuid() != 0 || unshare(CLONE_NEWNET) != 0)
		cr_skip_test("needs root for a network namespace");
	if (system(command) != 0)
		cr_skip_test("needs iproute2, veth and macvlan");
}

#define VETH "ip link add ra type veth peer name rb && ip link set ra up && ip link set rb up"

Test(ranks, ranks_on_one_interface_reach_each_other)
{
	RULE("W-8");
	make_network(VETH);
	all_talk_to_all(one_interface, false);
}

/* Containers that share the network of their host: all ranks have the same process id. */
Test(ranks, ranks_in_pid_namespaces_reach_each_other)
{
	RULE("W-8");
	make_network(VETH);
	all_talk_to_all(one_interface, true);
}

/* Consecutive process ids and consecutive interfaces: the driver's group numbers collide. */
Test(ranks, ranks_on_consecutive_interfaces_reach_each_other)
{
	static const char *const interfaces[RANKS] = { "r0", "r1", "r2", "r3" };

	RULE("W-8");
	make_network(VETH " && for i in 0 1 2 3; do ip link add link ra r$i type macvlan mode bridge && "
			  "ip link set r$i up || exit 1; done");
	all_talk_to_all(interfaces, false);
}
