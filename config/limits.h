/* limits.h - every bound of the project, once, with the reason why it fits the others */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIMITS_H
#define LIMITS_H

#include <assert.h>

/* What a user may ask for. */
#define LIMIT_SGE 16u            /* pieces of a request */
#define LIMIT_INLINE_BYTES 512u  /* inline data of a request (Q-2 wants 128) */
#define LIMIT_QUEUE_DEPTH 32768u /* entries of a send or receive queue */
#define LIMIT_CQ_DEPTH (1u << 20)
#define LIMIT_RD_ATOMIC 128u /* outstanding READs and atomics, either way (S-11) */
#define LIMIT_HOLES 256u     /* parts of READs that may be missing between those that have come */
#define LIMIT_QPS (1u << 20) /* per engine: the index part of a QPN */
#define LIMIT_MRS (1u << 20) /* per device: the index part of a key */
#define LIMIT_MTU_BYTES 4096u
#define LIMIT_MESSAGE_BYTES (1ull << 31) /* one message (P-4) */

/* The protocol's own. */
#define PSN_WINDOW (1u << 23) /* PSNs outstanding (P-4) */

/*
 * New packets that a QP keeps in flight before it waits for an ACK, unless both ends have agreed on a larger
 * sack_window. Below the rings of every port here, so that a healthy receiver is not overrun by one QP; AckReq is set
 * twice per window.
 */
#define WINDOW_PACKETS 256u

/*
 * When an alarm is raised that somebody guesses (TC-G-3, TC-G-4). At PSNs: half of a thousand packets a second, for the
 * other half may fall where honest ones do; those are never as far off as 2^16 packets, 64 MiB at the usual MTU. At
 * QPNs, addresses and P_Keys: so many a second and lcore, whom a sweep of 2^48 QPNs and PSNs takes 900 years.
 */
#define ANOMALY_NS 1000000000ull
#define ANOMALY_MS 1000u /* the same */
#define ANOMALY_PACKETS 500u
#define ANOMALY_TOTAL 800u       /* packets that raise the event however slowly they arrive ... */
#define ANOMALY_FORGET_MS 10000u /* ... of which one is forgotten after so long */
#define ANOMALY_DISTANCE (1u << 16)
#define ANOMALY_UNKNOWN_SENDERS 10000u

/*
 * Requests that are kept behind a missing packet (S-21). KEPT_SPAN: PSNs in the map of a QP; KEPT_BLOCK: PSNs in a
 * SACK; LCORE_KEPT: packets that the QPs of an lcore keep together. A QP whose missing packet has not arrived for
 * KEPT_PATIENCE_NS gives up what it keeps when another QP needs the room.
 */
#define KEPT_SPAN 2048u
#define KEPT_BLOCK 64u
#define LCORE_KEPT 8192u
#define KEPT_PATIENCE_NS 10000000ull

/*
 * How far ahead of ePSN a request may be kept: KEPT_NEAR PSNs whatever path it took, and KEPT_PAIRS divided by the
 * number of used paths beyond that, if its path was used before (lib/rc/ports.h).
 */
#define KEPT_NEAR 255u
#define KEPT_PAIRS 16384u

/*
 * SACKs and ACKs that out-of-order requests and PROBEs draw (S-22), in bytes of frames: at most KEPT_ANSWER_PERCENT of
 * what arrives, and KEPT_FLOOR_BYTES_MS per ms besides. KEPT_ALLOWANCE of them may be drawn at once. A request counts
 * as KEPT_REQUEST_BYTES without its payload, which is less than its headers have.
 */
#define KEPT_ANSWER_PERCENT 150u
#define KEPT_FLOOR_BYTES_MS 1u
#define KEPT_ALLOWANCE 3072u
#define KEPT_REQUEST_BYTES 58u
#define KEPT_PROBE_BYTES 74u
#define KEPT_SACK_BYTES 94u
#define KEPT_ACK_BYTES 62u
/* PROBEs in a row, per path of the peer, between which nothing was executed: more of them pay for no answer */
#define KEPT_VAIN_PROBES 16u

/*
 * The paths over which a QP spreads its packets (W-10), each with a UDP source port of its own: so many at least and at
 * most. A path over which nothing comes any more is tried again after so long, and after each failure twice as long.
 */
#define SPREAD_LEAST 4u
#define SPREAD_MOST 64u
#define SPREAD_RETRY_NS 1000000ull
/*
 * While the peer keeps no out-of-order requests all packets take one path: so long, and after each failure twice as
 * long.
 */
#define SPREAD_ALONE_NS 10000000ull
#define SPREAD_ALONE_TRIES 7u

/*
 * The transport part of a QP besides its rings, and how much of that packets read while nothing is lost: the rest is
 * room for counters and the like. What only a QP with losses needs lies in a board (LCORE_BOARDS).
 */
#define LIMIT_QP_BYTES 1600u
#define LIMIT_QP_HOT_BYTES 768u

/* The outbox of a poll. */
#define OUTBOX_PACKETS 32u
#define OUTBOX_COMPLETIONS 256u
#define OUTBOX_EVENTS 16u
#define OUTBOX_RECEIVE_COMPLETIONS 2u /* the most that receiving one packet must be able to add */

/* The pipeline. */
#define BURST 32u /* frames per rx and tx call */
/*
 * Frames that come from a port in a poll, at most, and after which no QP begins to send to it but ACKs and NAKs: what
 * is on its way stays in the caches.
 */
#define POLL_FRAMES (4 * BURST)
#define LIMIT_LCORES 64u
#define LIMIT_LANDINGS 1024u /* lcores of all engines of a process */
#define LCORE_BOARDS 2048u   /* that QPs of an lcore may borrow at a time to repair losses, of some 4 KiB each */
#define LIMIT_PORT_ADDRS 8u

/*
 * Connection management, of an lcore: what strangers may hold at a time (C-22). Passive connections count until they
 * are established, or their place is free again. An address has a share of them (lib/share/share.h): next to another
 * one that takes all it can, an honest host still opens its thousand at once.
 */
#define CM_HALF_OPEN 4096u
#define CM_SAME_MOST 16u               /* of one address and id: so many are looked through for each request */
#define CM_REFUSALS 1024u              /* answers that are given again when the request comes again */
#define CM_TIMEWAITS_PER_CONNECTION 4u /* ids in time-wait, and in use */

/*
 * For how long a peer may make us keep something, whatever times its messages tell. A REP and a DREQ of a passive
 * connection are sent again for a minute at most, which is four tries with the longest time in use (code 22, 17 s). A
 * refusal is kept until a peer with that time has asked twice more. A passive QP waits for an ACK no longer than that
 * time either, so that it notices within minutes that its peer has died; code 0 would be no timer at all.
 */
#define CM_ANSWER_NS 60000000000ull
#define CM_REFUSAL_NS 40000000000ull
#define CM_REST_NS 10000000000ull   /* time-wait of ids; the longest in use is Linux's 2 s */
#define CM_RESPONSE_TIMEOUT_MAX 23u /* code: a try, 34 s */
#define CM_SERVICE_TIMEOUT_MAX 24u  /* code: an MRA, 69 s */
#define CM_ACK_TIMEOUT_MAX 22u      /* code */

static_assert(CM_HALF_OPEN / 4 >= 1000, "an honest host opens its thousand next to a greedy one");
static_assert(7 * CM_TIMEWAITS_PER_CONNECTION >= 16,
	      "one address may have all connections in use, for their time-wait");
static_assert(CM_REFUSAL_NS > 2 * (4096ull << 22), "a peer of code 22 asks twice more");
static_assert(OUTBOX_PACKETS >= BURST, "one outbox fills one tx burst");
static_assert(KEPT_SPAN / KEPT_BLOCK == 32, "a bit of a word for each block of PSNs that may be kept");
static_assert(LCORE_KEPT < 65535, "an index of 16 bits, with one value for none");
static_assert(WINDOW_PACKETS < PSN_WINDOW, "the practical window lies inside the protocol's");
static_assert(OUTBOX_COMPLETIONS >= BURST * OUTBOX_RECEIVE_COMPLETIONS, "a burst of receives fits without a drain");

#endif
