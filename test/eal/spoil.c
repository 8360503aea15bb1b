/* spoil.c - rx callbacks that spoil the frames that a port receives */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "spoil.h"

#include <string.h>

#include "wire/bytes.h"
#include "wire/encap.h"
#include "wire/icrc.h"
#include "wire/neighbour.h"

#define BTH_AT 42u /* behind Ethernet, IPv4 and UDP */
#define ICRC_BYTES 4u

uint16_t spoil_drop_long(uint16_t port, uint16_t queue, struct rte_mbuf **mbufs, uint16_t count, uint16_t most,
			 void *limit)
{
	uint16_t kept = 0;

	(void)port;
	(void)queue;
	(void)most;
	for (uint16_t i = 0; i < count; i++) {
		if (mbufs[i]->pkt_len > (uintptr_t)limit)
			rte_pktmbuf_free(mbufs[i]);
		else
			mbufs[kept++] = mbufs[i];
	}
	return kept;
}

static void sign(uint8_t *frame, uint32_t frame_bytes)
{
	uint32_t bytes = frame_bytes - 14 - ICRC_BYTES, crc = wire_icrc_frame(frame + 14, bytes);

	memcpy(frame + 14 + bytes, &crc, sizeof(crc));
}

uint16_t spoil_break_responses(uint16_t port, uint16_t queue, struct rte_mbuf **mbufs, uint16_t count, uint16_t most,
			       void *unused)
{
	(void)port;
	(void)queue;
	(void)most;
	(void)unused;
	for (uint16_t i = 0; i < count; i++) {
		uint8_t *frame = rte_pktmbuf_mtod(mbufs[i], uint8_t *);

		if (mbufs[i]->pkt_len < BTH_AT + 16 || frame[BTH_AT] != 0x10)
			continue;
		frame[BTH_AT] = 0x0E;
		sign(frame, mbufs[i]->pkt_len);
	}
	return count;
}

uint16_t spoil_make_naks(uint16_t port, uint16_t queue, struct rte_mbuf **mbufs, uint16_t count, uint16_t most,
			 void *unused)
{
	(void)port;
	(void)queue;
	(void)most;
	(void)unused;
	for (uint16_t i = 0; i < count; i++) {
		uint8_t *frame = rte_pktmbuf_mtod(mbufs[i], uint8_t *);

		if (mbufs[i]->pkt_len < BTH_AT + 20 || frame[BTH_AT] != 0x11)
			continue;
		frame[BTH_AT + 12] = 0x60;
		sign(frame, mbufs[i]->pkt_len);
	}
	return count;
}

uint16_t spoil_mark_congestion(uint16_t port, uint16_t queue, struct rte_mbuf **mbufs, uint16_t count, uint16_t most,
			       void *unused)
{
	(void)port;
	(void)queue;
	(void)most;
	(void)unused;
	for (uint16_t i = 0; i < count; i++) {
		uint8_t *ip = rte_pktmbuf_mtod_offset(mbufs[i], uint8_t *, 14);

		if (ip[0] == 0x45) {
			ip[1] |= 3;
			ip[10] = ip[11] = 0;
			store_be16(ip + 10, (uint16_t)~wire_encap_sum(0, ip, 20));
		} else if (ip[0] >> 4 == 6) {
			ip[1] |= 0x30;
		}
	}
	return count;
}

/* What is done to each RoCE frame over IPv4. */
typedef void (*spoil_frame)(struct rte_mbuf *mbuf, uint8_t *frame);

static uint16_t spoil_each(struct rte_mbuf **mbufs, uint16_t count, spoil_frame spoil)
{
	for (uint16_t i = 0; i < count; i++) {
		uint8_t *frame = rte_pktmbuf_mtod(mbufs[i], uint8_t *);

		if (mbufs[i]->pkt_len > BTH_AT && load_be16(frame + 12) == 0x0800 && frame[14 + 9] == 17)
			spoil(mbufs[i], frame);
	}
	return count;
}

static void damage(struct rte_mbuf *mbuf, uint8_t *frame)
{
	frame[mbuf->pkt_len - 1] ^= 1;
}

static void change_pkey(struct rte_mbuf *mbuf, uint8_t *frame)
{
	store_be16(frame + BTH_AT + 2, 0x8001);
	sign(frame, mbuf->pkt_len);
}

static void tag(struct rte_mbuf *mbuf, uint8_t *frame)
{
	rte_pktmbuf_append(mbuf, WIRE_VLAN_BYTES);
	wire_neighbour_tag(frame, mbuf->pkt_len - WIRE_VLAN_BYTES, 7);
}

static void change_source(struct rte_mbuf *mbuf, uint8_t *frame)
{
	uint8_t *ip = frame + 14;

	ip[15] = 99;
	store_be16(ip + 10, 0);
	store_be16(ip + 10, (uint16_t)~wire_encap_sum(0, ip, 20));
	sign(frame, mbuf->pkt_len);
}

#define SPOIL_EACH(name)                                                                                             \
	uint16_t spoil_##name(uint16_t port, uint16_t queue, struct rte_mbuf **mbufs, uint16_t count, uint16_t most, \
			      void *unused)                                                                          \
	{                                                                                                            \
		(void)port, (void)queue, (void)most, (void)unused;                                                   \
		return spoil_each(mbufs, count, name);                                                               \
	}

SPOIL_EACH(damage)
SPOIL_EACH(change_pkey)
SPOIL_EACH(tag)
SPOIL_EACH(change_source)
