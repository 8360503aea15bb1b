/* ops.h - the operations of a verbs context, built on the public headers of uroce only */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each function does and returns what the manual page of the ibv_ call says: 0 or a positive errno, or a handle, or
 * NULL with errno set. Only the shell (shell34.c) knows how libibverbs finds a provider.
 */
#ifndef VERBS_OPS_H
#define VERBS_OPS_H

#include "verbs/objects.h"

int verb_query_device(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
		      struct ibv_device_attr_ex *attr, size_t attr_bytes);
int verb_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr);

struct ibv_pd *verb_alloc_pd(struct ibv_context *context);
int verb_dealloc_pd(struct ibv_pd *pd);
struct ibv_pd *verb_alloc_parent_domain(struct ibv_context *context, struct ibv_parent_domain_init_attr *attr);
struct ibv_td *verb_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr);
int verb_dealloc_td(struct ibv_td *td);

struct ibv_mr *verb_reg_mr(struct ibv_pd *pd, void *addr, size_t bytes, uint64_t va, int access);
int verb_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t bytes, int access);
int verb_dereg_mr(struct ibv_mr *mr);
struct ibv_mw *verb_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int verb_dealloc_mw(struct ibv_mw *mw);
int verb_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);

struct ibv_ah *verb_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr);
int verb_destroy_ah(struct ibv_ah *ah);

struct ibv_cq *verb_create_cq(struct ibv_context *context, int depth, struct ibv_comp_channel *channel, int vector);
struct ibv_cq_ex *verb_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *init);
int verb_resize_cq(struct ibv_cq *cq, int depth);
int verb_destroy_cq(struct ibv_cq *cq);
int verb_poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc);
int verb_req_notify_cq(struct ibv_cq *cq, int solicited_only);
void verb_cq_event(struct ibv_cq *cq);

struct ibv_srq *verb_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init);
int verb_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask);
int verb_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr);
int verb_destroy_srq(struct ibv_srq *srq);
int verb_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);

struct ibv_qp *verb_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init);
/* *posts: the program has asked for ibv_wr_start() and so on, whose functions are in the ibv_qp_ex. */
struct ibv_qp *verb_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *init, bool *posts);
int verb_query_ece(struct ibv_qp *qp, struct ibv_ece *ece);
int verb_set_ece(struct ibv_qp *qp, struct ibv_ece *ece);
int verb_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
int verb_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init);
int verb_destroy_qp(struct ibv_qp *qp);
int verb_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int verb_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);

/* Prepares the verbs.context: events of the device can then be read from its async_fd. Returns 0 or an errno. */
int verb_open(struct verb_context *context);
void verb_close(struct verb_context *context);
void verb_async_event(struct ibv_context *context, struct ibv_async_event *event);

/* ---- enhanced connection establishment, ibv_query_ece() and ibv_set_ece() ---- */

/*
 * Options of vendor VERB_ECE_VENDOR: a bit for each window of SACKs, in packets, 256 ... 2048 (no bit: no SACKs); a bit
 * that parts of a READ may be asked for in any order; and a bit, valid with a window, that each end may spread its
 * requests over several paths.
 */
#define VERB_ECE_VENDOR 0x75726Fu
#define VERB_ECE_WINDOW 0xF00u
#define VERB_ECE_ANY_ORDER 0x1u
#define VERB_ECE_PATHS 0x2u

/* ---- conversions ---- */

static inline uint32_t verb_mtu_bytes(enum ibv_mtu mtu)
{
	return 128u << mtu;
}

/* The largest path MTU that needs no more than so many bytes. */
enum ibv_mtu verb_mtu(uint32_t bytes);
/*
 * Returns a GUID made of the address, because programs that share an interface have the same MAC. In network byte
 * order.
 */
uint64_t verb_guid(const struct uroce_addr *address);
/* Rights of peers. */
uint32_t verb_remote_access(unsigned access);
/* Returns 0, or -EINVAL if attr has no GRH, another port, or a GID index that does not exist. */
int verb_path(struct ibv_context *context, const struct ibv_ah_attr *attr, struct uroce_path *path);

#endif
