/* verbs_sender.c - a program over libibverbs, on a Linux host, that sends requests to a uroce-testpmd --server */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   gcc -o verbs_sender verbs_sender.c -libverbs
 *   ./verbs_sender DEVICE GID_INDEX HOST [PORT]         rxe0 1 192.0.2.9
 *
 * HOST is where the target listens on TCP. Each side sends a line of JSON, this program first: "program" and "protocol"
 * as below, "type" ("ask", and "offer" or "refused" with a "reason"), "qps", "size", "mtu", "addr", "rkey", "va", and
 * arrays "qp_nums" and "psns" with a number for each queue pair. The target connects its queue
 * pairs before it answers, and serves until the TCP connection ends. Its memory at VA has an area for each queue pair:
 * a message, up to the next multiple of 64, and 64 bytes whose first 8 are for atomics.
 */
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <netdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BYTES 4096u
#define MTU 1024u
#define ROUNDS 100u
#define COUNTER_AT BYTES /* offset of the counter in the target's area */
#define PSN 0x123456u

static uint8_t memory[2 * BYTES + 64]; /* bytes to send, bytes that were read, a counter */
static struct ibv_context *context;
static struct ibv_mr *region;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static uint32_t peer_qpn, peer_psn, peer_rkey;
static uint64_t peer_va;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 }
	};
	struct ibv_pd *pd;

	for (int i = 0; list && list[i]; i++) {
		if (strcmp(ibv_get_device_name(list[i]), name) == 0)
			context = ibv_open_device(list[i]);
	}
	if (context == NULL || (pd = ibv_alloc_pd(context)) == NULL)
		fail(name);
	region = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	cq = ibv_create_cq(context, 4, NULL, NULL, 0);
	init.send_cq = init.recv_cq = cq;
	qp = region && cq ? ibv_create_qp(pd, &init) : NULL;
	if (qp == NULL)
		fail("memory region, completion queue and queue pair");
}

static int dial(const char *host, const char *port)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found;
	int fd;

	if (getaddrinfo(host, port, &hints, &found) != 0)
		fail(host);
	fd = socket(found->ai_family, SOCK_STREAM, 0);
	if (fd < 0 || connect(fd, found->ai_addr, found->ai_addrlen) != 0)
		fail(host);
	freeaddrinfo(found);
	return fd;
}

/* The number behind "NAME":, perhaps the first one of an array. */
static uint64_t number_of(const char *line, const char *name)
{
	char key[32];
	const char *at;

	snprintf(key, sizeof(key), "\"%s\":", name);
	at = strstr(line, key);
	if (at == NULL) {
		fprintf(stderr, "the target replied: %s", line);
		exit(1);
	}
	at += strlen(key);
	return strtoull(*at == '[' ? at + 1 : at, NULL, 10);
}

/* An IPv4 address takes the last four bytes of its GID. */
static void exchange(int fd, int gid_index, union ibv_gid *peer_gid)
{
	static const uint8_t mapped[12] = { [10] = 0xFF, [11] = 0xFF };
	FILE *in = fdopen(dup(fd), "r");
	char address[INET6_ADDRSTRLEN], line[1024], said[64] = "";
	union ibv_gid gid;
	int is_ipv4;

	if (in == NULL || ibv_query_gid(context, 1, gid_index, &gid) != 0)
		fail("GID");
	is_ipv4 = memcmp(gid.raw, mapped, sizeof(mapped)) == 0;
	inet_ntop(is_ipv4 ? AF_INET : AF_INET6, is_ipv4 ? gid.raw + 12 : gid.raw, address, sizeof(address));
	dprintf(fd,
		"{\"program\":\"uroce-testpmd\",\"protocol\":2,\"type\":\"ask\",\"qps\":1,\"size\":%u,\"mtu\":%u,"
		"\"addr\":\"%s\",\"rkey\":0,\"va\":0,\"qp_nums\":[%u],\"psns\":[%u]}\n",
		BYTES, MTU, address, qp->qp_num, PSN);
	if (fgets(line, sizeof(line), in) == NULL)
		fail("reply of the target");
	peer_rkey = (uint32_t)number_of(line, "rkey");
	peer_va = number_of(line, "va");
	peer_qpn = (uint32_t)number_of(line, "qp_nums");
	peer_psn = (uint32_t)number_of(line, "psns");
	if (strstr(line, "\"addr\":"))
		sscanf(strstr(line, "\"addr\":"), "\"addr\":\"%63[^\"]", said);
	memcpy(peer_gid->raw, mapped, sizeof(mapped));
	if (inet_pton(AF_INET, said, peer_gid->raw + 12) != 1 && inet_pton(AF_INET6, said, peer_gid->raw) != 1)
		fail(said);
	fclose(in);
}

static void move_to_init(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) != 0)
		fail("INIT");
}

static void move_to_rts(int gid_index, const union ibv_gid *peer_gid)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer_qpn,
		.rq_psn = peer_psn,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .dgid = *peer_gid, .hop_limit = 64 } },
	};

	attr.ah_attr.grh.sgid_index = (uint8_t)gid_index;
	if (ibv_modify_qp(qp, &attr,
			  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) != 0)
		fail("RTR");
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
				     .sq_psn = PSN,
				     .timeout = 14,
				     .retry_cnt = 7,
				     .rnr_retry = 7,
				     .max_rd_atomic = 1 };
	if (ibv_modify_qp(qp, &attr,
			  IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				  IBV_QP_MAX_QP_RD_ATOMIC) != 0)
		fail("RTS");
}

/* Posts one request and waits for its completion. */
static void request(enum ibv_wr_opcode opcode, uint8_t *here, uint32_t bytes, uint64_t there, uint64_t number)
{
	struct ibv_sge piece = { (uintptr_t)here, bytes, region->lkey };
	struct ibv_send_wr *bad,
		wr = { .sg_list = &piece, .num_sge = 1, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_wc wc;
	int count;

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
		wr.wr.atomic.remote_addr = there;
		wr.wr.atomic.rkey = peer_rkey;
		wr.wr.atomic.compare_add = number;
	} else if (opcode != IBV_WR_SEND) {
		wr.wr.rdma.remote_addr = there;
		wr.wr.rdma.rkey = peer_rkey;
	}
	if (ibv_post_send(qp, &wr, &bad) != 0)
		fail("ibv_post_send");
	while ((count = ibv_poll_cq(cq, 1, &wc)) == 0)
		;
	if (count < 0 || wc.status != IBV_WC_SUCCESS) {
		fprintf(stderr, "%s\n", count < 0 ? "ibv_poll_cq" : ibv_wc_status_str(wc.status));
		exit(1);
	}
}

/* A SEND may overwrite the target's area, so it is posted after the READ whose data is compared. */
static void run_round(uint32_t round)
{
	uint64_t *counter = (uint64_t *)(void *)(memory + 2 * BYTES);

	for (uint32_t i = 0; i < BYTES; i++)
		memory[i] = (uint8_t)(round * 7 + i * 31 + (i >> 8));
	request(IBV_WR_RDMA_WRITE, memory, BYTES, peer_va, 0);
	request(IBV_WR_RDMA_READ, memory + BYTES, BYTES, peer_va, 0);
	if (memcmp(memory, memory + BYTES, BYTES) != 0) {
		fprintf(stderr, "data read in round %u differs from the data written\n", round);
		exit(1);
	}
	request(IBV_WR_SEND, memory, BYTES, 0, 0);
	request(IBV_WR_ATOMIC_FETCH_AND_ADD, memory + 2 * BYTES, 8, peer_va + COUNTER_AT, 1);
	if (*counter != round) {
		fprintf(stderr, "the counter was %lu in round %u\n", (unsigned long)*counter, round);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	union ibv_gid peer_gid = { { 0 } };
	int gid_index, fd;

	if (argc < 4) {
		fprintf(stderr, "usage: verbs_sender DEVICE GID_INDEX HOST [PORT]\n");
		return 2;
	}
	gid_index = atoi(argv[2]);
	open_device(argv[1]);
	move_to_init();
	fd = dial(argv[3], argc > 4 ? argv[4] : "18516");
	exchange(fd, gid_index, &peer_gid);
	move_to_rts(gid_index, &peer_gid);
	for (uint32_t round = 0; round < ROUNDS; round++)
		run_round(round);
	request(IBV_WR_ATOMIC_CMP_AND_SWP, memory + 2 * BYTES, 8, peer_va + COUNTER_AT, ROUNDS);
	request(IBV_WR_RDMA_READ, memory + 2 * BYTES, 8, peer_va + COUNTER_AT, 0);
	if (memory[2 * BYTES] != 0) { /* the counter was ROUNDS, and compare-and-swap has set it to 0 */
		fprintf(stderr, "the counter was not exchanged\n");
		return 1;
	}
	printf("%u times WRITE, READ, SEND and FETCH_AND_ADD, every byte right\n", ROUNDS);
	close(fd);
	return 0;
}
