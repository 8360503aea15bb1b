/* receive.h - receives frames and hands their packets to QPs */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_RECEIVE_H
#define ENGINE_RECEIVE_H

struct uroce_lcore;

/*
 * Takes the rest of a burst that a fault has ended, some bursts of frames from each port, and the frames that other
 * lcores have handed over.
 */
void engine_receive_poll(struct uroce_lcore *lcore);

#endif
