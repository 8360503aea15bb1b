/* post.h - finds out why a request was refused */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef API_POST_H
#define API_POST_H

struct rc_recvq;
struct rc_srq;
struct uroce_qp;
struct uroce_recv_wr;
struct uroce_send_wr;

/* Each takes the error of a refused post, keeps a sentence for uroce_last_error(), and returns the error. */
int api_post_refuse_send(struct uroce_qp *qp, int error, const struct uroce_send_wr *wr);
int api_post_refuse_recv(const struct rc_recvq *queue, int error, const struct uroce_recv_wr *wr);
int api_post_refuse_shared(const struct rc_srq *srq, int error, const struct uroce_recv_wr *wr);

#endif
