/* cma.h - what stands behind the ids and channels of rdma_cm: each begins with the structure that programs know */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * librdmacm.so.1, for programs under uroce-run: the calls of rdma_cma.h over uroce_cm_ (cm.h). The stack is that of
 * the provider (lib/verbs), and queue pairs are those of libibverbs, which we move as the connection manager says.
 */
#ifndef RDMACM_CMA_H
#define RDMACM_CMA_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include <uroce/uroce.h>

#define CMA_API __attribute__((visibility("default")))

struct cma_event {
	struct rdma_cm_event event;
	struct cma_event *next;
	uint8_t private_data[UROCE_CM_PRIVATE_MAX];
};

struct cma_channel {
	struct rdma_event_channel channel; /* its fd is an epoll descriptor of the two below */
	struct uroce_cm_channel *cm;
	int own_fd;                      /* an eventfd, readable while events of our own wait */
	pthread_mutex_t reading;         /* of the connection manager's channel, which one thread reads at a time */
	pthread_mutex_t lock;            /* of what follows */
	struct cma_event *first, **last; /* events of our own */
};

struct cma_id {
	struct rdma_cm_id id;
	struct uroce_cm_id *cm;
	bool sync;         /* it was made without a channel: calls wait for their events */
	bool owns_channel; /* then */
	bool is_ud;
	uint8_t tos, ack_timeout;         /* of rdma_set_option() */
	struct rdma_conn_param asked;     /* of a REQUEST */
	struct ibv_qp_init_attr *ep_attr; /* of rdma_create_ep() on the passive side */
	pthread_mutex_t lock;
	pthread_cond_t acked;
	uint32_t told, acks;
};

static inline struct cma_id *cma_id_of(struct rdma_cm_id *id)
{
	return (struct cma_id *)id;
}

static inline struct cma_channel *cma_channel_of(struct rdma_event_channel *channel)
{
	return (struct cma_channel *)channel;
}

/* rdma_cm returns -1 with errno, and 0. error: 0 or a negative errno. */
int cma_result(int error);

/* ---- device.c ---- */

/* The context of the one device, opened by the first call and never closed; NULL, with errno. */
struct ibv_context *cma_context(void);
struct uroce_engine *cma_engine(void);
const struct uroce_device_info *cma_device_info(void);

/* ---- address.c ---- */

/* 0; -EAFNOSUPPORT. Of any address, and of loopback, addr is zeros. */
int cma_read_address(const struct sockaddr *from, struct uroce_addr *addr, uint16_t *port);
bool cma_is_any(const struct uroce_addr *addr);
void cma_write_address(const struct uroce_addr *addr, uint16_t port, struct sockaddr_storage *to);
/* From one of the device's addresses to a peer's, as libibverbs has it. */
struct ibv_ah_attr cma_path(const struct uroce_addr *source, const struct uroce_addr *dest, uint8_t traffic_class);

/* ---- id_state.c ---- */

/* An id for a uroce_cm_id that is there; NULL: no memory. */
struct cma_id *cma_id_new(struct rdma_event_channel *channel, struct uroce_cm_id *cm, void *context,
			  enum rdma_port_space ps);
/* It is of the device from now on. */
void cma_id_set_device(struct cma_id *id);
void cma_id_free(struct cma_id *id);

/* ---- channel.c ---- */

/* An event of our own, to be read as any other. 0; -ENOMEM. */
int cma_tell(struct cma_id *id, enum rdma_cm_event_type type, int status);
/* Events of our own that wait go to another channel, or are dropped. */
void cma_move_events(struct cma_id *id, struct cma_channel *to);
void cma_forget_events(struct cma_id *id);
/* In the synchronous mode: waits for the id's next event. 0, or -1 with errno. */
int cma_complete(struct cma_id *id);

/* ---- qp.c ---- */

/* To INIT, RTR or RTS, as the connection says; max_dest: READs and atomics answered at a time. -1 with errno. */
int cma_move_qp(struct cma_id *id, enum ibv_qp_state state, uint8_t max_dest);
void cma_fail_qp(struct cma_id *id);

#endif
