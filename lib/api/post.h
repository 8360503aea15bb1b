/* post.h - why a request was not posted, found out when it was refused */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef API_POST_H
#define API_POST_H

struct rc_recvq;
struct rc_srq;
struct uroce_qp;
struct uroce_recv_wr;
struct uroce_send_wr;

/* Each keeps a sentence for uroce_refusal() and hands the error through that a post has returned. */
int api_post_refuse_send(struct uroce_qp *qp, int error, const struct uroce_send_wr *wr);
int api_post_refuse_recv(const struct rc_recvq *queue, int error, const struct uroce_recv_wr *wr);
int api_post_refuse_shared(const struct rc_srq *srq, int error, const struct uroce_recv_wr *wr);

#endif
