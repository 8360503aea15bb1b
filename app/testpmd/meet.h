/* meet.h - serves peers by address, and connects to one */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The messages of terms.h are sent over a connection by address of the first port, with one peer at a time. A thread
 * waits for peers, and notices when the present peer has left. All calls come from the main thread.
 */
#ifndef APP_TESTPMD_MEET_H
#define APP_TESTPMD_MEET_H

#include "testpmd/traffic.h"

/* Serves peers, one after the other. Returns 0, or -1 after a complaint. */
int meet_listen(struct traffic *traffic, unsigned port);

/* Makes the queue pairs that the settings ask for, to a peer that listens. Returns 0, or -1 after a complaint. */
int meet_connect(struct traffic *traffic, const char *host, unsigned port);

/* Ends serving or the connection, and destroys the queue pairs. Returns 0, or -1: there was nothing to end. */
int meet_end(void);

/* Does this side serve peers? */
bool meet_serves(void);

#endif
