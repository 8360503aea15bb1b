/* pieces.c - what has come before its turn, and what is missing in front of that */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A requester may keep what comes before its turn, and then asks for nothing but what is missing; or drop it,
 * some of it or all, and ask for that too. A trace does not show which, until it asks. So a piece may be asked for when
 * something was answered that had been sent after it: the piece would have come before that, had it not been lost.
 */
#include "half.h"

#include <stdlib.h>
#include <string.h>

static void insert(struct half_requester *requester, uint32_t index, struct half_piece piece)
{
	if (requester->piece_count == requester->piece_room) {
		requester->piece_room = requester->piece_room ? requester->piece_room * 2 : 32;
		requester->pieces = realloc(requester->pieces, requester->piece_room * sizeof(*requester->pieces));
		if (!requester->pieces)
			abort();
	}
	memmove(&requester->pieces[index + 1], &requester->pieces[index],
		(requester->piece_count++ - index) * sizeof(*requester->pieces));
	requester->pieces[index] = piece;
}

/* Index of the first piece that ends behind place. */
static uint32_t find(const struct half_requester *requester, int64_t place)
{
	uint32_t low = 0, high = requester->piece_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (requester->pieces[middle].end <= place)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct half_piece *piece_of(const struct half_requester *requester, int64_t place)
{
	uint32_t index = find(requester, place);

	return index < requester->piece_count && requester->pieces[index].begin <= place ? &requester->pieces[index] :
											   NULL;
}

/* A piece begins at place, if it lies within one. */
static void cut(struct half_requester *requester, int64_t place)
{
	uint32_t index = find(requester, place);

	if (index < requester->piece_count && requester->pieces[index].begin < place) {
		struct half_piece before = requester->pieces[index];

		before.end = requester->pieces[index].begin = place;
		insert(requester, index, before);
	}
}

/* What was sent to draw an answer to place, last of all. */
static uint64_t sending_of(const struct trace_half *half, int64_t place)
{
	const struct half_piece *piece = piece_of(&half->requester, place);
	const struct half_request *request = half_find(half, place);

	return piece ? piece->sending : request ? request->sending : 0;
}

/* An answer says that place has come to the peer. */
static void note_answered(struct trace_half *half, int64_t place, uint64_t now_ns)
{
	struct half_requester *requester = &half->requester;
	uint64_t sending = sending_of(half, place);

	if (place > requester->snd_una)
		requester->answered_ns = now_ns;
	if (sending < requester->answered_sending ||
	    (sending == requester->answered_sending && place <= requester->answered_place))
		return;
	requester->answered_sending = sending;
	requester->answered_place = place;
}

/* No piece reaches beyond its request, for each is asked for by itself. */
static void make_pieces(struct trace_half *half, int64_t end)
{
	struct half_requester *requester = &half->requester;

	while (requester->pieces_end < end) {
		int64_t begin = half_cover(half, requester->pieces_end, end), behind = end;

		if (begin < end) {
			const struct half_request *request = half_find(half, begin);

			if (request->first + request->count < end)
				behind = request->first + request->count;
			insert(requester, requester->piece_count,
			       (struct half_piece){ .begin = begin, .end = behind, .sending = request->sending });
		}
		requester->pieces_end = behind;
	}
}

void half_pieces_see(struct trace_half *half, int64_t end, uint64_t now_ns)
{
	make_pieces(half, end);
	note_answered(half, end - 1, now_ns);
}

void half_pieces_come(struct trace_half *half, int64_t place, uint64_t now_ns)
{
	struct half_requester *requester = &half->requester;
	struct half_piece *piece;

	make_pieces(half, place + 1);
	note_answered(half, place, now_ns);
	cut(requester, place);
	cut(requester, place + 1);
	piece = piece_of(requester, place);
	if (piece)
		piece->come = true;
}

void half_pieces_pass(struct trace_half *half, int64_t snd_una)
{
	struct half_requester *requester = &half->requester;
	uint32_t passed = find(requester, snd_una);

	if (passed > 0) {
		requester->piece_count -= passed;
		memmove(requester->pieces, &requester->pieces[passed],
			requester->piece_count * sizeof(*requester->pieces));
	}
	if (requester->piece_count > 0 && requester->pieces[0].begin < snd_una)
		requester->pieces[0].begin = snd_una;
	if (requester->pieces_end < snd_una)
		requester->pieces_end = snd_una;
}

bool half_pieces_is_due(const struct trace_half *half, int64_t place, uint64_t now_ns, uint64_t grace_ns)
{
	const struct half_requester *requester = &half->requester;
	const struct half_piece *piece = piece_of(requester, place);

	/* What has come may have been dropped. */
	return piece &&
	       (piece->sending < requester->answered_sending || now_ns < requester->answered_ns + grace_ns ||
		(piece->sending == requester->answered_sending && place < requester->answered_place + piece->come));
}

bool half_pieces_has(const struct trace_half *half, int64_t place)
{
	return piece_of(&half->requester, place);
}

void half_pieces_sent(struct trace_half *half, int64_t place, int64_t end, uint64_t sending)
{
	struct half_requester *requester = &half->requester;

	cut(requester, place);
	cut(requester, end);
	for (uint32_t i = find(requester, place); i < requester->piece_count && requester->pieces[i].begin < end; i++) {
		requester->pieces[i].sending = sending;
		requester->pieces[i].asked = true;
	}
}

int64_t half_pieces_missing(const struct trace_half *half, int64_t from, int64_t end)
{
	const struct half_requester *requester = &half->requester;
	int64_t beyond = requester->pieces_end > from ? requester->pieces_end : from;

	for (uint32_t i = find(requester, from); i < requester->piece_count && requester->pieces[i].begin < end; i++) {
		if (!requester->pieces[i].come && !requester->pieces[i].asked)
			return requester->pieces[i].begin > from ? requester->pieces[i].begin : from;
	}
	return beyond < end ? beyond : end;
}
