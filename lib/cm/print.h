/* print.h - a message of connection management as one line of text */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CM_PRINT_H
#define CM_PRINT_H

#include <stddef.h>

#include "cm/message.h"

/* No message is longer than this as text. */
#define CM_PRINT_MAX_BYTES 2048u

/*
 * "ConnectRequest transaction_id=0x... local_id=0x... service_id=0x...(tcp:7174) qpn=0x000011 ... private_data=..."
 * Left out are numbers that are 0 and have no name, private data that is all zero, and the zeros at the end of private
 * data. The text is cut to out_bytes and always ends with NUL; returns out.
 */
char *cm_mad_print(const struct cm_message *message, char *out, size_t out_bytes);

#endif
