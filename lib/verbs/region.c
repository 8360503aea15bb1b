/* region.c - memory regions and windows */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs/ops.h"

#include <errno.h>
#include <stdlib.h>

#define REMOTE (UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_READ | UROCE_ACCESS_REMOTE_ATOMIC)
#define KNOWN (REMOTE | UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_MW_BIND | UROCE_ACCESS_ZERO_BASED)

/* -1: one of them is not known. */
static int64_t access_of(unsigned access)
{
	access &= ~(IBV_ACCESS_OPTIONAL_RANGE | IBV_ACCESS_HUGETLB); /* a hint about pages, which is ignored */
	return access & ~(unsigned)KNOWN ? -1 : (int64_t)access;
}

uint32_t verb_remote_access(unsigned access)
{
	return access & REMOTE;
}

struct ibv_mr *verb_reg_mr(struct ibv_pd *pd, void *addr, size_t bytes, uint64_t va, int access)
{
	int64_t rights = access_of((unsigned)access);
	struct verb_mr *mr;
	int error;

	if (access & IBV_ACCESS_ON_DEMAND)
		return verb_unsupported(VERB_ODP);
	if (rights < 0)
		return verb_refused(-EINVAL);
	mr = calloc(1, sizeof(*mr));
	if (mr == NULL)
		return verb_refused(-ENOMEM);
	mr->va = rights & UROCE_ACCESS_ZERO_BASED ? 0 : va;
	mr->rights = (uint32_t)rights;
	error = uroce_mr_reg_at(verb_pd_of(pd)->pd, addr, bytes, mr->va, mr->rights, &mr->mr);
	if (error) {
		free(mr);
		return verb_refused(error);
	}
	mr->ibv.lkey = uroce_mr_lkey(mr->mr);
	mr->ibv.rkey = uroce_mr_rkey(mr->mr);
	return &mr->ibv;
}

/*
 * This changes what peers see; afterwards libibverbs changes what the program sees. If this refuses, the region is
 * unchanged.
 */
int verb_rereg_mr(struct ibv_mr *ibv, int flags, struct ibv_pd *pd, void *addr, size_t bytes, int access)
{
	struct verb_mr *mr = VERB_OF(verb_mr, ibv, ibv);
	int64_t rights = flags & IBV_REREG_MR_CHANGE_ACCESS ? access_of((unsigned)access) : mr->rights;
	bool moves = flags & IBV_REREG_MR_CHANGE_TRANSLATION;
	uint64_t va = moves ? (uintptr_t)addr : mr->va;
	int error;

	if (rights < 0)
		return verb_result(-EINVAL);
	if (rights & UROCE_ACCESS_ZERO_BASED)
		va = 0;
	error = uroce_mr_rereg(mr->mr, verb_pd_of(flags & IBV_REREG_MR_CHANGE_PD ? pd : ibv->pd)->pd,
			       moves ? addr : ibv->addr, moves ? bytes : ibv->length, va, (uint32_t)rights);
	if (error)
		return verb_result(error);
	mr->va = va;
	mr->rights = (uint32_t)rights;
	return 0;
}

int verb_dereg_mr(struct ibv_mr *ibv)
{
	struct verb_mr *mr = VERB_OF(verb_mr, ibv, ibv);
	int error = uroce_mr_dereg(mr->mr);

	if (error == 0)
		free(mr);
	return verb_result(error);
}

struct ibv_mw *verb_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct verb_mw *mw = calloc(1, sizeof(*mw));
	int error = mw ? uroce_mw_alloc(verb_pd_of(pd)->pd, (enum uroce_mw_type)type, &mw->mw) : -ENOMEM;

	if (error) {
		free(mw);
		return verb_refused(error);
	}
	mw->ibv = (struct ibv_mw){ .context = pd->context, .pd = pd, .type = type, .rkey = uroce_mw_rkey(mw->mw) };
	return &mw->ibv;
}

int verb_dealloc_mw(struct ibv_mw *ibv)
{
	struct verb_mw *mw = VERB_OF(verb_mw, ibv, ibv);
	int error = uroce_mw_dealloc(mw->mw);

	if (error == 0)
		free(mw);
	return verb_result(error);
}
