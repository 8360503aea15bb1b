/* cm_id.h - what the files of connections share: making an id, ports, and what options mean */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef API_CM_ID_H
#define API_CM_ID_H

#include "engine/connect.h"

#define PORT_FIRST 49152u /* of those that are chosen */
#define PORTS 16384u
#define TIMEOUT_DEFAULT 14u /* the ACK timer, a code */

/* NULL: no memory. */
struct uroce_cm_id *api_cm_make_id(struct uroce_cm_channel *channel, uint64_t context);
/* No event of the id waits any more, and the channel does not know it. */
void api_cm_leave_channel(struct uroce_cm_id *id);
/* An id that no lcore knows, and its port if it has one, are given back. */
void api_cm_drop(struct uroce_cm_id *id);
/* The same, when its connection has ended; it does not listen. 0 or negative errno: it is there still. */
int api_cm_end(struct uroce_cm_id *id);
/* Its port is free for others. */
void api_cm_unbind(struct uroce_cm_id *id);
/* An id whose REQUEST to the listener nobody has read, off the channel's queue; NULL: none. And back, as it was. */
struct uroce_cm_id *api_cm_take_unread(struct uroce_cm_channel *channel, const struct uroce_cm_id *listener);
void api_cm_put_back(struct uroce_cm_id *id);
/* No lcore knows the listener any more, and those are refused who asked it and were not heard. 0 or negative errno. */
int api_cm_stop_listening(struct uroce_cm_id *id);

/* ---- cm_route.c ---- */

/* NULL or zeros. */
bool api_cm_is_any(const struct uroce_addr *addr);
/*
 * Which way leads from source, or from the address that suits best, to dest, or else along the route that the id has.
 * It has a device and an lcore then. 0; -EISCONN; -EINVAL; -EADDRNOTAVAIL; -ENETUNREACH.
 */
int api_cm_find_path(struct uroce_cm_id *id, const struct uroce_addr *source, const struct uroce_addr *dest,
		     struct uroce_path *path);
/* Asks for a service of datagrams along the path. id->lcore. 0 or negative errno. */
int api_cm_ask(struct uroce_cm_id *id, const struct uroce_path *path, uint16_t port,
	       const struct uroce_cm_options *options);
/* On the owner: asks for the peer's MAC, then does what id->aim says. argument: the id. */
int api_cm_begin_on_owner(void *argument);

/* ---- cm_options.c ---- */

extern const struct uroce_cm_options api_cm_no_options;

/* Has it a QP, of the partition that QP 1 is in, or its user, and is it no listener? 0 or -EINVAL. */
int api_cm_check_id(const struct uroce_cm_id *id, const struct uroce_cm_options *options);
/* Of an id with a device. 0; -EINVAL, and uroce_refusal() names the field. */
int api_cm_check_options(const struct uroce_cm_id *id, const struct uroce_cm_options *options, uint32_t private_max);
/* Where the peer begins to send to a QP that its user moves (C-7): drawn once. 0 or negative errno. */
int api_cm_draw_psn(struct uroce_cm_id *id);
/* Our end as the options want it; without a QP of the id's its PSN is drawn. */
struct cm_end api_cm_end_of(const struct uroce_cm_id *id, const struct uroce_cm_options *options);
/* What they say beside QPs of services of datagrams: private data, times. 0 or -EINVAL. */
int api_cm_check_datagrams(const struct uroce_cm_options *options, uint32_t private_max);
/* What the QP is to be modified to, as far as our end knows it. */
void api_cm_set_attr(struct uroce_cm_id *id, const struct uroce_cm_options *options, const struct cm_route *route,
		     uint8_t timeout);

#endif
