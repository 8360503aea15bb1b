/* one_core.c - what a poll that finds nothing does with the core: on the only one it lets the stack have it */
/* SPDX-License-Identifier: BSD-3-Clause */
/* usage: verbs-one-core. Prints how many of its polls have yielded. */
#include <infiniband/verbs.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define POLLS 10u

static unsigned yields;

static void count(int number)
{
	(void)number;
	yields++;
}

/* From now on each sched_yield() of this thread is a signal instead. 0: so it is. */
static int watch(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_sched_yield, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(filter) / sizeof(filter[0]), .filter = filter };

	return signal(SIGSYS, count) == SIG_ERR || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0;
}

int main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = list && list[0] ? ibv_open_device(list[0]) : NULL;
	struct ibv_cq_init_attr_ex wanted = { .cqe = 4 };
	struct ibv_poll_cq_attr none = { 0 };
	struct ibv_cq *cq = context ? ibv_create_cq(context, 4, NULL, NULL, 0) : NULL;
	struct ibv_cq_ex *walked = context ? ibv_create_cq_ex(context, &wanted) : NULL;
	struct ibv_wc wc;

	if (cq == NULL || walked == NULL || watch() != 0)
		return 1;
	for (unsigned i = 0; i < POLLS; i++) {
		if (ibv_poll_cq(cq, 1, &wc) != 0 || ibv_start_poll(walked, &none) == 0)
			return 1;
	}
	printf("%u of %u polls have yielded\n", yields, 2 * POLLS);
	return 0;
}
