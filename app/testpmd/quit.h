/* quit.h - asks the program to end */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_TESTPMD_QUIT_H
#define APP_TESTPMD_QUIT_H

#include <stdbool.h>

/* For "quit" and Ctrl-C: everything that waits ends soon. For any thread, and for signal handlers. */
void quit_soon(void);

/* For any thread. Waiting code must ask again and again, since a signal may come just before a wait begins. */
bool quit_is_wanted(void);

#endif
