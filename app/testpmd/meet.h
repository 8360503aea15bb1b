/* meet.h - peers by address: waiting for them, going to one, leaving it */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What exchange.h says over TCP goes over a connection by address of the first port. One peer at a time; a thread of
 * its own waits for peers, and notices when the one there is has left. All calls come from the main thread.
 */
#ifndef APP_TESTPMD_MEET_H
#define APP_TESTPMD_MEET_H

#include "testpmd/traffic.h"

/* Serves peers, one after the other. 0, or -1 after a complaint. */
int meet_listen(struct traffic *traffic, unsigned port);

/* Makes the queue pairs that the settings want, towards a peer that listens. 0, or -1 after a complaint. */
int meet_connect(struct traffic *traffic, const char *host, unsigned port);

/* Ends either, and the queue pairs with it. 0, or -1: there was nothing. */
int meet_end(void);

/* Are peers served? */
bool meet_serves(void);

#endif
