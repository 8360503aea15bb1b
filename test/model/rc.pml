/* rc.pml - RC as a model for SPIN: a requester, a responder, and a wire that loses, repeats and reorders */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests: SEND, READ of two packets, fetch-and-add, SEND. PSNs count modulo 8, so half the space is 4 (P-1), and start
 * at 6, so that they wrap inside the READ. The wire may do FAULTS things: lose a packet, double it, let it be overtaken,
 * on either way; let the ACK timer fire early; and let the receive for a SEND be missing. Then it is sound.
 *
 * Checked: a request is executed once and in order (S-2); an atomic is executed once, whatever is repeated (S-10); a
 * request completes only when it was executed, a READ only with its own data, an atomic with its first result (Q-7,
 * Q-11); a gap draws one NAK (K-SEQ); what a NAK or a missing answer tells needs no timer (Q-8, Q-9, K-SEQ-REQ); each
 * packet that acknowledges a READ or atomic, be it an ACK, NAK, SACK or later response, leaves after the response to
 * that READ or atomic (S-8, S-14); no deadlock; and every run ends with everything completed (LTL `live`): no livelock.
 *
 * -DKEEP is selective repeat. The responder keeps requests up to 3 PSNs ahead of a missing request (S-21). One SACK
 * reports the gap (S-22), and the requester resends its oldest request only. Once the gap is closed the responder
 * executes the kept requests in order, one per step. Each response packet, and the ACK, SACK or RNR NAK that is due,
 * leaves in a step of its own, and requests are received between these steps. Without KEEP the responder answers each
 * request before it receives the next one.
 *
 * Where the model is not the code:
 * - Places count without wrapping inside each side (snd_una, nxt ...); what crosses the wire is the PSN, and each side works
 *   out the place from the PSN and its window alone, as the code does.
 * - The space is so small that a packet five PSNs old counts as one ahead (P-8). In the code that takes 2^23 PSNs.
 * - There are no retry budgets: faults are bounded, so the code's budgets of at least FAULTS would not be used up.
 * - AckReq is set on every packet, ACKs are not coalesced, credits, probes, migration and errors do not exist.
 * - T-5 is left out: each sequence NAK for snd_una starts again at snd_una, and so does each answer that shows one missing.
 * - The RNR wait ends at any time after it began.
 * - The ACK timer fires when nothing else can happen, besides early ones.
 * - A packet has no length; the opcodes within a message are not told apart.
 * - A SACK has no bitmap and is not repeated: if it is lost the ACK timer recovers. Only an RNR NAK drops kept requests;
 *   there is always room for them.
 *
 * -D of one of these plants an error, for which the checks must be red: ATOMIC_AGAIN SEND_AGAIN ACK_COVERS_READ
 * NAK_IGNORED ANSWER_IGNORED NAK_EACH NO_TIMER NO_REPLAY RNR_EXECUTES SKIP_OLDEST READ_FROM_START DEPTH_IGNORED.
 * With KEEP: SACK_IGNORED, and KEPT_AFTER_RESPONSES: the step that sends the ACK executes a kept request before that.
 */
#ifndef FAULTS
#define FAULTS 2
#endif
#define COUNT 5 /* PSNs of all requests */
#define START 6
#define WINDOW 4 /* PSNs outstanding: half the space */
#ifndef DEPTH
#define DEPTH 2 /* replay entries, and READs and atomics outstanding (Q-3) */
#endif

#define PSN(place) ((START + (place)) % 8)
#define DISTANCE(a, b) (((a) + 8 - (b)) % 8)

/* Place by place: 0 SEND, 1 and 2 READ, 3 fetch-and-add, 4 SEND. */
#define IS_READ(place) ((place) == 1 || (place) == 2)
#define IS_ATOMIC(place) ((place) == 3)
#define NEEDS_RESPONSE(place) (IS_READ(place) || IS_ATOMIC(place))
/* Q-3: with one slot the atomic waits for the READ. */
#ifdef DEPTH_IGNORED
#define MAY_START(place) true
#else
#define MAY_START(place) (DEPTH > 1 || !IS_ATOMIC(place) || snd_una >= 3)
#endif
#define END_OF(place) (IS_READ(place) -> 3 : (place) + 1)

mtype = { SEND, READ, ATOMIC, ACK, NAK, RNR, DATA, RESULT, SACK };

chan requests = [4] of { mtype, byte, byte }; /* kind, PSN, packets asked for */
chan responses = [6] of { mtype, byte, byte }; /* kind, PSN, data */

byte faults = FAULTS;

/* What happened, for the checks only. */
byte executed[COUNT];
byte word;	 /* what the atomic works on */
bool finished;
byte answered;	 /* bit per place: its response was put on the wire */

/* S-8, S-14: a packet that acknowledges all places before `end` leaves after the responses to these places. */
#define RESPONSES_BEFORE(end) (14 & ((1 << (end)) - 1)) /* 14: the bits of places 1, 2 and 3 (NEEDS_RESPONSE) */
#define ASSERT_ANSWERED_BEFORE(end) assert((answered & RESPONSES_BEFORE(end)) == RESPONSES_BEFORE(end))

/* Resets dead local variables, which would only multiply the states. */
#define FORGET(third) kind = 0; psn = 0; third = 0

inline fault()
{
	faults > 0;
	faults--
}

/* ---- requester ---- */

byte snd_una, nxt, limit; /* places: oldest unanswered, next to go out, first never sent */
bool rnr_wait;
bool resend; /* KEEP: a SACK reported that the request at snd_una is missing; it was not resent yet */
bool told; /* a NAK or a missing answer has told of a loss at snd_una, and nothing was sent again yet */

inline complete(place)
{
	assert(executed[place] == 1)
}

/* snd_una advanced. */
inline una_advanced()
{
	resend = false;
	told = false;
	if
	:: nxt < snd_una -> nxt = snd_una
	:: else
	fi
}

/* I3: what goes out next is the oldest. */
inline rewind()
{
	nxt = snd_una;
#ifdef SKIP_OLDEST
	if
	:: snd_una + 1 < limit -> nxt = snd_una + 1
	:: else
	fi;
#endif
	resend = false;
	told = false
}

/* Acknowledges everything before end; stops at what needs an answer (Q-8). */
inline cover(end)
{
	do
	:: snd_una < end && (!NEEDS_RESPONSE(snd_una)
#ifdef ACK_COVERS_READ
			 || true
#endif
			 ) ->
		complete(snd_una);
#ifdef ACK_COVERS_READ
		assert(!NEEDS_RESPONSE(snd_una));
#endif
		snd_una++;
		una_advanced()
	:: else -> break
	od
}

/* An answer at snd_una is missing, although something behind it has come. */
inline answer_missing()
{
	told = true;
#ifndef ANSWER_IGNORED
	rewind()
#endif
}

inline send(place)
{
	if
	:: IS_READ(place) ->
#ifdef READ_FROM_START
		requests!READ(PSN(place), 2)
#else
		requests!READ(PSN(place), END_OF(place) - place)
#endif
	:: IS_ATOMIC(place) -> requests!ATOMIC(PSN(place), 1)
	:: else -> requests!SEND(PSN(place), 1)
	fi
}

active proctype requester()
{
	mtype kind;
	byte psn, data, place;

	do
#ifdef KEEP
	:: atomic { resend && !rnr_wait && nfull(requests) ->
		send(snd_una);
		resend = false;
		told = false }
#endif
	:: atomic { !resend && nxt < COUNT && !rnr_wait && MAY_START(nxt) && END_OF(nxt) - snd_una <= WINDOW &&
		    nfull(requests) ->
		send(nxt);
		nxt = END_OF(nxt);
		if
		:: nxt > limit -> limit = nxt
		:: else
		fi }
	:: atomic { responses?kind(psn, data) ->
		if
		:: DISTANCE(psn, PSN(snd_una)) < limit - snd_una ->
			place = snd_una + DISTANCE(psn, PSN(snd_una));
			if
			:: kind == ACK ->
				cover(place + 1);
				if
				:: snd_una < place + 1 -> answer_missing()
				:: else
				fi
			:: kind == NAK || kind == RNR || kind == SACK ->
				cover(place);
				if
				:: snd_una < place -> answer_missing()
				:: else ->
					if
					:: kind == NAK ->
						told = true;
#ifndef NAK_IGNORED
						rewind()
#endif
					:: kind == SACK ->
						told = (nxt > snd_una);
#ifndef SACK_IGNORED
						resend = told
#endif
					:: else ->
						rnr_wait = true;
						rewind()
					fi
				fi
			:: kind == DATA || kind == RESULT ->
				cover(place);
				if
				:: snd_una < place -> answer_missing()
				:: else ->
					assert(NEEDS_RESPONSE(place));
					assert(kind == RESULT || data == place); /* its own data */
					assert(kind == DATA || data == 0);	 /* the first result */
					complete(place);
					snd_una++;
					una_advanced()
				fi
			fi
		:: else /* a ghost, or stale (P-5) */
		fi;
		finished = (snd_una == COUNT);
		place = 0;
		FORGET(data) }
	:: atomic { rnr_wait -> rnr_wait = false }
#ifndef NO_TIMER
	:: atomic { timeout && snd_una < limit && !rnr_wait ->
		assert(!told); /* who was told waits for no timer */
		rewind() }
#endif
	:: atomic { snd_una < limit && nxt == limit && !rnr_wait && faults > 0 -> fault(); rewind() } /* too early */
	:: atomic { snd_una == COUNT && empty(responses) -> break }
	od;
end:	do /* what still comes is stale */
	:: responses?kind(psn, data)
	od
}

/* ---- responder ---- */

byte epsn = START;
byte eplace;	  /* the same as a place, for the checks only */
bool nak_outstanding;	  /* a NAK is out */
byte naks;	  /* since ePSN moved */

/* The replay cache: first PSN, packets, result; oldest first. */
byte cache_psn[DEPTH], cache_count[DEPTH], cache_result[DEPTH], cached;
#ifdef KEEP
byte cache_sent[DEPTH]; /* response packets that left */
#endif

inline remember(psn, count, result)
{
#ifdef NO_REPLAY
	skip
#else
	if
	:: cached == DEPTH -> /* the oldest makes room */
		cache_psn[0] = cache_psn[DEPTH - 1];
		cache_count[0] = cache_count[DEPTH - 1];
		cache_result[0] = cache_result[DEPTH - 1];
#ifdef KEEP
		assert(cache_sent[0] == cache_count[0]);
		cache_sent[0] = cache_sent[DEPTH - 1];
#endif
		cached--
	:: else
	fi;
	cache_psn[cached] = psn;
	cache_count[cached] = count;
	cache_result[cached] = result;
#ifdef KEEP
	cache_sent[cached] = 0;
#endif
	cached++
#endif
}

/* S-2: what is executed is what comes next. */
inline execute()
{
	executed[eplace]++;
	assert(executed[eplace] == 1)
}

inline advance(count)
{
	epsn = (epsn + count) % 8;
	eplace = eplace + count;
	nak_outstanding = false;
	naks = 0
}

#define PLACE(psn) (eplace - DISTANCE(epsn, psn)) /* of an executed request */

/* Puts an ACK, NAK, RNR NAK or SACK on the wire that acknowledges all places before `end`. */
inline say(kind, psn, end)
{
	responses!kind(psn, 0);
	ASSERT_ANSWERED_BEFORE(end)
}

/* Puts the response packet of `place` on the wire, which acknowledges all places before it. */
inline respond(kind, psn, data, place)
{
	responses!kind(psn, data);
	ASSERT_ANSWERED_BEFORE(place);
	answered = answered | (1 << (place))
}

/* Finds the entry that owns psn: `found`, DEPTH for none. */
inline find(psn)
{
	found = 0;
	do
	:: found < cached && DISTANCE(psn, cache_psn[found]) >= cache_count[found] -> found++
	:: found < cached && DISTANCE(psn, cache_psn[found]) < cache_count[found] -> break
	:: found >= cached -> found = DEPTH; break
	od
}

/* S-8: the newest that is executed, but not past what needs an answer and came after the duplicate. */
inline acknowledge_again(psn)
{
	newest = (epsn + 7) % 8;
	found = 0;
	do
	:: found < cached && DISTANCE(cache_psn[found], psn) >= 4 -> found++
	:: found < cached && DISTANCE(cache_psn[found], psn) < 4 -> newest = (cache_psn[found] + 7) % 8; break
	:: found >= cached -> break
	od;
	say(ACK, newest, PLACE(newest) + 1)
}

#ifndef KEEP
active proctype responder()
{
	mtype kind;
	byte psn, count, found, newest, at;

end:	do
	:: requests?kind(psn, count) ->
		if
		:: psn == epsn ->
			if
			:: atomic { kind == SEND && faults > 0 -> /* no receive is posted (R-1) */
				fault();
#ifdef RNR_EXECUTES
				executed[eplace]++;
#endif
				nak_outstanding = true }
				atomic { say(RNR, psn, eplace) }
			:: kind == SEND ->
				atomic { execute(); advance(1) }
				atomic { say(ACK, psn, eplace) }
			:: kind == READ ->
				atomic {
					assert(count == END_OF(eplace) - eplace);
					at = eplace;
					executed[at]++;
					executed[at + 1]++;
					assert(executed[at] == 1);
					remember(psn, count, 0);
					advance(count)
				}
				atomic { respond(DATA, psn, at, at) }
				atomic { respond(DATA, (psn + 1) % 8, at + 1, at + 1) }
			:: kind == ATOMIC ->
				atomic {
					execute();
					at = word;
					word++;
					remember(psn, 1, at);
					advance(1)
				}
				atomic { respond(RESULT, psn, at, PLACE(psn)) }
			fi
		:: DISTANCE(epsn, psn) >= 1 && DISTANCE(epsn, psn) <= 4 -> /* a duplicate */
			if
			:: kind == SEND ->
#ifdef SEND_AGAIN
				executed[eplace - DISTANCE(epsn, psn)]++;
#endif
				atomic { acknowledge_again(psn) }
			:: kind == READ ->
				atomic { find(psn) }
				if
				:: found < DEPTH && DISTANCE(psn, cache_psn[found]) + count <= cache_count[found] ->
					at = eplace - DISTANCE(epsn, psn);
					do
					:: count > 0 ->
						atomic { respond(DATA, psn, at, at) }
						atomic { psn = (psn + 1) % 8; at++; count-- }
					:: else -> break
					od
				:: else /* dropped */
				fi
			:: kind == ATOMIC ->
				atomic { find(psn) }
				if
				:: found < DEPTH ->
#ifdef ATOMIC_AGAIN
					executed[eplace - DISTANCE(epsn, psn)]++;
					word++;
#endif
					atomic { respond(RESULT, psn, cache_result[found], PLACE(psn)) }
				:: else /* dropped */
				fi
			fi
		:: else -> /* a gap (K-SEQ) */
			if
			:: !nak_outstanding ->
				atomic {
					naks++;
					assert(naks == 1);
#ifndef NAK_EACH
					nak_outstanding = true
#endif
				}
				atomic { say(NAK, epsn, eplace) }
			:: else
			fi
		fi
	od
}

#else /* KEEP */

#define NO_PSN 8
#define AT_EPSN kept[epsn % 4]

mtype kept[4];		/* by PSN modulo 4: the kind of the kept request, or 0 */
bool refused;		/* the request at ePSN drew an RNR NAK: later requests are dropped, the peer resends them */
mtype due;		/* ACK, SACK or RNR, or 0 */
byte repeated = NO_PSN; /* PSN of the newest duplicate SEND whose ACK is due */

inline forget_kept()
{
	kept[0] = 0;
	kept[1] = 0;
	kept[2] = 0;
	kept[3] = 0
}

/* Executes the request at ePSN, just received or kept. Its response leaves in a later step. */
inline take(kind, count)
{
	AT_EPSN = 0;
	if
	:: kind == SEND && faults > 0 -> /* no receive is posted (R-1) */
		fault();
		forget_kept();
		refused = true;
		nak_outstanding = true;
		due = RNR
	:: kind == SEND ->
		execute();
		advance(1);
		due = ACK
	:: kind == READ ->
		assert(count == 2 && END_OF(eplace) - eplace == 2);
		execute();
		executed[eplace + 1]++;
		remember(epsn, 2, 0);
		advance(2);
		due = 0
	:: kind == ATOMIC ->
		execute();
		remember(epsn, 1, word);
		word++;
		advance(1);
		due = 0
	fi
}

/* S-22: one SACK per gap. */
inline report_gap()
{
	naks++;
	assert(naks == 1);
	nak_outstanding = true;
	due = SACK
}

/* A gap was closed or a kept request was executed: an ACK is due, or a SACK if a further gap follows. */
inline taken()
{
	if
	:: due == RNR
	:: else ->
		refused = false;
		due = ACK;
		if
		:: !AT_EPSN && (kept[0] || kept[1] || kept[2] || kept[3]) -> report_gap()
		:: else
		fi
	fi
}

#define UNSENT(entry) (cached > (entry) && cache_sent[entry] < cache_count[entry])
#if DEPTH > 1
#define ANY_UNSENT (UNSENT(0) || UNSENT(1))
#else
#define ANY_UNSENT UNSENT(0)
#endif

active proctype responder()
{
	mtype kind;
	byte psn, count, found, newest;
	bool gap;

end:	do
	:: atomic { requests?kind(psn, count) ->
		if
		:: psn == epsn ->
			if
			:: due == RNR /* dropped: the peer resends it after the RNR NAK */
			:: else ->
				gap = nak_outstanding || AT_EPSN;
				take(kind, count);
				if
				:: gap -> taken()
				:: else
				fi
			fi
		:: DISTANCE(epsn, psn) >= 1 && DISTANCE(epsn, psn) <= 4 -> /* a duplicate */
			if
			:: kind == SEND ->
				if
				:: repeated == NO_PSN || DISTANCE(psn, repeated) < 4 -> repeated = psn
				:: else
				fi
			:: else ->
				find(psn);
				if
				:: found < DEPTH && cache_sent[found] > DISTANCE(psn, cache_psn[found]) ->
					cache_sent[found] = DISTANCE(psn, cache_psn[found])
				:: else /* the response is still to leave, or is not cached any more */
				fi
			fi
		:: else -> /* ahead of ePSN by 1 to 3 */
			if
			:: refused /* dropped */
			:: else ->
				assert(kind != READ || count == 2);
				kept[psn % 4] = kind;
				if
				:: !nak_outstanding && !AT_EPSN -> report_gap()
				:: else
				fi
			fi
		fi;
		found = 0;
		gap = false;
		FORGET(count) }
	:: atomic { AT_EPSN -> /* one execution per step */
		kind = AT_EPSN;
		take(kind, 2);
		taken();
		kind = 0 }
	:: atomic { ANY_UNSENT && nfull(responses) -> /* one response packet per step, in request order */
		if
		:: UNSENT(0) -> found = 0
		:: else -> found = 1
		fi;
		psn = (cache_psn[found] + cache_sent[found]) % 8;
		if
		:: cache_count[found] == 2 -> respond(DATA, psn, PLACE(psn), PLACE(psn))
		:: else -> respond(RESULT, psn, cache_result[found], PLACE(psn))
		fi;
		cache_sent[found]++;
		psn = 0;
		found = 0 }
	:: atomic { !ANY_UNSENT && repeated != NO_PSN && nfull(responses) ->
		acknowledge_again(repeated);
		repeated = NO_PSN;
		newest = 0;
		found = 0 }
	:: atomic { !ANY_UNSENT && due && nfull(responses) ->
#ifdef KEPT_AFTER_RESPONSES
		if
		:: AT_EPSN ->
			kind = AT_EPSN;
			take(kind, 2);
			taken();
			kind = 0
		:: else
		fi;
#endif
		if
		:: due == ACK -> say(ACK, (epsn + 7) % 8, eplace)
		:: due == SACK -> say(SACK, epsn, eplace)
		:: due == RNR -> say(RNR, epsn, eplace)
		fi;
		due = 0 }
	od
}
#endif

/* ---- wire ---- */

active proctype wire()
{
	mtype kind;
	byte psn, data;

end:	do
	:: atomic { faults > 0 && nempty(requests) -> fault(); requests?kind(psn, data); FORGET(data) } /* lost */
	:: atomic { faults > 0 && nempty(responses) -> fault(); responses?kind(psn, data); FORGET(data) }
	:: atomic { faults > 0 && nempty(requests) && nfull(requests) -> /* doubled */
		fault(); requests?<kind(psn, data)>; requests!kind(psn, data); FORGET(data) }
	:: atomic { faults > 0 && nempty(responses) && nfull(responses) ->
		fault(); responses?<kind(psn, data)>; responses!kind(psn, data); FORGET(data) }
	:: atomic { faults > 0 && len(requests) > 1 -> /* overtaken by all that is on its way */
		fault(); requests?kind(psn, data); requests!kind(psn, data); FORGET(data) }
	:: atomic { faults > 0 && len(responses) > 1 ->
		fault(); responses?kind(psn, data); responses!kind(psn, data); FORGET(data) }
	od
}

ltl live { <> finished }
