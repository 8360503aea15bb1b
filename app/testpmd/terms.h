/* terms.h - two programs agree on the queue pairs of their traffic: number, message size, path MTU, SACKs */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTPMD_TERMS_H
#define TESTPMD_TERMS_H

#include "testpmd/traffic.h"

/*
 * Judges what a peer wants, makes queue pairs for it, and answers. false: the queue pairs could not be made, and the
 * answer says so.
 */
bool terms_serve(struct traffic *traffic, const struct exchange_line *line);
/* Asks a peer for the queue pairs that the settings want. Returns 0, or -1 after a complaint. */
int terms_ask(struct traffic *traffic, const struct exchange_line *line);

#endif
