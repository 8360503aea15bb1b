/* terms.h - two programs agree on the queue pairs of their traffic: number, message size, path MTU, SACKs */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of common/control.h: the initiator sends an "ask" with its queue pairs, and the target answers with an
 * "offer" of as many, or refuses. The traffic uses rkey and va of the target. The connection stays open while the
 * traffic lasts; when it ends the target destroys the queue pairs.
 */
#ifndef TESTPMD_TERMS_H
#define TESTPMD_TERMS_H

#include "common/control.h"
#include "testpmd/traffic.h"

extern const struct app_control_config terms_control;

/*
 * Judges what a peer wants, makes queue pairs for it, and answers. false: the queue pairs could not be made, and the
 * answer says so.
 */
bool terms_serve(struct traffic *traffic, struct app_control *control);
/* Asks a peer for the queue pairs that the settings want. Returns 0, or -1 after a complaint. */
int terms_ask(struct traffic *traffic, struct app_control *control);

#endif
