/* quit.h - is it time to end? */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_TESTPMD_QUIT_H
#define APP_TESTPMD_QUIT_H

#include <stdbool.h>

/* What the command "quit" does, and Ctrl-C: whatever waits ends soon. Any thread, and signal handlers. */
void quit_soon(void);

/* Any thread. What waits asks for it time and again, since a signal may come just before a wait begins. */
bool quit_is_wanted(void);

#endif
