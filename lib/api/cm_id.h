/* cm_id.h - what the files of connections share: making an id, and ports */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef API_CM_ID_H
#define API_CM_ID_H

#include "engine/connect.h"

#define SERVICE_TCP 0x0000000001060000ull /* port spaces of rdma_cm */
#define SERVICE_UDP 0x0000000001110000ull
#define PORT_FIRST 49152u /* of those that are chosen */
#define PORTS 16384u

/* NULL: no memory. */
struct uroce_cm_id *api_cm_make_id(struct uroce_cm_channel *channel, uint64_t context);
/* No event of the id waits any more, and the channel does not know it. */
void api_cm_leave_channel(struct uroce_cm_id *id);
/* An id whose REQUEST to the listener nobody has read, off the channel's queue; NULL: none. And back, as it was. */
struct uroce_cm_id *api_cm_take_unread(struct uroce_cm_channel *channel, const struct uroce_cm_id *listener);
void api_cm_put_back(struct uroce_cm_id *id);
/* No lcore knows the listener any more, and those are refused who asked it and were not heard. 0 or negative errno. */
int api_cm_stop_listening(struct uroce_cm_id *id);

#endif
