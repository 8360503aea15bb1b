/* world.h - everything that one run consists of: nodes, connections, their ends, frames on their way */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A node is an instance of the core: a table of regions, a clock, QPs, perhaps a shared receive queue. A connection
 * joins two ends, each a QP with an application and memory of its own. Ends 2n and 2n+1 are connection n. A connection
 * may have several lives: its QPs fail or are destroyed, and are made anew under the same numbers.
 */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include "rc/board.h"
#include "rc/kept.h"
#include "rc/mr.h"
#include "rc/outbox.h"
#include "rc/qp.h"
#include "rc/srq.h"
#include "sim/agenda.h"
#include "sim/fault.h"
#include "sim/flows.h"
#include "sim/memory.h"
#include "sim/op.h"
#include "sim/random.h"
#include "sim/swarm.h"

#define SIM_SLOTS 6u          /* of a target area, and of a landing area */
#define SIM_UNUSED_BYTES 256u /* of a slot that nobody uses */
#define SIM_WORDS 8u          /* 8-byte words that QPs of a node share for atomics */
#define SIM_CQ_ENTRIES 512u
#define SIM_NONE UINT32_MAX
#define SIM_TEXT_BYTES 512u

/* Streams of random numbers, besides that of the configuration. */
enum sim_stream {
	STREAM_CONNECT = 1,
	STREAM_APP,
	STREAM_REQUEST,
	STREAM_FRAME,
	STREAM_POLL,
	STREAM_HOST,
	STREAM_MARK,
	STREAM_HOP,
	STREAM_ECMP,
	STREAM_PLAIN,
	STREAM_CROWD,
	STREAM_PSN
};

struct sim_region {
	uint64_t at;
	uint32_t bytes, access;
	uint32_t key;  /* 0: not registered any more */
	uint32_t told; /* the key that the peer knows */
	bool zero_based;
};

enum sim_bad { BAD_NOT, BAD_RKEY, BAD_RANGE, BAD_LKEY, BAD_LENGTH };

/* A request as it was posted, and what the model of the peer made of it. */
struct sim_message {
	uint8_t opcode, flags; /* enum uroce_wr_opcode, enum uroce_send_flags */
	uint8_t bad;           /* enum sim_bad */
	bool signaled, local;
	bool windowed; /* under the key of a window */
	uint32_t bytes, packets;
	uint64_t first; /* its first PSN, counted from the start of the life */
	uint32_t imm, rkey, flush;
	uint64_t remote_at, remote_va;
	struct sim_buffer buffer; /* of a SEND or WRITE: the source; else where the answer goes */
	uint32_t landing;         /* slot, or SIM_NONE */
	uint64_t compare_add, swap;
	uint8_t *data; /* inline: what was posted; READ: what the answer has to be */

	bool executed;
	uint64_t original;
	uint32_t msn;
	uint32_t answers_sent; /* answers that have left at least once */
	uint32_t begin, next;  /* of the answer under way: where it begins, and what leaves next */
	uint32_t end;          /* where it ends, for a READ may be repeated in parts */
	uint32_t asked_from;   /* READ: where the last request for it began */
	uint8_t *came;         /* a READ or the like: which of its answers were placed before their turn; NULL: none */
};

struct sim_receive {
	struct sim_buffer buffer;
	uint32_t index;   /* of all posted to its queue */
	bool busy;        /* posted, and its completion not polled */
	uint64_t free_ns; /* when it may be posted again */
};

/* A receive queue: of an end, or the shared one of a node. */
struct sim_receives {
	struct sim_region region;
	struct sim_receive items[SIM_RECEIVES_MAX];
	uint32_t posted, taken; /* by messages, as the model sees it */
};

/* A part of a READ that the responder owes in front of what is still to leave. */
struct sim_part {
	uint64_t first; /* PSN of the READ */
	uint32_t begin, next, end;
};

/* The model of one end: what it should know and do. Requester and responder. */
struct sim_model {
	uint64_t snd_una, limit; /* PSNs of our requests since the start of the life */
	uint32_t una_message;    /* the request that owns snd_una */
	uint64_t rnr_until_ns;
	uint32_t rnr_naks;    /* since snd_una moved */
	uint32_t attempts;    /* times that the packet of snd_una has been sent */
	uint32_t asks;        /* empty WRITEs that have asked about it */
	uint32_t naks_behind; /* sequence NAKs for what lies behind it, since snd_una moved: each costs a retry, too */
	uint32_t migrations;  /* seen so far */
	bool resend_due;      /* it has migrated: what is unanswered goes out again, from snd_una on */
	bool beside;          /* an empty WRITE has left while nothing was in flight, and waits for its ACK */
	uint64_t timer_ns;    /* by the node's clock: from then on the ACK timer may have been running */
	uint64_t proven;      /* everything before it has been executed by the peer, as what it has sent since shows */
	uint32_t nak_code;    /* of the last other NAK that named the oldest request */

	uint64_t epsn; /* of the peer's requests */
	uint32_t message, packet;
	uint32_t msn;
	uint32_t unsent;        /* the peer's first executed request with answers that have not left */
	uint32_t probing;       /* the peer's request that was begun without a credit, after a timeout (F-3) */
	uint32_t executed;      /* requests of the peer that have begun */
	struct sim_part *parts; /* SIM_PARTS of them, once one is owed */
	uint32_t part_count;
	uint64_t *kept;      /* which PSNs are kept before their turn, plus 1, by their low bits; NULL: none ever */
	bool gap;            /* something has come before its turn, and SACKs tell of it */
	bool nak_out;        /* one has left, and the request that it asks for has not come */
	bool rnr_out;        /* it was one for lack of a receive entry */
	bool nak_expected;   /* the next NAK has a reason */
	bool ack_owed;       /* to the newest request */
	bool repeat_owed;    /* to a repeated one */
	int64_t repeat_psn;  /* the newest of those */
	bool holds;          /* a receive is in use */
	uint32_t held;       /* its place in the queue's items */
	bool receive_done;   /* it completes with this packet */
	bool fatal;          /* the peer's request at epsn has to be refused */
	uint32_t fatal_code; /* with a NAK of this code */
	uint64_t counts[CNT_QP_COUNTERS];
};

/* A way from an end to its peer, for the frames of one source port. */
struct sim_way {
	uint16_t port;
	uint64_t last_arrival_ns;
};

#define SIM_WAYS 65u    /* SPREAD_MOST, and one for all others */
#define SIM_DEAD_WAY 3u /* which of an end's ways is dead after dead_ns */

struct sim_end {
	uint32_t index, node, life;
	struct rc_qp *qp;              /* NULL: there is none */
	uint64_t bytes_in, sack_bytes; /* of frames that arrived in this life, and of SACKs that left */
	uint32_t qpn, pd, start_psn;
	struct sim_region source, target, landing, words;
	struct sim_receives own;
	struct sim_receives *receives; /* own, or those of the node */
	uint32_t landing_used;         /* bit mask */
	uint32_t window, window_key;   /* a type 2 window on target: key it was made with, key of its last bind */
	uint8_t window_state;          /* enum sim_window */
	bool window_is_peers;          /* the peer works through it, and makes it invalid when it is done */
	bool window_valid;

	/* the application */
	struct sim_message *messages;
	uint32_t posted, room, completed; /* requests of this life */
	uint32_t retired;                 /* of them, polled */
	uint64_t next_psn;
	uint32_t quota;        /* requests left to post, in all lives */
	uint32_t steady_bytes; /* of each, if there is no swarm */
	uint32_t watched_una;  /* of a tainted connection: the oldest PSN in flight at the last look */
	uint64_t begins_ns;    /* nothing is posted before */
	bool plain;            /* it agrees to no SACKs, so its peer has none either */
	struct uroce_wc cq[SIM_CQ_ENTRIES];
	uint32_t cq_head, cq_tail;
	uint32_t receives_done; /* of the own queue, in this life */
	bool send_failed, recv_failed, failed, drain_asked, drained, fatal_event, established;
	bool knows_psn; /* in RTR already, as with rdma_cm; otherwise from RTS on */
	bool app_due, poll_due;
	bool responder_only; /* the poll is due for nothing but requests that have come */
	bool over;           /* this life: the QP is destroyed or reset */
	uint8_t poll_state;  /* of the QP when its poll began: it may fail in the middle of it */
	uint64_t timer_ns;   /* world time of the timer that stands in the agenda */
	uint64_t last_progress_ns;
	uint64_t told_ns; /* when the peer last told of credits */
	uint64_t post_ns; /* of the newest post */
	uint64_t rest_until_ns;
	struct sim_frame *held, *held_last; /* requests that a serial node has not looked at yet */
	uint32_t troubles,
		all_troubles; /* faults that befell the connection since snd_una moved; and since it was set up */
	uint32_t stalls;      /* of those: a node stood still, or its clock jumped, and no frame came to harm */

	/* its way to the peer */
	uint64_t frames_sent; /* in all lives: the number of a frame */
	uint64_t wire_free_ns;
	struct sim_way ways[SIM_WAYS]; /* with skew_ns one a source port, else the first alone */
	uint32_t burst_left;
	uint64_t next_cnp_ns; /* until then marks draw no further notification */

	struct sim_model model;
};

enum sim_window { WINDOW_FREE, WINDOW_BINDING, WINDOW_BOUND, WINDOW_LEAVING };

struct sim_connection {
	bool open, closing, tainted;
	uint32_t lives;
	uint32_t arms; /* in this life */
};

struct sim_node {
	struct rc_mr_table mrs;
	uint64_t clock_ns; /* ahead of the world's */
	uint64_t paused_until_ns;
	uint64_t busy_until_ns;                   /* of a slow one: with frames that have come */
	uint64_t dark_until_ns[SIM_NODES_MAX][2]; /* from here to a node, by path */
	struct rc_srq *srq;
	bool limit_armed;
	struct sim_receives shared;
	uint64_t words_at;
	uint64_t drops[CNT_COUNTERS];
	struct rc_board *boards; /* fewer than the connections of some runs need */
	uint32_t board_count;
	struct rc_boards pool;
	struct rc_store store;
};

struct sim_frame {
	uint8_t *bytes; /* of exactly the length: AddressSanitizer sees who reads beyond */
	uint32_t length;
	uint32_t from; /* index of the end */
	uint32_t to_node;
	uint32_t life; /* of the sender */
	uint64_t number;
	uint16_t source_port;
	struct sim_frame *next; /* while it is held */
	uint8_t hops;           /* switches that it has reached */
	bool served;            /* its node has got round to it */
	bool held;              /* it has been held */
	bool forged;
	bool disturbed; /* it is late, a copy or a replay */
};

#define SIM_BOARDS 6 /* of a node */
#define SIM_KEPT 60u /* packets before their turn that a node of the swarm has room for */
#define SIM_PARTS 4096u
#define SIM_OLD_FRAMES 64u /* kept for replay, of each run */

struct sim_world {
	const struct sim_options *options;
	struct sim_config config;
	struct sim_faults faults;
	struct sim_agenda agenda;
	struct sim_memory *memory;
	struct sim_node *nodes;
	struct sim_end *ends;
	struct sim_plan drawn;     /* switches without flows of their own */
	struct sim_fabric *fabric; /* NULL: a link joins each two nodes */
	struct sim_connection *connections;
	struct sim_frame *old[SIM_OLD_FRAMES];
	uint32_t old_count;
	const struct sim_end *writer; /* the QP that the template was last used for, and its life */
	uint32_t writer_life;
	struct rc_outbox out;
	uint32_t filled; /* completions of other QPs at the beginning of `out` */
	uint64_t now_ns, stopped_ns;
	uint64_t completed_ns; /* when a request last completed, of any QP */
	uint64_t longest_ns;   /* between two completions, since a way is dead */
	uint64_t payload_lost; /* frames with payload that were lost */
	uint64_t events, hash;
	uint32_t posted, frames_alive;
	uint64_t marks_drawn; /* frames that might have been marked */
	uint64_t frames, payload_frames, bytes_done, errors, flushes, successes;
	uint64_t tally[CNT_QP_COUNTERS]; /* of all QPs that have gone */
	bool failed;
	char failure[SIM_TEXT_BYTES];
};

static inline struct sim_end *world_peer(const struct sim_world *world, const struct sim_end *end)
{
	return &world->ends[end->index ^ 1];
}

static inline struct sim_connection *world_connection(const struct sim_world *world, const struct sim_end *end)
{
	return &world->connections[end->index / 2];
}

static inline uint64_t world_clock(const struct sim_world *world, const struct sim_end *end)
{
	return world->now_ns + world->nodes[end->node].clock_ns;
}

static inline uint64_t region_va(const struct sim_world *world, const struct sim_region *region, uint64_t at)
{
	return region->zero_based ? at - region->at : (uint64_t)(uintptr_t)(world->memory->real + at);
}

/*
 * Slots of a target area, of a landing area, and how many one source fills. Where there are only READs or only WRITEs
 * they may be long, so there is no more than is used.
 */
static inline uint32_t world_targets(const struct sim_world *world)
{
	return world->config.only_reads || world->config.only_writes ? 1 : SIM_SLOTS;
}

static inline uint32_t world_landings(const struct sim_world *world)
{
	return world->config.only_reads ? world->config.depth : SIM_SLOTS;
}

static inline uint32_t world_sources(const struct sim_world *world)
{
	return world->config.only_writes ? 1 : 2;
}

static inline uint32_t world_landings_left(const struct sim_world *world, const struct sim_end *end)
{
	return world_landings(world) - (uint32_t)__builtin_popcount(end->landing_used);
}

static inline bool message_needs_answer(const struct sim_message *message)
{
	return sim_ops[message->opcode].answered;
}

static inline bool message_needs_receive(const struct sim_message *message)
{
	return sim_ops[message->opcode].receives;
}

static inline bool message_is_send(const struct sim_message *message)
{
	return sim_ops[message->opcode].kind == WIRE_KIND_SEND;
}

/* One run from its seed to its end. Says in world->failed whether an oracle objected. */
void sim_world_run(struct sim_world *world, const struct sim_options *options, struct sim_memory *memory);
/* Frees everything but the journal of faults, which sim_world_forget() does. */
void sim_world_forget(struct sim_world *world);

/* The first objection counts. */
__attribute__((format(printf, 2, 3))) void sim_world_fail(struct sim_world *world, const char *format, ...);
/* Something that must be the same in each run of the seed. */
void sim_world_note(struct sim_world *world, uint64_t a, uint64_t b, uint64_t c);
/* An end may have something to send, soon or at a time; its application something to do. */
void sim_world_wake(struct sim_world *world, struct sim_end *end, uint64_t delay_ns);
/* The same if the packet that it has just received wants it, as lib/engine/receive.c finds out. */
void sim_world_wake_after(struct sim_world *world, struct sim_end *end, bool response);
void sim_world_wake_app(struct sim_world *world, struct sim_end *end, uint64_t delay_ns);
/* Puts the QP's deadline into the agenda. */
void sim_world_arm(struct sim_world *world, struct sim_end *end);
/* Completions and events of the outbox go to the end; packets to the network. */
/* An empty outbox, or one with completions of other QPs and little room. */
void sim_world_reset_outbox(struct sim_world *world);
void sim_world_take_outbox(struct sim_world *world, struct sim_end *end);
/* Something befell the connection of the end. */
void sim_world_trouble(struct sim_world *world, struct sim_end *end, uint32_t count);
/* No fault happens any more. */
void sim_world_stop_faults(struct sim_world *world);

#endif
