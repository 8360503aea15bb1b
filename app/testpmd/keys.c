/* keys.c - binds windows, and hands their keys over by WRITEs */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "testpmd/keys.h"

#include <stddef.h>

#define OPEN_BYTES 8u

int keys_open(struct keys *keys, struct uroce_pd *pd)
{
	int error = 0;

	for (uint32_t i = 0; i < KEYS_WINDOWS && error == 0; i++)
		error = uroce_mw_alloc(pd, UROCE_MW_TYPE_2, &keys->windows[i]);
	return error;
}

void keys_close(struct keys *keys)
{
	for (uint32_t i = 0; i < KEYS_WINDOWS; i++) {
		if (keys->windows[i])
			uroce_mw_dealloc(keys->windows[i]);
		keys->windows[i] = NULL;
	}
}

/* A WRITE of a word to the peer's words. */
static struct uroce_send_wr write_of(const struct keys_place *place, struct uroce_sge *sge, const uint32_t *word,
				     size_t offset)
{
	*sge = (struct uroce_sge){ .addr = (uintptr_t)word, .length = sizeof(*word) };
	return (struct uroce_send_wr){
		.wr_id = place->wr_id,
		.sg_list = sge,
		.num_sge = 1,
		.opcode = UROCE_WR_RDMA_WRITE,
		.send_flags = UROCE_SEND_SIGNALED | UROCE_SEND_INLINE,
		.remote_addr = place->theirs + offset,
		.rkey = place->rkey,
	};
}

/* Posts the bind before the WRITE that carries its key, so the peer gets a key only when the key is valid. */
static bool offer(struct keys *keys, const struct keys_place *place, uint32_t i)
{
	const struct uroce_mw_bind opens = { .mr = place->mr,
					     .addr = place->open_addr,
					     .length_bytes = OPEN_BYTES,
					     .access = UROCE_ACCESS_REMOTE_WRITE };
	uint32_t key = uroce_mw_next_rkey(keys->windows[i]);
	struct uroce_sge sge;
	struct uroce_send_wr write =
		write_of(place, &sge, &key, offsetof(struct keys_words, offered) + i * sizeof(key));
	struct uroce_send_wr bind = { .next = &write,
				      .wr_id = place->wr_id,
				      .opcode = UROCE_WR_BIND_MW,
				      .rkey = key,
				      .bind = &opens,
				      .mw = keys->windows[i] };

	if (uroce_qp_post_send(place->qp, &bind, NULL) != 0)
		return false;
	keys->offered[i] = true;
	keys->under_way++;
	return true;
}

/*
 * The send queue may be full: a quick peer may already have used a key whose WRITE is not acknowledged, because the ACK
 * was lost.
 */
void keys_offer(struct keys *keys, const struct keys_place *place)
{
	if (place->ours->wish == 0)
		return;
	for (uint32_t i = 0; i < KEYS_WINDOWS && keys->under_way < KEYS_WINDOWS; i++) {
		if (!keys->offered[i] && !offer(keys, place, i))
			return;
	}
}

static void wish(struct keys *keys, const struct keys_place *place)
{
	static const uint32_t one = 1;
	struct uroce_sge sge;
	struct uroce_send_wr write = write_of(place, &sge, &one, offsetof(struct keys_words, wish));

	keys->wished = uroce_qp_post_send(place->qp, &write, NULL) == 0;
	keys->under_way += keys->wished;
}

uint32_t keys_take(struct keys *keys, const struct keys_place *place)
{
	for (uint32_t i = 0; i < KEYS_WINDOWS; i++) {
		uint32_t key = place->ours->offered[i];

		place->ours->offered[i] = 0;
		if (key)
			return key;
	}
	if (!keys->wished)
		wish(keys, place);
	return 0;
}

void keys_completed(struct keys *keys, const struct uroce_wc *wc)
{
	keys->under_way -= wc->opcode == UROCE_WC_RDMA_WRITE;
}

void keys_invalidated(struct keys *keys, uint32_t rkey)
{
	for (uint32_t i = 0; i < KEYS_WINDOWS; i++) {
		if (keys->offered[i] && uroce_mw_rkey(keys->windows[i]) == rkey)
			keys->offered[i] = false;
	}
}
