/* half.h - one direction of a connection: what is known of its requests and of the responses to them */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PSNs are unwrapped to 64 bits ("places"), so that they compare like numbers: the low 24 bits are the PSN.
 */
#ifndef TEST_TRACE_HALF_H
#define TEST_TRACE_HALF_H

#include "trace.h"

#define PSN_SPACE (1ll << 24)
#define WINDOW (1ll << 23)
#define NOWHERE (-1ll)
#define ASKED_MAX 16u

enum half_count {
#define COUNT(symbol, name) COUNT_##symbol,
#include "counts.def"
#undef COUNT
	HALF_COUNTS
};

/* A READ or atomic was sent for the answers of [begin, end). */
struct half_asking {
	int64_t begin, next, end; /* next: what comes next of its answer */
};

/* A request packet; a READ owns the PSNs of its responses. */
struct half_request {
	int64_t first, count;
	struct wire_packet packet; /* as first seen */
	int64_t messages;          /* ended by it or before it; READs and atomics count at once. -1: not known */
	int64_t carried;           /* payload of its message up to and with it; -1: not known */
	int64_t announced;         /* WRITE: the length that its RETH told; -1: not known */
	uint64_t sending;          /* the number of that which asked for it last, to its end */
	uint64_t original;         /* of an atomic */
	bool has_original;
	uint8_t asked_count; /* READ, atomic: askings not answered to the end; what goes on comes last */
	struct half_asking asked[ASKED_MAX];
};

/* Why the requester may start again. */
enum half_cause { CAUSE_NONE, CAUSE_NAK, CAUSE_ANSWER, CAUSE_RNR, CAUSE_SILENCE, HALF_CAUSES };

struct half_step {
	uint64_t ns;
	int64_t snd_una;
};

/* Answers that are missing before others that have come, or that have come before their turn. */
struct half_piece {
	int64_t begin, end;
	uint64_t sending; /* the number of that which asked for it last */
	bool come, asked; /* asked: again */
};

/* What the requester has shown, and what it has seen. */
struct half_requester {
	int64_t next;            /* first place never seen */
	int64_t snd_una;         /* everything before it is acknowledged */
	int64_t cursor;          /* where a resend goes on; `snd_nxt` when there is none */
	struct half_step *steps; /* of snd_una */
	uint32_t step_count, step_room;
	uint32_t known; /* the newest of them that the requester must have seen */
	/*
	 * When its timer started, progress apart: the first request in flight, or a resend. One for an ACK timer may
	 * follow one that only asked (a probe), so those after a silence count when the next one comes.
	 */
	uint64_t timer_ns, resent_ns;
	bool causes[HALF_CAUSES];
	uint64_t answer_lost_ns; /* when the cause of that name arose */
	int64_t answer_at;       /* and the response that showed it, which had to be dropped */
	uint64_t answer_came_ns; /* when snd_una had passed that; who had decided to start again may still do so */
	int64_t rnr_at;          /* place that waits, or NOWHERE */
	uint64_t rnr_from_ns, rnr_until_ns;
	uint64_t fatal_ns; /* a NAK that ends it came; 0: none */
	bool only_piece;   /* what was sent again last began with a piece, and may be that alone */
	uint64_t sendings; /* packets that it has sent are numbered */
	/* The newest of them that was answered, and how far. */
	uint64_t answered_sending;
	int64_t answered_place;
	uint64_t answered_ns; /* when anything was answered before its turn */
	/* From snd_una on; everything before `pieces_end` is in a piece, unless an ACK suffices for it. */
	struct half_piece *pieces;
	uint32_t piece_count, piece_room;
	int64_t pieces_end;
};

/* What has come to the responder, in its order, and what it has said. */
struct half_responder {
	int64_t expected;
	int64_t said;       /* everything before it is acknowledged by what was sent */
	int64_t answered;   /* the same, but READs and atomics only with their answers */
	int64_t last_nak;   /* of a sequence, or NOWHERE */
	bool gap, gap_told; /* something beyond `expected` has come; and a NAK has told so */
	bool silent;        /* an RNR NAK named `expected`, which has not come since */
	bool spoken;        /* something was sent */
	bool msn_seen;
	uint32_t msn; /* of the newest ACK or NAK */
	int64_t msn_base;
	bool msn_base_known;
};

struct trace_half {
	uint32_t index;
	uint8_t source[16], dest[16];            /* of requests */
	uint32_t dest_qpn;                       /* of requests */
	uint32_t source_qpn;                     /* of responses; UINT32_MAX: none seen */
	uint32_t view;                           /* enum trace_view, several bits */
	uint32_t mtu;                            /* learnt */
	uint32_t read_psn, read_bytes, read_mtu; /* while it is learnt */
	uint32_t begin_psn;                      /* of its first request */
	bool begin_known;                        /* it was told, not seen */
	bool synced;
	bool selective; /* both ends have agreed to selective repeat: it is counted, not judged */
	bool not_at_requester, not_at_responder,
		resent_needlessly;     /* what the first look shows of the point of capture */
	struct half_request *requests; /* by place */
	uint32_t request_count, request_room;
	struct half_requester requester;
	struct half_responder responder;
	uint64_t counts[HALF_COUNTS];
	uint64_t answer_ns;  /* from when a lost answer showed to the restart that it caused */
	uint64_t silence_ns; /* waited for before resends that had no other cause */
};

/* half.c */
void half_step(struct trace_half *half, int64_t snd_una, uint64_t ns);
/* snd_una as the requester must know it by now. */
int64_t half_known_una(struct trace_half *half, uint64_t now_ns, uint64_t grace_ns);
int64_t half_place(const struct trace_half *half, uint32_t psn);
struct half_request *half_find(const struct trace_half *half, int64_t place);
/* A new one at its place. NULL: it overlaps another. */
struct half_request *half_insert(struct trace_half *half, int64_t place, int64_t count,
				 const struct wire_packet *packet);
/* The request just before one, if it is known. */
const struct half_request *half_before(const struct trace_half *half, const struct half_request *request);
/* The trace began too late: what comes first of all is an earlier place. Only while the responder has said nothing. */
void half_begin_at(struct trace_half *half, int64_t place);
/* Walks from `from` to `end`, but not over what needs an answer of its own. */
int64_t half_cover(const struct trace_half *half, int64_t from, int64_t end);
int64_t half_psns(const struct trace_half *half, const struct wire_packet *packet);
bool half_needs_answer(const struct wire_packet *packet);
uint32_t half_psn(int64_t place);

__attribute__((format(printf, 5, 6))) void half_say(struct trace *trace, struct trace_half *half,
						    const struct trace_packet *packet, enum trace_verdict verdict,
						    const char *format, ...);

/* pieces.c */
/* The peer has answered everything before `end`. */
void half_pieces_see(struct trace_half *half, int64_t end, uint64_t now_ns);
/* An answer to this place has come. */
void half_pieces_come(struct trace_half *half, int64_t place, uint64_t now_ns);
/* Everything before snd_una has come, in order. */
void half_pieces_pass(struct trace_half *half, int64_t snd_una);
/* [place, end) is asked for, by the sending of this number. */
void half_pieces_sent(struct trace_half *half, int64_t place, int64_t end, uint64_t sending);
/*
 * Does place lie in a piece? And may that be asked for, because something was answered that was sent after it? Who
 * takes up to grace_ns to react may have decided before it was asked for last.
 */
bool half_pieces_has(const struct trace_half *half, int64_t place);
bool half_pieces_is_due(const struct trace_half *half, int64_t place, uint64_t now_ns, uint64_t grace_ns);
/* The first place from `from` on that has neither come nor been asked for again, before `end`; `end`: none. */
int64_t half_pieces_missing(const struct trace_half *half, int64_t from, int64_t end);

/* requests.c, resends.c, responses.c, answers.c */
void half_judge_request(struct trace *trace, struct trace_half *half, const struct trace_packet *packet);
void half_judge_resend(struct trace *trace, struct trace_half *half, const struct trace_packet *packet, int64_t place);
void half_judge_response(struct trace *trace, struct trace_half *half, const struct trace_packet *packet);
void half_judge_answer(struct trace *trace, struct trace_half *half, const struct trace_packet *packet, int64_t place);

const struct trace_options *trace_options(const struct trace *trace);

#endif
