/* shell34.c - makes the operations a provider for libibverbs with private ABI 34 */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libibverbs finds the device in a small tree that looks like /sys, loads this library, whose name ends in -rdmav34.so,
 * and calls what is registered here. There is no driver in the kernel: libibverbs opens /dev/null as the device, and
 * that descriptor is replaced by one that cannot be written to. So a command to the kernel fails; with /dev/null it
 * would seem to succeed, and leave its answer undefined.
 */
#include "verbs/abi34.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "verbs/ops.h"
#ifdef VERBS_RELEASE_PREFIX
#include "verbs/linked.h"
#endif

static_assert(offsetof(struct verb_qp, shell) == offsetof(struct verbs_qp, comp_mask) &&
		      offsetof(struct verb_qp, rc) >= sizeof(struct verbs_qp),
	      "room for libibverbs' queue pair");
static_assert(offsetof(struct verb_mr, shell) == offsetof(struct verbs_mr, mr_type) &&
		      offsetof(struct verb_mr, mr) >= sizeof(struct verbs_mr),
	      "of a region");
static_assert(offsetof(struct verb_srq, shell) == offsetof(struct verbs_srq, srq_type) &&
		      offsetof(struct verb_srq, srq) >= sizeof(struct verbs_srq),
	      "of a shared receive queue");

static int dereg_mr(struct verbs_mr *mr)
{
	return verb_dereg_mr(&mr->ibv_mr);
}

static struct ibv_mr *reg_mr(struct ibv_pd *pd, void *addr, size_t bytes, uint64_t va, int access)
{
	struct ibv_mr *mr = verb_reg_mr(pd, addr, bytes, va, access);

	if (mr)
		((struct verbs_mr *)mr)->access = access;
	return mr;
}

static int rereg_mr(struct verbs_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t bytes, int access)
{
	int error = verb_rereg_mr(&mr->ibv_mr, flags, pd, addr, bytes, access);

	if (error)
		return IBV_REREG_MR_ERR_CMD; /* the region is unchanged */
	if (flags & IBV_REREG_MR_CHANGE_ACCESS)
		mr->access = access;
	return 0;
}

static struct ibv_qp *create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *init)
{
	bool posts = false;
	struct ibv_qp *qp = verb_create_qp_ex(context, init, &posts);

	if (qp && posts)
		((struct verbs_qp *)qp)->comp_mask |= VERBS_QP_EX;
	return qp;
}

static int attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	(void)qp;
	(void)gid;
	(void)lid;
	verb_unsupported(VERB_MULTICAST);
	return EOPNOTSUPP;
}

static struct ibv_xrcd *open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *init)
{
	(void)context;
	(void)init;
	return verb_unsupported(VERB_XRC);
}

static void free_context(struct ibv_context *context)
{
	struct verb_context *own = verb_context_of(context);

	verb_close(own);
	verbs_uninit_context(&own->verbs);
	free(own);
}

static const struct verbs_context_ops context_ops = {
	.alloc_mw = verb_alloc_mw,
	.alloc_parent_domain = verb_alloc_parent_domain,
	.alloc_pd = verb_alloc_pd,
	.alloc_td = verb_alloc_td,
	.async_event = verb_async_event,
	.attach_mcast = attach_mcast,
	.bind_mw = verb_bind_mw,
	.cq_event = verb_cq_event,
	.create_ah = verb_create_ah,
	.create_cq = verb_create_cq,
	.create_cq_ex = verb_create_cq_ex,
	.create_qp = verb_create_qp,
	.create_qp_ex = create_qp_ex,
	.create_srq = verb_create_srq,
	.dealloc_mw = verb_dealloc_mw,
	.dealloc_pd = verb_dealloc_pd,
	.dealloc_td = verb_dealloc_td,
	.dereg_mr = dereg_mr,
	.destroy_ah = verb_destroy_ah,
	.destroy_cq = verb_destroy_cq,
	.destroy_qp = verb_destroy_qp,
	.destroy_srq = verb_destroy_srq,
	.free_context = free_context,
	.modify_qp = verb_modify_qp,
	.modify_srq = verb_modify_srq,
	.open_xrcd = open_xrcd,
	.poll_cq = verb_poll_cq,
	.post_recv = verb_post_recv,
	.post_send = verb_post_send,
	.post_srq_recv = verb_post_srq_recv,
	.query_device_ex = verb_query_device,
	.query_ece = verb_query_ece,
	.query_port = verb_query_port,
	.query_qp = verb_query_qp,
	.query_srq = verb_query_srq,
	.reg_mr = reg_mr,
	.req_notify_cq = verb_req_notify_cq,
	.rereg_mr = rereg_mr,
	.resize_cq = verb_resize_cq,
	.set_ece = verb_set_ece,
};

static struct verbs_context *alloc_context(struct ibv_device *device, int cmd_fd, void *private_data)
{
	int dead = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct verb_context *context;
	struct stack *stack;
	int error = stack_get(&stack);

	(void)private_data;
	close(cmd_fd);
	if (error) {
		close(dead);
		errno = error;
		return NULL;
	}
	/* closes `dead` itself if it fails */
	context = _verbs_init_and_alloc_context(device, dead, sizeof(*context), NULL, 0);
	if (context == NULL)
		return NULL;
	context->stack = stack;
	error = verb_open(context);
	if (error) {
		verbs_uninit_context(&context->verbs);
		free(context);
		errno = error;
		return NULL;
	}
	verbs_set_ops(&context->verbs, &context_ops);
	return &context->verbs;
}

static struct verbs_device *alloc_device(struct verbs_sysfs_dev *sysfs_dev)
{
	(void)sysfs_dev;
	return calloc(1, sizeof(struct verbs_device));
}

static void uninit_device(struct verbs_device *device)
{
	free(device);
}

static const struct verbs_match_ent match_table[] = {
	{ .u.modalias = "rdma_device:*Nuroce*", .kind = VERBS_MATCH_MODALIAS },
	{ .kind = VERBS_MATCH_SENTINEL },
};

static const struct verbs_device_ops device_ops = {
	.name = "uroce",
	.match_min_abi_version = 1,
	.match_max_abi_version = 1,
	.match_table = match_table,
	.alloc_context = alloc_context,
	.alloc_device = alloc_device,
	.uninit_device = uninit_device,
};

static __attribute__((constructor)) void register_driver(void)
{
#ifdef VERBS_RELEASE_PREFIX
	if (!linked_fits()) {
		fprintf(stderr,
			"uroce: the release of libibverbs.a differs from the release that liburoce-verbs.a was built "
			"with: rebuild uroce with this libibverbs.a, or link the program to libibverbs.so\n");
		return;
	}
#endif
	verbs_register_driver_34(&device_ops);
}
