/* model.h - what each end should do, computed from what was posted and what arrived: the independent checker */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * It knows the posted requests and the PSNs that they own (P-3). From the packets that arrive it tells what has to be
 * executed (the next packet, once), acknowledged and placed, and keeps the shadow memory; of the packets that leave it
 * tells whether they say what they should. It counts what the counters count. It shares no code with lib/rc.
 *   responder   each packet at ePSN is executed once, in order, all else is not (S1); atomics in the shadow (S4);
 *               READs answered from it (S5); an ACK never goes beyond what is executed, nor past an answer that has
 *               not left; one NAK at a time, and only with a reason (K-RULE)
 *   requester   packets as posted, in order, within 2^23 (P-4), fences and depth kept, nothing while a
 *               receiver asks to wait; snd_una as the responses say (P-5, Q-7, Q-8)
 * From the moment that a forged packet is believed, nothing of this is asked of that connection any more (P-8): a
 * forger who knows addresses, QPNs, PSN and key may acknowledge, write or refuse what he likes. What is still asked:
 * no byte outside the connection's own memory, each request completed once and in order, an end in time, no leak.
 */
#ifndef SIM_MODEL_H
#define SIM_MODEL_H

#include "sim/world.h"

/* What one arrival is expected to do. */
struct sim_verdict {
	bool right;   /* its ICRC is */
	bool request; /* and it was taken for one at ePSN */
	bool refused; /* it asks to migrate to a path that is not the alternate one */
	bool fatal;
	bool unwanted;                 /* an answer whose place is not registered any more */
	bool had_failed;               /* the QP was in ERR before */
	bool unknown_duplicate;        /* a READ or atomic that its requester still needs must be found */
	uint64_t misses;               /* counted before */
	struct sim_message *early;     /* an answer to it that comes before its turn, and may be placed or dropped */
	uint64_t early_psn, ahead;     /* where; and answers dropped for that so far */
	struct sim_message *restarted; /* its answer begins anew; if it does not after all, as it was: */
	uint32_t old_begin, old_next, old_end;
	bool goes_before;          /* it is a part that need not restart anything */
	struct sim_buffer touched; /* where something should have been placed */
	uint64_t offset, bytes;    /* which part of that */
	bool offered;              /* a request before its turn, which may be kept; what was kept before: */
	uint64_t ahead_psn, kept_before;
};

void sim_model_reset(struct sim_end *end);

/* An admitted packet: before the core sees it, and afterwards. */
void sim_model_arrive(struct sim_world *world, struct sim_end *end, const struct wire_packet *packet,
		      const struct rc_origin *origin, struct sim_verdict *verdict);
void sim_model_arrived(struct sim_world *world, struct sim_end *end, const struct wire_packet *packet,
		       struct sim_verdict *verdict, enum rc_counter drop);
/* One that was not admitted. */
void sim_model_refused(struct sim_world *world, struct sim_end *end, const struct wire_packet *packet,
		       const struct rc_origin *origin, enum rc_counter drop);
/* A packet leaves. */
void sim_model_sent(struct sim_world *world, struct sim_end *end, const struct wire_packet *packet);

/* The QP is about to send; a timer of it has fired, `expired` times the ACK timer. */
void sim_model_poll(struct sim_world *world, struct sim_end *end);
void sim_model_fired(struct sim_world *world, struct sim_end *end, uint64_t expired);

/* Bytes that a SEND, WRITE or ATOMIC WRITE carries. */
void sim_model_data(struct sim_world *world, const struct sim_message *message, uint64_t offset, void *to,
		    uint64_t bytes);

/* A forged packet was believed: the connection's memory may contain anything from now on. */
void sim_model_taint(struct sim_world *world, struct sim_end *end);

/* For the files of the model: the packet that ePSN is for, which has come now or was kept. */
void sim_model_take_next(struct sim_world *world, struct sim_end *end, const struct wire_packet *packet,
			 struct sim_verdict *verdict);
/* For the files of the model: a request before its turn, so far ahead, of an end that may keep it. */
void sim_model_before_turn(struct sim_end *end, uint32_t ahead, struct sim_verdict *verdict);
/* For the files of the model: the core has taken a packet; what it had kept may have had its turn. */
void sim_model_follow_kept(struct sim_world *world, struct sim_end *end, struct sim_verdict *verdict);
/* The QP has sent what it could, and may have executed what it had kept. */
void sim_model_polled(struct sim_world *world, struct sim_end *end);
/* For the files of the model: judges a SACK. */
void sim_model_sack_sent(struct sim_world *world, struct sim_end *end, const struct wire_packet *packet);

static inline struct sim_buffer one_piece(uint64_t at, uint64_t bytes)
{
	return (struct sim_buffer){ .count = 1, .at = { at }, .bytes = { (uint32_t)bytes } };
}

/* Something should have been placed there. */
static inline void verdict_touch(struct sim_verdict *verdict, const struct sim_buffer *buffer, uint64_t offset,
				 uint64_t bytes)
{
	verdict->touched = *buffer;
	verdict->offset = offset;
	verdict->bytes = bytes;
}

/* The part of a request that packet number `index` carries. */
static inline uint64_t model_part(const struct sim_world *world, const struct sim_message *message, uint32_t index)
{
	uint64_t offset = (uint64_t)index * world->config.mtu, left = message->bytes - offset;

	return left < world->config.mtu ? left : world->config.mtu;
}

/* Requests that are done here, without a packet, own no PSN. */
static inline void model_skip_local(const struct sim_end *end, uint32_t *index)
{
	while (*index < end->posted && end->messages[*index].local)
		++*index;
}

/* For the files of the model: the peer's executed request with answers that owns the PSN; NULL: none. */
struct sim_message *sim_model_find_answered(struct sim_end *end, struct sim_end *peer, int64_t psn);
/* For the files of the model: how far the ACK of a repeated SEND or WRITE at psn may go now (S-8). */
int64_t sim_model_repeat_limit(const struct sim_world *world, const struct sim_end *end, const struct sim_end *peer,
			       int64_t psn);
/* For the files of the model: the half of sim_model_arrive() that is about responses. */
void sim_model_response_arrived(struct sim_world *world, struct sim_end *end, const struct wire_packet *packet,
				struct sim_verdict *verdict);
/*
 * For the files of the model: the same after the core has seen it, which says by a counter whether it has placed an
 * answer before its turn. It may move snd_una over answers that have come.
 */
void sim_model_response_taken(struct sim_world *world, struct sim_end *end, struct sim_verdict *verdict);
/* For the files of the model: an old request once more; and the same after the core has seen it. */
void sim_model_duplicate_arrived(struct sim_world *world, struct sim_end *end, const struct wire_packet *packet,
				 struct sim_verdict *verdict);
void sim_model_restarted(struct sim_world *world, struct sim_end *end, const struct wire_packet *packet,
			 const struct sim_verdict *verdict);
/* For the files of the model: has a response to an executed request never left? */
bool sim_model_has_unsent(struct sim_end *end, struct sim_end *peer);
/* For the files of the model: those that judge what the responder and the requester send. */
void sim_model_answer_sent(struct sim_world *world, struct sim_end *end, const struct wire_packet *packet);
void sim_model_request_sent(struct sim_world *world, struct sim_end *end, const struct wire_packet *packet);

#endif
