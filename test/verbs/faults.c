/* faults.c - memory that is unmapped while it is registered, beside a program with a handler of faults of its own */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * usage: verbs-faults [before|after]. The program installs a handler of SIGSEGV before or after it opens the device, or
 * none. A WRITE goes to memory that is not mapped any more, and fails; then the program faults itself: exit 7 from its
 * handler.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "need.h"

#define BYTES 4096

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;

static void handle(int number, siginfo_t *info, void *ucontext)
{
	(void)ucontext;
	_exit(number == SIGSEGV && info->si_addr == (void *)8 ? 7 : 8);
}

static void install(void)
{
	struct sigaction ours = { .sa_sigaction = handle, .sa_flags = SA_SIGINFO }, old;

	need("sigaction", sigaction(SIGSEGV, &ours, &old) == 0 && old.sa_handler == SIG_DFL);
	need("sigaction returns the handler of the program",
	     sigaction(SIGSEGV, NULL, &old) == 0 && old.sa_sigaction == handle);
}

static void open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	need("ibv_get_device_list", list && list[0]);
	context = ibv_open_device(list[0]);
	need("ibv_open_device", context != NULL);
	pd = ibv_alloc_pd(context);
	cq = ibv_create_cq(context, 16, NULL, NULL, 0);
	need("ibv_create_cq", pd && cq);
}

static struct ibv_qp *create_qp(void)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .qp_access_flags = IBV_ACCESS_REMOTE_WRITE };
	struct ibv_qp *qp = ibv_create_qp(pd, &init);

	need("ibv_create_qp", qp != NULL);
	need("to INIT",
	     ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS) == 0);
	return qp;
}

static struct ibv_mr *map(void)
{
	void *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr = ibv_reg_mr(pd, memory, BYTES, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);

	need("ibv_reg_mr", mr != NULL);
	return mr;
}

static enum ibv_wc_status write_to(struct ibv_qp *qp, const struct ibv_mr *from, const struct ibv_mr *to)
{
	struct ibv_sge sge = { .addr = (uintptr_t)from->addr, .length = 8, .lkey = from->lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = (uintptr_t)to->addr, .rkey = to->rkey },
	};
	struct ibv_wc wc;

	need("ibv_post_send", ibv_post_send(qp, &wr, &bad) == 0);
	while (ibv_poll_cq(cq, 1, &wc) == 0)
		;
	return wc.status;
}

static struct ibv_mr *from, *to;
static volatile int *volatile own_fault = (volatile int *)8;

static struct ibv_qp *connect_pair(void)
{
	struct ibv_qp *pair[2] = { create_qp(), create_qp() };

	need_connected(pair[0], pair[1]->qp_num);
	need_connected(pair[1], pair[0]->qp_num);
	need("WRITE", write_to(pair[0], from, from) == IBV_WC_SUCCESS);
	return pair[0];
}

int main(int count, char **words)
{
	const char *when = count > 1 ? words[1] : "";
	struct ibv_qp *qp;

	if (strcmp(when, "before") == 0)
		install();
	open_device();
	if (strcmp(when, "after") == 0)
		install();
	from = map();
	to = map();
	qp = connect_pair();
	munmap(to->addr, BYTES);
	printf("WRITE to unmapped memory: %s\n", ibv_wc_status_str(write_to(qp, from, to)));
	qp = connect_pair();
	munmap(from->addr, BYTES);
	printf("WRITE from unmapped memory: %s\n", ibv_wc_status_str(write_to(qp, from, from)));
	printf("read-only memory: %s\n",
	       ibv_reg_mr(pd, mmap(NULL, BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), BYTES,
			  IBV_ACCESS_LOCAL_WRITE) ||
			       errno != EFAULT ?
		       "WRONG" :
		       "EFAULT");
	fflush(stdout);
	*own_fault = 0;
	return 0;
}
