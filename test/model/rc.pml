/* rc.pml - RC as a model for SPIN: a requester, a responder, and a wire that loses, repeats and reorders */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests: SEND, READ of two packets, fetch-and-add, SEND. PSNs count modulo 8, so half the space is 4 (P-1), and start
 * at 6, so that they wrap inside the READ. The wire may do FAULTS things: lose a packet, double it, let it be overtaken,
 * on either way; let the ACK timer fire early; and let the receive for a SEND be missing. Then it is sound.
 *
 * Checked: a request is executed once and in order (S-2); an atomic is executed once, whatever is repeated (S-10); a
 * request completes only when it was executed, a READ only with its own data, an atomic with its first result (Q-7,
 * Q-11); a gap draws one NAK (K-SEQ); what a NAK or a missing answer tells needs no timer (Q-8, Q-9, K-SEQ-REQ); no
 * deadlock; and every run ends with everything completed (LTL `live`): no livelock.
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
 *
 * -D of one of these plants an error, for which the checks must be red: ATOMIC_AGAIN SEND_AGAIN ACK_COVERS_READ
 * NAK_IGNORED ANSWER_IGNORED NAK_EACH NO_TIMER NO_REPLAY RNR_EXECUTES SKIP_OLDEST READ_FROM_START DEPTH_IGNORED
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

mtype = { SEND, READ, ATOMIC, ACK, NAK, RNR, DATA, RESULT };

chan requests = [4] of { mtype, byte, byte }; /* kind, PSN, packets asked for */
chan responses = [6] of { mtype, byte, byte }; /* kind, PSN, data */

byte faults = FAULTS;

/* What happened, for the checks only. */
byte executed[COUNT];
byte word;	 /* what the atomic works on */
bool finished;

inline fault()
{
	faults > 0;
	faults--
}

/* ---- requester ---- */

byte snd_una, nxt, limit; /* places: oldest unanswered, next to go out, first never sent */
bool rnr_wait;
bool told; /* a NAK or a missing answer has told of a loss at snd_una, and nothing was sent again yet */

inline complete(place)
{
	assert(executed[place] == 1)
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
		snd_una++
	:: else -> break
	od;
	if
	:: nxt < snd_una -> nxt = snd_una
	:: else
	fi
}

/* An answer at snd_una is missing, although something behind it has come. */
inline answer_missing()
{
	told = true;
#ifndef ANSWER_IGNORED
	rewind()
#endif
}

active proctype requester()
{
	mtype kind;
	byte psn, data, place;

	do
	:: atomic { nxt < COUNT && !rnr_wait && MAY_START(nxt) && END_OF(nxt) - snd_una <= WINDOW && nfull(requests) ->
		if
		:: IS_READ(nxt) ->
#ifdef READ_FROM_START
			requests!READ(PSN(nxt), 2)
#else
			requests!READ(PSN(nxt), END_OF(nxt) - nxt)
#endif
		:: IS_ATOMIC(nxt) -> requests!ATOMIC(PSN(nxt), 1)
		:: else -> requests!SEND(PSN(nxt), 1)
		fi;
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
			:: kind == NAK || kind == RNR ->
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
					told = false;
					if
					:: nxt < snd_una -> nxt = snd_una
					:: else
					fi
				fi
			fi
		:: else /* a ghost, or stale (P-5) */
		fi;
		finished = (snd_una == COUNT) }
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
		cached--
	:: else
	fi;
	cache_psn[cached] = psn;
	cache_count[cached] = count;
	cache_result[cached] = result;
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
	responses!ACK(newest, 0)
}

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
				responses!RNR(psn, 0)
			:: kind == SEND ->
				atomic { execute(); advance(1) }
				responses!ACK(psn, 0)
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
				responses!DATA(psn, at);
				responses!DATA((psn + 1) % 8, at + 1)
			:: kind == ATOMIC ->
				atomic {
					execute();
					at = word;
					word++;
					remember(psn, 1, at);
					advance(1)
				}
				responses!RESULT(psn, at)
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
						responses!DATA(psn, at);
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
					responses!RESULT(psn, cache_result[found])
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
				responses!NAK(epsn, 0)
			:: else
			fi
		fi
	od
}

/* ---- wire ---- */

active proctype wire()
{
	mtype kind;
	byte psn, data;

end:	do
	:: atomic { faults > 0 && nempty(requests) -> fault(); requests?kind(psn, data) } /* lost */
	:: atomic { faults > 0 && nempty(responses) -> fault(); responses?kind(psn, data) }
	:: atomic { faults > 0 && nempty(requests) && nfull(requests) -> /* doubled */
		fault(); requests?<kind(psn, data)>; requests!kind(psn, data) }
	:: atomic { faults > 0 && nempty(responses) && nfull(responses) ->
		fault(); responses?<kind(psn, data)>; responses!kind(psn, data) }
	:: atomic { faults > 0 && len(requests) > 1 -> /* overtaken by all that is on its way */
		fault(); requests?kind(psn, data); requests!kind(psn, data) }
	:: atomic { faults > 0 && len(responses) > 1 ->
		fault(); responses?kind(psn, data); responses!kind(psn, data) }
	od
}

ltl live { <> finished }
