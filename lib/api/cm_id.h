/* cm_id.h - for the files of connections: making ids, ports, options */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef API_CM_ID_H
#define API_CM_ID_H

#include "engine/connect.h"

#define PORT_FIRST 49152u /* the first port that may be chosen */
#define PORTS 16384u
/* Code of the ACK timeout, 537 ms: a peer whose core is taken from it for a second or two is not given up. */
#define TIMEOUT_DEFAULT 17u

/* NULL: no memory. */
struct uroce_cm_id *api_cm_make_id(struct uroce_cm_channel *channel, uint64_t context);
/* Drops the id's waiting events, and takes it out of its channel. */
void api_cm_leave_channel(struct uroce_cm_id *id);
/* Frees an id that no lcore knows, and its port if it has one. */
void api_cm_drop(struct uroce_cm_id *id);
/*
 * Ends the connection of an id that does not listen, then drops the id. Returns 0, or a negative errno: the id still
 * exists.
 */
int api_cm_end(struct uroce_cm_id *id);
/* With the engine's lock: an id that begins to listen shares its port with no other id. Returns 0 or -EADDRINUSE. */
int api_cm_check_alone(const struct uroce_engine *engine, const struct uroce_cm_id *id);
/* Frees the id's port for others. */
void api_cm_unbind(struct uroce_cm_id *id);
/*
 * Takes an unread REQUEST of the listener out of the channel's queue, and returns its id; NULL: there is none.
 * api_cm_put_back() puts the id back.
 */
struct uroce_cm_id *api_cm_pop_unread(struct uroce_cm_channel *channel, const struct uroce_cm_id *listener);
void api_cm_put_back(struct uroce_cm_id *id);
/*
 * Ends a listener: no lcore finds it any more, and requests that nobody has read are refused. Returns 0 or a negative
 * errno.
 */
int api_cm_stop_listening(struct uroce_cm_id *id);

/* ---- cm_route.c ---- */

/* Is the address NULL or zeros? */
bool api_cm_is_any(const struct uroce_addr *addr);
/*
 * Finds the path to dest from source, or from the address that suits best, or along the id's route if it has one. The
 * id then has a device and an lcore. Returns 0; -EISCONN; -EINVAL; -EADDRNOTAVAIL; -ENETUNREACH.
 */
int api_cm_find_path(struct uroce_cm_id *id, const struct uroce_addr *source, const struct uroce_addr *dest,
		     struct uroce_path *path);
/* Asks for a service of datagrams along the path; id->lcore is set. Returns 0 or a negative errno. */
int api_cm_ask(struct uroce_cm_id *id, const struct uroce_path *path, uint16_t port,
	       const struct uroce_cm_options *options);
/* Runs on the owner: asks for the peer's MAC, then takes the step that id->aim names. argument is the id. */
int api_cm_begin_on_owner(void *argument);

/* ---- cm_options.c ---- */

extern const struct uroce_cm_options api_cm_no_options;

/*
 * Checks an id before it connects or accepts: it must not listen, and must have a QP of QP 1's partition, or a QP that
 * its user moves. Returns 0 or -EINVAL.
 */
int api_cm_check_id(const struct uroce_cm_id *id, const struct uroce_cm_options *options);
/* Checks the options for an id with a device. Returns 0; or -EINVAL, and uroce_last_error() names the field. */
int api_cm_check_options(const struct uroce_cm_id *id, const struct uroce_cm_options *options, uint32_t private_max);
/* Draws, once, the first PSN that a QP moved by its user receives (C-7). Returns 0 or a negative errno. */
int api_cm_draw_psn(struct uroce_cm_id *id);
/* Describes our end as the options ask for it. If the id has no QP of ours, the PSN was drawn before. */
struct cm_side api_cm_side_of(const struct uroce_cm_id *id, const struct uroce_cm_options *options);
/* Checks the options of services of datagrams: private data and times. Returns 0 or -EINVAL. */
int api_cm_check_datagrams(const struct uroce_cm_options *options, uint32_t private_max);
/* Sets the attributes that our own end determines. */
void api_cm_set_attr(struct uroce_cm_id *id, const struct uroce_cm_options *options, const struct cm_route *route,
		     uint8_t timeout);

#endif
