/* calls.h - both ends of connections by address over a network of loop ports */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   1. calls_open(), uroce_cm_listen() on CALLS_PORT of the second end
 *   2. calls_dial(); calls_wait() for a REQUEST; calls_answer(); calls_wait() for ESTABLISHED, twice
 *   3. uroce_cm_disconnect(); calls_wait() for DISCONNECTED and calls_hang_up(), twice
 *   4. calls_close()
 */
#ifndef TEST_EAL_CALLS_H
#define TEST_EAL_CALLS_H

#include "network.h"

#define CALLS_PORT 7174
#define CALLS_PATIENCE_MS 10000u

struct uroce_qp_init_attr calls_qp_init(const struct network *network, int end);
/* A network with a CQ on each end, and a channel that both ends share. */
void calls_open(struct network *network, unsigned lcores, struct uroce_cm_channel **channel);
/* The next event, which has to be of this type. */
struct uroce_cm_event calls_wait(struct uroce_cm_channel *channel, enum uroce_cm_event_type type);
/* Of the first end. */
struct uroce_cm_id *calls_dial(struct network *network, struct uroce_cm_channel *channel, const char *dest,
			       const struct uroce_cm_options *options);
/* Of the second end. */
void calls_answer(struct network *network, struct uroce_cm_id *id, const struct uroce_cm_options *options);
struct wire_packet;
/* A MAD to the end from that address, as if it had come in by its port; its ICRC is right. */
void calls_give(struct network *network, int end, const char *source, const uint8_t *mad);
/* The same in any packet; that of a MAD is right in everything. */
struct wire_packet calls_packet(const uint8_t *mad);
void calls_give_packet(struct network *network, int end, const char *source, const struct wire_packet *packet);
/* Gives back the id and its QP. */
void calls_hang_up(struct uroce_cm_id *id);
/* Polls until every connection that was hung up has ended; one that does not within 30 s fails the test. */
void calls_end(struct network *network);
/* Nothing may be left by then but the listener, which may be NULL. */
void calls_close(struct network *network, struct uroce_cm_channel *channel, struct uroce_cm_id *listener);
/* Answers, counts or hangs up. */
void calls_take_event(struct network *network, const struct uroce_cm_event *event, uint32_t *established,
		      uint32_t *ended);

#endif
