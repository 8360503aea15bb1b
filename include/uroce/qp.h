/* qp.h - reliable connected queue pairs */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads: one thread at a time posts to a queue; the other calls are for any thread. Calls that modify, query or
 * destroy a QP run on the lcore that owns it. If another thread owns that lcore and does not poll it for 10 s, they
 * return -ETIMEDOUT, and nothing has changed.
 */
#ifndef UROCE_QP_H
#define UROCE_QP_H

#include <uroce/wr.h>

#ifdef __cplusplus
extern "C" {
#endif

enum uroce_qp_state {
	UROCE_QPS_RESET,
	UROCE_QPS_INIT,
	UROCE_QPS_RTR,
	UROCE_QPS_RTS,
	UROCE_QPS_SQD,
	UROCE_QPS_ERR = 6,  /* 5 is SQE of libibverbs, which no RC queue pair has */
	UROCE_QP_STATES = 8 /* larger than any state of libibverbs */
};

/* Automatic path migration. A QP without an alternate path stays in MIGRATED. */
enum uroce_path_mig_state {
	UROCE_PATH_MIGRATED, /* uses its only path, or the path that it has migrated to */
	UROCE_PATH_REARM,    /* has an alternate path and waits for the peer to have one */
	/* both ends have an alternate path: migrates when the path fails, the peer migrates, or software says so */
	UROCE_PATH_ARMED,
	UROCE_PATH_MIG_STATES
};

struct uroce_qp_init_attr {
	struct uroce_cq *send_cq;
	struct uroce_cq *recv_cq;
	/* NULL: the QP has a receive queue of its own; else max_recv_wr and max_recv_sge are ignored */
	struct uroce_srq *srq;
	uint64_t qp_context;      /* returned in each completion and event */
	uint32_t max_send_wr;     /* 1 ... 32768 */
	uint32_t max_recv_wr;     /* 0 ... 32768 */
	uint32_t max_send_sge;    /* 1 ... 16 */
	uint32_t max_recv_sge;    /* 1 ... 16 */
	uint32_t max_inline_data; /* 0 ... 512 bytes */
	/* the largest max_dest_rd_atomic that modify may set: 0 ... 128; the QP has memory for so many */
	uint32_t max_dest_rd_atomic;
	bool sq_sig_all;           /* every send request has a completion */
	struct uroce_lcore *lcore; /* the lcore that owns the QP, of uroce_engine_lcore(); NULL: the engine chooses */
};

/*
 * The path to the peer. If all fields but the addresses are 0, frames are best effort and have the VLAN of their
 * source.
 */
struct uroce_path {
	struct uroce_addr source; /* one of the device's addresses */
	struct uroce_addr dest;   /* peer's address; if it is one of the device's, frames never leave the device */
	/*
	 * MAC of the next hop; zeros: the engine asks for it (ARP, neighbour discovery). If dest is no neighbour the
	 * next hop is the gateway.
	 */
	struct uroce_mac dest_mac;
	uint8_t traffic_class; /* DSCP and ECN: see uroce_traffic_class() */
	uint8_t hop_limit;     /* 0 means 64 */
	/*
	 * 802.1Q. 1 ... 4094: frames carry a tag of this VLAN, and received frames must be of it, whatever their
	 * priority. 0: frames are untagged and received frames must be of no VLAN; with a priority, 0 ... 7, frames
	 * carry a tag with only that. Both 0: what the device's configuration says for the source.
	 */
	uint16_t vlan_id;
	uint8_t vlan_priority;
	uint8_t reserved;
	uint32_t flow_label;
	struct uroce_device *device; /* the port; NULL: the QP's own */
};

/* The two bits of explicit congestion notification. */
enum uroce_ecn {
	UROCE_ECN_NOT_ECT, /* routers that are full drop packets */
	UROCE_ECN_ECT1,
	UROCE_ECN_ECT0, /* routers may mark packets instead of dropping them: usual for RoCEv2 */
	UROCE_ECN_CE
};

/* The traffic class (IPv4: TOS) of a DSCP, 0 ... 63, and ECN bits. */
static inline uint8_t uroce_traffic_class(unsigned dscp, enum uroce_ecn ecn)
{
	return (uint8_t)((dscp & 63) << 2 | ((unsigned)ecn & 3));
}

static inline unsigned uroce_traffic_class_dscp(uint8_t traffic_class)
{
	return traffic_class >> 2;
}

static inline enum uroce_ecn uroce_traffic_class_ecn(uint8_t traffic_class)
{
	return (enum uroce_ecn)(traffic_class & 3);
}

/*
 * What happens to a response of a READ or atomic that comes before its turn. UPWARDS and ANY_ORDER: the response
 * is placed, and only the responses that are missing before it are asked for again. UPWARDS asks for one part of a READ
 * after the other, which every peer answers (Linux answers in no other order, Q-16). ANY_ORDER asks for all parts at
 * once, and is only for a peer that has read repair, too. OFF: the response is dropped, and all responses from the
 * oldest missing one on are asked for again. As a responder, a QP that is not OFF answers a part of a READ before the
 * responses that it has still to send (S-9).
 */
enum uroce_read_repair { UROCE_READ_REPAIR_UPWARDS, UROCE_READ_REPAIR_OFF, UROCE_READ_REPAIR_ANY_ORDER };

/*
 * Congestion control: how a QP slows down. FIXED: a window that losses make smaller, and no rate. DCQCN: the same
 * window, and a rate that the peer's congestion notifications (CNP) lower, as NICs have it (N-2); the QP's packets are
 * marked as ECN-capable, ECT(0), unless the traffic class has other ECN bits. DELAY: a window that shrinks while round
 * trips take longer than the shortest one; it needs no help of switches or of the peer (N-4). DEFAULT: DCQCN if the
 * link of the device tells its rate (uroce_port_link_mbps()), else FIXED: loop and memif ports have no switch on their
 * way.
 */
enum uroce_cc { UROCE_CC_DEFAULT, UROCE_CC_FIXED, UROCE_CC_DCQCN, UROCE_CC_DELAY, UROCE_CC_ALGORITHMS };

/* Attributes of a QP. The mask of uroce_qp_modify() says which ones are meant. */
struct uroce_qp_attr {
	enum uroce_qp_state qp_state;
	uint32_t access_flags; /* the rights of peers: UROCE_ACCESS_REMOTE_* and UROCE_ACCESS_FLUSH_* */
	uint16_t pkey;         /* default 0xFFFF */
	uint32_t path_mtu;     /* payload bytes: 256, 512, 1024, 2048, 4096 */
	uint32_t dest_qp_num;
	uint32_t rq_psn;            /* first PSN expected from the peer */
	uint32_t sq_psn;            /* first PSN to send; by default a random one */
	uint8_t max_rd_atomic;      /* READs and atomics we may have outstanding, 0 ... 128 */
	uint8_t max_dest_rd_atomic; /* the same for the peer, 0 ... 128 */
	uint8_t min_rnr_timer;      /* code 0 ... 31; default 12 = 0.64 ms */
	uint8_t timeout;            /* ACK timer 4.096 us x 2^n, 0 ... 31; 0 = off */
	uint8_t retry_cnt;          /* 0 ... 7; 7 means seven */
	uint8_t rnr_retry;          /* 0 ... 7; 7 means without limit */
	bool flow_control;          /* end-to-end credits, if the peer has agreed (F-6); default off */
	bool imprecise_errors;      /* report local faults at once, on the oldest request (E-3); default off */
	bool use_sq_psn;            /* uroce_qp_connect() only: the first PSN to send is sq_psn; default off */
	bool no_probe;       /* send no probe before the ACK timer expires; default: a probe after some round trips */
	uint8_t read_repair; /* enum uroce_read_repair; default UROCE_READ_REPAIR_UPWARDS */
	uint8_t cc;          /* enum uroce_cc; a query returns the algorithm in force */
	/*
	 * Selective retransmission: both ends keep out-of-order packets and report them with SACKs, so that only lost
	 * packets are retransmitted (S-21). The value is the maximum number of SEND and WRITE packets in flight: 256,
	 * 512, 1024 or 2048. Both ends have to be uroce and to agree on it; cm.h does that for them. Both start PSNs
	 * should be random, and each end has to know the other's: the UDP source ports follow from them (W-2). Set
	 * SQ_PSN with RTR if the peer may send before this QP is in RTS. 0, the default: no SACKs, as with every other
	 * peer.
	 */
	uint16_t sack_window;
	/*
	 * Requests are spread over so many paths, 4 ... 64. Each path has a UDP source port of its own, so that
	 * switches that choose a way by the ports use several ways (W-10). 0 or 1 means one path, the default. Several
	 * paths need a sack_window, and at both ends a device with one queue, or whose port does not choose queues by
	 * source ports. If the lcore has no memory for several paths the QP has one, and a query returns 0.
	 */
	uint8_t paths;
	uint32_t rate_mbps; /* a query returns the rate that congestion control allows, in Mbit/s; 0: no limit */
	/*
	 * Time in ms after which an idle QP asks its peer by itself whether it is alive; 0: never, the default. The
	 * death of a peer is then reported within that time plus the time that all retries take: QP_FATAL, and
	 * uroce_qp_last_error() returns UROCE_CAUSE_KEEPALIVE.
	 */
	uint32_t keepalive_ms;
	struct uroce_path path;
	/* the alternate path: all of UROCE_QP_ALT_PATH */
	struct uroce_path alt_path;
	uint16_t alt_pkey;
	uint8_t alt_timeout; /* as timeout */
	/* value to set: REARM; or MIGRATED, which in ARMED migrates at once */
	enum uroce_path_mig_state path_mig_state;
};

/* Each bit stands for the attributes of its name. Bits 21 ... 24 and 26 ... 29 are uroce's own. */
enum uroce_qp_attr_mask {
	UROCE_QP_STATE = 1 << 0,
	UROCE_QP_ACCESS_FLAGS = 1 << 3,
	UROCE_QP_PKEY = 1 << 4, /* IBV_QP_PKEY_INDEX, but the P_Key itself */
	UROCE_QP_PATH = 1 << 7, /* IBV_QP_AV */
	UROCE_QP_PATH_MTU = 1 << 8,
	UROCE_QP_TIMEOUT = 1 << 9,
	UROCE_QP_RETRY_CNT = 1 << 10,
	UROCE_QP_RNR_RETRY = 1 << 11,
	UROCE_QP_RQ_PSN = 1 << 12,
	UROCE_QP_MAX_RD_ATOMIC = 1 << 13, /* IBV_QP_MAX_QP_RD_ATOMIC */
	UROCE_QP_ALT_PATH = 1 << 14,
	UROCE_QP_MIN_RNR_TIMER = 1 << 15,
	UROCE_QP_SQ_PSN = 1 << 16,
	UROCE_QP_MAX_DEST_RD_ATOMIC = 1 << 17,
	UROCE_QP_PATH_MIG_STATE = 1 << 18,
	UROCE_QP_DEST_QPN = 1 << 20,
	UROCE_QP_FLOW_CONTROL = 1 << 21,
	UROCE_QP_IMPRECISE_ERRORS = 1 << 22,
	UROCE_QP_NO_PROBE = 1 << 23,
	UROCE_QP_KEEPALIVE = 1 << 24,
	UROCE_QP_READ_REPAIR = 1 << 26,
	UROCE_QP_CC = 1 << 27,
	UROCE_QP_SACK_WINDOW = 1 << 28,
	UROCE_QP_PATHS = 1 << 29
};

/* Why a QP went to ERR by itself: all that its failed completion says, and more (E-4). */
struct uroce_qp_error {
	uint8_t status;  /* enum uroce_wc_status of the failed request; UROCE_WC_SUCCESS: nothing has failed */
	bool responder;  /* the failed request was the peer's, and it failed at our end */
	uint8_t finding; /* enum uroce_finding */
	uint8_t reserved;
	uint32_t cause;                                      /* enum uroce_cause */
	uint32_t psn, aeth, retries, elapsed_us, path_index; /* as in struct uroce_wc */
	struct uroce_path path;                              /* the path in use then */
};

/*
 * Creates a QP in RESET on an lcore of the device's engine. The QPN is drawn at random. Returns 0; -EINVAL: a value
 * out of range, uroce_last_error() (log.h) says which; -ENOMEM; -ENOSPC: the engine has max_qps queue pairs, or the
 * lcore has no QPN left (each lcore has more of them than max_qps divided by the number of lcores); -EIO: no random
 * numbers.
 */
UROCE_API int uroce_qp_create(struct uroce_pd *pd, const struct uroce_qp_init_attr *init, struct uroce_qp **qp);
/*
 * Returns the values that the QP was created with, as they are in force: the sizes of its queues, its owner as lcore.
 */
UROCE_API void uroce_qp_query_init(const struct uroce_qp *qp, struct uroce_qp_init_attr *init);
/*
 * Safe at any time: after it returns no packet, timer or completion of the QP is handled. Completions that are in
 * a CQ by then stay there: uroce_cq_mark() (cq.h) tells when the last of them has been taken. Returns 0; -ETIMEDOUT:
 * its lcore is not polled, and the QP still exists.
 */
UROCE_API int uroce_qp_destroy(struct uroce_qp *qp);
/*
 * Changes attributes and state. Returns 0; -EINVAL: an illegal transition, a missing or forbidden attribute, a value
 * out of range, a path that no port of the QP's lcore has. -ENETUNREACH: the peer is outside the prefix of the path's
 * source, which has no gateway. -ETIMEDOUT: the QP's lcore is not polled. -EAGAIN: the QP was reset less than four ACK
 * timeouts (1 ... 60 s) ago and cannot go to RTR yet, for a packet of its last connection could be taken for one of
 * the new connection (P-7); a new QP need not wait. -EAGAIN also if path_mig_state is set to REARM after a migration
 * before the peer has been heard over the new path, because the peer might then never follow: first exchange a message
 * . With an error nothing has changed, and *bad_mask, when given, names the attribute that is to blame; it is 0
 * if no attribute is, as when the QP has to rest. After -EINVAL and -ENETUNREACH uroce_last_error() (log.h) says what
 * is wrong.
 *
 * The table says which attributes a transition requires (!) and which others it takes (x), besides UROCE_QP_STATE; all
 * others are refused. Any state goes to RESET, and any state but RESET to ERR, without attributes.
 *
 *                           RESET-INIT INIT-INIT INIT-RTR RTR-RTS RTS-RTS SQD-RTS SQD-SQD
 *   ACCESS_FLAGS                !        x         x        x       x       x       x
 *   PKEY                        x        x         x                                x
 *   PATH                                           !                                x
 *   PATH_MTU                                       !
 *   DEST_QPN                                       !
 *   RQ_PSN                                         !
 *   MAX_DEST_RD_ATOMIC                             !                                x
 *   MIN_RNR_TIMER                                  x        x       x       x       x
 *   FLOW_CONTROL                                   x        x
 *   CC                                             x
 *   SACK_WINDOW                                    x
 *   PATHS                                          x
 *   ALT_PATH                                       x        x       x       x       x
 *   TIMEOUT                                                 !                       x
 *   RETRY_CNT                                               !                       x
 *   RNR_RETRY                                               !                       x
 *   MAX_RD_ATOMIC                                           !                       x
 *   SQ_PSN                                         x        x
 *   PATH_MIG_STATE                                          x       x       x       x
 *   IMPRECISE_ERRORS                                        x       x       x       x
 *   NO_PROBE                                                x       x       x       x
 *   KEEPALIVE                                               x       x       x       x
 *   READ_REPAIR                                             x       x       x       x
 *
 * RTS goes to SQD without attributes.
 */
UROCE_API int uroce_qp_modify(struct uroce_qp *qp, const struct uroce_qp_attr *attr, uint32_t mask, uint32_t *bad_mask);
/* Fills in *attr with the attributes in force. Returns 0; -ETIMEDOUT: the QP's lcore is not polled. */
UROCE_API int uroce_qp_query(struct uroce_qp *qp, struct uroce_qp_attr *attr);
/* Returns the QP's number, 24 bits. */
UROCE_API uint32_t uroce_qp_num(const struct uroce_qp *qp);
/*
 * Writes the record of the first failure since RESET, which is to be read after the failure's completion or event.
 * Returns 0; -ETIMEDOUT: the QP's lcore is not polled.
 */
UROCE_API int uroce_qp_last_error(struct uroce_qp *qp, struct uroce_qp_error *error);
/* The name of an attribute, "PATH_MTU" for UROCE_QP_PATH_MTU; never NULL. */
UROCE_API const char *uroce_qp_attr_name(uint32_t mask_bit);
/* The name of a state, "RTS" for UROCE_QPS_RTS; never NULL. */
UROCE_API const char *uroce_qp_state_name(enum uroce_qp_state state);
/* The name of a migration state, "ARMED" for UROCE_PATH_ARMED; never NULL. */
UROCE_API const char *uroce_path_mig_state_name(enum uroce_path_mig_state state);

/*
 * The usual way to RTS in one call: RESET to INIT, RTR, RTS with the attributes of attr (qp_state is ignored;
 * zero path_mtu means the device's, zero pkey means 0xFFFF; the first PSN to send is the random one that
 * uroce_qp_query() tells as sq_psn, or with use_sq_psn the sq_psn of attr). alt_path and path_mig_state are not set:
 * uroce_qp_modify() does that afterwards. Errors as uroce_qp_modify(), which leave the QP in the last state that it
 * reached.
 */
UROCE_API int uroce_qp_connect(struct uroce_qp *qp, const struct uroce_qp_attr *attr, uint32_t *bad_mask);

/*
 * Posts a list of requests. One thread at a time per queue. Returns 0; -ENOMEM: the queue is full; -EINVAL: opcode,
 * sge count, inline length, flags or a length that the operation does not take, max_rd_atomic 0 for a READ, atomic or
 * FLUSH, the state (RESET, INIT, RTR for sends; RESET for receives), or a receive for a QP with an SRQ;
 * uroce_last_error() (log.h) says which. *bad_wr is the first request that was not posted. A send's entry is free
 * again when its completion is in the CQ, an unsignaled one's when a later request has a completion. So a queue
 * that is full of unsignaled requests stays full: signal at least one of every max_send_wr.
 */
UROCE_API int uroce_qp_post_send(struct uroce_qp *qp, const struct uroce_send_wr *wr,
				 const struct uroce_send_wr **bad_wr);
/* The same for receives; an entry is free again when a message takes it. */
UROCE_API int uroce_qp_post_recv(struct uroce_qp *qp, const struct uroce_recv_wr *wr,
				 const struct uroce_recv_wr **bad_wr);
/*
 * Returns the number of free entries of the send queue: so many requests can be posted before uroce_qp_post_send()
 * returns -ENOMEM. 0 ... max_send_wr. For the thread that posts; other threads get an estimate.
 */
UROCE_API uint32_t uroce_qp_send_free_count(const struct uroce_qp *qp);

#ifdef __cplusplus
}
#endif
#endif
