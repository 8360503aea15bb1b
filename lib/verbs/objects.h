/* objects.h - the structs behind the handles of verbs; each begins with the struct that libibverbs knows */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Some structs of libibverbs go on with fields of a private header, for which room is left here. Only the shell for
 * that release (shell34.c) knows those fields, and checks that they fit.
 */
#ifndef VERBS_OBJECTS_H
#define VERBS_OBJECTS_H

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include <infiniband/verbs.h>

#include "verbs/lock.h"
#include "verbs/stack.h"

struct verb_context {
	struct verbs_context verbs; /* programs hold its `context` */
	struct stack *stack;
	int async_write_fd; /* what is written here is read from async_fd by programs */
	struct verb_context *next;
};

struct verb_td {
	struct ibv_td ibv;
	_Atomic uint32_t users;
};

struct verb_pd {
	struct ibv_pd ibv;
	struct uroce_pd *pd;
	struct verb_pd *parent; /* a parent domain's pd; NULL: it is no parent domain */
	struct verb_td *thread; /* thread domain of a parent domain, or NULL */
	_Atomic uint32_t users; /* number of its parent domains and address handles */
};

struct verb_mr {
	struct ibv_mr ibv;
	uint32_t shell[2];
	struct uroce_mr *mr;
	uint64_t va;     /* first address, as peers name it */
	uint32_t rights; /* enum uroce_access */
};

struct verb_mw {
	struct ibv_mw ibv;
	struct uroce_mw *mw;
};

struct verb_ah {
	struct ibv_ah ibv;
	struct verb_pd *pd;
	struct uroce_path path;
};

struct verb_forgotten {
	struct verb_forgotten *next;
	uint32_t qp_num, mark; /* mark: from uroce_cq_mark() */
};

/* A completion queue, and the completion that a program looks at through ibv_cq_ex. */
struct verb_cq {
	struct ibv_cq_ex ibv;
	struct uroce_cq *cq;
	struct verb_lock lock;
	struct verb_lock forgotten_lock;    /* of `forgotten`; never kept from one call to another */
	bool single_threaded;               /* the program has promised that; `lock` is not taken */
	bool walks;                         /* between ibv_start_poll() and ibv_end_poll(); with the lock */
	bool yields;                        /* a poll that finds nothing lets the stack's thread have the core */
	int channel_fd;                     /* descriptor to which a wake-up is written; -1: no channel */
	uint32_t comp_events, async_events; /* events read, to be acknowledged before the queue is destroyed */
	struct uroce_wc current;            /* the completion of start_poll and next_poll */
	struct verb_forgotten
		*_Atomic forgotten; /* destroyed queue pairs: their completions up to a mark are dropped */
	uint64_t number;            /* from verb_event_draw() */
	struct verb_cq *next;
};

struct verb_srq {
	struct ibv_srq ibv;
	uint64_t shell[4];
	struct uroce_srq *srq;
	struct verb_lock lock;
	uint32_t async_events;
	uint64_t number; /* from verb_event_draw() */
	struct verb_srq *next;
};

struct verb_qp {
	struct ibv_qp_ex ibv;
	uint64_t shell[2];
	struct uroce_qp *rc; /* exactly one of these two is set */
	struct uroce_ud *ud;
	struct verb_batch *batch; /* for ibv_wr_start(); NULL: the program has not asked for ibv_wr_start() */
	struct verb_lock send_lock, recv_lock;
	struct ibv_qp_attr set; /* attributes as the program has set them */
	struct ibv_qp_cap cap;
	uint32_t qkey;
	uint32_t ece; /* valid if has_ece: the VERB_ECE_... bits that both ends have agreed on */
	bool has_ece;
	bool sq_sig_all;
	uint32_t async_events;
	uint64_t number; /* from verb_event_draw() */
	struct verb_qp *next;
};

enum verb_unsupported { VERB_UC, VERB_XRC, VERB_RAW, VERB_ODP, VERB_MULTICAST, VERB_UNSUPPORTED };

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
	return (struct verb_cq *)cq; /* an ibv_cq_ex begins with the fields of an ibv_cq */
}

static inline void verb_cq_lock(struct verb_cq *cq)
{
	if (!cq->single_threaded)
		lock_take(&cq->lock);
}

static inline void verb_cq_unlock(struct verb_cq *cq)
{
	if (!cq->single_threaded)
		lock_release(&cq->lock);
}

static inline struct verb_srq *verb_srq_of(struct ibv_srq *srq)
{
	return VERB_OF(verb_srq, ibv, srq);
}

static inline struct verb_qp *verb_qp_of(struct ibv_qp *qp)
{
	return VERB_OF(verb_qp, ibv.qp_base, qp);
}

/* set by UROCE_EXPLAIN=1: failed completions are explained on standard error */
extern bool verb_explains;

/* Verbs return a positive errno, and set errno. error: 0 or a negative errno of the library. */
int verb_result(int error);
/* Sets errno and returns NULL. */
void *verb_refused(int error);
/* Sets EOPNOTSUPP and returns NULL. What is not supported is said once on standard error. */
void *verb_unsupported(enum verb_unsupported what);

#endif
