/* ports.c - a program over both installed archives: no call of DPDK's, two ports, a WRITE from one to the other */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include <uroce/uroce.h>

#define POLLS 100000

struct end {
	struct uroce_port *port;
	struct uroce_pd *pd;
	struct uroce_mr *mr;
	struct uroce_cq *cq;
	struct uroce_qp *qp;
	char buffer[64];
};

static struct uroce_engine *engine;
static struct uroce_error error;
static struct end ends[2];

static int open_end(struct end *end, const char *name, const char *address)
{
	struct uroce_port_config config = { .engine = engine, .addresses = { address } };
	struct uroce_qp_init_attr init = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 };
	int code = uroce_port_open(name, &config, &end->port, &error);

	if (code)
		return code;
	code = uroce_pd_alloc(end->port->device, &end->pd);
	if (code == 0)
		code = uroce_mr_reg(end->pd, end->buffer, sizeof(end->buffer),
				    UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_WRITE, &end->mr);
	if (code == 0)
		code = uroce_cq_create(end->port->device, 16, &end->cq);
	init.send_cq = init.recv_cq = end->cq;
	return code ? code : uroce_qp_create(end->pd, &init, &end->qp);
}

static int connect_end(struct end *end, struct end *other, const char *address, const char *other_address)
{
	struct uroce_qp_attr theirs, attr = {
		.access_flags = UROCE_ACCESS_REMOTE_WRITE,
		.dest_qp_num = uroce_qp_num(other->qp),
		.timeout = 14,
		.retry_cnt = 7,
	};
	int code = uroce_qp_query(other->qp, &theirs);

	attr.rq_psn = theirs.sq_psn;
	if (code || uroce_addr_parse(address, &attr.path.source, NULL) ||
	    uroce_addr_parse(other_address, &attr.path.dest, NULL))
		return -1;
	return uroce_qp_connect(end->qp, &attr, NULL);
}

static int write_across(void)
{
	struct uroce_sge sge = { (uint64_t)(uintptr_t)ends[0].buffer, 64, uroce_mr_lkey(ends[0].mr) };
	struct uroce_send_wr wr = {
		.opcode = UROCE_WR_RDMA_WRITE,
		.send_flags = UROCE_SEND_SIGNALED,
		.sg_list = &sge,
		.num_sge = 1,
		.remote_addr = (uint64_t)(uintptr_t)ends[1].buffer,
		.rkey = uroce_mr_rkey(ends[1].mr),
	};
	struct uroce_wc wc;

	strcpy(ends[0].buffer, "over both archives");
	if (uroce_qp_post_send(ends[0].qp, &wr, NULL) != 0)
		return 1;
	for (int poll = 0; poll < POLLS; poll++) {
		uroce_lcore_poll(uroce_engine_lcore(engine, 0));
		if (uroce_cq_poll(ends[0].cq, 1, &wc) == 1)
			return wc.status != UROCE_WC_SUCCESS || strcmp(ends[0].buffer, ends[1].buffer) != 0;
	}
	return 1;
}

static int close_end(struct end *end)
{
	return uroce_qp_destroy(end->qp) || uroce_cq_destroy(end->cq) || uroce_mr_dereg(end->mr) ||
	       uroce_pd_dealloc(end->pd) || uroce_port_close(end->port);
}

int main(void)
{
	const struct uroce_eal_config eal = { .memory_mib = 128, .main_is_busy = true };
	const struct uroce_engine_config config = { .lcore_count = 1 };
	char version[32];

	snprintf(version, sizeof(version), "%d.%d.%d", UROCE_VERSION_MAJOR, UROCE_VERSION_MINOR, UROCE_VERSION_PATCH);
	if (UROCE_VERSION_NUMBER < 100 || strcmp(version, uroce_version()) != 0)
		return 1;
	if (uroce_eal_start(&eal, &error) || uroce_engine_create(&config, &engine) ||
	    open_end(&ends[0], "loop", "10.0.0.1/24") || open_end(&ends[1], "loop", "10.0.0.2/24") ||
	    connect_end(&ends[0], &ends[1], "10.0.0.1", "10.0.0.2") ||
	    connect_end(&ends[1], &ends[0], "10.0.0.2", "10.0.0.1") || write_across()) {
		fprintf(stderr, "failed: %s\n", error.text);
		return 1;
	}
	printf("%s\n", ends[1].buffer);
	if (close_end(&ends[0]) || close_end(&ends[1]) || uroce_engine_destroy(engine))
		return 1;
	uroce_eal_stop();
	return 0;
}
