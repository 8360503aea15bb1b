/* abi34.h - the structures that libibverbs and a provider share, of private ABI 34 */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rdma-core 34 ... 56 use these structures (Debian 12 and 13, Ubuntu 24.04), but their header is in no package. The
 * names are those of the ABI. Pointers to structures that are never used here are void.
 */
#ifndef VERBS_ABI34_H
#define VERBS_ABI34_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include <infiniband/verbs.h>

struct list_node {
	struct list_node *next, *prev;
};

struct verbs_match_ent {
	void *driver_data;
	union {
		const char *modalias;
		uint64_t driver_id;
	} u;
	uint16_t vendor, device;
	uint8_t kind;
};

enum { VERBS_MATCH_SENTINEL = 0, VERBS_MATCH_MODALIAS = 2 };

struct verbs_sysfs_dev;
struct verbs_device;

struct verbs_device_ops {
	const char *name;
	uint32_t match_min_abi_version, match_max_abi_version;
	const struct verbs_match_ent *match_table;
	const struct verbs_device_ops **static_providers;
	bool (*match_device)(struct verbs_sysfs_dev *sysfs_dev);
	struct verbs_context *(*alloc_context)(struct ibv_device *device, int cmd_fd, void *private_data);
	struct verbs_context *(*import_context)(struct ibv_device *device, int cmd_fd);
	struct verbs_device *(*alloc_device)(struct verbs_sysfs_dev *sysfs_dev);
	void (*uninit_device)(struct verbs_device *device);
};

struct verbs_device {
	struct ibv_device device;
	const struct verbs_device_ops *ops;
	int refcount;
	struct list_node entry;
	struct verbs_sysfs_dev *sysfs;
	uint64_t core_support;
};

struct verbs_mr {
	struct ibv_mr ibv_mr;
	int mr_type;
	int access;
};

struct verbs_srq {
	struct ibv_srq srq;
	int srq_type;
	void *xrcd;
	struct ibv_cq *cq;
	uint32_t srq_num;
};

enum { VERBS_QP_EX = 1 << 1 }; /* comp_mask: qp_ex has functions */

struct verbs_qp {
	struct ibv_qp_ex qp_ex;
	uint32_t comp_mask;
	void *xrcd;
};

typedef void verbs_unused(void);

/* The ABI has these functions in the alphabetical order of their names. */
struct verbs_context_ops {
	verbs_unused *advise_mr, *alloc_dm;
	struct ibv_mw *(*alloc_mw)(struct ibv_pd *pd, enum ibv_mw_type type);
	verbs_unused *alloc_null_mr;
	struct ibv_pd *(*alloc_parent_domain)(struct ibv_context *context, struct ibv_parent_domain_init_attr *attr);
	struct ibv_pd *(*alloc_pd)(struct ibv_context *context);
	struct ibv_td *(*alloc_td)(struct ibv_context *context, struct ibv_td_init_attr *attr);
	void (*async_event)(struct ibv_context *context, struct ibv_async_event *event);
	verbs_unused *attach_counters_point_flow;
	int (*attach_mcast)(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid);
	int (*bind_mw)(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);
	verbs_unused *close_xrcd;
	void (*cq_event)(struct ibv_cq *cq);
	struct ibv_ah *(*create_ah)(struct ibv_pd *pd, struct ibv_ah_attr *attr);
	verbs_unused *create_counters;
	struct ibv_cq *(*create_cq)(struct ibv_context *context, int depth, struct ibv_comp_channel *channel,
				    int vector);
	struct ibv_cq_ex *(*create_cq_ex)(struct ibv_context *context, struct ibv_cq_init_attr_ex *init);
	verbs_unused *create_flow, *create_flow_action_esp;
	struct ibv_qp *(*create_qp)(struct ibv_pd *pd, struct ibv_qp_init_attr *init);
	struct ibv_qp *(*create_qp_ex)(struct ibv_context *context, struct ibv_qp_init_attr_ex *init);
	verbs_unused *create_rwq_ind_table;
	struct ibv_srq *(*create_srq)(struct ibv_pd *pd, struct ibv_srq_init_attr *init);
	verbs_unused *create_srq_ex, *create_wq;
	int (*dealloc_mw)(struct ibv_mw *mw);
	int (*dealloc_pd)(struct ibv_pd *pd);
	int (*dealloc_td)(struct ibv_td *td);
	int (*dereg_mr)(struct verbs_mr *mr);
	int (*destroy_ah)(struct ibv_ah *ah);
	verbs_unused *destroy_counters;
	int (*destroy_cq)(struct ibv_cq *cq);
	verbs_unused *destroy_flow, *destroy_flow_action;
	int (*destroy_qp)(struct ibv_qp *qp);
	verbs_unused *destroy_rwq_ind_table;
	int (*destroy_srq)(struct ibv_srq *srq);
	verbs_unused *destroy_wq, *detach_mcast;
	void (*free_context)(struct ibv_context *context);
	verbs_unused *free_dm, *get_srq_num, *import_dm, *import_mr, *import_pd, *modify_cq, *modify_flow_action_esp;
	int (*modify_qp)(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
	verbs_unused *modify_qp_rate_limit;
	int (*modify_srq)(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask);
	verbs_unused *modify_wq, *open_qp;
	struct ibv_xrcd *(*open_xrcd)(struct ibv_context *context, struct ibv_xrcd_init_attr *init);
	int (*poll_cq)(struct ibv_cq *cq, int count, struct ibv_wc *wc);
	int (*post_recv)(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
	int (*post_send)(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
	verbs_unused *post_srq_ops;
	int (*post_srq_recv)(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
	int (*query_device_ex)(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
			       struct ibv_device_attr_ex *attr, size_t attr_bytes);
	int (*query_ece)(struct ibv_qp *qp, struct ibv_ece *ece);
	int (*query_port)(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr);
	int (*query_qp)(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init);
	verbs_unused *query_qp_data_in_order, *query_rt_values;
	int (*query_srq)(struct ibv_srq *srq, struct ibv_srq_attr *attr);
	verbs_unused *read_counters, *reg_dm_mr, *reg_dmabuf_mr;
	struct ibv_mr *(*reg_mr)(struct ibv_pd *pd, void *addr, size_t bytes, uint64_t va, int access);
	int (*req_notify_cq)(struct ibv_cq *cq, int solicited_only);
	int (*rereg_mr)(struct verbs_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t bytes, int access);
	int (*resize_cq)(struct ibv_cq *cq, int depth);
	int (*set_ece)(struct ibv_qp *qp, struct ibv_ece *ece);
	verbs_unused *unimport_dm, *unimport_mr, *unimport_pd;
};

/* Exported by libibverbs with the symbol version IBVERBS_PRIVATE_34. */
void verbs_register_driver_34(const struct verbs_device_ops *ops);
void *_verbs_init_and_alloc_context(struct ibv_device *device, int cmd_fd, size_t bytes,
				    struct verbs_context *context_offset, uint32_t driver_id);
void verbs_uninit_context(struct verbs_context *context);
void verbs_set_ops(struct verbs_context *context, const struct verbs_context_ops *ops);

#endif
