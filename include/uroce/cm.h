/* cm.h - connections by address and port, as rdma_cm makes them: listen, connect, accept, disconnect */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The server:
 *   1. uroce_cm_channel_create(), uroce_cm_listen()
 *   2. uroce_cm_wait(): a CONNECT_REQUEST brings an id of its own
 *   3. uroce_cm_qp_create() on that id; post receives; uroce_cm_accept(), or uroce_cm_reject()
 *   4. uroce_cm_wait(): ESTABLISHED; post and poll
 *   5. DISCONNECTED, or uroce_cm_disconnect(): the QP is in ERR, posted requests complete as flushed
 *   6. uroce_cm_close()
 * The client: uroce_cm_id_create(), uroce_cm_qp_create(), post receives, uroce_cm_connect(), uroce_cm_wait() for
 * ESTABLISHED; then as the server from 5 on.
 *
 * No event tells that an address changes or a device vanishes: a device keeps its addresses as long as it exists, and
 * only your own program destroys it. A link that goes down is an event of the device (event.h).
 *
 * Threads: only one thread at a time may call about an id, and only one may read a channel. All calls are safe while
 * lcores run. A call that changes a connection runs on its lcore. If another thread owns that lcore and does not poll
 * it for 10 s, the call returns -ETIMEDOUT and has not happened; then the id and its QP still exist.
 *
 * The peer may be any rdma_cm of an RDMA NIC or of Linux over RoCEv2.
 */
#ifndef UROCE_CM_H
#define UROCE_CM_H

#include <uroce/qp.h>
#include <uroce/ud.h>

#ifdef __cplusplus
extern "C" {
#endif

struct uroce_cm_channel;
struct uroce_cm_id;

#define UROCE_CM_CONNECT_PRIVATE_MAX 56
#define UROCE_CM_ACCEPT_PRIVATE_MAX 196
#define UROCE_CM_REJECT_PRIVATE_MAX 148
#define UROCE_CM_UD_CONNECT_PRIVATE_MAX 180
#define UROCE_CM_UD_ACCEPT_PRIVATE_MAX 136 /* the same for uroce_cm_reject() */
#define UROCE_CM_PRIVATE_MAX 224

/* The values are those of librdmacm (RDMA_CM_EVENT_*), from 32 on uroce's own. */
enum uroce_cm_event_type {
	UROCE_CM_ROUTE_RESOLVED =
		2, /* uroce_cm_route() has ended: local, peer; status -EHOSTUNREACH: no MAC was found */
	UROCE_CM_CONNECT_REQUEST =
		4, /* a client wants to connect: id is new, listener is the id that listens for the client */
	UROCE_CM_CONNECT_RESPONSE =
		5, /* the peer has accepted, and you move the QP yourself: see uroce_cm_establish() */
	/*
	 * status tells why: -EHOSTUNREACH: no MAC was found; -ETIMEDOUT: no answer came; -ENOBUFS: there is no room for
	 * one more connection; or the error of setting up the QP
	 */
	UROCE_CM_UNREACHABLE = 7,
	UROCE_CM_REJECTED = 8,    /* reason, private data of the peer */
	UROCE_CM_ESTABLISHED = 9, /* both may send */
	/*
	 * status 0: a regular end; -ECONNABORTED: the QP failed; -ECONNRESET: the peer has restarted; -ETIMEDOUT: the
	 * peer has not answered our disconnect request
	 */
	UROCE_CM_DISCONNECTED = 10,
	UROCE_CM_TIMEWAIT_EXIT =
		15, /* after DISCONNECTED, if timewait_event: no packet of the connection can come any more */
	/* status 0: both ends have loaded the alternate path; else a negative errno, or the status in the peer's APR */
	UROCE_CM_ALTERNATE = 32,
	/* a datagram service has answered: peer_qp_num, peer_qkey; status -ECONNREFUSED: the peer has refused */
	UROCE_CM_UD_RESOLVED,
	UROCE_CM_EVENT_TYPES /* one more than the largest value */
};

/*
 * Bits of `extensions`: operations beyond the base of InfiniBand that both ends have. Other peers may drop such
 * requests.
 */
enum uroce_cm_extensions { UROCE_CM_ATOMIC_WRITE = 1 << 1, UROCE_CM_FLUSH = 1 << 2 };

struct uroce_cm_event {
	enum uroce_cm_event_type type;
	int status; /* 0 or negative errno */
	struct uroce_cm_id *id;
	struct uroce_cm_id *listener; /* of a CONNECT_REQUEST */
	uint64_t context;             /* context of the id; in a CONNECT_REQUEST the context of the listener */
	struct uroce_addr local, peer;
	uint16_t peer_port; /* of a CONNECT_REQUEST: the client's */
	/* REJECTED: the reason, see uroce_cm_reason_name(); UD_RESOLVED: the SIDR_REP's status */
	uint16_t reason;
	/*
	 * number of the peer's queue pair: in CONNECT_REQUEST, UD_RESOLVED; on the active side in
	 * CONNECT_RESPONSE, ESTABLISHED
	 */
	uint32_t peer_qp_num;
	uint32_t peer_qkey;     /* of a UD_RESOLVED */
	uint32_t path_mtu;      /* of a CONNECT_REQUEST: what the client wants */
	uint8_t peer_initiator; /* of a CONNECT_REQUEST: READs and atomics the client wants to have outstanding */
	uint8_t peer_responder; /* of a CONNECT_REQUEST: READs and atomics that the client answers at a time */
	uint8_t peer_retry_cnt; /* of a CONNECT_REQUEST: retry count for the sends of both ends */
	uint8_t peer_rnr_retry; /* RNR retry count for our sends */
	bool peer_srq;
	bool peer_flow_control;
	bool has_alternate; /* of a CONNECT_REQUEST: it names an alternate path */
	/* CONNECT_REQUEST: extensions that the client has; ESTABLISHED: extensions that both ends have */
	uint32_t extensions;
	/* bytes of the whole private data field, because messages do not tell how many of them are used */
	uint32_t private_bytes;
	uint8_t private_data[UROCE_CM_PRIVATE_MAX];
};

/* Which address families an id accepts while it is bound to any address: see uroce_cm_set_family(). */
enum uroce_cm_family { UROCE_CM_ANY_FAMILY, UROCE_CM_IPV4, UROCE_CM_IPV6 };

/* Bits of `option_mask`: the option's value is set, so that a 0 means 0, and not the default. */
enum uroce_cm_option_mask {
	UROCE_CM_OPTION_TIMEOUT = 1 << 0,            /* no ACK timer */
	UROCE_CM_OPTION_RETRY_CNT = 1 << 1,          /* the first timeout ends the connection */
	UROCE_CM_OPTION_RNR_RETRY = 1 << 2,          /* the first RNR NAK ends it */
	UROCE_CM_OPTION_MIN_RNR_TIMER = 1 << 3,      /* 655 ms, the longest */
	UROCE_CM_OPTION_MAX_RD_ATOMIC = 1 << 4,      /* we send no READ and no atomic */
	UROCE_CM_OPTION_MAX_DEST_RD_ATOMIC = 1 << 5, /* we answer none */
	UROCE_CM_OPTION_ALL = (1 << 6) - 1
};

/* Options of a connection. A 0 stands for a good default, unless option_mask has the option's bit. */
struct uroce_cm_options {
	const void *private_data; /* sent to the peer */
	uint32_t private_bytes;   /* 0 ... UROCE_CM_CONNECT_PRIVATE_MAX, _ACCEPT_PRIVATE_MAX or _UD_... */
	uint32_t option_mask;     /* enum uroce_cm_option_mask */
	uint32_t path_mtu;        /* connect: path MTU, 256 ... 4096; 0: the largest that the device takes */
	uint8_t timeout;          /* connect: ACK timer 4.096 us x 2^n, 1 ... 31; 0: 17, 537 ms */
	uint8_t retry_cnt;        /* connect: 1 ... 7; 0: 7 */
	uint8_t rnr_retry;        /* 1 ... 7; 0: 7, without limit */
	uint8_t min_rnr_timer;    /* code 1 ... 31; 0: 12, 0.64 ms */
	/* READs and atomics that we may have outstanding, 1 ... 128; 0: 16; the peer may grant fewer */
	uint8_t max_rd_atomic;
	/* READs and atomics that we answer at a time; 0: as many as the QP was created for, or 16 with qp_num */
	uint8_t max_dest_rd_atomic;
	uint8_t traffic_class; /* connect: DSCP and ECN bits; an accepted connection uses the client's bits */
	bool flow_control;     /* end-to-end credits, if both want them */
	uint8_t cm_timeout;    /* connect: a CM message waits 4.096 us x 2^n for its answer; 0: n is 18, 1.07 s */
	uint8_t cm_retries;    /* connect: 1 ... 15; 0: 15 */
	/* how often our end asks an idle peer whether it lives, so that its death is noticed; 0: never */
	uint32_t keepalive_ms;
	/* connect: an alternate path, loaded once the connection is established: an ALTERNATE event tells */
	const struct uroce_path *alternate;
	/* number of a QP that you modify yourself, see uroce_cm_qp_attr(); 0: the connection uses the id's QP */
	uint32_t qp_num;
	bool srq;      /* the QP of number qp_num has a shared receive queue */
	uint32_t qkey; /* accept, for datagrams: Q_Key of the queue pair qp_num; 0: UROCE_CM_UD_QKEY */
	/*
	 * read repair is OFF; otherwise it is UPWARDS, or ANY_ORDER if the peer has read repair, too (enum
	 * uroce_read_repair)
	 */
	bool no_read_repair;
	uint8_t cc; /* enum uroce_cc: the congestion control of our end */
	/* no SACKs: as with a peer that is not uroce, each packet behind a lost one is dropped */
	bool no_sack;
	/* sack_window of struct uroce_qp_attr: 256 ... 2048; 0: 256; the smaller value of both ends counts */
	uint16_t sack_window;
	/*
	 * Our end spreads its requests over so many paths, 4 ... 64, if the peer takes SACKs and allows several paths;
	 * 0 means one path. Refused for a port with several queues, because such a port chooses the queue by the source
	 * port.
	 */
	uint8_t paths;
	/* a TIMEWAIT_EXIT event comes when the ids and the QPN may be used again (C-16) */
	bool timewait_event;
};

/* Returns 0; -ENOMEM, -EMFILE. The first channel of an engine opens QP 1 of all its devices. */
UROCE_API int uroce_cm_channel_create(struct uroce_engine *engine, struct uroce_cm_channel **channel);
/* Returns 0; -EBUSY while it has ids. */
UROCE_API int uroce_cm_channel_destroy(struct uroce_cm_channel *channel);
/* The channel's descriptor for poll(2), readable while an event waits. The channel owns it. */
UROCE_API int uroce_cm_channel_fd(const struct uroce_cm_channel *channel);
/* Takes the oldest event. Returns 0; -EAGAIN: there is none. */
UROCE_API int uroce_cm_next(struct uroce_cm_channel *channel, struct uroce_cm_event *event);
/*
 * Waits for the oldest event, up to timeout_ms. Meanwhile it polls the lcores that no other thread has polled; so a
 * thread that is to poll an lcore must have polled it before this call. After 0.1 ms without work it sleeps between
 * polls: up to 10 ms if a frame ends the sleep, else up to 0.2 ms. Returns 0; -ETIMEDOUT; -EINTR: a signal came while
 * all lcores had threads of their own.
 */
UROCE_API int uroce_cm_wait(struct uroce_cm_channel *channel, unsigned timeout_ms, struct uroce_cm_event *event);

/*
 * Moves the id to another channel of the engine, with its waiting events. Unread and later CONNECT_REQUESTs of a
 * listener arrive at the new channel, too. No thread may read the old channel meanwhile. Returns 0; -EINVAL: the
 * channel is of another engine; -ETIMEDOUT.
 */
UROCE_API int uroce_cm_migrate(struct uroce_cm_id *id, struct uroce_cm_channel *channel);

/*
 * Listens on all devices of the engine. addr: NULL or zeros mean any address. port: 0 means a free port, see
 * uroce_cm_port(). backlog: 1 ... 65536 requests of one address may wait for accept or reject; 0 means 1024. There is
 * room for twice as many, so that no address keeps the others out: each may have half of what the others leave.
 * Requests beyond that are dropped, and clients repeat them. Returns 0; -EADDRINUSE; -EADDRNOTAVAIL: no device has the
 * address; -EINVAL: backlog; -ENOSPC: 256 ids listen already.
 */
UROCE_API int uroce_cm_listen(struct uroce_cm_channel *channel, const struct uroce_addr *addr, uint16_t port,
			      uint32_t backlog, uint64_t context, struct uroce_cm_id **listener);
/*
 * Listens for a queue pair for datagrams (ud.h): a client that asks for the port is told the number and the Q_Key of
 * the queue pair. The port is one of UDP, not of TCP. Destroy the id before the queue pair. Errors as
 * uroce_cm_listen().
 */
UROCE_API int uroce_cm_listen_ud(struct uroce_cm_channel *channel, const struct uroce_addr *addr, uint16_t port,
				 const struct uroce_ud *ud, struct uroce_cm_id **listener);
/* Returns the port that the id listens at, is bound to or connects from; 0 if it has none yet. */
UROCE_API uint16_t uroce_cm_port(const struct uroce_cm_id *id);

/* Creates an id for uroce_cm_connect(), or for uroce_cm_bind() and uroce_cm_listen_bound(). */
UROCE_API int uroce_cm_id_create(struct uroce_cm_channel *channel, uint64_t context, struct uroce_cm_id **id);
/*
 * Creates an id in the port space of UDP, for queue pairs for datagrams (ud.h); it has no queue pair of its own. For a
 * server each question of a client is a CONNECT_REQUEST event; uroce_cm_accept() answers with qp_num, qkey and private
 * data, no further event follows, and the id may be destroyed. A client asks by uroce_cm_connect(), and a
 * UD_RESOLVED or UNREACHABLE event brings the answer.
 */
UROCE_API int uroce_cm_id_create_ud(struct uroce_cm_channel *channel, uint64_t context, struct uroce_cm_id **id);
/*
 * Gives the id an address and a port until it is destroyed: to listen at, or to connect from. addr: NULL or zeros mean
 * any address; with any other address the id has a device, see uroce_cm_device(). port: 0 means a free port. Returns 0;
 * -EADDRINUSE; -EADDRNOTAVAIL: no device has the address; -EINVAL: the id has a port, or is connecting.
 */
UROCE_API int uroce_cm_bind(struct uroce_cm_id *id, const struct uroce_addr *addr, uint16_t port);
/*
 * Limits the id to addresses of one family, before it is bound to any address, so that another id may have the same
 * port for the other family. rdma_cm does so for 0.0.0.0, and for :: with RDMA_OPTION_ID_AFONLY. Returns 0; -EINVAL:
 * the id has a port already.
 */
UROCE_API int uroce_cm_set_family(struct uroce_cm_id *id, enum uroce_cm_family family);
/*
 * Lets the id, before it is bound, share its port with other ids for which this was called, too, while none of them
 * listens: RDMA_OPTION_ID_REUSEADDR. Returns 0; -EINVAL: the id has a port already.
 */
UROCE_API int uroce_cm_set_reuse(struct uroce_cm_id *id, bool reuse);
/*
 * Listens where the id is bound, unless other ids share its port (-EADDRINUSE); an id that is not bound listens at any
 * address and a free port. Backlog and errors as uroce_cm_listen().
 */
UROCE_API int uroce_cm_listen_bound(struct uroce_cm_id *id, uint32_t backlog);
/*
 * Destroys the id in any state. The peer is told once that the connection ends, the id gets no further events, and its
 * waiting events are dropped. The id's QP is not destroyed, but goes to ERR if it was connected. A listener's unread
 * CONNECT_REQUESTs are dropped and their clients refused; the ids of CONNECT_REQUESTs that were read remain. Returns
 * 0; -ETIMEDOUT: the lcore did not answer; then the id still exists.
 */
UROCE_API int uroce_cm_id_destroy(struct uroce_cm_id *id);
/* Destroys the id, and its QP if it has one. Errors as uroce_cm_id_destroy(). */
UROCE_API int uroce_cm_close(struct uroce_cm_id *id);

/*
 * Creates the QP of a connection, in INIT, so that receives can be posted. For the id of a CONNECT_REQUEST pd has to
 * be of the device that the request came to (see uroce_cm_device()), and the lcore that the request came to owns the
 * QP. access_flags: UROCE_ACCESS_REMOTE_* and UROCE_ACCESS_FLUSH_*. Errors as uroce_qp_create(); -EBUSY: the id has a
 * QP already; -ETIMEDOUT.
 */
UROCE_API int uroce_cm_qp_create(struct uroce_cm_id *id, struct uroce_pd *pd, const struct uroce_qp_init_attr *init,
				 uint32_t access_flags, struct uroce_qp **qp);
/* Returns the id's QP, or NULL if it has none. */
UROCE_API struct uroce_qp *uroce_cm_qp(const struct uroce_cm_id *id);
/* Returns the device that the id is bound to, connects from or was requested at; NULL if it has none yet. */
UROCE_API struct uroce_device *uroce_cm_device(const struct uroce_cm_id *id);
/*
 * Returns the lcore that owns the id's QP or, before there is a QP, the lcore that received the id's connect request.
 * Returns NULL if there is no lcore yet. With uroce_lcore_index() (device.h) a program that has a CQ per lcore can
 * choose the CQ before it creates the QP.
 */
UROCE_API struct uroce_lcore *uroce_cm_lcore(const struct uroce_cm_id *id);
/* Returns the context of the id, as its events bring it. */
UROCE_API uint64_t uroce_cm_context(const struct uroce_cm_id *id);
/* Sets the context of the id, for later events. */
UROCE_API void uroce_cm_set_context(struct uroce_cm_id *id, uint64_t context);

/*
 * Chooses the device and the source address for packets to dest, before there is a QP. uroce_cm_device() returns the
 * device at once. A ROUTE_RESOLVED event brings the addresses once the MAC of the next hop is known, or that it was
 * not found within timeout_ms (0: 3000). source is as for uroce_cm_connect(), but may be an address of any device of
 * the engine, unless the id has a device. You may call it again; the last call counts. Returns 0; -EINVAL; -EISCONN;
 * -ETIMEDOUT; -EADDRNOTAVAIL, -ENETUNREACH as uroce_cm_connect().
 */
UROCE_API int uroce_cm_route(struct uroce_cm_id *id, const struct uroce_addr *source, const struct uroce_addr *dest,
			     unsigned timeout_ms);
/*
 * Begins to connect the id's QP. An ESTABLISHED, REJECTED or UNREACHABLE event tells the outcome; UNREACHABLE with
 * status -ENOBUFS means that there is no room for one more connection, which shows only after this call. dest: NULL
 * means along the route of uroce_cm_route(). source: NULL or zeros mean the address that the id is bound to; if there
 * is none, the address of the QP's device whose prefix contains dest and is the longest; if no prefix contains dest, an
 * address with a gateway. options: NULL means the defaults. Returns 0; -EINVAL: no QP, a value out of range, private
 * data too long, or a QP of a partition other than 0x7fff; -EADDRNOTAVAIL: source is none of the device's addresses;
 * -ENETUNREACH: the device has no address of the family of dest, or dest is no neighbour and no gateway is known;
 * -EISCONN: the id has connected already; -ETIMEDOUT.
 */
UROCE_API int uroce_cm_connect(struct uroce_cm_id *id, const struct uroce_addr *source, const struct uroce_addr *dest,
			       uint16_t port, const struct uroce_cm_options *options);
/*
 * Asks dest for the queue pair for datagrams that serves this port; a UD_RESOLVED or UNREACHABLE event tells
 * the answer. The question is sent from an address of device, which is chosen as by uroce_cm_connect(). Returns 0;
 * -EINVAL; -EADDRNOTAVAIL; -ENETUNREACH; -EISCONN: the id is in use; -ETIMEDOUT.
 */
UROCE_API int uroce_cm_resolve_ud(struct uroce_cm_id *id, struct uroce_device *device, const struct uroce_addr *source,
				  const struct uroce_addr *dest, uint16_t port);
/*
 * Accepts a CONNECT_REQUEST. Returns 0; -EINVAL: no QP, wrong values, private data too long; -ENOTCONN: the client has
 * gone; -ETIMEDOUT; or why the QP could not be moved. After an error the client still waits, for another
 * uroce_cm_accept() or for uroce_cm_reject().
 */
UROCE_API int uroce_cm_accept(struct uroce_cm_id *id, const struct uroce_cm_options *options);
/*
 * Rejects a CONNECT_REQUEST or a CONNECT_RESPONSE; destroy the id afterwards. Returns 0; -EINVAL; -ENOTCONN;
 * -ETIMEDOUT.
 */
UROCE_API int uroce_cm_reject(struct uroce_cm_id *id, const void *private_data, uint32_t private_bytes);
/* Moves the QP to ERR; a DISCONNECTED event comes when the peer knows. Returns 0; -ENOTCONN; -ETIMEDOUT. */
UROCE_API int uroce_cm_disconnect(struct uroce_cm_id *id);
/*
 * Loads an alternate path on both sides (source and dest as our end sees them); an ALTERNATE event tells the outcome,
 * once for each call. Both ends may ask at the same time: then both load the path of the end that connected, and both
 * get an ALTERNATE event with status 0. After a migration another call arms the connection again. timeout: the ACK
 * timer on that path, 4.096 us x 2^n, 1 ... 31; 0 means that n is 17, 537 ms. Returns 0; -ENOTCONN; -EALREADY: the
 * last call is not answered yet; -EINVAL: the path is the one in use, source is none of our addresses, or timeout is
 * wrong; -ETIMEDOUT.
 */
UROCE_API int uroce_cm_load_alternate(struct uroce_cm_id *id, const struct uroce_path *path, uint8_t timeout);

/* ---- a QP that you make and move yourself, with uroce_qp_create() and uroce_qp_modify() ---- */

/*
 * Returns the attributes with which you modify the QP of the connection to INIT, RTR or RTS. The attributes for INIT
 * are known at once, the others when the peer has asked or answered. Before uroce_cm_accept() the attributes grant all
 * that the peer asks for. You may lower max_dest_rd_atomic, to what the QP was created for, and sack_window (0 is
 * no_sack); then give uroce_cm_accept() the same values.
 *   client: uroce_cm_connect() with qp_num; CONNECT_RESPONSE; modify to INIT, RTR, RTS; uroce_cm_establish(); send
 *   server: CONNECT_REQUEST; modify to INIT, RTR; uroce_cm_accept() with qp_num; ESTABLISHED; modify to RTS
 * Any lcore may own the QP. You move it to ERR at the end and whenever the connection fails. When the QP itself fails,
 * its own completions and events say so, and you disconnect. uroce_cm_load_alternate() does not work with such a QP.
 * Returns 0; -EINVAL: another state; -ENOTCONN: the peer has not answered yet; -ETIMEDOUT.
 */
UROCE_API int uroce_cm_qp_attr(struct uroce_cm_id *id, enum uroce_qp_state state, struct uroce_qp_attr *attr,
			       uint32_t *mask);
/*
 * Tells the peer that the connection is established. Call it within a minute after a CONNECT_RESPONSE, when the QP is
 * in RTS. No event follows. Returns 0; -ENOTCONN; -ETIMEDOUT.
 */
UROCE_API int uroce_cm_establish(struct uroce_cm_id *id);
/*
 * Call it if UROCE_EVENT_COMM_EST (event.h) comes before ESTABLISHED: a packet of the peer, too, shows that the
 * connection is established. Returns 0; -ENOTCONN; -ETIMEDOUT.
 */
UROCE_API int uroce_cm_notify(struct uroce_cm_id *id);

/* "established"; never NULL. */
UROCE_API const char *uroce_cm_event_name(enum uroce_cm_event_type type);
/* "consumer defined" for 28; never NULL. */
UROCE_API const char *uroce_cm_reason_name(uint16_t reason);

/* Returns how many counters connection management has. */
UROCE_API unsigned uroce_cm_counter_count(void);
/* Returns a counter's name; index: 0 ... uroce_cm_counter_count() - 1. */
UROCE_API const char *uroce_cm_counter_name(unsigned index);
/* Fills in values, one per counter, summed over all lcores. Returns 0; -ETIMEDOUT: an lcore is not polled. */
UROCE_API int uroce_cm_counters(struct uroce_engine *engine, uint64_t *values);

/*
 * What connection management holds now. When all connections have ended the numbers are as before the first connection.
 */
struct uroce_cm_usage {
	uint32_t connections, half_open, timewait_ids, timers;
};

/* Fills in *usage, summed over all lcores. Returns 0; -ETIMEDOUT: an lcore is not polled. */
UROCE_API int uroce_cm_usage(struct uroce_engine *engine, struct uroce_cm_usage *usage);

#ifdef __cplusplus
}
#endif
#endif
