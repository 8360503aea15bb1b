/* print.h - a message of connection management as one line of text */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CM_PRINT_H
#define CM_PRINT_H

#include <stddef.h>

#include "cm/message.h"

/* Room that no message exceeds as text. */
#define CM_PRINT_MAX_BYTES 2048u

/*
 * "ConnectRequest transaction_id=0x... local_id=0x... service_id=0x...(tcp:7174) qpn=0x000011 ... private_data=..."
 * Numbers that are 0 and have no name, and private data that is all zero, are left out; so are the zeros at the end of
 * private data. Cut to out_bytes if need be, always ended; returns out.
 */
char *cm_mad_print(const struct cm_message *message, char *out, size_t out_bytes);

#endif
