/* objects.h - what stands behind the handles of verbs: each begins with the structure that libibverbs knows */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Some of those structures go on with fields of a private header of libibverbs, for which room is left here. Which
 * fields these are only the shell of that release knows (shell34.c), which checks that they fit.
 */
#ifndef VERBS_OBJECTS_H
#define VERBS_OBJECTS_H

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include <infiniband/verbs.h>

#include "verbs/stack.h"

struct verb_context {
	struct verbs_context verbs; /* public; its `context` is what programs hold */
	struct stack *stack;
	int async_write_fd; /* what goes in here comes out of the async_fd that programs read */
	struct verb_context *next;
};

struct verb_td {
	struct ibv_td ibv;
	_Atomic uint32_t users;
};

struct verb_pd {
	struct ibv_pd ibv;
	struct uroce_pd *pd;
	struct verb_pd *parent; /* whose pd it is; NULL: its own */
	struct verb_td *thread; /* of a parent domain, or NULL */
	_Atomic uint32_t users; /* parent domains of it */
};

struct verb_mr {
	struct ibv_mr ibv;
	uint32_t shell[2];
	struct uroce_mr *mr;
	uint64_t va;     /* from where it is addressed */
	uint32_t rights; /* enum uroce_access */
};

struct verb_mw {
	struct ibv_mw ibv;
	struct uroce_mw *mw;
};

struct verb_ah {
	struct ibv_ah ibv;
	struct uroce_path path;
};

struct verb_forgotten {
	struct verb_forgotten *next;
	uint32_t qp_num, mark; /* of uroce_cq_mark() */
};

/* Completions that an ibv_cq_ex has taken, and the one that it is looked at through. */
struct verb_cq {
	struct ibv_cq_ex ibv;
	struct uroce_cq *cq;
	pthread_spinlock_t lock;
	int channel_fd;                     /* where a wake-up is written; -1: there is no channel */
	uint32_t comp_events, async_events; /* told, to be acknowledged before it is destroyed */
	struct uroce_wc current;            /* of start_poll and next_poll */
	struct verb_forgotten *forgotten;   /* queue pairs whose completions up to a mark nobody wants */
	struct verb_cq *next;
};

struct verb_srq {
	struct ibv_srq ibv;
	uint64_t shell[4];
	struct uroce_srq *srq;
	pthread_spinlock_t lock;
	uint32_t async_events;
	struct verb_srq *next;
};

struct verb_qp {
	struct ibv_qp_ex ibv;
	uint64_t shell[2];
	struct uroce_qp *rc; /* one of the two */
	struct uroce_ud *ud;
	struct verb_batch *batch; /* of ibv_wr_start(); NULL: it was not asked for */
	pthread_spinlock_t send_lock, recv_lock;
	struct ibv_qp_attr set; /* what software has set */
	struct ibv_qp_cap cap;
	uint32_t qkey;
	bool sq_sig_all;
	uint32_t async_events;
	struct verb_qp *next;
};

enum verb_unsupported { VERB_UC, VERB_XRC, VERB_RAW, VERB_ODP, VERB_MULTICAST, VERB_UD_SRQ, VERB_UNSUPPORTED };

#define VERB_OF(type, member, pointer) ((struct type *)((char *)(pointer)-offsetof(struct type, member)))

static inline struct verb_context *verb_context_of(struct ibv_context *context)
{
	return VERB_OF(verb_context, verbs.context, context);
}

static inline struct verb_pd *verb_pd_of(struct ibv_pd *pd)
{
	return VERB_OF(verb_pd, ibv, pd);
}

static inline struct verb_cq *verb_cq_of(struct ibv_cq *cq)
{
	return (struct verb_cq *)cq; /* an ibv_cq_ex begins with an ibv_cq's fields */
}

static inline struct verb_srq *verb_srq_of(struct ibv_srq *srq)
{
	return VERB_OF(verb_srq, ibv, srq);
}

static inline struct verb_qp *verb_qp_of(struct ibv_qp *qp)
{
	return VERB_OF(verb_qp, ibv.qp_base, qp);
}

/* UROCE_EXPLAIN=1: failed completions are explained on standard error. */
extern bool verb_explains;

/* Verbs want a positive errno returned, and errno set. error: 0 or a negative errno of the library. */
int verb_result(int error);
/* NULL, with errno set. */
void *verb_refused(int error);
/* NULL, with EOPNOTSUPP: what, which no queue pair of ours can, is said once on standard error. */
void *verb_unsupported(enum verb_unsupported what);

#endif
