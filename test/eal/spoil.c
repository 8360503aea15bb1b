/* spoil.c - rx callbacks that spoil the frames that a port receives */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "spoil.h"

#include <string.h>

#include "wire/bytes.h"
#include "wire/encap.h"
#include "wire/icrc.h"

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
