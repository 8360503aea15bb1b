/* ud.h - unreliable datagrams: queue pairs without a connection (U-4) */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A datagram is one packet, at most the device's path MTU, to a queue pair whose number and Q_Key are known, by
 * uroce_cm_resolve_ud() or by means of your own. A datagram may be lost, and then nobody is told.
 *
 * There are no multicast groups: switches learn the members of a group from IGMP and MLD, which uroce does not speak.
 * The calls of verbs and rdma_cm for them return EOPNOTSUPP.
 *
 * Threads: one thread at a time posts receives; the other calls are for any thread. uroce_ud_send() and
 * uroce_ud_destroy() run on the lcore that owns the queue pair. If another thread owns that lcore and does not poll it
 * for 10 s, they return -ETIMEDOUT, and nothing has changed.
 */
#ifndef UROCE_UD_H
#define UROCE_UD_H

#include <uroce/qp.h>
#include <uroce/srq.h>

#ifdef __cplusplus
extern "C" {
#endif

#define UROCE_GRH_BYTES 40 /* in front of each received datagram: its IPv6 header, or 20 zeros and its IPv4 header */
#define UROCE_CM_UD_QKEY 0x01234567u /* rdma_cm's */

struct uroce_ud_init_attr {
	struct uroce_cq *send_cq, *recv_cq;
	uint64_t qp_context;
	uint32_t max_recv_wr;      /* 1 ... 32768; rounded up to a power of two */
	uint32_t max_recv_sge;     /* 1 ... 16 */
	uint32_t qkey;             /* 0: UROCE_CM_UD_QKEY */
	struct uroce_lcore *lcore; /* as in struct uroce_qp_init_attr */
	/*
	 * the SRQ, of the same PD, that receives are taken from; then max_recv_wr and max_recv_sge are unused. NULL:
	 * the queue pair has a receive queue of its own
	 */
	struct uroce_srq *srq;
};

/* Where a datagram goes. */
struct uroce_ud_addr {
	struct uroce_path path; /* source: one of the device's addresses */
	uint32_t qp_num, qkey;
};

/*
 * Returns 0; -EINVAL: uroce_last_error() says what is wrong; -ENOMEM; -ENOSPC: the engine has 64 such queue pairs, or
 * no number is left.
 */
UROCE_API int uroce_ud_create(struct uroce_pd *pd, const struct uroce_ud_init_attr *init, struct uroce_ud **ud);
/*
 * When the call returns the queue pair receives nothing more. Posted receives have no completion. Receives of an SRQ
 * stay posted, except a receive that was already taken for a datagram that did not fit. Returns 0; -ETIMEDOUT.
 */
UROCE_API int uroce_ud_destroy(struct uroce_ud *ud);
/* Returns the queue pair's number, 24 bits. */
UROCE_API uint32_t uroce_ud_num(const struct uroce_ud *ud);
/* Returns the Q_Key that received datagrams must have. */
UROCE_API uint32_t uroce_ud_qkey(const struct uroce_ud *ud);
/* From now on received datagrams must have this Q_Key. */
UROCE_API void uroce_ud_set_qkey(struct uroce_ud *ud, uint32_t qkey);

/*
 * Posted receives complete as those of a QP: byte_len includes the 40 bytes of UROCE_GRH_BYTES in front, src_qp is the
 * sender, wc_flags has UROCE_WC_GRH. Returns 0; -ENOMEM: the queue is full; -EINVAL. One thread at a time.
 */
UROCE_API int uroce_ud_post_recv(struct uroce_ud *ud, const struct uroce_recv_wr *wr);
/*
 * Sends at once: UROCE_WR_SEND or UROCE_WR_SEND_WITH_IMM, with the flags of a QP's send. The data may be reused when
 * the call returns; with UROCE_SEND_INLINE the lkeys are not checked. Until the peer's MAC is known, at most 64
 * datagrams of the queue pair wait, each for up to 3 s, and are then dropped. Returns 0, and with UROCE_SEND_SIGNALED
 * there is a completion; -EINVAL: uroce_last_error() says what is wrong; -EACCES: an lkey is not valid; -ETIMEDOUT:
 * the lcore is not polled.
 */
UROCE_API int uroce_ud_send(struct uroce_ud *ud, const struct uroce_ud_addr *to, const struct uroce_send_wr *wr);

#ifdef __cplusplus
}
#endif
#endif
