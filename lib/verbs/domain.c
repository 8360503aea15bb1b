/* domain.c - protection domains, parent domains and thread domains */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs/ops.h"

#include <errno.h>
#include <stdlib.h>

struct ibv_pd *verb_alloc_pd(struct ibv_context *context)
{
	struct verb_pd *pd = calloc(1, sizeof(*pd));
	int error = pd ? uroce_pd_alloc(verb_context_of(context)->stack->device, &pd->pd) : -ENOMEM;

	if (error == 0)
		return &pd->ibv;
	free(pd);
	return verb_refused(error);
}

int verb_dealloc_pd(struct ibv_pd *ibv)
{
	struct verb_pd *pd = verb_pd_of(ibv);
	int error = 0;

	if (atomic_load(&pd->users) > 0)
		return verb_result(-EBUSY);
	if (pd->parent == NULL)
		error = uroce_pd_dealloc(pd->pd);
	if (error)
		return verb_result(error);
	if (pd->parent)
		atomic_fetch_sub(&pd->parent->users, 1);
	if (pd->thread)
		atomic_fetch_sub(&pd->thread->users, 1);
	free(pd);
	return 0;
}

/*
 * A parent domain gives hints: which thread uses its objects, and memory for their queues. They are ignored, because
 * our queues are safe for any thread and lie in memory of their lcores.
 */
struct ibv_pd *verb_alloc_parent_domain(struct ibv_context *context, struct ibv_parent_domain_init_attr *attr)
{
	struct verb_pd *pd;

	if (attr->pd == NULL || verb_pd_of(attr->pd)->parent ||
	    (attr->comp_mask &
	     ~(uint32_t)(IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)))
		return verb_refused(-EINVAL);
	pd = calloc(1, sizeof(*pd));
	if (pd == NULL)
		return verb_refused(-ENOMEM);
	pd->ibv.context = context;
	pd->parent = verb_pd_of(attr->pd);
	pd->thread = attr->td ? VERB_OF(verb_td, ibv, attr->td) : NULL;
	pd->pd = pd->parent->pd;
	atomic_fetch_add(&pd->parent->users, 1);
	if (pd->thread)
		atomic_fetch_add(&pd->thread->users, 1);
	return &pd->ibv;
}

struct ibv_td *verb_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr)
{
	struct verb_td *thread;

	if (attr->comp_mask)
		return verb_refused(-EINVAL);
	thread = calloc(1, sizeof(*thread));
	if (thread == NULL)
		return verb_refused(-ENOMEM);
	thread->ibv.context = context;
	return &thread->ibv;
}

int verb_dealloc_td(struct ibv_td *ibv)
{
	struct verb_td *thread = VERB_OF(verb_td, ibv, ibv);

	if (atomic_load(&thread->users) > 0)
		return verb_result(-EBUSY);
	free(thread);
	return 0;
}
