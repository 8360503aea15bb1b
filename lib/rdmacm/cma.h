/* cma.h - the structs behind ids and channels of rdma_cm; each begins with the struct that programs know */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * librdmacm.so.1 for programs under uroce-run: the calls of rdma_cma.h, built on uroce_cm_... (cm.h). It uses the stack
 * of the provider (lib/verbs), and queue pairs of libibverbs, which it moves as the connection manager says.
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
	struct rdma_event_channel channel; /* channel.fd is an epoll descriptor over own_fd and that of `cm` */
	struct uroce_cm_channel *cm;
	int own_fd;                      /* an eventfd, readable while events of this library wait */
	pthread_mutex_t reading;         /* held by the thread that reads the connection manager's channel */
	pthread_mutex_t lock;            /* protects the members below */
	struct cma_event *first, **last; /* waiting events of this library */
};

struct cma_id {
	struct rdma_cm_id id;
	struct uroce_cm_id *cm;
	bool sync;         /* created without a channel: calls wait for their events */
	bool owns_channel; /* set together with sync: the channel was made for the id */
	bool is_ud;
	uint8_t tos, ack_timeout;         /* set by rdma_set_option() */
	bool af_only;                     /* set by rdma_set_option(), too: an id bound to :: takes no IPv4 */
	struct rdma_conn_param asked;     /* what the peer's REQUEST asked for */
	struct ibv_qp_init_attr *ep_attr; /* set by rdma_create_ep() on the passive side */
	pthread_mutex_t lock;
	pthread_cond_t acked;
	uint32_t told, acks;
	struct cma_id *next_id, **link_to_id; /* in the list of all, under its lock */
};

static inline struct cma_id *cma_id_of(struct rdma_cm_id *id)
{
	return (struct cma_id *)id;
}

static inline struct cma_channel *cma_channel_of(struct rdma_event_channel *channel)
{
	return (struct cma_channel *)channel;
}

/* rdma_cm returns 0, or -1 with errno. error: 0 or a negative errno. */
int cma_result(int error);

/* ---- device.c ---- */

/* The context of the device, which the first call opens and nobody closes; NULL: errno is set. */
struct ibv_context *cma_context(void);
struct uroce_engine *cma_engine(void);
const struct uroce_device_info *cma_device_info(void);
/* The window of SACKs that this end offers to peers, in packets; 0: no SACKs. */
uint16_t cma_sack_window(void);
/* How many paths a connection with SACKs has, if the peer takes several; 0: one. */
uint8_t cma_paths(void);

/* ---- address.c ---- */

/* Returns 0 or -EAFNOSUPPORT. For the unspecified address, and for loopback, addr is zeros. */
int cma_read_address(const struct sockaddr *from, struct uroce_addr *addr, uint16_t *port);
bool cma_is_any(const struct uroce_addr *addr);
void cma_write_address(const struct uroce_addr *addr, uint16_t port, struct sockaddr_storage *to);
/* The path from an address of the device to a peer's, as libibverbs describes it. */
struct ibv_ah_attr cma_path(const struct uroce_addr *source, const struct uroce_addr *dest, uint8_t traffic_class);

/* ---- id_state.c ---- */

/* Makes an id for an existing uroce_cm_id; NULL: no memory. */
struct cma_id *cma_id_new(struct rdma_event_channel *channel, struct uroce_cm_id *cm, void *context,
			  enum rdma_port_space ps);
/* The id belongs to the device from now on. */
void cma_id_set_device(struct cma_id *id);
void cma_id_free(struct cma_id *id);

/* ---- channel.c ---- */

/* Raises an event of this library, which programs read like any other. Returns 0 or -ENOMEM. */
int cma_tell(struct cma_id *id, enum rdma_cm_event_type type, int status);
/* Moves the waiting events of this library to another channel; NULL: drops them. */
void cma_move_events(struct cma_id *id, struct cma_channel *to);
void cma_forget_events(struct cma_id *id);
/* For a synchronous id: waits for its next event. Returns 0, or -1 with errno. */
int cma_complete(struct cma_id *id);

/* ---- qp.c ---- */

/*
 * Moves the QP to INIT, RTR or RTS with the attributes of the connection. most: how many READs and atomics the QP
 * answers at a time (for RTR), or has outstanding (for RTS). Returns 0, or -1 with errno.
 */
int cma_move_qp(struct cma_id *id, enum ibv_qp_state state, uint8_t most);
void cma_fail_qp(struct cma_id *id);

#endif
